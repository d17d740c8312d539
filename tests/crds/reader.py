"""The only file that reads CRDs: kinds, served versions, fields and rules of a folder of them."""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from reconciler.model.kinds import Kind
from tests.crds.facts import NUMBERS, Facts, Fields, KindVersion, limits_of

PASSED_OVER = frozenset(
    (
        "description",
        "type",
        "properties",
        "required",
        "items",
        "additionalProperties",
        "x-kubernetes-int-or-string",
        "x-kubernetes-list-map-keys",
        "x-kubernetes-list-type",
        "x-kubernetes-map-type",  # how two writers are merged; a file has one
        "x-kubernetes-validations",
        "x-kubernetes-preserve-unknown-fields",
        "nullable",
        "format",
        "pattern",
        "default",
        "enum",
        *NUMBERS,
    )
)
"""Keywords that have a word of their own in the tables, or none; any other is kept as it is."""


NO_OPTIONS = "{}"


class Served(NamedTuple):
    """How a kind is served."""

    scope: str
    versions: tuple[str, ...]
    stored: str


class Rule(NamedTuple):
    """A CEL rule: the field that it stands at, `""` for the object, and what must hold.

    `options` is what else upstream says of it but for its message, as JSON.
    """

    field: str
    expression: str
    options: str = NO_OPTIONS


@dataclass(frozen=True, slots=True, kw_only=True)
class Upstream:
    """What CRDs say; `fields` and `rules` by kind and served version, the latter sorted."""

    kinds: Mapping[Kind, Served]
    fields: Mapping[KindVersion, Fields]
    rules: Mapping[KindVersion, tuple[Rule, ...]]

    @property
    def groups(self) -> frozenset[str]:
        """The API groups."""
        return frozenset(group for group, _ in self.kinds)


def read_crds(folder: Path) -> Upstream:
    """Return what the CRDs of a folder say, at any depth; other objects are passed over.

    A kind may be spread over several files, each with other versions.

    Raises:
        ValueError: A file is not YAML.
    """
    versions: dict[Kind, dict[str, Any]] = defaultdict(dict)
    scopes = {}
    for spec in _specs(folder):
        kind = (spec["group"], spec["names"]["kind"])
        scopes[kind] = spec.get("scope", "Namespaced")
        for version in spec.get("versions", ()):
            if version["served"]:
                versions[kind][version["name"]] = version
    kinds, fields, rules = {}, {}, {}
    for kind, found in sorted(versions.items()):
        stored = [name for name, one in found.items() if one["storage"]]
        kinds[kind] = Served(scopes[kind], tuple(sorted(found)), *(stored or [""])[:1])
        for name, version in sorted(found.items()):
            one = KindVersion(kind[0], name, kind[1])
            schema = version["schema"]["openAPIV3Schema"]
            nodes = dict(_walk(schema, ""))
            fields[one] = {path: facts for path, (_, facts) in nodes.items() if path}
            ruled = (rule for path, (node, _) in nodes.items() for rule in _rules(node, path))
            if any("x-kubernetes-validations" in node for node, _ in nodes.values()):
                rules[one] = tuple(sorted(ruled))
    return Upstream(kinds=kinds, fields=fields, rules=rules)


def _specs(folder: Path) -> Iterator[Any]:
    """Yield the specs of CRDs."""
    for path in sorted((*folder.rglob("*.yaml"), *folder.rglob("*.yml"))):
        try:
            bodies = [*YAML(typ="safe").load_all(path.read_text(encoding="utf-8"))]
        except YAMLError as error:
            raise ValueError(f"{path} must be YAML, so that its CRDs can be read") from error
        for body in bodies:
            if isinstance(body, dict) and body.get("kind") == "CustomResourceDefinition":
                yield body["spec"]


def _walk(
    node: Any, path: str, *, required: bool = False
) -> Iterator[tuple[str, tuple[Any, Facts]]]:
    """Yield each field with its node and facts, the object itself as `""`."""
    yield path, (node, _facts(node, required=required))
    for name, one in node.get("properties", {}).items():
        below = f"{path}.{name}" if path else name
        if below not in ("apiVersion", "kind", "metadata"):
            yield from _walk(one, below, required=name in node.get("required", ()))
    if isinstance(node.get("additionalProperties"), dict):
        yield from _walk(node["additionalProperties"], path + "{}")
    if "items" in node:
        yield from _walk(node["items"], path + "[]")


def _facts(node: Any, *, required: bool) -> Facts:
    several = node.get("x-kubernetes-int-or-string", False)
    found = {"type": "int-or-string" if several else node.get("type", "any"), **limits_of(node)}
    flags = {
        "required": required,
        "nullable": node.get("nullable"),
        "open": node.get("x-kubernetes-preserve-unknown-fields")
        or node.get("additionalProperties") is True,
    }
    found |= {name: "" for name, holds in flags.items() if holds}
    if "x-kubernetes-list-map-keys" in node:
        found["listMapKeys"] = ",".join(node["x-kubernetes-list-map-keys"])
    if node.get("x-kubernetes-list-type") == "set":
        found["listType"] = "set"
    rest = node.keys() - PASSED_OVER - ({"anyOf"} if several else set())
    return found | {key: json.dumps(node[key], sort_keys=True) for key in sorted(rest)}


def _rules(node: Any, path: str) -> Iterator[Rule]:
    for rule in node.get("x-kubernetes-validations", ()):
        options = {key: rule[key] for key in rule if key not in ("rule", "message")}
        yield Rule(path, rule["rule"].strip(), json.dumps(options, sort_keys=True))


class Project(NamedTuple):
    """A project: its title, and what the names of its API groups end in."""

    title: str
    domains: tuple[str, ...]


PROJECTS: Mapping[str, Project] = {
    "karmada": Project("Karmada", ("karmada.io", "multicluster.x-k8s.io")),
    "kubefleet": Project("KubeFleet", ("kubernetes-fleet.io", "kubefleet.dev")),
    "ocm": Project("Open Cluster Management", ("open-cluster-management.io",)),
}
"""By the name of the dialect."""


def project_of(group: str) -> str:
    """Return the project whose group it is.

    Raises:
        ValueError: It is not one of a project that is known.
    """
    for name, project in PROJECTS.items():
        if group.endswith(project.domains):
            return name
    raise ValueError(f"{group} must be a group of {', '.join(PROJECTS)}; see tests/crds/reader.py")
