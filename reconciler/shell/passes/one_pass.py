"""One pass for real: read, decide, commit, move the branch; again if it moved meanwhile.

The clock must be later than the last pass: a short wait may do, else the pass reports it. Commits
of passes that a branch lacks are written again: they can be computed once more.
"""

import contextlib
import random
import time
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from datetime import datetime, timedelta
from itertools import takewhile
from typing import NamedTuple

from reconciler.audit.fleet.problems import ProblemCounts
from reconciler.audit.history.revisions import Commit, UnreadableRevision, pass_of
from reconciler.audit.replay import Replay
from reconciler.core.changes import Outcome, carried_over
from reconciler.core.reconcile import Memo, reconcile
from reconciler.core.record import last_pass
from reconciler.delivery.settings import decode_delivery
from reconciler.errors import ReconcilerError, ShellError
from reconciler.model.moments import format_moment
from reconciler.model.records import dataclass, field, replace
from reconciler.model.settings import settings_in
from reconciler.model.world import World
from reconciler.shell.git.command import (
    GitError,
    LostRace,
    RemoteMisconfigured,
    RemoteRefused,
    RemoteUnreachable,
)
from reconciler.shell.git.commits import write_commit
from reconciler.shell.git.history import list_range
from reconciler.shell.git.objects import lost, lost_objects
from reconciler.shell.git.repository import CommitIdentity, Repository
from reconciler.shell.passes.branch_delivery import BranchDelivered, BranchDelivery, DecidedPass
from reconciler.shell.passes.branches import Branch
from reconciler.shell.passes.pass_report import (
    Contest,
    PassReport,
    StepTimes,
    commit_pass,
    editors_of,
)
from reconciler.shell.passes.trust import RefusedCommit, unfetched_commit
from reconciler.shell.passes.turns import PassDropped
from reconciler.shell.passes.used_reports import BroughtReports, keep_used
from reconciler.shell.processes.limits import give_back
from reconciler.shell.reading.load import Loader
from reconciler.shell.reading.revisions import GitRevisions
from reconciler.shell.reading.settled_commits import SettledCommits
from reconciler.shell.reading.sources import Heads, ServedBranches
from reconciler.shell.resources import Clock
from reconciler.shell.work.divided_pass import decide_divided

MOST_DECISIONS = 6  # of one pass; several writers on one branch settle in two or three rounds
MOST_BESIDE = 60  # races lost to pushes to a branch that is delivered to, where ours is unmoved
MOST_RACES = 1000  # lost to pushes after which the decision stands: only an end to what has none
PIECES = 10  # of parsed documents, written between two looks at the branch; half a second


class _Overtaken(NamedTuple):
    """A decision that does not stand: where the branches are by now, and how many races it lost.

    `heads` is `None` where nobody has looked yet.
    """

    heads: Heads | None = None
    races: int = 0


class _Beaten(NamedTuple):
    """A decision that was committed and lost a race, and where the branches are instead."""

    committed: PassReport
    heads: Heads


