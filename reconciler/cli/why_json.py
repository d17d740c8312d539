"""How an explanation is put for machines."""

from reconciler.audit.journal import Event
from reconciler.audit.reasons import Why
from reconciler.cli.faults import fault_line
from reconciler.cli.history import commit_json, placed_json
from reconciler.model.decision import Decision
from reconciler.model.explanation import ClusterAnswer, Explanation
from reconciler.model.moments import format_moment


def why_json(why: Why, cluster: str | None) -> dict[str, object]:
    """Return the answer for machines."""
    shifts = [shift for shift in why.shifts if cluster in (None, shift.cluster)]
    key = why.key
    return {
        "schemaVersion": 1,
        "object": {
            "group": key.group,
            "kind": key.kind,
            "namespace": key.namespace,
            "name": key.name,
        },
        "placed": placed_json(why.placed),
        "decided": _decided_json(why.event),
        "edited": _edited_json(why.event),
        "next": None if why.coming is None else _moved_json(why.coming),
        "then": None if why.then is None else _explanation_json(why.then, cluster),
        "now": None if why.now is None else _explanation_json(why.now, cluster),
        "changedSince": [{"cluster": str(s.cluster), "message": s.message} for s in shifts],
        "faults": [fault_line(fault) for fault in why.faults],
        "note": why.note,
    }


def _decided_json(event: Event | None) -> dict[str, object] | None:
    """Return the pass that decided last, `None` if a person edited what it wrote."""
    if event is None or event.decision is None:
        return None
    return {
        "commit": event.commit.revision,
        "at": format_moment(event.at),
        **_moved_json(event.decision),
        "problem": event.decision.problem,
        "inputs": [commit_json(cause) for cause in event.causes],
    }


def _edited_json(event: Event | None) -> dict[str, object] | None:
    """Return a person's edit that came after the last pass that decided, `None` if none did."""
    if event is None or event.decision is not None:
        return None
    return {
        **commit_json(event.commit),
        "at": format_moment(event.at),
        "before": placed_json(event.before),
        "after": placed_json(event.after),
    }


def _moved_json(decision: Decision) -> dict[str, object]:
    """Return from where to where, and why."""
    return {
        "cause": str(decision.cause),
        "before": placed_json(decision.before),
        "after": placed_json(decision.after),
    }


def _explanation_json(told: Explanation, cluster: str | None) -> dict[str, object]:
    """Return one explanation."""
    return {
        "subject": told.subject,
        "question": told.question,
        "result": told.result,
        "clusters": [_answer_json(a) for a in told.clusters if cluster in (None, a.cluster)],
        "steps": list(told.steps),
    }


def _answer_json(item: ClusterAnswer) -> dict[str, object]:
    """Return what is said of one cluster."""
    return {
        "cluster": str(item.cluster),
        "picked": item.picked,
        "rank": item.rank,
        "total": item.total,
        "scores": [
            {"plugin": part.plugin, "score": part.score, "weight": part.weight}
            for part in item.scores
        ],
        "replicas": item.replicas,
        "note": item.note,
        "rejections": [
            {"plugin": verdict.plugin, "reason": verdict.reason, "remedy": verdict.remedy}
            for verdict in item.verdicts
        ],
    }
