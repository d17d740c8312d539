"""What is known of the copies of a set of ManifestWorks: how far clusters are, whose turn it is.

What is assumed of silent clusters counts, too, but for those that a staged run has not brought to
the template, or gave it to without a report: silence passes no stage. The status with it is what
one look at the set says of the works that its file records, as passes decided last.
"""

from collections import defaultdict
from collections.abc import Callable, Container, Iterator, Mapping
from datetime import datetime
from functools import cached_property

from reconciler.dialects.ocm.api.placement import CLUSTER_GROUP, WORK_GROUP
from reconciler.dialects.ocm.hub import placement_key
from reconciler.dialects.ocm.manifestworkreplicaset.replica_set import (
    REPLICA_SET,
    ReplicaSet,
    WorkRecord,
    decode_record,
    decode_replica_set,
    rollout_status,
    sources_of,
    standing_set,
    template_id,
)
from reconciler.dialects.ocm.manifestworkreplicaset.reports import reported_work
from reconciler.dialects.ocm.manifestworkreplicaset.sync import (
    DecidedPlacement,
    decided_placement,
    says_assumed,
    set_status,
    sync,
    with_assumed,
)
from reconciler.dialects.ocm.placement_files import DECISION
from reconciler.dialects.ocm.rollout import RolloutStatus
from reconciler.dialects.ocm.view.placed import clusters_in, owner_of
from reconciler.dialects.view import Copies, CopyStatus, Report, waits_for_health
from reconciler.errors import UserError
from reconciler.model.body import Body
from reconciler.model.fields import mapping
from reconciler.model.identity import ClusterName, ObjectKey
from reconciler.model.moments import add, format_moment, span
from reconciler.model.records import dataclass
from reconciler.model.settings import settings_in
from reconciler.model.world import Manifest, World
from reconciler.staging.staged_delivery import (
    STAGED_DELIVERY,
    StagedVersions,
    staged_versions,
)

EARLIER = "an earlier template"
TURN = "its turn in the rollout"
DECISION_KIND = (CLUSTER_GROUP, "PlacementDecision")
LEAST_FIRST = (Report.UNHEALTHY, Report.NONE, Report.REPORTED, Report.ASSUMED, Report.HEALTHY)
REPORTS: Mapping[RolloutStatus, tuple[Report, str]] = {
    RolloutStatus.SUCCEEDED: (Report.HEALTHY, ""),
    RolloutStatus.FAILED: (Report.UNHEALTHY, "Degraded"),
    RolloutStatus.PROGRESSING: (Report.UNHEALTHY, "Progressing"),
}


def copies_in(world: World, now: datetime, /) -> Copies:
    """Return what knows of the copies of sets."""
    staged = _staged(world)

    def of(key: ObjectKey) -> tuple[CopyStatus, ...]:
        manifest = world.inputs.get(key) if key[:2] == (WORK_GROUP, REPLICA_SET) else None
        if manifest is None:
            return ()
        metadata = {**mapping(manifest.body, "metadata"), "namespace": key.namespace}
        wanted = decode_replica_set({**manifest.body, "metadata": metadata})
        return tuple(_copies(key, wanted, world, _in_run(staged, key), now))

    return of


def _copies(
    key: ObjectKey,
    wanted: ReplicaSet,
    world: World,
    in_run: Container[ClusterName],
    now: datetime,
) -> Iterator[CopyStatus]:
    """Yield the copies of a set, by cluster; then the clusters that have nothing of it yet."""
    output = world.outputs.get(key)
    works = decode_record(None if output is None else output.body).works
    present = template_id(wanted.template)
    seconds = settings_in(world).assume_after_seconds
    reports = [
        _report(key, wanted, work, world, None if work.cluster in in_run else seconds, now)
        for work in works
    ]
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
    key: ObjectKey,
    wanted: ReplicaSet,
    work: WorkRecord,
    world: World,
    seconds: int | None,
    now: datetime,
) -> tuple[Report, str]:
    """Return what is known of one work; after so many seconds of silence it is assumed to be up."""
    report = reported_work(
        key,
        wanted,
        work,
        template_id(wanted.template),
        sources_of(wanted.template, world.known.scopes),
        world.feedback,
        seconds,
        now,
    )
    if report.assumed:
        return Report.ASSUMED, ""
    if not report.work.conditions:
        return Report.NONE, ""
    return REPORTS.get(rollout_status(report.work)[0], (Report.REPORTED, ""))


