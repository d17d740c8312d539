"""A stretch of history as a value: it can be proven where its repository is not.

What a proof may look at is known before it is made, but for old versions of faulty files. Whatever
a stretch lacks is `NotSent`, and must be proven beside the repository.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from reconciler.audit.history.revisions import Commit, FileChange, UnreadableRevision, claim_of
from reconciler.manifests.text.limits import Oversized
from reconciler.model.repository_layout import RepositoryLayout
from reconciler.model.versioned import Versioned, differing_keys
from reconciler.model.world import World
from reconciler.shell.git.errors import GitError
from reconciler.shell.git.objects import ChangedFile, TreeEntry, list_files, read_blobs
from reconciler.shell.git.repository import Repository
from reconciler.shell.git.revisions import changes_between
from reconciler.shell.reading.listings import is_manifest
from reconciler.shell.reading.load import Loader
from reconciler.shell.reading.revisions import GitRevisions, load_pair, text_of
from reconciler.shell.reading.trees import shown_change
from reconciler.shell.resources import load_schemas


class NotSent(Exception):
    """A stretch does not carry what was asked for; no statement about the repository."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """Commits to be proven, with all that their proofs look at.

    Attributes:
        layout: Where passes write.
        prefix: The root inside of the repository, `""` for its top.
        commits: In the order of their proofs.
        steps: Commits and what each of them has that the one before has not; the first has all.
        changes: What each commit to be proven changed, by commit.
        blobs: Contents, by blob id.
        lines: Whether a commit leads to another, by both.
    """

    layout: RepositoryLayout
    prefix: str
    commits: tuple[Commit, ...]
    steps: tuple[tuple[str, tuple[ChangedFile, ...]], ...]
    changes: Mapping[str, tuple[FileChange, ...]]
    blobs: Mapping[str, bytes | Oversized]
    lines: Mapping[tuple[str, str], bool]


def cut_stretch(
    revisions: GitRevisions, commits: Sequence[Commit], *, last_inputs: str | None
) -> Stretch:
    """Return a stretch with everything that the repository has for it.

    Args:
        revisions: Where the commits are.
        commits: At least one, the oldest first.
        last_inputs: The inputs of the pass before these commits, `None` if unknown.

    Raises:
        GitError: Something is missing in the repository.
    """
    layout = revisions.layout
    wanted = [last_inputs, commits[0].parent, *(commit.revision for commit in commits)]
    steps = tuple(_steps(revisions.repository, list(dict.fromkeys(filter(None, wanted)))))
    entries = ((file.path, file.after) for _, changed in steps for file in changed if file.after)
    blobs = {entry.blob for path, entry in entries if _is_asked_for(path, entry, layout)}
    revisions.prepare(commits)
    return Stretch(
        layout=layout,
        prefix=revisions.repository.prefix,
        commits=tuple(commits),
        steps=steps,
        changes={commit.revision: revisions.changes(commit) for commit in commits},
        blobs=dict(read_blobs(revisions.repository, sorted(blobs))),
        lines={pair: revisions.leads_to(*pair) for pair in filter(None, map(_line, commits))},
    )


def empty_stretch(commits: Sequence[Commit], layout: RepositoryLayout) -> Stretch:
    """Return a stretch that carries nothing: its commits are proven beside the repository."""
    return Stretch(
        layout=layout,
        prefix="",
        commits=tuple(commits),
        steps=(),
        changes={},
        blobs={},
        lines={},
    )


def _steps(
    repository: Repository, revisions: Sequence[str]
) -> Iterator[tuple[str, tuple[ChangedFile, ...]]]:
    """Yield what each commit has below the root that the one before has not."""
    files = list_files(repository, revisions[0], prefix=repository.prefix).items()
    yield revisions[0], tuple(shown_change(ChangedFile(path, None, entry)) for path, entry in files)
    found = changes_between(repository, pairwise(revisions))
    root = f"{repository.prefix}/" if repository.prefix else ""
    for revision in revisions[1:]:
        changed = (one for one in found.get(revision, ()) if one.path.startswith(root))
        below = (one._replace(path=one.path.removeprefix(root)) for one in changed)
        yield revision, tuple(map(shown_change, below))


def _is_asked_for(path: str, entry: TreeEntry, layout: RepositoryLayout) -> bool:
    """Return whether a proof may look into a file."""
    if layout.is_output(path):
        return not entry.is_gitlink
    return is_manifest(path, entry)


def _line(commit: Commit) -> tuple[str, str] | None:
    """Return which commit must lead to which, `None` if no pass is claimed."""
    claim = claim_of(commit)
    if claim is None or claim.inputs is None or commit.parent is None:
        return None
    return claim.inputs, commit.parent


@dataclass(slots=True)
class SentTrees:
    """The trees of a stretch."""

    _files: dict[str, Versioned[str, TreeEntry]] = field(default_factory=dict)
    _blobs: Mapping[str, bytes | Oversized] = field(default_factory=dict)

    def take(self, stretch: Stretch) -> None:
        """Go on with another stretch."""
        files: Versioned[str, TreeEntry] = Versioned()
        self._files, self._blobs = {}, stretch.blobs
        for revision, changed in stretch.steps:
            came = {file.path: file.after for file in changed if file.after}
            files = files.patched(came, [file.path for file in changed if not file.after])
            self._files[revision] = files

    def files(self, revision: str, /) -> Mapping[str, TreeEntry]:
        """Return every file of a commit."""
        if revision not in self._files:
            raise NotSent(revision)
        return self._files[revision]

    def changed(self, old: str, new: str, /) -> tuple[ChangedFile, ...]:
        """Return what differs between two commits."""
        if old not in self._files:
            raise GitError(f"commit {old} is of another stretch")
        before, after = self._files[old], self.files(new)
        paths = sorted(differing_keys(after, before))
        pairs = ((path, before.get(path), after.get(path)) for path in paths)
        return tuple(ChangedFile(path, old, new) for path, old, new in pairs if old != new)

    def blobs(self, ids: Iterable[str], /) -> Iterator[tuple[str, bytes | Oversized]]:
        """Yield blobs with their content or size."""
        for blob in ids:
            if blob not in self._blobs:
                raise NotSent(blob)
            yield blob, self._blobs[blob]


class SentRevisions:
    """Answers from stretches of one root; what it remembers of earlier ones only saves work."""

    def __init__(self, layout: RepositoryLayout) -> None:
        """Begin without a stretch."""
        self._trees = SentTrees()
        self._loader = Loader(self._trees, load_schemas(), layout=layout)
        self._changes: Mapping[str, tuple[FileChange, ...]] = {}
        self._lines: Mapping[tuple[str, str], bool] = {}

    def take(self, stretch: Stretch) -> None:
        """Go on with another stretch."""
        self._trees.take(stretch)
        self._changes, self._lines = stretch.changes, stretch.lines

    def changes(self, commit: Commit, /) -> tuple[FileChange, ...]:
        """Return what a commit changed against its first parent."""
        if commit.revision not in self._changes:
            raise NotSent(commit.revision)
        return self._changes[commit.revision]

    def differences(self, old: str, new: str, /) -> tuple[FileChange, ...]:
        """Return nothing: only passes over commits that wait ask, and they are proven elsewhere."""
        raise NotSent(f"{old}..{new}")

    @property
    def layout(self) -> RepositoryLayout:
        """Where passes write; a branch of outputs is proven beside the repository."""
        return self._loader.layout

    def world(
        self, inputs: str, outputs: str | None, /, *, reports: str | None = None
    ) -> World | UnreadableRevision:
        """Return the inputs of one commit with the outputs of another."""
        if outputs is None or reports:
            raise NotSent(inputs)
        return load_pair(self._loader, inputs, outputs, reports)

    def text(self, blob: str, /) -> str:
        """Return the content of a blob for people to read."""
        return text_of(self._trees.blobs([blob]))

    def leads_to(self, ancestor: str, revision: str, /) -> bool:
        """Return whether a commit exists and is the other one or one of its ancestors."""
        if (ancestor, revision) not in self._lines:
            raise NotSent(ancestor)
        return self._lines[ancestor, revision]
