"""What the fields of a kind mean, wrapped for a terminal.

A word names a kind and a field: `pp.spec.placement`, `crb.work.example.org.spec`.
"""

import difflib
import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from reconciler.errors import UsageError
from reconciler.manifests.schemas.schema import SchemaField
from reconciler.model.records import dataclass

if TYPE_CHECKING:
    from reconciler.model.kinds import Kind


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
    for child in field.fields:
        yield from _line(child, "  ")
        yield from _wrapped(child.description or "<empty>", INDENT)
        yield ""


def _tree(field: SchemaField, indent: str) -> Iterator[str]:
    """Yield the fields and those below them by name and type."""
    for child in field.fields:
        yield from _line(child, indent)
        yield from _tree(child, f"{indent}  ")


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


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedField:
    """A field, or a `whole` kind, of a version of an API."""

    api_version: str
    kind: str
    field: "SchemaField"
    whole: bool


def named_field(word: str, api_version: str | None = None) -> NamedField:
    """Return what a word names.

    Args:
        word: A kind, maybe with its group, then names of fields; all with dots between.
        api_version: Which version, `None` for the preferred one.

    Raises:
        UsageError: There is no such kind, version or field.
    """
    from reconciler.shell.resources import load_schemas

    (group, kind), path = _split(word)
    version = _version(group, kind, api_version)
    field = _field(load_schemas().described(version, kind), path)
    return NamedField(api_version=version, kind=kind, field=field, whole=not path)


def _split(word: str) -> "tuple[Kind, list[str]]":
    """Return the kind that a word begins with, and the names of fields behind it.

    Raises:
        UsageError: It begins with no kind whose fields are known, or with several.
    """
    from reconciler.audit.named_object import resolve_kind
    from reconciler.cli.kinds import read_kinds
    from reconciler.core.dialects import KINDS
    from reconciler.model.text import shown

    name, *path = word.split(".")
    read = [one.id for one in read_kinds()]
    groups = {group for group, _ in read}
    ends = [n for n in range(1, len(path) + 1) if ".".join(path[:n]) in groups]
    group = ".".join(path[: ends[0]]) if ends else ""
    asked = f"{name}.{group}" if group else name
    kinds = resolve_kind(asked, KINDS.short, read)
    if not kinds:
        if resolve_kind(asked, KINDS.short, KINDS.scopes):
            raise UsageError(f"{shown(asked)} is a workload; its fields are not validated")
        names = sorted({kind.lower() for _, kind in read} | KINDS.short.keys())
        near = difflib.get_close_matches(name.lower(), names, n=3)
        hint = f"did you mean {', '.join(near)}?" if near else "see reconciler api-resources"
        raise UsageError(f"there is no kind {shown(asked)}; {hint}")
    if len(kinds) > 1:
        choices = ", ".join(f"{kind.lower()}.{group}" for group, kind in kinds)
        raise UsageError(f"{shown(asked)} is ambiguous; name one of {choices}")
    return kinds[0], path[ends[0] :] if ends else path


def _version(group: str, kind: str, asked: str | None) -> str:
    """Return the version to explain.

    Raises:
        UsageError: The one asked for is not read.
    """
    from reconciler.cli.kinds import preferred
    from reconciler.model.text import shown
    from reconciler.shell.resources import load_schemas

    versions = load_schemas().versions_of(group, kind)
    if asked is None:
        return preferred(versions)
    if asked not in versions:
        raise UsageError(f"--api-version {shown(asked)} must be {' or '.join(versions)}")
    return asked


def _field(root: "SchemaField", path: list[str]) -> "SchemaField":
    """Return the field that names lead to.

    Raises:
        UsageError: One of them is no field.
    """
    from reconciler.model.text import shown

    field = root
    for i, name in enumerate(path):
        below = field.below(name)
        if below is None:
            place = ".".join([root.name, *path[:i]])
            names = [one.name for one in field.fields]
            near = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
            children = f"it has {', '.join(names)}" if names else "it has no fields"
            hint = f"did you mean {near[0]}?" if near else children
            raise UsageError(f"there is no field {shown(name)} in {place}; {hint}")
        field = below
    return field
