"""MemberCluster: what KubeFleet's scheduler reads of it, and the fleet indexed by that.

A cluster can receive resources if it is here, connected, joined and healthy. A ranked cluster has
what each score of KubeFleet's profile gave it, by upstream's names.
"""

import re
from collections.abc import Hashable, Iterable, Mapping
from copy import copy
from datetime import datetime, timedelta
from functools import cached_property
from operator import attrgetter
from typing import NamedTuple

from reconciler.dialects.inventory import AdmittedCluster
from reconciler.dialects.kubefleet.api.names import MEMBER_AGENT
from reconciler.dialects.kubefleet.api.placement import SelectorTerm
from reconciler.dialects.kubefleet.api.snapshots import ClusterDecision
from reconciler.dialects.scores import Reports
from reconciler.errors import UserError
from reconciler.model import fields
from reconciler.model.body import Body
from reconciler.model.cluster import Cluster, Taint, Toleration, effect_of, shared_taint
from reconciler.model.identity import ClusterName
from reconciler.model.labels import labels_of
from reconciler.model.moments import FIRST, LAST, add, earliest, parse_moment
from reconciler.model.quantity import Resources
from reconciler.model.records import dataclass, field
from reconciler.model.world import Manifest
from reconciler.schedule.fleet import Fleet, ascending, fleet_in_order
from reconciler.schedule.framework import Levels, Mask, Rejection

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
    condition = next((item for item in conditions if item.get("type") == kind), None)
    if condition is None:
        return None
    return AgentCondition(
        fields.text(condition, "status"), _moment(condition, "lastTransitionTime")
    )


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


AFFINITY = "ClusterAffinity"
SAME_PLACEMENT = "SamePlacementAffinity"
TOPOLOGY = "TopologySpreadConstraints"


class RankedCluster(NamedTuple):
    """A cluster and its scores by their names, in the order in which they are compared."""

    name: ClusterName
    scores: Mapping[str, int] = {}

    @property
    def affinity(self) -> int:
        """What decisions show as the affinity score."""
        return self.scores.get(AFFINITY, 0)

    @property
    def topology(self) -> int:
        """What decisions show as the topology spread score."""
        return self.scores.get(TOPOLOGY, 0)


MEMBER_NAME = "kubernetes-fleet.io/member-name"
"""Label by which placements and overrides may mean one cluster."""
NAMESPACES_GATHERED = "NamespaceCollectionSucceeded"
"""Condition of a cluster that tells its namespaces, whatever its status."""

Usage = Mapping[str, Mapping[str, str]]
"""Kind of capacity (`total`, `allocatable`, `available`) to resource to quantity, as written."""

