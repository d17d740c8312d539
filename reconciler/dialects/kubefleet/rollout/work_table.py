"""The Works that clusters report, by the placement that they are of."""

from collections.abc import Iterator

from reconciler.dialects.followed_index import FollowedIndex
from reconciler.dialects.kubefleet.api.kinds import placement_key
from reconciler.dialects.kubefleet.api.names import GROUP, PARENT
from reconciler.dialects.kubefleet.workgenerator.work_marks import PARENT_NAMESPACE
from reconciler.model.body import Body
from reconciler.model.identity import ObjectKey
from reconciler.model.labels import labels_of
from reconciler.model.world import Manifest

WORK = "Work"


def work_table() -> FollowedIndex[ObjectKey, Manifest]:
    """Return a table of the Works among what clusters report, by the placement of each."""
    return FollowedIndex(_placements)


def _placements(key: ObjectKey, report: Manifest) -> Iterator[ObjectKey]:
    """Yield the placement of a report that is a Work."""
    if (key.group, key.kind) == (GROUP, WORK):
        yield placement_of(report.body)


def placement_of(work: Body) -> ObjectKey:
    """Return the placement that a Work is of.

    Source: kubefleet@e160c1c pkg/controllers/workgenerator/controller.go `generateSnapshotWorkObj`.
    """
    labels = labels_of(work)
    return placement_key(labels.get(PARENT_NAMESPACE, ""), labels.get(PARENT, ""))
