"""The schemas: each field described, nothing left open, one for each field table.

What they say of each field is held against the tables in `tests/crds`.
"""

import re

import pytest

from tests.crds.schema_facts import walk
from tests.manifests.shipped_schemas import FIELDS, FOLDER, documents

OWN = [name for name in documents() if not name.startswith("definitions/")]


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
