"""WorkloadRebalancer: what it triggers, how its status reads, when it goes."""

from collections.abc import Container, Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple, cast

import pytest

from reconciler.manifests.admission import Admitted
from reconciler.model.identity import ObjectKey
from reconciler.rebalance.rebalancer_files import (
    Observed,
    Progress,
    Rebalancer,
    TargetDemand,
    WorkloadResult,
)
from reconciler.rebalance.target import MetDemand, Reference, Target
from reconciler.rebalance.workload_rebalancer import Advance, advance
from tests.builders import NOW, Body, FoundBy, after

A, B = (Reference("apps/v1", "Deployment", "default", name) for name in "ab")
ROLE = Reference("rbac.authorization.k8s.io/v1", "ClusterRole", "", "reader")


def key(reference: Reference) -> ObjectKey:
    """The target behind a reference."""
    return ObjectKey("work.karmada.io", "ResourceBinding", reference.namespace, reference.name)


class Run(NamedTuple):
    """What a rebalancer asked of a pass, and where it was then."""

    triggers: Mapping[ObjectKey, TargetDemand]
    after: Advance


def run(
    *workloads: Reference,
    ttl: int | None = None,
    seen: tuple[Observed, ...] = (),
    generations: tuple[int, int] = (1, 0),
    finished: datetime | None = None,
    targets: Mapping[Reference, Target | None] | None = None,
    now: datetime = NOW,
    missed: Container[ObjectKey] = (),
) -> Run:
    """One pass; every target exists unless `targets` says otherwise.

    What is demanded happens, but of those that are `missed`.
    """
    known = targets or {}
    step = advance(
        Rebalancer(
            workloads=workloads,
            ttl_seconds=ttl,
            admitted=Admitted(
                created_at=after(-60), generation=generations[0], generation_seen_at=after(-60)
            ),
            status=Progress(
                observed=seen, observed_generation=generations[1], finish_time=finished
            ),
        ),
        FoundBy(lambda reference: known.get(reference, Target(key(reference)))),
        now,
    )
    done = {target: MetDemand() for target in step.triggers if target not in missed}
    return Run(step.triggers, step.close(done))


def results(progress: Run) -> list[tuple[str, str]]:
    """Name and result of each observed workload."""
    items = cast(Sequence[Mapping[str, Body]], progress.after.status["observedWorkloads"])
    return [(str(item["workload"]["name"]), str(item.get("result", ""))) for item in items]


DONE, FAILED = (
    Observed(A, WorkloadResult.SUCCESSFUL),
    Observed(A, WorkloadResult.FAILED, "ReferencedBindingNotFound"),
)


def test_observed_workloads_are_sorted_by_their_text() -> None:
    """The order of the spec does not matter, duplicates collapse."""
    progress = run(ROLE, B, A, B)

    assert [("a", "Successful"), ("b", "Successful"), ("reader", "Successful")] == results(progress)
    assert progress.after.status == run(A, B, ROLE).after.status


def test_a_target_is_triggered_at_the_admission() -> None:
    """Not at the moment of the pass: a preview would foresee another one."""
    assert {key(A): TargetDemand(after(-60))} == run(A).triggers


@pytest.mark.parametrize(
    ("present", "triggered"),
    [
        pytest.param(-61, True, id="earlier"),
        pytest.param(-60, False, id="equal"),
        pytest.param(-59, False, id="later"),
    ],
)
def test_only_an_earlier_trigger_is_replaced(present: int, triggered: bool) -> None:  # noqa: FBT001
    """The workload is Successful either way."""
    progress = run(A, targets={A: Target(key(A), after(present))})

    assert triggered == bool(progress.triggers)
    assert [("a", "Successful")] == results(progress)


def test_what_the_pass_did_not_do_stays_pending() -> None:
    """A target that could not be scheduled is asked again, and nothing is finished before."""
    progress = run(A, B, ttl=0, missed=[key(A)])

    assert {key(A), key(B)} == progress.triggers.keys()
    assert [("a", ""), ("b", "Successful")] == results(progress)
    assert not progress.after.expired


def test_what_had_to_wait_is_triggered_at_the_moment_of_the_pass() -> None:
    """What scheduled it in between would have taken the earlier trigger for its own."""
    assert {key(A): TargetDemand(NOW)} == run(A, seen=(Observed(A),), generations=(1, 1)).triggers


def test_missing_binding_fails_for_good() -> None:
    """A Failed workload is not tried again when its binding appears."""
    progress = run(A, targets={A: None})
    again = run(A, seen=(FAILED,), generations=(1, 1), finished=NOW)

    assert [("a", "Failed")] == results(progress) == results(again)
    assert {} == again.triggers


def test_a_waiting_target_stays_pending() -> None:
    """Without result, reason and finish time, and without end of its time to live."""
    progress = run(A, B, ttl=0, targets={A: Target(key(A), waits_for="it is faulty")})

    assert [("a", ""), ("b", "Successful")] == results(progress)
    assert "finishTime" not in progress.after.status
    assert (False, None) == (progress.after.expired, progress.after.until)


def test_a_removed_workload_stays_if_it_was_successful() -> None:
    """One that failed or was pending leaves the status with the spec."""
    pending = Observed(B)

    assert [("a", "Successful"), ("reader", "Successful")] == results(run(ROLE, seen=(DONE,)))
    assert [("reader", "Successful")] == results(run(ROLE, seen=(FAILED, pending)))


def test_a_modified_workload_is_an_old_one_and_a_new_one() -> None:
    """The old one keeps its success, the new one is triggered."""
    progress = run(B, seen=(DONE,), generations=(2, 1))

    assert [key(B)] == list(progress.triggers)
    assert [("a", "Successful"), ("b", "Successful")] == results(progress)


def test_another_order_does_nothing_new() -> None:
    """Only the generation moves, and with it the finish time."""
    seen = (DONE, Observed(B, WorkloadResult.SUCCESSFUL))
    progress = run(B, A, seen=seen, generations=(2, 1), finished=after(-30))

    assert {} == progress.triggers
    assert results(run(A, B)) == results(progress)


@pytest.mark.parametrize(
    ("ttl", "age", "expired", "left"),
    [
        pytest.param(None, 10**6, False, None, id="unset"),
        pytest.param(0, 0, True, None, id="zero"),
        pytest.param(60, 59, False, 1, id="one-second-left"),
        pytest.param(60, 60, True, None, id="just-over"),
        pytest.param(90, 60, False, 30, id="lengthened"),
    ],
)
def test_time_to_live_counts_from_the_finish(
    ttl: int | None,
    age: int,
    expired: bool,  # noqa: FBT001
    left: int | None,
) -> None:
    """The end itself is over."""
    progress = run(A, ttl=ttl, seen=(DONE,), generations=(1, 1), finished=after(-age))

    assert expired == progress.after.expired
    assert progress.after.until == (None if left is None else NOW + timedelta(seconds=left))


def test_zero_time_to_live_ends_in_the_pass_that_finishes() -> None:
    """It is triggered all the same."""
    progress = run(A, ttl=0)

    assert progress.after.expired
    assert [key(A)] == list(progress.triggers)


def test_a_workload_added_defers_the_end() -> None:
    """The finish time is renewed, though the old end was near."""
    progress = run(A, B, ttl=60, seen=(DONE,), generations=(2, 1), finished=after(-60))

    assert after(60) == progress.after.until
    assert "2026-11-20T12:00:00Z" == progress.after.status["finishTime"]
