"""ManagedCluster: what placements read of it, and the fleet indexed by that."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from operator import attrgetter

from reconciler.dialects.ocm.api.placement import AddOnScore
from reconciler.dialects.ocm.scheduler.request import Scores
from reconciler.dialects.scores.reports import Reported
from reconciler.errors import UserError
from reconciler.model import fields
from reconciler.model.body import Body
from reconciler.model.cluster import Cluster
from reconciler.model.identity import ClusterName
from reconciler.model.labels import LabelSelector
from reconciler.model.moments import parse_instant
from reconciler.model.quantity import approximate
from reconciler.model.same import Same
from reconciler.model.taints import Taint, TaintEffect, shared_taint
from reconciler.schedule.columns import Numbers, column_of
from reconciler.schedule.fleet import Fleet, ascending, fleet_in_order, remember
from reconciler.schedule.framework import Mask, mask_where
from reconciler.schedule.inverted_index import InvertedIndex, select_indexed

CPU = "cpu"
MEMORY = "memory"
EFFECTS = frozenset(effect.value for effect in TaintEffect)


@dataclass(frozen=True, slots=True, kw_only=True)
class ManagedCluster:
    """OCM's view of a cluster.

    `allocatable` has the amounts of cpu and memory, as upstream's float64, of those resources
    that the capacity names, too. `body` is the manifest, for CEL.
    """

    cluster: Cluster
    claims: Mapping[str, str]
    allocatable: Mapping[str, float]
    body: Body


@dataclass(frozen=True, slots=True)
class Amounts:
    """How much of a resource each cluster has: places in `distinct`, where `None` is no amount."""

    codes: Numbers
    distinct: tuple[float | None, ...]
    missing: Mask


@dataclass(kw_only=True, eq=False)
class Members:
    """All managed clusters, ascending by name; an index made once a pass, which remembers.

    Each part is built when a question first needs it. `reported`, `measurements` and `expressed`
    remember the scores of add-ons, those of amounts and what CEL expressions say, by the question.
    """

    fleet: Fleet
    views: tuple[ManagedCluster, ...]
    reported: dict[tuple[AddOnScore, Same, datetime], Reported] = field(
        default_factory=dict, repr=False
    )
    measurements: dict[tuple[str, Mask], Scores] = field(default_factory=dict, repr=False)
    expressed: dict[tuple[tuple[str, ...], Mask, Same], Mask] = field(
        default_factory=dict, repr=False
    )
    _claiming: dict[LabelSelector, Mask] = field(default_factory=dict, repr=False)
    _amounts: dict[str, Amounts] = field(default_factory=dict, repr=False)

    @cached_property
    def by_claim(self) -> InvertedIndex:
        """Claim to value to clusters."""
        return InvertedIndex([view.claims for view in self.views])

    def amounts(self, resource: str) -> Amounts:
        """Return the amount of a resource of each cluster."""
        return remember(self._amounts, resource, lambda: self._amounts_of(resource))

    def _amounts_of(self, resource: str) -> Amounts:
        found = [view.allocatable.get(resource) for view in self.views]
        codes = {amount: code for code, amount in enumerate(dict.fromkeys(found))}
        return Amounts(
            codes=column_of(map(codes.__getitem__, found)),
            distinct=tuple(codes),
            missing=mask_where([amount is None for amount in found]),
        )

    def claiming(self, selector: LabelSelector) -> Mask:
        """Return the clusters whose claims satisfy a selector that can be used.

        Claims follow the rules of labels.

        Source: ocm@00f84c3 pkg/placement/helpers/clusters.go `ClusterSelector.Matches`.
        """
        return remember(self._claiming, selector, lambda: self._select(selector))

    def _select(self, selector: LabelSelector) -> Mask:
        chosen = self.fleet.all
        for requirement in selector.requirements:
            found = select_indexed(requirement, self.by_claim, self.fleet.all)
            chosen = Mask(chosen & found)
        return chosen


def members_of(views: Iterable[ManagedCluster]) -> Members:
    """Return the fleet of these clusters, in whatever order they come; names are unique."""
    ordered = ascending(tuple(views), attrgetter("cluster"))
    return Members(fleet=fleet_in_order(tuple([view.cluster for view in ordered])), views=ordered)


def decode_cluster(body: Body) -> ManagedCluster:
    """Return the view of one ManagedCluster.

    Of claims with one name the last counts.

    Raises:
        UserError: A field has the wrong type, or its text cannot be read.

    Source: ocm@00f84c3 vendor/open-cluster-management.io/api/cluster/v1/types.go `ManagedCluster`,
    and pkg/placement/helpers/clusters.go `GetClusterClaims`.
    """
    metadata, spec = fields.mapping(body, "metadata"), fields.mapping(body, "spec")
    status = fields.mapping(body, "status")
    return ManagedCluster(
        cluster=Cluster(
            name=ClusterName(fields.text(metadata, "name")),
            labels=dict(fields.pairs_or_none(metadata, "labels") or ()),
            taints=tuple(map(_taint, fields.bodies(spec, "taints"))),
            deleting=bool(metadata.get("deletionTimestamp")),
        ),
        claims={
            fields.text(claim, "name"): fields.text(claim, "value")
            for claim in fields.bodies(status, "clusterClaims")
        },
        allocatable=_allocatable(status),
        body=body,
    )


def _taint(body: Body) -> Taint:
    """Decode a taint, with the fraction of its moment."""
    added = fields.text(body, "timeAdded")
    effect = fields.text(body, "effect")
    if effect not in EFFECTS:
        raise UserError("must be NoSelect, PreferNoSelect or NoSelectIfNew", field="effect")
    try:
        time_added = parse_instant(added) if added else None
    except ValueError as error:
        raise UserError(str(error), field="timeAdded") from error
    moment = time_added.isoformat() if time_added is not None else ""
    return shared_taint(fields.text(body, "key"), fields.text(body, "value"), effect, moment)


def _allocatable(status: Body) -> dict[str, float]:
    """Return the amounts that count for scores."""
    allocatable = fields.mapping(status, "allocatable")
    capacity = fields.mapping(status, "capacity")
    return {
        resource: _amount(allocatable[resource], resource)
        for resource in (CPU, MEMORY)
        if allocatable.get(resource) is not None and capacity.get(resource) is not None
    }


def _amount(value: object, field_name: str) -> float:
    """Return an amount."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise UserError("must be a quantity", field=field_name)
    try:
        return approximate(value)
    except ValueError as error:
        raise UserError(str(error), field=field_name) from error
