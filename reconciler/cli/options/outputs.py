"""`-o FORMAT[=FILE]`: which reports a verb writes, and where to."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from reconciler.errors import UsageError


@dataclass(frozen=True, slots=True)
class Output:
    """One report: its format, and its file; `None` is standard output."""

    format: str
    file: Path | None = None

    def write(self, text: str) -> None:
        """Write the report.

        Raises:
            UsageError: The file cannot be written.
        """
        if self.file is None:
            click.echo(text, nl=False)
            return
        try:
            self.file.write_text(text, encoding="utf-8")
        except OSError as error:
            raise UsageError(f'"{self.file}" cannot be written: {error.strerror}') from None


class OutputOption(click.ParamType[Output]):
    """One FORMAT, or FORMAT=FILE."""

    name = "output"

    def __init__(self, formats: Sequence[str]) -> None:
        self._formats = formats

    def convert(
        self, value: str | Output, param: click.Parameter | None, ctx: click.Context | None
    ) -> Output:
        """Parse it."""
        if isinstance(value, Output):
            return value
        name, equals, file = value.partition("=")
        if name not in self._formats:
            self.fail(f"{name!r} is not one of {', '.join(self._formats)}", param, ctx)
        if equals and not file:
            self.fail(f"a file must follow {value!r}", param, ctx)
        return Output(name, Path(file) if file else None)


def check_outputs(outputs: Sequence[Output]) -> None:
    """Refuse two reports at one place.

    Raises:
        UsageError: Two of them go to standard output, or to one file.
    """
    places = [output.file for output in outputs]
    twice = next((place for i, place in enumerate(places) if place in places[:i]), "")
    if twice is None:
        raise UsageError("two formats cannot share standard output, use -o FORMAT=FILE for one")
    if twice:
        raise UsageError(f'two formats cannot share the file "{twice}"')
