"""How clusters of an API are emptied, and why something stays on one nevertheless."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from reconciler.model.body import Body
from reconciler.model.fields import bodies, mapping, text
from reconciler.model.identity import ClusterName, ObjectKey
from reconciler.model.known_kinds import Kind
from reconciler.model.taints import Taint, TaintEffect, Toleration, tolerates
from reconciler.model.world import World

DRAINED = "reconciler.dev/drained"
"""Key of the taint of a drained cluster, where the API has an effect by which things leave."""

DRAINS = "reconciler.dev/drains"
"""Annotation of what a drain wrote beside the taint: the name of the cluster."""


def _no_requests(_world: World, _cluster: ClusterName, /) -> tuple[()]:
    return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Draining:
    """One API's way.

    Attributes:
        taint: What a drained cluster has.
        stays: Returns why a placement does not leave a drained cluster by itself, a clause; `""`
            if nothing is known that keeps it.
        requests: Yields the objects that ask placements to leave a cluster, as far as nothing asks
            them yet.
        request_kind: Kind of these, `None` if there are none.
    """

    taint: Body
    stays: Callable[[World, ObjectKey, ClusterName], str]
    requests: Callable[[World, ClusterName], Iterable[tuple[ObjectKey, Body]]] = _no_requests
    request_kind: Kind | None = None


def is_drained(cluster: Body, draining: Draining) -> bool:
    """Return whether the manifest of a cluster has the taint of a drained one."""
    return any(
        all(text(one, name) == text(draining.taint, name) for name in ("key", "effect"))
        for one in bodies(mapping(cluster, "spec"), "taints")
    )


def drained_by(world: World, cluster: ObjectKey, draining: Draining) -> list[ObjectKey]:
    """Return what a drain of a cluster wrote beside its taint, sorted."""
    if draining.request_kind is None:
        return []
    written = world.of_kind(*draining.request_kind)
    return [one.key for one in written if _drains(one.body) == cluster.name]


def _drains(request: Body) -> str:
    return text(mapping(mapping(request, "metadata"), "annotations"), DRAINS)


def tolerated_for_ever(tolerations: Iterable[Toleration], taint: Body) -> str:
    """Return the clause for a taint that is tolerated without an end, `""` if it is not."""
    known = Taint(text(taint, "key"), text(taint, "value"), TaintEffect(text(taint, "effect")))
    endless = any(one.toleration_seconds is None and tolerates(one, known) for one in tolerations)
    return f"it tolerates {known} without an end" if endless else ""
