"""What a rebalancer waits for, where it says so, and what it does without a policy."""

from collections.abc import Callable
from typing import cast

import pytest

from reconciler.core.changes import Outcome
from reconciler.core.message import commit_message
from reconciler.core.reconcile import waiting_since
from reconciler.model.decision import OutputChange
from reconciler.rebalance.view import events_of
from tests.builders import (
    NOTHING,
    NOW,
    Body,
    cluster,
    configmap,
    configuration,
    deployment,
    path_of,
    policy,
    rebalancer,
    schedule_trigger,
    selector,
    taint,
    target,
    text,
)
from tests.core.rebalances.test_truth import PLACEMENT, ROOMY, away, results, with_annotation
from tests.core.test_pace import NOON
from tests.dialects.karmada.test_dependencies import reading
from tests.stories import REBALANCERS, Story, story

WEB, POLICY = path_of(deployment()), path_of(policy())
SETTINGS = path_of(configmap())
ELSEWHERE = policy("q", placement=PLACEMENT, schedulerName="another")
SUSPENDED = "reconciler.dev/suspend"
Act = Callable[[Story], object]


def message(outcome: Outcome) -> str:
    """The commit message of a pass."""
    return commit_message(outcome, NOTHING, now=NOW, version="1")


def waits(told: Story, name: str = "demo") -> str:
    """What a rebalancer of one workload waits for."""
    [item] = cast(list[Body], told.rebalancer(name)["observedWorkloads"])
    return str(item.get("waitsFor", ""))


def unclaimed() -> Story:
    """Web on cluster b though a is clean again, and its policy is deleted."""
    told = away()
    told.drop(policy()).run(2)
    return told


def break_web(told: Story) -> None:
    """Break the file of the workload."""
    told.files[WEB] = "kind: Deployment\na: [\n"


def forget_placement(told: Story) -> None:
    """Take the placement out of the binding that no policy claims."""
    told.drop(policy()).run(5)
    path = "status/resourcebindings.work.karmada.io/default/web-deployment.yaml"
    head, _, rest = told.files[path].partition("  placement:\n")
    body = rest.splitlines(keepends=True)
    while body and body[0].startswith("    "):
        body.pop(0)
    told.files[path] = head + "".join(body)


BLOCKED: tuple[tuple[str, Act, str], ...] = (
    ("faulty", break_web, f"its file cannot be understood ({WEB}:3)"),
    (
        "suspended",
        lambda told: told.put(with_annotation(deployment(), SUSPENDED, "true")),
        f"it is suspended by {SUSPENDED} ({WEB}:1)",
    ),
    (
        "policy-suspended",
        lambda told: told.put(with_annotation(policy(placement=PLACEMENT), SUSPENDED, "true")),
        f"PropagationPolicy p suspends its scheduling ({POLICY}:1)",
    ),
    (
        "another-scheduler",
        lambda told: told.drop(policy()).put(ELSEWHERE),
        f"it is for the scheduler another ({path_of(ELSEWHERE)}:1)",
    ),
    (
        "unclaimed",
        forget_placement,
        f"no policy claims it, and its binding has no placement ({WEB}:1)",
    ),
    (
        "frozen-window",
        lambda told: told.put(
            configuration(freeze={"windows": [NOON]}),
            path="reconciler.yaml",
        ),
        "it waits for the end of a freeze",
    ),
)


@pytest.mark.parametrize(("act", "why"), [pytest.param(a, w, id=i) for i, a, w in BLOCKED])
def test_a_rebalancer_says_what_it_waits_for(act: Act, why: str) -> None:
    """In its record, in the commit and as an event, once, with file and line."""
    told = away()
    act(told)
    outcome = told.put(rebalancer()).run(10)
    record = told.output(f"{REBALANCERS}/demo.yaml")
    key = next(key for key in told.world().outputs if key.kind == "WorkloadRebalancer")
    change = OutputChange(key=key, before={}, after=record)
    events = [event for _, event in events_of(change)]

    assert ("", why) == (results(told)[0][1], waits(told))
    assert f"- WorkloadRebalancer demo waits for Deployment default/web: {why}" in message(outcome)
    assert [("RebalanceWaits", f"Deployment default/web: {why}")] == [
        (event.reason, event.message) for event in events
    ]
    assert () == told.run(20).waiting


def test_a_trigger_says_what_it_waits_for() -> None:
    """In its list of what failed, while its phase is Running."""
    told = away()
    break_web(told)
    outcome = told.put(schedule_trigger("demo", policies=["p"])).run(10)
    body = told.output("status/scheduletriggers.policy.karmada.io/demo.yaml")
    [failed] = cast(list[Body], cast(Body, body["status"])["failedResourceList"])

    why = f"its file cannot be understood ({WEB}:3); it is triggered once it can be scheduled"
    assert ("Running", why) == (cast(Body, body["status"])["phase"], failed["failReason"])
    assert f"- ScheduleTrigger demo waits for Deployment default/web: {why}" in message(outcome)


