"""What a rebalancer refers to, and what it finds there.

The kinds by which people demand that something is rebalanced are Karmada's.
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple, Protocol

from reconciler.errors import UserError
from reconciler.manifests.admission import read_note, write_note
from reconciler.model.decision import Placed
from reconciler.model.identity import ClusterName, ObjectKey, group_of
from reconciler.model.kinds import ApiKind, Writer
from reconciler.model.labels import LabelSelector, matches
from reconciler.model.moments import add, format_moment, is_moment, parse_moment, span
from reconciler.model.records import dataclass, field
from reconciler.rebalance.surge import Surge


class Reference(NamedTuple):
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

    @property
    def key(self) -> ObjectKey:
        """The object that is named; the version of its API does not count."""
        return ObjectKey(group_of(self.api_version), self.kind, self.namespace, self.name)


@dataclass(frozen=True, slots=True)
class MetDemand:
    """A demand that a pass met, whatever came of it.

    `left` is how many replicas the goal still lacks, `note` what kept it from a better result.
    `taken` is how many became ready elsewhere and count now, `given_up` why the rest never will.
    """

    left: int = 0
    note: str = ""
    taken: int = 0
    given_up: str = ""


Rescheduled = Mapping[ObjectKey, MetDemand]
"""The targets whose demand a pass met."""


class AffinityPlace(NamedTuple):
    """The affinity group that placed an object, by name, and its place among those tried, from 0.

    One that is not among them any more comes after all of them.
    """

    place: int
    name: str


class PresentPlace(NamedTuple):
    """Where an object is, and whether a schedule afresh could place more of it.

    Attributes:
        placed: Its clusters.
        group: The affinity group that placed it, `None` where it has none.
        whole: Whether all parts are placed that there can be: none could be more.
    """

    placed: Placed
    group: AffinityPlace | None = None
    whole: bool = False


class FreshPlace(NamedTuple):
    """Where a schedule afresh would put an object.

    Attributes:
        before: Where it is.
        after: Where it would be.
        problem: Why it would have fewer clusters than it asks for, `""` if it would have all.
        groups: The affinity groups before and after, `None` where it has none.
    """

    before: Placed
    after: Placed
    problem: str = ""
    groups: tuple[AffinityPlace | None, AffinityPlace | None] = (None, None)

    @property
    def exchanged(self) -> int:
        """How many clusters it would have in the place of others."""
        was, becomes = dict(self.before).keys(), dict(self.after).keys()
        return min(len(becomes - was), len(was - becomes))


LAST_MOVE = "reconciler.dev/last-move"
"""Annotation of an output: the last move that was made with a rest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LastMove:
    """A move after which an object is left alone for a while.

    Attributes:
        at: When it was made, or begun.
        until: When the rest is over.
        by: Who made it, for people.
        left: Where the object was.
        went: Where it went.
    """

    at: datetime
    until: datetime
    by: str
    left: frozenset[ClusterName]
    went: frozenset[ClusterName]

    @property
    def told(self) -> str:
        """That the object rests, a clause."""
        return f"it rests until {format_moment(self.until)}: {self.by} moved it"

    @property
    def undone(self) -> str:
        """That another move would undo this one, a clause."""
        return f"it would oscillate back to {', '.join(sorted(self.left))}: {self.told}"

    def rests(self, place: FreshPlace, now: datetime) -> bool:
        """Return whether an object is still where it went, and its rest is not over."""
        return now < self.until and {name for name, _ in place.before} == self.went

    def is_undone(self, place: FreshPlace) -> bool:
        """Return whether a schedule afresh brings an object back to where it was."""
        return self.left != self.went and {name for name, _ in place.after} == self.left


def read_last_move(text: str) -> LastMove | None:
    """Return the move of an annotation, `None` if there is none or a person garbled it."""
    note = read_note(text)
    moments, places = (note.get("at"), note.get("until")), (note.get("from"), note.get("to"))
    if not all(map(is_moment, moments)) or not all(isinstance(one, dict) for one in places):
        return None
    at, until = (parse_moment(str(one)) for one in moments)
    left, went = (frozenset(map(ClusterName, one)) for one in places if isinstance(one, dict))
    return LastMove(at=at, until=until, by=str(note.get("by", "")), left=left, went=went)