@dataclass(frozen=True, slots=True, kw_only=True)
class Passes:
    """Runs passes on the branches of one root.

    Attributes:
        branches: All that it reads and moves.
        loader: Reads their worlds.
        clock: Where `now` comes from.
        author: Who commits.
        pause: Waits for a number of seconds.
        memo: What earlier passes remember; it only saves work.
        delivery: Brings what was decided to other branches.
        contest: What others undo of what it writes.
        began: Is told which commit of people a pass looks at, as it begins.
        settled: Keeps a commit in which nothing is left to do, `None` if nothing does.
        divided: Decides a pass with other processes; `None` where this one has to do it.
        is_stopped: Tells a pass that waits for its turn, or has lost a race, to end.
        most_races: How many it may lose while a decision stands.
        problems: Counts what is wrong, pass after pass.
        used: Whether the reports are here that decisions name.
    """

    branches: ServedBranches
    loader: Loader
    clock: Clock
    author: CommitIdentity
    pause: Callable[[float], None] = time.sleep
    memo: Memo = field(default_factory=Memo)
    delivery: BranchDelivery = field(default_factory=BranchDelivery)
    contest: Contest = field(default_factory=Contest)
    began: Callable[[str], None] = lambda _: None
    settled: SettledCommits | None = None
    divided: Callable[[World, datetime], Outcome | None] = decide_divided
    is_stopped: Callable[[], bool] = lambda: False
    most_races: int = MOST_RACES
    problems: ProblemCounts = field(default_factory=ProblemCounts)
    used: BroughtReports = field(default_factory=BroughtReports)

    @property
    def branch(self) -> Branch:
        """The one of the inputs."""
        return self.branches.inputs

    def decide(
        self,
        *,
        at: datetime | None = None,
        times: StepTimes | None = None,
        heads: Heads | None = None,
    ) -> PassReport:
        """Compute a pass without committing anything.

        Args:
            at: Moment of the pass; `None` takes the clock's.
            times: Where the time that it takes is counted.
            heads: Where the branches are; `None` fetches them.

        Raises:
            ClockBehind: The moment is not later than the last pass.
            HistoryMissing: The clone is shallow, and the pass needs what it lacks.
        """
        branches, times = self.branches, times or StepTimes()
        if heads is None:
            with times.step("fetch"):
                heads = branches.heads()
        self.began(heads.inputs)
        with times.step("load"):
            self.used.bring_once(branches, heads)
            world = branches.load(self.loader, heads)
            self.loader.check_past(self.branch.repository)
        heads = heads._replace(reports=world.reported_at or None)
        now = moment_of_pass(world, self.clock, self.pause) if at is None else later(world, at)
        with times.step("schedule"):
            outcome, waiting = self._reconcile(world, now, heads)
        return PassReport(
            world=world,
            outcome=outcome,
            now=now,
            heads=heads,
            commit=None,
            waiting=waiting,
            refused=self._refused(),
        )

    def run(
        self, *, at: datetime | None = None, publish: bool = True, due: bool = False
    ) -> PassReport:
        """Compute a pass and commit it; if the branch moved meanwhile, compute again.

        Args:
            at: Moment of the pass; `None` takes the clock's.
            publish: Whether the branch moves. If not, the commit exists and is named in the report.
            due: Whether its moment has come, so that it is decided from what is known here; what is
                at the remote is fetched and judged if the branch turns out to have moved.

        Raises:
            LostRace: The branch moved each time.
            PassDropped: It was told to end while it waited for its turn.
            ShellError: Git or the remote refused.
        """
        self.branch.recover()
        with self.branch.repository.held:
            try:
                report = self._run_due(at) if due and publish else None
                report = report or self._run(at=at, publish=publish)
                report = self._delivered(report, publish=publish)
            except (RemoteRefused, RemoteUnreachable, RemoteMisconfigured, LostRace):
                raise
            except GitError:
                if not self._repaired():
                    raise
                report = self._delivered(self._run(at=at, publish=publish), publish=publish)
        report = replace(report, mended=self.branch.take_mended())
        if self.settled is not None and publish and not report.is_held:
            commit = report.commit or report.heads.inputs
            self.settled.keep(report.world, commit, report.outcome, report.now)
        return report

    def _repaired(self) -> bool:
        """Write again what is lost, if there is anything and that can be done."""
        if self.branch.repair():
            return True
        names = dict.fromkeys((self.branches.inputs.name, self.branches.moved))
        repository = self.branch.repository
        written = [write_lost_again(repository, self.loader, name) for name in names]
        return any(written)

    def rest(self) -> bool:
        """Do a little of what no pass waits for, and return whether more is left."""
        self.branch.maintain()
        if self.loader.keep_documents(pieces=PIECES):
            return True
        give_back()
        return False

    def _delivered(self, report: PassReport, *, publish: bool) -> PassReport:
        """Bring other branches to what was decided, and tell what waits there, too."""
        if publish and not report.beside and _delivered_to(report):
            report = replace(report, beside=tuple(self.delivery.deliver(self._decided(report))))
        return replace(report, refused=self._refused())

    def _decided(self, report: PassReport) -> DecidedPass:
        return DecidedPass(
            served=self.branches,
            loader=self.loader,
            author=self.author,
            sources=report.sources,
            at=report.now,
        )

    def _refused(self) -> tuple[RefusedCommit, ...]:
        """Return the commits that wait on any branch."""
        trust = self.branches.trust
        unfetched = (
            unfetched_commit(unfetched.branch, unfetched.revision, unfetched.problem)
            for unfetched in self.branch.unfetched
            if unfetched.revision
        )
        return (*(() if trust is None else trust.refused.values()), *unfetched)

    def _publish(self, report: PassReport) -> PassReport:
        """Publish a decision, together with what it delivers to other branches if that can be done.

        Returns:
            The report with what became of the other branches, and of the checkouts.
        """
        beside = self._publish_together(report)
        kept = () if beside is not None else self.branches.publish(report.heads, report.outputs)
        self.branch.repository.held.put_again()
        return replace(report, beside=beside or (), kept=kept)

    def _publish_together(self, report: PassReport) -> tuple[BranchDelivered, ...] | None:
        """Publish a decision and what it delivers to other branches at once, if that can be done.

        Returns:
            What became of the other branches; `None` if none has moved.

        Raises:
            LostRace: A branch is elsewhere, and none has moved.
        """
        names = _delivered_to(report)
        try:
            if not names or not self.branches.may_move_with(names):
                return None
            prepared = list(self.delivery.prepare(self._decided(report)))
            moves = [delivered.move for delivered in prepared if delivered.move is not None]
            if moves and self.branches.publish_together(report.heads, report.outputs, moves):
                return tuple(delivered.told for delivered in prepared)
        except LostRace:
            self.delivery.forget()
            raise
        except ReconcilerError:
            pass  # what is wrong with another branch is told after the decision, which goes first
        self.delivery.forget()
        return None

    def _run_due(self, at: datetime | None) -> PassReport | None:
        """Run a pass from what is known here; `None` if somebody has moved the branch since."""
        from_here = replace(self, branches=self.branches.known, most_races=0)
        with contextlib.suppress(LostRace):
            return from_here._run(at=at, publish=True)  # noqa: SLF001  # it is this one
        return None

    def _run(self, *, at: datetime | None, publish: bool) -> PassReport:
        times, last = StepTimes(), _Overtaken()
        for decision in range(MOST_DECISIONS):
            if decision:
                self.pause(random.uniform(0.01, 0.1) * 2**decision)  # noqa: S311  # spreads writers
            report = self.decide(at=at, times=times, heads=last.heads)
            report = replace(report, races=last.races, steps=times.seconds)
            # What cannot be fetched has to be taken off the branch: nothing can stand on it.
            if not report.outcome.changes or report.heads.unread:
                if publish:
                    self.branches.bring_back(report.heads)
                return report
            contested = self.contest.fought_over(report.world, report.outcome, report.now)
            if contested is not None:
                return replace(report, contested=contested)
            report = self._named(report)
            written = self._written(report, times, publish=publish)
            if isinstance(written, PassReport):
                return written
            last = written
        raise LostRace(f"{self.branches.moved} moved each time that a pass was decided")

    def _named(self, report: PassReport) -> PassReport:
        """Let a decision name reports that stay, where they are kept."""
        kept = keep_used(
            self.branch.repository,
            report.world,
            self.branches.beside,
            at=report.now,
            author=self.author,
            key=self.delivery.key,
        )
        if kept is None:
            return report
        world = replace(report.world, reported_at=kept.commit)
        outcome = carried_over(report.outcome, report.now, report.world, world)
        if outcome is None:
            raise ValueError("a world is another one by the commit of its reports alone")
        return replace(report, world=world, outcome=outcome, used=kept.move)

    def _written(
        self, report: PassReport, times: StepTimes, *, publish: bool
    ) -> PassReport | _Overtaken:
        """Write a decision and move the branch, in turn.

        However often others move the branch meanwhile, the same is written on top of them for as
        long as the decision stands: each of their pushes costs one more try at most, and a turn.
        """
        lost: PassReport | None = None
        unmoved = 0
        while True:
            with self.branch.writers.taken(self.is_stopped):
                tried = self._tried(report, times, lost, publish=publish)
            if not isinstance(tried, _Beaten):
                return tried
            if self.is_stopped():
                raise PassDropped
            lost = tried.committed
            unmoved += tried.heads == lost.heads  # another branch has moved, or nobody moved any
            beside = _delivered_to(lost) and lost.used is None
            if unmoved > (MOST_BESIDE if beside else 0):
                return _Overtaken(tried.heads, lost.races)
            report = replace(lost, commit=None)

    def _tried(
        self, report: PassReport, times: StepTimes, lost: PassReport | None, *, publish: bool
    ) -> PassReport | _Overtaken | _Beaten:
        """Write a decision on the newest head that is known here, if it stands there, and push."""
        heads = self._known_heads(report) if publish else report.heads
        if heads != report.heads:
            standing = self._standing(report, heads, times)
            if standing is None:
                return _Overtaken(heads, report.races)
            report = standing
        committed = self._committed(report, times, lost)
        if committed.commit is None or not publish:
            return committed
        return self._moved(committed, times)

    def _committed(
        self, report: PassReport, times: StepTimes, lost: PassReport | None
    ) -> PassReport:
        """Write the commit of a decision, if it changes anything, and name it in the report."""
        report = replace(report, editors=tuple(editors_of(report, self.branch.repository)))
        with times.step("commit"):
            signing = self.branches.signing(self.delivery.key)
            commit = commit_pass(report, self.branch.repository, self.author, signing, lost)
        return report if commit == report.heads.parent else replace(report, commit=commit)

    def _moved(self, committed: PassReport, times: StepTimes) -> PassReport | _Beaten:
        """Move the branch to the commit of a decision, or see where it is: others may need that."""
        try:
            with times.step("push"):
                if committed.used is not None:
                    self.branches.publish_other(committed.used)
                    committed = replace(committed, used=None)
                published = self._publish(committed)
        except LostRace:
            if committed.races == self.most_races:
                raise
            heads = self._heads_after_race(committed, times)
            return _Beaten(replace(committed, races=committed.races + 1), heads)
        self.contest.wrote(committed.world, committed.outcome, committed.now)
        return published

    def _heads_after_race(self, report: PassReport, times: StepTimes) -> Heads:
        """Return where the branches are instead; fetched, unless that was seen here already."""
        heads = self._known_heads(report)
        if heads != report.heads:
            return heads
        with times.step("fetch"):
            return self.branches.heads()._replace(reports=report.heads.reports)

    def _known_heads(self, report: PassReport) -> Heads:
        """Return where the branches are by now, as far as was seen here: nothing is fetched."""
        if self.branch.repository.find(self.branches.moved) == report.heads.old:
            return report.heads
        return self.branches.heads(fetched=False)._replace(reports=report.heads.reports)

    def _standing(self, report: PassReport, heads: Heads, times: StepTimes) -> PassReport | None:
        """Return a decision as one about other heads, with its moment; `None` if it does not stand.

        It stands where nothing that it was decided from differs, and where a person edits the same
        files as before of those that it would remove.
        """
        self.began(heads.inputs)
        with times.step("load"):
            world = self.branches.load(self.loader, heads, lambda _: report.heads.reports)
            world = replace(world, reported_at=report.world.reported_at)
        with times.step("schedule"):
            outcome = carried_over(report.outcome, report.now, report.world, world)
            taken = report.waiting.union(removal.path for removal in report.outcome.removals)
            if outcome is None or (taken and self._busy(taken, heads) != report.waiting):
                return None
        return replace(report, world=world, outcome=outcome, heads=heads, refused=self._refused())

    def _reconcile(
        self, world: World, now: datetime, heads: Heads
    ) -> tuple[Outcome, frozenset[str]]:
        """Return the outcome, and the files that stay since a person is editing them."""
        outcome = self.divided(world, now) or reconcile(world, now, memo=self.memo)
        taken = {removal.path for removal in outcome.removals}
        waiting = self._busy(taken, heads) if taken else frozenset()
        if waiting:  # or else the checkout could not follow, and nothing would be committed
            outcome = reconcile(world, now, busy=waiting, memo=self.memo)
        return outcome, waiting

    def _busy(self, taken: AbstractSet[str], heads: Heads) -> frozenset[str]:
        """Return the files that stay: those that a person edits, and all while commits wait."""
        return frozenset(taken) if heads.tip else self.branch.busy(taken, at=heads.inputs)


