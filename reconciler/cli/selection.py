"""Which objects a user means: words, and what chooses among those of a kind.

A verb about one object takes `KIND/NAME` or, as in kubectl, `KIND NAME`; its question has the key,
the world and the history. The question of `get` has which objects, and how to print them.
"""

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reconciler.cli import complete
from reconciler.cli.options import (
    Option,
    TemplateOrFormat,
    at_option,
    gathered,
    is_template,
    layout_options,
    namespace_option,
    output_option,
    with_options,
)
from reconciler.errors import UsageError
from reconciler.model.identity import RepositoryLayout
from reconciler.model.records import dataclass, field_names
from reconciler.model.text import shown

if TYPE_CHECKING:
    from reconciler.cli.kinds import AskedKind
    from reconciler.library.subject import Subject
    from reconciler.model.identity import ObjectKey
    from reconciler.model.world import World


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ObjectSelection:
    """What a person chooses: words, where they are looked for, and what narrows a kind down.

    Attributes:
        words: Kinds and names as they were written.
        namespace: Where objects of namespaces are looked for.
        all_namespaces: Whether that is everywhere.
        selector: Labels that they have, `None` for any.
        field_selector: Fields that they have, `None` for any.
    """

    words: tuple[str, ...]
    namespace: str
    all_namespaces: bool
    selector: str | None
    field_selector: str | None = None

    @property
    def is_named(self) -> bool:
        """Whether names say which objects are meant."""
        return len(self.words) > 1 or any("/" in word for word in self.words)

    def check_selection(self) -> None:
        """Refuse selectors that cannot be read, and those beside a name.

        Raises:
            UsageError: There is one.
        """
        from reconciler.cli.kinds import parse_field_selector
        from reconciler.manifests.selectors import parse_selector

        chooses = "" if self.selector is None else "-l"
        if self.selector is not None:
            parse_selector(self.selector)
        if self.field_selector is not None:
            chooses = "--field-selector"
            parse_field_selector(self.field_selector)
        if chooses:
            self.check_no_name(chooses)

    def check_no_name(self, chooses: str) -> None:
        """Refuse names beside what chooses among all objects of a kind.

        Raises:
            UsageError: There is one.
        """
        if self.is_named:
            raise UsageError(
                f"{chooses} selects among all objects of a kind; do not name objects as well"
            )


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class NamedOrChosen(ObjectSelection):
    """Objects that are named, or chosen by a selector, or with `--all` all of a kind."""

    every: bool

    def check(self) -> None:
        """Refuse a kind without anything that says which of its objects are meant.

        Raises:
            UsageError: It is so, or a selector cannot be read or stands beside a name.
        """
        self.check_selection()
        if self.every and (self.selector is not None or self.field_selector is not None):
            raise UsageError("--all selects all objects; omit the selector")
        if self.every:
            self.check_no_name("--all")
        elif self.selector is None and self.field_selector is None and not self.is_named:
            word = self.words[0] if self.words else "KIND"
            raise UsageError(f"name objects as {shown(word)}/NAME, or select them with -l or --all")


def named_key(world: "World", asked: "AskedKind", namespace: str) -> "ObjectKey":
    """Return the key of an object that is named, whether it is there or not."""
    from reconciler.model.identity import ObjectKey

    scope = "" if world.known.scopes.get(asked.kind) is False else namespace
    return ObjectKey(*asked.kind, scope, asked.name)


def where_looked(world: "World", asked: "AskedKind", selection: ObjectSelection) -> str:
    """Return where something was looked for."""
    labels = "" if selection.selector is None else f" with {selection.selector}"
    everywhere = selection.all_namespaces or world.known.scopes.get(asked.kind) is False
    return labels if everywhere else f"{labels} in namespace {selection.namespace}"


selector_option = click.option(
    "-l", "--selector", metavar="SELECTOR", help="Only objects with these labels: app=shop,!canary."
)
cluster_selector_option = click.option(
    "-l", "--selector", metavar="SELECTOR", help="Only clusters with these labels: region=eu,!edge."
)
SELECTION_OPTIONS: tuple[Option, ...] = (
    namespace_option,
    click.option("-A", "--all-namespaces", is_flag=True, help="Select objects of all namespaces."),
    selector_option,
    click.option(
        "--field-selector",
        metavar="SELECTOR",
        help="Only objects with these fields: metadata.name=shop,metadata.namespace!=dev.",
    ),
)
"""What says which objects are meant, beside the words."""