def write_last_move(
    rest_seconds: int | None, by: str, before: Placed, after: Placed, now: datetime
) -> str:
    """Return the annotation of a move, `""` where none is made or nobody asks for a rest.

    Args:
        rest_seconds: How long the object is to be left alone, `None` for no rest.
        by: Who moves it.
        before: Where it was.
        after: Where it goes.
        now: Moment of the pass.
    """
    if rest_seconds is None or dict(before) == dict(after):
        return ""
    return write_note(
        {
            "at": format_moment(now),
            "by": by,
            "from": dict(before),
            "to": dict(after),
            "until": format_moment(add(now, span(seconds=rest_seconds))),
        }
    )


def exchanged_by(afresh: Callable[[], FreshPlace | None]) -> int:
    """Return how many clusters a schedule afresh would exchange, 0 where there is none."""
    place = afresh()
    return 0 if place is None else place.exchanged


def _one() -> int:
    return 1


def _nothing() -> None:
    return None


NOT_BUILT = "makeBeforeBreak is not available for placements of its API, which move at once"


NOT_KEPT = "preserveAvailableReplicas is available for workloads that Karmada divides"


def _not_built() -> str:
    return NOT_BUILT


def _not_kept() -> str:
    return NOT_KEPT


@dataclass(frozen=True, slots=True)
class Target:
    """The placement object behind a reference.

    Attributes:
        key: Whom to trigger.
        triggered_at: The trigger that it carries already, `None` if none.
        waits_for: Why it cannot be scheduled now, with file and line: it is faulty, held, suspended
            or has no placement; `""` if it can.
        divisible: Whether its replicas can move a few at a time.
        stepped: Whether its clusters can, once it is made before it breaks; else they move at once.
        moves: Counts the replicas that a fresh schedule would move, or the clusters that it would
            exchange where there are no replicas; asked only where moves are limited, as is `left`.
        left: Counts the replicas that an earlier batch left to be moved, `None` if there is no
            goal of an earlier batch, or none that can be reached any more.
        present: Returns where it is, `None` where nobody can tell without a schedule afresh.
        arrived: Whether all that is placed is reported healthy.
        afresh: Returns where a schedule afresh would put it as everything stands, `None` where it
            cannot be scheduled; asked only by who wants to know that.
        evicting: Where it is still being evicted from, sorted; no schedule chooses these clusters.
        surge: What runs beside its placement while it moves, `None` if nothing does.
        unmakeable: Returns why nothing can run beside it before it moves, `""` if it can; asked
            only by who wants that.
        kept: Returns where it would be if only what cannot be scheduled moved, `None` where all
            of it can be; asked only where `unkept` has nothing against it.
        last_move: The last move that was made with a rest, `None` without one.
        unkept: Returns why what runs of it cannot be told from what does not, `""` if it can; asked
            likewise.
        steady: Whether its dialect says when it may be another target. While a step is under way
            nobody asks where it would go, so neither time nor another cluster counts.
    """

    key: ObjectKey
    triggered_at: datetime | None = None
    waits_for: str = ""
    divisible: bool = False
    stepped: bool = False
    moves: Callable[[], int] = field(default=_one, compare=False)
    left: Callable[[], int | None] = field(default=_nothing, compare=False)
    afresh: Callable[[], FreshPlace | None] = field(default=_nothing, compare=False)
    present: Callable[[], PresentPlace | None] = field(default=_nothing, compare=False)
    arrived: bool = False
    evicting: tuple[str, ...] = ()
    surge: Surge | None = None
    unmakeable: Callable[[], str] = field(default=_not_built, compare=False)
    unkept: Callable[[], str] = field(default=_not_kept, compare=False)
    kept: Callable[[], FreshPlace | None] = field(default=_nothing, compare=False)
    last_move: LastMove | None = None
    steady: bool = False


