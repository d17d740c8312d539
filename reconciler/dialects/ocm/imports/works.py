"""What of a ManifestWork counts as a report."""

from collections.abc import Iterator

from reconciler.dialects.agent_reports import (
    counted_conditions,
    counted_manifests,
    counted_metadata,
)
from reconciler.dialects.importer import AgentReport
from reconciler.dialects.ocm.manifestworkreplicaset.replica_set import (
    GROUP,
    KIND,
    PLACEMENT_LABEL,
    SET_LABEL,
)
from reconciler.dialects.ocm.manifestworkreplicaset.set_record import TEMPLATE
from reconciler.dialects.ocm.workstatus.work_reports import reports_in
from reconciler.model.body import Body
from reconciler.model.content import at
from reconciler.model.fields import bodies, mapping, text
from reconciler.model.identity import ObjectKey
from reconciler.model.labels import labels_of

META = ("group", "kind", "name", "namespace", "ordinal", "resource", "version")


def _counted(work: Body) -> Body:
    """Return a report; that of a set names its template, so it needs no manifests."""
    status, set_of = mapping(work, "status"), labels_of(work).get(SET_LABEL)
    manifests = [] if set_of else counted_manifests(work)
    listed = [_manifest(one) for one in bodies(at(status, "resourceStatus"), "manifests")]
    return {
        "apiVersion": work["apiVersion"],
        "kind": work["kind"],
        "metadata": counted_metadata(
            work, labels=(SET_LABEL, PLACEMENT_LABEL), annotations=(TEMPLATE,)
        ),
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


def _about(work: Body) -> Iterator[ObjectKey]:
    namespace, _, name = text(labels_of(work), SET_LABEL).partition(".")
    if name:
        yield ObjectKey(GROUP, KIND, namespace, name)
    for key, _ in reports_in(work):
        yield key


WORK_REPORT = AgentReport(counted=_counted, about=_about)
