"""What is known of the copies of a set of ManifestWorks: how far clusters are, whose turn it is."""

from collections.abc import Iterator, Mapping
from datetime import datetime

from reconciler.dialects.copy_status import Copies, CopyStatus, Report, waits_for_health
from reconciler.dialects.ocm.api.placement import GROUP as PLACEMENT_GROUP
from reconciler.dialects.ocm.manifestworkreplicaset.manifest_work import rollout_status
from reconciler.dialects.ocm.manifestworkreplicaset.replica_set import (
    GROUP,
    KIND,
    ReplicaSet,
    decode_replica_set,
)
from reconciler.dialects.ocm.manifestworkreplicaset.set_record import (
    WorkRecord,
    decode_record,
    sources_of,
    template_id,
)
from reconciler.dialects.ocm.manifestworkreplicaset.set_reports import reported_work
from reconciler.dialects.ocm.rollout.cluster_status import RolloutStatus
from reconciler.dialects.ocm.view.placed import clusters_in, owner_of
from reconciler.model.fields import mapping
from reconciler.model.identity import ClusterName, ObjectKey
from reconciler.model.settings import settings_in
from reconciler.model.world import World

EARLIER = "an earlier template"
TURN = "its turn in the rollout"
DECISION = (PLACEMENT_GROUP, "PlacementDecision")
LEAST_FIRST = (Report.UNHEALTHY, Report.NONE, Report.REPORTED, Report.ASSUMED, Report.HEALTHY)
REPORTS: Mapping[RolloutStatus, tuple[Report, str]] = {
    RolloutStatus.SUCCEEDED: (Report.HEALTHY, ""),
    RolloutStatus.FAILED: (Report.UNHEALTHY, "Degraded"),
    RolloutStatus.PROGRESSING: (Report.UNHEALTHY, "Progressing"),
}


def copies_in(world: World, now: datetime, /) -> Copies:
    """Return what knows of the copies of sets."""

    def of(key: ObjectKey) -> tuple[CopyStatus, ...]:
        found = world.inputs.get(key) if key[:2] == (GROUP, KIND) else None
        if found is None:
            return ()
        metadata = {**mapping(found.body, "metadata"), "namespace": key.namespace}
        wanted = decode_replica_set({**found.body, "metadata": metadata})
        return tuple(_copies(key, wanted, world, now))

    return of


def _copies(
    key: ObjectKey, wanted: ReplicaSet, world: World, now: datetime
) -> Iterator[CopyStatus]:
    """Yield the copies of a set, by cluster; then the clusters that have nothing of it yet."""
    output = world.outputs.get(key)
    works = decode_record(None if output is None else output.body).works
    present = template_id(wanted.template)
    reports = [_report(key, wanted, work, world, now) for work in works]
    awaited = [
        work.cluster
        for work, (report, _) in zip(works, reports, strict=True)
        if work.template == present and report not in (Report.HEALTHY, Report.ASSUMED)
    ]
    waits = waits_for_health(awaited, "up to date") if awaited else TURN
    by_cluster: dict[ClusterName, list[CopyStatus]] = {}
    for work, (report, note) in zip(works, reports, strict=True):
        is_old = work.template != present
        status = CopyStatus(
            cluster=work.cluster,
            report=report,
            note=EARLIER if is_old else note,
            waits_for=waits if is_old else "",
        )
        by_cluster.setdefault(work.cluster, []).append(status)
    yield from (min(each, key=_standing) for each in by_cluster.values())
    for name in sorted(_decided(key, wanted, world) - {work.cluster for work in works}):
        yield CopyStatus(cluster=name, waits_for=waits)


def _standing(status: CopyStatus) -> tuple[bool, int]:
    """Return how far a copy is, the least first: of a cluster in several placements that counts."""
    return not status.waits_for, LEAST_FIRST.index(status.report)


def _report(
    key: ObjectKey, wanted: ReplicaSet, work: WorkRecord, world: World, now: datetime
) -> tuple[Report, str]:
    """Return what is known of one work."""
    found = reported_work(
        key,
        wanted,
        work,
        template_id(wanted.template),
        sources_of(wanted.template, world.known.scopes),
        world.feedback,
        settings_in(world).assume_after_seconds,
        now,
    )
    if found.assumed:
        return Report.ASSUMED, ""
    if not found.work.conditions:
        return Report.NONE, ""
    return REPORTS.get(rollout_status(found.work)[0], (Report.REPORTED, ""))


def _decided(key: ObjectKey, wanted: ReplicaSet, world: World) -> set[ClusterName]:
    """Return the clusters that the placements of a set decided for."""
    names = {one.name for one in wanted.references}
    found: set[ClusterName] = set()
    for one in world.outputs_of_kind(DECISION):
        owner = owner_of(one.key, one.body)
        if owner is not None and owner.namespace == key.namespace and owner.name in names:
            found.update(ClusterName(name) for name, _ in clusters_in(one.body))
    return found
