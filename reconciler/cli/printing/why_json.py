"""How an explanation is put for machines."""

from reconciler.audit.fleet.copy_wording import copy_json
from reconciler.audit.json_shapes import (
    coming_json,
    fault_json,
    moved_json,
    object_json,
    placed_json,
    suspender_json,
)
from reconciler.audit.previews.resumption import Suspension
from reconciler.audit.reasons import Why
from reconciler.model.decision import Decision
from reconciler.model.explanation import ClusterAnswer, Explanation


def why_json(why: Why, cluster: str | None) -> dict[str, object]:
    """Return the answer for machines."""
    edited = why.event is not None and why.event.decision is None
    shifts = [shift for shift in why.shifts if cluster in (None, shift.cluster)]
    return {
        "object": object_json(why.key),
        "placed": placed_json(why.placed),
        "decided": None if why.event is None or edited else moved_json(why.event),
        "edited": moved_json(why.event) if why.event is not None and edited else None,
        "next": None if why.coming is None else _coming_json(why.coming),
        "then": None if why.then is None else _explanation_json(why.then, cluster),
        "now": None if why.now is None else _explanation_json(why.now, cluster),
        "changedSince": [{"cluster": str(s.cluster), "message": s.message} for s in shifts],
        "copies": [
            copy_json(copy) for copy in why.copies if cluster in (None, copy.status.cluster)
        ],
        "coming": [coming_json(coming) for coming in why.later],
        "faults": [fault_json(fault) for fault in why.faults],
        "note": why.note,
        "suspended": None if why.suspension is None else _suspension_json(why.suspension),
    }


def _suspension_json(told: Suspension) -> dict[str, object]:
    """Return what suspends an object, what its files ask for, and what a resume would move."""
    return {
        "by": [suspender_json(one) for one in told.by],
        "question": told.question,
        "next": None if told.moves is None else _coming_json(told.moves),
    }


def _coming_json(decision: Decision) -> dict[str, object]:
    """Return what the next pass makes of it: from where to where, and why."""
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
        "rollout": list(told.rollout),
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
        "replicas": 0 if item.picked and item.replicas is None else item.replicas,
        "note": item.note,
        "down": item.down,
        "rejections": [
            {"plugin": verdict.plugin, "reason": verdict.reason, "remedy": verdict.remedy}
            for verdict in item.verdicts
        ],
    }
