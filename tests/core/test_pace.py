"""Freeze windows, and how many replicas rebalances may move an hour."""

import pytest

from reconciler.core.reconcile import reconcile
from reconciler.model.moments import format_moment
from tests.builders import (
    Body,
    cluster,
    cluster_policy,
    configuration,
    deployment,
    rebalancer,
    taint,
    target,
)
from tests.core.rebalances.test_truth import away, results
from tests.stories import Story, story

NOON = {"schedule": "0 12 * * *", "duration": "1h"}
SAFETY = "status/safety.yaml"
HOUR = 3600
QUIET = {"assumeAfterSeconds": None}


def settings(told: Story, **spec: object) -> Story:
    """The repository with another configuration."""
    return told.put(configuration(feedback=QUIET, **spec), path="reconciler.yaml")


def frozen(*bodies: Body, failover: str = "proceed") -> Story:
    """A repository that rests from noon to one o'clock."""
    told = story(cluster("a"), cluster("b"), cluster_policy(), *bodies)
    return settings(told, freeze={"windows": [NOON], "failover": failover})


def capped(cap: int, *names: str) -> Story:
    """Workloads of two replicas that are to go back from b to a, so many replicas an hour."""
    told = settings(away(*names), safety={"maxRebalancedReplicasPerHour": cap})
    return told.put(rebalancer("demo", *(target(name=name) for name in names)))


def waiting(told: Story) -> list[str]:
    """What waits by the record, with its reason."""
    status = told.output(SAFETY)["status"] if SAFETY in told.files else {"waiting": ()}
    assert isinstance(status, dict)
    return [f"{one['name']} {one['reason']} {one['since']}" for one in status["waiting"]]


def test_a_new_placement_waits_for_the_end_of_a_freeze() -> None:
    """It has no binding, the record says since when, and the pass comes back when it ends."""
    told = frozen(deployment())
    outcome = told.run(60)

    assert ["web-deployment freeze 2026-11-20T12:01:00Z"] == waiting(told)
    assert not any("resourcebindings" in path for path in told.files)
    assert "2026-11-20T13:00:00Z" == format_moment(outcome.recheck_at or told.now)
    assert () == told.run(120).changes
    told.run(HOUR)
    assert {"a": 2, "b": 2} == told.placed()
    assert [] == waiting(told)


def test_nothing_is_looked_at_again_before_a_freeze_ends() -> None:
    """What would come of the decision that waits is no reason for a pass."""
    told = frozen(deployment())
    body = configuration(feedback={"assumeAfterSeconds": 1}, freeze={"windows": [NOON]})
    outcome = told.put(body, path="reconciler.yaml").run(60)

    assert "2026-11-20T13:00:00Z" == format_moment(outcome.recheck_at or told.now)


def test_what_was_placed_before_goes_on_in_a_freeze() -> None:
    """More replicas, another policy: a person merged that."""
    told = frozen(deployment())
    told.run(-60)
    told.put(deployment(replicas=5))
    told.run(60)

    assert {"a": 5, "b": 5} == told.placed()


@pytest.mark.parametrize(("failover", "left"), [("proceed", {"b": 2}), ("hold", {"a": 2, "b": 2})])
def test_failover_in_a_freeze_is_as_configured(failover: str, left: dict[str, int]) -> None:
    """By default work leaves a failed cluster at any time."""
    told = frozen(deployment(), failover=failover)
    told.run(-60)
    told.put(cluster("a", taints=[taint(effect="NoExecute")]))
    told.run(60)

    assert left == told.placed()
    told.run(HOUR)
    assert {"b": 2} == told.placed()


def test_a_rebalance_waits_for_the_end_of_a_freeze() -> None:
    """It is Successful only once it went."""
    told = settings(away("web"), freeze={"windows": [NOON]})
    told.put(rebalancer())
    told.run(60)

    assert [("web", "")] == results(told)
    assert {"b": 2} == told.placed()
    told.run(HOUR)
    assert [("web", "Successful")] == results(told)
    assert {"a": 2} == told.placed()


def test_rebalances_over_the_cap_wait_for_the_next_hour() -> None:
    """In the order of their names; what waits and since when stands in the state tree."""
    told = capped(3, "api", "web")
    outcome = told.run(60)

    assert {"a": 2} == told.placed("api-deployment")
    assert {"b": 2} == told.placed("web-deployment")
    assert [("api", "Successful"), ("web", "")] == results(told)
    assert ["web-deployment limit 2026-11-20T12:01:00Z"] == waiting(told)
    assert "2026-11-20T13:01:00Z" == format_moment(outcome.recheck_at or told.now)
    assert () == told.run(1800).changes
    told.run(HOUR + 60)
    assert {"a": 2} == told.placed("web-deployment")
    assert [] == waiting(told)


def test_a_rebalance_above_the_cap_goes_alone() -> None:
    """Or else it would never go."""
    told = capped(1, "api", "web")
    told.run(60)
    told.run(120)

    assert ({"a": 2}, {"b": 2}) == (told.placed("api-deployment"), told.placed("web-deployment"))


def test_evictions_are_neither_counted_nor_held_by_the_cap() -> None:
    """A cluster that fails empties at once, and rebalances still have their hour."""
    told = settings(
        story(cluster("a"), cluster("b"), cluster_policy(), deployment(), deployment("api")),
        safety={"maxRebalancedReplicasPerHour": 1},
    )
    told.run(0)
    told.put(cluster("a", taints=[taint(effect="NoExecute")]))
    told.run(60)

    assert ({"b": 2}, {"b": 2}) == (told.placed(), told.placed("api-deployment"))
    assert SAFETY not in told.files


def test_what_waits_is_told_with_its_moment() -> None:
    """For `status`, `plan` and `events`."""
    told = capped(3, "api", "web")
    outcome = reconcile(told.world(), told.now)

    [wait] = [one for one in outcome.waits if one.subject == "default/web"]
    assert ("2 of 3 replicas were rebalanced within the hour", "it is rebalanced") == (
        wait.reason,
        wait.then,
    )


@pytest.mark.parametrize("schedule", ["@daily", "0 0 31 2 *"])
def test_a_window_that_never_comes_is_refused(schedule: str) -> None:
    """With the place and what would be right."""
    told = settings(story(), freeze={"windows": [{"schedule": schedule, "duration": "1h"}]})
    [fault] = told.world().faults

    assert ("freeze-schedule", "/spec/freeze/windows/0/schedule") == (fault.rule, fault.field)


def test_all_of_three_placements_are_never_removed_at_once() -> None:
    """A bad merge that takes everything is held, however few there are."""
    told = story(cluster("a"), cluster_policy(), *(deployment(name) for name in "xyz"))
    told.run(0)
    told.drop(*(deployment(name) for name in "xyz"))
    outcome = told.run(60)

    assert ["removal-braked"] == [fault.rule for fault in outcome.faults]
    assert {"a": 2} == told.placed("x-deployment")


def test_all_of_two_placements_are_removed() -> None:
    """So few are somebody's first steps."""
    told = story(cluster("a"), cluster_policy(), deployment("x"), deployment("y"))
    told.run(0)
    told.drop(deployment("x"), deployment("y"))

    assert () == told.run(60).faults
