"""What a placement was decided from, as questions, and which questions a round answers otherwise.

A placement that asks for labels looks at the clusters that have them, and at those that its record
names; the record names the first clusters that were rejected, so it also looks at which clusters
there are. Everything else looks at the whole fleet.
"""

from collections.abc import Iterator, Mapping

from reconciler.dialects.kubefleet.api.binding import target_of
from reconciler.dialects.kubefleet.api.member import Members, timeless
from reconciler.dialects.kubefleet.api.names import BINDINGS, POLICY_SNAPSHOTS
from reconciler.dialects.kubefleet.api.placement import (
    PICK_FIXED,
    Placement,
    SelectorTerm,
    decode_policy,
)
from reconciler.dialects.kubefleet.api.snapshots import clusters_in
from reconciler.dialects.kubefleet.eviction import NO_EVICTIONS, Evictions
from reconciler.dialects.kubefleet.updaterun.runs import NO_RUNS, UpdateRuns
from reconciler.dialects.reads import (
    FLEET,
    NAMES,
    Question,
    SeenCluster,
    changed,
    cluster_named,
    labelled,
)
from reconciler.model.body import Body
from reconciler.model.identity import ObjectKey
from reconciler.model.remembered import CacheKey, same

ROOM: Question = ("room",)
"""What whoever waits for room asks: what is reserved."""


def reports(key: ObjectKey) -> Question:
    """Return what clusters report of an object."""
    return "reports", key


def clusters_read(decoded: Placement, outputs: Mapping[ObjectKey, Body]) -> Iterator[Question]:
    """Yield what a placement that rests looked at of the fleet.

    Args:
        decoded: The placement.
        outputs: Its files.
    """
    policy = decode_policy(decoded.policy)
    yield from map(cluster_named, _named(outputs))
    if policy.placement_type == PICK_FIXED:
        yield from map(cluster_named, policy.cluster_names)
        return
    terms = [_labels(term) for term in policy.required]
    if not terms or None in terms or policy.preferred or policy.constraints:
        yield FLEET
        return
    yield NAMES
    for found in terms:
        yield from found or ()


def _labels(term: SelectorTerm) -> tuple[Question, ...] | None:
    """Return labels of which a cluster that fits has one, `None` if it may have none."""
    return None if term.properties or term.sorter is not None else labelled(term.labels)


def _named(outputs: Mapping[ObjectKey, Body]) -> Iterator[str]:
    """Yield the clusters that the files of a placement name."""
    for key, body in outputs.items():
        if key.kind in BINDINGS:
            yield target_of(body)
        elif key.kind in POLICY_SNAPSHOTS:
            yield from clusters_in(body)


def changed_clusters(before: Members | None, now: Members) -> Iterator[Question]:
    """Yield the questions about clusters whose answers differ between two fleets."""
    if before is not now:
        yield from changed({} if before is None else _seen(before), _seen(now))


def _seen(members: Members) -> dict[str, SeenCluster]:
    """Return the clusters of a fleet by name."""
    reasons = members.reasons
    return {
        view.cluster.name: SeenCluster(view, timeless(reasons.get(i, "")), view.cluster.labels)
        for i, view in enumerate(members.views)
    }


def changed_evictions(
    before: Mapping[ObjectKey, Evictions], now: Mapping[ObjectKey, Evictions]
) -> Iterator[ObjectKey]:
    """Yield the placements whose evictions differ."""
    for key in {**before, **now}:
        was, known = before.get(key, NO_EVICTIONS), now.get(key, NO_EVICTIONS)
        if was.waiting != known.waiting or not same(_drawn_from(was), _drawn_from(known)):
            yield key


def changed_runs(
    before: Mapping[ObjectKey, UpdateRuns], now: Mapping[ObjectKey, UpdateRuns]
) -> Iterator[ObjectKey]:
    """Yield the placements whose runs differ, in themselves or in what they name."""
    for key in {**before, **now}:
        was, known = before.get(key, NO_RUNS), now.get(key, NO_RUNS)
        waiting = [[one.waiting for one in runs.runs] for runs in (was, known)]
        if waiting[0] != waiting[1] or not same(was.bodies, known.bodies):
            yield key


def _drawn_from(found: Evictions) -> CacheKey:
    """Return the documents of evictions and of their status files."""
    return (*found.bodies, *found.statuses.values())
