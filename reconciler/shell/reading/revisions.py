"""The history of a repository as the audit asks for it; see `audit/history/revisions.py`."""

from collections.abc import Callable, Iterable, Sequence

from reconciler.audit.history.revisions import FROM, Commit, FileChange, UnreadableRevision
from reconciler.core.own_outputs import OwnOutputs
from reconciler.errors import ReconcilerError
from reconciler.manifests.paths import is_feedback
from reconciler.manifests.text.raw import Oversized
from reconciler.model.identity import RepositoryLayout
from reconciler.model.records import dataclass, field
from reconciler.model.world import World
from reconciler.shell.git.command import HistoryMissing
from reconciler.shell.git.history import (
    ChangedPaths,
    CommitRecord,
    FolderLine,
    changes_of,
    check_whole,
    cut_off,
    is_ancestor,
    list_brought,
    list_range,
)
from reconciler.shell.git.objects import REGULAR, ChangedFile, changed_files, read_blobs
from reconciler.shell.git.repository import EMPTY_TREES, Repository
from reconciler.shell.reading.load import Loader

PLAIN = REGULAR[0]
NEAR = 8  # commits that are read together; few lie between two passes
NOTHING = frozenset(EMPTY_TREES.values())
MOST_KEPT = 300_000  # changes of files that are remembered; a pass may have written 50,000
MOST_BROUGHT = 3  # commits of one merge, told beside it


@dataclass(slots=True)
class GitRevisions:
    """Answers from a repository; what it remembers only saves work.

    Attributes:
        repository: That is asked.
        loader: Reads its worlds.
        changed_paths: Tells which commits changed a file, `None` where git looks into each.
    """

    repository: Repository
    loader: Loader
    changed_paths: ChangedPaths | None = None
    _line: FolderLine | None = None
    _length: int = 0
    _changes: dict[str, tuple[FileChange, ...]] = field(default_factory=dict)

    @property
    def line(self) -> FolderLine:
        """The history as the outputs came along."""
        if self._line is None:
            folder = self.repository.from_top(self.layout.output_root)
            self._line = FolderLine(self.repository, folder, FROM)
        return self._line

    def commits(
        self, head: str, *, but: str | None = None, paths: Sequence[str] = (), whole: bool = True
    ) -> list[Commit]:
        """Return the commits that lead to `head` along first parents, the newest first.

        Args:
            head: Full hex commit id.
            but: A commit that they must not be part of, nor its ancestors; `None` for none.
            paths: Only commits that changed something there, relative to the root; none for all.
            whole: Whether a history that a shallow clone cuts off is refused.

        Raises:
            HistoryMissing: It is cut off.
        """
        lineage = self.lineage(head, but=but, paths=paths, whole=whole)
        return list(self._read(lineage.revisions))

    def lineage(
        self, head: str, *, but: str | None = None, paths: Sequence[str] = (), whole: bool = True
    ) -> "CommitLine":
        """Return the same commits, to be read when they are asked for."""
        places = tuple(self.repository.from_top(path) for path in paths)
        head, but = self.moved_at(head), None if but is None else self.moved_at(but)
        but = None if but in NOTHING else but
        listed = [] if head in NOTHING else self._listed(head, but, places)
        if whole:
            check_whole(self.repository, listed)
        return CommitLine(self._read, listed)

    def _listed(self, head: str, but: str | None, places: tuple[str, ...]) -> list[str]:
        """Return the commits that changed something at some places, of all if there are none."""
        repository, excluded = self.repository, () if but is None else (but,)
        if places and self.changed_paths is not None:
            repository = self.changed_paths.of(repository, head, commits=self._length)
        listed = self.line.commits(head, but=excluded, paths=places, index=repository)
        if not places:
            self._length = len(listed)
        return listed

    def moved_at(self, revision: str) -> str:
        """Return the commit of the branch that passes move, as at a revision of the inputs."""
        return self.loader.sources_of(revision)[1]

    def prepare(self, commits: Sequence[Commit]) -> None:
        """Read the changes of many commits at once; `changes` then answers from memory."""
        unread = [commit.revision for commit in commits if commit.revision not in self._changes]
        if not unread:
            return
        found = changes_of(
            self.repository,
            {one.revision: one.parent for one in commits if one.revision not in self._changes},
        )
        prefix = f"{self.repository.prefix}/" if self.repository.prefix else ""
        asked = {commit.revision for commit in commits}
        kept = sum(map(len, self._changes.values())) + sum(map(len, found.values()))
        for old in [one for one in self._changes if one not in asked] if kept > MOST_KEPT else ():
            del self._changes[old]
        for revision in unread:
            changes = found.get(revision, ())
            self._changes[revision] = tuple(_change(changed, prefix) for changed in changes)

    def changes(self, commit: Commit, /) -> tuple[FileChange, ...]:
        """Return what a commit changed against its first parent, everything for a root commit."""
        if commit.revision not in self._changes:
            self.prepare([commit])
        return self._changes[commit.revision]

    @property
    def layout(self) -> RepositoryLayout:
        """Where passes write."""
        return self.loader.layout

    def world(
        self,
        inputs: str,
        outputs: str | None,
        /,
        *,
        reports: str | None = None,
        only: OwnOutputs | None = None,
    ) -> World | UnreadableRevision:
        """Return the inputs of one commit with the outputs of another."""
        nothing = EMPTY_TREES[self.repository.object_format]
        world = load_pair(self.loader, inputs, outputs or nothing, reports, only)
        if isinstance(world, World):
            try:
                self.loader.check_past(self.repository)
            except HistoryMissing as error:
                return UnreadableRevision(str(error))
        return world

    def world_at(
        self, revision: str, /, *, only: OwnOutputs | None = None
    ) -> World | UnreadableRevision:
        """Return the world at a commit of the branch that passes move."""
        try:
            return self.loader.load(revision, only=only)
        except ReconcilerError as error:
            return UnreadableRevision(str(error))

    def between(self, old: str, new: str, /) -> tuple[Commit, ...]:
        """Return the commits that lead to one and not to an older one, the newest first."""
        return self._read(self.line.commits(new, but=(old,), index=self.repository))

    def commit_at(self, revision: str, /) -> Commit:
        """Return one commit."""
        [commit] = self._read([revision])
        return commit

    def _read(self, revisions: Iterable[str]) -> tuple[Commit, ...]:
        """Return some commits."""
        return tuple(map(_commit, self.line.read(revisions)))

    def brought(self, commit: Commit, paths: Iterable[str], /) -> tuple[Commit, ...]:
        """Return the commits that a merge brought and that changed some files, the oldest first."""
        if commit.parent is None or len(commit.parents) == 1:
            return ()
        places = [self.repository.from_top(path) for path in paths]
        listed = list_brought(
            self.repository, commit.revision, commit.parent, paths=places, most=MOST_BROUGHT
        )
        return self._read(listed)

    def last_change(self, head: str, reports: str, path: str) -> Commit | None:
        """Return the last commit that changed a file, along first parents.

        Args:
            head: Full hex id of the commit that is looked back from.
            reports: Full hex id of that of another branch which has the reports, `""` for none.
            path: Relative to the root.

        Returns:
            `None` where none did, or a shallow clone does not have it.
        """
        place = self.repository.from_top(path)
        inputs, outputs = self.loader.sources_of(head)
        is_output = path.startswith(f"{self.layout.output_root}/")
        tip = outputs if is_output else inputs
        if reports and is_feedback(path):
            tip = reports
        listed = list_range(self.repository, tip, paths=(place,), most=1)
        if not listed or listed[0] in cut_off(self.repository):
            return None
        return self.commit_at(listed[0])

    def differences(self, old: str, new: str, /) -> tuple[FileChange, ...]:
        """Return what differs between the trees of two commits, below the root."""
        prefix = self.repository.prefix
        changes = changed_files(self.repository, old, new, prefix=prefix)
        return tuple(_change(changed, "") for changed in changes)

    def text(self, blob: str, /) -> str:
        """Return the content of a blob for people to read."""
        return text_of(read_blobs(self.repository, [blob]))

    def texts(self, blobs: Iterable[str]) -> dict[str, bytes]:
        """Return the contents of many blobs at once; one that is too large is empty."""
        wanted = dict.fromkeys(blobs)
        return {
            blob: b"" if isinstance(content, Oversized) else content
            for blob, content in read_blobs(self.repository, wanted)
        }

    def leads_to(self, ancestor: str, revision: str, /) -> bool:
        """Return whether a commit exists and is the other one or one of its ancestors."""
        return ancestor == revision or is_ancestor(self.repository, ancestor, revision)


