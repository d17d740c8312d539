"""MemberCluster: what KubeFleet's scheduler reads of it, and the fleet indexed by that."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from reconciler.dialects.cluster_inventory import AdmittedCluster
from reconciler.dialects.kubefleet.api.cluster_decision import ClusterDecision
from reconciler.dialects.kubefleet.api.policy import Preference, SelectorTerm
from reconciler.dialects.kubefleet.scheduler.eligibility import (
    ELIGIBLE,
    Agent,
    Eligibility,
    assess,
    decode_agent,
    timeless,
)
from reconciler.dialects.kubefleet.scheduler.ranked_cluster import RankedCluster
from reconciler.errors import UserError
from reconciler.model import fields
from reconciler.model.body import Body
from reconciler.model.cluster import Cluster
from reconciler.model.identity import ClusterName
from reconciler.model.moments import earliest
from reconciler.model.taints import Taint, TaintEffect, Toleration
from reconciler.model.world import Manifest
from reconciler.schedule.fleet import Fleet, fleet_of
from reconciler.schedule.framework import NO_CLUSTERS, Levels, Mask, Rejection, mask_of

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
    """

    cluster: Cluster
    agent: Agent | None = None
    properties: Mapping[str, str] = field(default_factory=dict)
    usage: Usage = field(default_factory=dict)
    namespaces: frozenset[str] | None = None
    declared: bool = False


def admit_cluster(
    manifest: Manifest, output: Manifest | None, *, declared: bool
) -> AdmittedCluster[Member]:
    """Return one cluster as the scheduler reads it; no pass writes a file for it."""
    del output
    return AdmittedCluster(decode_member(manifest.body, declared=declared))


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
    status = fields.mapping(body, "status")
    usage = fields.mapping(status, "resourceUsage")
    properties = fields.mapping(status, "properties")
    gathers = any(
        condition.get("type") == NAMESPACES_GATHERED
        for condition in fields.bodies(status, "conditions")
    )
    return Member(
        cluster=Cluster(
            name=ClusterName(fields.text(metadata, "name")),
            labels=dict(fields.pairs_or_none(metadata, "labels") or ()),
            taints=tuple(_taint(taint) for taint in fields.bodies(spec, "taints")),
            deleting=bool(metadata.get("deletionTimestamp")),
        ),
        agent=decode_agent(status),
        properties={
            name: fields.text(fields.mapping(properties, name), "value") for name in properties
        },
        usage={
            capacity: {name: str(amount) for name, amount in fields.mapping(usage, place).items()}
            for capacity, place in _FIELD_OF_CAPACITY.items()
        },
        namespaces=frozenset(fields.mapping(status, "namespaces")) if gathers else None,
        declared=declared and not status,
    )


def _taint(body: Body) -> Taint:
    """Return one taint; KubeFleet's have no moment."""
    try:
        effect = TaintEffect(fields.text(body, "effect"))
    except ValueError as error:
        raise UserError(f"must be a taint: {error}", field="taints") from None
    return Taint(fields.text(body, "key"), fields.text(body, "value"), effect)


@dataclass(frozen=True, slots=True)
class Unscorable:
    """Clusters that make the scheduler fail if one of them is to be scored, and why."""

    clusters: Mask
    message: str


@dataclass(slots=True, kw_only=True, eq=False)
class Members:
    """The fleet of MemberClusters at one moment, indexed; it remembers what the scheduler asked.

    The memos are filled by the rules that ask.

    Attributes:
        fleet: The shared index.
        views: Ascending by name.
        eligibility: Of each cluster, in the same order.
        eligible: Clusters that can receive resources.
        at: The moment.
        heartbeats: Whether a silent agent makes its cluster ineligible.
        until: When time alone makes a cluster ineligible, `None` if never.
        tells_time: Whether a reason tells how many minutes ago something was.
    """

    fleet: Fleet
    views: tuple[Member, ...]
    eligibility: tuple[Eligibility, ...]
    eligible: Mask
    at: datetime
    heartbeats: bool
    until: datetime | None = None
    tells_time: bool = False
    ineligible: dict[bool, tuple[Rejection, ...]] = field(default_factory=dict, repr=False)
    unmatched: dict[tuple[SelectorTerm, ...], tuple[Rejection, ...]] = field(
        default_factory=dict, repr=False
    )
    untolerated: dict[tuple[Toleration, ...], tuple[Rejection, ...]] = field(
        default_factory=dict, repr=False
    )
    affinities: dict[tuple[Preference, ...], tuple[Levels, tuple[Unscorable, ...]]] = field(
        default_factory=dict, repr=False
    )
    unscored: dict[bool, tuple[tuple[RankedCluster, ...], tuple[ClusterDecision, ...]]] = field(
        default_factory=dict, repr=False
    )
    domains: dict[tuple[str, ...], tuple[tuple[tuple[str | None, ...], Mask], ...]] = field(
        default_factory=dict, repr=False
    )

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
    ordered = tuple(sorted(views, key=lambda view: view.cluster.name))
    eligibility = tuple(_assess(view, now, heartbeats=heartbeats) for view in ordered)
    return Members(
        fleet=fleet_of(view.cluster for view in ordered),
        views=ordered,
        eligibility=eligibility,
        eligible=mask_of(i for i, item in enumerate(eligibility) if not item.reason) or NO_CLUSTERS,
        at=now,
        heartbeats=heartbeats,
        until=earliest(*(item.until for item in eligibility)),
        tells_time=any(timeless(one.reason) != one.reason for one in eligibility),
    )


def _assess(view: Member, now: datetime, *, heartbeats: bool) -> Eligibility:
    if view.declared and not view.cluster.deleting:
        return ELIGIBLE
    return assess(view.agent, now, leaving=view.cluster.deleting, heartbeats=heartbeats)
