"""Which manifest files a commit has; told from a commit known before by what differs."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar

from reconciler.core.step import FileTree
from reconciler.manifests.file_names import is_manifest_name
from reconciler.model.frozen import is_at_or_below
from reconciler.model.versioned import Versioned, differing_keys, patched
from reconciler.shell.git.errors import GitError
from reconciler.shell.git.objects import REGULAR, ChangedFile, TreeEntry
from reconciler.shell.reading.trees import Trees

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
        known = self._known.pop(revision, None)
        if known is None:
            known = self._patched(revision) if self._known else self._list(revision)
        self._known[revision] = known  # the latest one asked for comes last
        _trim(self._known)
        return known

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
                found = frozenset(path for path in paths if before.get(path) != after.get(path))
                self._differing[old, new] = found
            _trim(self._differing)
        return self._differing[old, new]

    def _list(self, revision: str) -> Listing:
        """List a whole commit."""
        listed = self._trees.files(revision)
        self._whole = (revision, listed)
        return self._listing(listed)

    def _listing(self, listed: Mapping[str, TreeEntry]) -> Listing:
        """Return what the files of a commit are."""
        return Listing(
            Versioned({path: one for path, one in listed.items() if is_manifest(path, one)}),
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
