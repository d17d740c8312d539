"""What of a Work counts as a report: of which snapshot it is, its conditions, what is wrong."""

from collections.abc import Iterator

from reconciler.dialects.agent_reports import counted_conditions, counted_metadata
from reconciler.dialects.importer import AgentReport
from reconciler.dialects.kubefleet.api.names import PARENT
from reconciler.dialects.kubefleet.rollout.work_problems import without_secrets
from reconciler.dialects.kubefleet.rollout.work_table import placement_of
from reconciler.dialects.kubefleet.workgenerator.work_marks import (
    ENVELOPE_KIND,
    ENVELOPE_NAME,
    ENVELOPE_NAMESPACE,
    PARENT_NAMESPACE,
    PARENT_SNAPSHOT,
)
from reconciler.model.body import Body
from reconciler.model.fields import bodies, mapping
from reconciler.model.identity import ObjectKey

LABELS = (PARENT, PARENT_NAMESPACE, ENVELOPE_KIND, ENVELOPE_NAME, ENVELOPE_NAMESPACE)
DETAILS = ("diffDetails", "driftDetails")


def _counted(work: Body) -> Body:
    status = mapping(work, "status")
    found = map(_counted_manifest, bodies(status, "manifestConditions"))
    manifests = [one for one in found if one]
    return {
        "apiVersion": work["apiVersion"],
        "kind": work["kind"],
        "metadata": counted_metadata(work, labels=LABELS, annotations=(PARENT_SNAPSHOT,)),
        "status": {
            "conditions": counted_conditions(status),
            **({"manifestConditions": manifests} if manifests else {}),
        },
    }


def _counted_manifest(one: Body) -> Body:
    """Return what is wrong with a manifest, and which it is; empty if nothing is."""
    failed = [item for item in counted_conditions(one) if item.get("status") == "False"]
    found = {name: mapping(one, name) for name in DETAILS}
    details = {name: without_secrets(one, told) for name, told in found.items() if told}
    if not failed and not details:
        return {}
    return {"identifier": mapping(one, "identifier"), "conditions": failed, **details}


def _about(work: Body) -> Iterator[ObjectKey]:
    yield placement_of(work)


WORK_REPORT = AgentReport(
    counted=_counted,
    about=_about,
    heartbeats=tuple(f"status.manifestConditions.*.{name}.observationTime" for name in DETAILS),
)
