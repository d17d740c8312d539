"""`reconciler approve`: a staged run over real commits, and what approves it or does not."""

import json
from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from pathlib import Path

import pytest

from tests.builders import Body
from tests.cli.history import answer
from tests.core.test_staged_deliveries import staged_delivery, version
from tests.delivery.story import files_of
from tests.delivery.test_staged_story import IN_THREE, KARMADA, OCM, StagedApi, StagedFleet
from tests.dialects.kubefleet.fleet import APPROVAL as STAGE_APPROVAL
from tests.dialects.kubefleet.fleet import member as fleet_member
from tests.dialects.kubefleet.fleet import placement, stage, strategy
from tests.dialects.ocm import worlds
from tests.shell.fleet import run_pass
from tests.shell.repositories import Checkout, new_checkout

Capsys = pytest.CaptureFixture[str]
BY_ADA = ("--author", "Ada <ada@example.com>")
GROUP = "placement.kubernetes-fleet.io"
RUN = "policies/run.yaml"
PARTS = ("path", "line", "column", "field", "rule", "message", "expected")
BY_ITSELF = worlds.replica_set(version("2"), strategy=worlds.progressive())
APPROVAL = "approvals/shop-v1-before-prod.yaml"


def member(name: str, stage: str) -> str:
    """A cluster of a stage."""
    return f"""\
apiVersion: cluster.kubernetes-fleet.io/v1beta1
kind: MemberCluster
metadata:
  name: {name}
  labels:
    stage: {stage}
spec:
  identity:
    kind: User
    name: {name}
"""


FILES = {
    "clusters/member1.yaml": member("member1", "canary"),
    "clusters/member2.yaml": member("member2", "prod"),
    "workloads/shop.yaml": "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: shop\n",
    "policies/shop.yaml": f"""\
apiVersion: {GROUP}/v1beta1
kind: ClusterResourcePlacement
metadata:
  name: shop
spec:
  resourceSelectors:
  - group: ""
    version: v1
    kind: Namespace
    name: shop
  strategy:
    type: External
---
apiVersion: {GROUP}/v1beta1
kind: ClusterStagedUpdateStrategy
metadata:
  name: careful
spec:
  stages:
  - name: canary
    labelSelector:
      matchLabels:
        stage: canary
  - name: prod
    labelSelector:
      matchLabels:
        stage: prod
    beforeStageTasks:
    - type: Approval
""",
    RUN: f"""\
apiVersion: {GROUP}/v1beta1
kind: ClusterStagedUpdateRun
metadata:
  name: shop-v1
spec:
  placementName: shop
  stagedRolloutStrategyName: careful
  state: Run
""",
}


@pytest.fixture
def fleet(tmp_path: Path) -> Checkout:
    """A run that waits for an approval of its second stage."""
    checkout = new_checkout(tmp_path / "fleet")
    commit(checkout, FILES, "Roll shop out")
    run_pass(checkout.folder, 0)
    run_pass(checkout.folder, 60)
    return checkout


def commit(checkout: Checkout, files: Mapping[str, str | None], message: str) -> None:
    """Commit files; `None` removes one."""
    for path, data in files.items():
        place = checkout.folder / path
        if data is None:
            place.unlink()
        else:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(data)
    checkout.git("add", "--all")
    checkout.git("commit", "--quiet", f"--message={message}")


def states(checkout: Checkout) -> dict[str, str]:
    """Cluster to the state of its binding."""
    found = {}
    for path in sorted((checkout.folder / f"status/clusterresourcebindings.{GROUP}").iterdir()):
        fields = dict(
            line.strip().split(": ", 1) for line in path.read_text().splitlines() if ": " in line
        )
        found[fields["targetCluster"]] = fields["state"]
    return found


ASKED = {"member1": "Bound", "member2": "Scheduled"}
BEGUN = {"member1": "Bound", "member2": "Bound"}


