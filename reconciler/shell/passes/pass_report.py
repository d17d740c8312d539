"""What one pass did, and the commit in which it says so.

The commit has a message, the files, and whose edits it answers. A pass takes all user commits
together and decides from files alone. Which of them caused which move is read from the log, by what
each edited, for people who read `git log`; nothing that is decided or proven looks at it. The pass
itself cannot know why a rebalancer runs again, since one without a record is one that never ran: so
the log answers, too, who took the record away, such as by a revert.

The contest is a guard against loops: another bot that undoes what passes write, again and again. It
is memory, not state: a process that was just started begins to count anew, so the worst is a few
more commits. Nothing that a pass decides depends on it.

Observers get a summary, as little as they ask for, so that a worker can send it. Steps are timed:
fetch, load, schedule, commit, push.
"""

import dataclasses
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta

from reconciler.audit.fleet.problems import ProblemCounts, ProblemKind
from reconciler.core.changes import CausingCommit, Outcome, RevertedOutputs, WriteFile
from reconciler.core.message import MOST_COMMITS, commit_message, files_behind, is_told
from reconciler.core.record import last_pass
from reconciler.core.rounds import next_world
from reconciler.manifests.paths import FAULTS, RECORD, blob_id, folder_of, output_path
from reconciler.model.decision import Decision
from reconciler.model.fields import mapping
from reconciler.model.moments import add, earliest
from reconciler.model.records import dataclass, field, replace
from reconciler.model.settings import settings_in
from reconciler.model.world import Fault, Trace, World
from reconciler.rebalance.rebalancer_files import decode_record
from reconciler.rebalance.schedule_trigger import decode_trigger_status
from reconciler.rebalance.surge import GIVES_BACK
from reconciler.rebalance.target import REBALANCE_KINDS
from reconciler.shell.git.checkout.moves import KeptEdit
from reconciler.shell.git.command import GitError
from reconciler.shell.git.commits import EarlierCommit, write_commit
from reconciler.shell.git.history import (
    CommitRecord,
    FolderLine,
    list_range,
    read_commits,
    read_removal,
)
from reconciler.shell.git.objects import changed_files
from reconciler.shell.git.publish import BranchMove
from reconciler.shell.git.repository import CommitIdentity, Repository
from reconciler.shell.git.signing import CommitSigning
from reconciler.shell.passes.branch_delivery import BranchDelivered, put_back
from reconciler.shell.passes.trust import RefusedCommit
from reconciler.shell.reading.sources import Heads, Sources
from reconciler.staging.staged_delivery import STAGED_DELIVERY, readable_staged_record
from reconciler.version import __version__


def causing_commits(
    repository: Repository, head: str, world: World, decisions: Iterable[Decision]
) -> tuple[CausingCommit, ...]:
    """Return which of the commits since the last pass caused which moves, the oldest first.

    Args:
        repository: Where the commits are.
        head: Full hex id of the newest of them.
        world: That the pass looked at.
        decisions: What the pass decided.

    Returns:
        Empty where one commit is all there is, where there are very many, and where the history
        does not reach back.
    """
    moved = [decision for decision in decisions if is_told(decision)]
    last = last_pass(world.outputs)
    if not moved or last is None or not world.edited:
        return ()
    try:
        commits = _by_people(_history(repository, world), last.revision, head)
        if len(commits) <= 1:  # `Reconciled-From` names it
            return ()
        edits = {commit.revision: _edited(repository, commit) for commit in commits}
    except GitError:
        return ()
    files = [(decision.subject, files_behind(decision, world)) for decision in moved]
    causing = (_causing(commit, edits[commit.revision], files) for commit in commits)
    return tuple(one for one in causing if one.moved)


def _causing(
    commit: CommitRecord, edited: frozenset[str], files: Iterable[tuple[str, frozenset[str]]]
) -> CausingCommit:
    """Return what a commit moved by its edits, given the files behind each move."""
    moved = {subject for subject, paths in files if not edited.isdisjoint(paths)}
    return CausingCommit(commit.revision, commit.author.name, tuple(sorted(moved)))


def _history(repository: Repository, world: World) -> FolderLine:
    """Return the history as the outputs came along."""
    return FolderLine(repository, repository.from_top(world.output_root), OUR_TRAILER)


def _by_people(history: FolderLine, last: str, head: str) -> list[CommitRecord]:
    """Return the commits between two that no pass made, the oldest first; none if too many."""
    commits = _line(history, last, head)
    if commits is None:
        repository = history.repository
        if len(list_range(repository, head, but=(last,), most=MOST_COMMITS + 1)) > MOST_COMMITS:
            return []
        commits = list(history.read(history.commits(head, but=(last,), index=repository)))
    records = (commit for commit in reversed(commits) if OUR_TRAILER not in dict(commit.trailers))
    return [record for record in records if record.parents]


