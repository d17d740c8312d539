"""What a placement was decided from, as questions, and which questions a round answers otherwise.

A placement that asks for labels looks at the clusters that have them, and at those that its record
names; the record names the first clusters that were rejected, so it also looks at which clusters
there are. Everything else looks at the whole fleet. One that is asked alone reads its files, what
it may select, who acts on it, clusters and overrides.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress

from reconciler.dialects.contract import Documents, OutputPlace, Statement
from reconciler.dialects.kubefleet.api.binding import PLACEMENT_PART, target_of
from reconciler.dialects.kubefleet.api.member import Members, timeless
from reconciler.dialects.kubefleet.api.names import (
    BINDINGS,
    CLUSTER,
    NAMESPACE,
    OWNED,
    PLACEMENT_GROUP,
    PLACEMENTS,
    POLICY_SNAPSHOTS,
    RESOURCE_SNAPSHOTS,
    RUNS,
    kinds_in,
    placement_key,
)
from reconciler.dialects.kubefleet.api.placement import (
    PICK_FIXED,
    Placement,
    SelectorTerm,
    decode_policy,
)
from reconciler.dialects.kubefleet.api.snapshots import clusters_in, readable_entries, resource_key
from reconciler.dialects.kubefleet.drift_repair import owner_of
from reconciler.dialects.kubefleet.eviction import (
    BUDGET,
    EVICTION,
    NO_EVICTIONS,
    Evictions,
)
from reconciler.dialects.kubefleet.snapshots.overrides import OVERRIDES
from reconciler.dialects.kubefleet.snapshots.selection import (
    ENDPOINTS,
    SERVICE,
    may_select,
)
from reconciler.dialects.kubefleet.updaterun.runs import (
    NO_RUNS,
    REQUESTS,
    UpdateRuns,
    strategy_key,
)
from reconciler.dialects.reads import (
    FLEET,
    NAMES,
    Question,
    SeenCluster,
    changed,
    cluster_named,
    labelled,
    within,
)
from reconciler.dialects.scores import SCORES
from reconciler.errors import UserError
from reconciler.model.body import Body
from reconciler.model.fields import at, mappings_of
from reconciler.model.identity import ObjectKey
from reconciler.model.kinds import Kind
from reconciler.model.remembered import CacheKey, same
from reconciler.model.world import Manifest

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
        was, evictions = before.get(key, NO_EVICTIONS), now.get(key, NO_EVICTIONS)
        if was.waiting != evictions.waiting or not same(_drawn_from(was), _drawn_from(evictions)):
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


def _drawn_from(evictions: Evictions) -> CacheKey:
    """Return the documents of evictions and of their status files."""
    return (*evictions.bodies, *evictions.statuses.values())


SHARED: frozenset[Kind] = frozenset({CLUSTER, SCORES, *OVERRIDES})


def _placement_left(output: Manifest) -> tuple[ObjectKey]:
    """Return the placement that an output belongs to."""
    return (owner_of(output.key, output.body),)


def _placement_named(manifest: Manifest) -> Iterator[ObjectKey]:
    """Yield the placement that an eviction or a run names; their status files name none."""
    name = at(manifest.body, "spec").get("placementName")
    if name is not None:
        yield placement_key(manifest.key.namespace, str(name))


def _run_asking(request: Manifest) -> tuple[ObjectKey]:
    """Return the run of an approval request."""
    key, run = request.key, str(at(request.body, "spec").get("parentStageRollout"))
    return (ObjectKey(PLACEMENT_GROUP, kinds_in(key.namespace).run, key.namespace, run),)


def _selected_by(placement: Manifest, _documents: Documents) -> Iterator[Question]:
    """Yield what a placement may select, and its budget."""
    key = placement.key
    yield ObjectKey(PLACEMENT_GROUP, BUDGET, "", key.name)
    for selector in mappings_of(at(placement.body, "spec").get("resourceSelectors")):
        yield from may_select(selector, key.namespace)


def _strategy(run: Manifest, _documents: Documents) -> tuple[ObjectKey]:
    return (strategy_key(run),)


def _held(snapshot: Manifest, _documents: Documents) -> Iterator[ObjectKey]:
    """Yield what a resource snapshot holds, as far as that can be read."""
    for entry in readable_entries(snapshot.body):
        with suppress(UserError):
            yield resource_key(entry)


def _content(namespace: Manifest, _documents: Documents) -> tuple[Question]:
    return (within(namespace.key.name),)


def _service(endpoints: Manifest, _documents: Documents) -> tuple[ObjectKey]:
    """Return the Service for which Endpoints are made; those that are do not go along."""
    return (ObjectKey(*SERVICE, endpoints.key.namespace, endpoints.key.name),)


def _places(key: ObjectKey) -> Iterator[OutputPlace]:
    """Yield the places of its own file, of its parts by their names, and of who acts on it."""
    yield OutputPlace(key[:2], key.namespace, key.name)
    yield OutputPlace((PLACEMENT_GROUP, EVICTION), "")
    kinds = kinds_in(key.namespace)
    for kind in (kinds.run, kinds.approval_request):
        yield OutputPlace((PLACEMENT_GROUP, kind), key.namespace)
    for kind in sorted(OWNED):
        yield OutputPlace((PLACEMENT_GROUP, kind), key.namespace, key.name[:PLACEMENT_PART])


PLACEMENT_KINDS: frozenset[Kind] = frozenset((PLACEMENT_GROUP, kind) for kind in PLACEMENTS)
STATEMENT = Statement(
    decided=PLACEMENT_KINDS,
    shared=SHARED,
    consulted=SHARED,
    owners={
        **dict.fromkeys(((PLACEMENT_GROUP, kind) for kind in OWNED), _placement_left),
        **dict.fromkeys(((PLACEMENT_GROUP, EVICTION), *RUNS), _placement_named),
        **dict.fromkeys(REQUESTS, _run_asking),
    },
    leads={
        **dict.fromkeys(PLACEMENT_KINDS, _selected_by),
        **dict.fromkeys(RUNS, _strategy),
        **dict.fromkeys(((PLACEMENT_GROUP, kind) for kind in RESOURCE_SNAPSHOTS), _held),
        NAMESPACE: _content,
        ENDPOINTS: _service,
    },
    places=_places,
)
