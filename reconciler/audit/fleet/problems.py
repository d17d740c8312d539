"""What is wrong now: one answer for the terminal, the page, the pipeline and the alert.

Each kind of problem has its words and its severity here, and nowhere else. A problem is one of a
kind with all that it is about, the worst kind first; each detail is a subject with its cause.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from reconciler.audit.findings import Finding, Severity, fault_line
from reconciler.audit.fleet.trouble import PlacementTrouble, Trouble, trouble_of
from reconciler.audit.fleet.usage import (
    FleetLoads,
    Usage,
    by_name,
    clusters_down,
    usage_of,
)
from reconciler.audit.history.revisions import Commit
from reconciler.audit.named_object import spelled
from reconciler.audit.references import CheckedInputs, check_inputs
from reconciler.manifests.columns import duration
from reconciler.model.decision import Explanation
from reconciler.model.identity import ClusterName, ObjectKey, RepositoryLayout
from reconciler.model.records import dataclass, field
from reconciler.model.remembered import AnswerCache, differing_keys
from reconciler.model.text import enumerated, short_id
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
    LATE = "pass-overdue"
    WARNING = "warning"
    WAITING = "object-waiting"
    SUSPENDED = "suspended"
    NOT_REBALANCED = "object-not-rebalanced"
    NOT_SELECTED = "object-not-selected"


class KindWords(NamedTuple):
    """How one and how many of a kind are called, how much they matter, and what to do."""

    one: str
    many: str
    severity: str
    remedy: str


NOTE = "note"
"""The severity of what is meant, and should not be forgotten."""

WORDS: Mapping[ProblemKind, KindWords] = {
    ProblemKind.NOT_READY: KindWords(
        "cluster not ready",
        "clusters not ready",
        Severity.ERROR,
        "`reconciler events` lists what leaves it, and when",
    ),
    ProblemKind.SILENT: KindWords(
        "cluster without a report",
        "clusters without a report",
        Severity.ERROR,
        "look at what reports for it; nothing is decided from silence",
    ),
    ProblemKind.OVER: KindWords(
        "cluster over-committed",
        "clusters over-committed",
        Severity.ERROR,
        "`reconciler advise` proposes what to move",
    ),
    ProblemKind.NOT_PLACED: KindWords(
        "object not placed",
        "objects not placed",
        Severity.ERROR,
        "`reconciler why OBJECT` says what each cluster lacks",
    ),
    ProblemKind.FAULT: KindWords("fault", "faults", Severity.ERROR, "edit the file"),
    ProblemKind.UNACCEPTED: KindWords(
        "commit not accepted",
        "commits not accepted",
        Severity.ERROR,
        "sign on top of it with an allowed key, or revert it",
    ),
    ProblemKind.LATE: KindWords(
        "pass overdue",
        "passes overdue",
        Severity.ERROR,
        "`reconciler check` says whether a daemon can run here",
    ),
    ProblemKind.WARNING: KindWords(
        "warning", "warnings", Severity.WARNING, "edit the file if that is not what was meant"
    ),
    ProblemKind.WAITING: KindWords(
        "object waiting",
        "objects waiting",
        Severity.WARNING,
        "`reconciler tree OBJECT` says for what",
    ),
    ProblemKind.SUSPENDED: KindWords("suspended", "suspended", NOTE, "`reconciler resume` ends it"),
    ProblemKind.NOT_REBALANCED: KindWords(
        "object not rebalanced",
        "objects not rebalanced",
        NOTE,
        "mend the reason, then write another rebalancer; a finished one may be deleted",
    ),
    ProblemKind.NOT_SELECTED: KindWords(
        "object that no policy or placement selects",
        "objects that no policy or placement selects",
        NOTE,
        "write a policy or placement for it, if it belongs on clusters",
    ),
}


class ProblemDetail(NamedTuple):
    """One thing that is wrong.

    Attributes:
        subject: What it is about.
        cause: Why or how; `""` where the subject is all.
        path: The file that says so, one of people or of ours; `""` where none does.
        changed: The last commit that changed this file, `None` where that was not asked.
    """

    subject: str
    cause: str = ""
    path: str = ""
    changed: Commit | None = None

    def __str__(self) -> str:
        return f"{self.subject}: {self.cause}" if self.cause else self.subject

    def change_text(self, now: datetime, layout: RepositoryLayout) -> str:
        """Return how long ago that file was written, in which commit, by whom; `""` if unknown.

        Args:
            now: Aware UTC.
            layout: Says where passes write; a commit there is a decision.
        """
        commit = self.changed
        if commit is None:
            return ""
        ago = duration(now - commit.committed_at)
        where = f"{ago} ago in {short_id(commit.revision)} ({commit.subject})"
        if self.path.startswith(f"{layout.output_root}/"):
            return f"last decided {where}"
        file = "" if self.path in str(self) else f"{self.path} "
        return f"{file}last changed {where}, by {commit.author.partition(' <')[0]}"


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

    @property
    def is_wrong(self) -> bool:
        """Whether somebody should act: what is only to be remembered does not count."""
        return self.severity != NOTE

    @property
    def remedy(self) -> str:
        """What a person may do about it."""
        return WORDS[self.kind].remedy

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
        late: Why a pass is overdue, `""` if none is.
        not_selected: What people wrote, and nothing puts onto clusters, sorted.
        called: Returns how people call what a decision is about.
        explained: Returns what scheduling says of an object, `None` where that takes too long.
        last_change: Returns the last commit that changed a file, `None` where none is known.
        most: How many details each kind has.
    """

    world: World
    trouble: Trouble
    warnings: Sequence[Finding] = ()
    unaccepted: Sequence[str] = ()
    late: str = ""
    not_selected: Sequence[ObjectKey] = ()
    called: Callable[[ObjectKey], str] = spelled
    explained: Callable[[ObjectKey], Explanation | None] = lambda _: None
    last_change: Callable[[str], Commit | None] = lambda _: None
    most: int = NAMED


