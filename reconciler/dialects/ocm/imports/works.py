"""What of a ManifestWork counts as a report."""

from collections.abc import Iterator

from reconciler.dialects.agent_reports import (
    counted_conditions,
    counted_manifests,
    counted_metadata,
)
from reconciler.dialects.importer import AgentReport
from reconciler.dialects.ocm.manifestworkreplicaset.manifest_work import decode_work
from reconciler.dialects.ocm.manifestworkreplicaset.replica_set import (
    PLACEMENT_LABEL,
    SET_LABEL,
    set_of,
)
from reconciler.dialects.ocm.manifestworkreplicaset.set_record import TEMPLATE, template_id
from reconciler.dialects.ocm.workstatus.work_reports import reports_in
from reconciler.model.body import Body
from reconciler.model.content import at
from reconciler.model.fields import bodies, mapping
from reconciler.model.identity import ObjectKey
from reconciler.model.labels import labels_of

META = ("group", "kind", "name", "namespace", "ordinal", "resource", "version")


def _counted(work: Body) -> Body:
    """Return a report; that of a set names its template, so it needs no manifests.

    One that its set made on a hub does not name it, so it is told from what is in it.
    """
    status, in_set = mapping(work, "status"), labels_of(work).get(SET_LABEL)
    metadata = counted_metadata(work, labels=(SET_LABEL, PLACEMENT_LABEL), annotations=(TEMPLATE,))
    if in_set and "annotations" not in metadata and mapping(work, "spec"):
        metadata = {**metadata, "annotations": {TEMPLATE: template_id(decode_work(work).spec)}}
    manifests = [] if in_set else counted_manifests(work)
    listed = [_manifest(one) for one in bodies(at(status, "resourceStatus"), "manifests")]
    return {
        "apiVersion": work["apiVersion"],
        "kind": work["kind"],
        "metadata": metadata,
        **({"spec": {"workload": {"manifests": manifests}}} if manifests else {}),
        "status": {
            "conditions": counted_conditions(status),
            **({"resourceStatus": {"manifests": listed}} if listed else {}),
        },
    }


def _manifest(one: Body) -> Body:
    meta, values = mapping(one, "resourceMeta"), bodies(mapping(one, "statusFeedback"), "values")
    return {
        "conditions": counted_conditions(one),
        "resourceMeta": {name: meta[name] for name in META if name in meta},
        **({"statusFeedback": {"values": list(values)}} if values else {}),
    }


def _is_of_a_set(work: Body) -> bool:
    """Return whether a rollout goes by a work, so that it waits for one that nobody applied yet."""
    return SET_LABEL in labels_of(work)


def _about(work: Body) -> Iterator[ObjectKey]:
    if owner := set_of(work):
        yield owner
    for key, _ in reports_in(work):
        yield key


WORK_REPORT = AgentReport(counted=_counted, about=_about, tells_without_status=_is_of_a_set)
