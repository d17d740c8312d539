"""Commits, events and previews tell which stage of which run begins, waits and ends."""

from collections.abc import Sequence
from typing import cast

import pytest

from reconciler.audit.history.events import happened
from reconciler.audit.previews.preview import preview
from reconciler.core.message import commit_message, progress_in
from reconciler.core.reconcile import reconcile
from reconciler.model.identity import ObjectKey
from tests.builders import Body, after
from tests.dialects.kubefleet.fleet import GROUP, member
from tests.dialects.kubefleet.updaterun.staged import (
    APPROVAL,
    RUN,
    approval,
    run,
    stage,
    staged,
    waits,
)
from tests.stories import Story, applied

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
