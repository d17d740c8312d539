"""WorkloadRebalancer: what is refused, what it triggers beside others, how its status reads."""

from collections.abc import Container, Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple, cast

import pytest

from reconciler.core.dialects import KINDS
from reconciler.manifests.admission import Admitted
from reconciler.model.identity import ObjectKey
from reconciler.rebalance.admission import refuse_rebalancer, refuse_trigger
from reconciler.rebalance.rebalancer_files import (
    Observed,
    OverriddenLimit,
    Progress,
    Rebalancer,
    TargetDemand,
    WorkloadResult,
    join_demands,
    overridden_limits,
)
from reconciler.rebalance.target import MetDemand, Reference, Target
from reconciler.rebalance.workload_rebalancer import Advance, advance
from tests.builders import NOW, Body, FoundBy, after, metadata, rebalancer, schedule_trigger, target

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


@pytest.mark.parametrize(
    ("workload", "expected"),
    [
        pytest.param(target(), [], id="namespaced"),
        pytest.param(target("ClusterRole", "r", ""), [], id="cluster-scoped"),
        pytest.param(target(namespace=""), ["/spec/workloads/0"], id="namespace-missing"),
        pytest.param(
            target("ClusterRole", "r"), ["/spec/workloads/0/namespace"], id="namespace-too-much"
        ),
        pytest.param({**target(), "kind": "web/x"}, ["/spec/workloads/0/kind"], id="no-kind"),
        pytest.param(
            {"apiVersion": "example.org/v1", "kind": "Widget", "name": "w"}, [], id="unknown-kind"
        ),
    ],
)
def test_targets_of_rebalancers(workload: Body, expected: list[str]) -> None:
    """A namespace is never guessed."""
    found = refuse_rebalancer(KINDS.scopes, rebalancer("demo", workload))

    assert expected == [violation.pointer for violation in found]


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param({"selector": {"kind": "Deployment"}}, [], id="selector-alone"),
        pytest.param({"selector": {"onCluster": "a"}}, [], id="on-cluster"),
        pytest.param(
            {"selector": {"policy": {"kind": "Placement", "name": "p"}}},
            ["rebalancer-selector"],
            id="policy-of-no-api",
        ),
        pytest.param({"workloads": [target()], "schedule": "0 3 * * SUN"}, [], id="schedule"),
        pytest.param({}, ["rebalancer-target"], id="nothing"),
        pytest.param({"workloads": [target(name="")]}, ["rebalancer-target"], id="no-name"),
        pytest.param(
            {"workloads": [target()], "schedule": "@daily"}, ["rebalancer-schedule"], id="word"
        ),
        pytest.param(
            {"workloads": [target()], "schedule": "0 0 31 2 *"}, ["rebalancer-schedule"], id="never"
        ),
        pytest.param(
            {"workloads": [target()], "schedule": "* * * * * *"}, ["rebalancer-schedule"], id="six"
        ),
        pytest.param(
            {"workloads": [target()], "schedule": "0 3 * * *", "ttlSecondsAfterFinished": 0},
            ["rebalancer-schedule"],
            id="schedule-and-ttl",
        ),
        pytest.param(
            {"workloads": [target()], "suspend": True}, ["rebalancer-schedule"], id="suspend-alone"
        ),
        pytest.param(
            {"workloads": [target()], "limits": {"intervalSeconds": 1}},
            ["rebalancer-limits"],
            id="interval-alone",
        ),
        pytest.param(
            {"workloads": [target()], "limits": {"waitForEviction": True}}, [], id="eviction-alone"
        ),
        pytest.param(
            {"workloads": [target()], "limits": {"makeBeforeBreak": {}, "maxMoves": 1}},
            [],
            id="steps-and-moves",
        ),
        pytest.param(
            {"workloads": [target()], "limits": {"makeBeforeBreak": {}, "intervalSeconds": 1}},
            ["rebalancer-limits"],
            id="steps-and-interval",
        ),
        pytest.param(
            {
                "workloads": [target()],
                "reschedule": {"preserveAvailableReplicas": True},
                "limits": {"maxMoves": 1},
            },
            ["rebalancer-limits"],
            id="kept-in-batches",
        ),
        pytest.param(
            {"workloads": [target()], "leaving": ["a"]}, ["rebalancer-limits"], id="leaving-alone"
        ),
        pytest.param(
            {"workloads": [target()], "limits": {"makeBeforeBreak": {"settleSeconds": 600}}},
            ["rebalancer-limits"],
            id="no-time-to-settle",
        ),
        pytest.param(
            {"selector": {"labelSelector": {"matchLabels": {"a": 1}}}},
            ["rebalancer-selector"],
            id="labels",
        ),
    ],
)
def test_what_goes_together(spec: Body, expected: list[str]) -> None:
    """Each contradiction has one sentence."""
    body = {**rebalancer(), "metadata": metadata("demo"), "spec": spec}

    assert expected == [violation.rule for violation in refuse_rebalancer(KINDS.scopes, body)]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param(schedule_trigger("t", target()), [], id="resource"),
        pytest.param(schedule_trigger("t", policies=["p"]), [], id="policy"),
        pytest.param(schedule_trigger("t"), ["trigger-target"], id="nothing"),
        pytest.param(schedule_trigger("t", target(name="")), ["rebalancer-target"], id="no-name"),
        pytest.param(
            schedule_trigger("t", target(namespace="")), ["rebalancer-namespace"], id="namespace"
        ),
        pytest.param(
            schedule_trigger("t", target(), retryAfterSeconds=-1), ["trigger-duration"], id="retry"
        ),
        pytest.param(
            schedule_trigger("t", target(), limits={"makeBeforeBreak": {"settleSeconds": 600}}),
            ["rebalancer-limits"],
            id="no-time-to-settle",
        ),
    ],
)
def test_triggers(body: Body, expected: list[str]) -> None:
    """Something to do, and no negative time."""
    assert expected == [violation.rule for violation in refuse_trigger(KINDS.scopes, body)]


