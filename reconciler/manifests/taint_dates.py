"""When a taint that names no moment was first seen, kept in the status file of its cluster."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from reconciler.manifests.annotation_json import read_moments, write_note
from reconciler.model.body import Body
from reconciler.model.fields import mapping, text
from reconciler.model.identity import uid_of
from reconciler.model.moments import stamp
from reconciler.model.world import Manifest

TAINTS_ADDED_AT = "reconciler.dev/taints-added-at"


def taint_id(taint: Body) -> str:
    """Return what makes a taint the same taint: key, value and effect."""
    value = text(taint, "value")
    return f"{text(taint, 'key')}{'=' if value else ''}{value}:{text(taint, 'effect')}"


def first_seen(taints: Iterable[Body], present: Manifest | None, now: datetime) -> dict[str, str]:
    """Return when each taint without `timeAdded` was first seen, as RFC 3339 text.

    A date that a person garbled starts anew.

    Args:
        taints: As written; those with a `timeAdded` are passed over.
        present: The cluster's status file of the last pass, `None` if there is none.
        now: Moment that dates taints first seen in this pass.
    """
    undated = sorted({taint_id(taint) for taint in taints if not text(taint, "timeAdded")})
    metadata = mapping(present.body, "metadata") if present is not None else {}
    recorded = text(mapping(metadata, "annotations"), TAINTS_ADDED_AT)
    moments = read_moments(recorded)
    return {taint: moments.get(taint) or str(stamp(now)) for taint in undated}


def dated(taints: Sequence[Body], added_at: Mapping[str, str]) -> list[Body]:
    """Return the taints, each with its moment."""
    return [
        taint if text(taint, "timeAdded") else {**taint, "timeAdded": added_at[taint_id(taint)]}
        for taint in taints
    ]


def taint_record(
    manifest: Manifest, added_at: Mapping[str, str], notes: Mapping[str, str] | None = None
) -> Body:
    """Return the status file of a cluster: the moments of its taints, and what else is noted."""
    moments = {TAINTS_ADDED_AT: write_note(added_at)} if added_at or not notes else {}
    return {
        "apiVersion": manifest.body["apiVersion"],
        "kind": manifest.key.kind,
        "metadata": {
            "name": manifest.key.name,
            "uid": uid_of(manifest.key),
            "annotations": {**moments, **(notes or {})},
        },
    }
