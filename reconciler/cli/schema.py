"""JSON Schemas of kinds, for editors."""

import json
from collections.abc import Mapping
from pathlib import Path

import click

from reconciler.audit.named_object import resolve_kind
from reconciler.cli.kinds import preferred
from reconciler.core.dialects import KINDS
from reconciler.errors import UsageError
from reconciler.manifests.schemas.editor_schema import (
    MANIFESTS,
    catalog_of,
    schema_of,
    schema_of_all,
)
from reconciler.manifests.schemas.nodes import Json
from reconciler.manifests.schemas.schema import BASE, DEFINITIONS, kind_of
from reconciler.model.identity import group_of
from reconciler.model.text import shown
from reconciler.shell.resources import load_schemas


def run(*, kind: str | None, catalog: bool, url: str | None, write: Path | None) -> int:
    """Print or write schemas."""
    if kind is not None and (catalog or write is not None):
        raise UsageError("KIND cannot be combined with --catalog or --write")
    if url is not None and not (catalog or write is not None):
        raise UsageError("--url requires --catalog or --write")
    documents = load_schemas().documents
    base = BASE if url is None else f"{url.rstrip('/')}/"
    if write is not None:
        own = [name for name in documents if not name.startswith(DEFINITIONS)]
        files = {name: schema_of(name, documents) for name in own}
        files |= {MANIFESTS: schema_of_all(documents), "catalog.json": catalog_of(documents, base)}
        _write(write, files)
        click.echo(f"{len(files)} files written to {write}", err=True)
    elif catalog:
        click.echo(_text(catalog_of(documents, base)), nl=False)
    elif kind is None:
        click.echo(_text(schema_of_all(documents)), nl=False)
    else:
        click.echo(_text(schema_of(_file_of(kind, documents), documents)), nl=False)
    return 0


def _file_of(word: str, documents: Mapping[str, Json]) -> str:
    """Return the file with the schema of the kind that a person means, in its newest version."""
    own = [name for name in documents if not name.startswith(DEFINITIONS)]
    files = {kind_of(documents[name]): name for name in own}
    versions: dict[tuple[str, str], list[str]] = {}
    for version, kind in files:
        versions.setdefault((group_of(version), kind), []).append(version)
    resolved = resolve_kind(word, KINDS.short, versions)
    if not resolved:
        kinds = ", ".join(sorted({kind.lower() for _, kind in versions}))
        raise UsageError(f"there is no schema for {shown(word)}; known are {kinds}")
    if len(resolved) > 1:
        choices = " or ".join(f"{kind.lower()}.{group}" for group, kind in resolved)
        raise UsageError(f"{shown(word)} is ambiguous; name {choices}")
    return files[preferred(versions[resolved[0]]), resolved[0][1]]


def _write(folder: Path, files: Mapping[str, Json]) -> None:
    """Write the files of a folder, which is made if absent."""
    for name, content in files.items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(_text(content), encoding="utf-8")


def _text(content: Json) -> str:
    return f"{json.dumps(content, indent=2)}\n"