def _delivered_to(report: PassReport) -> tuple[str, ...]:
    """Return the names of the other branches that a world is delivered to."""
    return decode_delivery(settings_in(report.world)).branches


SHORT_WAIT = timedelta(seconds=5)  # a clock this far behind is waited for
LONG_WAIT = timedelta(minutes=5)  # a clock further behind than this needs a person


class ClockBehind(ShellError):
    """The clock is not later than the last pass, by more than is worth waiting for."""


def later(world: World, at: datetime) -> datetime:
    """Return a moment that a person chose, if it is later than the last pass."""
    last = last_pass(world.outputs)
    if last is not None and at <= last.at:
        raise ClockBehind(
            f"{format_moment(at)} is not later than the last pass at {format_moment(last.at)}"
        )
    return at


def behind(last: datetime, now: datetime) -> str:
    """Return how far the clock is behind, and who must act."""
    seconds = int((last - now).total_seconds())
    gap = f"the clock says {format_moment(now)}, the last pass was at {format_moment(last)}"
    if last - now > LONG_WAIT:
        return (
            f"{gap}: {seconds} s ahead. Set the clock right, or restore `lastPassAt` in the "
            "reconciler.yaml of the outputs"
        )
    return f"{gap}; nothing is committed for {seconds} s, until the clock has caught up"


