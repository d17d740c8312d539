"""A preview for machines."""

from collections.abc import Iterable

from reconciler.audit.preview import Entry, Preview
from reconciler.audit.wording import Heading, headline
from reconciler.model.decision import Placed
from reconciler.model.moments import format_moment
from reconciler.model.world import Fault

SCHEMA_VERSION = 1


def preview_json(preview: Preview, heading: Heading, **facts: object) -> dict[str, object]:
    """Return a preview as plain data; `facts` say what was compared."""
    recheck_at = preview.recheck_at
    return {
        "schemaVersion": SCHEMA_VERSION,
        "kind": heading.verb,
        "of": heading.line,
        **facts,
        "now": format_moment(preview.now),
        "recheckAt": None if recheck_at is None else format_moment(recheck_at),
        "headline": headline(preview.counts),
        "changes": preview.changes,
        "counts": {name: getattr(preview.counts, name) for name in type(preview.counts).__slots__},
        "objects": [_entry(entry) for entry in preview.entries],
        "anyway": [_entry(entry) for entry in preview.anyway],
        "warnings": [
            {"rule": w.rule, "subject": w.subject, "message": w.message} for w in preview.warnings
        ],
        "faults": _faults(preview.faults),
        "mended": _faults(preview.mended),
        "removes": list(preview.removes),
    }


def _entry(entry: Entry) -> dict[str, object]:
    key = entry.key
    return {
        "object": {
            "group": key.group, "kind": key.kind, "namespace": key.namespace, "name": key.name,
        },
        "subject": entry.subject,
        "becomes": str(entry.kind),
        "cause": entry.cause,
        "clusters": [
            {"cluster": str(m.cluster), "before": m.before, "after": m.after, "delta": m.delta}
            for m in entry.moves
        ],
        "problem": entry.problem,
        "rejected": {str(name): reason for name, reason in entry.rejected.items()},
        "withoutChange": None if entry.otherwise is None else _placed(entry.otherwise),
    }  # fmt: skip


def _placed(placed: Placed) -> list[dict[str, object]]:
    return [{"cluster": str(name), "replicas": count} for name, count in placed]


def _faults(faults: Iterable[Fault]) -> list[dict[str, object]]:
    return [
        {
            "path": fault.path,
            "line": fault.line,
            "column": fault.column,
            "field": fault.field,
            "rule": fault.rule,
            "message": fault.message,
            "expected": fault.expected,
            "object": fault.subject,
        }
        for fault in faults
    ]
