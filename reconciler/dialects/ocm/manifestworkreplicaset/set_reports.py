"""The ManifestWorks of a set as a look at it finds them: recorded, and reported or assumed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from reconciler.dialects.ocm.manifestworkreplicaset.manifest_work import (
    ManifestWork,
    WorkCondition,
    decode_work,
)
from reconciler.dialects.ocm.manifestworkreplicaset.plain_reports import (
    observed_record,
    plain_reports,
)
from reconciler.dialects.ocm.manifestworkreplicaset.replica_set import (
    GROUP,
    WORK,
    ReplicaSet,
    same_spec,
)
from reconciler.dialects.ocm.manifestworkreplicaset.set_record import (
    TEMPLATE,
    WorkRecord,
)
from reconciler.model.availability import assume
from reconciler.model.body import Body
from reconciler.model.fields import mapping, mapping_or_none, text
from reconciler.model.identity import ObjectKey
from reconciler.model.moments import add, span
from reconciler.model.world import Manifest


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
    key = ObjectKey(GROUP, WORK, record.cluster, name, record.cluster)
    report = feedback.get(key)
    if report is not None:
        told = _is_about(report.body, record, wanted)
        conditions = _conditions(report.body) if told else {}
        return ReportedWork(replace(bare, conditions=conditions), replace(record, observed=()))
    if record.template == present:
        reports = plain_reports(record.cluster, objects, feedback)
        record, observed = observed_record(record, wanted.template, reports, now)
        if observed:
            return ReportedWork(replace(bare, conditions=observed), record)
    found = assume(record.since, after_seconds, now)
    if not found.available:
        return ReportedWork(bare, record, until=found.until)
    since = add(record.since, span(seconds=after_seconds or 0))
    states = {"Applied": "True", "Available": "True", "Progressing": "False"}
    conditions = {
        name: WorkCondition(status, is_current=True, changed_at=since)
        for name, status in states.items()
    }
    return ReportedWork(replace(bare, conditions=conditions), record, assumed=True)


def _is_about(report: Body, record: WorkRecord, wanted: ReplicaSet) -> bool:
    """Return whether a report is of the template that its cluster has now."""
    template = text(mapping(mapping(report, "metadata"), "annotations"), TEMPLATE)
    if template:
        return template == record.template
    spec = mapping_or_none(report, "spec")
    return spec is None or same_spec(decode_work(report).spec, wanted.template)


def _conditions(report: Body) -> Mapping[str, WorkCondition]:
    """Return the conditions of a report; one without a generation is about what is there."""
    found = decode_work(report).conditions
    if "generation" in mapping(report, "metadata"):
        return found
    return {name: replace(one, is_current=True) for name, one in found.items()}
