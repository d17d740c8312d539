"""Rebalancers by description, by schedule and in batches, in a repository."""

from collections.abc import Mapping
from datetime import timedelta
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import (
    DYNAMIC,
    NOW,
    Body,
    after,
    cluster,
    cluster_status,
    configuration,
    deployment,
    divided,
    groups,
    live,
    policy,
    rebalancer,
    taint,
    target,
    text,
)
from tests.stories import Story, story

pytestmark = pytest.mark.cpu_seconds(60)  # many examples of whole passes


def names_of(told: Story, name: str = "demo") -> list[tuple[str, str]]:
    """Name and result of the workloads that a rebalancer observed."""
    items = cast(list[Mapping[str, Body]], told.rebalancer(name)["observedWorkloads"])
    return [(str(item["workload"]["name"]), str(item.get("result", ""))) for item in items]


def away(replicas: int = 6, *workloads: str) -> Story:
    """Workloads on cluster b, since a was tainted; now a is clean again."""
    names = workloads or ("web",)
    placement = groups(["a"], ["b"], replicaScheduling=DYNAMIC)
    status = cluster_status(pods=100)
    told = story(cluster("a", taints=[taint()], status=status), cluster("b", status=status))
    told.put(*(deployment(name, replicas=replicas, labels={"app": name}) for name in names))
    told.put(policy(placement=placement))
    told.put(configuration(feedback={"assumeAfterSeconds": None}), path="reconciler.yaml")
    told.run(0)
    told.put(cluster("a", status=status))
    told.run(1)
    return told


def moved(told: Story, name: str = "web") -> dict[str, int]:
    """Where a workload is."""
    return told.placed(f"{name}-deployment")


# Selectors


def test_a_selector_means_workloads_by_kind_namespace_labels_and_policy() -> None:
    """All that it says must hold; the expansion stands in the status."""
    told = away(2, "api", "web")
    labels = {"matchExpressions": [{"key": "app", "operator": "In", "values": ["api"]}]}
    told.put(rebalancer(selector={"kind": "Deployment", "labelSelector": labels}))
    told.run(10)

    assert ({"a": 2}, {"b": 2}) == (moved(told, "api"), moved(told, "web"))
    assert [("api", "Successful")] == names_of(told)


def test_a_selector_may_name_a_policy() -> None:
    """Everything that the policy placed."""
    told = away(2, "api", "web")
    told.put(rebalancer(selector={"policy": {"name": "p", "namespace": "default"}}))
    told.run(10)

    assert ({"a": 2}, {"a": 2}) == (moved(told, "api"), moved(told, "web"))


def test_a_selector_is_expanded_once() -> None:
    """A workload that appears later is not meant; an edit of the rebalancer means it."""
    told = away(2, "web")
    told.put(rebalancer(selector={"namespace": "default"}))
    told.run(10)
    told.put(deployment("late", labels={"app": "late"}))
    told.run(11)

    assert [("web", "Successful")] == names_of(told)

    told.put(rebalancer(selector={"namespace": "default", "kind": "Deployment"}))
    told.run(12)

    assert [("late", "Successful"), ("web", "Successful")] == names_of(told)


def test_a_selector_that_means_nothing_finishes() -> None:
    """With an empty list."""
    told = away(2, "web").put(rebalancer(selector={"namespace": "other"}, ttl=0))
    told.run(10)

    assert not [path for path in told.files if "rebalancer" in path]


# Schedules


def test_a_schedule_runs_at_its_moments_and_not_before() -> None:
    """Not when it is merged; each run is recorded."""
    told = away(2, "web").put(rebalancer(schedule="5 12 * * *"))
    first = told.run(10)

    assert {"b": 2} == moved(told)
    assert after(300) == first.recheck_at

    told.run(300)

    assert {"a": 2} == moved(told)
    status = told.rebalancer()
    assert ("2026-11-20T12:05:00Z", "2026-11-20T12:05:00Z") == (
        status["lastScheduleTime"],
        status["lastRunTime"],
    )
    assert () == told.run(301).changes


def test_missed_runs_are_made_up_for_once() -> None:
    """The trigger is dated when the run begins, so that it counts."""
    told = away(2, "web").put(rebalancer(schedule="5 12 * * *"))
    told.run(10)
    told.run(3 * 86_400)
    status = told.rebalancer()

    assert {"a": 2} == moved(told)
    assert ("2026-11-22T12:05:00Z", "2026-11-23T12:00:00Z") == (
        status["lastScheduleTime"],
        status["lastRunTime"],
    )
    assert () == told.run(3 * 86_400 + 1).changes


