"""`explain`: the fields of a kind, told from the schema that manifests are checked with."""

from pathlib import Path

import pytest

from reconciler.cli.kinds import read_kinds
from tests.cli.history import answer
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
