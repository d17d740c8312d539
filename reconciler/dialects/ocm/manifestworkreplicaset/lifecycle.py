"""A set from its creation to its end: its finalizer, its works, and their removal with it.

A file has no finalizer: a set of a pass is one that has got its own and is not deleted, and a set
whose file is gone takes its works along at once, whatever its policy.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime

from reconciler.dialects.ocm.manifestworkreplicaset.manifest_work import ManifestWork
from reconciler.dialects.ocm.manifestworkreplicaset.replica_set import (
    GROUP,
    ReplicaSet,
    decode_replica_set,
)
from reconciler.dialects.ocm.manifestworkreplicaset.sync import (
    DecidedPlacement,
    DeleteWork,
    SetFinalizers,
    SetOutcome,
    sync,
)
from reconciler.model.fields import mapping
from reconciler.model.labels import is_label_value
from reconciler.model.world import Manifest

FINALIZER = f"{GROUP}/manifest-work-cleanup"
FOREGROUND = "Foreground"


def standing_set(manifest: Manifest) -> ReplicaSet:
    """Return a set that stands: what an API server would write of that, no file has.

    Raises:
        UserError: It cannot be decoded.
    """
    metadata = {**mapping(manifest.body, "metadata"), "namespace": manifest.key.namespace}
    metadata |= {"finalizers": [FINALIZER], "deletionTimestamp": None}
    return decode_replica_set({**manifest.body, "metadata": metadata})


def look_at(
    wanted: ReplicaSet,
    placements: Mapping[str, DecidedPlacement],
    works: Sequence[ManifestWork],
    now: datetime,
) -> SetOutcome:
    """Return what becomes of a set in one look, whether it is new, stands or is deleted.

    Args:
        wanted: The set.
        placements: The placements of its namespace that are there, by name.
        works: Its works, by cluster and name.
        now: Aware UTC.

    Source: ocm@00f84c3 pkg/work/hub/controllers/manifestworkreplicasetcontroller
    `manifestworkreplicaset_controller.go` `sync`.
    """
    if wanted.deleting and is_label_value(wanted.label):
        return _finalize(wanted, works)
    if FINALIZER not in wanted.finalizers and not wanted.deleting:
        return SetOutcome(actions=(SetFinalizers((*wanted.finalizers, FINALIZER)),))
    return sync(wanted, placements, works, now)


def _finalize(wanted: ReplicaSet, works: Sequence[ManifestWork]) -> SetOutcome:
    """Delete all works, again each time, then let the set go.

    Foreground waits until no work is left; nothing is said in the status.

    Source: ocm@00f84c3 pkg/work/hub/controllers/manifestworkreplicasetcontroller
    `manifestworkreplicaset_finalize_reconcile.go`.
    """
    deletes = tuple(map(DeleteWork, works))
    waits = wanted.cascade == FOREGROUND and bool(works)
    if waits or FINALIZER not in wanted.finalizers:
        return SetOutcome(actions=deletes)
    others = tuple(one for one in wanted.finalizers if one != FINALIZER)
    return SetOutcome(actions=(*deletes, SetFinalizers(others)))
