"""What plain reports of single objects say of a work, where no ManifestWork is reported.

The status is the one that OCM's agent would have drawn from the same objects, so a rollout goes on
with what `reconciler import` writes. Reports do not say of which template they are: those that are
as they were when the cluster got its template say nothing of it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from reconciler.dialects.ocm.manifestworkreplicaset.manifest_work import WorkCondition
from reconciler.dialects.ocm.manifestworkreplicaset.set_record import (
    TOKEN,
    ObservedCondition,
    WorkRecord,
)
from reconciler.dialects.ocm.workstatus.work_status import FINALIZER, status_of_work
from reconciler.manifests.admission import digest
from reconciler.manifests.paths import plural_of
from reconciler.model.body import Body
from reconciler.model.fields import bodies, mapping, text
from reconciler.model.identity import ClusterName, ObjectKey
from reconciler.model.moments import format_moment
from reconciler.model.world import Manifest

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
        told = [[str(key), _told(body)] for key, body in sorted(self.bodies.items())]
        return digest(told).removeprefix("sha256:")[:TOKEN]


def _told(body: Body) -> list[object]:
    return [mapping(body, "metadata").get("generation"), body.get("status")]


def plain_reports(
    cluster: ClusterName, objects: Iterable[ObjectKey], feedback: Mapping[ObjectKey, Manifest]
) -> PlainReports:
    """Return what a cluster reports of some objects."""
    if not feedback:
        return PlainReports({})
    found = ((key, feedback.get(key._replace(reporter=cluster))) for key in objects)
    return PlainReports({key: one.body for key, one in found if one is not None})


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
    found = _conditions(record, template, reports, format_moment(now))
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


def _conditions(
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

    found = bodies(status_of_work(work, look_up, raw=False, at=at), "conditions")
    return {text(one, "type"): text(one, "status") for one in found}


def _manifest(key: ObjectKey, body: Body) -> Body:
    """Return how an agent names an object, as if it had just seen it."""
    version = text(body, "apiVersion").rpartition("/")[2]
    types = {"group": key.group, "version": version, "kind": key.kind}
    named = {"resource": plural_of(key.kind), "namespace": key.namespace, "name": key.name}
    return {"resourceMeta": {**types, **named}, "conditions": []}
