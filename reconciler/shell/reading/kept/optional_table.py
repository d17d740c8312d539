"""A table of texts that nothing depends on: one that is damaged is as if it were empty."""

import contextlib
import hashlib
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

from reconciler.shell.reading.kept.entry_table import EntryTable, remove_table


def filed_under(*parts: str) -> bytes:
    """Return the key of what is kept about some texts, the build that it is of among them."""
    return hashlib.blake2b(
        "\0".join(parts).encode(errors="surrogateescape"), digest_size=16
    ).digest()


class OptionalTable:
    """An `EntryTable` that is let go of for the rest of a process once it cannot be used.

    Threads take turns at it.
    """

    def __init__(self, folder: Path, name: str, *, most_bytes: int) -> None:
        """Remember where the table is, and how large it may grow; `open` opens it."""
        self._folder = folder
        self._name = name
        self._most_bytes = most_bytes
        self._table: EntryTable | None = None
        self._turn = threading.RLock()
        self.problem = ""
        """Why it is not used, `""` while it is."""

    def open(self) -> None:
        """Open the table, and make what is missing."""
        with self._guarded():
            self._table = EntryTable.open(self._folder, self._name)

    @property
    def is_open(self) -> bool:
        """Whether there is a table to be used."""
        return self._table is not None

    @property
    def has_news(self) -> bool:
        """Whether `write` would note something even without entries."""
        return self._table is not None and self._table.has_news()

    def read(self, keys: Sequence[bytes]) -> dict[bytes, str]:
        """Return the texts that are there."""
        found: dict[bytes, str] = {}
        with self._guarded():
            if self._table is not None:
                found.update(self._table.read(keys))
        return found

    def write(self, entries: Sequence[tuple[bytes, str]]) -> None:
        """Add entries, all or none."""
        with self._guarded():
            if self._table is not None:
                self._table.write(entries, most_bytes=self._most_bytes)

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
            remove_table(self._folder, self._name)

    def _give_up(self, error: Exception) -> None:
        """Let go of the table for the rest of this process."""
        self.problem = str(error)
        if self._table is not None:
            self._table.close()
        self._table = None
