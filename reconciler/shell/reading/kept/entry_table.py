"""The only file that uses SQLite: texts by key, on disk, where nothing depends on them.

A text stands behind a checksum of its key and itself; a table with one whose checksum is not right
is damaged. The folder and the file must be ours alone to write. Nothing waits for the disk: a loss
of power may take what was written last, or all of it.
"""

import contextlib
import hashlib
import os
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from reconciler.shell.processes.disk import check_ours_alone

TABLE = "CREATE TABLE entry (key BLOB PRIMARY KEY, day INTEGER, content BLOB)"
PATIENCE_SECONDS = 1.0  # for another process that is writing
TOGETHER = 500  # keys of one question; SQLite took at most 999 for long
CHECK_BYTES = 16
DAY_SECONDS = 86400
LEFT_PERCENT = 75  # of the bound, once it was reached


class EntryTable:
    """Texts by key, in one file, which processes use at once, and the threads of one in turn."""

    def __init__(self, place: Path, connection: sqlite3.Connection) -> None:
        """Use `EntryTable.open`."""
        self._place = place
        self._connection = connection
        self._old: list[bytes] = []

    @classmethod
    def open(cls, folder: Path, name: str) -> "EntryTable":
        """Open a table of a folder by the name of its file, and make what is missing.

        Raises:
            OSError: The folder or the file cannot be used, or is not ours alone to write.
            sqlite3.Error: The file is no table; `remove_table` makes room for one.
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
        return cls(place, connection)

    def read(self, keys: Sequence[bytes]) -> Iterator[tuple[bytes, str]]:
        """Yield the keys that are there, each with its text, in no particular order.

        Raises:
            sqlite3.DatabaseError: The table is damaged; `remove_table` makes room for another.
        """
        today = _today()
        for start in range(0, len(keys), TOGETHER):
            piece = keys[start : start + TOGETHER]
            marks = ",".join("?" * len(piece))
            found = self._connection.execute(
                f"SELECT key, day, content FROM entry WHERE key IN ({marks})",  # noqa: S608  # marks
                piece,
            )
            for key, day, content in found.fetchall():
                text = _checked(key, content)
                if day != today:
                    self._old.append(key)
                yield key, text

    def write(self, entries: Iterable[tuple[bytes, str]], *, most_bytes: int) -> None:
        """Add entries, all or none, and note which were used today.

        Args:
            entries: Keys and texts.
            most_bytes: Above this, those that were not used for longest go.
        """
        today = _today()
        rows = [(key, today, _check(key, data := text.encode()) + data) for key, text in entries]
        with self._writing() as connection:
            connection.executemany("INSERT OR REPLACE INTO entry VALUES (?, ?, ?)", rows)
            used = [(today, key) for key in self._old]
            connection.executemany("UPDATE entry SET day = ? WHERE key = ?", used)
            self._old.clear()
            if (size := self._size_bytes()) > most_bytes:
                _forget(connection, share=1 - most_bytes * LEFT_PERCENT / 100 / size)

    def has_news(self) -> bool:
        """Return whether `write` would note something even without entries."""
        return bool(self._old)

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()

    @contextlib.contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """Write all of a block or nothing."""
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield self._connection
        except BaseException:
            with contextlib.suppress(sqlite3.Error):  # on a full disk SQLite has done so itself
                self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")

    def _size_bytes(self) -> int:
        """Return how much of the file is used."""
        pages, free, page_bytes = (
            self._connection.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("page_count", "freelist_count", "page_size")
        )
        return int((pages - free) * page_bytes)


def remove_table(folder: Path, name: str) -> None:
    """Remove the file of a table, and what a killed process left beside it."""
    for one in (name, f"{name}-journal"):
        with contextlib.suppress(OSError):
            (folder / one).unlink()


def _make(connection: sqlite3.Connection) -> None:
    """Make the table.

    Raises:
        sqlite3.DatabaseError: Something else is in the file.
    """
    found = connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
    if not found:
        with contextlib.suppress(sqlite3.OperationalError):  # another process was quicker
            connection.execute(TABLE)
    elif found != [(TABLE,)]:
        raise sqlite3.DatabaseError("the file is another program's")


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
        check, data = content[:CHECK_BYTES], content[CHECK_BYTES:]
        if check == _check(key, data):
            return data.decode()
    raise sqlite3.DatabaseError("an entry is not as it was written")


def _check(key: bytes, data: bytes) -> bytes:
    """Return the checksum of a text under its key."""
    return hashlib.blake2b(data, digest_size=CHECK_BYTES, key=key).digest()


def _today() -> int:
    """Return the number of the day."""
    return int(time.time() // DAY_SECONDS)
