"""Where worlds are read from: the files of commits, what differs between commits, contents.

The manifest files of a commit follow from those of a commit known before by what differs.

What clusters report may have a branch of its own; the trees of the two branches are then seen as
one tree. Such a pair is named `INPUTS+REPORTS`, and has the files of the first, except for those
below `feedback/`, which are those of the second; `INPUTS+` has none there.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Protocol, TypeVar

from reconciler.core.step import FileTree
from reconciler.manifests.paths import is_feedback, is_manifest_name, shown_path
from reconciler.manifests.text.raw import Oversized
from reconciler.model.records import dataclass
from reconciler.model.remembered import Versioned, differing_keys, patched
from reconciler.model.world import is_at_or_below
from reconciler.shell.git.command import GitError
from reconciler.shell.git.history import is_ancestor
from reconciler.shell.git.objects import (
    REGULAR,
    ChangedFile,
    TreeEntry,
    changed_files,
    list_files,
    read_blobs,
)
from reconciler.shell.git.repository import Repository


class Trees(Protocol):
    """The trees of one root; every path is relative to it, and as it is shown."""

    def files(self, revision: str, /) -> Mapping[str, TreeEntry]:
        """Return every file of a commit or tree, links included; see `list_files`.

        Raises:
            GitError: It cannot be read.
        """

    def changed(self, old: str, new: str, /, *, but: str = "") -> tuple[ChangedFile, ...]:
        """Return what differs between two of them, `but` below a folder; see `changed_files`.

        Raises:
            GitError: The older one cannot be read.
        """

    def blobs(self, ids: Iterable[str], /) -> Iterator[tuple[str, bytes | Oversized]]:
        """Yield blobs with their content or size, in the order asked for; see `read_blobs`.

        Raises:
            GitError: One is missing.
        """

    def leads_to(self, ancestor: str, revision: str, /) -> bool:
        """Return whether a commit exists and is the other one or one of its ancestors."""


@dataclass(frozen=True, slots=True)
class GitTrees:
    """The trees of a repository, below its prefix."""

    repository: Repository

    def files(self, revision: str, /) -> Mapping[str, TreeEntry]:
        """Return every file of a commit or tree."""
        listed = list_files(self.repository, revision, prefix=self.repository.prefix)
        return {shown_path(path): entry for path, entry in listed.items()}

    def changed(self, old: str, new: str, /, *, but: str = "") -> tuple[ChangedFile, ...]:
        """Return what differs between two of them."""
        prefix = self.repository.prefix
        changes = changed_files(self.repository, old, new, prefix=prefix, but=but)
        return tuple(map(shown_change, changes))

    def blobs(self, ids: Iterable[str], /) -> Iterator[tuple[str, bytes | Oversized]]:
        """Yield blobs with their content or size."""
        return read_blobs(self.repository, ids)

    def leads_to(self, ancestor: str, revision: str, /) -> bool:
        """Return whether a commit exists and is the other one or one of its ancestors."""
        return is_ancestor(self.repository, ancestor, revision)


def shown_change(change: ChangedFile) -> ChangedFile:
    """Return a change with its path as it is shown."""
    path = shown_path(change.path)
    return change if path is change.path else change._replace(path=path)


K = TypeVar("K")
V = TypeVar("V")

KEPT = 8  # commits: the present one, the one before, that of the last pass, and some of a history


@dataclass(frozen=True, slots=True)
class Listing:
    """What a commit holds.

    Attributes:
        files: The YAML and JSON files.
        links: Paths of symbolic links and submodules.
        others: Other files in or above the folders of ours, and folders named like YAML files in
            them.
    """

    files: Mapping[str, TreeEntry]
    links: frozenset[str]
    others: frozenset[str]

    @property
    def tree(self) -> FileTree:
        """The files and links as the core knows them."""
        return FileTree({path: entry.blob for path, entry in self.files.items()}, self.links)

    def in_the_way(self, roots: Collection[str]) -> frozenset[str]:
        """Return what may stand in the way of files below some folders of ours."""
        if not roots:
            return frozenset()
        return frozenset(
            path
            for path in self.links | self.others
            if any(is_at_or_below(root, path) or is_at_or_below(path, root) for root in roots)
        )


class Listings:
    """What the commits asked for last hold; links are never followed."""

    def __init__(self, trees: Trees, folder: str) -> None:
        """Remember where to look, and the first folder that is ours."""
        self._trees = trees
        self._ours = frozenset({folder})
        self._whole: tuple[str, Mapping[str, TreeEntry]] | None = None
        self._known: dict[str, Listing] = {}
        self._differing: dict[tuple[str, str], frozenset[str]] = {}

    def entries(self, revision: str) -> Mapping[str, TreeEntry]:
        """Return path to entry of the YAML and JSON files of a commit or tree.

        Raises:
            GitError: It cannot be read.
        """
        return self.listing(revision).files

    def listing(self, revision: str) -> Listing:
        """Return the files and links of a commit or tree.

        Raises:
            GitError: It cannot be read.
        """
        listing = self._known.pop(revision, None)
        if listing is None:
            listing = self._patched(revision) if self._known else self._list(revision)
        self._known[revision] = listing  # the latest one asked for comes last
        _trim(self._known)
        return listing

    def knows(self, revision: str) -> bool:
        """Return whether a commit was asked for lately, so that it takes no git to look at it."""
        return revision in self._known

    def watch(self, roots: Collection[str]) -> None:
        """Take note of more folders that are ours; what was listed just before is kept for that."""
        whole, self._whole = self._whole, None
        if not self._ours.issuperset(roots):
            self._ours |= frozenset(roots)
            self._known = {} if whole is None else {whole[0]: self._listing(whole[1])}

    def differing(self, old: str, new: str) -> frozenset[str]:
        """Return the paths whose entries are not the same in two commits."""
        if (old, new) not in self._differing:
            before, after = self.entries(old), self.entries(new)
            if (old, new) not in self._differing:  # they may just have been told by one another
                paths = differing_keys(after, before)
                differing = frozenset(path for path in paths if before.get(path) != after.get(path))
                self._differing[old, new] = differing
            _trim(self._differing)
        return self._differing[old, new]

    def _list(self, revision: str) -> Listing:
        listed = self._trees.files(revision)
        self._whole = (revision, listed)
        return self._listing(listed)

    def _listing(self, listed: Mapping[str, TreeEntry]) -> Listing:
        """Return what the files of a commit are."""
        return Listing(
            Versioned({path: entry for path, entry in listed.items() if is_manifest(path, entry)}),
            frozenset(path for path, entry in listed.items() if entry.mode not in REGULAR),
            frozenset(
                other
                for path in self._near_ours(listed)
                for other in self._other(path, listed[path])
            ),
        )

    def _near_ours(self, paths: Iterable[str]) -> Iterator[str]:
        """Yield the paths that may add to `others`, without a look at most of a large commit."""
        above = {
            folder.rsplit("/", level)[0]
            for folder in self._ours
            for level in range(folder.count("/") + 1)
        }
        below = tuple(f"{folder}/" for folder in self._ours)
        for path in paths:
            if path in above or (
                path.startswith(below)
                and (".yaml/" in path or ".json/" in path or not path.endswith((".yaml", ".json")))
            ):
                yield path

    def _other(self, path: str, entry: TreeEntry) -> Iterator[str]:
        """Yield what a file of a commit adds to `others`."""
        for folder in self._ours:
            if is_at_or_below(folder, path):  # a file where the folder, or one above it, must be
                yield path
            elif path.startswith(f"{folder}/"):
                if entry.is_file and not is_manifest(path, entry):
                    yield path
                for end in (".yaml", ".json"):
                    if f"{end}/" in path:
                        yield f"{path.partition(f'{end}/')[0]}{end}"

    def _patched(self, revision: str) -> Listing:
        """Derive a listing from the one asked for last, or list all if git has lost that one."""
        last = next(reversed(self._known))
        try:
            changes = self._trees.changed(last, revision)
        except GitError:
            return self._list(revision)
        before = self._known[last]
        if any(self._is_odd(change) for change in changes):
            return self._list(revision)  # seldom, and others may still need a folder of that name
        came: dict[str, TreeEntry] = {}
        gone = {change.path for change in changes}
        links = set(before.links)
        for change in changes:
            links.discard(change.path)
            if change.after is not None and is_manifest(change.path, change.after):
                came[change.path] = change.after
            elif change.after is not None and not change.after.is_file:
                links.add(change.path)
        self._differing[last, revision] = frozenset(change.path for change in changes)
        _trim(self._differing)
        return Listing(patched(before.files, came, gone), frozenset(links), before.others)

    def _is_odd(self, change: ChangedFile) -> bool:
        """Return whether a change may add to `others`, or take from them."""
        return any(
            any(self._other(change.path, entry)) for entry in (change.before, change.after) if entry
        )


def is_manifest(path: str, entry: TreeEntry) -> bool:
    """Return whether a file may be one that is read."""
    return entry.mode in REGULAR and is_manifest_name(path)


def _trim(known: dict[K, V]) -> None:
    """Forget what was not asked for lately."""
    while len(known) > KEPT:
        del known[next(iter(known))]


BESIDE = "+"  # never part of an id


Reports = Callable[[str], str | None]
"""Returns the full hex id of the commit that a branch is at, `None` if there is no such branch."""

SourcesOf = Callable[[str], tuple[str, str]]
"""Returns the full hex ids of the commits of inputs and outputs at a revision."""


def paired(inputs: str, reports: str) -> str:
    """Return the name of a pair; `reports` of `""` stands for none.

    >>> paired("aa", "bb")
    'aa+bb'
    """
    return f"{inputs}{BESIDE}{reports}"


@dataclass(frozen=True, slots=True)
class ReportedTrees:
    """The trees of a repository, by ids and by pairs of them."""

    trees: Trees

    def files(self, revision: str, /) -> Mapping[str, TreeEntry]:
        """Return every file of a commit, a tree or a pair."""
        inputs, pair, reports = revision.partition(BESIDE)
        files = self.trees.files(inputs)
        if not pair:
            return files
        inputs_only = {path: entry for path, entry in files.items() if not is_feedback(path)}
        return {**inputs_only, **self._reports(reports)}

    def changed(self, old: str, new: str, /, *, but: str = "") -> tuple[ChangedFile, ...]:
        """Return what differs between two of them.

        Raises:
            GitError: The older one cannot be read, or only one of them is a pair.
        """
        (old_inputs, was, old_reports), (new_inputs, pair, new_reports) = (
            name.partition(BESIDE) for name in (old, new)
        )
        if was != pair:
            raise GitError("reports come from elsewhere than before")
        if not pair:
            return self.trees.changed(old, new, but=but)
        same = old_inputs == new_inputs
        inputs = () if same else self.trees.changed(old_inputs, new_inputs, but=but)
        changes = [change for change in inputs if not is_feedback(change.path)]
        return (*changes, *self._changed_reports(old_reports, new_reports))

    def blobs(self, ids: Iterable[str], /) -> Iterator[tuple[str, bytes | Oversized]]:
        """Yield blobs with their content or size."""
        return self.trees.blobs(ids)

    def leads_to(self, ancestor: str, revision: str, /) -> bool:
        """Return whether a commit exists and is the other one or one of its ancestors."""
        return self.trees.leads_to(ancestor, revision)

    def _reports(self, reports: str) -> dict[str, TreeEntry]:
        """Return the files below `feedback/` of a commit."""
        files = self.trees.files(reports) if reports else {}
        return {path: entry for path, entry in files.items() if is_feedback(path)}

    def _changed_reports(self, old: str, new: str) -> Iterator[ChangedFile]:
        """Yield what differs below `feedback/`."""
        if old and new:
            changes = self.trees.changed(old, new) if old != new else ()
            yield from (change for change in changes if is_feedback(change.path))
            return
        yield from (ChangedFile(path, entry, None) for path, entry in self._reports(old).items())
        yield from (ChangedFile(path, None, entry) for path, entry in self._reports(new).items())
