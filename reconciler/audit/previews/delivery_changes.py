"""What a change of the inputs does to the files that clusters get, counted by cluster."""

from collections import Counter
from dataclasses import dataclass

from reconciler.core.changes import Change, DeleteFile, Outcome
from reconciler.delivery.kustomization import FILE as KUSTOMIZATION
from reconciler.delivery.record import recorded
from reconciler.delivery.settings import Destination, decode_delivery
from reconciler.model.identity import ClusterName
from reconciler.model.settings import settings_in
from reconciler.model.world import World


@dataclass(frozen=True, slots=True, order=True)
class DeliveryChange:
    """How many files of a cluster come or change, and how many go.

    The cluster is `""` for files of no cluster alone, such as lists of clusters.
    """

    transport: str
    cluster: ClusterName
    written: int
    removed: int


def delivery_changes(
    merged: World, outcome: Outcome, baseline: Outcome
) -> tuple[DeliveryChange, ...]:
    """Return what a change does to delivered files on the branch that is served, sorted.

    Args:
        merged: The world with the change.
        outcome: Of a pass over it.
        baseline: Of a pass without the change; what both do is left out.
    """
    known = set(baseline.delivered)
    configured = decode_delivery(settings_in(merged)).on("").destinations
    destinations = tuple(sorted({*configured, *recorded(merged.outputs)}))
    counts: Counter[tuple[str, ClusterName, bool]] = Counter()
    for one in outcome.delivered:
        if one in known or one.path.endswith(f"/{KUSTOMIZATION}"):
            continue
        found = _destination(one, destinations)
        if found is not None:
            counts[found.transport, found.cluster_of(one.path), isinstance(one, DeleteFile)] += 1
    return tuple(
        DeliveryChange(
            transport,
            cluster,
            written=counts[transport, cluster, False],
            removed=counts[transport, cluster, True],
        )
        for transport, cluster in sorted({(transport, cluster) for transport, cluster, _ in counts})
    )


def _destination(change: Change, destinations: tuple[Destination, ...]) -> Destination | None:
    """Return where a file is delivered to."""
    return next((one for one in destinations if one.holds(change.path)), None)