def test_a_suspended_schedule_rests_and_makes_up_for_nothing() -> None:
    """Resumed, it waits for its next moment."""
    told = away(2, "web").put(rebalancer(schedule="5 12 * * *", suspend=True))
    told.run(10)
    told.run(400)
    told.put(rebalancer(schedule="5 12 * * *", suspend=False))
    resumed = told.run(500)

    assert {"b": 2} == moved(told)
    assert after(300) + timedelta(days=1) == resumed.recheck_at


def test_every_run_rebalances_anew() -> None:
    """Successful of one run is asked again by the next."""
    told = away(2, "web").put(rebalancer(schedule="*/5 * * * *"))
    told.run(10)
    told.run(300)
    told.put(cluster("a", taints=[taint(effect="NoExecute")], status=cluster_status(pods=100)))
    told.run(400)
    assert {"b": 2} == moved(told)
    told.put(cluster("a", status=cluster_status(pods=100)))
    told.put(configuration(), path="reconciler.yaml")
    told.run(470)
    told.run(600)

    assert {"a": 2} == moved(told)


# Limits


def test_a_batch_moves_no_more_than_its_limit() -> None:
    """Then it waits for the interval; the total never drops."""
    told = away(6).put(rebalancer(limits={"maxMoves": 2, "intervalSeconds": 30}))
    seen = []
    for seconds in (10, 20, 40, 50, 70, 71):
        told.run(seconds)
        seen.append(moved(told))

    assert [
        {"a": 2, "b": 4},
        {"a": 2, "b": 4},
        {"a": 4, "b": 2},
        {"a": 4, "b": 2},
        {"a": 6},
        {"a": 6},
    ] == seen
    assert [("web", "Successful")] == names_of(told)
    assert "moving-to" not in str(told.binding())


@pytest.mark.parametrize("together", [False, True], ids=["before", "with-the-scaling"])
def test_a_withdrawn_batch_leaves_its_workload_where_it_is(together: bool) -> None:  # noqa: FBT001  # a table
    """Nothing is on its way any more; a later scaling by one adds one, wherever the rest is."""
    told = away(6).put(rebalancer(limits={"maxMoves": 2}))
    told.run(10)
    told.drop(rebalancer())
    if not together:
        told.run(20)
        assert "moving-to" not in str(told.binding())
        assert () == told.run(3000).changes
    told.put(deployment(replicas=7)).run(4000)

    assert (["a", "b"], 7) == (sorted(moved(told)), sum(moved(told).values()))
    assert (2, 4) <= (moved(told)["a"], moved(told)["b"])
    assert "moving-to" not in str(told.binding())


@pytest.mark.parametrize("replicas", [5, 3, 1])
def test_scaling_in_after_a_withdrawn_batch_moves_nothing(replicas: int) -> None:
    """Only what is taken goes."""
    told = away(6).put(rebalancer(limits={"maxMoves": 2}))
    told.run(10)
    told.drop(rebalancer()).run(20)
    before = moved(told)
    told.put(deployment(replicas=replicas)).run(30)

    assert all(count <= before[name] for name, count in moved(told).items())


def test_a_target_that_a_rebalancer_no_longer_names_is_on_no_way_either() -> None:
    """The rebalancer itself goes on with others."""
    told = away(6, "api", "web")
    told.put(rebalancer("demo", target(name="api"), target(name="web"), limits={"maxMoves": 8}))
    told.run(10)
    halfway = moved(told, "web")
    told.put(rebalancer("demo", target(name="api"), limits={"maxMoves": 8})).run(20)

    assert {"a": 2, "b": 4} == halfway == moved(told, "web")
    assert "moving-to" not in str(told.binding())


def test_what_a_withdrawn_batch_left_is_gathered_by_the_next_rebalance() -> None:
    """A schedule afresh disregards where it is."""
    told = away(6).put(rebalancer(limits={"maxMoves": 2}))
    told.run(10)
    told.drop(rebalancer()).run(20)
    told.put(rebalancer("again")).run(30)

    assert {"a": 6} == moved(told)
    assert "between-groups" not in str(told.binding())


