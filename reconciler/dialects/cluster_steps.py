"""Moves that exchange clusters step by step, each made before it breaks, in whatever API.

A step adds clusters to what a placement chooses, and keeps as many of those that it leaves. One of
these goes as soon as a new one is ready; what is not ready in time is given back, and what was kept
for it is chosen again. `rebalance/surge.py` is the machine; here every cluster counts once.

What is under way stands in two annotations of the placement's status file: the goal with the
clusters that are kept, and the surge as every API writes it. A decision itself holds nothing of it
but clusters.
"""

from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet
from datetime import datetime
from typing import NamedTuple

from reconciler.dialects.contract import RescheduleTrigger
from reconciler.dialects.view import MergeEffects, Warned
from reconciler.manifests.admission import read_note, write_note
from reconciler.manifests.paths import output_path
from reconciler.manifests.text.reader import read
from reconciler.model.body import Body
from reconciler.model.decision import (
    NORMAL,
    WARNING,
    ObjectEvent,
    OutputChange,
    Placed,
    UpstreamEvent,
    Wait,
)
from reconciler.model.fields import at, text
from reconciler.model.identity import ClusterName, ObjectKey
from reconciler.model.kinds import Kind
from reconciler.model.moments import format_moment, is_moment, parse_moment
from reconciler.model.records import dataclass, replace
from reconciler.rebalance.surge import (
    GIVES_BACK,
    SURGE,
    StepResult,
    Surge,
    begin,
    encode_surge,
    given_back,
    go_on,
    surge_in,
)
from reconciler.rebalance.target import LAST_MOVE, write_last_move

MOVING_TO = "reconciler.dev/moving-to"
"""Annotation of a placement's status file: where it goes, since when, and what is kept so far."""

Clusters = AbstractSet[ClusterName]


class SteppedMove(NamedTuple):
    """A move that is not over.

    Attributes:
        goal: The clusters that it ends on.
        asked_at: The moment of the demand.
        kept: The clusters that are left, and stay until as many new ones are ready.
        surge: The clusters that are not ready yet, `None` between two steps.
    """

    goal: frozenset[ClusterName]
    asked_at: datetime
    kept: frozenset[ClusterName] = frozenset()
    surge: Surge | None = None


def move_in(record: Body | None) -> SteppedMove | None:
    """Return the move of a placement's status file, `None` if there is none or it was garbled."""
    notes = at({} if record is None else record, "metadata", "annotations")
    note = read_note(str(notes.get(MOVING_TO, "")))
    goal, kept, asked_at = note.get("goal"), note.get("kept", []), note.get("askedAt")
    if not isinstance(goal, list) or not isinstance(kept, list) or not is_moment(asked_at):
        return None
    return SteppedMove(
        goal=frozenset(map(ClusterName, map(str, goal))),
        asked_at=parse_moment(str(asked_at)),
        kept=frozenset(map(ClusterName, map(str, kept))),
        surge=None if record is None else surge_in(record),
    )


def _notes_of(move: SteppedMove) -> dict[str, str]:
    note: dict[str, object] = {
        "askedAt": format_moment(move.asked_at),
        "goal": sorted(move.goal),
    }
    if move.kept:
        note["kept"] = sorted(move.kept)
    beside = encode_surge(move.surge)
    return {MOVING_TO: write_note(note), **({SURGE: beside} if beside else {})}


@dataclass(frozen=True, slots=True)
class MoveRequest:
    """What is asked of a placement in a pass, beside what is under way.

    `move` is what earlier passes left to be done, `demand` a rebalancer's, `None` if there is none.
    `withdrawn` says that nobody asks for the move any more.
    """

    move: SteppedMove | None = None
    demand: RescheduleTrigger | None = None
    withdrawn: bool = False

    @property
    def stepped(self) -> RescheduleTrigger | None:
        """The demand if it is to be made before it breaks, else `None`."""
        return self.demand if self.demand is not None and self.demand.surge is not None else None

    @property
    def is_at_once(self) -> bool:
        """Whether a rebalancer demands something that moves at once."""
        return self.demand is not None and self.demand.surge is None

    @property
    def is_ended(self) -> bool:
        """Whether the goal of before counts no more: nobody asks for it, or for another one."""
        fresh = self.demand is not None and self.demand.fresh
        return self.withdrawn or self.is_at_once or fresh


