"""What `get` is asked: which objects, and how to print them."""

from collections.abc import Callable
from dataclasses import dataclass

import click

from reconciler.cli.objects.object_selection import (
    SELECTION_OPTIONS,
    ObjectSelection,
    words_argument,
)
from reconciler.cli.options.option_group import Option, gathered
from reconciler.cli.options.template_format import TemplateOrFormat, is_template
from reconciler.errors import UsageError


@dataclass(frozen=True, slots=True, kw_only=True)
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
        from reconciler.cli.objects.object_order import check_order

        self.check_selection()
        if self.sort_by is not None:
            check_order(self.sort_by)
        if is_template(self.output) and not self.words:
            raise UsageError(f"-o {self.output.partition('=')[0]} is about objects; name a KIND")


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
    return gathered(function, "query", Query, QUERY_OPTIONS)