def words_argument(metavar: str, *, required: bool = False) -> Option:
    """Return the argument of kinds and names, called so in the help."""
    return click.argument(
        "words", metavar=metavar, nargs=-1, required=required, shell_complete=complete.objects
    )


def chosen_options(words: str) -> Option:
    """Return what adds the argument and the options of a verb about some objects.

    The verb gets them as its `selection`.

    Args:
        words: What the argument is called in the help.
    """
    every = click.option("--all", "every", is_flag=True, help="Select all objects of the kind.")
    options: tuple[Option, ...] = (words_argument(words, required=True), *SELECTION_OPTIONS, every)
    return partial(gathered, name="selection", kind=NamedOrChosen, options=options)


def matching(
    world: "World", asked: "Sequence[AskedKind]", selection: ObjectSelection
) -> "dict[AskedKind, list[ObjectKey]]":
    """Return the objects that are meant, in the order of what was asked, then sorted."""
    from reconciler.audit.fleet.placed import present_in
    from reconciler.cli.kinds import parse_field_selector
    from reconciler.manifests.selectors import parse_selector
    from reconciler.model.labels import selecting

    selector = selection.selector
    selects = None if selector is None else selecting(parse_selector(selector))
    fields = selection.field_selector
    terms = () if fields is None else parse_field_selector(fields)
    matches: dict[AskedKind, list[ObjectKey]] = {kind: [] for kind in asked}
    wanted: dict[object, list[AskedKind]] = {}
    for kind in asked:
        wanted.setdefault(kind.kind, []).append(kind)
    for key in sorted(present_in(world)):
        if not selection.all_namespaces and key.namespace not in ("", selection.namespace):
            continue
        for kind in wanted.get((key.group, key.kind), ()):
            if (
                kind.name in ("", key.name)
                and all(term.holds(key) for term in terms)
                and (selects is None or selects(_labels_to_select_by(world, key)))
            ):
                matches[kind].append(key)
    return matches


def _labels_to_select_by(world: "World", key: "ObjectKey") -> "Mapping[str, str]":
    """Return the labels of an object, and those of the workload that it is a decision on.

    Upstream a binding has no labels of its workload; who asks for `rb,deploy` by the labels of an
    application means both.
    """
    from reconciler.audit.fleet.placed import workload_on
    from reconciler.cli.tables import shown_body
    from reconciler.model.labels import labels_of

    own = labels_of(shown_body(world, key))
    workload = workload_on(world, key)
    template = None if workload is None else world.inputs.get(workload)
    return own if template is None else {**labels_of(template.body), **own}


def object_argument(
    metavar: str = "OBJECT", *, required: bool = True, behind: str | None = None
) -> Option:
    """Return the argument that names one object; the verb gets `KIND/NAME` as its `word`.

    Args:
        metavar: What the object is called in the help.
        required: Whether it must be there; `word` may be `None` otherwise.
        behind: Name of one more word that may follow, which the verb gets, too.
    """

    def decorate(function: Callable[..., int]) -> Callable[..., int]:
        @functools.wraps(function)
        def verb(*arguments: object, words: tuple[str, ...], **named: Any) -> int:
            word, rest = first_object(words)
            if behind is not None:
                named[behind] = rest[0] if rest else None
                rest = rest[1:]
            if rest:
                raise UsageError(f"{shown(rest[0])} is unexpected; name only one object")
            return function(*arguments, word=word, **named)

        shown_as = metavar if required else f"[{metavar}]"
        shown_as += f" [{behind.upper()}]" if behind else ""
        offer = complete.object_then_cluster if behind else complete.objects
        return click.argument(
            "words", metavar=shown_as, nargs=-1, required=required, shell_complete=offer
        )(verb)

    return decorate


def first_object(words: Sequence[str]) -> tuple[str | None, Sequence[str]]:
    """Return the object that words begin with, `None` without words, and the words behind it.

    >>> first_object(["deployment", "shop", "member1"]), first_object(["deployment/shop"])
    (('deployment/shop', ['member1']), ('deployment/shop', []))
    """
    if not words:
        return None, ()
    if "/" in words[0] or len(words) == 1:
        return words[0], words[1:]
    return f"{words[0]}/{words[1]}", words[2:]


