"""Answers that take whole passes: computed one after the other, while others are given at once."""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from reconciler.errors import ShellError
from reconciler.shell.http.kept_process import PageQuestion, PageReply

MOST = 16  # answers that are kept, and questions that wait
BRIEF_SECONDS = 5.0  # how long one is shown that time alone may change


@dataclass(slots=True, eq=False)
class WholeAnswers:
    """What is shown of questions until whole passes have answered them, and then the answers.

    Attributes:
        ask: Computes an answer, in a thread.
        brief_seconds: After how long a brief answer is computed anew, when it is asked for.
    """

    ask: Callable[[PageQuestion], PageReply]
    brief_seconds: float = BRIEF_SECONDS
    _thread: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1))
    _asked: "dict[PageQuestion, asyncio.Future[tuple[PageReply, float]]]" = field(
        default_factory=dict
    )
    _until: dict[PageQuestion, PageReply] = field(default_factory=dict)

    def begin(self, question: PageQuestion, until: PageReply) -> None:
        """Have an answer computed; where too many wait, the question has to come again.

        Args:
            question: It.
            until: What is shown until the answer is there.
        """
        waiting = sum(not found.done() for found in self._asked.values())
        if question not in self._asked and waiting < MOST:
            loop = asyncio.get_running_loop()
            self._asked[question] = loop.run_in_executor(self._thread, self._timed, question)
            self._until[question] = until
            self._forget()

    def find(self, question: PageQuestion) -> tuple[PageReply, bool] | None:
        """Return what there is to show, and whether that is the answer; `None` if nothing is.

        Raises:
            ShellError: It could not be computed; it is forgotten, so it may be asked for again.
        """
        found = self._asked.get(question)
        if found is None:
            return None
        if not found.done():
            return self._until[question], False
        self._until.pop(question, None)
        try:
            reply, at = found.result()
        except ShellError:
            del self._asked[question]
            raise
        if not reply.brief or time.monotonic() - at < self.brief_seconds:
            return reply, True
        del self._asked[question]
        self.begin(question, reply)
        return reply, False

    def _timed(self, question: PageQuestion) -> tuple[PageReply, float]:
        """Return an answer with the moment at which it came; in a thread."""
        return self.ask(question), time.monotonic()

    def _forget(self) -> None:
        """Keep the newest answers, and no others."""
        done = [one for one, found in self._asked.items() if found.done()]
        for old in done[: max(0, len(done) - MOST)]:
            del self._asked[old]
            self._until.pop(old, None)
