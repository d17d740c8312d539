"""The schemas as editors take them: each in one file, in JSON Schema draft-07, with a catalog.

Draft-07 is what every editor reads. The keywords of the schemas mean the same there, but for one:
what stands beside a `$ref` does not count. Beside ours stand descriptions only.
"""

from collections.abc import Iterator, Mapping
from posixpath import dirname, join, normpath

from reconciler.manifests.schemas.nodes import Json
from reconciler.manifests.schemas.schema import BASE, DEFINITIONS, kind_of
from reconciler.model.settings import CONFIGURATION_PATH

DRAFT = "http://json-schema.org/draft-07/schema#"
CATALOG = "https://www.schemastore.org/schema-catalog.json"
MANIFESTS = "manifests.json"
"""The file with the schemas of all kinds, each for the documents that it is about."""

FOLDERS = ("clusters", "feedback", "placements", "policies", "rebalancers", "scores", "workloads")
FILES = [CONFIGURATION_PATH, *(f"**/{folder}/**/*.yaml" for folder in FOLDERS)]
"""Where manifests are, by convention."""


def schema_of(name: str, documents: Mapping[str, Json]) -> Json:
    """Return the schema of one kind, with all that it refers to in the same document.

    Args:
        name: File below `schemas/`.
        documents: File to content.
    """
    return {"$schema": DRAFT, **_moved(name, documents), "definitions": _parts([name], documents)}


def schema_of_all(documents: Mapping[str, Json]) -> Json:
    """Return one schema for all manifests: that of its kind, and none for what is not ours."""
    names = [name for name in sorted(documents) if not name.startswith(DEFINITIONS)]
    kinds = {name: kind_of(documents[name]) for name in names}
    kind_names = sorted({kind for _, kind in kinds.values()})
    return {
        "$schema": DRAFT,
        "title": "Manifests",
        "description": "Clusters, policies, placements, rebalancers and what belongs to them.",
        "type": "object",
        "properties": {
            "apiVersion": {
                "description": "Group and version of the API.",
                "anyOf": [
                    {"enum": sorted({version for version, _ in kinds.values()})},
                    {"type": "string"},
                ],
            },
            "kind": {
                "description": "Kind of the object.",
                "anyOf": [{"enum": kind_names}, {"type": "string"}],
            },
        },
        "allOf": [
            {
                "if": {
                    "required": ["apiVersion", "kind"],
                    "properties": {"apiVersion": {"const": version}, "kind": {"const": kind}},
                },
                "then": {"$ref": f"#/definitions/{_part(name, '')}"},
            }
            for name, (version, kind) in kinds.items()
        ],
        "definitions": {
            **{_part(name, ""): _moved(name, documents) for name in names},
            **_parts(names, documents),
        },
    }


def catalog_of(documents: Mapping[str, Json], base: str = BASE) -> Json:
    """Return the catalog in the format of schemastore.org.

    Args:
        documents: File to content.
        base: Where the schemas are served from; it ends with a slash.
    """
    every = {
        "name": "Manifests of a fleet",
        "description": "All kinds that the reconciler reads, told apart by apiVersion and kind.",
        "fileMatch": FILES,
        "url": f"{base}{MANIFESTS}",
    }
    return {
        "$schema": CATALOG,
        "version": 1,
        "schemas": [
            every,
            *(
                {
                    "name": " ".join(reversed(kind_of(document))),
                    "description": document["description"],
                    "url": f"{base}{name}",
                }
                for name, document in sorted(documents.items())
                if not name.startswith(DEFINITIONS)
            ),
        ],
    }


def _parts(names: list[str], documents: Mapping[str, Json]) -> dict[str, Json]:
    """Return the definitions that some files refer to, and those that these refer to."""
    definitions: dict[str, Json] = {}
    left = [(name, reference) for name in names for reference in _references(documents[name])]
    while left:
        origin, reference = left.pop()
        name, pointer = _target(origin, reference)
        part = _part(name, pointer)
        if part not in definitions:
            definition = documents[name]["$defs"][pointer]
            definitions[part] = _rewritten(name, definition)
            left += [(name, other) for other in _references(definition)]
    return dict(sorted(definitions.items()))


def _moved(name: str, documents: Mapping[str, Json]) -> dict[str, object]:
    """Return the schema of a file with references into the new document."""
    return {key: _rewritten(name, one) for key, one in documents[name].items() if key != "$schema"}


def _rewritten(origin: str, node: object) -> "Json":
    """Return a part of a schema of a file with references into the new document."""
    if isinstance(node, list):
        return [_rewritten(origin, item) for item in node]  # type: ignore[return-value]
    if not isinstance(node, Mapping):
        return node  # type: ignore[return-value]
    rewritten = {key: _rewritten(origin, value) for key, value in node.items()}
    if isinstance(node.get("$ref"), str):
        target = _part(*_target(origin, str(node["$ref"])))
        rewritten["$ref"] = f"#/definitions/{target}"  # type: ignore[assignment]
    return rewritten


def _references(node: object) -> Iterator[str]:
    """Yield every reference in a part of a schema."""
    if isinstance(node, list):
        for inner in node:
            yield from _references(inner)
    elif isinstance(node, Mapping):
        if isinstance(node.get("$ref"), str):
            yield str(node["$ref"])
        for inner in node.values():
            yield from _references(inner)


def _target(origin: str, reference: str) -> tuple[str, str]:
    """Return the file and the definition in it that a reference in a file leads to."""
    file, _, pointer = reference.partition("#/$defs/")
    return (normpath(join(dirname(origin), file)) if file else origin), pointer


def _part(file: str, pointer: str) -> str:
    """Return the name of a definition in the new document.

    >>> _part("definitions/karmada.json", "failover"), _part("a.dev/b_v1.json", "")
    ('karmada.failover', 'a.dev.b_v1')
    """
    path = file.removeprefix(DEFINITIONS).removesuffix(".json").replace("/", ".")
    return f"{path}.{pointer}" if pointer else path
