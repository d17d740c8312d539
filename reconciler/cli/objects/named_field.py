"""Which field of which kind a word names: `pp.spec.placement`, `crb.work.example.org.spec`."""

import difflib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from reconciler.errors import UsageError

if TYPE_CHECKING:
    from reconciler.manifests.schemas.schema_fields import SchemaField
    from reconciler.model.known_kinds import Kind


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
    from reconciler.audit.kind_words import resolve_kind
    from reconciler.cli.objects.api_kinds import read_kinds
    from reconciler.core.dialects import KINDS
    from reconciler.model.message_text import shown

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
    from reconciler.cli.objects.api_kinds import preferred
    from reconciler.model.message_text import shown
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
    from reconciler.model.message_text import shown

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
