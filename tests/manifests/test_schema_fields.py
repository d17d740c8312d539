"""The schemas against the field tables of the upstream APIs, both ways."""

import json
import posixpath
import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.manifests.schemas import FIELDS, FOLDER, documents

Facts = dict[str, object]

OWN = [name for name in documents() if not name.startswith("definitions/")]
RANGES = {"int32": (-(2**31), 2**31 - 1), "int64": (-(2**63), 2**63 - 1)}
NUMBERS = {"min": "minimum", "max": "maximum", "minLen": "minLength", "maxLen": "maxLength"}
NUMBERS |= {"minItems": "minItems", "maxItems": "maxItems", "maxLength": "maxLength"}
OTHERS = {"format", "default", "enum", "nullable", "required", "open", "listMapKeys"}
TYPES = {"int-or-string": ["integer", "string"]}
AT_END = r"(?!\n)"  # Python's "$" also matches before a line end

# Karmada's aggregated API calls these text, yet decodes them as quantities: 2 as well as "2".
QUANTITIES = re.compile(
    r"status\.resourceSummary\.(allocatable|allocated|allocating)\{\}"
    r"|spec\.resourceModels\[\]\.ranges\[\]\.(min|max)"
)

# KubeFleet's webhook writes a placement anew before the CRD looks at it: these get zero values. It
# has none for a placement of a namespace, of which `placement_fields.py` says what is missing.
ZEROED = re.compile(
    r"spec\.resourceSelectors\[\]\.group"
    r"|spec\.policy\.topologySpreadConstraints\[\]\.topologyKey"
    r"|spec\.policy\..*preferredDuringSchedulingIgnoredDuringExecution\[\]\.(weight|preference)"
)

# So does Karmada's with an OverridePolicy, and not with the other kinds of overrides.
WRITTEN = re.compile(
    r"spec\.resourceSelectors\[\]\.(apiVersion|kind)"
    r"|spec\.overrideRules\[\]\.overriders"
    r"|spec\..*\.(path|subPath|fieldPath|containerName)"
)

# What an API server or a webhook of Karmada fills in before anyone asks whether it is there.
FILLED = re.compile(
    r"spec\.failover\.application\.decisionConditions"
    r"|spec\.failover\..*\.jsonPath"
    r"|spec\.resourceModels\[\]\.ranges"
)


def facts_of(text: str) -> Facts:
    """The facts of one line of a table, in the words of JSON Schema."""
    text = text.split("; cel: ", maxsplit=1)[0]
    text, _, pattern = text.partition("; pattern=")
    kind, *rest = text.split("; ")
    facts: Facts = {} if kind == "any" else {"type": TYPES.get(kind, kind)}
    if pattern:
        facts["pattern"] = pattern
    pairs = {key: value for key, _, value in (part.partition("=") for part in rest)}
    facts |= dict(
        zip(("minimum", "maximum"), RANGES.get(pairs.get("format", ""), ()), strict=False)
    )
    facts |= {NUMBERS[key]: int(value) for key, value in pairs.items() if key in NUMBERS}
    facts |= {key: True for key in ("required", "open") if key in pairs}
    if "format" in pairs:
        facts["format"] = pairs["format"]
    if "default" in pairs:
        facts["default"] = json.loads(pairs["default"])
    if "enum" in pairs:
        facts["enum"] = pairs["enum"].split("|")
    if "nullable" in pairs:
        facts["type"] = [kind, "null"]
    assert set(pairs) <= {*NUMBERS, *OTHERS}, text
    return facts


def table_of(name: str) -> dict[str, Facts]:
    """Path to facts, as the table of one kind has them."""
    lines = (FIELDS / name).with_suffix(".txt").read_text(encoding="utf-8").splitlines()
    table = {path: facts_of(text) for path, _, text in (line.partition("  ") for line in lines)}
    for path, facts in table.items():
        # The API server fills in a default before it asks whether the field is there; an empty
        # one stands for "no default" in what people write.
        if facts.get("default", "") != "" or ("default" in facts and path.startswith("status")):
            facts.pop("required", None)
    if name == "cluster.karmada.io/cluster_v1alpha1.json":
        quantity = documents()["definitions/kubernetes.json"]["$defs"]["decodedQuantity"]
        for path, facts in table.items():
            if QUANTITIES.fullmatch(path):
                facts |= {"type": quantity["type"], "pattern": pattern_of(quantity)}
    if name.startswith("placement.kubernetes-fleet.io/") and name.endswith("placement_v1.json"):
        # A status is what passes write: of envelopes what v1beta1 says, which v1 narrows.
        later = name.replace("_v1.", "_v1beta1.")
        table |= {path: one for path, one in table_of(later).items() if ".envelope.type" in path}
    for kind, fields in (
        ("placement.kubernetes-fleet.io/cluster", ZEROED),
        ("policy.karmada.io/overridepolicy_", WRITTEN),
        ("policy.karmada.io/", FILLED),
        ("work.karmada.io/", FILLED),
        ("cluster.karmada.io/", FILLED),
    ):
        for path, facts in table.items() if name.startswith(kind) else ():
            if fields.fullmatch(path):
                facts.pop("required", None)
    table.pop("metadata")
    return table


