"""What each file of a commit holds, in short, kept on disk from one question to the next.

The files of a place are kept in groups, by the first two digits of their blob ids: so all of them
are read at once, and a commit that changes one file makes one group anew. Every file in a group
stands under its own blob id, so a group of another commit costs time, never an answer; so does
whatever else is wrong with the table.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from reconciler.core.inputs.file_head import FileHead, decode_heads, encode_head
from reconciler.core.inputs.file_validation import FileValidation
from reconciler.manifests.file_names import is_escaped
from reconciler.shell.reading.kept.optional_table import OptionalTable, filed_under

INDEX = "index.db"
FEW = 500  # ours: fewer files are parsed before an index would have been asked
MOST_BYTES = 1 << 27  # ours: 100,000 manifests take some 16 MB
DIGITS = 2  # of a blob id
MOST_KEPT = 4  # times the files of a commit: those of other commits that were asked about

File = tuple[str, str, str]
"""The name of the rules, path and blob id."""


class FileIndex:
    """The short forms of files, by blob, rules and build."""

    def __init__(
        self,
        folder: Path,
        build: Callable[[], str],
        *,
        few: int = FEW,
        most_bytes: int = MOST_BYTES,
    ) -> None:
        """Remember where the index is; it is opened when many files are first asked for.

        Args:
            folder: Ours alone; made if absent.
            build: Returns what stands for the code that reads: other code, other groups.
            few: From how many files on it is worth asking.
            most_bytes: How large the table may grow.
        """
        self._table = OptionalTable(folder, INDEX, most_bytes=most_bytes)
        self._build = build
        self._few = few
        self._prefix: str | None = None
        self._asked: frozenset[str] = frozenset()
        self._digests: dict[str, bytes] = {}
        self._lines: dict[str, str] = {}
        self._noted: dict[str, str] = {}

    @property
    def problem(self) -> str:
        """Why the table is not used, `""` while it is."""
        return self._table.problem

    def is_worth(self, count: int) -> bool:
        """Return whether so many files are worth asking about."""
        return count >= self._few and self._opened()

    def find(self, place: str, files: Sequence[File]) -> Mapping[str, FileHead | None] | None:
        """Return what files hold by their paths, `None` of those that have to be read.

        Args:
            place: What the files are kept under; the same for the commits of a repository.
            files: All of a commit.

        Returns:
            `None` if there is no index.
        """
        if not self._opened():
            return None
        keys = {path: f"{blob}{_sort(path)}{rules}" for rules, path, blob in files}
        self._asked = frozenset(keys.values())
        self._digests = {
            one: self._digest(place, one) for one in {key[:DIGITS] for key in keys.values()}
        }
        self._lines = {}
        for text in self._table.read(list(self._digests.values())).values():
            for line in text.split("\n"):
                key, _, said = line.partition("\t")
                self._lines[key] = said
        known = [key for key in self._asked if key in self._lines]
        try:
            decoded = decode_heads([self._lines[key] for key in known])
            heads = dict(zip(known, decoded, strict=True))
        except (ValueError, TypeError):  # edited by somebody who knows the checksum
            heads, self._lines = {}, {}
        return {path: heads.get(key) for path, key in keys.items()}

    def note(self, rules: str, files: Iterable[FileValidation]) -> None:
        """Note what was found in files that were not known, to be written by `save`."""
        for file in files:
            key = f"{file.blob}{_sort(file.path)}{rules}"
            if key in self._asked and key not in self._lines:
                self._noted[key] = encode_head(file)

    def save(self) -> None:
        """Write the groups that have something new."""
        lines = {**self._lines, **self._noted}
        groups: dict[str, list[str]] = {key[:DIGITS]: [] for key in self._noted}
        for key in sorted(lines, key=lambda key: key not in self._asked):
            if key[:DIGITS] in groups:
                groups[key[:DIGITS]].append(key)
        most = MOST_KEPT * max(len(self._asked) >> 4 * DIGITS, 1)
        entries = [
            (self._digests[group], "\n".join(f"{key}\t{lines[key]}" for key in keys[:most]))
            for group, keys in groups.items()
        ]
        if entries or self._table.has_news:
            self._table.write(entries)
        self._lines, self._noted = lines, {}

    def _opened(self) -> bool:
        """Return whether there is a table."""
        if self._prefix is None:
            self._prefix = self._build()
            self._table.open()
        return self._table.is_open

    def _digest(self, place: str, group: str) -> bytes:
        """Return what a group stands under."""
        return filed_under(str(self._prefix), place, group)


def _sort(path: str) -> str:
    """Return what a file is filed under besides: of odd names and JSON other things are found."""
    return " odd " if is_escaped(path) else " json " if path.endswith(".json") else " yaml "
