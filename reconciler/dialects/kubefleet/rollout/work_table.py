"""The Works that clusters report, by the placement that they are of."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from reconciler.dialects.kubefleet.api.kinds import placement_key
from reconciler.dialects.kubefleet.api.names import GROUP, PARENT
from reconciler.dialects.kubefleet.workgenerator.work_marks import PARENT_NAMESPACE
from reconciler.model.body import Body
from reconciler.model.identity import ObjectKey
from reconciler.model.labels import labels_of
from reconciler.model.versioned import differing_keys
from reconciler.model.world import Manifest

WORK = "Work"


@dataclass(slots=True)
class WorkTable:
    """The Works of the feedback that was followed last; it is changed in place."""

    _feedback: Mapping[ObjectKey, Manifest] = field(default_factory=dict, repr=False)
    _works: dict[ObjectKey, tuple[Manifest, ...]] = field(default_factory=dict, repr=False)

    def follow(self, feedback: Mapping[ObjectKey, Manifest]) -> set[ObjectKey]:
        """Go on to other feedback, and return the placements with other Works than before."""
        changed = set()
        for key in differing_keys(feedback, self._feedback):
            if (key.group, key.kind) != (GROUP, WORK):
                continue
            before, now = self._feedback.get(key), feedback.get(key)
            if before is not None:
                owner = placement_of(before.body)
                rest = (one for one in self._works.get(owner, ()) if one.key != key)
                self._works[owner] = tuple(rest)
                changed.add(owner)
            if now is not None:
                owner = placement_of(now.body)
                rest = (one for one in self._works.get(owner, ()) if one.key != key)
                self._works[owner] = tuple(sorted((*rest, now), key=lambda one: one.key))
                changed.add(owner)
        self._feedback = feedback
        return changed

    def of(self, placement: ObjectKey) -> tuple[Manifest, ...]:
        """Return the Works of a placement, by key; the same ones unless one of them differs."""
        return self._works.get(placement, ())


def placement_of(work: Body) -> ObjectKey:
    """Return the placement that a Work is of.

    Source: kubefleet@e160c1c pkg/controllers/workgenerator/controller.go `generateSnapshotWorkObj`.
    """
    labels = labels_of(work)
    return placement_key(labels.get(PARENT_NAMESPACE, ""), labels.get(PARENT, ""))
