"""Approval by merge: what counts, what does not, and what is told of it."""

import pytest

from tests.builders import Body
from tests.dialects.kubefleet.fleet import states
from tests.dialects.kubefleet.updaterun.staged import (
    APPROVAL,
    approval,
    conditions,
    requests,
    run,
    stage,
    staged,
)
from tests.stories import Story

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