def pattern_of(node: dict[str, Any]) -> str:
    """The pattern without what keeps Python from being fooled by a line end."""
    pattern: str = node["pattern"]
    assert pattern.endswith("$" + AT_END), pattern
    return pattern.removesuffix(AT_END)


def resolved(node: dict[str, Any], base: str) -> tuple[dict[str, Any], str]:
    """A node with what its reference says, and the document that is from."""
    if "$ref" not in node:
        return node, base
    target, _, pointer = node["$ref"].partition("#")
    base = posixpath.normpath(posixpath.join(posixpath.dirname(base), target)) if target else base
    found: Any = documents()[base]
    for part in pointer.split("/")[1:]:
        found = found[part]
    inner, base = resolved(found, base)
    return {**inner, **{key: one for key, one in node.items() if key != "$ref"}}, base


def walk(
    node: dict[str, Any], base: str, path: str, *, required: bool = False
) -> Iterator[tuple[str, dict[str, Any], bool]]:
    """Each field below a node: its path, its schema, and whether it is required."""
    node, base = resolved(node, base)
    if path:
        yield path, node, required
    for name, one in node.get("properties", {}).items():
        below = f"{path}.{name}" if path else name
        if below not in {"apiVersion", "kind", "metadata"}:
            yield from walk(one, base, below, required=name in node.get("required", ()))
    if isinstance(node.get("additionalProperties"), dict):
        yield from walk(node["additionalProperties"], base, path + "{}")
    if "items" in node:
        yield from walk(node["items"], base, path + "[]")


def schema_of(name: str) -> dict[str, Facts]:
    """Path to facts, as the schema has them."""
    found: dict[str, Facts] = {}
    for path, node, required in walk(documents()[name], name, ""):
        keys = ("type", "enum", "default", *NUMBERS.values())
        facts = {key: node[key] for key in keys if key in node}
        if "format" in node:
            facts["format"] = node["format"]
        if "pattern" in node:
            facts["pattern"] = pattern_of(node)
        if required:
            facts["required"] = True
        if node.get("additionalProperties") is True:
            facts["open"] = True
        found[path] = facts
    if "status" not in table_of(name) and "faultreport" not in name:  # allowed on every API's kind
        assert {"type": "object"} == found.pop("status")
    return found


@pytest.mark.parametrize("name", OWN)
def test_schema_says_what_the_table_says(name: str) -> None:
    """Every field, type, limit and default of the table is in the schema, and no other."""
    table, schema = table_of(name), schema_of(name)

    assert sorted(table) == sorted(schema)
    assert table == schema


def test_every_table_has_a_schema() -> None:
    """No kind is forgotten."""
    tables = [path.relative_to(FIELDS).with_suffix("") for path in FIELDS.rglob("*.txt")]

    assert sorted(path.as_posix() for path in tables) == sorted(
        name.removesuffix(".json") for name in OWN
    )


@pytest.mark.parametrize("name", OWN)
def test_schema_is_named_after_its_kind(name: str) -> None:
    """The path says group, kind and version."""
    properties = documents()[name]["properties"]
    group, version = properties["apiVersion"]["const"].split("/")

    assert f"{group}/{properties['kind']['const'].lower()}_{version}.json" == name


@pytest.mark.parametrize("name", OWN)
def test_spec_is_closed(name: str) -> None:
    """A misspelled field is found wherever it is."""
    document = documents()[name]
    assert document["additionalProperties"] is False
    for path, node, _ in walk(document, name, ""):
        if path.startswith("spec") and node.get("properties"):
            assert node["additionalProperties"] is False, path


@pytest.mark.parametrize("name", OWN)
def test_every_field_is_described(name: str) -> None:
    """One sentence of ours says what each field is for."""
    document = documents()[name]
    assert document["description"].endswith(".")
    for path, node, _ in walk(document, name, ""):
        if not path.endswith(("[]", "{}")):
            assert node["description"].endswith("."), path
            assert len(node["description"]) <= 140, path


def test_references_stay_in_the_folder() -> None:
    """Nothing is ever fetched, and every shared part is used."""
    text = "".join(path.read_text(encoding="utf-8") for path in FOLDER.rglob("*.json"))
    references = set(re.findall(r'"\$ref": "([^"]*)"', text))

    assert not [one for one in references if "://" in one]
    defined = {
        name
        for key, document in documents().items()
        if key.startswith("definitions/")
        for name in document["$defs"]
    }
    assert defined == {one.rpartition("/")[2] for one in references}
