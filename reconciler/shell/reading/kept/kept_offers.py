"""What a commit has to offer for a Tab, kept so that the next Tab there lists no files.

A commit never offers anything else, so what is kept is only ever missing, not wrong. Whatever is
wrong with the table costs time, never an answer.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from reconciler.shell.reading.kept.optional_table import OptionalTable, filed_under

NAME = "offers.db"
MOST_BYTES = 1 << 24  # ours: the names of 100,000 objects take some 2 MB


class KeptOffers:
    """The answers to questions about commits of one repository, as the same build gave them."""

    def __init__(self, folder: Path, build: Callable[[], str], place: str) -> None:
        """Remember where they are kept.

        Args:
            folder: Ours alone; made if absent.
            build: Returns what stands for the code that answers: other code, other answers.
            place: See `place_of`.
        """
        self._table = OptionalTable(folder, NAME, most_bytes=MOST_BYTES)
        self._table.open()
        self._about = (build(), place)

    def read(self, revision: str, question: str) -> list[str] | None:
        """Return what a commit, a full hex id, answered; `None` where that is not known."""
        key = self._key(revision, question)
        text = self._table.read([key]).get(key)
        try:
            found = None if text is None else json.loads(text)
        except ValueError:  # edited by somebody who knows the checksum
            return None
        known = isinstance(found, list) and all(isinstance(one, str) for one in found)
        return found if known else None

    def write(self, revision: str, answers: Mapping[str, Sequence[str]]) -> None:
        """Keep what a commit answered, by question."""
        self._table.write(
            [(self._key(revision, asked), json.dumps([*said])) for asked, said in answers.items()]
        )

    def _key(self, revision: str, question: str) -> bytes:
        """Return what an answer is filed under."""
        return filed_under(*self._about, revision, question)