def test_a_merge_lets_the_run_go_on(fleet: Checkout, capsys: Capsys) -> None:
    """Until the branch is merged nothing happens; what it says is kept with what was decided."""
    assert ASKED == states(fleet)
    code, out, err = answer(
        fleet, capsys, "approve", "shop-v1", "-m", "canary is quiet", "--branch=ok", *BY_ADA
    )
    assert (0, True) == (code, "message: canary is quiet" in out)
    assert err.endswith("it takes effect once it is merged\n")
    run_pass(fleet.folder, 70)
    assert ASKED == states(fleet)

    fleet.git("merge", "--quiet", "ok")
    run_pass(fleet.folder, 80)
    assert BEGUN == states(fleet)
    _, _, err = answer(fleet, capsys, "approve", "shop-v1", "prod")
    assert "prod of clusterstagedupdaterun/shop-v1 is approved already\n" == err


def test_what_waits_is_told_by_the_command_that_status_names(
    fleet: Checkout, capsys: Capsys
) -> None:
    """Of each cluster, in the same words."""
    _, out, _ = answer(fleet, capsys, "status")
    (line,) = [one for one in out.splitlines() if "object waiting; " in one]
    command = line.partition("`")[2].partition("`")[0].replace("OBJECT", "crp/shop").split()
    _, told, _ = answer(fleet, capsys, *command[1:])

    assert "member2 waits for its turn in the rollout" in out
    assert "its turn in the rollout" in told


def test_what_approved_an_earlier_run_is_told_and_ignored(fleet: Checkout, capsys: Capsys) -> None:
    """A run of the same name is another one; `approve` writes the file anew."""
    answer(fleet, capsys, "approve", "shop-v1")
    commit(fleet, {}, "Approve prod")
    run_pass(fleet.folder, 70)
    run_pass(fleet.folder, 130)
    commit(fleet, {RUN: None}, "Remove the run")
    run_pass(fleet.folder, 140)
    label = FILES["workloads/shop.yaml"].replace("shop\n", "shop\n  labels:\n    tier: new\n")
    commit(fleet, {RUN: FILES[RUN], "workloads/shop.yaml": label}, "Roll it out once more")
    run_pass(fleet.folder, 150)
    run_pass(fleet.folder, 210)

    _, status, _ = answer(fleet, capsys, "status")
    assert APPROVAL in status
    assert "clusterstagedupdaterun/shop-v1 waits for an approval of prod" in status
    _, found, _ = answer(fleet, capsys, "validate")
    assert "approves nothing: it names no uid, or that of another run" in found
    _, why, _ = answer(fleet, capsys, "why", "clusterresourceplacement/shop")
    assert f"{APPROVAL} approves nothing" in why

    answer(fleet, capsys, "approve", "shop-v1")
    commit(fleet, {}, "Approve prod again")
    run_pass(fleet.folder, 220)
    run_pass(fleet.folder, 280)
    _, got, _ = answer(fleet, capsys, "get", "csur", "shop-v1", "-o", "wide")
    assert "All stages are completed" in got


def test_a_stage_is_approved_in_advance_by_its_name(fleet: Checkout, capsys: Capsys) -> None:
    """What is not asked for yet has to be named; what never is, is refused with what is."""
    run = FILES[RUN].replace("shop-v1", "shop-v2")
    commit(fleet, {RUN: run}, "Another run")
    run_pass(fleet.folder, 70)
    code, _, err = answer(fleet, capsys, "approve", "shop-v2", "canary")

    assert (2, True) == (code, 'does not await approval of stage "canary"; only: prod' in err)
    assert 0 == answer(fleet, capsys, "approve", "shop-v2", "prod", "--dry-run")[0]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        pytest.param(["nobody"], 'there is no "nobody" to approve', id="unknown"),
        pytest.param(
            ["clusterresourceplacement/shop"],
            "clusterresourceplacement/shop cannot be approved",
            id="kind",
        ),
    ],
)
def test_what_cannot_be_approved_is_refused(
    fleet: Checkout, capsys: Capsys, words: list[str], told: str
) -> None:
    """With what could be."""
    code, _, err = answer(fleet, capsys, "approve", *words)

    assert (2, True) == (code, told in err)


def test_a_placement_without_a_run_says_what_it_waits_for(fleet: Checkout, capsys: Capsys) -> None:
    """In status, in why, and in validate."""
    commit(fleet, {RUN: None}, "Remove the run")
    run_pass(fleet.folder, 70)
    waits = "waits for a ClusterStagedUpdateRun that names it"

    for words in (["status"], ["validate"], ["why", "clusterresourceplacement/shop"]):
        assert waits in answer(fleet, capsys, *words)[1]


