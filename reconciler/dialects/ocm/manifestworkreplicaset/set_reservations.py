"""What a set of ManifestWorks takes of its clusters."""

from collections.abc import Mapping

from reconciler.dialects.ocm.manifestworkreplicaset.replica_set import ReplicaSet, manifests_of
from reconciler.dialects.ocm.manifestworkreplicaset.set_record import (
    SetRecord,
    sources_of,
    template_id,
)
from reconciler.model.identity import ObjectKey
from reconciler.model.known_kinds import Kind
from reconciler.schedule.capacity.ledger import Ledger
from reconciler.schedule.capacity.reservation import ClusterDemand
from reconciler.schedule.capacity.workload_pods import demand_of_manifests


def take_set(
    ledger: Ledger,
    key: ObjectKey,
    wanted: ReplicaSet,
    known: SetRecord,
    now: SetRecord,
    scopes: Mapping[Kind, bool],
) -> None:
    """Go on with a set as it was decided.

    What an earlier template brought is not known any more, so a cluster that gets another one is
    reserved as if it had nothing.

    Args:
        ledger: What is reserved.
        key: Of the set.
        wanted: The set.
        known: Its works before.
        now: Its works as they are decided.
        scopes: Whether a kind is namespaced.
    """
    if known.works == now.works:
        return
    demand, present = carried_by(wanted, scopes), template_id(wanted.template)
    ledger.take_all(key, _on(known, demand, present), _on(now, demand, present))


def carried_by(wanted: ReplicaSet, scopes: Mapping[Kind, bool]) -> ClusterDemand:
    """Return what a set takes of each cluster that it is on."""
    sources = sources_of(wanted.template, scopes)
    return demand_of_manifests(zip(sources, manifests_of(wanted.template), strict=True))


def _on(record: SetRecord, demand: ClusterDemand, template: str) -> dict[str, ClusterDemand]:
    """Return what clusters take that have the present template."""
    return {one.cluster: demand for one in record.works if one.template == template}
