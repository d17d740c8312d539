"""The kinds that Kubernetes itself serves, as schemas, and those that CRDs of a repository define.

A pass takes the content of a workload as it is: its cluster knows whether it takes that. A person
wants to know before, so a check holds workloads against the schemas of one version of Kubernetes,
strictly: a field that is not there is a mistake, as for `kubectl apply`. `status` is not judged.
Nulls are taken out first, since for an API server they are fields that are not set.

A kind that a CRD defines is judged by its structural schema. Patterns, formats and CEL rules are
left to the cluster: they are the repository's own, and may cost whatever they want.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from reconciler.manifests.schemas.nodes import Json
from reconciler.manifests.schemas.schema import Schemas, kind_of
from reconciler.manifests.schemas.violations import TYPES, Violation
from reconciler.model.identity import group_of
from reconciler.model.records import dataclass, field, replace

_DEFINITIONS = "definitions/workloads.json"
"""What the shipped definitions refer to each other by."""


@dataclass(frozen=True, slots=True)
class KubernetesKinds:
    """What one version of Kubernetes serves.

    Attributes:
        version: Such as `1.37`.
        schemas: Of each kind that people keep in files.
        served: `apiVersion` and kind to all versions of Kubernetes that serve it, oldest first.
        groups: The API groups of Kubernetes itself, with the one whose kinds have all moved.
        custom: Of each kind that a CRD of the repository defines.
    """

    version: str
    schemas: Schemas
    served: Mapping[tuple[str, str], tuple[str, ...]]
    groups: frozenset[str]
    custom: Schemas = field(default_factory=lambda: Schemas({}))

    @classmethod
    def of(cls, shipped: Json, version: str) -> "KubernetesKinds":
        """Return what a version of Kubernetes serves.

        Args:
            shipped: Content of `schemas/kubernetes.json`: of each definition what it is since when.
            version: One of those that it has.
        """
        versions = shipped["versions"]
        definitions: dict[str, Json] = {}
        served: dict[tuple[str, str], tuple[str, ...]] = {}
        for name, since in shipped["definitions"].items():
            by_version = dict(_by_version(since, versions))
            kinds = [one for one in by_version.values() if _is_kind(one)]
            if kinds:
                served[kind_of(kinds[0])] = tuple(by_version)
            if version in by_version:
                definitions[name] = by_version[version]
        files = {_file(one): one for one in definitions.values() if _is_kind(one)}
        return cls(
            version=version,
            schemas=Schemas({_DEFINITIONS: {"$defs": definitions}, **files}),
            served=served,
            groups=frozenset({"extensions", *(group_of(one) for one, _ in served)}),
        )

    def with_custom(self, definitions: Iterable[Json]) -> "KubernetesKinds":
        """Return the same with the kinds of CRDs; one that an API server refuses defines none."""
        taken = [_without_null(crd) for crd in definitions if self.violations_of(crd) == ()]
        versions = [one for crd in taken for one in _versions_of(crd)]
        files = {f"custom/{number}.json": one for number, one in enumerate(versions)}
        return replace(self, custom=Schemas(files))

    def violations_of(self, body: Json) -> tuple[Violation, ...] | None:
        """Return what is wrong with an object by the schema of its kind, `None` if it has none."""
        kind = str(body.get("apiVersion")), str(body.get("kind"))
        schemas = self.schemas if self.schemas.covers(*kind) else self.custom
        return schemas.judge(_without_null(body)).violations if schemas.covers(*kind) else None

    def instead_of(self, api_version: str, kind: str) -> tuple[str, ...]:
        """Return the `apiVersion`s in which this version serves a kind of this name, sorted.

        Those of the same group, if there are any.
        """
        serving = [one for one, name in self.served if name == kind]
        now = sorted(one for one in serving if self.schemas.covers(one, kind))
        same = [one for one in now if group_of(one) == group_of(api_version)]
        return tuple(same or now)


def _by_version(since: Json, versions: Iterable[str]) -> Iterator[tuple[str, Json]]:
    """Yield the versions in which there is a definition, with what it is there."""
    definition = None
    for version in versions:
        definition = since.get(version) if version in since else definition
        if definition is not None:
            yield version, definition


def _is_kind(definition: Json) -> bool:
    return "const" in definition.get("properties", {}).get("kind", {})


def _file(document: Json) -> str:
    api_version, kind = kind_of(document)
    version = api_version.rpartition("/")[2]
    return f"{group_of(api_version) or 'core'}/{kind.lower()}_{version}.json"


def _versions_of(crd: Json) -> Iterator[Json]:
    """Yield the schema of each version of a CRD that has one."""
    spec = crd["spec"]
    for version in spec["versions"]:
        root = version.get("schema", {}).get("openAPIV3Schema", {})
        if root.get("properties"):
            judged = _structural(root)
            judged["properties"] |= {
                "apiVersion": {"const": f"{spec['group']}/{version['name']}"},
                "kind": {"const": spec["names"]["kind"]},
                "metadata": {},
                "status": {},
            }
            yield judged


_COUNTS = ("minLength", "maxLength", "minItems", "maxItems")
_MOST = 2**31  # of a bound; no file reaches a greater one


def _structural(schema: object) -> dict[str, Any]:
    """Return a part of a structural schema as JSON Schema: closed where an API server prunes.

    What is odd in it is left out. Kubernetes' own schema of a CRD knows little of its parts.

    Source: apiextensions-apiserver pkg/apiserver/schema/pruning `prune`.
    """
    if not isinstance(schema, Mapping):
        return {}
    judged = {name: schema[name] for name in ("minimum", "maximum") if _is_bound(schema.get(name))}
    judged |= {name: schema[name] for name in _COUNTS if _is_count(schema.get(name))}
    if isinstance(schema.get("enum"), list) and schema["enum"]:
        judged["enum"] = schema["enum"]
    kind = schema.get("type")
    kinds = [kind] if isinstance(kind, str) and kind in TYPES else []
    if schema.get("x-kubernetes-int-or-string"):
        kinds = ["integer", "string"]
    if kinds:
        judged["type"] = [*kinds, "null"] if schema.get("nullable") else kinds
    if "items" in schema:
        judged["items"] = _structural(schema["items"])
    return judged | _structural_fields(schema)


def _structural_fields(schema: Json) -> dict[str, Any]:
    """Return what a part of a structural schema says of the fields of a mapping."""
    judged: dict[str, Any] = {}
    fields, rest = schema.get("properties"), schema.get("additionalProperties")
    if isinstance(fields, Mapping) and fields:
        judged["properties"] = {name: _structural(one) for name, one in fields.items()}
        needed = schema.get("required")
        names = dict.fromkeys(one for one in needed if isinstance(one, str)) if needed else {}
        # a field with a default is set before it is asked for
        judged["required"] = [one for one in names if "default" not in (fields.get(one) or {})]
        if not any(schema.get(keyword) for keyword in _OPEN):
            judged["additionalProperties"] = False
    if isinstance(rest, Mapping):
        judged["additionalProperties"] = _structural(rest)
    return judged


def _is_bound(value: object) -> bool:
    return type(value) in (int, float) and abs(value) < _MOST  # type: ignore[arg-type]


def _is_count(value: object) -> bool:
    return type(value) is int and 0 <= value < _MOST


_OPEN = ("x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource")


def _without_null(value: Any) -> Any:
    """Return a value without the fields that are null, at any depth; items of lists stay.

    >>> _without_null({"a": None, "b": [None, {"c": None}]})
    {'b': [None, {}]}
    """
    if isinstance(value, Mapping):
        return {key: _without_null(item) for key, item in value.items() if item is not None}
    return [_without_null(item) for item in value] if isinstance(value, list) else value
