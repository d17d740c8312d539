"""Staged update runs in passes: what reaches which cluster when, approvals, and events."""

from collections.abc import Sequence
from typing import cast

import pytest

from reconciler.audit.history.events import happened
from reconciler.audit.previews.preview import preview
from reconciler.core.message import commit_message, progress_in
from reconciler.core.reconcile import Memo, reconcile
from reconciler.model.identity import ObjectKey
from tests.builders import Body, after, configuration, deployment
from tests.dialects.kubefleet.fleet import (
    APPROVAL,
    GROUP,
    RUN,
    approval,
    conditions,
    member,
    requests,
    run,
    specs_of,
    stage,
    staged,
    states,
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


BEFORE = "first-before-prod"
ASKED = {"a": "Bound", "b": "Scheduled"}
BEGUN = {"a": "Bound", "b": "Bound"}


def waiting() -> Story:
    """A run that waits for an approval before its second stage."""
    told = staged(stage("canary"), stage("prod", beforeStageTasks=[APPROVAL]), a="canary", b="prod")
    told.put(run()).run(0)
    told.run(60)
    return told


def test_a_stage_waits_for_a_person() -> None:
    """The request is there to be answered, and time changes nothing."""
    told = waiting()

    assert ASKED == states(told)
    assert {BEFORE: []} == requests(told)
    assert ("False", "UpdateRunWaiting") == conditions(told)["Progressing"]
    outcome = told.run(100_000)
    assert ((), None) == (outcome.changes, outcome.recheck_at)


def test_a_merge_approves() -> None:
    """The pass that finds it goes on, and says that it was accepted."""
    told = waiting()
    outcome = told.put(approval(told, BEFORE, "prod")).run(70)

    assert () == outcome.faults
    assert BEGUN == states(told)
    assert {BEFORE: ["Approved", "ApprovalAccepted"]} == requests(told)


def test_what_was_accepted_cannot_be_taken_back() -> None:
    """The file may go then."""
    told = waiting()
    said = approval(told, BEFORE, "prod")
    told.put(said).run(70)
    told.drop(said).run(80)

    assert BEGUN == states(told)
    assert () == told.run(90).changes


def test_an_approval_may_come_before_it_is_asked_for() -> None:
    """A stage that was approved begins as soon as it is its turn."""
    told = staged(stage("canary"), stage("prod", beforeStageTasks=[APPROVAL]), a="canary", b="prod")
    told.put(run()).run(0)
    told.put(approval(told, BEFORE, "prod")).run(10)
    told.run(60)

    assert BEGUN == states(told)


def other_stage(told: Story) -> Body:
    """An approval of this request for another stage."""
    return approval(told, BEFORE, "canary")


def other_run(told: Story) -> Body:
    """An approval of a run that had the same name."""
    return approval(told, BEFORE, "prod", of="00000000-0000-0000-0000-000000000000")


def other_generation(told: Story) -> Body:
    """An approval of another generation of the request."""
    return approval(told, BEFORE, "prod", generation=2)


def other_request(told: Story) -> Body:
    """An approval of a request that the run does not make."""
    return approval(told, "first-after-prod", "prod")


@pytest.mark.parametrize("said", [other_stage, other_run, other_generation, other_request])
def test_any_other_approval_counts_for_nothing(said: object) -> None:
    """It stays where it is."""
    told = waiting()
    assert callable(said)
    told.put(said(told)).run(70)

    assert ASKED == states(told)
    assert {BEFORE: []} == requests(told)


def test_a_run_made_anew_is_not_approved_by_an_old_file() -> None:
    """Whoever approved the one before did not see this one."""
    told = waiting()
    told.put(approval(told, BEFORE, "prod")).run(70)
    told.run(130)
    told.drop(run()).run(140)
    told.put(run()).run(150)
    told.run(210)

    assert {BEFORE: []} == requests(told)
    assert ("False", "UpdateRunWaiting") == conditions(told)["Progressing"]


def test_requests_of_a_run_whose_record_is_lost_do_not_count() -> None:
    """It begins anew, as another run, and asks again."""
    told = waiting()
    told.put(approval(told, BEFORE, "prod")).run(70)
    del told.files["status/clusterstagedupdateruns.placement.kubernetes-fleet.io/first.yaml"]
    told.run(80)
    told.run(140)

    assert {BEFORE: []} == requests(told)


KEY = ObjectKey(GROUP, RUN, "", "first")
PATH = f"status/clusterstagedupdateruns.{GROUP}/first.yaml"


def told_at(told: Story, seconds: int) -> tuple[str, list[str]]:
    """Run a pass; the subject of its commit, and what it says of runs."""
    world = told.world()
    outcome = reconcile(world, after(seconds))
    told.files = applied(told.files, outcome)
    if not outcome.changes:
        return "", []
    subject = commit_message(outcome, world, now=after(seconds), version="1").splitlines()[0]
    return subject, [one.clause for one in progress_in(world, outcome)]


def begun() -> Story:
    """A stage that a person approves and that then waits, one after it, one without clusters."""
    canary = stage("canary", beforeStageTasks=[APPROVAL], afterStageTasks=[waits("10m")])
    told = staged(canary, stage("prod"), stage("none"), a="canary", b="prod")
    told.put(run()).run(0)
    return told


APPROVED: Sequence[tuple[int, str, list[str]]] = (
    (
        30,
        "Run first: stage canary is approved, stage canary begins",
        ["stage canary is approved", "stage canary begins"],
    ),
    (90, "Run first: stage canary waits", ["stage canary waits"]),
    (
        690,
        "Run first: stage canary ends, stage prod begins",
        ["stage canary ends", "stage prod begins"],
    ),
    (
        750,
        "Run first: stage prod ends, stage none is skipped, as it has no cluster…",
        [
            "stage prod ends",
            "stage none is skipped, as it has no clusters",
            "the run ends, all stages are over",
        ],
    ),
)


def test_commits_say_what_becomes_of_stages() -> None:
    """Each of them, in the order in which it happens."""
    told = begun()
    told.put(approval(told, "first-before-canary", "canary"), path="approved.yaml")

    assert list(APPROVED) == [(seconds, *told_at(told, seconds)) for seconds, *_ in APPROVED]


def test_a_stage_that_waits_for_an_approval_says_how() -> None:
    """What moves comes first in a commit."""
    told = staged(stage("canary", beforeStageTasks=[APPROVAL]), a="canary")
    told.put(run())

    subject, clauses = told_at(told, 0)

    assert "Place web on a" == subject
    assert ["stage canary waits for an approval: reconciler approve first canary"] == clauses


def test_a_run_that_is_stopped_or_fails_says_so() -> None:
    """And why."""
    told = staged(stage("all"), a="all", b="all")
    told.put(run()).run(0)
    told.put(run("Stop"))
    stopped = told_at(told, 60)[1]
    told.put(run("Run"), member("c", labels={"stage": "all"}))
    failed = told_at(told, 61)[1]

    assert ["the run is stopped"] == stopped
    assert [clause for clause in failed if clause.startswith("the run fails: ")]


def test_several_runs_are_counted() -> None:
    """A subject has room for one."""
    told = staged(stage("all"), a="all")
    told.put(run(), run(name="second")).run(0)

    assert "Go on with 2 runs" == told_at(told, 60)[0]


def test_events_have_upstreams_reasons() -> None:
    """Its controller has them in conditions only."""
    told = begun()
    before = told.output(PATH)
    told.put(approval(told, "first-before-canary", "canary"), path="approved.yaml").run(30)
    events = [event for _, event in happened(KEY, before, told.output(PATH))]

    assert [
        ("StageTaskApprovalRequestApproved", "Stage canary is approved"),
        ("StageUpdatingStarted", "Stage canary begins"),
    ] == [(event.reason, event.message) for event in events]
    assert {"clusterstagedupdaterun-controller"} == {event.source for event in events}


def test_a_run_that_is_made_anew_begins_anew() -> None:
    """What its file said of another run does not count."""
    told = begun()
    body = told.output(PATH)
    other = {**body, "metadata": {**cast(Body, body["metadata"]), "uid": "another"}}

    assert [event.message for _, event in happened(KEY, None, body)] == [
        event.message for _, event in happened(KEY, other, body)
    ]


@pytest.mark.parametrize("state", ["Run", "Initialize"])
def test_a_plan_says_what_becomes_of_runs(state: str) -> None:
    """By the change, not what a pass brings about anyway."""
    told = staged(stage("all"), a="all")
    told.put(run("Initialize")).run(0)
    base = told.world()
    merged = told.put(run(state)).world()
    found = preview(base, merged, after(10))

    began = ["ClusterStagedUpdateRun first: stage all begins"]
    assert (began if state == "Run" else []) == list(map(str, found.progress))
    assert (state == "Run") == found.changes
