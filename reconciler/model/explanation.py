"""Why an object is where it is: for every cluster each filter's verdict, its scores, its share.

It is made of the records that scheduling itself returns, and only when somebody asks.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from reconciler.model.identity import ClusterName, ObjectKey


@dataclass(frozen=True, slots=True)
class ClusterVerdict:
    """One filter that turns a cluster away: its upstream name, why, and what would have to change.

    `remedy` is a clause that follows "to be eligible", such as `tolerate maintenance:NoSchedule`.
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