def _line(history: FolderLine, last: str, head: str) -> list[CommitRecord] | None:
    """Return the commits of a history that lead from one to another, the newest first.

    Asked commit by commit, since that starts no process of git; `None` if the one is not met soon.
    """
    line: list[CommitRecord] = []
    revision = head
    while revision != last and len(line) <= MOST_COMMITS:
        commits = list(history.read([revision]))
        if not commits or not commits[0].parents:
            return None
        line += commits
        revision = commits[0].parents[0]
    return line if revision == last else None


def _edited(repository: Repository, commit: CommitRecord) -> frozenset[str]:
    """Return the files that a commit of a history changed; of a merge what it brought."""
    parent, prefix = commit.parents[0], repository.prefix
    changes = changed_files(repository, parent, commit.revision, prefix=prefix)
    return frozenset(change.path for change in changes)


OUR_TRAILER = "Reconciled-From"


def _reverted_outputs(
    repository: Repository, head: str, world: World, outcome: Outcome
) -> Iterator[RevertedOutputs]:
    """Yield what people took back of passes, of which the record went with the rest.

    The record that stands names the inputs of an older pass then, so that more than one pass leads
    from there to the head. Outputs on a branch of their own are no part of what people commit.
    """
    last = last_pass(world.outputs)
    try:
        history = _history(repository, world)
        line = None if last is None or world.apart else _line(history, last.revision, head)
    except GitError:  # a clone without that much history
        return
    ours = [i for i, one in enumerate(line or ()) if OUR_TRAILER in dict(one.trailers)]
    if line is None or len(ours) < 2:  # the last one, and those that were reverted
        return
    root, record = f"{world.output_root}/", output_path(world.output_root, RECORD)
    subjects = {output_path(world.output_root, d.key): d.subject for d in outcome.decisions}
    written = {change.path for change in outcome.changes}
    for commit in reversed(line[: ours[0]]):
        edited = {path for path in _edited(repository, commit) if path.startswith(root)} - {record}
        if edited:
            again = sorted(subjects[path] for path in edited & subjects.keys())
            kept = len(edited - written)
            yield RevertedOutputs(commit.author.name, commit.revision, tuple(again), kept)


def find_reruns(
    repository: Repository, outputs: str, world: World, outcome: Outcome
) -> list[tuple[str, str]]:
    """Return who runs again, as `Kind name`, and who removed the record before a commit of outputs.

    A record that a pass removed itself, since the manifest was gone, is none to tell of.
    """
    written = {change.path for change in outcome.changes if isinstance(change, WriteFile)}
    reruns = []
    for key in sorted(m.key for kind in world.known.removable for m in world.of_kind(*kind)):
        path = output_path(world.output_root, key)
        if path not in written or path in world.present:
            continue
        removal = read_removal(repository, outputs, path)
        if removal is not None and OUR_TRAILER not in dict(removal.trailers):
            reruns.append((f"{key.kind} {key.name}", str(removal.author)))
    return reruns


MOST_UNDONE = 4  # times within the hour; a person who reverts twice is none to hold against
HOUR = timedelta(hours=1)
REMEMBERED = 10_000  # files of the passes of an hour


@dataclass(frozen=True, slots=True)
class Contested:
    """Files that others undo again and again, sorted, and when they are written again."""

    paths: tuple[str, ...]
    until: datetime


