"""What is refused of rebalancers and triggers."""

import pytest

from reconciler.core.dialects import KINDS
from reconciler.rebalance.admission import refuse_rebalancer, refuse_trigger
from tests.builders import Body, metadata, rebalancer, schedule_trigger, target


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
    ],
)
def test_triggers(body: Body, expected: list[str]) -> None:
    """Something to do, and no negative time."""
    assert expected == [violation.rule for violation in refuse_trigger(KINDS.scopes, body)]
