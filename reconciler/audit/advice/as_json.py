"""Advice for machines."""

from reconciler.audit.advice.advice import Advice, AdvisedMove
from reconciler.audit.advice.choice import NotAdvised
from reconciler.audit.advice.gains import Goal
from reconciler.audit.json_shapes import object_json, placed_json
from reconciler.model.moments import format_moment
from reconciler.rebalance.rebalancer_status import encode_reference
from reconciler.rebalance.target import Reference


def advice_json(advice: Advice, path: str) -> dict[str, object]:
    """Return advice as plain data; `path` is the file that the rebalancer is for."""
    request, nothing = advice.request, advice.body is None
    return {
        "commit": advice.revision,
        "at": format_moment(advice.now),
        "goals": [str(goal) for goal in Goal if goal in request.goals],
        "score": None if request.family is None else str(request.family.score),
        "limits": {
            "maxMoves": request.max_moves,
            "minGain": request.min_points,
            "batch": request.batch_moves,
        },
        "path": None if nothing else path,
        "manifest": advice.body,
        "moves": advice.moved,
        "passes": advice.passes,
        "finished": advice.finished,
        "advised": [_move(one) for one in advice.moves],
        "notAdvised": [_other(one) for one in advice.others],
    }


def _move(one: AdvisedMove) -> dict[str, object]:
    return {
        "object": object_json(one.key),
        "target": _target(one.reference),
        "subject": one.subject,
        "from": placed_json(one.before),
        "to": placed_json(one.after),
        "moves": one.moves,
        "points": one.points,
        "gains": [
            {"goal": str(gain.goal), "points": gain.points, "words": gain.words}
            for gain in one.gains
        ],
    }


def _other(one: NotAdvised) -> dict[str, object]:
    return {
        "object": object_json(one.key),
        "target": _target(one.reference),
        "subject": one.subject,
        "why": str(one.why),
        "detail": one.detail,
        "moves": one.moves,
        "points": one.points,
    }


def _target(reference: Reference | None) -> dict[str, object] | None:
    return None if reference is None else encode_reference(reference)
