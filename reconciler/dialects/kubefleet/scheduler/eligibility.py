"""Whether a cluster can receive resources at all: it is here, connected, joined and healthy."""

import re
from dataclasses import dataclass
from datetime import datetime, timedelta

from reconciler.dialects.kubefleet.api.names import MEMBER_AGENT
from reconciler.model import fields
from reconciler.model.body import Body
from reconciler.model.moments import FIRST, LAST, add, parse_moment

HEARTBEAT_TIMEOUT = timedelta(minutes=5)  # checker.go defaultClusterHeartbeatTimeout
HEALTH_TIMEOUT = timedelta(minutes=5)  # checker.go defaultClusterHealthCheckTimeout

_NEVER = FIRST  # Go's zero time, where the field is missing
_LONGEST_MINUTES = (2**63 - 1) / 60e9  # a Go duration ends at 2**63 - 1 nanoseconds
_ELAPSED = re.compile(r"\(last (received|transitioned) -?[0-9.]+ minutes ago\)", re.ASCII)
_UNCONNECTED = "cluster is not connected to the fleet: "


@dataclass(frozen=True, slots=True)
class AgentCondition:
    """A condition that the member agent reports; `since` is its last transition."""

    status: str
    since: datetime


@dataclass(frozen=True, slots=True)
class Agent:
    """What the member agent of a cluster last said. `None` stands for a missing condition."""

    heartbeat_at: datetime
    joined: AgentCondition | None
    healthy: AgentCondition | None


@dataclass(frozen=True, slots=True)
class Eligibility:
    """Why a cluster may not receive resources, `""` if it may.

    `until` is the moment at which time alone makes it ineligible, `None` if none does.
    """

    reason: str
    until: datetime | None = None


ELIGIBLE = Eligibility("")


def decode_agent(status: Body) -> Agent | None:
    """Return the first entry of the member agent, `None` if there is none."""
    for entry in fields.bodies(status, "agentStatus"):
        if fields.text(entry, "type") == MEMBER_AGENT:
            conditions = fields.bodies(entry, "conditions")
            return Agent(
                heartbeat_at=_moment(entry, "lastReceivedHeartbeat"),
                joined=_condition(conditions, "Joined"),
                healthy=_condition(conditions, "Healthy"),
            )
    return None


def _condition(conditions: tuple[Body, ...], kind: str) -> AgentCondition | None:
    found = next((item for item in conditions if item.get("type") == kind), None)
    if found is None:
        return None
    return AgentCondition(fields.text(found, "status"), _moment(found, "lastTransitionTime"))


def _moment(body: Body, field: str) -> datetime:
    written = fields.text(body, field)
    return parse_moment(written) if written else _NEVER


def assess(agent: Agent | None, now: datetime, *, leaving: bool, heartbeats: bool) -> Eligibility:
    """Return whether a cluster can receive resources.

    Args:
        agent: Its member agent, `None` if none ever reported.
        now: Aware UTC.
        leaving: Whether it is being deleted.
        heartbeats: Whether silence of more than five minutes counts; exactly five do not.

    Source: kubefleet@e160c1c pkg/scheduler/clustereligibilitychecker/checker.go `IsEligible`.
    """
    if leaving:
        return Eligibility("cluster has left the fleet")
    if agent is None:
        return Eligibility(f"{_UNCONNECTED}member agent not online yet")
    if heartbeats and now - agent.heartbeat_at > HEARTBEAT_TIMEOUT:
        minutes = _minutes(now - agent.heartbeat_at)
        return Eligibility(
            f"{_UNCONNECTED}no recent heartbeat signals (last received {minutes:.2f} minutes ago)"
        )
    if agent.joined is None or agent.joined.status != "True":
        return Eligibility(f"{_UNCONNECTED}member agent not joined yet")
    if agent.healthy is None:
        return Eligibility(f"{_UNCONNECTED}health condition from member agent is not available")
    unhealthy = agent.healthy.status != "True"
    if unhealthy and now - agent.healthy.since > HEALTH_TIMEOUT:
        minutes = _minutes(now - agent.healthy.since)
        return Eligibility(
            f"{_UNCONNECTED}unhealthy for a prolonged period of time "
            f"(last transitioned {minutes:.2f} minutes ago)"
        )
    ends = [add(agent.heartbeat_at, HEARTBEAT_TIMEOUT)] if heartbeats else []
    ends += [add(agent.healthy.since, HEALTH_TIMEOUT)] if unhealthy else []
    return Eligibility("", add(min(ends)) if ends else None)


def well_since(agent: Agent | None) -> datetime | None:
    """Return the last heartbeat of an agent that reports as joined and healthy, else `None`.

    Such a cluster is eligible until the heartbeat is too old; nothing else of it matters. One at
    the end of the calendar is left to `assess`.
    """
    if agent is None or agent.joined is None or agent.healthy is None:
        return None
    well = agent.joined.status == agent.healthy.status == "True"
    return agent.heartbeat_at if well and agent.heartbeat_at < LAST else None


def _minutes(age: timedelta) -> float:
    return min(age.total_seconds() / 60, _LONGEST_MINUTES)


def timeless(reason: str) -> str:
    """Return a reason without the minutes that it tells; two that differ in these say the same.

    >>> timeless("silent (last received 5.02 minutes ago)")
    'silent (last received)'
    """
    return _ELAPSED.sub(r"(last \1)", reason)
