"""Staged update runs in passes: what reaches which cluster, and when."""

from collections.abc import Sequence
from typing import cast

from reconciler.core.reconcile import Memo, reconcile
from tests.builders import Body, after, configuration, deployment
from tests.dialects.kubefleet.fleet import member, specs_of, states
from tests.dialects.kubefleet.updaterun.staged import (
    APPROVAL,
    approval,
    conditions,
    requests,
    run,
    stage,
    staged,
    status,
    strategy,
    uid,
    waits,
)
from tests.stories import Story, applied

WAITING = ("False", "UpdateRunWaiting")
DONE = {
    "Initialized": ("True", "UpdateRunInitializedSuccessfully"),
    "Progressing": ("False", "UpdateRunSucceeded"),
    "Succeeded": ("True", "UpdateRunSucceeded"),
}


def snapshots(told: Story) -> dict[str, str]:
    """Cluster to the resource snapshot that it has."""
    return {one["targetCluster"]: one["resourceSnapshotName"] for one in specs_of(told)}


def test_without_a_run_nothing_is_rolled_out() -> None:
    """The clusters are chosen, and wait."""
    told = staged(stage("canary"), a="canary", b="canary")
    told.run(0)

    assert {"a": "Scheduled", "b": "Scheduled"} == states(told)
    assert () == told.run(3_600).changes


def test_stages_follow_one_another() -> None:
    """One cluster at a time, each after the one before is available, which is assumed here."""
    told = staged(stage("canary"), stage("prod"), a="prod", b="canary", c="prod")
    told.put(run()).run(0)
    assert {"a": "Scheduled", "b": "Bound", "c": "Scheduled"} == states(told)

    assert after(60) == told.run(30).recheck_at
    told.run(60)
    assert {"a": "Bound", "b": "Bound", "c": "Scheduled"} == states(told)
    told.run(120)
    assert {"a": "Bound", "b": "Bound", "c": "Bound"} == states(told)
    told.run(180)

    assert DONE == conditions(told)
    assert () == told.run(100_000).changes


def test_a_wait_is_a_moment() -> None:
    """Nobody polls: the pass says when the wait is over."""
    told = staged(stage("canary", afterStageTasks=[waits("10m")]), stage("prod"), a="canary")
    told.put(member("b", labels={"stage": "prod"}), run()).run(0)
    told.run(60)
    assert WAITING == conditions(told)["Progressing"]

    outcome = told.run(61)
    assert ((), after(660)) == (outcome.changes, outcome.recheck_at)
    told.run(659)
    assert "Scheduled" == states(told)["b"]
    told.run(660)
    assert "Bound" == states(told)["b"]


def test_a_percentage_of_clusters_at_once() -> None:
    """Rounded down."""
    told = staged(stage("all", maxConcurrency="50%"), a="all", b="all", c="all", d="all", e="all")
    told.put(run()).run(0)

    assert ["a", "b"] == [name for name, state in states(told).items() if state == "Bound"]


def test_a_new_version_waits_for_a_run_of_its_own() -> None:
    """What is selected anew makes a snapshot, and no cluster moves until a run takes it there."""
    told = staged(stage("all", maxConcurrency=2), a="all", b="all")
    told.put(run()).run(0)
    told.run(60)
    told.put(deployment(labels={"tier": "new"})).run(100)
    assert {"a": "web-0-snapshot", "b": "web-0-snapshot"} == snapshots(told)

    told.put(run(name="second")).run(110)
    assert {"a": "web-1-snapshot", "b": "web-1-snapshot"} == snapshots(told)
    told.run(170)
    assert DONE == conditions(told, "second")


def test_an_earlier_version_comes_back() -> None:
    """A run names the snapshot by its index."""
    told = staged(stage("all", maxConcurrency=2), a="all", b="all")
    told.put(run()).run(0)
    told.run(60)
    told.put(deployment(labels={"tier": "new"}), run(name="second")).run(100)
    told.run(160)
    told.put(run(name="back", resourceSnapshotIndex="0")).run(200)

    assert {"a": "web-0-snapshot", "b": "web-0-snapshot"} == snapshots(told)


def test_a_run_that_is_initialized_begins_when_it_is_told_to() -> None:
    """So its stages can be looked at before."""
    told = staged(stage("all"), a="all")
    told.put(run("Initialize")).run(0)
    stages = cast(Sequence[Body], status(told)["stagesStatus"])
    assert [{"stageName": "all", "clusters": [{"clusterName": "a"}]}] == stages
    assert {"a": "Scheduled"} == states(told)

    told.put(run()).run(10)
    assert {"a": "Bound"} == states(told)


def test_a_run_stops_and_goes_on() -> None:
    """What was begun is waited for."""
    told = staged(stage("all"), a="all", b="all")
    told.put(run()).run(0)
    told.put(run("Stop")).run(10)
    assert ("Unknown", "UpdateRunStopping") == conditions(told)["Progressing"]
    told.run(60)
    assert ("False", "UpdateRunStopped") == conditions(told)["Progressing"]
    assert {"a": "Bound", "b": "Scheduled"} == states(told)

    told.put(run()).run(70)
    assert {"a": "Bound", "b": "Bound"} == states(told)


