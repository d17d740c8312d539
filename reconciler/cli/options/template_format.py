"""The option `-o` where it may also be a template of a person's own."""

from collections.abc import Callable
from typing import Any

import click

from reconciler.cli.options.options import Format

JSONPATH, COLUMNS = "jsonpath=", "custom-columns="
EXAMPLES = {
    JSONPATH: "jsonpath='{.metadata.name}'",
    COLUMNS: "custom-columns=NAME:.metadata.name,REPLICAS:.spec.replicas",
}


def is_template(output: str) -> bool:
    """Return whether objects are to be printed by a template."""
    return output.startswith((JSONPATH, COLUMNS))


class TemplateOrFormat(Format):
    """One of some formats, or a template behind `jsonpath=` or `custom-columns=`."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Read it, and refuse a template that is none."""
        for start, example in EXAMPLES.items():
            if value == start.removesuffix("="):
                self.fail(f"{value} needs a template: -o {example}", param, ctx)
            if value.startswith(start):
                try:
                    _parser(start)(value.removeprefix(start))
                except ValueError as error:
                    self.fail(f"{value} {error}; an example is -o {example}", param, ctx)
                return str(value)
        return super().convert(value, param, ctx)


def _parser(start: str) -> Callable[[str], object]:
    from reconciler.manifests.json_template import parse_columns, parse_template

    return parse_template if start == JSONPATH else parse_columns
