"""Which objects a person means: words, and what chooses among those of a kind."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import click

from reconciler.cli.objects import complete
from reconciler.cli.options.namespace_option import namespace_option
from reconciler.cli.options.option_group import Option, gathered
from reconciler.errors import UsageError
from reconciler.model.message_text import shown

if TYPE_CHECKING:
    from reconciler.cli.objects.asked_kinds import AskedKind
    from reconciler.model.identity import ObjectKey
    from reconciler.model.world import World


@dataclass(frozen=True, slots=True, kw_only=True)
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
        from reconciler.cli.objects.field_selector import parse_field_selector
        from reconciler.manifests.label_selector import parse_selector

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
            raise UsageError(f"{chooses} chooses among all objects of a kind; name none beside it")


@dataclass(frozen=True, slots=True, kw_only=True)
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
            raise UsageError("--all means all; leave the selector out")
        if self.every:
            self.check_no_name("--all")
        elif self.selector is None and self.field_selector is None and not self.is_named:
            word = self.words[0] if self.words else "KIND"
            raise UsageError(
                f"name objects as {shown(word)}/NAME, or choose among all with -l or --all"
            )


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
    "-l", "--selector", metavar="SELECTOR", help="Only what has these labels: app=shop,!canary."
)
cluster_selector_option = click.option(
    "-l", "--selector", metavar="SELECTOR", help="Only clusters with these labels: region=eu,!edge."
)
SELECTION_OPTIONS: tuple[Option, ...] = (
    namespace_option,
    click.option("-A", "--all-namespaces", is_flag=True, help="Take objects of all namespaces."),
    selector_option,
    click.option(
        "--field-selector",
        metavar="SELECTOR",
        help="Only what has these fields: metadata.name=shop,metadata.namespace!=dev.",
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
    every = click.option("--all", "every", is_flag=True, help="Take all objects of the kind.")
    options: tuple[Option, ...] = (words_argument(words, required=True), *SELECTION_OPTIONS, every)
    return partial(gathered, name="selection", kind=NamedOrChosen, options=options)


def matching(
    world: "World", asked: "Sequence[AskedKind]", selection: ObjectSelection
) -> "dict[AskedKind, list[ObjectKey]]":
    """Return the objects that are meant, in the order of what was asked, then sorted."""
    from reconciler.audit.fleet.placed import present_in
    from reconciler.cli.objects.field_selector import parse_field_selector
    from reconciler.manifests.label_selector import parse_selector
    from reconciler.model.labels import selecting

    selector = selection.selector
    selects = None if selector is None else selecting(parse_selector(selector))
    fields = selection.field_selector
    terms = () if fields is None else parse_field_selector(fields)
    found: dict[AskedKind, list[ObjectKey]] = {one: [] for one in asked}
    wanted: dict[object, list[AskedKind]] = {}
    for one in asked:
        wanted.setdefault(one.kind, []).append(one)
    for key in sorted(present_in(world)):
        if not selection.all_namespaces and key.namespace not in ("", selection.namespace):
            continue
        for one in wanted.get((key.group, key.kind), ()):
            if (
                one.name in ("", key.name)
                and all(term.holds(key) for term in terms)
                and (selects is None or selects(_labels_to_select_by(world, key)))
            ):
                found[one].append(key)
    return found


def _labels_to_select_by(world: "World", key: "ObjectKey") -> "Mapping[str, str]":
    """Return the labels of an object, and those of the workload that it is a decision on.

    Upstream a binding has no labels of its workload; who asks for `rb,deploy` by the labels of an
    application means both.
    """
    from reconciler.audit.fleet.placed import workload_on
    from reconciler.cli.objects.shown_body import shown_body
    from reconciler.model.labels import labels_of

    own = labels_of(shown_body(world, key))
    workload = workload_on(world, key)
    template = None if workload is None else world.inputs.get(workload)
    return own if template is None else {**labels_of(template.body), **own}
