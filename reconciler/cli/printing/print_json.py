"""Answers for machines: the only file that prints them.

`get` and `render` apart, which print manifests.
"""

import json
from collections.abc import Mapping

import click

SCHEMA_VERSION = 1
"""Grows when a field of any answer goes, or means something else; docs/json.md has the fields."""


def versioned(answer: Mapping[str, object]) -> dict[str, object]:
    """Return an answer that says by which version of the fields it is to be read."""
    return {"schemaVersion": SCHEMA_VERSION, **answer}


def json_text(answer: Mapping[str, object]) -> str:
    """Return the text of an answer: indented, with a newline at its end."""
    return f"{json.dumps(versioned(answer), indent=2, ensure_ascii=False)}\n"


def print_json(answer: Mapping[str, object]) -> None:
    """Print one answer to standard output."""
    click.echo(json_text(answer), nl=False)


def print_json_line(answer: Mapping[str, object]) -> None:
    """Print one answer of a stream, a line each."""
    click.echo(json.dumps(versioned(answer), ensure_ascii=False))
