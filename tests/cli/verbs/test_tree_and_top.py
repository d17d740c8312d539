"""`reconciler tree` and `reconciler top`, on a real history."""

from pathlib import Path
from typing import Any

import pytest

from tests.builders import quota, text
from tests.cli.history import answer, answer_json, told_fleet
from tests.cli.printing.test_terminal import ESCAPE, on_terminal
from tests.shell.fleet import EXAMPLE, new_fleet, run_pass
from tests.shell.repositories import Checkout

pytestmark = pytest.mark.usefixtures("an_hour_later")
Capsys = pytest.CaptureFixture[str]
ROOMY = (
    EXAMPLE["clusters/member2.yaml"]
    + """\
  taints:
  - key: maintenance
    value: "soon"
    effect: PreferNoSchedule
status:
  apiEnablements:
  - groupVersion: apps/v1
    resources: [{name: deployments, kind: Deployment}]
  - groupVersion: v1
    resources: [{name: configmaps, kind: ConfigMap}]
  conditions:
  - type: Ready
    status: "True"
    reason: Up
    message: ""
    lastTransitionTime: "2026-11-20T11:00:00Z"
  resourceSummary:
    allocatable: {cpu: "8", memory: 16Gi, pods: "110"}
    allocated: {cpu: "1500m", memory: 2Gi, pods: "10"}
"""
)


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """Three inputs, three passes; tests only read it."""
    return told_fleet(tmp_path_factory.mktemp("tree") / "fleet")


UNDELIVERED = "\nNothing is delivered: the configuration names no transport (`spec.delivery`).\n"
TREES = {
    "pp/shop": """\
propagationpolicy/shop (default)
└── deployment/shop
    └── resourcebinding/shop-deployment   FullyApplied: True (FullyAppliedAssumed)
        ├── cluster/backup1               replicas: 5, applied: True, health: Healthy
        └── cluster/member1               leaving: since 2026-11-20T12:02:00Z (TaintUntolerated)
            └── waits for                 the next pass
"""
    + UNDELIVERED,
    "cpp/settings": """\
clusterpropagationpolicy/settings
└── configmap/settings (default)
    └── resourcebinding/settings-configmap   FullyApplied: True (FullyAppliedAssumed)
        ├── cluster/backup1                  applied: True, health: Healthy
        ├── cluster/member1                  applied: True, health: Healthy
        └── cluster/member2                  applied: True, health: Healthy
"""
    + UNDELIVERED
    + """
Coming:
  default/settings: member1 is not ready and tolerated until 2026-11-20T12:06:30Z, then it leaves \
member1, and it stays on backup1, member2
""",
    "placement/reports": """\
placement/reports (default)                PlacementMisconfigured: False, PlacementSatisfied: True
└── placementdecision/reports-decision-1
    └── cluster/edge2
""",
    "crp/tools": """\
clusterresourceplacement/tools                         Available: True
├── clusterresourcesnapshot/tools-0-snapshot           latest: true
│   ├── clusterresourcebinding/tools-fleet1-4dd492db   state: Bound, {assumed}
│   │   └── cluster/fleet1
│   └── clusterresourcebinding/tools-fleet2-3be08a14   state: Bound, {assumed}
│       └── cluster/fleet2
└── clusterschedulingpolicysnapshot/tools-0            latest: true
"""
    + UNDELIVERED,
}
TREES["crp/tools"] = TREES["crp/tools"].format(assumed="Available: True (AvailableAssumed)")


@pytest.mark.parametrize("word", sorted(TREES))
def test_a_tree_goes_down_to_the_clusters(fleet: Checkout, capsys: Capsys, word: str) -> None:
    """Aligned, each level sorted, with what is known of each."""
    assert (0, TREES[word], "") == answer(fleet, capsys, "tree", word)


def test_a_policy_that_came_late_says_who_holds_its_workloads(
    tmp_path: Path, capsys: Capsys
) -> None:
    """As upstream does, the first policy keeps what it has."""
    fleet = new_fleet(tmp_path / "fleet")
    run_pass(fleet.folder, 0)
    late = EXAMPLE["policies/shop.yaml"].replace("name: shop", "name: late", 1)
    fleet.commit({"policies/late.yaml": late}, "Add a second policy")
    run_pass(fleet.folder, 60)
    expected = """\
propagationpolicy/late (default)
└── deployment/shop                held by: PropagationPolicy default/shop
"""

    assert (0, expected, "") == answer(fleet, capsys, "tree", "pp/late")


def test_a_tree_for_machines(fleet: Checkout, capsys: Capsys) -> None:
    """Nested, every condition told."""
    code, found = answer_json(fleet, capsys, ["tree", "deployment/shop"])

    assert (0, "ResourceBinding") == (code, found["object"]["kind"])
    assumed = "True (FullyAppliedAssumed)"
    assert {"Scheduled": "True", "FullyApplied": assumed} == found["facts"]
    assert [("backup1", 5), ("member1", 0)] == [
        (child["cluster"], child["replicas"]) for child in found["children"]
    ]