ALL, TWO, FIVE = TargetDemand(NOW), TargetDemand(NOW, budget=2), TargetDemand(NOW, budget=5)
ON = TargetDemand(after(-60), budget=5, fresh=False)


@pytest.mark.parametrize(
    ("demands", "expected", "by"),
    [
        pytest.param({"a": TWO}, TWO, ("a",), id="one"),
        pytest.param({"a": TWO, "b": ALL}, ALL, ("b",), id="no-limit-wins"),
        pytest.param({"b": ALL, "a": ALL}, ALL, ("a", "b"), id="each-suffices"),
        pytest.param({"a": TWO, "b": FIVE}, FIVE, ("b",), id="the-largest-limit-wins"),
        pytest.param({"a": ON, "b": ALL}, ALL, ("b",), id="afresh-wins"),
        pytest.param({"a": ON, "b": TWO}, FIVE, ("a", "b"), id="needed-together"),
        pytest.param(
            {"a": TargetDemand(after(9), budget=2), "b": ALL},
            TargetDemand(after(9)),
            ("b",),
            id="the-latest-moment",
        ),
    ],
)
def test_demands_are_joined(
    demands: Mapping[str, TargetDemand], expected: TargetDemand, by: tuple[str, ...]
) -> None:
    """Whoever asks for less than the others together is not named."""
    joined = join_demands(demands)

    assert (expected, by) == (joined.demand, joined.by)


@pytest.mark.parametrize(
    ("demands", "allowed", "expected"),
    [
        pytest.param({"a": TWO, "b": ALL}, {"a": 2}, [("a", 2)], id="no-limit"),
        pytest.param({"b": ALL}, {"a": 0}, [("a", 0)], id="one-that-waits"),
        pytest.param({"a": TWO, "b": FIVE}, {"a": 2, "b": 5}, [("a", 2)], id="a-larger-one"),
        pytest.param({"a": TWO, "b": TWO}, {"a": 2, "b": 2}, [], id="equal-ones"),
        pytest.param({"a": TWO}, {"a": 2}, [], id="alone"),
    ],
)
def test_limits_that_do_not_hold(
    demands: Mapping[str, TargetDemand],
    allowed: Mapping[str, int],
    expected: list[tuple[str, int]],
) -> None:
    """Each with what it would have let go, and with those who demand more."""
    found = list(overridden_limits(join_demands(demands), allowed))

    assert [OverriddenLimit(who, count, ("b",)) for who, count in expected] == found
