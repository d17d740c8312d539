"""What `get` shows of each kind: upstream's short names, upstream's printer columns."""

from pathlib import Path

import pytest

from tests.cli.history import answer, told_fleet
from tests.shell.repositories import Checkout, new_checkout

Capsys = pytest.CaptureFixture[str]

JOINED = """apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata: {name: edge}
spec:
  hubAcceptsClient: false
  managedClusterClientConfigs: [{url: "https://edge.example.org:6443"}, {url: "https://10.0.0.1"}]
  taints: [{key: gpu, effect: NoSelect}]
status:
  conditions:
  - type: ManagedClusterJoined
    status: "True"
    reason: Joined
    message: ""
    lastTransitionTime: "2026-11-20T12:00:00Z"
"""
MEMBER = """apiVersion: cluster.kubernetes-fleet.io/v1beta1
kind: MemberCluster
metadata: {name: fleet1}
spec:
  identity: {kind: ServiceAccount, name: fleet1-agent}
status:
  properties:
    kubernetes-fleet.io/node-count: {value: "7", observationTime: "2026-11-20T12:00:00Z"}
  resourceUsage:
    available: {cpu: "3", memory: 5Gi}
"""


CLUSTER_WIDE = """apiVersion: policy.karmada.io/v1alpha1
kind: ClusterPropagationPolicy
metadata: {name: all}
spec:
  resourceSelectors: [{apiVersion: apps/v1, kind: Deployment}]
"""


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """A fleet in which three passes ran."""
    told = told_fleet(tmp_path_factory.mktemp("columns") / "fleet")
    told.commit({"policies/all.yaml": CLUSTER_WIDE}, "Add a policy")
    return told


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        pytest.param("cluster", "VERSION|MODE|READY|TAINTS|AGE", id="cluster"),
        pytest.param(
            "mcl",
            "HUB ACCEPTED|MANAGED CLUSTER URLS|JOINED|AVAILABLE|TAINTS|AGE",
            id="managed-cluster",
        ),
        pytest.param("mclset", "EMPTY|AGE", id="managed-cluster-set"),
        pytest.param("mclsetbindings", "SET", id="managed-cluster-set-binding"),
        pytest.param(
            "membercluster",
            "JOINED|AGE|MEMBER-AGENT-LAST-SEEN|NODE-COUNT|AVAILABLE-CPU|AVAILABLE-MEMORY|TAINTS",
            id="member-cluster",
        ),
        pytest.param("pp", "SELECTS|DIVISION|CONFLICT-RESOLUTION|PRIORITY|AGE", id="policy"),
        pytest.param("cpp", "SELECTS|DIVISION|CONFLICT-RESOLUTION|PRIORITY|AGE", id="wide-policy"),
        pytest.param("rb", "CLUSTERS|LEAVING|SCHEDULED|FULLYAPPLIED|AGE", id="binding"),
        pytest.param("placement", "SUCCEEDED|REASON|SELECTEDCLUSTERS|AGE", id="placement"),
        pytest.param("placementdecision", "PLACEMENT|CLUSTERS|AGE", id="decision"),
        pytest.param(
            "crp",
            "GEN|TYPE|SCHEDULED|SCHEDULED-GEN|AVAILABLE|AVAILABLE-GEN|AGE",
            id="resource-placement",
        ),
        pytest.param(
            "crb",
            "CLUSTER|STATE|PLACEMENT|WORKSYNCHRONIZED|RESOURCESAPPLIED|AGE",
            id="resource-binding",
        ),
        pytest.param("crs", "GEN|PLACEMENT|AGE", id="resource-snapshot"),
        pytest.param("csps", "GEN|PLACEMENT|AGE", id="policy-snapshot"),
        pytest.param("deploy", "REPLICAS|AGE", id="workload"),
        pytest.param("reconcilerstatus", "LAST PASS|INPUT|VERSION", id="ours"),
    ],
)
def test_a_kind_has_upstreams_columns(
    fleet: Checkout, capsys: Capsys, word: str, expected: str
) -> None:
    """By upstream's short name; what scheduling adds stands before the age."""
    code, out, err = answer(fleet, capsys, "get", word)

    columns = out.splitlines()[0].split("   ")
    assert (0, "") == (code, err)
    assert ["NAME", *expected.split("|")] == [title.strip() for title in columns if title]


def test_a_managed_cluster_shows_what_upstream_prints_of_it(tmp_path: Path, capsys: Capsys) -> None:
    """Flags in lower case, every URL, and the state of each condition."""
    checkout = new_checkout(tmp_path / "edge", {"edge.yaml": JOINED})

    _, out, _ = answer(checkout, capsys, "get", "mcls", "--no-headers")

    urls = "https://edge.example.org:6443, https://10.0.0.1"
    assert [
        "edge",
        "false",
        urls,
        "True",
        "<none>",
        "gpu:NoSelect, cluster.open-cluster-management.io/unreachable:NoSelect",
        "<none>",
    ] == [cell.strip() for cell in out.split("   ")]


def test_a_member_cluster_shows_its_properties(tmp_path: Path, capsys: Capsys) -> None:
    """A property's name has dots of its own."""
    checkout = new_checkout(tmp_path / "fleet", {"fleet.yaml": MEMBER})

    _, out, _ = answer(checkout, capsys, "get", "memberclusters", "--no-headers")

    assert "fleet1 <none> <none> <none> 7 3 5Gi <none>" == " ".join(out.split())


def test_a_short_name_is_not_taken_for_a_kind_of_that_name(tmp_path: Path, capsys: Capsys) -> None:
    """`cluster` is a kind of one API and a short name in another: what is there is meant."""
    checkout = new_checkout(tmp_path / "fleet", {"fleet.yaml": MEMBER})

    answered = answer(checkout, capsys, "get", "cluster", "-o", "name")

    assert (0, "membercluster.cluster.kubernetes-fleet.io/fleet1\n", "") == answered