def test_a_tree_of_an_earlier_revision(fleet: Checkout, capsys: Capsys) -> None:
    """As it was then."""
    assert (
        "cluster/member1"
        in answer(fleet, capsys, "tree", "rb/shop-deployment", "--at", "HEAD~4")[1]
    )


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        pytest.param(["shop"], 2, "must be KIND/NAME", id="no-kind"),
        pytest.param(["pp/shpo"], 2, "near it: shop", id="unknown"),
        pytest.param(["cluster/member1"], 2, "a Cluster places nothing", id="cluster"),
        pytest.param(["ns/tools", "--at", "HEAD~5"], 1, "no policy matches it", id="unclaimed"),
        pytest.param(["pp/shop", "--at", "v9"], 2, "no revision", id="revision"),
    ],
)
def test_mistakes_are_told_in_one_line(
    fleet: Checkout, capsys: Capsys, arguments: list[str], code: int, message: str
) -> None:
    """What is wrong, and nothing on standard output."""
    found, out, err = answer(fleet, capsys, "tree", *arguments)

    assert (code, "") == (found, out)
    assert message in err
    assert 1 == err.count("\n")


def rows(fleet: Checkout, capsys: Capsys, *arguments: str) -> list[str]:
    """The first column of the table."""
    code, out, _ = answer(fleet, capsys, "top", "clusters", "--no-headers", *arguments)
    assert 0 == code
    return [line.split()[0] for line in out.splitlines()]


def test_clusters_of_each_api_are_listed(fleet: Checkout, capsys: Capsys) -> None:
    """By name; replicas and requests are summed up."""
    _, out, _ = answer(fleet, capsys, "top", "clusters")
    found = answer_json(fleet, capsys, ["top", "clusters"])[1]["clusters"]

    by_name: dict[str, Any] = {item["cluster"]: item for item in found}
    assert out.splitlines()[0].split()[:5] == ["CLUSTER", "KIND", "READY", "OBJECTS", "REPLICAS"]
    assert sorted(by_name) == rows(fleet, capsys) == [item["cluster"] for item in found]
    assert {"cpu": 1.25, "memory": 1280 * 2**20} == by_name["backup1"]["requested"]
    assert ("Declared", "False") == (by_name["backup1"]["ready"], by_name["member1"]["ready"])
    assert (1, 0) == (by_name["edge2"]["objectsPlaced"], by_name["edge1"]["objectsPlaced"])
    assert ["ManagedCluster", "MemberCluster"] == [
        by_name[n]["object"]["kind"] for n in ("edge1", "fleet1")
    ]


def test_what_is_free_is_reported_less_what_is_reserved(tmp_path: Path, capsys: Capsys) -> None:
    """Allocatable less allocated, less two replicas; taints and readiness beside it."""
    fleet = new_fleet(tmp_path / "fleet", {"clusters/member2.yaml": ROOMY})
    run_pass(fleet.folder, 0)

    found = answer_json(fleet, capsys, ["top", "clusters"])[1]["clusters"]
    roomy = next(item for item in found if item["cluster"] == "member2")

    assert {"cpu": 8, "memory": 16 * 2**30, "pods": 110} == roomy["capacity"]
    assert {"cpu": 6, "memory": 13.5 * 2**30, "pods": 98} == roomy["free"]
    assert ("True", ["maintenance=soon:PreferNoSchedule"]) == (roomy["ready"], roomy["taints"])
    assert "member2" == rows(fleet, capsys, "--sort-by", "cpu")[0]
    assert "member1" == rows(fleet, capsys, "--sort-by", "replicas")[0]


def test_quotas_are_listed_with_what_is_used(tmp_path: Path, capsys: Capsys) -> None:
    """In the format of the limit; what clusters say counts where nothing is refused."""
    limits = quota(overall={"cpu": "4", "memory": "1Gi", "pods": "10"})
    fleet = new_fleet(tmp_path / "fleet", {"policies/quota.yaml": text(limits)})
    run_pass(fleet.folder, 0)

    _, out, _ = answer(fleet, capsys, "top", "quotas")
    found = answer_json(fleet, capsys, ["top", "quota"])[1]["quotas"]

    assert [
        "NAMESPACE QUOTA RESOURCE USED FREE LIMIT REFUSES",
        "default quota cpu 0 4 4 no",
        "default quota memory 0 1Gi 1Gi no",
        "default quota pods 0 10 10 no",
    ] == [" ".join(line.split()) for line in out.splitlines()]
    assert [{"cpu": 4, "memory": 2**30, "pods": 10}] == [one["limits"] for one in found]


def test_bad_words_are_refused(fleet: Checkout, capsys: Capsys) -> None:
    """Usage errors."""
    assert 2 == answer(fleet, capsys, "top", "nodes")[0]
    assert 2 == answer(fleet, capsys, "top", "quotas", "--sort-by", "cpu")[0]
    assert 2 == answer(fleet, capsys, "top", "clusters", "--at", "v9")[0]


def test_colour_is_for_terminals_only(fleet: Checkout, capsys: Capsys) -> None:
    """A bold head on a terminal, plain text in a pipe."""
    assert ESCAPE in on_terminal(fleet.folder, ["top", "clusters"], {})
    assert ESCAPE not in answer(fleet, capsys, "top", "clusters")[1]
