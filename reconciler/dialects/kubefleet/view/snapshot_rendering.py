"""The file of a snapshot: what a pass writes of it, and the digests by which edits are seen."""

from collections.abc import Mapping

from reconciler.dialects.kubefleet.api.kinds import named_in
from reconciler.dialects.kubefleet.api.policy_snapshot import lasting_status
from reconciler.dialects.kubefleet.scheduler.eligibility import timeless
from reconciler.dialects.kubefleet.snapshots.revision import annotations_of, labels_of
from reconciler.manifests.admission import SPEC_DIGEST, digest
from reconciler.model.body import Body
from reconciler.model.fields import mapping
from reconciler.model.identity import ObjectKey, uid_of

STATUS_DIGEST = "reconciler.dev/status-digest"


def snapshot_file(key: ObjectKey, body: Body, at: str) -> Body:
    """Return the file of a snapshot: with uid, date, and the digests by which edits are seen.

    Args:
        key: Its key.
        body: Where the pass leaves it.
        at: Text of the present moment, for one that is new.
    """
    metadata = mapping(body, "metadata")
    annotations = {**annotations_of(body), SPEC_DIGEST: digest(mapping(body, "spec"))}
    if mapping(body, "status"):
        annotations[STATUS_DIGEST] = digest(lasting_status(body, timeless))
    return {
        **body,
        "metadata": {
            **named_in(key.namespace, key.name),
            "uid": uid_of(key),
            "creationTimestamp": at,
            **metadata,
            "labels": _by_name(labels_of(body)),
            "annotations": _by_name(annotations),
        },
    }


def _by_name(pairs: Mapping[str, str]) -> dict[str, str]:
    """Return labels or annotations in one order, however they came about."""
    return {name: pairs[name] for name in sorted(pairs)}