def all_objects(words: Sequence[str]) -> list[str]:
    """Return every object that words name: `deployment shop web` are two.

    >>> all_objects(["deployment", "shop", "web"]), all_objects(["pp/a", "rb/b"])
    (['deployment/shop', 'deployment/web'], ['pp/a', 'rb/b'])
    """
    if len(words) > 1 and not any("/" in word for word in words):
        return [f"{words[0]}/{name}" for name in words[1:]]
    return list(words)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Query(ObjectSelection):
    """What a person asks for: which objects, and how to print them."""

    output: str
    show_labels: bool
    label_columns: tuple[str, ...]
    sort_by: str | None
    no_headers: bool
    show_secrets: bool

    def check(self) -> None:
        """Refuse options that contradict each other, or that cannot be read.

        Raises:
            UsageError: There is one.
        """
        from reconciler.cli.get_output import check_order

        self.check_selection()
        if self.sort_by is not None:
            check_order(self.sort_by)
        if is_template(self.output) and not self.words:
            raise UsageError(f"-o {self.output.partition('=')[0]} prints objects; give a KIND")


QUERY_OPTIONS: tuple[Option, ...] = (
    words_argument("[KIND[,KIND...] [NAME...] | KIND/NAME...]"),
    *SELECTION_OPTIONS,
    click.option(
        "-o",
        "output",
        metavar="[table|wide|yaml|json|name|jsonpath=TEMPLATE|custom-columns=TITLE:PATH,...]",
        type=TemplateOrFormat(("table", "wide", "yaml", "json", "name")),
        default="table",
        show_default=True,
        help="Output format.",
    ),
    click.option("--show-labels", is_flag=True, help="Show all labels in the last column."),
    click.option(
        "-L",
        "--label-columns",
        metavar="KEY",
        multiple=True,
        help="Show this label in its own column (repeatable).",
    ),
    click.option(
        "--sort-by",
        metavar="JSONPATH",
        help="Sort by a field, such as .metadata.name or .spec.replicas.",
    ),
    click.option("--no-headers", is_flag=True, help="Omit the header line of a table."),
    click.option("--show-secrets", is_flag=True, help="Also print the values of Secrets."),
)


def query_options(function: Callable[..., int]) -> Callable[..., int]:
    """Add the words and options that say what to print; the verb gets them as its `query`."""
    return gathered(function, "query", Query, QUERY_OPTIONS)


SEVERAL = 8  # events that `history` and `blame` look at, most often


@dataclass(frozen=True, slots=True)
class AskedObject:
    """What a person asks about: an object, where it is, as at which revision; how to answer."""

    word: str
    namespace: str
    output: str
    at: str
    layout: RepositoryLayout


def about_object(*formats: str, metavar: str = "OBJECT", behind: str | None = None) -> Option:
    """Return the argument and the options of a verb about one object; it gets them as `asked`.

    Args:
        formats: Of `-o`, the first by default.
        metavar: What the object is called in the help.
        behind: Name of one more word that may follow; the verb gets it, too.
    """

    def decorate(function: Callable[..., int]) -> Callable[..., int]:
        @functools.wraps(function)
        def verb(*arguments: object, **named: Any) -> int:
            asked = AskedObject(**{name: named.pop(name) for name in field_names(AskedObject)})
            return function(*arguments, asked=asked, **named)

        options: list[Option] = [
            namespace_option,
            output_option(*formats),
            at_option,
            layout_options,
        ]
        return with_options(verb, [object_argument(metavar, behind=behind), *options])

    return decorate


def open_subject(directory: Path, asked: AskedObject) -> "Subject":
    """Find the object that a person names.

    Raises:
        UsageError: There is no such revision or kind, or nothing is decided about that kind.
    """
    from reconciler.cli.world import note_if_empty, open_fleet

    fleet = open_fleet(directory, asked.layout)
    note_if_empty(directory, fleet.world(asked.at))
    return fleet.subject(asked.word, namespace=asked.namespace, at=asked.at)