def test_orders_of_a_staged_delivery_are_lines_of_its_file(tmp_path: Path, capsys: Capsys) -> None:
    """Approved is what awaits it; another order is about the run as it is."""
    told = StagedFleet.begun(tmp_path / "fleet")
    fleet = told.fleet
    assert 2 == answer(fleet, capsys, "rollout", "stop", "web")[0]

    told.run(version("2", replicas=3)).report("a")
    for words, why in (
        (("approve", "web", "nosuch"), 'there is no stage "nosuch"; only: '),
        (("approve", "web", "canary"), 'stage "canary" asks for no approval'),
        (("resume", "web"), " is not stopped"),
    ):
        code, _, err = answer(fleet, capsys, "rollout", *words)
        assert (2, True) == (code, why in err)
    assert 2 == answer(fleet, capsys, "approve", "web")[0]
    assert 2 == answer(fleet, capsys, "rollout", "stop", "web", "early")[0]
    assert 0 == answer(fleet, capsys, "rollout", "approve", "web")[0]
    stands = "stageddelivery/web has this order already in stageddelivery/web.yaml; "
    again = answer(fleet, capsys, "rollout", "approve", "web")
    assert (0, f"{stands}it is not committed yet\n") == (again[0], again[2])
    fleet.git("commit", "-qam", "Approve")
    again = answer(fleet, capsys, "rollout", "approve", "web")
    assert (0, f"{stands}the next pass carries it out\n") == (again[0], again[2])
    told.run()
    assert {"a": "2", "b": "2", "c": "1"} == told.images
    again = answer(fleet, capsys, "rollout", "approve", "web", "early")
    assert (0, "stageddelivery/web has approval before stage early already\n") == (
        again[0],
        again[2],
    )

    code, _, err = answer(fleet, capsys, "rollout", "approve", "web")
    assert (2, True) == (code, "does not await approval (waits for b in stage " in err)
    _, out, _ = answer(fleet, capsys, "rollout", "stop", "web")
    assert "Plan: 1 fault in stageddelivery/web.yaml; nothing moves" in out
    fleet.git("checkout", "--quiet", ".")
    assert 0 == answer(fleet, capsys, "rollout", "rollback", "web", "--branch", "back", *BY_ADA)[0]
    fleet.git("merge", "-q", "back")
    told.run()
    assert {"a": "1", "b": "1", "c": "1"} == told.images
    assert 2 == answer(fleet, capsys, "rollout", "resume", "web")[0]


def test_validate_foresees_an_order_without_effect(tmp_path: Path, capsys: Capsys) -> None:
    """At its line; a pass says the same of the manifest."""
    told = StagedFleet.begun(tmp_path / "fleet").run(version("2", replicas=3))
    order = told.order("Approve", stage="canary", task="AfterStage")
    told.fleet.commit(files_of(order), "Approve")

    code, out, _ = answer(told.fleet, capsys, "validate")

    why = 'this order has no effect: stage "canary" asks for no approval after it'
    assert (1, True) == (code, f"stageddelivery/web.yaml:1:177: error: {why}" in out)

    told.run()

    assert f"stageddelivery/web.yaml:1:177: {why}" in answer(told.fleet, capsys, "status")[1]


def _renamed(told: StagedFleet) -> tuple[Body, ...]:
    """The staged delivery by another name, its order with it."""
    order = told.order("Stop")
    told.fleet.git("rm", "-q", "stageddelivery/web.yaml")
    return ({**order, "metadata": {"name": "also"}},)


def _misspelt(told: StagedFleet) -> tuple[Body, ...]:
    """An order about a stage that there is not."""
    return (told.order("Approve", stage="nosuch", task="BeforeStage"),)


