"""A few lines about a repository, kept from question to question as the same build saw it.

Whatever is wrong with the table costs time, never an answer: nothing is kept then.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

from reconciler.model.repository_layout import RepositoryLayout
from reconciler.shell.git.repository import Repository
from reconciler.shell.reading.kept.optional_table import OptionalTable, filed_under

MOST_BYTES = 1 << 20  # ours: a note has a hundred bytes


def place_of(repository: Repository, layout: RepositoryLayout) -> str:
    """Return what is kept about a root is kept under: where it is, and where passes write."""
    return f"{repository.common_dir} {repository.prefix} {layout}"


class KeptNote:
    """Lines, in a table of their own for each sort of note."""

    def __init__(self, folder: Path, name: str, build: Callable[[], str], place: str) -> None:
        """Remember where they are kept.

        Args:
            folder: Ours alone; made if absent.
            name: Of the file.
            build: Returns what stands for the code that decides: other code, another note.
            place: See `place_of`.
        """
        self._table = OptionalTable(folder, name, most_bytes=MOST_BYTES)
        self._build = build
        self._place = place

    def read(self) -> list[str]:
        """Return the lines, none if none are kept."""
        key = self._key()
        return self._opened().read([key]).get(key, "").splitlines()

    def write(self, lines: Sequence[str]) -> None:
        """Keep these lines instead."""
        self._opened().write([(self._key(), "\n".join(lines))])

    def _opened(self) -> OptionalTable:
        """Return the table, opened."""
        if not self._table.is_open:
            self._table.open()
        return self._table

    def _key(self) -> bytes:
        """Return what they are filed under."""
        return filed_under(self._build(), self._place)
