"""ScheduleTrigger in a repository: targets, phases, retries, cleaning up."""

from collections.abc import Mapping
from typing import cast

import pytest

from tests.builders import (
    DYNAMIC,
    Body,
    after,
    cluster,
    cluster_status,
    configuration,
    deployment,
    groups,
    policy,
    schedule_trigger,
    selector,
    taint,
    target,
    text,
)
from tests.stories import Story, story

FILES = "status/scheduletriggers.policy.karmada.io"
TWO = [target(name="api"), target(name="web")]


def away() -> Story:
    """Workloads api and web on cluster b, since a was tainted; now a is clean again."""
    status = cluster_status(pods=100)
    placement = groups(["a"], ["b"], replicaScheduling=DYNAMIC)
    told = story(cluster("a", taints=[taint()], status=status), cluster("b", status=status))
    told.put(*(deployment(name) for name in ("api", "web")))
    for name in ("api", "web"):
        told.put(policy(f"{name}-policy", selectors=[selector(name=name)], placement=placement))
    told.put(configuration(feedback={"assumeAfterSeconds": None}), path="reconciler.yaml")
    told.run(0)
    told.put(cluster("a", status=status))
    told.run(1)
    return told


def where(told: Story) -> tuple[str, str]:
    """The clusters of api and web."""
    found = [",".join(told.placed(f"{name}-deployment")) for name in ("api", "web")]
    return found[0], found[1]


def status_of(told: Story, name: str = "demo") -> Body:
    """The status of a trigger."""
    return cast(Body, told.output(f"{FILES}/{name}.yaml")["status"])


def failures(told: Story) -> list[tuple[str, str]]:
    """Name and reason of what failed."""
    listed = cast(list[Mapping[str, str]], status_of(told).get("failedResourceList", []))
    return [(item["name"], item["failReason"]) for item in listed]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param(schedule_trigger("demo", target()), ("b", "a"), id="resource"),
        pytest.param(schedule_trigger("demo", policies=["api-policy"]), ("a", "b"), id="policy"),
        pytest.param(
            schedule_trigger("demo", target(), policies=["api-policy"]), ("a", "a"), id="union"
        ),
        pytest.param(
            schedule_trigger("demo", *TWO, policies=["web-policy"]), ("a", "a"), id="overlap"
        ),
    ],
)
def test_targets_are_the_union_of_both_fields(body: Body, expected: tuple[str, str]) -> None:
    """Note 1: either field, or both."""
    told = away().put(body)
    outcome = told.run(10)

    assert expected == where(told)
    assert {"phase": "Success"} == status_of(told)
    assert "rebalanced (ScheduleTrigger demo)" == str(outcome.decisions[0].cause)


def test_a_cluster_policy_has_no_namespace() -> None:
    """Note 3: a ClusterPropagationPolicy is named without one."""
    told = away()
    placement = groups(["a"], ["b"], replicaScheduling=DYNAMIC)
    told.drop(policy("web-policy"))
    told.put(policy("wide", namespace="", placement=placement))
    told.put(cluster("a", taints=[taint()], status=cluster_status(pods=100)))
    told.run(5)
    told.put(cluster("a", status=cluster_status(pods=100)))
    wide = {"targetRefPolicy": [{"name": "wide"}]}
    told.put(schedule_trigger("demo", **wide))  # type: ignore[arg-type]  # a field as written
    told.run(10)

    assert ("b", "a") == where(told)


def test_the_trigger_is_the_present_moment_and_is_consumed() -> None:
    """RescheduleTriggeredAt is set, lastScheduledTime follows, nothing happens twice."""
    told = away().put(schedule_trigger("demo", target()))
    told.run(10)
    binding = told.binding()

    assert "2026-11-20T12:00:10Z" == cast(Body, binding["spec"])["rescheduleTriggeredAt"]
    assert "2026-11-20T12:00:10Z" == cast(Body, binding["status"])["lastScheduledTime"]
    assert () == told.run(20).changes


