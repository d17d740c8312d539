"""What the fields of a kind mean, wrapped for a terminal."""

import textwrap
from collections.abc import Iterator

import click

from reconciler.cli.objects.named_field import named_field
from reconciler.manifests.schemas.schema_fields import SchemaField

WIDTH = 76
INDENT = "    "


def run(*, word: str, recursive: bool, api_version: str | None) -> int:
    """Print what the fields mean."""
    found = named_field(word, api_version)
    group, _, version = found.api_version.rpartition("/")
    for title, text in (("GROUP:", group), ("KIND:", found.kind), ("VERSION:", version)):
        click.echo(f"{title:<12}{text}")
    field, whole = found.field, found.whole
    for line in (*_described(field, whole=whole), *_listed(field, recursive=recursive)):
        click.echo(line)
    return 0


def _described(field: SchemaField, *, whole: bool) -> Iterator[str]:
    """Yield what there is to say of the field itself."""
    yield ""
    if not whole:
        yield f"FIELD: {field.name} <{field.type}>{' -required-' if field.required else ''}"
        if field.values:
            yield "ENUM:"
            yield from (f"{INDENT}{value}" for value in field.values)
        if field.default:
            yield f"DEFAULT: {field.default}"
        if field.limits:
            yield f"LIMITS: {', '.join(field.limits)}"
        yield ""
    yield "DESCRIPTION:"
    yield from _wrapped(field.description or "<empty>", INDENT)


def _listed(field: SchemaField, *, recursive: bool) -> Iterator[str]:
    """Yield the fields below."""
    if field.fields:
        yield ""
        yield "FIELDS:"
        yield from _tree(field, "  ") if recursive else _each(field)


def _each(field: SchemaField) -> Iterator[str]:
    """Yield each field with what it means."""
    for one in field.fields:
        yield from _line(one, "  ")
        yield from _wrapped(one.description or "<empty>", INDENT)
        yield ""


def _tree(field: SchemaField, indent: str) -> Iterator[str]:
    """Yield the fields and those below them by name and type."""
    for one in field.fields:
        yield from _line(one, indent)
        yield from _tree(one, f"{indent}  ")


def _line(field: SchemaField, indent: str) -> Iterator[str]:
    """Yield name and type, then the values and the default."""
    yield f"{indent}{field.name}\t<{field.type}>{' -required-' if field.required else ''}"
    if field.values:
        yield f"{indent}enum: {', '.join(field.values)}"
    if field.default:
        yield f"{indent}default: {field.default}"


def _wrapped(text: str, indent: str) -> list[str]:
    """Return a paragraph line by line."""
    return textwrap.wrap(text, WIDTH, initial_indent=indent, subsequent_indent=indent)
