"""The trees of two branches seen as one: what clusters report may have a branch of its own.

Such a pair is named `INPUTS+REPORTS`, and has the files of the first, but for those below
`feedback/`, which are those of the second; `INPUTS+` has none there.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from reconciler.manifests.feedback import is_feedback
from reconciler.manifests.text.limits import Oversized
from reconciler.shell.git.errors import GitError
from reconciler.shell.git.objects import ChangedFile, TreeEntry
from reconciler.shell.reading.trees import Trees

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
        found = self.trees.files(inputs)
        if not pair:
            return found
        kept = {path: entry for path, entry in found.items() if not is_feedback(path)}
        return {**kept, **self._reports(reports)}

    def changed(self, old: str, new: str, /) -> tuple[ChangedFile, ...]:
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
            return self.trees.changed(old, new)
        inputs = () if old_inputs == new_inputs else self.trees.changed(old_inputs, new_inputs)
        changes = [change for change in inputs if not is_feedback(change.path)]
        return (*changes, *self._changed_reports(old_reports, new_reports))

    def blobs(self, ids: Iterable[str], /) -> Iterator[tuple[str, bytes | Oversized]]:
        """Yield blobs with their content or size."""
        return self.trees.blobs(ids)

    def _reports(self, reports: str) -> dict[str, TreeEntry]:
        """Return the files below `feedback/` of a commit."""
        found = self.trees.files(reports) if reports else {}
        return {path: entry for path, entry in found.items() if is_feedback(path)}

    def _changed_reports(self, old: str, new: str) -> Iterator[ChangedFile]:
        """Yield what differs below `feedback/`."""
        if old and new:
            changes = self.trees.changed(old, new) if old != new else ()
            yield from (change for change in changes if is_feedback(change.path))
            return
        yield from (ChangedFile(path, entry, None) for path, entry in self._reports(old).items())
        yield from (ChangedFile(path, None, entry) for path, entry in self._reports(new).items())
