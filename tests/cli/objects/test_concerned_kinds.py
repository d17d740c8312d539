"""Kinds that place nothing by themselves: what verbs say of taint policies and staged updates."""

import pytest

from tests.builders import Body, cluster, cluster_status, deployment, metadata
from tests.cli.history import answer
from tests.delivery.story import files_of
from tests.dialects.kubefleet.fleet import member, placement
from tests.dialects.kubefleet.updaterun.staged import (
    APPROVAL,
    EXTERNAL,
    run,
    stage,
    strategy,
    waits,
)
from tests.shell.fleet import run_pass
from tests.shell.repositories import Checkout, new_checkout

Capsys = pytest.CaptureFixture[str]

SLOW: Body = {
    "apiVersion": "policy.karmada.io/v1alpha1",
    "kind": "ClusterTaintPolicy",
    "metadata": metadata("slow"),
    "spec": {
        "targetClusters": {"clusterNames": ["k1", "k2"]},
        "taints": [{"key": "slow", "effect": "NoSchedule"}],
        "addOnConditions": [
            {"conditionType": "Ready", "operator": "In", "statusValues": ["False"]}
        ],
        "removeOnConditions": [
            {"conditionType": "Ready", "operator": "In", "statusValues": ["True"]}
        ],
    },
}
STAGES = (
    stage("canary", beforeStageTasks=[APPROVAL], afterStageTasks=[waits("10m")]),
    stage("prod"),
)
WAITS = "waits for an approval of canary: reconciler approve first canary"


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """A run that waits for an approval, and a policy that has put a taint on a cluster."""
    made = new_checkout(
        tmp_path_factory.mktemp("kinds") / "fleet",
        files_of(
            member("a", labels={"stage": "canary"}),
            member("b", labels={"stage": "prod"}),
            placement(strategy=EXTERNAL),
            deployment(),
            strategy(*STAGES),
            run(),
            cluster("k1", status=cluster_status("False")),
            cluster("k2", status=cluster_status()),
            cluster("k3", status=cluster_status("False")),
            SLOW,
        ),
    )
    run_pass(made.folder, 0)
    return made


@pytest.mark.parametrize(
    ("words", "pieces"),
    [
        pytest.param("get clustertaintpolicies", ["TAINTS", "slow:NoSchedule"], id="get-policy"),
        pytest.param(
            "tree clustertaintpolicy/slow",
            ["k1   ", "slow:NoSchedule since 2026-11-20T12:00:00Z", "k2   ", "taints: none"],
            id="tree-policy",
        ),
        pytest.param("describe clustertaintpolicy/slow", ["Add On Conditions:"], id="of-policy"),
        pytest.param("explain clustertaintpolicy.spec", ["addOnConditions"], id="explain-policy"),
        pytest.param("get csus", ["STAGES", "canary, prod"], id="get-strategy"),
        pytest.param("tree csus/careful", ["clusterstagedupdaterun/first", WAITS], id="tree-csus"),
        pytest.param("describe csus/careful", ["Wait Time:", "10m"], id="describe-strategy"),
        pytest.param("explain csus.spec.stages", ["maxConcurrency"], id="explain-strategy"),
        pytest.param("get csur", ["PLACEMENT", "web", "False"], id="get-run"),
        pytest.param("why csur/first", ["web is on a, b", "Rollout:", WAITS], id="why-run"),
        pytest.param(
            "events csur/first",
            ["StageTaskApprovalRequestCreated", "Stage canary waits for an approval"],
            id="events-run",
        ),
        pytest.param("tree csur/first", ["clusterresourceplacement/web", WAITS], id="tree-run"),
        pytest.param(
            "describe csur/first",
            ["Conditions:", "StageTaskApprovalRequestCreated", "clusterstagedupdaterun-controller"],
            id="describe-run",
        ),
        pytest.param("explain csur.spec", ["stagedRolloutStrategyName"], id="explain-run"),
        pytest.param("get careq", ["UPDATE-RUN", "first", "canary"], id="get-request"),
        pytest.param("why careq/first-before-canary", ["web is on a, b", WAITS], id="why-request"),
        pytest.param("tree careq/first-before-canary", ["placement/web", WAITS], id="tree-request"),
        pytest.param("events careq/first-before-canary", ["PlacementScheduleSuccess"], id="events"),
        pytest.param("describe careq/first-before-canary", ["Target Stage:"], id="of-request"),
    ],
)
def test_verbs_answer(fleet: Checkout, capsys: Capsys, words: str, pieces: list[str]) -> None:
    """Each as a user of the kind expects."""
    code, out, _ = answer(fleet, capsys, *words.split())

    assert 0 == code
    assert [] == [piece for piece in pieces if piece not in out]


@pytest.mark.parametrize("word", ["clustertaintpolicy/slow", "csus/careful"])
def test_what_places_nothing_has_no_why(fleet: Checkout, capsys: Capsys, word: str) -> None:
    """It says what has one."""
    code, _, err = answer(fleet, capsys, "why", word)

    assert 2 == code
    assert "is not placed; name a workload, a binding or a placement" in err


def test_a_plan_says_what_a_run_would_do(fleet: Checkout, capsys: Capsys) -> None:
    """Approving it, for one."""
    code, out, _ = answer(fleet, capsys, "approve", "first", "--dry-run")

    assert 0 == code
    assert "run: ClusterStagedUpdateRun first: stage canary is approved" in out
    assert "run: ClusterStagedUpdateRun first: stage canary begins" in out