def test_progress_and_the_next_batch_are_told() -> None:
    """The status counts, and the pass says when to look again."""
    told = away(6).put(rebalancer(limits={"maxMoves": 4}))
    outcome = told.run(10)

    assert {
        "movedReplicas": 4,
        "remainingReplicas": 2,
        "lastBatchTime": "2026-11-20T12:00:10Z",
    } == told.rebalancer()["progress"]
    assert after(70) == outcome.recheck_at
    assert [("web", "")] == names_of(told)
    assert "WorkloadRebalancer demo" in str(outcome.decisions[0].cause)


def test_the_limit_is_for_all_workloads_together() -> None:
    """In the order of their names."""
    told = away(3, "api", "web")
    told.put(rebalancer(selector={"kind": "Deployment"}, limits={"maxMoves": 4}))
    told.run(10)

    assert ({"a": 3}, {"a": 1, "b": 2}) == (moved(told, "api"), moved(told, "web"))
    assert [("api", "Successful"), ("web", "")] == names_of(told)


def test_a_batch_that_is_reported_healthy_lets_the_next_one_go() -> None:
    """Earlier than the interval, but not in the same pass."""
    told = away(4).put(rebalancer(limits={"maxMoves": 2, "intervalSeconds": 3600}))
    told.run(10)
    for name, replicas in moved(told).items():
        status = {"updatedReplicas": replicas, "availableReplicas": replicas}
        body = live(deployment(replicas=replicas), **status)
        told.files[f"feedback/{name}/web.yaml"] = text(body)
    told.run(20)

    assert {"a": 4} == moved(told)


def test_a_duplicated_workload_moves_as_a_whole() -> None:
    """One at a time, if it exceeds the limit; workloads that fit go together."""
    placement = groups(["a"], ["b"])
    told = story(cluster("a", taints=[taint()]), cluster("b"), policy(placement=placement))
    told.put(*(deployment(name, replicas=3) for name in ("api", "web")))
    told.run(0)
    told.put(cluster("a"), rebalancer(selector={"kind": "Deployment"}, limits={"maxMoves": 2}))
    told.run(10)

    assert ({"a": 3}, {"b": 3}) == (moved(told, "api"), moved(told, "web"))

    told.run(70)

    assert ({"a": 3}, {"a": 3}) == (moved(told, "api"), moved(told, "web"))


def test_what_reschedules_meanwhile_takes_over() -> None:
    """A scaled workload is divided as ever; the rebalancer is done with it."""
    told = away(6).put(rebalancer(limits={"maxMoves": 2}))
    told.run(10)
    told.put(deployment(replicas=8, labels={"app": "web"}))
    told.run(20)

    assert 8 == sum(moved(told).values())
    assert "moving-to" not in str(told.binding())

    told.run(80)

    assert [("web", "Successful")] == names_of(told)


def test_a_goal_that_is_tainted_meanwhile_is_given_up() -> None:
    """The next batch aims anew: here back to where there is no taint."""
    told = away(6).put(rebalancer(limits={"maxMoves": 2}))
    told.run(10)
    told.put(cluster("a", taints=[taint()], status=cluster_status(pods=100)))
    for seconds in (70, 130, 190, 250):
        told.run(seconds)
        assert 6 == sum(moved(told).values())

    assert [("web", "Successful")] == names_of(told)


@given(st.integers(1, 12), st.integers(1, 5), st.sampled_from((DYNAMIC, divided("Aggregated"))))
def test_batches_end_where_one_move_would(replicas: int, limit: int, division: Body) -> None:
    """And there are never fewer replicas than wanted, nor more moves a batch than allowed."""
    placement = groups(["a", "c"], ["b", "d"], replicaScheduling=division)
    status = cluster_status(pods=100, since=NOW)
    worlds = []
    for limits in ({}, {"limits": {"maxMoves": limit}}):
        told = story(*(cluster(name, taints=[taint()], status=status) for name in "ac"))
        told.put(*(cluster(name, status=status) for name in "bd"))
        told.put(deployment(replicas=replicas), policy(placement=placement))
        told.run(0)
        told.put(*(cluster(name, status=status) for name in "ac"), rebalancer(**limits))  # type: ignore[arg-type]
        before = moved(told)
        for number in range(replicas + 2):
            told.run(10 + 60 * number)
            here = moved(told)
            assert replicas == sum(here.values())
            arrived = sum(max(0, n - before.get(name, 0)) for name, n in here.items())
            assert arrived <= limit or not limits
            before = here
        worlds.append(before)

    assert worlds[0] == worlds[1]
