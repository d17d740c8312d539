"""A preview for machines."""

from reconciler.audit.json_shapes import coming_json, fault_json, object_json, placed_json
from reconciler.audit.previews.preview import Counts, Preview, PreviewEntry
from reconciler.audit.previews.wording import Heading, title
from reconciler.model.moments import format_moment


def preview_json(preview: Preview, heading: Heading, **facts: object) -> dict[str, object]:
    """Return a preview as plain data; `facts` say what was compared."""
    recheck_at = preview.recheck_at
    return {
        "of": heading.line,
        **facts,
        "at": format_moment(preview.now),
        "recheckAt": None if recheck_at is None else format_moment(recheck_at),
        "headline": title(preview),
        "changes": preview.changes,
        "counts": _counts(preview.counts),
        "objects": [_entry(entry) for entry in preview.entries],
        "anyway": [_entry(entry) for entry in preview.anyway],
        "later": [coming_json(coming) for coming in preview.later],
        "averted": [coming_json(coming) for coming in preview.averted],
        "laterAnyway": [coming_json(coming) for coming in preview.later_anyway],
        "warnings": [
            {"rule": w.rule, "subject": w.subject, "message": w.message} for w in preview.warnings
        ],
        "faults": [fault_json(fault) for fault in preview.faults],
        "mended": [fault_json(fault) for fault in preview.mended],
        "removes": list(preview.removes),
        "progress": [
            {"object": object_json(one.key), "clause": one.clause} for one in preview.progress
        ],
        "delivered": [
            {
                "transport": one.transport,
                "cluster": str(one.cluster),
                "written": one.written,
                "removed": one.removed,
            }
            for one in preview.delivered
        ],
    }


def _counts(counts: Counts) -> dict[str, int]:
    """Return how many objects become what, and how many replicas come and go."""
    return {
        "changed": counts.changed,
        "new": counts.new,
        "removed": counts.removed,
        "unschedulable": counts.stuck,
        "moving": counts.moving,
        "starting": counts.starting,
        "stopping": counts.stopping,
    }


def _entry(entry: PreviewEntry) -> dict[str, object]:
    return {
        "object": object_json(entry.key),
        "subject": entry.subject,
        "becomes": str(entry.kind),
        "cause": entry.cause,
        "clusters": [
            {"cluster": str(m.cluster), "before": m.before, "after": m.after, "delta": m.delta}
            for m in entry.moves
        ],
        "problem": entry.problem,
        "rejected": [
            {"cluster": str(name), "reason": reason} for name, reason in entry.rejected.items()
        ],
        "withoutChange": placed_json(entry.otherwise),
    }
