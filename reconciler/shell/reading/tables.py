"""The only file that uses SQLite: texts by key, on disk, where nothing depends on them.

A text stands behind a checksum of its key and itself; a table with one whose checksum is not right
is damaged, and counts as empty. The folder and the file must be ours alone to write. Nothing waits
for the disk: a loss of power may take what was written last, or all of it.

Parsed documents are kept in one, so that the next start need not parse them. The index keeps in
short what each file of a commit contains, from one question to the next. The files of a place are
kept in groups, by the first two digits of their blob ids: so all of them are read at once, and a
commit that changes one file makes one group anew. Every file in a group stands under its own blob
id, so a group of another commit costs time, never an answer.

So does whatever else is wrong with a table (cut off, edited, another program's, locked for long, on
a full disk): what is not found there is read from the repository.
"""

import contextlib
import hashlib
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from reconciler.core.inputs.stored import (
    FileHead,
    decode_heads,
    decode_validations,
    encode_head,
    encode_validation,
    is_storable,
)
from reconciler.core.inputs.validation import FileValidation
from reconciler.manifests.paths import is_escaped
from reconciler.model.kinds import KnownKinds
from reconciler.shell.processes.limits import check_ours_alone

if TYPE_CHECKING:
    from reconciler.shell.git.history import ChangedPaths


TABLE = "CREATE TABLE entry (key BLOB PRIMARY KEY, day INTEGER, content BLOB)"
PATIENCE_SECONDS = 1.0  # for another process that is writing
TOGETHER = 500  # keys of one question; SQLite took at most 999 for long
CHECK_BYTES = 16
DAY_SECONDS = 86400
LEFT_PERCENT = 75  # of the bound, once it was reached


class OptionalTable:
    """Texts by key, in one file, which processes use at once, and the threads of one in turn.

    It is opened at the first question, and let go of for the rest of a process once it cannot be
    used: then it is empty.
    """

    def __init__(
        self, folder: Path, name: str, build: Callable[[], str], *, most_bytes: int
    ) -> None:
        """Remember where the table is.

        Args:
            folder: Ours alone; made if absent.
            name: Of the file.
            build: Returns what stands for the code that writes and reads: other code, other keys.
                It is asked once, when the table is opened.
            most_bytes: Above this, those entries go that were not used for longest.
        """
        self._folder = folder
        self._name = name
        self._build = build
        self._most_bytes = most_bytes
        self._prefix: str | None = None
        self._connection: sqlite3.Connection | None = None
        self._old: list[bytes] = []
        self._turn = threading.RLock()
        self.problem = ""
        """Why it is not used, `""` while it is."""

    @property
    def is_open(self) -> bool:
        """Whether it was opened and can be used."""
        return self._connection is not None

    @property
    def has_news(self) -> bool:
        """Whether `write` would note something even without entries: which were used today."""
        return self.is_open and bool(self._old)

    def open(self) -> bool:
        """Open the table, unless that was tried before, and return whether it can be used."""
        return self._opened() is not None

    def key(self, *parts: str) -> bytes:
        """Return the key of what this build keeps about some texts."""
        if self._prefix is None:
            self.open()
        about = f"{self._prefix}\0" + "\0".join(parts)
        return hashlib.blake2b(about.encode(errors="surrogateescape"), digest_size=16).digest()

    def read(self, keys: Sequence[bytes]) -> dict[bytes, str]:
        """Return the texts that are there."""
        texts: dict[bytes, str] = {}
        today = _today()
        with self._guarded():
            for key, day, content in self._rows(keys):
                texts[key] = _checked(key, content)
                if day != today:
                    self._old.append(key)
        return texts

    def write(self, entries: Sequence[tuple[bytes, str]]) -> None:
        """Add entries, all or none, and note which were used today."""
        today = _today()
        with self._guarded():
            if (connection := self._opened()) is None:
                return
            rows = [
                (key, today, _check(key, data := text.encode()) + data) for key, text in entries
            ]
            with _writing(connection):
                connection.executemany("INSERT OR REPLACE INTO entry VALUES (?, ?, ?)", rows)
                used = [(today, key) for key in self._old]
                connection.executemany("UPDATE entry SET day = ? WHERE key = ?", used)
                self._old.clear()
                if (size := _size_bytes(connection)) > self._most_bytes:
                    _forget(connection, share=1 - self._most_bytes * LEFT_PERCENT / 100 / size)

    def _rows(self, keys: Sequence[bytes]) -> Iterator[tuple[bytes, int, object]]:
        """Yield the entries that are there, in no particular order."""
        if (connection := self._opened()) is None:
            return
        for start in range(0, len(keys), TOGETHER):
            piece = keys[start : start + TOGETHER]
            marks = ",".join("?" * len(piece))
            yield from connection.execute(
                f"SELECT key, day, content FROM entry WHERE key IN ({marks})",  # noqa: S608  # marks
                piece,
            ).fetchall()

    def _opened(self) -> sqlite3.Connection | None:
        with self._turn:
            if self._prefix is None:
                self._prefix = self._build()
                with self._guarded():
                    self._connection = _connect(self._folder, self._name)
        return self._connection

    @contextlib.contextmanager
    def _guarded(self) -> Iterator[None]:
        """Go on without the table where it cannot be used; make room where it is damaged."""
        try:
            with self._turn:
                yield
        except (sqlite3.OperationalError, OSError) as error:
            self._give_up(error)
        except sqlite3.DatabaseError as error:
            self._give_up(error)
            for name in (self._name, f"{self._name}-journal"):  # a killed process leaves the latter
                with contextlib.suppress(OSError):
                    (self._folder / name).unlink()

    def _give_up(self, error: Exception) -> None:
        """Let go of the table for the rest of this process."""
        self.problem = str(error)
        if self._connection is not None:
            self._connection.close()
        self._connection = None


