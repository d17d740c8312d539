"""What bindings take of clusters, and in which order; what waits for room asks for it."""

from collections.abc import Iterable, Iterator, Mapping

from reconciler.dialects.karmada.api.work.binding_spec import (
    Targets,
    decode_requests,
    requests_of,
    takes_the_same,
)
from reconciler.dialects.karmada.detector.binding_draft import Draft
from reconciler.dialects.karmada.scheduler.reschedule_requests import complaint_in
from reconciler.dialects.karmada.view.binding_rendering import is_edited
from reconciler.dialects.karmada.view.placed import clusters_in
from reconciler.dialects.read_index import Question, Reads
from reconciler.model.body import Body
from reconciler.model.fields import bodies, mapping, number_or_none
from reconciler.model.identity import ObjectKey
from reconciler.model.resources import decode_resources
from reconciler.schedule.capacity.ledger import Ledger, Order, order_of
from reconciler.schedule.capacity.reservation import ClusterDemand, demand_of_replicas

ROOM: Question = ("room",)
"""What whoever waits for room asks: what is reserved."""


def place_of(draft: Draft) -> Order:
    """Return the place of a binding among all that add: by its schedulePriority, then its key."""
    return order_of(number_or_none(draft.spec.priority or {}, "priority") or 0, draft.key)


def in_turn(
    keys: Iterable[ObjectKey], drafts: Mapping[ObjectKey, Draft], ledger: Ledger
) -> Iterator[ObjectKey]:
    """Yield bindings in their order, each after those of other APIs that come before it."""
    for place in sorted(place_of(drafts[key]) for key in keys):
        ledger.before(place)
        yield place[1]


def demands_of(workload: ObjectKey, clusters: Targets, requests: Body) -> dict[str, ClusterDemand]:
    """Return what a binding takes of each of its clusters.

    Args:
        workload: Whose binding it is.
        clusters: Where it is, with its replicas.
        requests: What one replica asks for, as it is written.

    Raises:
        UserError: A request is no quantity.
    """
    counts = {replicas for _, replicas in clusters}
    if not any(counts):
        return {}
    request = decode_resources(requests)
    alike = {count: demand_of_replicas(workload, count, request) for count in counts}
    return {name: alike[replicas] for name, replicas in clusters}


def take(ledger: Ledger, draft: Draft, outputs: Mapping[ObjectKey, Body]) -> None:
    """Go on with a binding as it was decided.

    Where a person edited its clusters nobody knows which it had: all of them are reserved.

    Raises:
        UserError: A request is no quantity.
    """
    body = outputs.get(draft.key)
    if body is None or body is draft.present:
        return
    present, stood = draft.present, draft.stood
    edited = present is not None and is_edited(draft.metadata, stood.placed, draft.resource)
    if present is not None and not edited and takes_the_same(present, body):
        return
    workload = draft.resource.key
    had = {} if edited else demands_of(workload, stood.clusters, requests_of(stood))
    has = demands_of(workload, clusters_in(body), decode_requests(body))
    ledger.take_all(draft.key, had, has)


def room_reads(draft: Draft, outputs: Mapping[ObjectKey, Body]) -> Reads:
    """Return what a binding asks of the ledger that stays as it is: something if it waits."""
    body = outputs.get(draft.key)
    waits = body is not None and complaint_in(bodies(mapping(body, "status"), "conditions"))
    return frozenset((ROOM,)) if waits else frozenset()
