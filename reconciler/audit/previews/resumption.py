"""What would happen if what is suspended were resumed."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

from reconciler.audit.fleet.suspensions import Suspender, suspenders_of
from reconciler.audit.previews.edits import put
from reconciler.audit.replay import Replay
from reconciler.core.dialects import KINDS
from reconciler.core.reconcile import Memo, reconcile
from reconciler.manifests.admission import SUSPEND
from reconciler.model.body import Body
from reconciler.model.decision import Decision, placed_text
from reconciler.model.fields import mapping
from reconciler.model.identity import ObjectKey
from reconciler.model.records import dataclass
from reconciler.model.settings import CONFIGURATION
from reconciler.model.world import World


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspension:
    """What suspends an object.

    Attributes:
        by: The manifests that say so, the nearest first.
        question: What its files ask for today, `""` where that is not computed.
        moves: What the next pass would move if all of them were resumed, `None` if nothing.
        is_known: Whether that is computed.
    """

    by: tuple[Suspender, ...]
    question: str
    moves: Decision | None
    is_known: bool = True

    @property
    def words(self) -> str:
        """What suspends it, and in which file, as a sentence goes on."""
        return " and ".join(one.clause for one in self.by)

    @property
    def resumed(self) -> str:
        """What would happen on resume, in a clause."""
        if not self.is_known:
            return "depends on other objects: see reconciler plan"
        if self.moves is None:
            return "it would stay where it is"
        move = f"{placed_text(self.moves.before)} -> {placed_text(self.moves.after)}"
        problem = f"; {self.moves.problem}" if self.moves.problem else ""
        return f"the next pass would move it: {move} ({self.moves.cause}){problem}"


def suspension_of(world: World, key: ObjectKey, now: datetime, replay: Replay) -> Suspension | None:
    """Return what suspends an object, and what a pass would say and do if nothing did.

    Args:
        world: As it is.
        key: What decisions about the object bear.
        now: Moment of the next pass.
        replay: What asks passes about one object.
    """
    by = suspenders_of(world, key)
    if not by:
        return None
    explanation, moves = replay.explain(resumed(world, by), key, now)
    is_still = moves is None or (moves.before == moves.after and not moves.problem)
    return Suspension(
        by=by,
        question="" if explanation is None else explanation.question,
        moves=None if is_still else moves,
        is_known=explanation is not None,
    )


def resumed_moves(
    world: World, suspenders: Collection[Suspender], now: datetime, memo: Memo | None = None
) -> tuple[Decision, ...]:
    """Return what a pass would move if it were resumed, and would not as it is, sorted.

    Args:
        world: As it is.
        suspenders: What is resumed.
        now: Moment of the pass.
        memo: What earlier passes remembered.
    """
    memo = memo or Memo()
    anyway = {one.key: one for one in reconcile(world, now, memo=memo).decisions}
    decisions = reconcile(resumed(world, suspenders), now, memo=memo).decisions
    moved = (one for one in decisions if one.before != one.after or one.problem)
    return tuple(
        sorted((one for one in moved if anyway.get(one.key) != one), key=lambda one: one.key)
    )


def resumed(world: World, suspenders: Collection[Suspender]) -> World:
    """Return the world without what suspends some of it."""
    return put(
        world, {one.key: _resumed(one.key, world.inputs[one.key].body) for one in suspenders}
    )


def resumed_text(moves: Sequence[Decision], most: int = 3) -> str:
    """Return what would happen on resume in a clause, the first few objects by name."""
    if not moves:
        return "resuming would move nothing now"
    lines = [
        f"{one.subject} {placed_text(one.before)} -> {placed_text(one.after)}"
        f"{f' ({one.problem})' if one.problem else ''}"
        for one in moves[:most]
    ]
    more = f" and {len(moves) - most} more" if len(moves) > most else ""
    return f"after resuming, the next pass moves {', '.join(lines)}{more}"


def _resumed(key: ObjectKey, body: Body) -> Body:
    """Return a manifest that suspends nothing."""
    metadata, spec = mapping(body, "metadata"), body.get("spec")
    annotations = {k: v for k, v in mapping(metadata, "annotations").items() if k != SUSPEND}
    edited: dict[str, object] = {**body, "metadata": {**metadata, "annotations": annotations}}
    if key[:2] == CONFIGURATION or key[:2] in KINDS.removable:
        fields = spec if isinstance(spec, Mapping) else {}
        edited["spec"] = {name: value for name, value in fields.items() if name != "suspend"}
    return edited