NO_MOVE = MoveRequest()


def with_notes(metadata: Body, move: SteppedMove | None) -> Body:
    """Return the metadata of a status file with what is under way, and nothing of before."""
    notes = at(metadata, "annotations")
    if move is None and MOVING_TO not in notes and SURGE not in notes:
        return metadata
    kept = {name: value for name, value in notes.items() if name not in (MOVING_TO, SURGE)}
    return {**metadata, "annotations": {**kept, **({} if move is None else _notes_of(move))}}


def with_last_move(metadata: Body, record: Body | None, made: str) -> Body:
    """Return the metadata of a status file with the last move that was made with a rest.

    Args:
        metadata: As it is written.
        record: The status file so far, `None` without one.
        made: The annotation of a move of this pass, `""` for none: then the one of before stays.
    """
    noted = made or text(at({} if record is None else record, "metadata", "annotations"), LAST_MOVE)
    if not noted:
        return metadata
    return {**metadata, "annotations": {**at(metadata, "annotations"), LAST_MOVE: noted}}


def last_move_of(
    demand: RescheduleTrigger | None,
    before: Placed,
    after: Placed,
    move: "SteppedMove | None",
    now: datetime,
) -> str:
    """Return the annotation of the move that a demand brings about, `""` where it makes none.

    Args:
        demand: A rebalancer's, `None` if there is none.
        before: Where the placement was.
        after: Where it is now.
        move: What is under way, whose goal counts instead.
        now: Moment of the pass.
    """
    if demand is None or not demand.fresh:
        return ""
    goal = after if move is None else tuple((name, 0) for name in sorted(move.goal))
    return write_last_move(demand.rest_seconds, demand.by, before, goal, now)


class MovedPlacement(NamedTuple):
    """What a pass made of a placement that moves in steps.

    Attributes:
        move: What is still under way, `None` if nothing is.
        step: What became of the step before, `None` if there was none.
        begun: The step that began, `None` if none did.
        given_up: Why the goal will not be reached, `""` if it may.
        followed: Whether it went on to the goal of an earlier demand.
        by: Who brought about the step before, `""` without one.
        reached: Whether that step ended where the goal is.
    """

    move: SteppedMove | None = None
    step: StepResult | None = None
    begun: Surge | None = None
    given_up: str = ""
    followed: bool = False
    by: str = ""
    reached: bool = False

    @property
    def started(self) -> int | None:
        """How many clusters this pass began with beside others, `None` where nothing is stepped."""
        if self.begun is not None:
            return self.begun.size
        return None if self.step is None else 0

    @property
    def given_back(self) -> int:
        """How many clusters this pass gave back."""
        return 0 if self.step is None else self.step.lost

    def meets(self, demand: RescheduleTrigger | None) -> bool:
        """Return whether it brought about what was demanded in this pass, or earlier."""
        if self.given_up or self.reached or (self.step is not None and self.step.is_taken):
            return True
        if demand is None or demand.surge is None or demand.fresh:
            return demand is not None
        return self.followed

    @property
    def news(self) -> str:
        """What became of a step, and that one began, for people; `""` for nothing."""
        parts = [] if self.step is None or not self.step.news else [self.step.news]
        if self.begun is not None:
            parts.append(f"starts {self.begun.waits_for}")
        return "; ".join(parts)

    def left(self, chosen: Clusters) -> int:
        """Return how many clusters of the goal do not count yet, given those chosen afterwards."""
        return 0 if self.move is None else len(clusters_left(self.move, chosen))


UNMOVED = MovedPlacement()


def clusters_left(move: SteppedMove, chosen: Clusters) -> frozenset[ClusterName]:
    """Return the clusters of a goal that a placement has not, or which are not ready yet."""
    waiting = frozenset() if move.surge is None else move.surge.clusters
    return move.goal - (chosen - waiting)


