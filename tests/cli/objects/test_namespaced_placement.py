"""What the command line shows of a placement of a namespace."""

from pathlib import Path

import pytest

from reconciler.audit.fleet.copy_counts import NO_TRANSPORT
from tests.cli.history import answer, answer_json
from tests.shell.fleet import new_fleet, run_pass
from tests.shell.repositories import Checkout

pytestmark = pytest.mark.usefixtures("an_hour_later")
Capsys = pytest.CaptureFixture[str]
PATH = "placements/front.yaml"
FRONT = """\
apiVersion: placement.kubernetes-fleet.io/v1
kind: ResourcePlacement
metadata:
  name: front
  namespace: shop
spec:
  resourceSelectors:
  - {group: "", version: v1, kind: ConfigMap}
  policy:
    placementType: PickN
    numberOfClusters: 1
---
apiVersion: v1
kind: ConfigMap
metadata: {name: colors, namespace: shop}
data: {front: blue}
"""
REPORT = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: colors, namespace: shop}
"""
TREE = """\
resourceplacement/front (shop)                  Available: True
├── resourcesnapshot/front-0-snapshot           latest: true
│   └── resourcebinding/front-fleet2-2e378c63   state: Bound, Available: True
│       └── cluster/fleet2
└── schedulingpolicysnapshot/front-0            latest: true
"""
IN_SHOP = ("-n", "shop")


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """The example with a placement of the namespace `shop`, which is reported; tests only read."""
    told = new_fleet(tmp_path_factory.mktemp("namespaced") / "fleet", {PATH: FRONT})
    run_pass(told.folder, 0)
    told.commit({"feedback/fleet2/colors.yaml": REPORT}, "Report")
    run_pass(told.folder, 90)
    return told


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        pytest.param(
            "rp",
            "NAMESPACE|NAME|GEN|TYPE|SCHEDULED|SCHEDULED-GEN|AVAILABLE|AVAILABLE-GEN|AGE",
            id="placement",
        ),
        pytest.param(
            "rb.placement.kubernetes-fleet.io",
            "NAMESPACE|NAME|CLUSTER|STATE|PLACEMENT|WORKSYNCHRONIZED|RESOURCESAPPLIED|AGE",
            id="binding",
        ),
        pytest.param("rs", "NAMESPACE|NAME|GEN|PLACEMENT|AGE", id="resource-snapshot"),
        pytest.param("sps", "NAMESPACE|NAME|GEN|PLACEMENT|AGE", id="policy-snapshot"),
    ],
)
def test_short_names_and_columns_are_upstreams(
    fleet: Checkout, capsys: Capsys, word: str, expected: str
) -> None:
    """Those of its kinds of the whole fleet."""
    code, out, _ = answer(fleet, capsys, "get", word, "-A")

    assert (0, expected.split("|")) == (code, out.splitlines()[0].split())


def test_its_tree_goes_down_to_the_clusters(fleet: Checkout, capsys: Capsys) -> None:
    """Snapshots and bindings are those of its namespace."""
    assert (0, f"{TREE}\n{NO_TRANSPORT}\n", "") == answer(
        fleet, capsys, "tree", "rp/front", *IN_SHOP
    )


def test_why_explains_it(fleet: Checkout, capsys: Capsys) -> None:
    """By its namespace and name."""
    _, out, _ = answer(fleet, capsys, "why", "rp/front", *IN_SHOP)

    assert ["shop/front is on fleet2", "  asked    the best 1 cluster(s)"] == out.splitlines()[:2]


def test_its_events_are_those_of_upstream(fleet: Checkout, capsys: Capsys) -> None:
    """One a stage."""
    found = answer_json(fleet, capsys, ["events", "rp/front", *IN_SHOP])[1]["events"]

    stages = ("ScheduleSuccess", "RolloutStarted", "OverriddenSucceeded", "WorkSynchronized")
    ends = ("Applied", "Available", "RolloutCompleted")
    assert [f"Placement{stage}" for stage in (*stages, *ends)] == [one["reason"] for one in found]


def test_its_history_says_where_it_came(fleet: Checkout, capsys: Capsys) -> None:
    """The pass that created it."""
    _, out, _ = answer(fleet, capsys, "history", "rp/front", *IN_SHOP)

    assert ["nowhere", "fleet2", "created"] == out.splitlines()[1].split()[2:5]


def test_a_simulation_moves_it(fleet: Checkout, capsys: Capsys) -> None:
    """Its cluster goes, so the other one is next."""
    _, out, _ = answer(fleet, capsys, "simulate", "--remove", "fleet2")

    assert "~ shop/front (changed): cluster gone\n" in out


def test_its_decisions_are_proven(fleet: Checkout, capsys: Capsys) -> None:
    """Each commit follows from its inputs, byte for byte."""
    code, out, _ = answer(fleet, capsys, "verify")

    assert (0, "2 of 2 decision commits verified") == (code, out.splitlines()[-1][:32])


def test_it_can_be_suspended(tmp_path: Path, capsys: Capsys) -> None:
    """A line in its file, and it stays where it is."""
    told = new_fleet(tmp_path / "fleet", {PATH: FRONT})
    run_pass(told.folder, 0)
    assert 0 == answer(told, capsys, "suspend", "rp/front", *IN_SHOP)[0]
    text = (told.folder / PATH).read_text()
    told.commit({PATH: text.replace("numberOfClusters: 1", "numberOfClusters: 2")}, "Want two")
    run_pass(told.folder, 90)

    out = answer(told, capsys, "why", "rp/front", *IN_SHOP)[1]
    assert "shop/front is on fleet2\n" in out
