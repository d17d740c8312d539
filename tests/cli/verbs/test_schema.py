"""`reconciler schema`: what it prints, for editors and others who read JSON Schema."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft7Validator
from ruamel.yaml import YAML

from reconciler.cli.main import run
from reconciler.manifests.schemas.editor_schema import schema_of, schema_of_all
from reconciler.shell.resources import load_schemas
from tests.shell.fleet import EXAMPLE, MANIFESTS, ROOT

Capsys = pytest.CaptureFixture[str]
EVERY = schema_of_all(load_schemas().documents)
KINDS = [name for name in sorted(load_schemas().documents) if not name.startswith("definitions/")]


def printed(capsys: Capsys, *arguments: str) -> Any:
    """Return what the command prints."""
    assert 0 == run(["schema", *arguments])
    return json.loads(capsys.readouterr().out)


def test_a_kind_is_named_as_everywhere(capsys: Capsys) -> None:
    """Short, in the plural, or with its group; the newest version counts."""
    assert "PropagationPolicy" == printed(capsys, "pp")["title"]
    assert (
        "cluster.kubernetes-fleet.io/v1"
        == printed(capsys, "membercluster")["properties"]["apiVersion"]["const"]
    )
    assert (
        "cluster.open-cluster-management.io/v1beta1"
        == printed(capsys, "placements")["properties"]["apiVersion"]["const"]
    )


@pytest.mark.parametrize("name", KINDS)
def test_each_is_in_one_piece(name: str) -> None:
    """A valid schema of draft-07 whose references lead into itself."""
    schema = schema_of(name, load_schemas().documents)
    text = json.dumps(schema)

    Draft7Validator.check_schema(schema)
    references = {part.split('"')[0] for part in text.split('"$ref": "')[1:]}
    assert references == {f"#/definitions/{part}" for part in schema["definitions"]}


def documents() -> list[Any]:
    """Return every manifest of the example."""
    return [one for path in MANIFESTS for one in YAML(typ="safe").load_all(EXAMPLE[path])]


@given(st.sampled_from(documents()), st.data())
def test_all_kinds_judge_as_validate_does(manifest: Any, data: st.DataObject) -> None:
    """Also a manifest of which a field is lacking, unknown or of the wrong type."""
    body = json.loads(json.dumps(manifest, default=str))
    spec = body.get("spec")
    if isinstance(spec, dict):
        field = data.draw(st.sampled_from([*sorted(spec), "unknown"]))
        spec[field] = data.draw(st.sampled_from([spec.get(field), 7, "text", [], {}]))
        spec = {key: value for key, value in spec.items() if value is not None}
        body["spec"] = spec
    schemas = load_schemas()
    covered = schemas.covers(body["apiVersion"], body["kind"])
    expected = not covered or not schemas.judge(body).violations

    assert expected == Draft7Validator(EVERY).is_valid(body)


def test_the_catalog_in_the_repository_is_the_one_that_is_printed(capsys: Capsys) -> None:
    """`reconciler schema --catalog > schemas/catalog.json` renews it."""
    assert json.loads((ROOT / "schemas/catalog.json").read_text()) == printed(capsys, "--catalog")


def test_everything_that_the_catalog_names_is_written(tmp_path: Path) -> None:
    """Below the address that it is to be served from."""
    run(["schema", "--write", str(tmp_path), "--url", "https://example.org/fleet"])

    catalog = json.loads((tmp_path / "catalog.json").read_text())
    urls = [schema["url"] for schema in catalog["schemas"]]
    assert len(KINDS) + 1 == len(urls)
    assert [] == [url for url in urls if not url.startswith("https://example.org/fleet/")]
    assert [] == [
        url
        for url in urls
        if not (tmp_path / url.removeprefix("https://example.org/fleet/")).is_file()
    ]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["shop"], 'there is no schema for "shop"; known are addonplacementscore, '),
        (["work"], "name work.placement.kubernetes-fleet.io or work.work.karmada.io"),
        (["pp", "--catalog"], "KIND cannot be combined with --catalog or --write"),
        (["pp", "--url", "https://example.org"], "--url requires --catalog or --write"),
    ],
)
def test_wrong_usage_is_told(arguments: list[str], said: str, capsys: Capsys) -> None:
    """In one line."""
    assert 2 == run(["schema", *arguments])
    assert said in capsys.readouterr().err


def descriptions_lacking(node: Any, place: str = "") -> list[str]:
    """Return the fields that have no description."""
    found = []
    if isinstance(node, dict):
        for name, field in (node.get("properties") or {}).items():
            if isinstance(field, dict) and "type" in node and "description" not in field:
                found.append(f"{place}/{name}")
        for key, one in node.items():
            found += descriptions_lacking(one, f"{place}/{key}")
    return found


@pytest.mark.parametrize("name", KINDS)
def test_each_field_has_a_description(name: str) -> None:
    """It is what an editor shows."""
    schema = schema_of(name, load_schemas().documents)

    assert [] == descriptions_lacking({**schema, "definitions": dict(schema["definitions"])})
