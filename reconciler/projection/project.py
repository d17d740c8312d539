"""A cluster manifest of one API as a cluster manifest of another, by the tables of both."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from reconciler.model import fields
from reconciler.model.body import Body
from reconciler.projection.facts import Fact, FactRow, Language

PROJECTED_FROM = "reconciler.dev/projected-from"
"""Annotation of a projected manifest that names the kind of the one that a person wrote."""


def project(body: Body, source: Language, target: Language, *, declared: bool = True) -> Body:
    """Return a cluster as another API has it.

    What is written without any status is a declaration in the one API as in the other.

    Args:
        body: A valid manifest of the source.
        source: The API that it is of.
        target: The API to speak.
        declared: Whether a manifest without any status counts as a cluster that is well; if not,
            the other one has no status, either.

    Raises:
        UserError: A field has the wrong type.
        ValueError: A quantity cannot be read.

    Source: ours; the tables name what they read and write.
    """
    parts = [target.bare, *_carried(body, source, target)]
    name = fields.text(fields.mapping(body, "metadata"), "name")
    group, kind = source.kind
    metadata = {"name": name, "annotations": {PROJECTED_FROM: f"{kind}.{group}"}}
    found: dict[str, object] = {}
    for part in ({"metadata": metadata}, *parts):
        found = _merged(found, part)
    if "status" in found and not fields.mapping(body, "status"):
        if declared:
            found = _merged(found, target.well)
        else:
            del found["status"]
    return {"apiVersion": target.api_version, "kind": target.kind[1], **found}


def _carried(body: Body, source: Language, target: Language) -> Iterator[Body]:
    """Yield the parts that say what both APIs can say."""
    for _, read, write in direction(source, target):
        value = read.read(body)
        if value is not None and write.write is not None:
            yield write.write(value)


def projected_from(body: Body) -> str:
    """Return the kind and group of which a manifest was projected, `""` if a person wrote it."""
    annotations = fields.mapping(fields.mapping(body, "metadata"), "annotations")
    return fields.text(annotations, PROJECTED_FROM)


Shared = tuple[Fact[Any], FactRow[Any], FactRow[Any]]
"""A fact, and how the source and the target say it."""


def direction(source: Language, target: Language) -> Sequence[Shared]:
    """Return what is carried from one API to another, in the order of the target's table."""
    told = {row.fact: row for row in source.rows}
    return [
        (row.fact, told[row.fact], row)
        for row in target.rows
        if row.fact in told and row.write is not None
    ]


def lost(source: Language, target: Language) -> Sequence[tuple[str, str]]:
    """Return what the source says and the target cannot, each with where the source says it."""
    carried = {fact for fact, _, _ in direction(source, target)}
    rows = [row for row in source.rows if row.fact not in carried and row.write is not None]
    return [*((row.fact.name, row.place) for row in rows), *source.alone]


def facts_of(body: Body, language: Language) -> Mapping[Fact[Any], object]:
    """Return all that a manifest says of its cluster."""
    found = ((row.fact, row.read(body)) for row in language.rows)
    return {fact: value for fact, value in found if value is not None}


def _merged(one: Mapping[str, object], other: Body) -> dict[str, object]:
    """Return two parts of a manifest as one: mappings are merged, lists are joined."""
    found = dict(one)
    for name, value in other.items():
        known = found.get(name)
        if isinstance(known, Mapping) and isinstance(value, Mapping):
            found[name] = _merged(known, value)
        elif isinstance(known, list) and isinstance(value, list):
            found[name] = [*known, *value]
        else:
            found[name] = value
    return found