@dataclass(slots=True, eq=False)
class Contest:
    """What passes wrote within the hour, and how often that was undone."""

    _written: dict[str, tuple[str | None, datetime]] = field(default_factory=dict)
    _undone: dict[str, tuple[datetime, ...]] = field(default_factory=dict)

    def fought_over(self, world: World, outcome: Outcome, now: datetime) -> Contested | None:
        """Return the files of an outcome that were undone too often, if it is about no others.

        Anything else that is decided is published at once, with them.
        """
        alone = {output_path(world.output_root, key) for key in (RECORD, FAULTS)}
        paths = sorted({change.path for change in outcome.files} - alone)
        moments = [self._within_hour(path, now) for path in paths]
        if not paths or any(len(one) < MOST_UNDONE for one in moments):
            return None
        return Contested(tuple(paths), max(add(one[-MOST_UNDONE], HOUR) for one in moments))

    def wrote(self, world: World, outcome: Outcome, now: datetime) -> None:
        """Remember what a pass published."""
        for change in outcome.files[-REMEMBERED:]:
            if self._is_undone(change.path, world):
                self._undone[change.path] = (*self._within_hour(change.path, now), now)
            blob = None
            if isinstance(change, WriteFile):
                blob = blob_id(change.content.encode(), like=world.revision)
            self._written.pop(change.path, None)
            self._written[change.path] = (blob, now)
        self._forget(now)

    def _is_undone(self, path: str, world: World) -> bool:
        """Return whether somebody changed a file after a pass wrote it."""
        present = world.present.get(path) or world.delivered.get(path)
        return path in self._written and self._written[path][0] != present

    def _within_hour(self, path: str, now: datetime) -> tuple[datetime, ...]:
        """Return when a file was written again, since somebody had undone it."""
        return tuple(moment for moment in self._undone.get(path, ()) if add(moment, HOUR) > now)

    def _forget(self, now: datetime) -> None:
        """Forget what is older than an hour, and the oldest of very much."""
        old = [path for path, (_, at) in self._written.items() if add(at, HOUR) <= now]
        for path in [*old, *list(self._written)[: max(0, len(self._written) - REMEMBERED)]]:
            self._written.pop(path, None)
            self._undone.pop(path, None)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class BranchPass:
    """What one pass read and did on its branches.

    Attributes:
        now: Moment of the pass.
        heads: Where the branches were that it read, as far as they are accepted.
        commit: Full hex id of what it committed, `None` for nothing.
        waiting: The files of which something is over and stays, since a person is editing them in a
            checkout.
        races: How often the branch moved meanwhile.
        editors: The outputs whose decision was edited by hand, and who did it.
        contested: What is not written for now, since others undo it again and again.
        beside: The other branches that were delivered to, or could not be.
        refused: The commits that are not accepted.
        kept: The files of checkouts that are not as it wrote them, since a person edited them.
        mended: Of which checkouts the index was mended, a sentence each.
        steps: What each step of it took, in seconds, all races together.
    """

    now: datetime
    heads: Heads
    commit: str | None
    waiting: frozenset[str] = frozenset()
    races: int = 0
    editors: tuple[tuple[str, str], ...] = ()
    contested: Contested | None = None
    beside: tuple[BranchDelivered, ...] = ()
    refused: tuple[RefusedCommit, ...] = ()
    kept: tuple[KeptEdit, ...] = ()
    mended: tuple[str, ...] = ()
    steps: Mapping[str, float] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class PassReport(BranchPass):
    """What one pass did, with the world that it looked at and all that it decided.

    `used` is how the branch has to move that keeps the reports it read, `None` if it has not to.
    """

    world: World
    outcome: Outcome
    used: BranchMove | None = None

    @property
    def outputs(self) -> str:
        """Full hex id of the commit that has the outputs now."""
        return self.commit or self.heads.outputs or self.heads.inputs

    @property
    def is_held(self) -> bool:
        """Whether something waits for a person, so that the branch has not all that was decided."""
        return bool(self.waiting or self.refused or self.contested or self.heads.tip)

    @property
    def sources(self) -> Sources:
        """The commits of the world as it left it."""
        return Sources(self.left.inputs, self.outputs)

    @property
    def left(self) -> Heads:
        """Where it left the branches."""
        if self.commit is None:
            return self.heads
        if self.heads.tip is not None:
            return self.heads._replace(outputs=self.commit, tip=self.commit)
        inputs = self.heads.inputs if self.world.apart else self.commit
        return self.heads._replace(inputs=inputs, outputs=self.commit)


REBALANCER_STATES = ("pending", "finished", "recurring")  # what recurs never finishes


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class PassSummary(BranchPass):
    """What one pass did, without the world that it looked at; see `Outcome`.

    Attributes:
        left: Where it left the branches.
        revision: Full hex id of the commit of people that it decided about.
        changed: How many files its commit writes and deletes.
        decisions: What moved and why, and what could not be placed, sorted by key.
        faults: What a person must edit, sorted.
        traces: Of the unforeseen exceptions among them.
        warnings: What a person should know, one sentence each.
        allow: The digests that let go what is held back, sorted.
        recheck_at: The next moment at which time alone could change the answer.
        rebalancers: How many rebalancers and triggers are in each state after it.
        staged_runs: How many staged deliveries have a run in each state after it.
        moving: How many objects have something that is to be ready before something else goes.
        suspended: Whether the configuration suspends everything.
        feedback_branch: The branch that clusters report on, `""` for none of their own.
        worker: Who computed it, `""` for this process.
    """

    left: Heads
    revision: str
    changed: int
    decisions: tuple[Decision, ...]
    faults: tuple[Fault, ...]
    traces: tuple[Trace, ...]
    warnings: tuple[str, ...]
    allow: tuple[str, ...]
    recheck_at: datetime | None
    rebalancers: Mapping[str, int]
    staged_runs: Mapping[str, int]
    moving: int
    suspended: bool
    feedback_branch: str
    problems: Mapping[ProblemKind, int]
    worker: str = ""

    @property
    def due_at(self) -> datetime | None:
        """When a pass is due though nothing moves, `None` if no such moment is known."""
        contested = self.contested
        return earliest(self.recheck_at, None if contested is None else contested.until)


