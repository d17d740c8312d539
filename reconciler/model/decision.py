"""What one object got and why: feeds the commit message, the preview and the explanation."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from reconciler.model.explanation import ScorePart
from reconciler.model.identity import ClusterName, ObjectKey

Placed = tuple[tuple[ClusterName, int], ...]
"""Clusters with their replicas, ascending by name; 0 for what has no replicas."""


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
        return frozenset((self.kind, *(one.kind for one in self.also)))


def joined_causes(causes: Iterable[Cause]) -> Cause:
    """Return several causes as one, the first of each kind, in the order given.

    >>> str(joined_causes((Cause(CauseKind.EVICTED, "a"), Cause(CauseKind.REMOVED))))
    'evicted (a), removed'
    """
    by_kind: dict[CauseKind, Cause] = {}
    for one in causes:
        for part in (replace(one, also=()), *one.also):
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

    @property
    def stays(self) -> bool:
        """Whether it was rebalanced, and is where it was."""
        return self.cause.kind is CauseKind.REBALANCED and self.before == self.after
