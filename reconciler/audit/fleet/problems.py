"""What is wrong now: one answer for the terminal, the page, the pipeline and the alert.

Each kind of problem has its words and its severity here, and nowhere else. A problem is one of a
kind with all that it is about, the worst kind first; each detail is a subject with its cause.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from reconciler.audit.findings import Finding, Severity, fault_line
from reconciler.audit.fleet.trouble import PlacementTrouble, Trouble, health_of
from reconciler.audit.fleet.usage import (
    FleetLoads,
    Usage,
    by_name,
    clusters_down,
    part_text,
    usage_of,
)
from reconciler.audit.named_object import spelled
from reconciler.model.decision import Explanation
from reconciler.model.identity import ClusterName, ObjectKey
from reconciler.model.remembered import AnswerCache
from reconciler.model.text import enumerated
from reconciler.model.world import World

NAMED = 3
GROUPS = 2  # of clusters that lack the same


class ProblemKind(StrEnum):
    """What may be wrong, the worst first."""

    NOT_READY = "cluster-not-ready"
    SILENT = "cluster-without-report"
    OVER = "cluster-over-committed"
    NOT_PLACED = "object-not-placed"
    FAULT = "fault"
    UNACCEPTED = "commit-not-accepted"
    WARNING = "warning"
    WAITING = "object-waiting"
    SUSPENDED = "suspended"
    NOT_SELECTED = "object-not-selected"


class KindWords(NamedTuple):
    """How one and how many of a kind are called, and how much they matter."""

    one: str
    many: str
    severity: str


NOTE = "note"
"""The severity of what is meant, and should not be forgotten."""

WORDS: Mapping[ProblemKind, KindWords] = {
    ProblemKind.NOT_READY: KindWords("cluster not ready", "clusters not ready", Severity.ERROR),
    ProblemKind.SILENT: KindWords(
        "cluster without a report", "clusters without a report", Severity.ERROR
    ),
    ProblemKind.OVER: KindWords(
        "cluster over-committed", "clusters over-committed", Severity.ERROR
    ),
    ProblemKind.NOT_PLACED: KindWords("object not placed", "objects not placed", Severity.ERROR),
    ProblemKind.FAULT: KindWords("fault", "faults", Severity.ERROR),
    ProblemKind.UNACCEPTED: KindWords(
        "commit not accepted", "commits not accepted", Severity.ERROR
    ),
    ProblemKind.WARNING: KindWords("warning", "warnings", Severity.WARNING),
    ProblemKind.WAITING: KindWords("object waiting", "objects waiting", Severity.WARNING),
    ProblemKind.SUSPENDED: KindWords("suspended", "suspended", NOTE),
    ProblemKind.NOT_SELECTED: KindWords(
        "object that no policy or placement selects",
        "objects that no policy or placement selects",
        NOTE,
    ),
}


class ProblemDetail(NamedTuple):
    """One thing that is wrong: what it is about, and why or how; `""` where that is all."""

    subject: str
    cause: str = ""

    def __str__(self) -> str:
        return f"{self.subject}: {self.cause}" if self.cause else self.subject


@dataclass(frozen=True, slots=True)
class Problem:
    """All that is wrong of one kind; `count` is how many there are, `details` may be fewer."""

    kind: ProblemKind
    count: int
    details: tuple[ProblemDetail, ...] = ()

    @property
    def severity(self) -> str:
        """How much it matters: `error`, `warning` or `note`."""
        return WORDS[self.kind].severity

    @property
    def noun(self) -> str:
        """What so many are called."""
        return WORDS[self.kind].one if self.count == 1 else WORDS[self.kind].many

    def __str__(self) -> str:
        return f"{self.count} {self.noun}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProblemSources:
    """What a list of problems is drawn from.

    Attributes:
        world: Whose clusters and objects.
        trouble: What is wrong with them.
        warnings: What is legal, but has another effect than it seems.
        unaccepted: The commits that wait to be accepted, each in words.
        not_selected: What people wrote, and nothing puts onto clusters, sorted.
        called: Returns how people call what a decision is about.
        explained: Returns what scheduling says of an object, `None` where that takes too long.
        most: How many details each kind has.
    """

    world: World
    trouble: Trouble
    warnings: Sequence[Finding] = ()
    unaccepted: Sequence[str] = ()
    not_selected: Sequence[ObjectKey] = ()
    called: Callable[[ObjectKey], str] = spelled
    explained: Callable[[ObjectKey], Explanation | None] = lambda _: None
    most: int = NAMED


def problems_of(sources: ProblemSources) -> tuple[Problem, ...]:
    """Return what is wrong, the worst first; none where nothing is."""
    trouble, most = sources.trouble, sources.most
    found: dict[ProblemKind, tuple[int, Iterable[ProblemDetail]]] = {
        ProblemKind.NOT_READY: (len(trouble.not_ready), _down(sources, trouble.not_ready[:most])),
        ProblemKind.SILENT: (len(trouble.silent), _down(sources, trouble.silent[:most])),
        ProblemKind.OVER: (
            len(trouble.over),
            (ProblemDetail(one.key.name, over(one)) for one in trouble.over[:most]),
        ),
        ProblemKind.NOT_PLACED: (len(trouble.unplaced), _not_placed(sources)),
        ProblemKind.FAULT: (
            len(trouble.faults),
            (ProblemDetail(fault_line(fault)) for fault in trouble.faults[:most]),
        ),
        ProblemKind.UNACCEPTED: (
            len(sources.unaccepted),
            map(ProblemDetail, sources.unaccepted[:most]),
        ),
        ProblemKind.WARNING: (
            len(sources.warnings),
            (ProblemDetail(fault_line(finding.fault)) for finding in sources.warnings[:most]),
        ),
        ProblemKind.WAITING: (len(trouble.waiting), _waiting(sources)),
        ProblemKind.SUSPENDED: (
            len(trouble.suspended),
            (ProblemDetail(one.words) for one in trouble.suspended[:most]),
        ),
        ProblemKind.NOT_SELECTED: (
            len(sources.not_selected),
            (ProblemDetail(spelled(key)) for key in sources.not_selected[:most]),
        ),
    }
    counted = ((kind, *found[kind]) for kind in ProblemKind)
    return tuple(Problem(kind, count, tuple(details)) for kind, count, details in counted if count)


COUNTED = (
    ProblemKind.NOT_READY,
    ProblemKind.SILENT,
    ProblemKind.OVER,
    ProblemKind.NOT_PLACED,
    ProblemKind.FAULT,
    ProblemKind.SUSPENDED,
)
"""The kinds whose number can be followed from pass to pass at the cost of what differs."""


@dataclass(slots=True, eq=False)
class ProblemCounts:
    """How many problems there are of each counted kind; follows the worlds that passes leave."""

    _placements: PlacementTrouble | None = None
    _loads: FleetLoads | None = None
    _usages: AnswerCache[ObjectKey, Usage] = field(default_factory=AnswerCache)

    def of(self, world: World, faults: int) -> dict[ProblemKind, int]:
        """Go on to a world, of which a pass found so many faults, and count."""
        known, loads = self._placements, self._loads
        placements = PlacementTrouble(world) if known is None else known.follow(world)
        loads = FleetLoads(world) if loads is None else loads.follow(world)
        self._placements, self._loads = placements, loads
        health = health_of(by_name(usage_of(world, loads, self._usages)))
        return {
            ProblemKind.NOT_READY: len(health.not_ready),
            ProblemKind.SILENT: len(health.silent),
            ProblemKind.OVER: len(health.over),
            ProblemKind.NOT_PLACED: len(placements.unplaced),
            ProblemKind.FAULT: faults,
            ProblemKind.SUSPENDED: len(placements.suspensions.foremost),
        }


def is_wrong(problems: Iterable[Problem]) -> bool:
    """Return whether somebody should act: what is only to be remembered does not count."""
    return any(problem.severity != NOTE for problem in problems)


def _down(sources: ProblemSources, usages: Sequence[Usage]) -> Iterator[ProblemDetail]:
    """Yield clusters with what is wrong with each, and how much runs there."""
    down = clusters_down(sources.world, {usage.key.group for usage in usages})
    leaving = sources.trouble.leaving
    for usage in usages:
        name = usage.key.name
        says = down[usage.key.group].get(ClusterName(name), "")
        goes = "is being deleted" if usage.leaving else ""
        count = leaving.get(name, 0)
        leave = f"{count} of them leaving" if count else ""
        objects = f"{usage.objects} object{'' if usage.objects == 1 else 's'} on it"
        yield ProblemDetail(name, ", ".join(filter(None, (says or goes, objects, leave))))


def over(usage: Usage) -> str:
    """Return how much is placed on a cluster of how much it has, where that is more."""
    return ", ".join(
        f"{name} {part_text(name, usage.used[name], (usage.capacity or {})[name])}"
        for name in usage.over
    )


def _not_placed(sources: ProblemSources) -> Iterator[ProblemDetail]:
    """Yield objects that lack clusters, with what the clusters that were filtered out lack."""
    for key, problem in list(sources.trouble.unplaced.items())[: sources.most]:
        explanation = sources.explained(key)
        lacks = "" if explanation is None else lacking_text(explanation)
        yield ProblemDetail(sources.called(key), f"{lacks}. {problem}" if lacks else problem)


def lacking_text(explanation: Explanation) -> str:
    """Return what clusters that were filtered out lack, those that lack the same together."""
    alike: dict[str, list[str]] = {}
    for answer in explanation.clusters:
        remedies = [verdict.remedy for verdict in answer.verdicts if verdict.remedy]
        if remedies:
            alike.setdefault("; ".join(remedies), []).append(str(answer.cluster))
    groups = sorted(alike.items(), key=lambda group: (-len(group[1]), group[1]))
    said = [f"{enumerated(names, NAMED)} would have to {what}" for what, names in groups[:GROUPS]]
    if len(groups) > GROUPS:
        said.append("others lack something else; why OBJECT has it")
    return "; ".join(said)


def _waiting(sources: ProblemSources) -> Iterator[ProblemDetail]:
    """Yield objects with copies that wait, and for what."""
    for key, copies in list(sources.trouble.waiting.items())[: sources.most]:
        waits = (f"{copy.cluster} {copy.waits_for}" for copy in copies)
        yield ProblemDetail(sources.called(key), enumerated(waits, GROUPS))