def summary_of(report: PassReport, counts: ProblemCounts) -> PassSummary:
    """Return what is told of a pass; `counts` follows what the passes of the root leave."""
    world, outcome = report.world, report.outcome
    settings, left = settings_in(world), _demands_after(world, outcome)
    return PassSummary(
        **{item.name: getattr(report, item.name) for item in dataclasses.fields(BranchPass)},
        left=report.left,
        revision=world.revision,
        changed=len(outcome.files),
        decisions=outcome.decisions,
        faults=outcome.faults,
        traces=outcome.traces,
        warnings=outcome.warnings,
        allow=outcome.allow,
        recheck_at=outcome.recheck_at,
        rebalancers=_rebalancer_states(left),
        staged_runs=_staged_run_states(left),
        moving=sum(one.then == GIVES_BACK for one in outcome.waits),
        suspended=settings.suspend,
        feedback_branch=settings.feedback_branch,
        problems=counts.of(next_world(world, outcome), len(outcome.faults), report.now),
    )


def _demands_after(world: World, outcome: Outcome) -> World:
    """Return the world as a pass leaves it, as far as what counts demands and runs needs it."""
    ours = f"{world.output_root}/"
    kinds = (STAGED_DELIVERY, *(kind.id for kind in REBALANCE_KINDS))
    folders = tuple(f"{ours}{folder_of(*kind)}/" for kind in kinds)
    about = [
        change
        for change in outcome.changes
        if change.path.startswith(folders) or not change.path.startswith(ours)
    ]
    return next_world(world, replace(outcome, changes=tuple(about), delivered=()))


def _rebalancer_states(world: World) -> Counter[str]:
    """Return how many rebalancers and triggers there are in each state."""
    counts: Counter[str] = Counter()
    for kind in REBALANCE_KINDS:
        for manifest in world.of_kind(kind.group, kind.kind):
            output = world.outputs.get(manifest.key)
            record = output.body if output is not None else {}
            is_done = decode_trigger_status(record).succeeded
            over = decode_record(record).finish_time or is_done
            once = "finished" if over else "pending"
            recurs = "schedule" in mapping(manifest.body, "spec")
            counts["recurring" if recurs else once] += 1
    return counts


def _staged_run_states(world: World) -> Counter[str]:
    """Return how many staged deliveries have a run in each state."""
    records = map(readable_staged_record, (r.body for r in world.outputs_of_kind(STAGED_DELIVERY)))
    return Counter(str(one.run.state) for one in records if one.run is not None)


def commit_pass(
    report: PassReport,
    repository: Repository,
    author: CommitIdentity,
    signing: CommitSigning | None,
    lost: PassReport | None = None,
) -> str:
    """Write the commit of a pass, and return its full hex id; no branch moves.

    Args:
        report: What was decided.
        repository: Where it is written.
        author: Who commits.
        signing: With what it is signed, `None` for not at all.
        lost: The same decision as it was committed on other heads and lost a race.
    """
    world, outcome, heads = report.world, report.outcome, report.heads
    message = commit_message(
        outcome,
        world,
        now=report.now,
        version=__version__,
        editors=report.editors,
        reruns=find_reruns(repository, report.outputs, world, outcome),
        over="" if world.apart else heads.tip or "",
        outputs=heads.outputs or "" if heads.tip else "",
        reverted=tuple(_reverted_outputs(repository, heads.inputs, world, outcome)),
        caused=causing_commits(repository, heads.inputs, world, outcome.decisions),
    )
    return write_commit(
        repository,
        (*outcome.files, *put_back(repository, heads, world, outcome)),
        parent=heads.parent,
        message=message,
        at=report.now,
        author=author,
        signing=signing,
        earlier=None if lost is None else _earlier(lost),
    )


def _earlier(lost: PassReport) -> EarlierCommit | None:
    """Return the commit that lost a race, unless it put back what others did to our folders."""
    revision, parent = lost.commit, lost.heads.parent
    if revision is None or parent is None or lost.heads.tip is not None:
        return None
    folder = lost.world.output_root
    return EarlierCommit(
        revision=revision, parent=parent, changes=lost.outcome.files, folder=folder
    )


def editors_of(report: PassReport, repository: Repository) -> Iterator[tuple[str, str]]:
    """Yield the outputs that were edited by hand, each with who did it, as the history tells."""
    for key in report.outcome.edited:
        path = repository.from_top(report.world.outputs[key].origin.path)
        revisions = list_range(repository, report.outputs, paths=[path], most=1)
        commits = [*read_commits(repository, revisions)]
        yield str(key), str(commits[0].author) if commits else "someone"


STEPS = ("fetch", "load", "schedule", "commit", "push")


class StepTimes:
    """Adds up the seconds of each step; one that is done again counts again."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Count the block as so much of a step, one of `STEPS`."""
        began = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - began
