"""The loop over the objects of one API in a round: each is decided, else kept as it is.

Objects are looked at by key, each one once. Around each is a boundary: what stops an object is a
fault of that object. This is the only file below `shell/` that catches unforeseen exceptions.
MemoryError and OSError belong to no object, so they pass through, and so does a library for which
there is no memory.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from datetime import datetime
from functools import partial
from heapq import heapify, heappop, heappush
from typing import NamedTuple, Protocol, TypeVar

from reconciler.dialects.contract import Plan, RescheduleTrigger, Results
from reconciler.dialects.reads import ReadTable
from reconciler.errors import ReconcilerError, UserError
from reconciler.model.body import Body, keep_present
from reconciler.model.decision import Decision, Explain, Explanation, Wait
from reconciler.model.identity import ObjectKey
from reconciler.model.moments import earliest
from reconciler.model.records import dataclass, field
from reconciler.model.remembered import CacheKey, same
from reconciler.model.text import bounded
from reconciler.model.world import Fault, Manifest, Trace
from reconciler.rebalance.target import MetDemand

T = TypeVar("T")

RULE = "internal-error"
NOT_LOADED = ("annot allocate memory", "failed to map segment", "Too many open files")
"""What the loader of a library says where the machine has no room for it."""
DEEPEST = 40  # frames of a trace: an endless recursion has a thousand


class FaultPlace(NamedTuple):
    """Where a fault of an object stands: the path of its file, and its key as text."""

    path: str
    subject: str


@dataclass(frozen=True, slots=True)
class Failed:
    """Why an object could not be dealt with; it keeps its last outputs.

    `message` is for whoever asks about the object. `trace` is that of an unforeseen exception,
    `""` where a rule of ours says what a person must edit.
    """

    fault: Fault
    message: str
    trace: str = ""


def attempt(
    work: Callable[[], T],
    place: Callable[[], FaultPlace],
    refused: Callable[[UserError], Fault] | None = None,
) -> T | Failed:
    """Do what is to be done for one object, or return why it cannot be done.

    Args:
        work: Computes its part.
        place: Returns where a fault of it stands.
        refused: Makes a fault of what a decoder refuses; `None` where nothing can be refused.
    """
    try:
        return work()
    except (MemoryError, OSError):
        raise
    except Exception as error:  # the boundary: it stops at the object
        if isinstance(error, ImportError) and any(one in str(error) for one in NOT_LOADED):
            raise
        if isinstance(error, UserError) and refused is not None:
            return Failed(refused(error), error.message)
        return unforeseen(error, place())


def unforeseen(error: Exception, place: FaultPlace) -> Failed:
    """Return the fault of an unforeseen exception.

    It says the same in each pass, and quotes nothing: texts of exceptions may hold anything.
    """
    message = f"an error of the reconciler itself ({type(error).__name__}) stops this object"
    fault = Fault(
        path=place.path,
        line=0,
        column=0,
        field="",
        rule=RULE,
        message=message,
        expected="a report to the authors, with the trace in the log; what was decided stays",
        subject=place.subject,
    )
    return Failed(fault, message, trace_of(error))


def place_of(manifest: Manifest) -> FaultPlace:
    """Return where a fault of a manifest stands."""
    return FaultPlace(manifest.origin.path, str(manifest.key))


def traces_of(failures: Iterable[Failed]) -> tuple[Trace, ...]:
    """Return the traces of unforeseen exceptions."""
    return tuple(Trace(failed.fault, failed.trace) for failed in failures if failed.trace)


def trace_of(error: Exception) -> str:
    """Return where an exception came from, and its class.

    Lines of source are in files; what the exception says may hold what it was working on, unless
    it is one of ours.
    """
    lines = []
    at = error.__traceback__
    while at is not None:
        code = at.tb_frame.f_code
        lines.append(f"{code.co_filename}:{at.tb_lineno} in {code.co_qualname}")
        at = at.tb_next
    says = f": {bounded(str(error))}" if isinstance(error, ReconcilerError) else ""
    return "\n".join([*lines[-DEEPEST:], f"{type(error).__name__}{says}"])


class Visits:
    """Objects to look at; while one is looked at, others that come after it may be added."""

    def __init__(self, keys: Iterable[ObjectKey]) -> None:
        """Begin with some objects."""
        self.seen = set(keys)
        self._ahead = list(self.seen)
        heapify(self._ahead)

    def __iter__(self) -> Iterator[ObjectKey]:
        while self._ahead:
            yield heappop(self._ahead)

    def add(self, keys: Iterable[ObjectKey]) -> None:
        """Look at other objects, too."""
        for key in keys:
            if key not in self.seen:
                self.seen.add(key)
                heappush(self._ahead, key)


MET = MetDemand()


class Part(NamedTuple):
    """One object's part of a plan.

    Attributes:
        outputs: Its files.
        decision: What moved or is newly wrong, `None` if neither.
        edited: Those of its files whose decision a person edited.
        faults: What a person must edit.
        rescheduled: Whether the demand of a rebalancer was met, whatever the result.
        met: What became of that demand.
        until: When time alone may change this part, `None` if never.
        waits: What such moments are waited for.
        explain: What explains it, `None` if nothing does.
        local: Whether no other cluster than those that it names could change this part.
        scored: The resources of which another score could change this part.
        again: The part once its files are there and all else is as it was, `None` if only another
            look tells.
    """

    outputs: Mapping[ObjectKey, Body]
    decision: Decision | None = None
    edited: tuple[ObjectKey, ...] = ()
    faults: tuple[Fault, ...] = ()
    rescheduled: bool = False
    met: MetDemand = MET
    until: datetime | None = None
    waits: tuple[Wait, ...] = ()
    explain: Explain | None = None
    local: bool = False
    scored: frozenset[str] = frozenset()
    again: "Part | None" = None

    def explained(self) -> Explanation:
        """Return what explains it.

        Raises:
            ValueError: Nothing does.
        """
        if self.explain is None:
            raise ValueError("nothing explains this part")
        return self.explain()


def has_news(part: Part) -> bool:
    """Return whether a part has something to tell in each round."""
    return bool(part.waits or part.faults)


@dataclass(slots=True, eq=False)
class CreatedParts:
    """Objects that a round created, for the next one, as far as it is known what they are then.

    Attributes:
        under: All that they were decided from, but for what each has of its own.
        before: What the last round created, if it was decided from the same.
        parts: What each of those is that this round creates, with what else it was decided from.
    """

    under: CacheKey = ()
    before: Mapping[ObjectKey, tuple[object, Part]] = field(default_factory=dict)
    parts: dict[ObjectKey, tuple[object, Part]] = field(default_factory=dict)

    def next(self, under: CacheKey) -> "CreatedParts":
        """Return those of another round."""
        return CreatedParts(under, self.parts if same(self.under, under) else {})

    def find(
        self, key: ObjectKey, present: Mapping[ObjectKey, Body], own: object = None
    ) -> Part | None:
        """Return the part of an object that is as it was created, `None` if it is not known.

        Args:
            key: Of the object.
            present: Its files as they are.
            own: What else it was decided from.
        """
        before, part = self.before.get(key, (None, None))
        if part is None or before is not own or part.outputs.keys() != present.keys():
            return None
        return part if all(part.outputs[one] is body for one, body in present.items()) else None

    def note(self, key: ObjectKey, part: Part, own: object = None) -> None:
        """Note what an object is once its files are there, if that is known."""
        if part.again is not None:
            self.parts[key] = (own, part.again)


class Objects(Protocol):
    """The objects of one API, by key."""

    def present(self, key: ObjectKey, /) -> Mapping[ObjectKey, Body]:
        """Return the files of an object as the round found them."""

    def held(self, key: ObjectKey, /) -> str:
        """Return why an object stays as it is whatever happens, `""` if nothing holds it."""

    def decide(self, key: ObjectKey, demand: RescheduleTrigger | None, /) -> Part:
        """Decide an object, given what a rebalancer demands.

        Raises:
            UserError: It cannot be decided, and keeps its files.
        """

    def remember(self, key: ObjectKey, part: Part, /) -> None:
        """Remember a part that leaves its object as it is."""

    def explain_kept(self, key: ObjectKey, reason: str, /) -> Explain | None:
        """Return what explains that an object stays as it is."""

    def place(self, key: ObjectKey, /) -> FaultPlace:
        """Return where a fault of an object stands."""

    def fault(self, key: ObjectKey, error: UserError, /) -> Fault:
        """Return the fault of an object that cannot be decided."""


@dataclass(slots=True, kw_only=True)
class ObjectPass:
    """What a round decided so far, object by object.

    It begins with what is certain without deciding: outputs to keep, what failed before,
    decisions on objects that are gone.

    Attributes:
        triggers: What rebalancers demand, by the key of the target.
        asked: Objects and files to explain.
        waiting: Objects that stay as they are for now, and why.
        files: By object what it is left with, of those that were run.
        gone: The files that should not exist any more, where the objects that are not run keep
            theirs; `None` where those have none.
    """

    triggers: Mapping[ObjectKey, RescheduleTrigger]
    asked: frozenset[ObjectKey]
    waiting: Mapping[ObjectKey, str] = field(default_factory=dict)
    outputs: dict[ObjectKey, Body] = field(default_factory=dict)
    failed: list[Failed] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    decisions: list[Decision] = field(default_factory=list)
    files: dict[ObjectKey, Mapping[ObjectKey, Body]] = field(default_factory=dict)
    gone: set[ObjectKey] | None = None
    _edited: list[ObjectKey] = field(default_factory=list)
    _rescheduled: dict[ObjectKey, MetDemand] = field(default_factory=dict)
    _untils: list[datetime | None] = field(default_factory=list)
    _waits: list[Wait] = field(default_factory=list)
    _explanations: dict[ObjectKey, Explain] = field(default_factory=dict)

    def run(self, keys: Iterable[ObjectKey], objects: Objects) -> None:
        """Decide objects in turn; one that cannot be decided keeps its files and is reported."""
        for key in keys:
            reason = self.waiting.get(key, "") or objects.held(key)
            if reason:
                self._keep(key, objects, reason)
                continue
            answer = partial(self._answer, key, objects)
            answered = attempt(answer, partial(objects.place, key), partial(objects.fault, key))
            if isinstance(answered, Failed):
                self.failed.append(answered)
                self._keep(key, objects, answered.message)
            else:
                self._take(key, answered, objects)

    def look_at(self, keys: Visits, objects: Objects, table: ReadTable[Part]) -> None:
        """Decide some objects of a table in turn, and let its others rest as they are.

        Args:
            keys: Those to look at; while one is, others after it may come.
            objects: Those of the table.
            table: What is at rest; what does not come to rest now is looked at again.
        """
        self.run(keys, objects)
        self.close(table, keys.seen)

    def close(self, table: ReadTable[Part], looked_at: Collection[ObjectKey]) -> None:
        """Let all others of a table rest as they are, and look again at what does not rest."""
        table.unsettle([key for key in looked_at if table.find(key) is None])
        self.rest(table.telling(but=looked_at), table.until())

    def rest(self, parts: Iterable[Part], until: datetime | None) -> None:
        """Add what objects that stay as they are, and are not run, have to tell.

        Args:
            parts: Of those that wait for something, or are faulty.
            until: When time alone may change any of them, `None` if never.
        """
        self._untils.append(until)
        for part in parts:
            self._waits += part.waits
            self.faults += part.faults

    def plan(self) -> Plan:
        """Return the plan that all parts make."""
        return Plan(
            outputs=self.outputs,
            gone=None if self.gone is None else frozenset(self.gone),
            results=Results(
                decisions=tuple(sorted(self.decisions, key=lambda decision: decision.key)),
                edited=tuple(sorted(self._edited)),
                faults=tuple(sorted((*self.faults, *(one.fault for one in self.failed)))),
                rescheduled=self._rescheduled,
                traces=traces_of(self.failed),
                until=earliest(*self._untils),
                waits=tuple(sorted(self._waits)),
                explanations=self._explanations,
            ),
        )

    def _answer(self, key: ObjectKey, objects: Objects) -> Part:
        """Return the part of one object; what leaves it as it is, is remembered."""
        demand = self.triggers.get(key)
        asked = bool(self.asked) and not self.asked.isdisjoint((key, *objects.present(key)))
        present, part = objects.present(key), objects.decide(key, demand)
        if present:
            wanted = part.outputs.items()
            outputs = {name: keep_present(body, present.get(name)) for name, body in wanted}
            part = part._replace(outputs=outputs, explain=part.explain if asked else None)
        if demand is None and _is_unchanged(part, present):
            objects.remember(key, part._replace(explain=None) if asked else part)
        return part

    def _keep(self, key: ObjectKey, objects: Objects, reason: str) -> None:
        """Leave an object as it is."""
        kept = Part(outputs=objects.present(key), explain=objects.explain_kept(key, reason))
        self._take(key, kept, objects)

    def _take(self, key: ObjectKey, part: Part, objects: Objects) -> None:
        """Add the part of an object to the plan."""
        self.files[key] = part.outputs
        self.outputs.update(part.outputs)
        if self.gone is not None:
            self.gone.update(objects.present(key).keys() - part.outputs.keys())
        self._untils.append(part.until)
        self._waits += part.waits
        self.faults += part.faults
        self._edited += part.edited
        if part.decision is not None:
            self.decisions.append(part.decision)
        if part.rescheduled:
            self._rescheduled[key] = part.met
        if self.asked and part.explain is not None:
            names = self.asked & {key, *objects.present(key), *part.outputs}
            self._explanations.update(dict.fromkeys(sorted(names), part.explain))


def _is_unchanged(part: Part, present: Mapping[ObjectKey, Body]) -> bool:
    """Return whether a part leaves every file as it is, with nothing to report."""
    return (
        part.decision is None
        and not part.edited
        and part.outputs.keys() == present.keys()
        and all(part.outputs[key] is body for key, body in present.items())
    )
