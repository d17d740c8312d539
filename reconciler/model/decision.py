"""What one object got and why: feeds the commit message, the preview and the explanation.

An explanation has for every cluster each filter's verdict, its scores, its share. It is made of the
records that scheduling itself returns, and only when somebody asks. A wait says for which moment,
and what happens then if nothing else does before. Events have upstream's words, and those of every
API are read from conditions.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from reconciler.model.body import Body
from reconciler.model.fields import bodies, mapping, text
from reconciler.model.identity import ClusterName, ObjectKey
from reconciler.model.records import dataclass, field, replace


@dataclass(frozen=True, slots=True)
class ClusterVerdict:
    """One filter that turns a cluster away: its upstream name, why, and what would have to change.

    `remedy` is a clause that follows "to qualify", such as `tolerate maintenance:NoSchedule`.
    """

    plugin: str
    reason: str
    remedy: str


@dataclass(frozen=True, slots=True)
class ScorePart:
    """What one plugin adds to a cluster's score: its own score and the weight it counts with."""

    plugin: str
    score: int
    weight: int = 1

    def __str__(self) -> str:
        """Return the part as people read it, such as `Steady 2 x 100`: the weight comes first."""
        return f"{self.plugin} {self.weight} x {self.score}"


def total_of(parts: Iterable[ScorePart]) -> int:
    """Return the sum of weight times score.

    >>> total_of([ScorePart("Balance", 100), ScorePart("Steady", -3, 10)])
    70
    """
    return sum(part.weight * part.score for part in parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterAnswer:
    """What scheduling says of one cluster.

    Attributes:
        cluster: Its name.
        verdicts: Every filter that turns it away, in the order in which they run; empty if it is
            feasible.
        scores: The parts of its score, in the order of the plugins; empty unless it was scored.
        total: What the parts come to, `None` unless it was scored.
        rank: Its place in the order, from 1; `None` unless it was ranked.
        picked: Whether it was chosen.
        replicas: Its share, `None` for what has no replicas or if it was not chosen.
        down: What is wrong with the cluster itself, a clause; `""` if nothing is known to be.
        note: What else decided, such as `takes up to 12 more replicas`; `""` for nothing.
    """

    cluster: ClusterName
    verdicts: tuple[ClusterVerdict, ...] = ()
    scores: tuple[ScorePart, ...] = ()
    total: int | None = None
    rank: int | None = None
    picked: bool = False
    replicas: int | None = None
    down: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """What scheduling says of one object.

    Attributes:
        key: The output that holds the decision.
        subject: What was placed, as people call it.
        question: What was asked for, such as `9 replicas, divided by available replicas`.
        result: The condition in one sentence, upstream's words.
        clusters: Every cluster, ascending by name.
        steps: The selection and the division step by step, one sentence each, in order.
        judged: Whether scheduling asked; if not, the rest is what is kept, or what it would say.
        rollout: How far it is rolled out and what that waits for, one sentence each.
    """

    key: ObjectKey
    subject: str
    question: str
    result: str
    clusters: tuple[ClusterAnswer, ...]
    steps: tuple[str, ...] = ()
    judged: bool = True
    rollout: tuple[str, ...] = ()


Explain = Callable[[], Explanation]
"""Makes the explanation when it is asked for; until then nothing is formatted."""


Placed = tuple[tuple[ClusterName, int], ...]
"""Clusters with their replicas, ascending by name; 0 for what has no replicas."""


def _replicas_in(placed: Iterable[tuple[str, int]]) -> int:
    """Return how many replicas are placed; of what has none each copy counts.

    >>> _replicas_in((("a", 2), ("b", 0)))
    3
    """
    return sum(count or 1 for _, count in placed)


def placed_text(placed: Placed) -> str:
    """Return clusters with replicas, `nowhere` if there are none.

    >>> placed_text((("a", 2), ("b", 0))), placed_text(())
    ('a(2), b', 'nowhere')
    """
    shown = ", ".join(f"{name}({count})" if count else str(name) for name, count in placed)
    return shown or "nowhere"


class CauseKind(StrEnum):
    """Why an object was looked at anew."""

    CREATED = "created"
    PLACEMENT_CHANGED = "placement changed"
    REPLICAS_CHANGED = "replicas changed"
    REQUESTS_CHANGED = "requests changed"
    RESUMED = "resumed"
    SUSPENDED = "suspended"
    REBALANCED = "rebalanced"
    RETRIED = "rebalance tried again"
    EVICTED = "evicted"
    CLUSTER_GONE = "cluster gone"
    CLUSTERS_CHANGED = "clusters changed"
    SCORES_CHANGED = "scores changed"
    QUOTA_CHANGED = "quota changed"
    REMOVED = "removed"
    NEVER_PROPAGATED = "never propagated"
    EDITED = "edited by hand"
    RESTORED = "restored"


@dataclass(frozen=True, slots=True)
class Cause:
    """A cause and its detail, such as the rebalancer's name; `""` where there is none.

    `also` are further causes, each of which is enough, or which were needed together with it.
    `sources` are the inputs that it stands for, where it stands for certain ones.
    """

    kind: CauseKind
    detail: str = ""
    also: tuple["Cause", ...] = ()
    sources: tuple[ObjectKey, ...] = field(default=(), compare=False)

    def __str__(self) -> str:
        first = f"{self.kind} ({self.detail})" if self.detail else str(self.kind)
        return ", ".join((first, *map(str, self.also)))

    @property
    def kinds(self) -> frozenset[CauseKind]:
        """Its kind, and those of the further causes."""
        return frozenset((self.kind, *(reference.kind for reference in self.also)))


def joined_causes(causes: Iterable[Cause]) -> Cause:
    """Return several causes as one, the first of each kind, in the order given.

    >>> str(joined_causes((Cause(CauseKind.EVICTED, "a"), Cause(CauseKind.REMOVED))))
    'evicted (a), removed'
    """
    by_kind: dict[CauseKind, Cause] = {}
    for cause in causes:
        for part in (replace(cause, also=()), *cause.also):
            by_kind.setdefault(part.kind, part)
    first, *others = by_kind.values()
    return replace(first, also=tuple(others))


@dataclass(frozen=True, slots=True)
class Decision:
    """One object that moved, that could not be placed, or that was rebalanced where it is.

    Attributes:
        key: The output that holds the decision.
        subject: What was placed, as people call it, such as `default/nginx`.
        cause: Why it was looked at.
        before: Where it was, empty if it is new.
        after: Where it is now, empty if nowhere.
        problem: Why it has fewer clusters than it asked for, `""` if it has all.
        rejected: Cluster to the sentence that says why it was turned away.
        removed: Whether the object is gone altogether.
        scores: Cluster chosen to the parts of its score, as they were at this decision; empty
            where weighted scores do not decide.
        evicted: Clusters that it was made to leave, by their taints or since it is unhealthy there.
        begun: Replicas that were started beside those that they are to replace, `None` where what
            moves is moved at once.
        given_back: Replicas, or clusters of what has none, that were started and are not needed, or
            were not ready in time.
    """

    key: ObjectKey
    subject: str
    cause: Cause
    before: Placed
    after: Placed
    problem: str = ""
    rejected: Mapping[ClusterName, str] = field(default_factory=dict)
    removed: bool = False
    scores: Mapping[ClusterName, tuple[ScorePart, ...]] = field(default_factory=dict)
    evicted: tuple[ClusterName, ...] = ()
    begun: int | None = None
    given_back: int = 0

    @property
    def stays(self) -> bool:
        """Whether it was rebalanced, and is where it was."""
        return self.cause.kind is CauseKind.REBALANCED and self.before == self.after

    @property
    def lost(self) -> int:
        """How many replicas an object that stays has fewer than before, 0 for none."""
        return 0 if self.removed else max(0, _replicas_in(self.before) - _replicas_in(self.after))


class Wait(NamedTuple):
    """One object that stays as it is until a moment; a tuple, for each round sorts all of them.

    Attributes:
        until: When time alone ends it.
        key: What decisions about the object bear, or a rebalancer.
        subject: The object as people call it.
        reason: Why it stays, a clause that `until` and the moment follow.
        then: What happens at that moment, a clause that `then` precedes.
    """

    until: datetime
    key: ObjectKey
    subject: str
    reason: str
    then: str


NORMAL, WARNING = "Normal", "Warning"
OURS = "reconciler"


@dataclass(frozen=True, slots=True)
class UpstreamEvent:
    """What an event says: Normal or Warning, upstream's reason, upstream's message.

    `source` is upstream's component that records it or, where it has it in a status only, writes
    that status; `OURS` of what no upstream knows.
    """

    type: str
    reason: str
    message: str
    source: str = OURS


ObjectEvent = tuple[ObjectKey, UpstreamEvent]
"""What an event is about, and what it says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputChange:
    """What a pass changed in one output.

    Attributes:
        key: Of the output.
        before: What it held, empty if it is new.
        after: What it holds.
        beside: The other outputs as the same commit left them.
        evicted: Clusters that it was made to leave, where neither state says so.
    """

    key: ObjectKey
    before: Body
    after: Body
    beside: Sequence[Body] = ()
    evicted: Sequence[str] = ()


def condition_of(body: Body, kind: str) -> Body:
    """Return a condition, an empty one if there is none."""
    conditions = bodies(mapping(body, "status"), "conditions")
    return next((c for c in conditions if c.get("type") == kind), {})


def said(body: Body, kind: str) -> tuple[str, ...]:
    """Return what a condition says."""
    condition = condition_of(body, kind)
    return tuple(text(condition, field) for field in ("status", "reason", "message"))