def test_what_is_waited_for_goes_when_it_is_mended() -> None:
    """The record has the result then, and nothing else."""
    told = away()
    break_web(told)
    told.put(rebalancer()).run(10)
    told.put(deployment()).run(20)

    assert ("Successful", "") == (results(told)[0][1], waits(told))


def test_names_in_what_is_waited_for_forge_nothing() -> None:
    """A name with line breaks stays within its line of the commit."""
    told = away()
    told.drop(policy())
    told.put(policy("q", placement=PLACEMENT, schedulerName="x\n\nReconciled-From: 1"))
    outcome = told.put(rebalancer()).run(10)

    assert "\nReconciled-From: 1\n" not in message(outcome)


# Without a policy


@pytest.mark.parametrize(
    "demand",
    [
        pytest.param(rebalancer(ttl=0), id="named"),
        pytest.param(rebalancer(selector={"kind": "Deployment"}, ttl=0), id="selected"),
        pytest.param(
            schedule_trigger(
                "demo",
                *cast(list[Body], [rebalancer()["spec"]])[:0],
                targetRefResource=[
                    {
                        "apiVersion": "apps/v1",
                        "kind": "Deployment",
                        "name": "web",
                        "namespace": "default",
                    }
                ],
            ),
            id="triggered",
        ),
    ],
)
def test_a_rebalance_without_a_policy_goes_by_the_placement_of_the_binding(demand: Body) -> None:
    """As the proposal of WorkloadRebalancer has it; the commit says so, and nothing waits."""
    told = unclaimed()
    outcome = told.put(demand).run(10)

    assert {"a": 2} == told.placed()
    assert () == outcome.waiting
    assert ["by the placement of its binding, since no policy claims it"] == [
        found.cause.detail.partition(", ")[2] for found in outcome.decisions
    ]
    assert () == told.run(11).changes or () == told.run(12).changes


def scale(told: Story) -> None:
    """More replicas are wanted."""
    told.put(deployment(replicas=5))


def evict(told: Story) -> None:
    """The cluster that it is on is tainted."""
    told.put(cluster("b", taints=[taint(effect="NoExecute")], status=ROOMY))


@pytest.mark.parametrize(
    ("act", "expected"), [(scale, {"b": 2}), (evict, {})], ids=["scaled", "evicted"]
)
def test_nothing_else_schedules_what_no_policy_claims(act: Act, expected: Body) -> None:
    """As upstream's event filter has it: neither scaling nor an eviction does."""
    told = unclaimed()
    act(told)
    told.run(10)

    assert expected == told.placed()


def test_batches_go_on_without_a_policy() -> None:
    """They are parts of one run."""
    told = unclaimed().put(rebalancer(limits={"maxMoves": 1, "intervalSeconds": 30}))
    seen = []
    for seconds in (10, 50):
        told.run(seconds)
        seen.append(told.placed())

    assert [{"a": 1, "b": 1}, {"a": 2}] == seen
    assert [("web", "Successful")] == results(told)


def test_a_workload_that_was_never_claimed_has_no_binding() -> None:
    """There is no placement to go by, so that this fails for good, as upstream."""
    told = story(cluster("a"), deployment(), rebalancer())
    told.run(0)

    assert [("web", "Failed")] == results(told)


def test_what_others_need_waits_in_the_pass_that_carries_it_first() -> None:
    """Its binding comes in that very pass, so that it is there to be waited for."""
    settings = rebalancer("demo", target("ConfigMap", "settings"))
    told = story(cluster("a"), reading(), configmap(), policy(propagateDeps=True), settings)
    told.run(0)
    first = (results(told), waits(told))
    told.run(1)

    why = f"no policy claims it: it is where the workloads are that need it ({SETTINGS}:1)"
    assert ([("settings", "")], why) == first
    assert first == (results(told), waits(told))


def test_what_others_need_is_rebalanced_once_a_policy_claims_it() -> None:
    """A policy of its own has it scheduled."""
    settings = rebalancer("demo", target("ConfigMap", "settings"))
    told = story(cluster("a"), reading(), configmap(), policy(propagateDeps=True), settings)
    told.run(0)
    told.put(policy("own", selectors=[selector("ConfigMap")])).run(1)

    assert ([("settings", "Successful")], "") == (results(told), waits(told))


def test_what_is_told_of_waiting_is_news() -> None:
    """A record that says the same as before adds nothing to the commit."""
    told = away()
    break_web(told)
    told.put(rebalancer()).run(10)
    outputs = told.world().outputs
    records = {key: one.body for key, one in outputs.items() if key.kind == "WorkloadRebalancer"}

    assert 1 == len(waiting_since(records, {}))
    assert () == waiting_since(records, outputs)
    assert "waitsFor" in text(*records.values())
