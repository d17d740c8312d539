"""What a rebalancer refers to, and what it finds there."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from reconciler.model.identity import ObjectKey
from reconciler.model.labels import LabelSelector, matches


@dataclass(frozen=True, slots=True, order=True)
class Reference:
    """A workload as a rebalancer names it; ordered as observedWorkloads is sorted.

    Source: karmada@f8fdd02 pkg/controllers/workloadrebalancer/workloadrebalancer_controller.go
    `buildWorkloadRebalancerStatus`: the string of apiVersion, kind, namespace and name.
    """

    api_version: str
    kind: str
    namespace: str
    name: str

    @property
    def order(self) -> str:
        """The text by which upstream sorts."""
        return f"{self.api_version} {self.kind} {self.namespace} {self.name}"


@dataclass(frozen=True, slots=True)
class MetDemand:
    """A demand that a pass met, whatever came of it.

    `left` is how many replicas the goal still lacks, `note` what kept it from a better result.
    """

    left: int = 0
    note: str = ""


Rescheduled = Mapping[ObjectKey, MetDemand]
"""The targets whose demand a pass met."""


def _one() -> int:
    return 1


def _nothing() -> None:
    return None


@dataclass(frozen=True, slots=True)
class Target:
    """The placement object behind a reference.

    Attributes:
        key: Whom to trigger.
        triggered_at: The trigger that it carries already, `None` if none.
        waits_for: Why it cannot be scheduled now, with file and line: it is faulty, held, suspended
            or has no placement; `""` if it can.
        divisible: Whether its replicas can move a few at a time.
        moves: Counts the replicas that a fresh schedule would move; asked only where moves are
            limited, as is `left`.
        left: Counts the replicas that an earlier batch left to be moved, `None` if there is no
            goal of an earlier batch, or none that can be reached any more.
        arrived: Whether all that is placed is reported healthy.
        evicting: Where it is still being evicted from, sorted; no schedule chooses these clusters.
    """

    key: ObjectKey
    triggered_at: datetime | None = None
    waits_for: str = ""
    divisible: bool = False
    moves: Callable[[], int] = _one
    left: Callable[[], int | None] = _nothing
    arrived: bool = False
    evicting: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetSelection:
    """A description of workloads; what is empty or `None` selects any.

    `policy` is the policy that claims them.
    """

    api_version: str = ""
    kind: str = ""
    namespace: str = ""
    labels: LabelSelector | None = None
    policy: ObjectKey | None = None


def selects(selection: TargetSelection, reference: Reference, labels: Mapping[str, str]) -> bool:
    """Return whether a description means an object, as far as the object itself tells."""
    if selection.api_version not in ("", reference.api_version):
        return False
    if selection.kind not in ("", reference.kind):
        return False
    if selection.namespace not in ("", reference.namespace):
        return False
    return selection.labels is None or matches(selection.labels, labels)


class Targets(Protocol):
    """All that may be rebalanced in a repository."""

    def find(self, reference: Reference, /) -> Target | None:
        """Return what a reference names, `None` if nothing."""

    def select(self, selection: TargetSelection, /) -> Iterable[Reference]:
        """Return what a description means, sorted."""

    def has_policy(self, key: ObjectKey, /) -> bool:
        """Return whether a policy is there."""