def _connect(folder: Path, name: str) -> sqlite3.Connection:
    """Open a file, and make it, its folder and its table if they are missing.

    Raises:
        OSError: The folder or the file cannot be used, or is not ours alone to write.
        sqlite3.Error: The file is damaged, or another program's.
    """
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    place = folder / name
    os.close(os.open(place, os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW, 0o600))
    check_ours_alone(folder, place)
    connection = sqlite3.connect(
        place,
        timeout=PATIENCE_SECONDS,
        isolation_level=None,
        check_same_thread=False,  # workers take what they do to any of their threads
    )
    try:
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("PRAGMA trusted_schema = OFF")
        _make(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _make(connection: sqlite3.Connection) -> None:
    """Make the table.

    Raises:
        sqlite3.DatabaseError: Something else is in the file.
    """
    made = connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
    if not made:
        with contextlib.suppress(sqlite3.OperationalError):  # another process was quicker
            connection.execute(TABLE)
    elif made != [(TABLE,)]:
        raise sqlite3.DatabaseError("the file is another program's")


@contextlib.contextmanager
def _writing(connection: sqlite3.Connection) -> Iterator[None]:
    """Write all of a block or nothing."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        with contextlib.suppress(sqlite3.Error):  # on a full disk SQLite has done so itself
            connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def _size_bytes(connection: sqlite3.Connection) -> int:
    """Return how much of the file is used."""
    pages, free, page_bytes = (
        connection.execute(f"PRAGMA {name}").fetchone()[0]
        for name in ("page_count", "freelist_count", "page_size")
    )
    return int((pages - free) * page_bytes)


def _forget(connection: sqlite3.Connection, *, share: float) -> None:
    """Remove a share of the entries, those that were not used for longest."""
    (count,) = connection.execute("SELECT count(*) FROM entry").fetchone()
    connection.execute(
        "DELETE FROM entry WHERE rowid IN (SELECT rowid FROM entry ORDER BY day, rowid LIMIT ?)",
        (int(count * share) + 1,),
    )


def _checked(key: bytes, content: object) -> str:
    """Return the text behind a checksum.

    Raises:
        sqlite3.DatabaseError: The checksum is not right; what is written beside such an entry
            would not be found for sure.
    """
    if isinstance(content, bytes):
        data = content[CHECK_BYTES:]
        if content == _check(key, data) + data:
            return data.decode()
    raise sqlite3.DatabaseError("an entry is not as it was written")


def _check(key: bytes, data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=CHECK_BYTES, key=key).digest()


def _today() -> int:
    return int(time.time() // DAY_SECONDS)


INDEX = "index.db"
FEW = 500  # ours: fewer files are parsed before an index would have been asked
MOST_INDEX_BYTES = 1 << 27  # ours: 100,000 manifests take some 16 MB
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
        few: int,
    ) -> None:
        """Remember where the index is; it is opened when many files are first asked for.

        Args:
            folder: Ours alone; made if absent.
            build: Returns what stands for the code that reads: other code, other groups.
            few: From how many files on it is worth asking.
        """
        self._table = OptionalTable(folder, INDEX, build, most_bytes=MOST_INDEX_BYTES)
        self._few = few
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
        return count >= self._few and self._table.open()

    def find(self, place: str, files: Sequence[File]) -> Mapping[str, FileHead | None] | None:
        """Return what files hold by their paths, `None` of those that have to be read.

        Args:
            place: What the files are kept under; the same for the commits of a repository.
            files: All of a commit.

        Returns:
            `None` if there is no index.
        """
        if not self._table.open():
            return None
        keys = {path: f"{blob} {_sort(path)} {rules}" for rules, path, blob in files}
        self._asked = frozenset(keys.values())
        self._digests = {
            group: self._table.key(place, group)
            for group in {key[:DIGITS] for key in keys.values()}
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
            key = f"{file.blob} {_sort(file.path)} {rules}"
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


def _sort(path: str) -> str:
    """Return what a file is filed under besides: of odd names and JSON other things are found."""
    return "odd" if is_escaped(path) else "json" if path.endswith(".json") else "yaml"


NAME = "documents.db"
HISTORIES = "histories"
INPUTS, OUTPUTS = "inputs", "outputs"  # names of rules
MOST_DOCUMENT_BYTES = 1 << 30  # ours: 100,000 manifests take some 200 MB
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
        most_bytes: int = MOST_DOCUMENT_BYTES,
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
        self._known = known
        self._few = few
        self._table = OptionalTable(folder, NAME, build, most_bytes=most_bytes)
        self._pending: list[tuple[bytes, FileValidation]] = []
        self._changed_paths: ChangedPaths | None = None

    @property
    def problem(self) -> str:
        """Why a table is not used, `""` while all are."""
        return self._table.problem or (self.index.problem if self.index else "")

    @property
    def changed_paths(self) -> "ChangedPaths":
        """Which commits changed a file, kept in a folder beside."""
        from reconciler.shell.git.history import ChangedPaths  # noqa: PLC0415  # runs git

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
        return count >= self._few and self._table.open()

    def _key(self, rules: str, path: str, blob: str) -> bytes:
        return self._table.key(rules, _sort(path), blob)