def test_a_missing_resource_fails_and_is_tried_again() -> None:
    """The others are triggered all the same; when it appears, a pass triggers it."""
    told = away().put(schedule_trigger("demo", target(), target(name="late")))
    first = told.run(10)

    assert "Failed" == status_of(told)["phase"]
    assert [("late", "no binding was found for the resource; no policy has claimed it")] == (
        failures(told)
    )
    assert ("b", "a") == where(told)
    assert after(13) == first.recheck_at

    assert after(3610) == told.run(13).recheck_at

    told.put(deployment("late"), policy("late-policy", selectors=[selector(name="late")]))
    told.run(20)

    assert {"phase": "Success"} == status_of(told)


@pytest.mark.parametrize(("seconds", "expected"), [(0, 3610), (7, 17), (3, 13)])
def test_retry_after_seconds_starts_one_pass(seconds: int, expected: int) -> None:
    """0 is at once, which is this pass; time alone cures nothing."""
    trigger = schedule_trigger("demo", target(name="late"), retryAfterSeconds=seconds)
    told = away().put(trigger)

    assert after(expected) == told.run(10).recheck_at


def test_a_missing_policy_fails() -> None:
    """By its name."""
    told = away().put(schedule_trigger("demo", policies=["gone"]))
    told.run(10)

    assert [("gone", "the policy is not there")] == failures(told)

    placement = groups(["a"], ["b"], replicaScheduling=DYNAMIC)
    told.put(policy("gone", selectors=[selector(name="late")], placement=placement))
    told.run(20)

    assert {"phase": "Success"} == status_of(told)


def test_what_is_faulty_is_waited_for() -> None:
    """The phase is Running until it is triggered."""
    told = away()
    told.files["deployment/default/web.yaml"] = "a: b: c"
    told.put(schedule_trigger("demo", *TWO))
    told.run(10)

    assert ("Running", ("a", "b")) == (status_of(told)["phase"], where(told))

    told.put(deployment("web"))
    told.run(20)

    assert ({"phase": "Success"}, ("a", "a")) == (status_of(told), where(told))


@pytest.mark.parametrize(
    ("minutes", "seconds", "gone"),
    [
        pytest.param(None, 10 + 3599, False, id="an-hour-is-the-default"),
        pytest.param(None, 10 + 3600, True, id="after-the-hour"),
        pytest.param(5, 10 + 300, True, id="five-minutes"),
        pytest.param(0, 10 + 10**6, False, id="never"),
    ],
)
@pytest.mark.parametrize("name", ["web", "missing"])
def test_it_is_cleaned_up_whatever_became_of_it(
    minutes: int | None,
    seconds: int,
    gone: bool,  # noqa: FBT001  # a column
    name: str,
) -> None:
    """Counted from its creation; manifest and record go in one commit."""
    more = {} if minutes is None else {"autoCleanAfterMinutes": minutes}
    told = away().put(schedule_trigger("demo", target(name=name), **more))  # type: ignore[arg-type]
    told.run(10)
    told.run(seconds)

    assert gone == (not [path for path in told.files if "scheduletrigger" in path])


def test_only_its_document_is_cleaned_up() -> None:
    """What stands beside it in the file stays, comments and all."""
    told = away()
    path = "rebalancers/both.yaml"
    trigger = schedule_trigger("demo", target(), autoCleanAfterMinutes=1)
    told.files[path] = f"# first\n{text(deployment('other'))}\n---\n{text(trigger)}"
    told.run(10)
    told.run(70)

    assert told.files[path].startswith("# first\n")
    assert "ScheduleTrigger" not in told.files[path]


def test_an_edit_of_its_targets_is_a_new_run() -> None:
    """An edit of anything else is none."""
    told = away().put(schedule_trigger("demo", target()))
    told.run(10)
    told.put(schedule_trigger("demo", target(), autoCleanAfterMinutes=5))
    told.run(20)

    assert "2026-11-20T12:00:10Z" in str(told.binding()["spec"])

    told.put(schedule_trigger("demo", *TWO))
    told.run(30)

    assert ("a", "a") == where(told)