_FIELD_OF_CAPACITY = {
    "total": "capacity",
    "allocatable": "allocatable",
    "available": "available",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """KubeFleet's view of a cluster.

    `declared` says that the manifest has no status at all and that this counts as a promise: the
    cluster is joined and healthy. `namespaces` is `None` where the cluster does not gather them.
    `well_since` is the last heartbeat of a cluster that stays and reports as joined and healthy,
    `LAST` if it is declared so; it is `None` where more than that must be looked at.
    """

    cluster: Cluster
    agent: Agent | None = None
    properties: Mapping[str, str] = field(default_factory=dict)
    usage: Usage = field(default_factory=dict)
    namespaces: frozenset[str] | None = None
    declared: bool = False
    well_since: datetime | None = None


def admit_cluster(
    manifest: Manifest, output: Manifest | None, *, declared: bool
) -> AdmittedCluster[Member]:
    """Return one cluster as the scheduler reads it; no pass writes a file for it."""
    del output
    return AdmittedCluster(decode_member(manifest.body, declared=declared))


def member_labels(body: Body) -> dict[str, str]:
    """Return the labels of a MemberCluster as its hub has them: one of them is its name.

    Source: kubefleet@e160c1c pkg/controllers/membercluster/v1beta1/membercluster_controller.go
    `ensureMemberNameLabel`.
    """
    metadata = fields.mapping(body, "metadata")
    return {**labels_of(body), MEMBER_NAME: fields.text(metadata, "name")}


def decode_member(body: Body, *, declared: bool = True) -> Member:
    """Return the view of one MemberCluster manifest.

    Args:
        body: The manifest.
        declared: Whether a manifest without any status is a declaration; if not, it is judged as
            upstream does: no agent ever reported.

    Raises:
        UserError: A field has the wrong type.

    Source: kubefleet@e160c1c apis/cluster/v1beta1/membercluster_types.go; `declared` is ours.
    """
    metadata, spec = fields.mapping(body, "metadata"), fields.mapping(body, "spec")
    status, named = fields.mapping(body, "status"), {MEMBER_NAME: fields.text(metadata, "name")}
    usage = fields.mapping(status, "resourceUsage")
    properties = fields.mapping(status, "properties")
    gathers = any(
        condition.get("type") == NAMESPACES_GATHERED
        for condition in fields.bodies(status, "conditions")
    )
    cluster = Cluster(
        name=ClusterName(fields.text(metadata, "name")),
        labels={**dict(fields.pairs_or_none(metadata, "labels") or ()), **named},
        taints=tuple(_taint(taint) for taint in fields.bodies(spec, "taints")),
        deleting=bool(metadata.get("deletionTimestamp")),
    )
    agent, promised = decode_agent(status), declared and not status
    return Member(
        cluster=cluster,
        agent=agent,
        properties={
            name: fields.text(fields.mapping(properties, name), "value") for name in properties
        },
        usage={
            capacity: {name: str(amount) for name, amount in fields.mapping(usage, place).items()}
            for capacity, place in _FIELD_OF_CAPACITY.items()
        },
        namespaces=frozenset(fields.mapping(status, "namespaces")) if gathers else None,
        declared=promised,
        well_since=None if cluster.deleting else LAST if promised else well_since(agent),
    )


def _taint(body: Body) -> Taint:
    """Return one taint; KubeFleet's have no moment."""
    try:
        effect = effect_of(fields.text(body, "effect"))
    except ValueError as error:
        raise UserError(f"must be a taint: {error}", field="taints") from None
    return shared_taint(fields.text(body, "key"), fields.text(body, "value"), effect.value)


@dataclass(frozen=True, slots=True)
class Unscorable:
    """Clusters that make the scheduler fail if one of them is to be scored, and why."""

    clusters: Mask
    message: str


@dataclass(frozen=True, slots=True)
class PropertyScale:
    """A property of all clusters: where its values stand, and which clusters have it.

    Attributes:
        ratios: From the least (0.0) to the greatest value (1.0) with the clusters that have it;
            empty if all are equal.
        outside: Clusters whose float64 falls outside of the extremes: equal quantities written in
            two ways may differ in their last digit, and upstream refuses them.
        having: Clusters that report the property.
    """

    ratios: tuple[tuple[float, Mask], ...]
    outside: Mask
    having: Mask


@dataclass(kw_only=True, eq=False)
class Members:
    """The fleet of MemberClusters at one moment, indexed; it remembers what the scheduler asked.

    Each part is built when a question first needs it; the memos are filled by the rules that ask.

    Attributes:
        fleet: The shared index.
        views: Ascending by name.
        at: The moment.
        heartbeats: Whether a silent agent makes its cluster ineligible.
        scores: What add-ons report of the clusters, `None` where that does not count.
    """

    fleet: Fleet
    views: tuple[Member, ...]
    at: datetime
    heartbeats: bool
    ineligible: dict[bool, tuple[Rejection, ...]] = field(default_factory=dict, repr=False)
    unmatched: dict[tuple[SelectorTerm, ...], tuple[Rejection, ...]] = field(
        default_factory=dict, repr=False
    )
    untolerated: dict[tuple[Toleration, ...], tuple[Rejection, ...]] = field(
        default_factory=dict, repr=False
    )
    affinities: dict[Hashable, tuple[Levels, tuple[Unscorable, ...]]] = field(
        default_factory=dict, repr=False
    )
    scales: dict[Hashable, PropertyScale] = field(default_factory=dict, repr=False)
    unscored: dict[bool, tuple[tuple[RankedCluster, ...], tuple[ClusterDecision, ...]]] = field(
        default_factory=dict, repr=False
    )
    available: dict[bool, tuple[Resources | None, ...]] = field(default_factory=dict, repr=False)
    domains: dict[tuple[str, ...], tuple[tuple[tuple[str | None, ...], Mask], ...]] = field(
        default_factory=dict, repr=False
    )
    scores: Reports | None = field(default=None, repr=False)

    def with_scores(self, scores: Reports | None) -> "Members":
        """Return the same fleet with what is reported of it; answers are kept by the reports."""
        if self.scores is scores:
            return self
        other = copy(self)
        other.scores = scores
        return other

    @cached_property
    def _judged(self) -> Mapping[int, Eligibility]:
        """What is found of the clusters of which it is not enough that they were well lately."""
        limit = self._limit
        return {
            position: self._judge(self.views[position])
            for position, since in enumerate([view.well_since for view in self.views])
            if since is None or since < limit
        }

    @property
    def _limit(self) -> datetime:
        """A heartbeat before this moment is too old."""
        return add(self.at, -HEARTBEAT_TIMEOUT) if self.heartbeats else FIRST

    def _judge(self, view: Member) -> Eligibility:
        if view.declared and not view.cluster.deleting:
            return ELIGIBLE
        leaving = view.cluster.deleting
        return assess(view.agent, self.at, leaving=leaving, heartbeats=self.heartbeats)

    @cached_property
    def reasons(self) -> Mapping[int, str]:
        """Position to why a cluster cannot receive resources, of those that cannot."""
        return {i: found.reason for i, found in self._judged.items() if found.reason}

    @cached_property
    def until(self) -> datetime | None:
        """When time alone makes a cluster ineligible, `None` if never."""
        ends = [found.until for found in self._judged.values()]
        limit = self._limit
        well = [view.well_since for view in self.views]
        first = min([since for since in well if since is not None and since >= limit], default=LAST)
        silent = self.heartbeats and first < LAST
        return earliest(*ends, add(add(first, HEARTBEAT_TIMEOUT)) if silent else None)

    @cached_property
    def tells_time(self) -> bool:
        """Whether a reason tells how many minutes ago something was."""
        return any(timeless(reason) != reason for reason in self.reasons.values())

    def stays(self, now: datetime, *, heartbeats: bool) -> bool:
        """Return whether the fleet is the same at another moment, unless a cluster differs.

        A reason may tell how many minutes ago something was: that is of its moment only.
        """
        if heartbeats != self.heartbeats or now == self.at:
            return heartbeats == self.heartbeats
        if now < self.at or (self.until is not None and self.until <= now):
            return False
        return not self.tells_time


def members_of(views: Iterable[Member], now: datetime, *, heartbeats: bool = True) -> Members:
    """Return the fleet of these clusters at a moment; names are unique.

    Args:
        views: In whatever order they come.
        now: Aware UTC.
        heartbeats: Whether a silent agent makes its cluster ineligible.
    """
    ordered = ascending(tuple(views), attrgetter("cluster"))
    fleet = fleet_in_order(tuple([view.cluster for view in ordered]))
    return Members(fleet=fleet, views=ordered, at=now, heartbeats=heartbeats)