@pytest.mark.parametrize(
    ("api", "changed"),
    [
        pytest.param(KARMADA, _renamed, id="order-without-run"),
        pytest.param(KARMADA, lambda _: [staged_delivery("also")], id="two-select-it"),
        pytest.param(KARMADA, lambda _: [placement(), fleet_member("d")], id="placement"),
        pytest.param(OCM, lambda _: [BY_ITSELF], id="set"),
        pytest.param(KARMADA, lambda _: [staged_delivery(strategy="carefull")], id="strategy"),
        pytest.param(KARMADA, _misspelt, id="stage"),
    ],
)
def test_validate_says_of_staged_deliveries_what_a_pass_says(
    api: StagedApi,
    changed: Callable[[StagedFleet], Sequence[Body]],
    tmp_path: Path,
    capsys: Capsys,
) -> None:
    """Before it, at the same line, in the same words; nothing else is wrong."""
    told = StagedFleet.begun(tmp_path / "fleet", api).run(api.web("2", 3))
    told.fleet.commit(files_of(*changed(told)), "Change")

    code, out, _ = answer(told.fleet, capsys, "validate", "-o", "json")
    findings = [one for one in json.loads(out)["findings"] if one["rule"].startswith("staged-")]
    found = [tuple(one[name] for name in PARTS) for one in findings]
    faults = run_pass(told.fleet.folder, 600).outcome.faults
    parts = attrgetter(*PARTS)
    said = [parts(one) for one in faults if one.rule != "staged-held"]

    assert (1, said) == (code, found)
    assert said


def test_a_missing_strategy_is_told_once(tmp_path: Path, capsys: Capsys) -> None:
    """As what a pass says of it."""
    told = StagedFleet.begun(tmp_path / "fleet").run(staged_delivery(strategy="carefull"))

    assert 1 == answer(told.fleet, capsys, "status")[1].count("no ClusterStagedUpdateStrategy")
    assert "no ClusterStagedUpdateStrategy" in answer(told.fleet, capsys, "validate")[1]


def test_a_plan_of_an_order_has_its_faults_at_their_lines(tmp_path: Path, capsys: Capsys) -> None:
    """Those of the file as it would be written."""
    told = StagedFleet.begun(tmp_path / "fleet").run(version("2", replicas=3))

    _, out, _ = answer(told.fleet, capsys, "rollout", "stop", "web", "--dry-run")

    assert "fault: stageddelivery/web.yaml:1:1: the run " in out


def test_what_a_deleted_one_left_says_how_it_goes_on(tmp_path: Path, capsys: Capsys) -> None:
    """There is no run to order anything of."""
    told = StagedFleet.begun(tmp_path / "fleet").run(version("2", replicas=3))
    told.fleet.git("rm", "-q", "stageddelivery/web.yaml")
    told.fleet.git("commit", "-qm", "Remove")
    told.run()

    code, _, err = answer(told.fleet, capsys, "rollout", "rollback", "web")

    assert (2, True) == (code, "write it again to begin another run" in err)


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        pytest.param({"stage": "nosuch"}, "BeforeStage of stage early", id="stage"),
        pytest.param(
            {"generation": 7}, "generation 1, if the order still applies", id="generation"
        ),
        pytest.param({"run": "9-0"}, "the present run, 1-", id="run"),
    ],
)
def test_an_order_in_vain_says_which_one_would_have_an_effect(
    more: Mapping[str, object], expected: str, tmp_path: Path
) -> None:
    """Stages that ask for approval, the generation of now, the run of now."""
    told = StagedFleet.begun(tmp_path / "fleet").run(version("2", replicas=3))
    approval = {"stage": "early", "task": "BeforeStage", **more}
    told.fleet.commit(files_of(told.order("Approve", **approval)), "Approve")
    (fault,) = run_pass(told.fleet.folder, 600).outcome.faults

    assert expected in fault.expected


def test_the_stage_that_waits_is_approved(tmp_path: Path, capsys: Capsys) -> None:
    """Not one before it that was approved in advance, and that no cluster is in."""
    told = StagedFleet.begun(tmp_path / "fleet")
    told.run(strategy(stage("idle", beforeStageTasks=[STAGE_APPROVAL]), *IN_THREE))
    told.run(version("2", replicas=3))
    told.run(told.order("Approve", stage="idle", task="BeforeStage")).report("a")

    code, out, _ = answer(told.fleet, capsys, "rollout", "approve", "web", "--dry-run")

    assert (0, True) == (code, "task BeforeStage of stage early is approved" in out)
