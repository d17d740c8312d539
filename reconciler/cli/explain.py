"""`reconciler explain`: the fields of a kind, as its schema has them."""

import difflib
import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from reconciler.errors import UsageError

if TYPE_CHECKING:
    from reconciler.manifests.schema_fields import SchemaField
    from reconciler.model.known_kinds import Kind

WIDTH = 76
INDENT = "    "


@click.command(name="explain")
@click.argument("word", metavar="KIND[.FIELD...]")
@click.option("--recursive", is_flag=True, help="Print fields of fields, too, by name and type.")
@click.option("--api-version", metavar="GROUP/VERSION", help="Another version than the preferred.")
def command(*, word: str, recursive: bool, api_version: str | None) -> int:
    r"""Print what a field of a kind means: type, default, values, whether it must be there.

    It is told from the schema that manifests are checked with. KIND may have its group:
    crb.work.karmada.io. Lists are passed through: pp.spec.resourceSelectors.kind.

    \b
    Examples:
      reconciler explain pp
      reconciler explain pp.spec.placement.replicaScheduling
      reconciler explain placement.spec --recursive
    \b
    Exit codes: 0 told, 2 no such kind, version or field.
    """
    from reconciler.shell.resources import load_schemas

    (group, kind), path = _split(word)
    version = _version(group, kind, api_version)
    field = _field(load_schemas().described(version, kind), path)
    heading = [("GROUP:", group), ("KIND:", kind), ("VERSION:", version.rpartition("/")[2])]
    for title, text in heading:
        click.echo(f"{title:<12}{text}")
    for line in (*_described(field, whole=not path), *_listed(field, recursive=recursive)):
        click.echo(line)
    return 0


def _split(word: str) -> "tuple[Kind, list[str]]":
    """Return the kind that a word begins with, and the names of fields behind it.

    Raises:
        UsageError: It begins with no kind whose fields are known, or with several.
    """
    from reconciler.cli.api_kinds import read_kinds
    from reconciler.cli.kinds import resolve_kind
    from reconciler.core.dialects import KINDS
    from reconciler.manifests.names import shown

    name, *path = word.split(".")
    read = [one.id for one in read_kinds()]
    groups = {group for group, _ in read}
    ends = [n for n in range(1, len(path) + 1) if ".".join(path[:n]) in groups]
    group = ".".join(path[: ends[0]]) if ends else ""
    asked = f"{name}.{group}" if group else name
    kinds = resolve_kind(asked, KINDS.short, read)
    if not kinds:
        if resolve_kind(asked, KINDS.short, KINDS.scopes):
            raise UsageError(f"{shown(asked)} is a workload: its fields are not checked here")
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
    from reconciler.cli.api_kinds import preferred
    from reconciler.manifests.names import shown
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
    from reconciler.manifests.names import shown

    field = root
    for i, name in enumerate(path):
        below = field.below(name)
        if below is None:
            place = ".".join([root.name, *path[:i]])
            names = [one.name for one in field.fields]
            near = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
            known = f"it has {', '.join(names)}" if names else "it has no fields"
            hint = f"did you mean {near[0]}?" if near else known
            raise UsageError(f"there is no field {shown(name)} in {place}; {hint}")
        field = below
    return field


def _described(field: "SchemaField", *, whole: bool) -> Iterator[str]:
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


def _listed(field: "SchemaField", *, recursive: bool) -> Iterator[str]:
    """Yield the fields below."""
    if field.fields:
        yield ""
        yield "FIELDS:"
        yield from _tree(field, "  ") if recursive else _each(field)


def _each(field: "SchemaField") -> Iterator[str]:
    """Yield each field with what it means."""
    for one in field.fields:
        yield from _line(one, "  ")
        yield from _wrapped(one.description or "<empty>", INDENT)
        yield ""


def _tree(field: "SchemaField", indent: str) -> Iterator[str]:
    """Yield the fields and those below them by name and type."""
    for one in field.fields:
        yield from _line(one, indent)
        yield from _tree(one, f"{indent}  ")


def _line(field: "SchemaField", indent: str) -> Iterator[str]:
    """Yield name and type, then the values and the default."""
    yield f"{indent}{field.name}\t<{field.type}>{' -required-' if field.required else ''}"
    if field.values:
        yield f"{indent}enum: {', '.join(field.values)}"
    if field.default:
        yield f"{indent}default: {field.default}"


def _wrapped(text: str, indent: str) -> list[str]:
    """Return a paragraph line by line."""
    return textwrap.wrap(text, WIDTH, initial_indent=indent, subsequent_indent=indent)
