"""What `get` is asked: words and options, and the objects of a world that they mean."""

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import click

from reconciler.cli.objects import complete
from reconciler.cli.options.namespace_option import namespace_option
from reconciler.cli.options.template_format import TemplateOrFormat, is_template
from reconciler.errors import UsageError

if TYPE_CHECKING:
    from reconciler.cli.objects.asked_kinds import AskedKind
    from reconciler.model.identity import ObjectKey
    from reconciler.model.world import World


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """What a person asks for: words, which objects of them, and how to print them."""

    words: tuple[str, ...]
    namespace: str
    all_namespaces: bool
    selector: str | None
    output: str
    show_labels: bool
    label_columns: tuple[str, ...]
    sort_by: str | None
    no_headers: bool
    show_secrets: bool
    field_selector: str | None = None

    def check(self) -> None:
        """Refuse options that contradict each other, or that cannot be read.

        Raises:
            UsageError: There is one.
        """
        from reconciler.cli.objects.field_selector import parse_field_selector
        from reconciler.cli.objects.object_order import check_order
        from reconciler.manifests.label_selector import parse_selector

        chooses = "" if self.selector is None else "-l"
        if self.selector is not None:
            parse_selector(self.selector)
        if self.field_selector is not None:
            chooses = "--field-selector"
            parse_field_selector(self.field_selector)
        if chooses and (len(self.words) > 1 or any("/" in word for word in self.words)):
            raise UsageError(f"{chooses} chooses among all objects of a kind; name none beside it")
        if self.sort_by is not None:
            check_order(self.sort_by)
        if is_template(self.output) and not self.words:
            raise UsageError(f"-o {self.output.partition('=')[0]} is about objects; name a KIND")


QUERY_OPTIONS = (
    click.argument(
        "words",
        metavar="[KIND[,KIND...] [NAME...] | KIND/NAME...]",
        nargs=-1,
        shell_complete=complete.objects,
    ),
    namespace_option,
    click.option("-A", "--all-namespaces", is_flag=True, help="Show objects of all namespaces."),
    click.option(
        "-l", "--selector", metavar="SELECTOR", help="Only what has these labels: app=shop,!canary."
    ),
    click.option(
        "--field-selector",
        metavar="SELECTOR",
        help="Only what has these fields: metadata.name=shop,metadata.namespace!=dev.",
    ),
    click.option(
        "-o",
        "output",
        metavar="[table|wide|yaml|json|name|jsonpath=TEMPLATE|custom-columns=TITLE:PATH,...]",
        type=TemplateOrFormat(("table", "wide", "yaml", "json", "name")),
        default="table",
        show_default=True,
        help="How to print them.",
    ),
    click.option("--show-labels", is_flag=True, help="Show all labels in a last column."),
    click.option(
        "-L",
        "--label-columns",
        metavar="KEY",
        multiple=True,
        help="Show this label in a column of its own; may be repeated.",
    ),
    click.option(
        "--sort-by", metavar="JSONPATH", help="Sort by a field: .metadata.name, .spec.replicas."
    ),
    click.option("--no-headers", is_flag=True, help="Leave out the first line of a table."),
    click.option("--show-secrets", is_flag=True, help="Print the values of Secrets, too."),
)


def query_options(function: Callable[..., int]) -> Callable[..., int]:
    """Add the words and options that say what to print; the verb gets them as its `query`."""

    @functools.wraps(function)
    def verb(*arguments: object, **named: Any) -> int:
        query = Query(**{field.name: named.pop(field.name) for field in fields(Query)})
        return function(*arguments, query=query, **named)

    for option in reversed(QUERY_OPTIONS):
        verb = option(verb)
    return verb


def matching(
    world: "World", asked: "Sequence[AskedKind]", query: Query
) -> "dict[AskedKind, list[ObjectKey]]":
    """Return the objects that are asked for, in the order of what was asked, then sorted."""
    from reconciler.cli.objects.field_selector import parse_field_selector
    from reconciler.manifests.label_selector import parse_selector
    from reconciler.model.labels import matches

    selector = None if query.selector is None else parse_selector(query.selector)
    terms = () if query.field_selector is None else parse_field_selector(query.field_selector)
    found: dict[AskedKind, list[ObjectKey]] = {one: [] for one in asked}
    wanted: dict[object, list[AskedKind]] = {}
    for one in asked:
        wanted.setdefault(one.kind, []).append(one)
    for key in sorted({*world.inputs, *world.outputs}):
        if not query.all_namespaces and key.namespace not in ("", query.namespace):
            continue
        for one in wanted.get((key.group, key.kind), ()):
            if (
                one.name in ("", key.name)
                and all(term.holds(key) for term in terms)
                and (selector is None or matches(selector, _labels_to_select_by(world, key)))
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
