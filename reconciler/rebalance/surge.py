"""Make before break: a move starts replicas beside those that they replace, which wait for them.

A move goes in steps. A step begins with a surge: replicas that clusters of the goal get beside what
is placed. What is placed stays as it is, so nothing that runs is touched. Once a cluster is ready,
what it got is taken: its share grows, and those of clusters with more than the goal shrink by the
same number, in one commit. What is not ready by the deadline is given back, and so is all that is
not ready when something else interrupts the step.

So the replicas placed are at any moment as many as before, and a cluster loses replicas only in
the commit that counts as many ready ones elsewhere. Ready is what the caller reads of reports of
this very step: each copy that is delivered with a surge bears the moment of its step, and reports
bear it back. A generation would not do: a late report of an attempt that was given back has one
that is new, too.

The surge stands in an annotation, never in the placement: who cannot read it sees a valid one.
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import NamedTuple

from reconciler.manifests.admission import read_note, write_note
from reconciler.model.body import Body
from reconciler.model.fields import at
from reconciler.model.identity import ClusterName
from reconciler.model.moments import add, earliest, format_moment, is_moment, parse_moment, span
from reconciler.model.records import dataclass, field

SURGE = "reconciler.dev/surge"
"""Annotation of what is placed: the surge of the step that is under way."""
STEP = "reconciler.dev/step"
"""Annotation of a delivered copy, and of what a cluster reports of it: the moment of its step."""

GIVES_BACK = "what is not ready is given back"
"""What happens at the deadline of a step, a clause."""

Placed = Mapping[ClusterName, int]
"""Cluster to replicas."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MakeBeforeBreak:
    """How a move may double replicas.

    Attributes:
        deadline_seconds: How long a step may take.
        max_surge_percent: How much of a workload a step may double, rounded up.
        settle_seconds: How long a cluster must have been ready before its replicas are taken.
        leaving: The clusters that are to be left: no schedule afresh chooses them.
    """

    deadline_seconds: int = 600
    max_surge_percent: int = 25
    settle_seconds: int = 0
    leaving: frozenset[ClusterName] = frozenset()

    def most(self, replicas: int) -> int:
        """Return how many of so many replicas a step may double, at least one.

        >>> MakeBeforeBreak().most(9), MakeBeforeBreak(max_surge_percent=1).most(3)
        (3, 1)
        """
        return max(1, -(-replicas * self.max_surge_percent // 100))


def join_limits(asked: Iterable[MakeBeforeBreak]) -> MakeBeforeBreak | None:
    """Return what holds where several ask for it: the smallest surge, the earliest deadline.

    A cluster settles for as long as anybody asks for, and one that anybody wants left is left.
    `None` if nobody asks.
    """
    every = tuple(asked)
    if not every:
        return None
    return MakeBeforeBreak(
        deadline_seconds=min(one.deadline_seconds for one in every),
        max_surge_percent=min(one.max_surge_percent for one in every),
        settle_seconds=max(one.settle_seconds for one in every),
        leaving=frozenset().union(*(one.leaving for one in every)),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Surge:
    """The replicas that a step started and did not take yet.

    Attributes:
        doubled: Cluster to the replicas that it has beside what is placed there; never empty.
        began_at: The moment of the step, which its copies bear.
        deadline: When it gives back what is not ready.
        settle_seconds: See `MakeBeforeBreak`.
        ready_since: When the clusters that are ready were first seen so, without a break.
        by: Who moves the workload, for people.
    """

    doubled: Placed
    began_at: datetime
    deadline: datetime
    settle_seconds: int = 0
    ready_since: Mapping[ClusterName, datetime] = field(default_factory=dict)
    by: str = ""

    def step_on(self, cluster: ClusterName) -> str:
        """Return the moment of the step as the copy on a cluster bears it, `""` without a surge."""
        return format_moment(self.began_at) if cluster in self.doubled else ""

    def beside(self, cluster: ClusterName) -> str:
        """Return what a cluster has beside, and until when, `""` for nothing."""
        count = self.doubled.get(cluster, 0)
        return f"{count} to be ready by {format_moment(self.deadline)}" if count else ""

    @property
    def clusters(self) -> frozenset[ClusterName]:
        """The clusters that have something beside."""
        return frozenset(self.doubled)

    @property
    def size(self) -> int:
        """How many replicas run beside what is placed."""
        return sum(self.doubled.values())

    @property
    def waits_for(self) -> str:
        """What is still to be ready, and by when."""
        return f"{_listed(self.doubled)} to be ready by {format_moment(self.deadline)}"

    @property
    def started(self) -> str:
        """What was started, such as `4 on member1`."""
        return _listed(self.doubled)

    @property
    def goes_on(self) -> str:
        """What is under way, a clause."""
        return f"it waits for {_listed(self.doubled)} to be ready"


def with_surge(placed: Iterable[tuple[ClusterName, int]], surge: Surge | None) -> Placed:
    """Return what each cluster is to have: what is placed there, and what runs beside that.

    Nothing else adds the two: whoever delivers, reserves or counts asks here.
    """
    surged = dict(placed)
    for name, count in () if surge is None else surge.doubled.items():
        surged[name] = surged.get(name, 0) + count
    return surged


def begin(
    placed: Placed,
    goal: Placed,
    limits: MakeBeforeBreak,
    *,
    budget: int | None,
    by: str,
    now: datetime,
) -> Surge | None:
    """Return the surge of the next step towards a goal, `None` where nothing is left to move.

    Args:
        placed: As many replicas as the goal has.
        goal: Where they are to be.
        limits: How much may be doubled, and how long it may take.
        budget: How many may move now, one or more, `None` for all.
        by: Who moves them.
        now: Moment of the pass.
    """
    most = limits.most(sum(goal.values()))
    room = most if budget is None else min(most, budget)
    doubled: dict[ClusterName, int] = {}
    for name, lack in sorted(_above(goal, placed).items()):
        if room <= 0:
            break
        doubled[name] = min(lack, room)
        room -= doubled[name]
    if not doubled:
        return None
    return Surge(
        doubled=doubled,
        began_at=now,
        deadline=add(now, span(seconds=limits.deadline_seconds)),
        settle_seconds=limits.settle_seconds,
        by=by,
    )


class StepResult(NamedTuple):
    """What a pass makes of a step.

    Attributes:
        placed: What is placed afterwards: as many as before.
        surge: What is not taken yet, `None` where the step is over.
        taken: Cluster to the replicas that were ready and are taken.
        returned: Cluster to those that are given back.
        late: Whether that is for the deadline.
        until: When time alone would change this, `None` where the step is over.
    """

    placed: Placed
    surge: Surge | None
    taken: Placed
    returned: Placed
    late: bool = False
    until: datetime | None = None

    @property
    def is_taken(self) -> bool:
        """Whether anything was ready, and counts."""
        return bool(self.taken)

    @property
    def lost(self) -> int:
        """How many replicas are given back."""
        return sum(self.returned.values())

    @property
    def news(self) -> str:
        """What became of the surge, for people; `""` where it just goes on."""
        parts = [f"{_listed(self.taken)} ready"] if self.taken else []
        parts += [given_back(self.returned)] if self.returned else []
        return ", ".join(parts)


Ready = Callable[[ClusterName, int], bool]
"""Returns whether a cluster reports, of this step, so many replicas as ready."""


def go_on(
    surge: Surge, placed: Placed, goal: Placed, ready: Ready, now: datetime, *, interrupted: bool
) -> StepResult:
    """Take what is ready of a step; give back the rest at the deadline, or if it is interrupted.

    Args:
        surge: What it started.
        placed: What is placed by now.
        goal: Where the workload goes; what it does not want any more is given back.
        ready: Asks the reports.
        now: Moment of the pass.
        interrupted: Whether nothing of it may wait any longer.
    """
    wanted = with_surge(placed.items(), surge)
    since = {
        name: surge.ready_since.get(name, now)
        for name in sorted(surge.doubled)
        if ready(name, wanted[name])
    }
    settles = {name: add(at, span(seconds=surge.settle_seconds)) for name, at in since.items()}
    settled = [name for name, at in settles.items() if now >= at]
    placed, taken = _take(placed, goal, {name: surge.doubled[name] for name in settled})
    left = {name: count - taken.get(name, 0) for name, count in sorted(surge.doubled.items())}
    unwanted = {name: left[name] for name in settled if left[name]}
    waiting = {name: count for name, count in left.items() if name not in settled}
    late = now >= surge.deadline and bool(waiting)
    if late or interrupted:
        unwanted, waiting = {name: count for name, count in left.items() if count}, {}
    if not waiting:
        return StepResult(placed, None, taken, unwanted, late)
    known = {name: since[name] for name in waiting if name in since}
    goes_on = Surge(
        doubled=waiting,
        began_at=surge.began_at,
        deadline=surge.deadline,
        settle_seconds=surge.settle_seconds,
        ready_since=known,
        by=surge.by,
    )
    until = earliest(surge.deadline, *(settles[name] for name in known))
    return StepResult(placed, goes_on, taken, unwanted, until=until)


def displace(surge: Surge, placed: Placed, wanted: Placed) -> StepResult:
    """Return a step that something else ends: what it wants beside counts, the rest is given back.

    Args:
        surge: What the step started.
        placed: What was placed.
        wanted: What is placed instead.
    """
    more = _above(with_surge(placed.items(), surge), wanted)
    returned = {name: min(n, more[name]) for name, n in surge.doubled.items() if name in more}
    return StepResult(wanted, None, {}, returned)


def _take(placed: Placed, goal: Placed, ready: Placed) -> tuple[Placed, Placed]:
    """Return what is placed once what is ready counts, and how much of that was taken.

    Clusters with more than the goal give as many, the last by name first, as where batches move
    replicas at once. Without such a cluster nothing is taken: there would be more than before.
    """
    remaining, taken = dict(placed), {}
    surplus = _above(placed, goal)
    for name, count in sorted(ready.items()):
        share = min(count, goal.get(name, 0) - remaining.get(name, 0), sum(surplus.values()))
        if share <= 0:
            continue
        taken[name] = share
        remaining[name] = remaining.get(name, 0) + share
        for source in sorted(surplus, reverse=True):
            given = min(share, surplus[source])
            surplus[source] -= given
            remaining[source] -= given
            share -= given
    return {name: count for name, count in sorted(remaining.items()) if count}, taken


def _above(one: Placed, other: Placed) -> dict[ClusterName, int]:
    """Return by how much the first has more than the second, by cluster."""
    more = ((name, count - other.get(name, 0)) for name, count in one.items())
    return {name: count for name, count in more if count > 0}


def given_back(replicas: Placed) -> str:
    """Return that replicas were given back, for people."""
    return f"{_listed(replicas)} given back"


def _listed(replicas: Placed) -> str:
    return ", ".join(f"{count} on {name}" for name, count in sorted(replicas.items()))


def encode_surge(surge: Surge | None) -> str:
    """Return the annotation of a surge, `""` for none."""
    if surge is None:
        return ""
    note: dict[str, object] = {
        "beganAt": format_moment(surge.began_at),
        "by": surge.by,
        "beside": dict(surge.doubled),
        "deadline": format_moment(surge.deadline),
    }
    if surge.settle_seconds:
        note["settleSeconds"] = surge.settle_seconds
    if surge.ready_since:
        note["readySince"] = {name: format_moment(at) for name, at in surge.ready_since.items()}
    return write_note(note)


def decode_surge(text: str) -> Surge | None:
    """Return the surge of an annotation, `None` if there is none or a person garbled it."""
    note = read_note(text)
    doubled, ready = note.get("beside"), note.get("readySince", {})
    moments = (note.get("beganAt"), note.get("deadline"))
    if not isinstance(doubled, dict) or not isinstance(ready, dict) or not doubled:
        return None
    if not all(map(is_moment, (*moments, *ready.values()))):
        return None
    if not all(type(count) is int and count > 0 for count in doubled.values()):
        return None
    settle, by = note.get("settleSeconds", 0), note.get("by")
    began_at, deadline = (parse_moment(str(at)) for at in moments)
    return Surge(
        doubled={ClusterName(name): count for name, count in sorted(doubled.items())},
        began_at=began_at,
        deadline=deadline,
        settle_seconds=settle if type(settle) is int and settle >= 0 else 0,
        ready_since={ClusterName(name): parse_moment(at) for name, at in sorted(ready.items())},
        by=by if isinstance(by, str) else "",
    )


def surge_in(manifest: Body) -> Surge | None:
    """Return what runs beside what an output places, `None` if nothing does."""
    note = at(manifest, "metadata", "annotations").get(SURGE)
    return decode_surge(note) if isinstance(note, str) else None
