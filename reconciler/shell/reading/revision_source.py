"""Manifests of a commit, for a check before a branch moves there; no file is checked out."""

import os
import posixpath
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from reconciler.core.inputs.validation import Rules
from reconciler.errors import UsageError
from reconciler.manifests.paths import is_manifest_name, matches_any, shown_path
from reconciler.manifests.text.raw import Oversized
from reconciler.model.identity import RepositoryLayout
from reconciler.model.records import dataclass
from reconciler.shell.git.history import resolve_revision
from reconciler.shell.git.objects import TreeEntry, read_blobs
from reconciler.shell.git.repository import Repository
from reconciler.shell.reading.checked import FoundManifests, chosen_by, skipped_as
from reconciler.shell.reading.trees import GitTrees


@dataclass(frozen=True, slots=True)
class RevisionSource:
    """Manifests as a commit has them; see `ManifestSource`.

    `entries` are its files by their paths from the root, `base` is the folder where paths start;
    `layout` says where passes write.
    """

    repository: Repository
    name: str
    entries: Mapping[str, TreeEntry]
    root: Path
    base: Path
    layout: RepositoryLayout

    @classmethod
    def open(
        cls,
        root: Path,
        name: str,
        *,
        base: Path,
        layout: RepositoryLayout,
        variables: Mapping[str, str],
    ) -> "RevisionSource":
        """Open the commit that a person names.

        Args:
            root: The root, or a bare repository.
            name: A branch, a tag, an id.
            base: Where paths start.
            layout: Where passes write.
            variables: Environment that the operator gives to git.

        Raises:
            UsageError: There is no repository or no such revision.
        """
        repository = Repository.open(root, variables=variables)
        revision = resolve_revision(repository, name)
        entries = GitTrees(repository).files(revision)
        return cls(repository, name, entries, root.resolve(), base.resolve(), layout)

    def is_root(self, path: Path) -> bool:
        """Return whether a path is the root itself."""
        return self._from_root(path) == "."

    def is_file(self, path: Path) -> bool:
        """Return whether a path names one file."""
        return self._from_root(path) in self.entries

    def find(self, paths: Sequence[Path], *, rules: Rules, forced: bool = True) -> FoundManifests:
        """Return the files to check."""
        covers, settings = chosen_by(self._written, self.layout, rules)
        files: set[str] = set()
        links: set[str] = set()
        skipped: set[str] = set()
        for path in map(self._from_root, paths or [self.root]):
            matching = self._matching(path)
            if not matching:
                raise UsageError(f'"{path}" does not exist in {self.name}')
            is_named = forced and matching == [path]
            files.update(p for p in matching if self.entries[p].is_file and (is_named or covers(p)))
            links.update(p for p in matching if self._may_be_read(p) and covers(skipped_as(p)))
            if not is_named:
                skipped.update(filter(covers.passes_over, matching))
        return FoundManifests(
            files=tuple(sorted(files)),
            links=tuple(sorted(links)),
            skipped=tuple(sorted(skipped)),
            allowed=settings.allowed,
        )

    def contents(self, paths: Sequence[str]) -> Iterator[tuple[str, bytes | Oversized]]:
        """Yield files with their content."""
        blobs = [self.entries[path].blob for path in paths]
        contents = read_blobs(self.repository, blobs) if blobs else ()
        return ((path, data) for path, (_, data) in zip(paths, contents, strict=True))

    def records(self, kind: str) -> list[str]:
        """Return the files that hold one kind's status, sorted."""
        folder = f"{self.layout.output_root}/{kind}/"
        return sorted(
            path
            for path, entry in self.entries.items()
            if path.startswith(folder) and is_manifest_name(path) and entry.is_file
        )

    def _written(self, path: str) -> Iterator[bytes | Oversized]:
        """Yield what a file holds, nothing if there is none."""
        entry = self.entries.get(path)
        if entry is not None and entry.is_file:
            yield from (data for _, data in self.contents([path]))

    def _from_root(self, path: Path) -> str:
        """Return a path as the commit has it.

        Raises:
            UsageError: It is not in the root, or standard input.
        """
        if str(path) == "-":
            raise UsageError("--rev does not go with -, standard input is in no commit")
        relative = os.path.relpath(self.base / path, self.root)
        if relative.startswith(".."):
            raise UsageError(f'"{path}" is not in "{self.root}"')
        return shown_path(Path(relative).as_posix())

    def _matching(self, path: str) -> list[str]:
        """Return the entries that a path names: itself, those below it, those of a glob."""
        if path in self.entries:
            return [path]
        if path == ".":
            return list(self.entries)
        below = [name for name in self.entries if name.startswith(f"{path}/")]
        return below or [name for name in self.entries if matches_any(name, (f"/{path}",))]

    def _may_be_read(self, path: str) -> bool:
        """Return whether an entry is a link that may lead to manifests."""
        entry = self.entries[path]
        if not entry.is_symlink or is_manifest_name(path):
            return entry.is_symlink
        target = next(iter(read_blobs(self.repository, [entry.blob])))[1]
        if isinstance(target, Oversized):
            return False
        place = posixpath.join(posixpath.dirname(path), target.decode(errors="surrogateescape"))
        folder = f"{posixpath.normpath(place)}/"
        return any(name.startswith(folder) for name in self.entries)
