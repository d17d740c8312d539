"""A repository as a value to ask: what holds, what a pass would do, what a merge moves, and why."""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from reconciler.errors import UsageError
from reconciler.manifests.identity import DEFAULT_NAMESPACE
from reconciler.model.identity import OUTPUT_ROOT, RepositoryLayout
from reconciler.model.records import dataclass, field
from reconciler.model.world import World
from reconciler.shell.git.history import resolve_revision
from reconciler.shell.git.repository import CommitIdentity, Repository
from reconciler.shell.processes.limits import processors
from reconciler.shell.reading.kept import place_of
from reconciler.shell.reading.load import Loader
from reconciler.shell.reading.sources import ServedBranches, finding_sources
from reconciler.shell.reading.tables import DocumentCache
from reconciler.shell.reading.tree_cache import Track, untracked
from reconciler.shell.reading.trees import GitTrees
from reconciler.shell.resources import SystemClock, build_stamp, load_schemas

if TYPE_CHECKING:
    from reconciler.audit.history.revisions import Commit
    from reconciler.audit.previews.preview import Preview
    from reconciler.audit.proof import Proof
    from reconciler.audit.reasons import Why
    from reconciler.audit.replay import Replay
    from reconciler.library.subject import Subject
    from reconciler.shell.passes.branches import Branch
    from reconciler.shell.passes.one_pass import Passes
    from reconciler.shell.passes.pass_report import PassReport
    from reconciler.shell.reading.merge_preview import Sides
    from reconciler.shell.reading.parts import PartReader
    from reconciler.shell.reading.revisions import GitRevisions
    from reconciler.shell.reading.settled_commits import CountedCommits, SettledCommits