class Rest(NamedTuple):
    """Why an object is left alone.

    Attributes:
        why: That it was moved not long ago, a clause.
        undoes: Whether a schedule afresh would bring it back to where it was.
    """

    why: str
    undoes: bool


def rest_of(target: Target, since: datetime, now: datetime) -> Rest | None:
    """Return why a target is not moved, since it was moved not long ago; `None` if it may be.

    What recurs leaves it alone; nobody brings it back to where it was. What was begun since the
    run began goes on, and a target that something else has moved since, as a failing cluster does,
    has no rest.

    Args:
        target: What is to be scheduled afresh.
        since: When the run began that asks for it.
        now: Moment of the pass.
    """
    last = target.last_move
    if last is None or now >= last.until or last.at >= since:
        return None
    if target.waits_for or target.surge is not None:
        return None
    place = target.afresh()
    if place is None or not last.rests(place, now):
        return None
    undoes = last.is_undone(place)
    return Rest(last.undone if undoes else last.told, undoes)


class TargetState(StrEnum):
    """What may be wrong with where an object is."""

    UNSCHEDULABLE = "Unschedulable"
    AWAY_FROM_FIRST_AFFINITY = "AwayFromFirstAffinity"


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Where an object is, as the last pass left it; nowhere if it is new.

    Attributes:
        clusters: The names of its clusters.
        states: What is wrong with that.
    """

    clusters: frozenset[str] = frozenset()
    states: frozenset[TargetState] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetSelection:
    """A description of workloads; what is empty or `None` selects any.

    `policy` is the policy that claims them, or the placement of another API that is meant itself.
    `on_cluster` and `state` are about where the last pass left them.
    """

    api_version: str = ""
    kind: str = ""
    namespace: str = ""
    labels: LabelSelector | None = None
    policy: ObjectKey | None = None
    on_cluster: str = ""
    state: TargetState | None = None

    @property
    def asks_where(self) -> bool:
        """Whether it says where an object has to be."""
        return bool(self.on_cluster) or self.state is not None


def selects(
    selection: TargetSelection,
    reference: Reference,
    labels: Mapping[str, str],
    standing: Callable[[], Standing],
) -> bool:
    """Return whether a description means an object, whatever policy it has.

    Args:
        selection: The description.
        reference: The object as a rebalancer names it.
        labels: Of the object.
        standing: Returns where it is; asked only where that counts. One whose outputs cannot be
            read is nowhere.
    """
    if selection.api_version not in ("", reference.api_version):
        return False
    if selection.kind not in ("", reference.kind):
        return False
    if selection.namespace not in ("", reference.namespace):
        return False
    if selection.labels is not None and not matches(selection.labels, labels):
        return False
    return not selection.asks_where or _stands(selection, standing)


def _stands(selection: TargetSelection, where: Callable[[], Standing]) -> bool:
    try:
        standing = where()
    except UserError:  # a fault of its own says so
        return False
    if selection.on_cluster and selection.on_cluster not in standing.clusters:
        return False
    return selection.state is None or selection.state in standing.states


class Targets(Protocol):
    """All that may be rebalanced in a repository."""

    def find(self, reference: Reference, /) -> Target | None:
        """Return what a reference names, `None` if nothing."""

    def select(self, selection: TargetSelection, /) -> Iterable[Reference]:
        """Return what a description means, sorted."""

    def has_policy(self, key: ObjectKey, /) -> bool:
        """Return whether a policy is there."""


REBALANCER = ("apps.karmada.io", "WorkloadRebalancer")
TRIGGER = ("policy.karmada.io", "ScheduleTrigger")

REBALANCE_KINDS = (
    ApiKind(
        group=REBALANCER[0],
        kind=REBALANCER[1],
        writer=Writer.BOTH,
        short=("wr",),
        removable=True,
    ),
    ApiKind(group=TRIGGER[0], kind=TRIGGER[1], writer=Writer.BOTH, removable=True),
)
