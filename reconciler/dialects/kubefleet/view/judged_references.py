"""What overrides, budgets and evictions of KubeFleet must not be beside other objects."""

from collections import defaultdict
from collections.abc import Iterable, Iterator

from reconciler.dialects.kubefleet.api.disruption_admission import (
    refuse_budget_for,
    refuse_eviction,
)
from reconciler.dialects.kubefleet.api.eviction_request import decode_request
from reconciler.dialects.kubefleet.api.groups import PLACEMENT_GROUP
from reconciler.dialects.kubefleet.api.override_admission import (
    CLUSTER_SCOPED,
    MOST_OVERRIDES,
    NAMESPACED,
    Resource,
    refuse_many,
    refuse_taken,
    resources_of,
)
from reconciler.manifests.references import Dangling, Known
from reconciler.manifests.schemas.violations import Violation
from reconciler.model.body import Body
from reconciler.model.identity import ObjectKey
from reconciler.model.world import Manifest

PLACEMENT = "ClusterResourcePlacement"


def refused_beside_others(known: Known) -> Iterator[Dangling]:
    """Yield what upstream's webhooks refuse once they have looked at other objects."""
    for kind in (CLUSTER_SCOPED, NAMESPACED):
        yield from _overrides(tuple(known.of_kind(PLACEMENT_GROUP, kind)))
    placements = {one.key.name: one.body for one in known.of_kind(PLACEMENT_GROUP, PLACEMENT)}
    for budget in known.of_kind(PLACEMENT_GROUP, f"{PLACEMENT}DisruptionBudget"):
        placement = placements.get(budget.key.name)
        if placement is not None:
            yield from _told(budget.key, refuse_budget_for(budget.body, placement))
    for eviction in known.of_kind(PLACEMENT_GROUP, f"{PLACEMENT}Eviction"):
        name = decode_request(eviction.body).placement
        if name in placements:
            yield from _told(eviction.key, refuse_eviction(eviction.body, placements[name]))


def _overrides(overrides: tuple[Manifest, ...]) -> Iterator[Dangling]:
    """Yield which overrides of a kind are too many, and which want the same resource."""
    wanted: dict[tuple[str, Resource], list[Manifest]] = defaultdict(list)
    for one in overrides:
        for resource in resources_of(one.body):
            wanted[one.key.namespace, resource].append(one)
    for position, one in enumerate(overrides):
        if position >= MOST_OVERRIDES:
            yield from _told(one.key, refuse_many(position))
        rivals: Iterable[Body] = (
            other.body
            for resource in resources_of(one.body)
            for other in wanted[one.key.namespace, resource]
            if other is not one
        )
        yield from _told(one.key, refuse_taken(one.body, rivals))


def _told(key: ObjectKey, violations: Iterable[Violation]) -> Iterator[Dangling]:
    for one in violations:
        yield Dangling(key, one.pointer, one.rule, one.message, one.expected)