def load_pair(
    loader: Loader,
    inputs: str,
    outputs: str,
    reports: str | None,
    only: OwnOutputs | None = None,
) -> World | UnreadableRevision:
    """Return the inputs of one commit with the outputs of another, or why they cannot be read."""
    asked = None if reports is None else lambda _: reports
    try:
        return loader.load(inputs, outputs=outputs, reports=asked, only=only)
    except ReconcilerError as error:
        return UnreadableRevision(str(error))


def text_of(found: Iterable[tuple[str, bytes | Oversized]]) -> str:
    """Return the content of the blob that was read; one that is too large is empty."""
    for _, content in found:
        return "" if isinstance(content, Oversized) else content.decode(errors="replace")
    return ""


class CommitLine:
    """Commits by their ids; those beside the one that is asked for are read with it."""

    def __init__(
        self, read: Callable[[Sequence[str]], Sequence[Commit]], revisions: Sequence[str]
    ) -> None:
        self.revisions = revisions
        self._read = read
        self._known: dict[int, Commit] = {}

    def __getitem__(self, position: int, /) -> Commit:
        if position not in self._known:
            wanted = self.revisions[position : position + NEAR]
            self._known.update(enumerate(self._read(wanted), start=position))
        return self._known[position]


def _commit(record: CommitRecord) -> Commit:
    """Return a commit without what only git needs."""
    return Commit(
        revision=record.revision,
        author=str(record.author),
        authored_at=record.authored_at,
        committed_at=record.committed_at,
        subject=record.subject,
        trailers=record.trailers,
        parents=record.parents,
    )


def _change(changed: ChangedFile, prefix: str) -> FileChange:
    """Return a change with its path relative to the root."""
    path, before, after = changed.path, changed.before, changed.after
    return FileChange(
        path=path.removeprefix(prefix) if path.startswith(prefix) else f"/{path}",
        before=None if before is None else before.blob,
        after=None if after is None else after.blob,
        plain=after is None or after.mode == PLAIN,
    )