def moment_of_pass(world: World, clock: Clock, pause: Callable[[float], None]) -> datetime:
    """Return the clock's moment, waiting shortly until it is later than the last pass.

    Args:
        world: What the pass looks at.
        clock: Where `now` comes from.
        pause: Waits for a number of seconds.

    Raises:
        ClockBehind: It will not be later within a short wait.
    """
    last = last_pass(world.outputs)
    now = clock.now()
    if last is None or now > last.at:
        return now
    if last.at - now > SHORT_WAIT:
        raise ClockBehind(behind(last.at, now))
    while now <= last.at:
        pause((last.at - now).total_seconds() + 1 if now < last.at else 0.05)
        now = clock.now()
    return now


MOST = 100  # ours: commits without some of their objects, one after the other
AUTHOR = CommitIdentity("reconciler", "reconciler@localhost")


def write_lost_again(repository: Repository, loader: Loader, branch: str) -> bool:
    """Write what a branch needs of the commits of passes, and return whether anything was lost.

    The same inputs at the same moment give the same files, so what was lost has the same ids.

    Args:
        repository: Where the branch is.
        loader: Loads the worlds that the passes have seen.
        branch: Name without `refs/heads/`.

    Raises:
        LostObjects: Something else is lost; a person must bring it back.
        GitError: Git failed.
    """
    head = repository.find(branch)
    if head is None or not lost_objects(repository, head):
        return False
    line = list_range(repository, head)[:MOST]
    broken = list(takewhile(lambda commit: lost_objects(repository, commit), line))
    revisions = GitRevisions(repository, loader)
    for commit in reversed(broken):
        _write_again(revisions, revisions.commit_at(commit))
    if left := lost_objects(repository, head):
        raise lost(repository, branch, head, left)
    return True


def _write_again(revisions: GitRevisions, commit: Commit) -> None:
    """Compute the pass of a commit once more, and write its files; nothing names that commit."""
    repository, read = revisions.repository, pass_of(commit)
    if read is None or not lost_objects(repository, commit.revision):
        return
    replayed = Replay(revisions).run_again(commit)
    if isinstance(replayed, UnreadableRevision) or not replayed.outcome.files:
        return
    write_commit(
        repository,
        replayed.outcome.files,
        parent=commit.parent,
        message=f"Write {commit.revision} again",
        at=read.at,
        author=AUTHOR,
    )
