"""`reconciler get`, as a newcomer asks: empty answers, other APIs' clusters, selected workloads."""

import json
from pathlib import Path

import pytest

from reconciler.cli.tables import columns_of
from reconciler.manifests.columns import Row
from reconciler.manifests.text.reader import read
from reconciler.model.moments import parse_moment
from tests.cli.history import answer
from tests.shell.fleet import EXAMPLE, new_fleet
from tests.shell.repositories import Checkout, new_checkout

Capsys = pytest.CaptureFixture[str]
OTHER_APIS = {path: EXAMPLE[path] for path in ("clusters/edge.yaml", "clusters/fleet.yaml")}
NOW = parse_moment("2026-11-20T12:00:00Z")


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """A fleet to which nothing is written; no pass has run."""
    return new_fleet(tmp_path_factory.mktemp("get") / "fleet")


@pytest.fixture(scope="module")
def others(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """Clusters of Open Cluster Management and KubeFleet, none of Karmada."""
    checkout = new_checkout(tmp_path_factory.mktemp("get") / "others")
    checkout.commit(OTHER_APIS, "Start")
    return checkout


@pytest.mark.parametrize("output", ["json", "yaml"])
def test_nothing_is_an_empty_list(fleet: Checkout, capsys: Capsys, output: str) -> None:
    """A script reads a List in any case, as kubectl prints one; YAML has no document then."""
    code, out, err = answer(fleet, capsys, "get", "rb", "-n", "nobody", "-o", output)

    assert (0, "no rb in namespace nobody\n") == (code, err)
    expected = {"apiVersion": "v1", "kind": "List", "items": []}
    assert (expected if output == "json" else "") == (json.loads(out) if output == "json" else out)


def test_one_that_is_missing_prints_nothing(fleet: Checkout, capsys: Capsys) -> None:
    """An object that was named is no list; what is near it is said."""
    code, out, err = answer(fleet, capsys, "get", "deploy", "shp", "-o", "json")

    assert (1, "", "no deploy named shp in namespace default; near it: shop\n") == (code, out, err)


def test_kind_and_name_may_be_one_word(fleet: Checkout, capsys: Capsys) -> None:
    """As in every other verb, and in kubectl."""
    one = answer(fleet, capsys, "get", "deployment/shop", "-o", "name")

    assert (0, "deployment.apps/shop\n", "") == one
    assert one == answer(fleet, capsys, "get", "deployment", "shop", "-o", "name")
    assert 2 == answer(fleet, capsys, "get", "deployment/shop", "frontend")[0]


def test_clusters_of_other_apis_are_pointed_at(others: Checkout, capsys: Capsys) -> None:
    """Where no Cluster of Karmada is, `no clusters` alone would be taken for no cluster at all."""
    code, out, err = answer(others, capsys, "get", "clusters")

    expected = "no clusters; there are 2 managedclusters, 2 memberclusters, see top clusters\n"
    assert (0, "", expected) == (code, out, err)


@pytest.mark.parametrize(
    ("spec", "status", "expected"),
    [
        pytest.param("{workloads: [{}, {}]}", "{}", "0/2", id="not-yet-seen"),
        pytest.param("{selector: {}}", "{}", "0/0", id="not-yet-expanded"),
        pytest.param(
            "{selector: {}}",
            "{observedWorkloads: [{result: Successful}, {result: Failed}]}",
            "1/2",
            id="selected",
        ),
    ],
)
def test_selected_workloads_count(spec: str, status: str, expected: str) -> None:
    """A rebalancer with a selector has dealt with so many of what it selected, not of none."""
    text = f"apiVersion: v1\nkind: X\nmetadata: {{name: a}}\nspec: {spec}\nstatus: {status}\n"
    body = read(text.encode(), "a.yaml").documents[0].body

    columns = dict(columns_of("apps.karmada.io", "WorkloadRebalancer", wide=False))
    assert expected == columns["SUCCESSFUL"](Row(body, "a.yaml", NOW))


@pytest.mark.parametrize(
    ("kind", "status", "expected"),
    [
        pytest.param("WorkloadRebalancer", "{observedWorkloads: []}", "<none>", id="nothing"),
        pytest.param(
            "WorkloadRebalancer",
            "{observedWorkloads: [{workload: {kind: Job, name: b}, waitsFor: it is faulty}]}",
            "Job b: it is faulty",
            id="a-target",
        ),
        pytest.param(
            "WorkloadRebalancer",
            "{progress: {remainingReplicas: 2}}",
            "the next batch, 2 replicas left",
            id="a-batch",
        ),
        pytest.param(
            "ScheduleTrigger",
            "{failedResourceList: [{kind: Job, name: b, failReason: it is faulty}]}",
            "Job b: it is faulty",
            id="a-trigger",
        ),
    ],
)
def test_what_a_rebalancer_waits_for_is_a_column(kind: str, status: str, expected: str) -> None:
    """With `-o wide`, in the words of its record."""
    text = f"apiVersion: v1\nkind: X\nmetadata: {{name: a}}\nstatus: {status}\n"
    body = read(text.encode(), "a.yaml").documents[0].body
    group = "apps" if kind == "WorkloadRebalancer" else "policy"

    columns = dict(columns_of(f"{group}.karmada.io", kind, wide=True))
    assert expected == columns["WAITS FOR"](Row(body, "a.yaml", NOW))


LOGIN = """apiVersion: v1
kind: Secret
metadata:
  name: login
  annotations:
    team: shop
    kubectl.kubernetes.io/last-applied-configuration: '{"stringData": {"password": "hunter2"}}'
stringData: {password: hunter2}
data: {token: aHVudGVyMg==}
"""


@pytest.mark.parametrize("output", ["yaml", "json"])
@pytest.mark.parametrize("asked", [("secret", "login"), ("secrets",)], ids=["one", "all"])
def test_values_of_secrets_are_hidden(
    tmp_path: Path, capsys: Capsys, output: str, asked: tuple[str, ...]
) -> None:
    """Their keys and labels are not; what is hidden is said beside."""
    checkout = new_checkout(tmp_path / "secrets", {"login.yaml": LOGIN})

    code, out, err = answer(checkout, capsys, "get", *asked, "-o", output)

    assert (0, "the values of a Secret are hidden; --show-secrets prints them\n") == (code, err)
    assert "hunter2" not in out
    assert "aHVudGVyMg" not in out
    assert ("password" in out, "token" in out, "team" in out) == (True, True, True)


def test_values_of_secrets_are_printed_if_asked_for(tmp_path: Path, capsys: Capsys) -> None:
    """Whoever has the repository can read them anyway."""
    checkout = new_checkout(tmp_path / "secrets", {"login.yaml": LOGIN})

    _, out, err = answer(checkout, capsys, "get", "secret", "login", "-o", "yaml", "--show-secrets")

    assert ("hunter2" in out, err) == (True, "")
