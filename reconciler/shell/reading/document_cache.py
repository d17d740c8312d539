"""Parsed documents kept on disk, so that the next start need not parse them.

Whatever is wrong with the table (cut off, edited, another program's, locked for long, on a full
disk) costs time, never an answer: what is not found there is read from the repository.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from reconciler.core.inputs.file_validation import FileValidation
from reconciler.core.inputs.stored_validation import (
    decode_validations,
    encode_validation,
    is_storable,
)
from reconciler.manifests.file_names import is_escaped
from reconciler.model.known_kinds import KnownKinds
from reconciler.shell.reading.file_index import FileIndex
from reconciler.shell.reading.kept.entry_table import TOGETHER
from reconciler.shell.reading.kept.optional_table import OptionalTable

if TYPE_CHECKING:
    from reconciler.shell.git.changed_paths import ChangedPaths

NAME = "documents.db"
HISTORIES = "histories"
INPUTS, OUTPUTS = "inputs", "outputs"  # names of rules
FEW = 500  # ours: fewer files are parsed before a table would have been asked
MOST_BYTES = 1 << 30  # ours: 100,000 manifests take some 200 MB
PIECE = 2000  # files that are written together; some 50 ms
SAMPLE = 200  # files by which it is guessed how many are there

Pair = tuple[str, str]
"""Path and blob id."""


class DocumentCache:
    """What was found in the files without faults, by blob, rules and build."""

    def __init__(
        self,
        folder: Path,
        build: Callable[[], str],
        known: KnownKinds,
        *,
        few: int = FEW,
        most_bytes: int = MOST_BYTES,
        stamp: Callable[[], str] | None = None,
    ) -> None:
        """Remember where the table is; it is opened when many files are first asked for.

        Args:
            folder: Ours alone; made if absent.
            build: Returns what stands for the code that reads: other code, other entries.
            known: The kinds.
            few: From how many files on it is worth asking.
            most_bytes: How large the table may grow.
            stamp: As `build`, for the short forms of files; `None` for no index of them.
        """
        self.index = None if stamp is None else FileIndex(folder, stamp, few=few)
        """The short forms of the files, which are kept in a table beside."""
        self.folder = folder
        self._build = build
        self._known = known
        self._few = few
        self._table = OptionalTable(folder, NAME, most_bytes=most_bytes)
        self._was_opened = False
        self._prefix = b""
        self._pending: list[tuple[bytes, FileValidation]] = []
        self._changed_paths: ChangedPaths | None = None

    @property
    def problem(self) -> str:
        """Why a table is not used, `""` while all are."""
        return self._table.problem or (self.index.problem if self.index else "")

    @property
    def changed_paths(self) -> "ChangedPaths":
        """Which commits changed a file, kept in a folder beside."""
        from reconciler.shell.git.changed_paths import ChangedPaths  # noqa: PLC0415  # runs git

        if self._changed_paths is None:
            self._changed_paths = ChangedPaths(self.folder / HISTORIES)
        return self._changed_paths

    def find(self, rules: str, pairs: Sequence[Pair]) -> Iterator[FileValidation]:
        """Yield what was found in those files that are known, without their texts.

        Args:
            rules: The name of the rules that they are held against.
            pairs: The files.
        """
        if not self._opened(len(pairs)):
            return
        shared: dict[str, str] = {}
        for start in range(0, len(pairs), TOGETHER):
            piece = pairs[start : start + TOGETHER]
            keys = [self._key(rules, *pair) for pair in piece]
            texts = self._table.read(keys)
            stored = [
                (*pair, texts[key]) for pair, key in zip(piece, keys, strict=True) if key in texts
            ]
            yield from decode_validations(stored, shared)

    def unknown(self, rules: str, pairs: Sequence[Pair]) -> int:
        """Return how many of some files are not known, by a sample."""
        if not self._opened(len(pairs)):
            return len(pairs)
        sample = {self._key(rules, *pair) for pair in pairs[:: len(pairs) // SAMPLE + 1]}
        return (
            len(pairs) * (len(sample) - len(self._table.read(list(sample)))) // max(len(sample), 1)
        )

    def unknown_among(self, pairs: Iterable[Pair], is_output: Callable[[str], bool]) -> int:
        """Return about how many files of a commit are not known."""
        sides: dict[str, list[Pair]] = {INPUTS: [], OUTPUTS: []}
        for path, blob in pairs:
            sides[OUTPUTS if is_output(path) else INPUTS].append((path, blob))
        return sum(self.unknown(*side) for side in sides.items())

    def add(self, rules: str, file: FileValidation) -> None:
        """Note what was found in a file, to be written by `save`."""
        if self._table.is_open and is_storable(file, self._known):
            self._pending.append((self._key(rules, file.path, file.blob), file))

    def save(self, *, pieces: int | None = None) -> bool:
        """Write what was noted, and return whether more is left.

        Args:
            pieces: How many at most; `None` for all.
        """
        while self._table.is_open and (self._pending or self._table.has_news):
            if pieces == 0:
                return True
            pieces = None if pieces is None else pieces - 1
            piece, self._pending = self._pending[:PIECE], self._pending[PIECE:]
            self._table.write([(key, encode_validation(file)) for key, file in piece])
        if self.index is not None:
            self.index.save()
        if self._changed_paths is not None:
            self._changed_paths.save()
        return False

    def _opened(self, count: int) -> bool:
        """Return whether there is a table, and so many files are worth it."""
        if not self._was_opened and count >= self._few:
            self._was_opened = True
            self._prefix = f"{self._build()}\0".encode()
            self._table.open()
        return self._table.is_open and count >= self._few

    def _key(self, rules: str, path: str, blob: str) -> bytes:
        """Return what a file is filed under: of odd names and JSON other things are found."""
        sort = "odd" if is_escaped(path) else "json" if path.endswith(".json") else "yaml"
        said = self._prefix + f"{rules}\0{sort}\0{blob}".encode()
        return hashlib.blake2b(said, digest_size=16).digest()