def go_on_exchanging(
    move: SteppedMove,
    chosen: Clusters,
    kept: Clusters,
    ready: Callable[[ClusterName], bool],
    now: datetime,
    *,
    interrupted: bool,
) -> MovedPlacement:
    """Take what is ready of a step; give back the rest where it must not wait any longer.

    A cluster that is kept and is not there any more was taken by somebody else: as many of the new
    ones count from now on. The move that is returned keeps what is to stay, whether the step is
    over or not; where it is, those are chosen again.

    Args:
        move: What is under way.
        chosen: The clusters that are chosen, new ones included.
        kept: Those that it leaves and that are still there.
        ready: Asks the reports.
        now: Moment of the pass.
        interrupted: Whether nothing of it may wait any longer.
    """
    if move.surge is None:
        return MovedPlacement(move)
    doubled = sorted(move.surge.clusters & chosen)
    doubled.sort(key=ready)
    surge = replace(move.surge, doubled=dict.fromkeys(sorted(doubled[: len(kept)]), 1))
    step = go_on(
        surge,
        dict.fromkeys((*(chosen - surge.clusters), *kept), 1),
        dict.fromkeys(chosen, 1),
        lambda cluster, _: ready(cluster),
        now,
        interrupted=interrupted,
    )
    given_up = ""
    if step.late:
        late = ", ".join(sorted(step.returned))
        given_up = f"not ready on {late} by {format_moment(surge.deadline)}"
    goes_on = move._replace(kept=frozenset(kept & step.placed.keys()), surge=step.surge)
    return MovedPlacement(goes_on, step, given_up=given_up, by=surge.by)


def begin_exchanging(
    goal: Clusters,
    chosen: Clusters,
    demand: RescheduleTrigger,
    now: datetime,
    most: int | None = None,
) -> SteppedMove | None:
    """Return the next step towards a goal, `None` where nothing is left to exchange.

    Args:
        goal: As many clusters as are chosen.
        chosen: Those that are chosen now.
        demand: With how much may be doubled.
        now: Moment of the pass.
        most: How many clusters may be added at a time, `None` for any number.
    """
    bounds = [bound for bound in (most, demand.budget) if bound is not None]
    if demand.surge is None:
        return None
    surge = begin(
        dict.fromkeys(chosen, 1),
        dict.fromkeys(goal, 1),
        demand.surge,
        budget=min(bounds, default=None),
        by=demand.by,
        now=now,
    )
    if surge is None:
        return None
    leaves = frozenset(sorted(chosen - goal, reverse=True)[: surge.size])
    return SteppedMove(frozenset(goal), demand.at, kept=leaves, surge=surge)


def waits_of_step(key: ObjectKey, subject: str, move: SteppedMove | None) -> tuple[Wait, ...]:
    """Return what a placement waits for while a step is under way."""
    if move is None or move.surge is None:
        return ()
    until, reason = move.surge.deadline, move.surge.goes_on
    return (Wait(until=until, key=key, subject=subject, reason=reason, then=GIVES_BACK),)


def step_events(change: OutputChange, chosen: Clusters | None = None) -> Iterator[ObjectEvent]:
    """Yield what was given back of a step, and that one began; these events are ours.

    Args:
        change: Of the status file.
        chosen: The clusters that the placement has afterwards, `None` where other files say it.
    """
    was, now = move_in(change.before), move_in(change.after)
    before, after = (None if one is None else one.surge for one in (was, now))
    if before is not None and (after is None or after.began_at != before.began_at):
        gone = {} if chosen is None else dict.fromkeys(before.clusters - chosen, 1)
        if gone:
            yield change.key, UpstreamEvent(WARNING, "MoveGivenBack", given_back(gone))
    if after is not None and (before is None or before.began_at != after.began_at):
        yield change.key, UpstreamEvent(NORMAL, "MoveStepBegan", after.waits_for)


def step_warnings(effects: MergeEffects, kinds: AbstractSet[Kind]) -> Iterator[Warned]:
    """Yield the placements of some kinds that a merge moves in steps, and where they end."""
    for decision in effects.caused:
        path = output_path(effects.merged.output_root, decision.key)
        if decision.key[:2] not in kinds or MOVING_TO not in effects.written.get(path, ""):
            continue
        move = move_in(read(effects.written[path].encode(), path).documents[0].body)
        if move is not None and move.surge is not None:
            goal = ", ".join(sorted(move.goal))
            message = f"it moves in steps, first {move.surge.waits_for}; the goal is {goal}"
            yield Warned("first-batch", decision.subject, message)