def test_a_run_cannot_go_back() -> None:
    """An API server would refuse it; the run goes on as it was."""
    told = staged(stage("all"), a="all", b="all")
    told.put(run()).run(0)
    outcome = told.put(run("Initialize")).run(60)

    assert ["update-immutable"] == [fault.rule for fault in outcome.faults]
    assert {"a": "Bound", "b": "Bound"} == states(told)


def test_a_cluster_that_is_not_available_is_waited_for_and_told() -> None:
    """After five minutes the run is stuck."""
    told = staged(stage("all"), a="all", b="all")
    told.put(configuration(feedback={"assumeAfterSeconds": None}), run()).run(0)

    assert after(301) == told.run(10).recheck_at
    assert () == told.run(300).changes
    told.run(301)
    assert ("False", "UpdateRunStuck") == conditions(told)["Progressing"]


def test_clusters_that_are_to_go_go_last() -> None:
    """They keep what they have until all stages are done."""
    told = staged(stage("all", maxConcurrency=2), a="all", b="all")
    told.put(run()).run(0)
    told.run(60)
    told.put(member("b", labels={"stage": "all"}, leaving=True)).run(100)
    assert {"a": "Bound", "b": "Unscheduled"} == states(told)

    told.put(run(name="second")).run(110)
    assert {"a": "Bound"} == states(told)
    assert DONE == conditions(told, "second")


def test_a_run_of_no_placement_is_over() -> None:
    """Upstream does not look again, and nor do passes."""
    told = staged(stage("all"), a="all")
    told.put(run(placementName="wbe")).run(0)

    assert {"Initialized": ("False", "UpdateRunInitializedFailed")} == conditions(told)
    assert () == told.run(10).changes


def test_a_run_waits_for_a_strategy_that_cannot_be_read() -> None:
    """It is not over because somebody made a mistake in another file."""
    told = staged(stage("all"), a="all")
    broken = strategy(stage("all", maxConcurrency=0))
    told.put(broken, run()).run(0)
    assert "conditions" not in status(told)

    told.put(strategy(stage("all"))).run(10)
    assert {"a": "Bound"} == states(told)


def test_a_run_and_its_requests_go_together() -> None:
    """Nothing is left of a run whose file is gone; what it brought stays."""
    told = staged(stage("all", afterStageTasks=[APPROVAL]), a="all")
    told.put(run()).run(0)
    told.run(60)
    assert ["first-after-all"] == list(requests(told))
    told.drop(run()).run(70)

    assert {} == requests(told)
    assert {"a": "Bound"} == states(told)
    assert not [path for path in told.outputs if "stagedupdateruns" in path]


def test_a_warm_pass_sees_what_a_cold_one_sees() -> None:
    """Runs, strategies and approvals are among what placements are asked again for."""
    told = staged(stage("all", beforeStageTasks=[APPROVAL]), a="all", b="all")
    memo = Memo()
    for seconds, change in enumerate((run(), None, strategy(stage("all", maxConcurrency=2)), None)):
        if change is not None:
            told.put(change)
        _compared(told, memo, seconds)
    told.put(approval(told, "first-before-all", "all"))
    _compared(told, memo, 10)
    _compared(told, memo, 70)
    told.put(run("Stop"))
    _compared(told, memo, 80)
    told.drop(run())
    _compared(told, memo, 90)


def _compared(told: Story, memo: Memo, seconds: int) -> None:
    world, now = told.world(), after(seconds)
    warm, cold = reconcile(world, now, memo=memo), reconcile(world, now)

    assert (cold.changes, cold.recheck_at) == (warm.changes, warm.recheck_at)
    told.files = applied(told.files, cold)
    told.now = now


def test_a_run_made_anew_has_another_uid() -> None:
    """Its name is that of the one before, and nothing else."""
    told = staged(stage("all"), a="all")
    told.put(run()).run(0)
    before = uid(told)
    told.drop(run()).run(10)
    told.put(run()).run(20)

    assert before != uid(told)


def test_a_status_that_somebody_spoilt_stops_nothing_else() -> None:
    """The run begins anew; what is there already is not rolled out twice."""
    told = staged(stage("all"), a="all", b="all")
    told.put(run(), run(name="lone", placementName="none")).run(0)
    told.run(60)
    for name in ("first", "lone"):
        path = f"status/clusterstagedupdateruns.placement.kubernetes-fleet.io/{name}.yaml"
        head, _, _ = told.files[path].partition("status:\n")
        told.files[path] = f"{head}status:\n  conditions: 7\n"
    outcome = told.run(70)

    assert () == outcome.faults
    assert {"a": "Bound", "b": "Bound"} == states(told)
    told.run(130)
    assert DONE == conditions(told)
