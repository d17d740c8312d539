"""`explain` and `schema`: the fields of a kind, for people, editors and other readers."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft7Validator
from ruamel.yaml import YAML

from reconciler.cli.kinds import read_kinds
from reconciler.cli.main import run
from reconciler.manifests.schemas.editor_schema import schema_of, schema_of_all
from reconciler.shell.resources import load_schemas
from tests.cli.history import answer
from tests.shell.fleet import EXAMPLE, MANIFESTS, ROOT
from tests.shell.repositories import Checkout

Capsys = pytest.CaptureFixture[str]


def explained(tmp_path: Path, capsys: Capsys, *arguments: str) -> str:
    """Return what is printed; no repository is needed."""
    code, out, err = answer(Checkout(tmp_path), capsys, "explain", *arguments)
    assert (0, "") == (code, err)
    return out


def test_a_kind_is_told_with_its_fields(tmp_path: Path, capsys: Capsys) -> None:
    """In the order of kubectl: what it is, what it means, what it has."""
    out = explained(tmp_path, capsys, "wr")

    assert out.startswith(
        "GROUP:      apps.karmada.io\n"
        "KIND:       WorkloadRebalancer\n"
        "VERSION:    v1alpha1\n"
        "\n"
        "DESCRIPTION:\n"
    )
    assert "\nFIELDS:\n  apiVersion\t<string> -required-\n" in out
    assert "\n  spec\t<Object> -required-\n    What is wanted.\n" in out


def test_a_field_is_told_with_its_values_and_default(tmp_path: Path, capsys: Capsys) -> None:
    """Both are in the schema; kubectl has the same heads."""
    out = explained(tmp_path, capsys, "pp.spec.failover.cluster.purgeMode")

    assert (
        "FIELD: purgeMode <string>\n"
        "ENUM:\n"
        "    Directly\n"
        "    Gracefully\n"
        'DEFAULT: "Gracefully"\n'
        "\n"
        "DESCRIPTION:\n"
        "    Whether the old instance is removed at once, or after the new one is\n"
        "    healthy.\n"
    ) == out.split("\n\n", maxsplit=1)[1]


def test_limits_are_told(tmp_path: Path, capsys: Capsys) -> None:
    """Those that say more than the type does."""
    out = explained(tmp_path, capsys, "wr.spec.limits.maxMoves")

    assert "FIELD: maxMoves <integer>\nLIMITS: at least 1\n" in out


def test_waiting_for_an_eviction_is_told(tmp_path: Path, capsys: Capsys) -> None:
    """A limit of ours, by whichever name of its kind."""
    told = [
        explained(tmp_path, capsys, f"{kind}.spec.limits.waitForEviction")
        for kind in ("wr", "workloadrebalancers")
    ]

    assert told[0] == told[1]
    assert (
        "FIELD: waitForEviction <boolean>\n"
        "DEFAULT: false\n"
        "\n"
        "DESCRIPTION:\n"
        "    Whether a workload waits while it is still being evicted from a cluster,\n"
        "    which no schedule chooses before that is over.\n"
    ) == told[0].split("\n\n", maxsplit=1)[1]


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        pytest.param("pp.spec.resourceSelectors", "<[]Object> -required-", id="list"),
        pytest.param("pp.metadata.labels", "<map[string]string>", id="map"),
        pytest.param("mcl.spec.hubAcceptsClient", "<boolean>", id="flag"),
        pytest.param("pp.spec.resourceSelectors.kind", "<string> -required-", id="inside-a-list"),
    ],
)
def test_types_are_spelled_as_kubectl_does(
    tmp_path: Path, capsys: Capsys, word: str, expected: str
) -> None:
    """Lists and maps are passed through on the way to a field."""
    field = word.rpartition(".")[2]

    assert f"\nFIELD: {field} {expected}\n" in explained(tmp_path, capsys, word)


def test_a_list_is_told_with_the_fields_of_its_items(tmp_path: Path, capsys: Capsys) -> None:
    """With values and default behind the type."""
    out = explained(tmp_path, capsys, "pp.spec.failover.cluster")

    assert '  purgeMode\t<string>\n  enum: Directly, Gracefully\n  default: "Gracefully"\n' in out


def test_recursive_prints_the_fields_below_by_name(tmp_path: Path, capsys: Capsys) -> None:
    """Indented, without what they mean."""
    out = explained(tmp_path, capsys, "placement.spec.decisionStrategy", "--recursive")

    assert "  groupStrategy\t<Object>\n    clustersPerDecisionGroup\t<integer or string>\n" in out
    assert "      groupClusterSelector\t<Object> -required-\n" in out


@pytest.mark.parametrize("word", [one.full_name for one in read_kinds()])
def test_every_kind_that_is_read_is_explained(tmp_path: Path, capsys: Capsys, word: str) -> None:
    """Its group may stand behind it, and tells it from a kind of the same name."""
    out = explained(tmp_path, capsys, word, "--recursive")

    assert word.partition(".")[2] == out.splitlines()[0].split()[1]
    assert "  metadata\t<Object> -required-\n    annotations\t<map[string]string>\n" in out


def test_another_version_may_be_asked_for(tmp_path: Path, capsys: Capsys) -> None:
    """The preferred one is told otherwise."""
    group = "cluster.open-cluster-management.io"
    versions = [
        explained(tmp_path, capsys, "placement", *option).splitlines()[2].split()[1]
        for option in ([], ["--api-version", f"{group}/v1alpha1"])
    ]

    assert ["v1beta1", "v1alpha1"] == versions


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(["propagationpolcy"], "did you mean propagationpolicy", id="kind"),
        pytest.param(["xyz"], "see reconciler api-resources", id="unlike-any"),
        pytest.param(["pp.spec.placment"], "did you mean placement?", id="field"),
        pytest.param(
            ["pp.spec.placement.zzzz"],
            'no field "zzzz" in PropagationPolicy.spec.placement; it has clusterAffinities,',
            id="no-field-near",
        ),
        pytest.param(["pp.kind.x"], "it has no fields", id="below-a-text"),
        pytest.param(["crb"], "name one of clusterresourcebinding.placement.kuber", id="ambiguous"),
        pytest.param(["deploy.spec"], "its fields are not validated", id="workload"),
        pytest.param(["pp", "--api-version", "v1"], "must be policy.karmada.io/v1", id="version"),
    ],
)
def test_mistakes_are_told_in_one_line(
    tmp_path: Path, capsys: Capsys, arguments: list[str], message: str
) -> None:
    """What is wrong, and what would be right."""
    code, out, err = answer(Checkout(tmp_path), capsys, "explain", *arguments)

    assert (2, "", True, 1) == (code, out, message in err, err.count("\n"))


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
