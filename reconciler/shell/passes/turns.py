"""Who is next where several roots of one process serve one branch: whoever asked first.

Only one of them writes its commit and moves the branch at a time, or else each move would cost all
others a race. What is computed, before a turn, waits for nobody. And one fetch answers all who
asked for the branch before it began.
"""

import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from reconciler.model.records import dataclass, field
from reconciler.shell.git.command import GitError
from reconciler.shell.processes.signals import LONGEST_UNANSWERED_SECONDS


class PassDropped(Exception):
    """A pass that waited, or had not begun, when the daemon was told to stop."""


class Turns:
    """A lock that is had in the order in which it was asked for."""

    def __init__(self) -> None:
        self._tickets: deque[threading.Event] = deque()
        self._change = threading.Lock()

    @contextmanager
    def taken(self, is_dropped: Callable[[], bool] = lambda: False) -> Iterator[None]:
        """Wait for a turn, and have it while the block lasts.

        Args:
            is_dropped: Tells now and then whether to wait no longer.

        Raises:
            PassDropped: It was told to wait no longer, and has not had its turn.
        """
        ticket = threading.Event()
        with self._change:
            self._tickets.append(ticket)
            self._tickets[0].set()
        try:
            while not ticket.wait(LONGEST_UNANSWERED_SECONDS):
                if is_dropped():
                    raise PassDropped
            yield
        finally:
            with self._change:
                self._tickets.remove(ticket)
                if self._tickets:
                    self._tickets[0].set()

    @property
    def waiting(self) -> int:
        """How many wait for their turn."""
        with self._change:
            return max(0, len(self._tickets) - 1)


@dataclass(frozen=True, slots=True)
class _Answer:
    """What the fetch of a number found, `None` if there is no such branch, or why it failed."""

    number: int
    head: str | None = None
    failure: GitError | None = None


@dataclass(slots=True, eq=False)
class JointFetches:
    """Fetches of branches of one remote, each for all who asked before it began.

    Who asks while one is under way does not get its answer, which may be older than the question,
    but waits for the next one, together with all others who do. So however many ask at a time,
    there are two, and no answer is older than its question.
    """

    _turns: Turns = field(default_factory=Turns)
    _answers: dict[str, _Answer] = field(default_factory=dict)
    _begun: int = 0

    @property
    def waiting(self) -> int:
        """How many wait for an answer, but for the one who fetches."""
        return self._turns.waiting

    def head(self, name: str, fetch: Callable[[str], str | None]) -> str | None:
        """Return the head of a branch, fetched since this was asked, by this thread or another.

        Raises:
            GitError: It failed, or has failed since this was asked.
        """
        asked = self._begun
        with self._turns.taken():
            answer = self._answers.get(name)
            if answer is None or answer.number <= asked:
                answer = self._fetched(name, fetch)
            if not self._turns.waiting:
                self._answers.clear()
        if answer.failure is not None:
            raise answer.failure
        return answer.head

    def _fetched(self, name: str, fetch: Callable[[str], str | None]) -> _Answer:
        """Fetch a branch, and keep what came of it for those who wait."""
        self._begun += 1
        number = self._begun
        try:
            answer = _Answer(number, head=fetch(name))
        except GitError as error:
            answer = _Answer(number, failure=error)
        self._answers[name] = answer
        return answer
