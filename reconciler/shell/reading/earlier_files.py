"""Earlier versions of input files, of which those are parsed that may matter to causes."""

from collections.abc import Callable, Collection, Iterator, Mapping

from reconciler.core.dialects import TAKEN_BACK
from reconciler.core.inputs.earlier_inputs import earlier_inputs
from reconciler.core.inputs.file_validation import FileValidation
from reconciler.core.record import LastPass
from reconciler.manifests.text.limits import Oversized
from reconciler.model.identity import ObjectKey
from reconciler.model.known_kinds import Kind
from reconciler.model.world import Manifest
from reconciler.shell.git.errors import GitError
from reconciler.shell.reading.edited_inputs import Before
from reconciler.shell.reading.tree_cache import TreeCache
from reconciler.shell.reading.trees import Trees

Version = tuple[str, str]
"""Path and blob id."""

GROUPS = tuple(sorted({group.encode() for group, _ in TAKEN_BACK}))


class EarlierFiles:
    """Versions that were asked for lately; of other kinds of objects nothing is kept."""

    def __init__(
        self, trees: Trees, files: TreeCache, version: Callable[[str, str], FileValidation]
    ) -> None:
        """Remember where to read, what the files hold now, and what parses a version."""
        self._trees, self._files, self._version = trees, files, version
        self._known: dict[Version, FileValidation | None] = {}

    def find(
        self,
        inputs: Mapping[ObjectKey, Manifest],
        edited: Before,
        last: LastPass | None,
        scopes: Mapping[Kind, bool],
    ) -> Mapping[ObjectKey, Manifest | None]:
        """Return what differs from the last pass as it was then, of what may matter to causes.

        Args:
            inputs: What is in force now.
            edited: The files that differ, as they were.
            last: The last pass that committed, `None` if there was none.
            scopes: Whether kinds are namespaced.

        Returns:
            Nothing where a version is not in this repository: then less is known of causes.
        """
        if last is None or not (edited or last.held):
            self._known = {}
            return {}
        wanted = {(path, one.blob) for path, one in edited.items() if one and one.is_file}
        wanted |= {(one.path, one.blob) for one in last.held}
        try:
            self._known = self._read(sorted(wanted))
        except GitError:
            self._known = {}
            return {}
        now = map(self._files.at, {*edited, *(one.path for one in last.held)})
        then = filter(None, self._known.values())
        return earlier_inputs(inputs, filter(None, now), then, last, scopes)

    def _read(self, wanted: Collection[Version]) -> dict[Version, FileValidation | None]:
        """Return what versions hold, `None` for one that holds nothing of the sort."""
        known = {pair: self._known[pair] for pair in wanted if pair in self._known}
        parsed = {pair: self._files.parsed(*pair) for pair in wanted if pair not in known}
        unknown = [pair for pair, file in parsed.items() if file is None]
        parsed |= {pair: self._version(*pair) for pair in self._promising(unknown)}
        return {**known, **{pair: _if_matters(file) for pair, file in parsed.items()}}

    def _promising(self, wanted: Collection[Version]) -> Iterator[Version]:
        """Yield the versions that mention a group of theirs, which takes no parser to see."""
        contents = self._trees.blobs(blob for _, blob in wanted) if wanted else ()
        for pair, (_, data) in list(zip(wanted, contents, strict=True)):
            if not isinstance(data, Oversized) and _mentions(data):
                yield pair


def _mentions(data: bytes) -> bool:
    """Return whether a file may hold what matters; of one in UTF-16 the parser tells."""
    return b"\0" in data or any(group in data for group in GROUPS)


def _if_matters(file: FileValidation | None) -> FileValidation | None:
    return file if file is not None and file.kinds & TAKEN_BACK else None
