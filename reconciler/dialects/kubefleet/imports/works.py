"""What of a Work counts as a report: whose it is, of which snapshot, and its conditions."""

from collections.abc import Iterator

from reconciler.dialects.agent_reports import counted_conditions, counted_metadata
from reconciler.dialects.importer import AgentReport
from reconciler.dialects.kubefleet.api.names import PARENT
from reconciler.dialects.kubefleet.rollout.work_table import placement_of
from reconciler.dialects.kubefleet.workgenerator.work_marks import PARENT_NAMESPACE, PARENT_SNAPSHOT
from reconciler.model.fields import mapping
from reconciler.model.identity import ObjectKey
from reconciler.model.world import Body


def _counted(work: Body) -> Body:
    return {
        "apiVersion": work["apiVersion"],
        "kind": work["kind"],
        "metadata": counted_metadata(
            work, labels=(PARENT, PARENT_NAMESPACE), annotations=(PARENT_SNAPSHOT,)
        ),
        "status": {"conditions": counted_conditions(mapping(work, "status"))},
    }


def _about(work: Body) -> Iterator[ObjectKey]:
    yield placement_of(work)


WORK_REPORT = AgentReport(counted=_counted, about=_about)