def problems_of(sources: ProblemSources) -> tuple[Problem, ...]:
    """Return what is wrong, the worst first; none where nothing is."""
    trouble, most, world = sources.trouble, sources.most, sources.world
    listed: dict[ProblemKind, tuple[int, Iterable[ProblemDetail]]] = {
        ProblemKind.NOT_READY: (len(trouble.not_ready), _down(sources, trouble.not_ready[:most])),
        ProblemKind.SILENT: (len(trouble.silent), _down(sources, trouble.silent[:most])),
        ProblemKind.OVER: (
            len(trouble.over),
            (
                ProblemDetail(usage.key.name, usage.over_text, _status_path(world, usage.key))
                for usage in trouble.over[:most]
            ),
        ),
        ProblemKind.NOT_PLACED: (len(trouble.unplaced), _not_placed(sources)),
        ProblemKind.FAULT: (
            len(trouble.faults),
            (ProblemDetail(fault_line(fault), path=fault.path) for fault in trouble.faults[:most]),
        ),
        ProblemKind.UNACCEPTED: (
            len(sources.unaccepted),
            map(ProblemDetail, sources.unaccepted[:most]),
        ),
        ProblemKind.LATE: (int(bool(sources.late)), (ProblemDetail(sources.late),)),
        ProblemKind.WARNING: (
            len(sources.warnings),
            (
                ProblemDetail(fault_line(finding.fault), path=finding.fault.path)
                for finding in sources.warnings[:most]
            ),
        ),
        ProblemKind.WAITING: (len(trouble.waiting), _waiting(sources)),
        ProblemKind.SUSPENDED: (
            len(trouble.suspended),
            (
                ProblemDetail(suspender.words, path=suspender.path)
                for suspender in trouble.suspended[:most]
            ),
        ),
        ProblemKind.NOT_REBALANCED: (
            len(trouble.failed),
            (
                ProblemDetail(one.target, f"{one.reason} ({one.by.plain})", _path_of(world, one.by))
                for one in trouble.failed[:most]
            ),
        ),
        ProblemKind.NOT_SELECTED: (
            len(sources.not_selected),
            (
                ProblemDetail(spelled(key), path=_path_of(world, key))
                for key in sources.not_selected[:most]
            ),
        ),
    }
    return tuple(
        Problem(kind, count, tuple(_with_change(sources, detail) for detail in details))
        for kind in ProblemKind
        for count, details in (listed[kind],)
        if count
    )


