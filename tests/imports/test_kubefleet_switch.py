"""The switch from a KubeFleet hub, step by step."""

import pytest

from reconciler.model.body import Body
from tests.imports.hubs import key_of, live
from tests.imports.kubefleet_hub import PLACEMENT, kubefleet_hub
from tests.imports.switches import (
    FOLDERS,
    WORKS,
    adopted,
    check,
    deployment,
    names,
    states,
    step,
    with_spec,
)

HUB = kubefleet_hub(2)
REPORTS = {"type": "ReportDiff", "whenToTakeOver": "Never"}
AGENT = "fleet-system/hub-agent"


def work(strategy: Body) -> Body:
    """A Work of member1."""
    return live(
        PLACEMENT,
        "Work",
        "apps-0000-work",
        namespace="fleet-member-member1",
        spec={"applyStrategy": strategy, "workload": {"manifests": []}},
    )


def reporting(hub: list[Body]) -> list[Body]:
    """The same hub with placements that only report."""
    strategy = {"type": "RollingUpdate", "applyStrategy": REPORTS}
    return [
        with_spec(one, strategy=strategy) if key_of(one).kind.endswith("Placement") else one
        for one in hub
    ]


def test_one_program_schedules_and_writes_works() -> None:
    """It stands in the hub itself."""
    hub = [*HUB, deployment(AGENT, 1)]
    world = adopted(HUB)

    assert f"stop {AGENT}" == step(check(world, hub), "scheduler").now
    assert "done" == states(check(world, [*HUB, deployment(AGENT, 0)]))["scheduler"]
    assert "unseen" == states(check(world, HUB))["scheduler"]
    assert "done" == states(check(world, HUB, whole=True))["scheduler"]


@pytest.mark.parametrize(
    ("strategy", "state"),
    [
        pytest.param({}, "open", id="applied by the client, by default"),
        pytest.param({"type": "ServerSideApply"}, "open", id="applied by the server"),
        pytest.param({"type": "ReportDiff"}, "open", id="what was there is taken over"),
        pytest.param(REPORTS, "done", id="reported only"),
    ],
)
def test_agents_leave_objects_alone_that_they_only_report_of(strategy: Body, state: str) -> None:
    """As the Works say, which they read."""
    hub = [*HUB, work(strategy)]

    assert state == states(check(adopted(hub), hub))["agents"]


def test_without_works_the_placements_say_how_they_would_be_applied() -> None:
    """Works are what hub-agent makes of them."""
    hub = reporting(HUB)

    assert ["apps-0000", "apps-0001"] == names(step(check(adopted(HUB), HUB), "agents"))
    assert "done" == states(check(adopted(hub), hub))["agents"]


def test_who_owns_objects_is_to_be_looked_at_in_the_members() -> None:
    """The hub does not show it, so it does not keep the switch from being ready."""
    hub = [*reporting(HUB), work(REPORTS)]
    found = check(adopted(hub, FOLDERS), hub, whole=True)

    assert ("members", True) == (states(found)["keep"], found.ready)
    assert "--cascade=orphan" in step(found, "keep").now


def test_who_delivers_works_leaves_agents_as_they_are() -> None:
    """The same Works are applied by the same agents."""
    hub = [*HUB, work({})]
    found = states(check(adopted(hub, WORKS), hub))

    assert ["done", "done"] == [found[name] for name in ("keep", "agents")]


def test_what_snapshots_hold_must_be_in_the_repository() -> None:
    """It is what clusters have."""
    lacking = [one for one in HUB if key_of(one).kind != "Deployment"]

    assert ["web"] == names(step(check(adopted(lacking), lacking), "workloads"))
