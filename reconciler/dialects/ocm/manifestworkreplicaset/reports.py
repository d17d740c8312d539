"""The ManifestWorks of a set as a look at it finds them: recorded, and reported or assumed.

Where no ManifestWork is reported, plain reports of single objects count. The status is the one that
OCM's agent would have drawn from the same objects, so a rollout goes on with what
`reconciler import` writes. Such reports do not say of which template they are: those that are as
they were when the cluster got its template say nothing of it. A copy of a set that is staged bears
the version that it is of, and so does its report.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from reconciler.dialects.ocm.api.placement import WORK_GROUP
from reconciler.dialects.ocm.manifestworkreplicaset.replica_set import (
    TEMPLATE,
    TOKEN,
    WORK,
    ManifestWork,
    ObservedCondition,
    ReplicaSet,
    WorkCondition,
    WorkRecord,
    decode_work,
    same_spec,
    sources_of,
)
from reconciler.dialects.ocm.workstatus.work_status import FINALIZER, status_of_work
from reconciler.dialects.renderer import ReportOn
from reconciler.manifests.admission import digest
from reconciler.manifests.paths import plural_of
from reconciler.model.body import Body
from reconciler.model.fields import at, bodies, mapping, mapping_or_none, text
from reconciler.model.health import Health, assume, health_of, is_judged
from reconciler.model.identity import ClusterName, ObjectKey
from reconciler.model.kinds import CopyReport, Kind
from reconciler.model.moments import add, format_moment, span
from reconciler.model.records import dataclass, replace
from reconciler.model.world import Manifest
from reconciler.rebalance.surge import STEP
from reconciler.staging.staged_delivery import CONTENT, content_digest


@dataclass(frozen=True, slots=True)
class ReportedWork:
    """A work with what is known of it.

    Attributes:
        work: As a look at its set finds it.
        record: What stands in its status file now.
        assumed: Whether its conditions are assumed, since nothing was reported.
        until: When they will be, `None` if they are already or never will be.
    """

    work: ManifestWork
    record: WorkRecord
    assumed: bool = False
    until: datetime | None = None


def reported_work(
    owner: ObjectKey,
    wanted: ReplicaSet,
    record: WorkRecord,
    present: str,
    objects: Sequence[ObjectKey],
    feedback: Mapping[ObjectKey, Manifest],
    after_seconds: int | None,
    now: datetime,
) -> ReportedWork:
    """Return a recorded work with its conditions.

    Args:
        owner: The set.
        wanted: The set, decoded.
        record: What stands in its status file.
        present: By what its template is known.
        objects: What is in it.
        feedback: What clusters report.
        after_seconds: After how long a silent cluster counts as having it, `None` for never.
        now: Aware UTC.
    """
    name = record.name(owner)
    bare = ManifestWork(
        cluster=record.cluster,
        name=name,
        labels=wanted.labels_for(record.placement),
        marks={},
        body={},
        spec=wanted.template if record.template == present else {TEMPLATE: record.template},
        deleting=False,
        conditions={},
    )
    key = ObjectKey(WORK_GROUP, WORK, record.cluster, name, record.cluster)
    report = feedback.get(key)
    if report is not None:
        is_current = _is_about(report.body, record, wanted)
        conditions = _reported_conditions(report.body) if is_current else {}
        return ReportedWork(replace(bare, conditions=conditions), replace(record, observed=()))
    if record.template == present:
        reports = plain_reports(record.cluster, objects, feedback)
        if reports.tell_another(wanted):
            return ReportedWork(bare, replace(record, observed=()))
        record, observed = observed_record(record, wanted.template, reports, now)
        if observed:
            return ReportedWork(replace(bare, conditions=observed), record)
    assumed = assume(record.since, after_seconds, now)
    if not assumed.available:
        return ReportedWork(bare, record, until=assumed.until)
    since = add(record.since, span(seconds=after_seconds or 0))
    states = {"Applied": "True", "Available": "True", "Progressing": "False"}
    conditions = {
        name: WorkCondition(status, is_current=True, changed_at=since)
        for name, status in states.items()
    }
    return ReportedWork(replace(bare, conditions=conditions), record, assumed=True)


def reported_copies(
    owner: ObjectKey,
    wanted: ReplicaSet,
    works: Mapping[ClusterName, WorkRecord],
    scopes: Mapping[Kind, bool],
    report_on: ReportOn,
    cluster: ClusterName,
) -> Sequence[CopyReport | None]:
    """Return what a cluster says of the present version of a set, object by object.

    A ManifestWork that is reported speaks for all of them. Objects of a kind without health need
    not be reported, unless there are no others.

    Args:
        owner: The set.
        wanted: The set, decoded.
        works: A work of it by cluster.
        scopes: Whether a kind is namespaced.
        report_on: Returns what clusters report.
        cluster: Which is asked about.
    """
    work = works.get(cluster)
    if work is None:
        return (None,)
    report = report_on(ObjectKey(WORK_GROUP, WORK, cluster, work.name(owner)), cluster)
    if report is not None:
        return (_work_as_copy(report.body, work, wanted),)
    sources = sources_of(wanted.template, scopes)
    found = [(source, report_on(source, cluster)) for source in sources]
    told = [one for key, one in found if one is not None or is_judged(key.group, key.kind)]
    return told or (None,)


def _work_as_copy(report: Body, record: WorkRecord, wanted: ReplicaSet) -> CopyReport | None:
    """Return a ManifestWork as a report of a copy, `None` if it says nothing of the version."""
    if not _is_about(report, record, wanted):
        return None
    found = {
        name: one.status for name, one in _reported_conditions(report).items() if one.is_current
    }
    bare = {"metadata": {"annotations": {CONTENT: content_digest(wanted.content)}}}
    if found.get("Applied") == "False":
        return CopyReport(body=bare, applied=False)
    if (found.get("Progressing"), found.get("Degraded")) == ("True", "True"):
        failed = {"conditions": [{"type": "Failed", "status": "True", "reason": "Degraded"}]}
        return CopyReport(body={**bare, "status": failed}, judged=Health.UNHEALTHY)
    if found.get("Applied") != "True" or "Available" not in found:
        return None
    well = found["Available"] == "True" and found.get("Progressing", "False") == "False"
    return CopyReport(body=bare, judged=Health.HEALTHY if well else Health.UNHEALTHY)


def _is_about(report: Body, record: WorkRecord, wanted: ReplicaSet) -> bool:
    """Return whether a report is of the template that its cluster has now."""
    template = text(mapping(mapping(report, "metadata"), "annotations"), TEMPLATE)
    if template:
        return template == record.template
    spec = mapping_or_none(report, "spec")
    return spec is None or same_spec(decode_work(report).spec, wanted.template)


def _reported_conditions(report: Body) -> Mapping[str, WorkCondition]:
    """Return the conditions of a report; one without a generation is about what is there."""
    conditions = decode_work(report).conditions
    if "generation" in mapping(report, "metadata"):
        return conditions
    return {name: replace(one, is_current=True) for name, one in conditions.items()}


def has_made(
    owner: ObjectKey,
    wanted: ReplicaSet,
    work: WorkRecord | None,
    sources: Sequence[ObjectKey],
    feedback: Mapping[ObjectKey, Manifest],
    began_at: datetime,
) -> bool:
    """Return whether a cluster reports all that a step gave it of a set as available.

    Args:
        owner: The set.
        wanted: The set, decoded.
        work: What the cluster has of it by the present template, `None` if nothing.
        sources: What is in that template.
        feedback: What clusters report.
        began_at: Moment of the step. A plain copy bears it; a ManifestWork has become available
            since.
    """
    if work is None:
        return False
    key = ObjectKey(WORK_GROUP, WORK, work.cluster, work.name(owner), work.cluster)
    report = feedback.get(key)
    if report is not None:
        known = _reported_conditions(report.body) if _is_about(report.body, work, wanted) else {}
        found = known.get("Available")
        since = None if found is None else found.changed_at
        is_true = found is not None and found.is_current and found.status == "True"
        return is_true and since is not None and since >= began_at
    copies = plain_reports(work.cluster, sources, feedback).bodies
    step = format_moment(began_at)
    return (
        bool(copies)
        and all(at(one, "metadata", "annotations").get(STEP) == step for one in copies.values())
        and all(_is_well(key, copies.get(key)) for key in sources)
    )


def is_reported(
    owner: ObjectKey,
    work: WorkRecord,
    sources: Sequence[ObjectKey],
    feedback: Mapping[ObjectKey, Manifest],
) -> bool:
    """Return whether a cluster reports anything of what it has of a set."""
    key = ObjectKey(WORK_GROUP, WORK, work.cluster, work.name(owner), work.cluster)
    return key in feedback or bool(plain_reports(work.cluster, sources, feedback).bodies)


def _is_well(key: ObjectKey, body: Body | None) -> bool:
    """Return whether an object is healthy, if its kind has health; else it need not be reported."""
    if not is_judged(key.group, key.kind):
        return True
    return body is not None and health_of(body) is Health.HEALTHY


PROGRESSING = "Progressing"
ROLLED_BY = (PROGRESSING, "Degraded")
"""Conditions whose moments a rollout looks at."""


@dataclass(frozen=True, slots=True)
class PlainReports:
    """The plain reports of one cluster on the objects of a template, by object."""

    bodies: Mapping[ObjectKey, Body]

    @property
    def token(self) -> str:
        """By what these reports are known again, `""` if there are none."""
        if not self.bodies:
            return ""
        rows = [[str(key), _told(body)] for key, body in sorted(self.bodies.items())]
        return digest(rows).removeprefix("sha256:")[:TOKEN]

    def tell_another(self, wanted: ReplicaSet) -> bool:
        """Return whether they are of another version of a set that is staged."""
        marks = {at(one, "metadata", "annotations").get(CONTENT) for one in self.bodies.values()}
        return bool(marks - {None}) and marks - {None} != {content_digest(wanted.content)}


def _told(body: Body) -> list[object]:
    return [mapping(body, "metadata").get("generation"), body.get("status")]


def plain_reports(
    cluster: ClusterName, objects: Iterable[ObjectKey], feedback: Mapping[ObjectKey, Manifest]
) -> PlainReports:
    """Return what a cluster reports of some objects."""
    if not feedback:
        return PlainReports({})
    reports = ((key, feedback.get(key._replace(reporter=cluster))) for key in objects)
    return PlainReports({key: one.body for key, one in reports if one is not None})


def observed_record(
    record: WorkRecord, template: Body, reports: PlainReports, now: datetime
) -> tuple[WorkRecord, Mapping[str, WorkCondition]]:
    """Return a record with what is observed now, and the conditions that follow.

    There are none if nothing new was reported since the cluster got its template, or if the
    template does not ask whether it progresses.

    Args:
        record: Of a cluster that has the present template.
        template: The spec of its ManifestWork.
        reports: Of its cluster.
        now: For conditions that were not observed before, or were otherwise.
    """
    if not reports.bodies or reports.token == record.seen:
        return replace(record, observed=()), {}
    found = _judged_conditions(record, template, reports, format_moment(now))
    if PROGRESSING not in found:
        return replace(record, observed=()), {}
    known = {(one.kind, one.status): one for one in record.observed}
    observed = {
        kind: known.get((kind, found[kind]), ObservedCondition(kind, found[kind], now))
        for kind in ROLLED_BY
        if kind in found
    }
    conditions = {
        kind: WorkCondition(
            status,
            is_current=True,
            changed_at=observed[kind].since if kind in observed else record.since,
        )
        for kind, status in found.items()
    }
    return replace(record, observed=tuple(observed.values())), conditions


def _judged_conditions(
    record: WorkRecord, template: Body, reports: PlainReports, at: str
) -> Mapping[str, str]:
    """Return type to status of the conditions of a work; what is reported is applied."""
    applied = {"type": "Applied", "status": "True", "lastTransitionTime": at}
    work = {
        "metadata": {"name": record.placement, "generation": 1, "finalizers": [FINALIZER]},
        "spec": template,
        "status": {
            "conditions": [applied],
            "resourceStatus": {"manifests": [_manifest(*one) for one in reports.bodies.items()]},
        },
    }

    def look_up(meta: Body) -> Body | None:
        group, kind, namespace, name = (
            text(meta, field) for field in ("group", "kind", "namespace", "name")
        )
        return reports.bodies.get(ObjectKey(group, kind, namespace, name))

    conditions = bodies(status_of_work(work, look_up, raw=False, at=at), "conditions")
    return {text(one, "type"): text(one, "status") for one in conditions}


def _manifest(key: ObjectKey, body: Body) -> Body:
    """Return how an agent names an object, as if it had just seen it."""
    version = text(body, "apiVersion").rpartition("/")[2]
    types = {"group": key.group, "version": version, "kind": key.kind}
    named = {"resource": plural_of(key.kind), "namespace": key.namespace, "name": key.name}
    return {"resourceMeta": {**types, **named}, "conditions": []}
