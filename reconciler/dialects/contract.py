"""The contract of a dialect: what an API is, what it answers, and what one object of it reads.

Each API has plain values for facts, which are there at once; what takes code to answer is imported
when it is first asked for, so that a small question does not load a scheduler.

A pass asks `prepare` (claims, bindings: the targets that exist), then lets `rebalance/` answer with
triggers, then asks `plan`; what that says of the triggers is what `rebalance/` records. What a
dialect remembers between passes only saves work.

An API also says what one object reads of a world, so that a pass over that alone answers for it. It
may name more than is read, never less; where others have a say that cannot be known beforehand, it
says so, and the whole pass is asked.
"""

from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

from reconciler.dialects.importer import Importer
from reconciler.dialects.reads import Question
from reconciler.dialects.renderer import Renderers, Wraps
from reconciler.manifests.schemas.violations import Admission, UpdateAdmission
from reconciler.model.body import Body
from reconciler.model.decision import Decision, Explain, Wait
from reconciler.model.identity import ObjectKey
from reconciler.model.kinds import ApiKind, Kind, KnownKinds, Writer
from reconciler.model.records import dataclass, field
from reconciler.model.settings import Settings
from reconciler.model.world import Fault, Manifest, Trace, World
from reconciler.projection.project import Language
from reconciler.rebalance.surge import MakeBeforeBreak
from reconciler.rebalance.target import Reference, Rescheduled, Target, TargetSelection
from reconciler.schedule.capacity import Ledger, Order, Placed, ReportedRoom

if TYPE_CHECKING:
    from reconciler.dialects.view import View


@dataclass(frozen=True, slots=True)
class DependsOnOthers:
    """Why an answer about one object takes the whole pass: a clause."""

    reason: str


class OutputPlace(NamedTuple):
    """Where outputs stand that an object may read: a kind, a namespace, how their names begin."""

    kind: Kind
    namespace: str
    stem: str = ""


T = TypeVar("T")


class Documents(Protocol):
    """The documents of a world, as objects ask for them."""

    @property
    def world(self) -> World:
        """All there is."""

    def inputs(self, question: Question, /) -> AbstractSet[ObjectKey]:
        """Return the inputs that answer a question; of an object those that are part of it."""

    def outputs(self, question: Question, /) -> AbstractSet[ObjectKey]:
        """Return the outputs that answer a question; of an object those that are part of it."""

    def once(self, draw: Callable[["Documents"], T]) -> T:
        """Return what is drawn of all documents, drawn once a world."""


Path = tuple[str, ...]
"""The names that lead to a field."""
Answers = Callable[[Manifest], Iterable[Question]]
"""Yields the questions that a document answers."""
Owners = Callable[[Manifest], Iterable[ObjectKey]]
Leads = Callable[[Manifest, Documents], Iterable[Question]]
WORKLOADS: Kind = ("", "")
"""In a table by kind: any kind of which nothing is read here but that it is placed."""