AUTHOR = CommitIdentity("reconciler", "reconciler@localhost")


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetRepository:
    """A repository of clusters, policies and workloads. Use `open_repository`.

    Attributes:
        directory: The root inside of a checkout, or a bare repository.
        repository: The repository that it is in.
        layout: Where passes write.
        track: Shows how far long work is.
        documents: Those that were parsed before, `None` for none; they only save work.
        processes: How many may read, and decide a first pass, where there are thousands of files.
    """

    directory: Path
    repository: Repository
    layout: RepositoryLayout
    track: Track = untracked
    documents: DocumentCache | None = None
    processes: int = field(default_factory=processors)
    _revisions: "list[GitRevisions]" = field(default_factory=list, repr=False, compare=False)
    _replays: "list[Replay]" = field(default_factory=list, repr=False, compare=False)

    @property
    def revisions(self) -> "GitRevisions":
        """Its history; what it remembers only saves work."""
        from reconciler.shell.reading.revisions import GitRevisions

        if not self._revisions:
            known = None if self.documents is None else self.documents.changed_paths
            self._revisions.append(GitRevisions(self.repository, self.new_loader(), known))
        return self._revisions[0]

    @property
    def replay(self) -> "Replay":
        """What answers for its objects and computes its passes again; see `revisions`."""
        from reconciler.audit.replay import Replay

        if not self._replays:
            self._replays.append(Replay(self.revisions))
        return self._replays[0]

    @property
    def parts(self) -> "PartReader":
        """What reads as much of it as a question is about; see `revisions`."""
        from reconciler.shell.reading.parts import PartReader

        index = None if self.documents is None else self.documents.index
        return PartReader(self.revisions.loader, index, self._place)

    @property
    def settled_commits(self) -> "SettledCommits | None":
        """Its last commit in which nothing moved, `None` where that is not kept."""
        from reconciler.shell.reading.settled_commits import SettledCommits

        if self.documents is None:
            return None
        return SettledCommits(self.documents.folder, build_stamp, self._place)

    @property
    def counted_commits(self) -> "CountedCommits | None":
        """Its last commit whose copies were counted, `None` where that is not kept."""
        from reconciler.shell.reading.settled_commits import CountedCommits

        if self.documents is None:
            return None
        return CountedCommits(self.documents.folder, build_stamp, self._place)

    @property
    def _place(self) -> str:
        """What the short forms of its files, and notes about it, are kept under."""
        return place_of(self.repository, self.layout)

    def new_loader(self) -> Loader:
        """Return what loads worlds and has seen none yet."""
        return Loader(
            GitTrees(self.repository),
            load_schemas(),
            layout=self.layout,
            track=self.track,
            processes=self.processes,
            documents=self.documents,
            past=True,
            sources=finding_sources(self.repository, self.layout),
        )

    def world(self, at: str = "HEAD") -> World:
        """Return all that a pass looks at, at a revision.

        Raises:
            UsageError: There is no such revision.
            GitError: It cannot be read.
        """
        return self.revisions.loader.load(resolve_revision(self.repository, at))

    def shown(self, at: str = "HEAD", *, now: datetime | None = None) -> World:
        """Return the same to be shown: outputs also say what is assumed of silent clusters by now.

        Args:
            at: The revision.
            now: Aware moment that is shown; `None` is the clock's.
        """
        from reconciler.audit.fleet.assumed_outputs import as_of

        return as_of(self.world(at), now or SystemClock().now())

    def passes(
        self, branch: "str | Branch | None" = None, *, author: CommitIdentity = AUTHOR
    ) -> "Passes":
        """Return what runs passes on a branch; `None` is the one that is checked out.

        Raises:
            UsageError: There is no such branch.
        """
        from reconciler.shell.passes.branches import LocalBranch
        from reconciler.shell.passes.one_pass import Passes
        from reconciler.shell.work.divided_pass import decide_divided

        if not isinstance(branch, str | None):
            served = branch
        else:
            name = branch or self.repository.head_branch()
            self.repository.resolve(name)
            served = LocalBranch(self.repository, name)
        return Passes(
            branches=ServedBranches(served, self.layout),
            loader=self.new_loader(),
            clock=SystemClock(),
            author=author,
            settled=self.settled_commits,
            divided=partial(decide_divided, most=self.processes),
        )

    def reconcile(
        self, branch: str | None = None, *, at: datetime | None = None, dry_run: bool = False
    ) -> "PassReport":
        """Run one pass: decide, and commit to the branch unless it is dry.

        Args:
            branch: `None` is the one that is checked out.
            at: Aware moment of the pass, later than the last one; `None` is the clock's.
            dry_run: Whether nothing is committed.

        Raises:
            LostRace: The branch moved again and again.
            ShellError: Git refused, or the clock is behind the last pass.
        """
        passes = self.passes(branch)
        return passes.decide(at=at) if dry_run else passes.run(at=at)

    def plan(
        self, *, base: str | None = None, head: str | None = None, at: datetime | None = None
    ) -> "Preview":
        """Return what merging would move, and what would come of it later; nothing is written.

        Args:
            base: What is merged into; `None` is the branch that is served.
            head: What is merged; `None` are the files of the checkout, committed or not.
            at: Aware moment of the pass, later than the last one; `None` is the clock's.

        Raises:
            UsageError: There is no such revision, or the moment is too early.
            MergeConflict: Both changed the same lines.
        """
        from reconciler.audit.previews.preview import look_ahead

        with self.sides(base=base, head=head) as sides:
            return look_ahead(sides.base, sides.merged, moment_of(sides, at), settled=sides.settled)

    def sides(
        self, *, base: str | None = None, head: str | None = None, branch: str | None = None
    ) -> "AbstractContextManager[Sides]":
        """Return the two worlds that a plan compares, while the block lasts."""
        from reconciler.shell.reading.merge_preview import open_sides

        return open_sides(
            self.repository,
            base=base,
            head=head,
            branch=branch,
            layout=self.layout,
            track=self.track,
            documents=self.documents,
            commits=self.settled_commits,
        )

    def subject(
        self, word: str, *, namespace: str = DEFAULT_NAMESPACE, at: str = "HEAD"
    ) -> "Subject":
        """Find the object that `kind/name` names, and its history.

        Raises:
            UsageError: There is no such revision or kind, or nothing is decided about that kind.
        """
        from reconciler.library.subject import subject_at

        head = resolve_revision(self.repository, at)
        return subject_at(self.revisions, head, word, namespace, replay=self.replay)

    def why(self, word: str, *, namespace: str = DEFAULT_NAMESPACE, at: str = "HEAD") -> "Why":
        """Explain for every cluster why an object is there, or is not.

        Raises:
            UsageError: As `subject` says.
        """
        return self.subject(word, namespace=namespace, at=at).why(SystemClock().now())

    def verify(self, span: str = "HEAD") -> "Iterator[Proof]":
        """Yield a proof of each commit of a range such as `v1..HEAD`, the oldest first.

        Raises:
            UsageError: There is no such revision.
            HistoryMissing: A shallow clone cuts the range off.
        """
        from reconciler.shell.work.proofs import prove_all

        commits = self.commits(span)[::-1]
        return prove_all(self.revisions, commits, workers=None)

    def commits(self, span: str = "HEAD") -> "list[Commit]":
        """Return the commits of a range along first parents, the newest first."""
        start, dots, end = span.partition("..")
        if end.startswith("."):
            raise UsageError(
                f'"{span}" has three dots; name a range with two: "{start}..{end.lstrip(".")}" is '
                "what the second has and the first has not"
            )
        head = resolve_revision(self.repository, (end or "HEAD") if dots else start)
        but = resolve_revision(self.repository, start or "HEAD") if dots else None
        return self.revisions.commits(head, but=but)


def open_repository(
    directory: str | Path = ".",
    *,
    output_root: str = OUTPUT_ROOT,
    output_branch: str | None = None,
) -> FleetRepository:
    """Open the repository that a folder is in; the folder is the root of the fleet.

    Args:
        directory: A checkout, a folder in one, or a bare repository.
        output_root: Root-relative folder that passes own.
        output_branch: Branch of the outputs, `None` where it is that of the inputs.

    Raises:
        UsageError: There is no repository, or it belongs to another user.
    """
    folder = Path(directory)
    return FleetRepository(
        directory=folder,
        repository=Repository.open(folder),
        layout=RepositoryLayout(output_root=output_root, output_branch=output_branch),
    )


def moment_of(sides: "Sides", at: datetime | None) -> datetime:
    """Return the moment of a planned pass: a given one, or the clock's if that is late enough.

    Raises:
        UsageError: The given moment is not later than the last pass.
    """
    from reconciler.core.record import last_pass
    from reconciler.model.moments import add, format_moment

    last = last_pass(sides.base.outputs)
    if at is None:
        clock = SystemClock().now()
        return clock if last is None else max(clock, add(last.at))
    if last is not None and at <= last.at:
        raise UsageError(
            f"--now {format_moment(at)} must be later than the last pass of the base, "
            f"which was at {format_moment(last.at)}"
        )
    return at