def _path_of(world: World, key: ObjectKey) -> str:
    """Return the file of an object: what a person wrote, else what a pass did; `""` for none."""
    manifest = world.inputs.get(key) or world.outputs.get(key)
    return "" if manifest is None else manifest.origin.path


def _status_path(world: World, key: ObjectKey) -> str:
    """Return the file that says how a cluster is: its report, else that of people."""
    reported = world.reported.get(key)
    return _path_of(world, key) if reported is None else reported.report.origin.path


def _with_change(sources: ProblemSources, detail: ProblemDetail) -> ProblemDetail:
    """Return a detail with the last commit that changed its file."""
    if not detail.path:
        return detail
    return detail._replace(changed=sources.last_change(detail.path))


CHECKED_AT_ONCE = 2_000
"""So many documents are checked for warnings after each pass; more of them take longer than it."""


@dataclass(slots=True, eq=False)
class ProblemCounts:
    """How many problems there are of each kind; follows the worlds that passes leave."""

    _placements: PlacementTrouble | None = None
    _loads: FleetLoads | None = None
    _usages: AnswerCache[ObjectKey, Usage] = field(default_factory=AnswerCache)
    _checked: CheckedInputs | None = None

    def of(self, world: World, faults: int, now: datetime) -> Mapping[ProblemKind, int]:
        """Go on to a world, of which a pass found so many faults, and count.

        Returns:
            Every kind but two that the daemon itself is asked for: commits that are not accepted,
            and passes that are overdue. Warnings and what nothing selects are left out where there
            are more documents than are checked at once: `validate` and the page count those.
        """
        known, loads = self._placements, self._loads
        placements = PlacementTrouble(world) if known is None else known.follow(world)
        loads = FleetLoads(world) if loads is None else loads.follow(world)
        self._placements, self._loads = placements, loads
        usages = by_name(usage_of(world, loads, self._usages))
        trouble = trouble_of(usages, placements, now, faults=(), waits=False)
        return {
            ProblemKind.NOT_READY: len(trouble.not_ready),
            ProblemKind.SILENT: len(trouble.silent),
            ProblemKind.OVER: len(trouble.over),
            ProblemKind.NOT_PLACED: len(trouble.unplaced),
            ProblemKind.FAULT: faults,
            ProblemKind.WAITING: placements.count_waiting(now),
            ProblemKind.SUSPENDED: len(trouble.suspended),
            ProblemKind.NOT_REBALANCED: len(trouble.failed),
            **self._references(world),
        }

    def _references(self, world: World) -> Mapping[ProblemKind, int]:
        """Return what the files of people say of one another, where they are few enough."""
        if len(world.inputs) > CHECKED_AT_ONCE:
            return {}
        if self._checked is None or differing_keys(world.inputs, self._checked.inputs):
            self._checked = check_inputs(world)
        return {
            ProblemKind.WARNING: len(self._checked.warnings),
            ProblemKind.NOT_SELECTED: len(self._checked.not_selected),
        }


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
        words = ", ".join(filter(None, (says or goes, objects, leave)))
        yield ProblemDetail(name, words, _status_path(sources.world, usage.key))


def _not_placed(sources: ProblemSources) -> Iterator[ProblemDetail]:
    """Yield objects that lack clusters, with what the clusters that were filtered out lack."""
    for key, problem in list(sources.trouble.unplaced.items())[: sources.most]:
        explanation = sources.explained(key)
        lacks = "" if explanation is None else lacking_text(explanation)
        cause = f"{lacks}. {problem}" if lacks else problem
        yield ProblemDetail(sources.called(key), cause, _path_of(sources.world, key))


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
        waits = (f"{copy.cluster} waits for {copy.waits_for}" for copy in copies)
        path = _path_of(sources.world, key)
        yield ProblemDetail(sources.called(key), enumerated(waits, GROUPS), path)