def _staged(world: World) -> StagedVersions:
    return staged_versions(world.outputs_of_kind(STAGED_DELIVERY))


def _in_run(staged: StagedVersions, key: ObjectKey) -> Container[ClusterName]:
    """Return the clusters of a set that a staged run is to bring to its template, or has left."""
    record = staged.get(key)
    return () if record is None else record.objects[key].before


def _decided(key: ObjectKey, wanted: ReplicaSet, world: World) -> set[ClusterName]:
    """Return the clusters that the placements of a set decided for."""
    names = {one.name for one in wanted.references}
    clusters: set[ClusterName] = set()
    for manifest in world.outputs_of_kind(DECISION_KIND):
        owner = owner_of(manifest.key, manifest.body)
        if owner is not None and owner.namespace == key.namespace and owner.name in names:
            clusters.update(ClusterName(name) for name, _ in clusters_in(manifest.body))
    return clusters


def assumed_sets(world: World, now: datetime, /) -> Callable[[Manifest], Body]:
    """Return what says how sets are by now; one of which nothing is assumed stays the same."""
    hub = _Hub(world, now, settings_in(world).assume_after_seconds)

    def of(manifest: Manifest) -> Body:
        try:
            return hub.body(manifest)
        except UserError:  # a person made it unreadable, and it is shown as it stands
            return manifest.body

    return of


@dataclass
class _Hub:
    """The sets and placements of a world, at a moment."""

    world: World
    now: datetime
    seconds: int | None

    def body(self, output: Manifest) -> Body:
        """Return the status file of a set with what is assumed."""
        key, written = output.key, self.world.inputs.get(output.key)
        if written is None or self.seconds is None or says_assumed(output.body):
            return output.body
        wanted, record = standing_set(written), decode_record(output.body)
        template = template_id(wanted.template)
        objects = sources_of(wanted.template, self.world.known.scopes)
        in_run = _in_run(self._staged, key)
        works = [
            reported_work(
                key,
                wanted,
                one,
                template,
                objects,
                self.world.feedback,
                None if one.cluster in in_run else self.seconds,
                self.now,
            )
            for one in record.works
        ]
        since = [one.record.since for one in works if one.assumed]
        if not since:
            return output.body
        placements = {
            one.name: decided
            for one in wanted.references
            if (decided := self._placement(placement_key((key.namespace, one.name)))) is not None
        }
        outcome = sync(wanted, placements, [one.work for one in works], self.now)
        at = format_moment(add(max(since), span(seconds=self.seconds)))
        status = set_status(output.body, with_assumed(outcome, works), at=at)
        return {**output.body, "status": status}

    def _placement(self, key: ObjectKey) -> DecidedPlacement | None:
        """Return a placement as passes decided it last, `None` if they never did."""
        status = self.world.outputs.get(key)
        if status is None:
            return None
        return decided_placement(status.body, self._decisions.get(key, ()))

    @cached_property
    def _staged(self) -> StagedVersions:
        """Who has which versions of what is staged."""
        return _staged(self.world)

    @cached_property
    def _decisions(self) -> Mapping[ObjectKey, list[Body]]:
        """The PlacementDecisions of each placement, in order."""
        decisions: defaultdict[ObjectKey, list[Body]] = defaultdict(list)
        for manifest in self.world.outputs_of_kind((CLUSTER_GROUP, DECISION)):
            owner = owner_of(manifest.key, manifest.body)
            if owner is not None:
                decisions[owner].append(manifest.body)
        return decisions
