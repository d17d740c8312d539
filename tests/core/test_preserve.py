"""A rebalance that keeps what runs: only replicas that cannot be scheduled where they are move."""

from collections.abc import Mapping

import pytest

from reconciler.model.fields import mapping
from tests.builders import (
    DYNAMIC,
    Body,
    after,
    cluster,
    cluster_status,
    configuration,
    deployment,
    divided,
    policy,
    rebalancer,
    taint,
    text,
    text_of,
)
from tests.core.test_make_before_break import results
from tests.stories import Story, story

KEEPS: Body = {"preserveAvailableReplicas": True}
ON = configuration(feedback={"assumeAfterSeconds": None}, karmada=KEEPS)
PLACEMENT: Body = {"replicaScheduling": DYNAMIC}


def stuck(told: Story, where: str, replicas: int | None, since: int = 0) -> Story:
    """A cluster reports so many replicas as unschedulable since then, or does not say."""
    body = deployment()
    listed = [] if not replicas else [{"since": text_of(after(since)), "replicas": replicas}]
    said = {} if replicas is None else {"unschedulable": listed}
    metadata = {**mapping(body, "metadata"), "generation": 1}
    report = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, **said}
    told.files[f"feedback/{where}/web.yaml"] = text({**report, "status": {"replicas": 1}})
    return told


def placed(*more: Body, placement: Body = PLACEMENT, on: Body = ON) -> Story:
    """Web is on a and b, half each; c has joined since."""
    status = cluster_status(pods=100)
    told = story(cluster("a", status=status), cluster("b", status=status), on, *more)
    told.put(policy(placement=placement), deployment(replicas=8, cpu="1"))
    told.run(0)
    assert {"a": 4, "b": 4} == told.placed()
    stuck(stuck(told, "a", 0), "b", 0)
    return told.put(cluster("c", status=cluster_status(pods=10_000, cpu="10000")))


def ask(told: Story, seconds: int = 1000) -> Story:
    """A rebalancer that keeps what runs."""
    told.put(rebalancer(reschedule=KEEPS)).run(seconds)
    return told


def test_only_what_cannot_be_scheduled_moves() -> None:
    """Where it runs as many stay, also on a cluster that a division from scratch would empty."""
    told = ask(stuck(placed(), "a", 3))
    moved = told.placed()

    assert (8, 1, True) == (sum(moved.values()), moved["a"], moved["b"] >= 4)
    assert [("Successful", "")] == results(told)
    spec = mapping(told.binding(), "spec")
    assert {"triggeredAt": "2026-11-20T12:16:40Z", "behavior": KEEPS} == spec["reschedule"]
    assert "rescheduleTriggeredAt" not in spec
    assert () == told.run(1001).changes


def test_a_complete_reschedule_divides_everything() -> None:
    """As ever, and so does an empty `reschedule`."""
    told = stuck(placed(), "a", 3).put(rebalancer(reschedule={}))
    told.run(1000)

    assert {"c": 8} == told.placed()
    assert "reschedule" not in mapping(told.binding(), "spec")


def test_without_a_deficit_only_the_moment_advances() -> None:
    """A replica that has waited for less than the time does not count."""
    told = ask(stuck(placed(), "a", 3, since=701))

    assert {"a": 4, "b": 4} == told.placed()
    assert [("Successful", "")] == results(told)
    assert "2026-11-20T12:16:40Z" == mapping(told.binding(), "status")["lastScheduledTime"]


def test_the_time_is_an_option() -> None:
    """Seconds since the pods could not be scheduled."""
    feedback = {"assumeAfterSeconds": None, "unschedulableAfterSeconds": 10}
    told = placed(on=configuration(feedback=feedback, karmada=KEEPS))
    ask(stuck(told, "a", 3, since=701))

    assert 1 == told.placed()["a"]


def test_where_the_deficit_finds_no_place_nothing_changes() -> None:
    """All or nothing, and it is not made up for later."""
    told = placed()
    for name in "abc":
        told.put(cluster(name, status=cluster_status(pods=0)))
    before = told.placed()
    had = mapping(told.binding(), "spec")
    ask(stuck(told, "a", 3))
    assert (before, had) == (told.placed(), mapping(told.binding(), "spec"))
    assert [("Failed", True)] == [(one, "not enough" in why) for one, why in results(told)]
    for name in "abc":
        told.put(cluster(name, status=cluster_status(pods=100)))
    told.run(2000)

    assert before == told.placed()


@pytest.mark.parametrize(
    ("change", "why"),
    [
        pytest.param(
            {"on": configuration(feedback={"assumeAfterSeconds": None})},
            "preserveAvailableReplicas is off",
            id="off",
        ),
        pytest.param(
            {"placement": {"replicaScheduling": divided()}},
            "preserveAvailableReplicas is for replicas that are divided by what is available",
            id="static-weights",
        ),
    ],
)
def test_what_cannot_be_kept_is_refused(change: Mapping[str, Body], why: str) -> None:
    """The result says why, and nothing changes."""
    told = stuck(placed(**change), "a", 3)
    had = mapping(told.binding(), "spec")
    ask(told)

    ((result, reason),) = results(told)
    assert ("Failed", had) == (result, mapping(told.binding(), "spec"))
    assert reason.startswith(why)


@pytest.mark.parametrize(
    ("replicas", "why"),
    [
        pytest.param(None, "a does not report how many", id="silent"),
        pytest.param(5, "a does not report how many", id="more-than-there-are"),
    ],
)
def test_every_cluster_has_to_say_it(replicas: int | None, why: str) -> None:
    """Between none and as many as it has."""
    told = ask(stuck(placed(), "a", replicas))

    ((result, reason),) = results(told)
    assert ({"a": 4, "b": 4}, "Failed") == (told.placed(), result)
    assert reason.startswith(why)


def test_a_cluster_that_is_not_ready_does_not_say_it() -> None:
    """Whatever its last report said."""
    told = stuck(placed(), "a", 3)
    told.put(cluster("a", status=cluster_status("False"), taints=[taint()]))
    ask(told)

    assert [("Failed", "a is not ready")] == results(told)


def test_of_several_demands_the_latest_counts() -> None:
    """At the same moment a complete one does."""
    told = stuck(placed(), "a", 3).put(rebalancer("keeps", reschedule=KEEPS), rebalancer("all"))
    told.run(1000)

    assert "c" in told.placed()
    assert [("Successful", "")] == results(told, "keeps") == results(told, "all")