def _nobody(*_: object) -> str:
    return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """What the objects of one API read of a world, document by document.

    An object reads the documents that are part of it, what these lead to, and what is shared. A
    document leads to another by its key, with all that is part of that one, or by a question that
    selects inputs. It may lead to more than is read, never to less.

    Attributes:
        decided: The kinds of what decisions are about.
        shared: The kinds of inputs and outputs that any object reads, such as clusters.
        consulted: The kinds of inputs that objects read, and about which nothing is decided by
            itself.
        owners: By the kind of a document what yields the objects that it is part of, beside itself.
        leads: By kind what yields where a document leads: keys, and questions that select inputs.
        consults: The same for documents of kinds that are consulted.
        answers: By the kind of a question who answers it, beside those of `reads.about`.
        others: Returns why an object depends on others in a way that cannot be known beforehand,
            `""` if it does not.
        places: Yields where every output stands that an object may read, in whatever world.
    """

    decided: frozenset[Kind]
    shared: frozenset[Kind]
    consulted: frozenset[Kind]
    owners: Mapping[Kind, Owners]
    leads: Mapping[Kind, Leads]
    consults: Mapping[Kind, Leads] = field(default_factory=dict)
    answers: Mapping[str, Answers] = field(default_factory=dict)
    others: Callable[[ObjectKey, Documents], str] = _nobody
    places: Callable[[ObjectKey], Iterable[OutputPlace]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """What a round came to beside files, of one API or of all.

    Attributes:
        decisions: What moved, and what could not be placed.
        edited: Outputs whose decision a person edited since the last pass, sorted.
        faults: What a person must edit.
        rescheduled: The targets whose demand was met, whatever the result (a fresh schedule, or
            the next step to the goal of an earlier batch), each with what became of it.
        traces: Of the unforeseen exceptions among the faults.
        until: The next moment at which time alone could change this, `None` if never.
        waits: What is known of such moments, sorted.
        explanations: What scheduling said of the objects that were asked about.
    """

    decisions: tuple[Decision, ...] = ()
    edited: tuple[ObjectKey, ...] = ()
    faults: tuple[Fault, ...] = ()
    rescheduled: Rescheduled = field(default_factory=dict)
    traces: tuple[Trace, ...] = field(default=(), compare=False)
    until: datetime | None = None
    waits: tuple[Wait, ...] = ()
    explanations: Mapping[ObjectKey, Explain] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """One dialect's part of a round.

    Attributes:
        outputs: The outputs of the dialect that should exist, with their bodies.
        gone: The outputs that should not exist any more, while others that `outputs` lacks stay as
            they are; `None` if everything that it lacks goes.
        results: What it came to beside these; decisions are sorted by key.
    """

    outputs: Mapping[ObjectKey, Body]
    gone: frozenset[ObjectKey] | None = None
    results: Results = field(default_factory=Results)


@dataclass(frozen=True, slots=True)
class RescheduleTrigger:
    """A demand to disregard an object's previous assignment, joined of all that are pending.

    `at` is the trigger's moment, `by` names who demand it, such as `WorkloadRebalancer demo`.
    `budget` is how many replicas may move in this pass, `None` for all. It is `fresh` unless it
    goes on to the goal of an earlier batch. `askers` are the same as `by` names. `surge` is how it
    is made before anything breaks, `None` where it moves at once. `preserves` says that only what
    cannot be scheduled where it is may move. `rest_seconds` is how long it is then left alone,
    `None` for not at all.
    """

    at: datetime
    by: str
    budget: int | None = None
    fresh: bool = True
    askers: tuple[ObjectKey, ...] = ()
    surge: MakeBeforeBreak | None = None
    preserves: bool = False
    rest_seconds: int | None = None


class Prepared(Protocol):
    """What a dialect knows before triggers are there."""

    def target(self, reference: Reference, /) -> Target | None:
        """Return what a rebalancer's reference names in this dialect, `None` if nothing."""

    def changed_targets(self) -> AbstractSet[ObjectKey] | None:
        """Return the steady targets that may be others by now, `None` if any may; once a round."""

    def select(self, selection: TargetSelection, /) -> Iterable[Reference]:
        """Return the objects of this dialect that a description means."""

    def within(self, ledger: Ledger, /) -> "Prepared":
        """Return what plans by a ledger of room, and adds to it what it decides."""

    def plan(
        self,
        triggers: Mapping[ObjectKey, RescheduleTrigger],
        asked: frozenset[ObjectKey],
        held: Mapping[ObjectKey, str],
        /,
    ) -> Plan:
        """Decide, given the triggers by the key of their target.

        Of the objects in `asked` the plan has explanations, of one that nothing made the scheduler
        look at what it would say if it looked; the decision never depends on who asks. Objects in
        `held` stay as they are, for the reason that stands there.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityRules:
    """How the decisions of an API take room in clusters, where that is protected.

    Attributes:
        turn: The least place in the order that an object of the API may have.
        placing: The kinds of the documents that say what is placed where.
        holder: Returns what a decision is about, for one of these documents.
        placed: Returns what an object has on its clusters by the decisions of a world. Raises
            UserError if what says so cannot be read.
        reported: Returns what a cluster reports as left, `None` where it tells no limit. Raises
            UserError if its status cannot be read.
    """

    turn: Order
    placing: frozenset[Kind]
    holder: Callable[[Manifest], ObjectKey]
    placed: Callable[[World, ObjectKey], Placed]
    reported: Callable[[Body], ReportedRoom | None]


class DialectMemory(Protocol):
    """What a dialect remembers of earlier rounds and passes; no answer depends on it."""

    def prepare(self, world: World, settings: Settings, now: datetime, /) -> Prepared:
        """Begin a round."""

    def forget(self) -> None:
        """Drop what is of no use any more; called at the end of each pass."""


def _none() -> None:
    return None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Dialect:
    """One API.

    Attributes:
        name: By which settings call it.
        title: What people call it, `""` if just that.
        kinds: Its kinds, those that are not read here included.
        cluster: The kind of its clusters.
        placed: The kinds of outputs that its decisions are about.
        parts: Of these the kinds whose decisions are written in another kind, and that kind.
        noun: What a decision of its is called.
        roots: Kinds beside `placed` that placements hang on, such as policies.
        places_by: Kind to the fields by which people say where something goes, of clusters those by
            which they are chosen.
        concerning: Kinds beside these of which a tree tells what they concern.
        domains: Ends of the names of its groups, of those that are not known here, too.
        crds: Returns group to kinds of all that upstream defines.
        content: Kinds of these that need no warning that they are not read: they control nothing
            upstream either, or a rule of the API tells of them.
        staged: Kinds of these that have content of their own, which a staged delivery may hold.
        approvable: Kinds whose objects may ask a person for approval; commits and previews tell
            their events.
        admissions: Returns what its webhooks would refuse, given all kinds that are known.
        updates: Returns what they would refuse of an edit.
        view: Returns what it answers about files.
        begin: Returns a memory that has seen nothing yet.
        renderers: Returns what says which manifests its decisions put onto clusters.
        wraps: Returns how objects of its carry what any API decides.
        importer: Returns what is taken over of a live control plane.
        statement: Returns what its objects read, `None` if that is not stated: then the whole pass
            is asked.
        clusters: Returns how it speaks of clusters, `None` if no other API can tell it of its own.
        capacity: Returns how its decisions take room in clusters, `None` where they take none that
            is known.
        strategy: The kind of its strategies whose stages any staged delivery may name, `None` if it
            has none.
        past_blobs: Yields the git blobs of earlier versions of input files from which its decisions
            still put objects onto clusters, each with a path under which to read it.
    """

    name: str
    kinds: tuple[ApiKind, ...]
    cluster: Kind
    placed: frozenset[Kind]
    parts: Mapping[Kind, Kind] = field(default_factory=dict)
    noun: str = "decision"
    roots: frozenset[Kind] = frozenset()
    places_by: Mapping[Kind, tuple[Path, ...]] = field(default_factory=dict)
    concerning: frozenset[Kind] = frozenset()
    domains: tuple[str, ...] = ()
    crds: Callable[[], Mapping[str, tuple[str, ...]]] = dict
    content: frozenset[Kind] = frozenset()
    staged: frozenset[Kind] = frozenset()
    approvable: frozenset[Kind] = frozenset()
    admissions: Callable[[KnownKinds], Mapping[Kind, Admission]]
    updates: Callable[[], Mapping[Kind, UpdateAdmission]] = dict
    view: Callable[[], "View"]
    begin: Callable[[], DialectMemory]
    renderers: Callable[[], Renderers]
    wraps: Callable[[], Wraps] = dict
    importer: Callable[[], Importer]
    statement: Callable[[], Statement | None] = _none
    clusters: Callable[[], Language | None] = _none
    capacity: Callable[[], CapacityRules | None] = _none
    title: str = ""
    strategy: Kind | None = None
    past_blobs: Callable[[World], Iterable[tuple[str, str]]] = lambda _: ()

    @property
    def groups(self) -> frozenset[str]:
        """Its API groups."""
        return frozenset(one.group for one in self.kinds)

    @property
    def placing(self) -> frozenset[Kind]:
        """The kinds by which people say where something goes."""
        return self.roots or self.placed

    @property
    def written(self) -> tuple[Kind, ...]:
        """The kinds of its outputs, sorted."""
        return tuple(sorted(one.id for one in self.kinds if one.writer is not Writer.PEOPLE))

    def prepare(self, world: World, settings: Settings, now: datetime) -> Prepared:
        """Begin a round without any memory."""
        return self.begin().prepare(world, settings, now)
