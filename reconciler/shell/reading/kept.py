"""What is kept of a repository from question to question: a few lines, and offers for a Tab.

The lines are kept as the same build saw them. The offers of a commit are kept so that the next Tab
there lists no files; a commit never offers anything else, so what is kept may be missing, never
wrong. Whatever is wrong with the table costs time, never an answer: nothing is kept then.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from reconciler.model.identity import RepositoryLayout
from reconciler.shell.git.repository import Repository
from reconciler.shell.reading.tables import OptionalTable

MOST_NOTE_BYTES = 1 << 20  # ours: a note has a hundred bytes


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
        self._new_table = partial(OptionalTable, folder, name, build, most_bytes=MOST_NOTE_BYTES)
        self._last_table = self._new_table()
        self._place = place

    def read(self) -> list[str]:
        """Return the lines, none if none are kept."""
        table = self._table()
        key = table.key(self._place)
        return table.read([key]).get(key, "").splitlines()

    def write(self, lines: Sequence[str]) -> None:
        """Keep these lines instead."""
        table = self._table()
        table.write([(table.key(self._place), "\n".join(lines))])

    def _table(self) -> OptionalTable:
        if self._last_table.problem:  # one small file: a daemon may try again at its next pass
            self._last_table = self._new_table()
        return self._last_table


OFFERS_NAME = "offers.db"
MOST_OFFER_BYTES = 1 << 24  # ours: the names of 100,000 objects take some 2 MB


class KeptOffers:
    """The answers to questions about commits of one repository, as the same build gave them."""

    def __init__(self, folder: Path, build: Callable[[], str], place: str) -> None:
        """Remember where they are kept.

        Args:
            folder: Ours alone; made if absent.
            build: Returns what stands for the code that answers: other code, other answers.
            place: See `place_of`.
        """
        self._table = OptionalTable(folder, OFFERS_NAME, build, most_bytes=MOST_OFFER_BYTES)
        self._place = place

    def read(self, revision: str, question: str) -> list[str] | None:
        """Return what a commit, a full hex id, answered; `None` where that is not known."""
        key = self._table.key(self._place, revision, question)
        text = self._table.read([key]).get(key)
        try:
            answer = None if text is None else json.loads(text)
        except ValueError:  # edited by somebody who knows the checksum
            return None
        is_answer = isinstance(answer, list) and all(isinstance(line, str) for line in answer)
        return answer if is_answer else None

    def write(self, revision: str, answers: Mapping[str, Sequence[str]]) -> None:
        """Keep what a commit answered, by question."""
        self._table.write(
            [
                (self._table.key(self._place, revision, question), json.dumps([*answer]))
                for question, answer in answers.items()
            ]
        )
