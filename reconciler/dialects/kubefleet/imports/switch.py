"""The switch from a KubeFleet hub: what of it is not done yet, as far as kubectl shows it."""

from collections.abc import Iterator, Mapping

from reconciler.dialects.hub_switch import (
    HubSwitch,
    LiveHub,
    StepState,
    SwitchStep,
    running,
    settled,
    stopped,
)
from reconciler.dialects.kubefleet.api.kinds import PLACEMENTS, RESOURCE_SNAPSHOTS
from reconciler.dialects.kubefleet.api.names import GROUP
from reconciler.dialects.kubefleet.api.resource_snapshot import readable_entries, resource_key
from reconciler.dialects.kubefleet.rollout.work_table import WORK
from reconciler.dialects.kubefleet.snapshots.revision import is_latest
from reconciler.model.body import Body
from reconciler.model.fields import mapping, text
from reconciler.model.identity import ObjectKey

HOME = "fleet-system"
AGENT = "hub-agent"
TRANSPORT = "works"
SHOW = f"show the Deployments of {HOME}: --context, or as a file"
REPORT = "set strategy.applyStrategy to type: ReportDiff, whenToTakeOver: Never, in the placements"
ORPHAN = "in each member: stop member-agent, then delete its AppliedWorks with --cascade=orphan"


def steps(hub: LiveHub) -> tuple[SwitchStep, ...]:
    """Return the steps on the hub, in order.

    The scheduler, the rollout and what writes Works are one program. A member's agent that only
    reports leaves objects alone, but what it once applied has its AppliedWork for an owner, and
    goes with it; nothing on the hub shows that. `deleteStrategy` is no help: upstream defines
    `Abandon` and does not read it.
    """
    seen = hub.whole or hub.host or hub.has_namespace(HOME)
    agents = running(hub, lambda key: key.name.endswith(AGENT))
    applied = {} if hub.by_agents else hub.of_kind(GROUP, WORK)
    return (
        settled("agents", () if hub.by_agents else _applying(hub), REPORT),
        stopped("scheduler", agents, seen=seen, show=SHOW),
        settled("keep", applied, ORPHAN, state=StepState.MEMBERS),
    )


def _applying(hub: LiveHub) -> list[ObjectKey]:
    """Return the Works that agents apply; without any Work the placements that would make some."""
    works = hub.of_kind(GROUP, WORK)
    found = works or hub.of_kind(GROUP, *PLACEMENTS)
    above = () if works else ("strategy",)
    return [key for key, body in found.items() if not _reports(_strategy(body, above))]


def _strategy(body: Body, above: tuple[str, ...]) -> Body:
    """Return the strategy by which agents apply, of a Work or of a placement."""
    found = mapping(body, "spec")
    for field in (*above, "applyStrategy"):
        found = mapping(found, field)
    return found


def _reports(strategy: Body) -> bool:
    return (text(strategy, "type"), text(strategy, "whenToTakeOver")) == ("ReportDiff", "Never")


def brings(live: Mapping[ObjectKey, Body]) -> Iterator[ObjectKey]:
    """Yield what the latest snapshots of resources hold."""
    for key, body in live.items():
        if key.group == GROUP and key.kind in RESOURCE_SNAPSHOTS and is_latest(body):
            yield from map(resource_key, readable_entries(body))


SWITCH = HubSwitch(steps=steps, brings=brings, agents=TRANSPORT)
