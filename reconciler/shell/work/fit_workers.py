"""Which workers may be asked to compute for a daemon: those that are there, and fit.

A worker with other code, without git or for another repository fails all that it is given, at
once, so it would always be the one with the least to do. Each is asked when it first appears,
before it is given anything. One that does not fit is named to people, and asked again now and then;
the others compute without it.
"""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, wait
from typing import Protocol, TypeVar

import structlog

from reconciler.errors import ReconcilerError, ShellError
from reconciler.model.records import dataclass
from reconciler.model.text import shown
from reconciler.shell.processes.signals import LONGEST_UNANSWERED_SECONDS
from reconciler.shell.work.held_roots import RootPlace

R = TypeVar("R")

LOOK_SECONDS = 1.0  # so often it is looked who is there
ANSWER_SECONDS = 10.0  # for a worker to answer, which loads our code first
AGAIN_SECONDS = 60.0  # before one that does not fit is asked again: it may have been mended
MOST_NAMED = 3  # workers in one sentence

CheckWorker = Callable[[RootPlace], str]
"""Returns what keeps the process that calls it from computing for a root, `""` if nothing does.

The answer goes on where the name of a worker ends: `has no git`. It is a function of a module.
"""


class WorkerCalls(Protocol):
    """Workers that can be called one by one."""

    def present(self) -> Sequence[str]:
        """Return who is there, or raise `ShellError` if nobody is."""

    def ask(self, worker: str, call: Callable[..., R], /, *given: object) -> Future[R]:
        """Call a quick function in a worker, whatever that computes.

        The future raises `ShellError` where the worker has other code, `BrokenExecutor` where it
        is gone.
        """

    def submit(self, worker: str, call: Callable[..., R], /, *given: object) -> Future[R]:
        """Hand a call to a worker, and to no other."""

    def tell(
        self, workers: Sequence[str], call: Callable[..., R], /, *given: object, **named: object
    ) -> Mapping[str, R]:
        """Call a quick function in workers, whatever they compute; return who answers what."""

    def close(self) -> None:
        """Leave them."""


@dataclass(slots=True, eq=False)
class _Worker:
    """What is known of a worker that is there.

    Attributes:
        question: What it is asked, `None` if nothing is.
        asked_at: When that was, by the stopwatch.
        due_at: When it is asked next, unless it fits.
        problem: Why it does not fit, `""` if it does, `None` as long as it has not said.
        logged: What of that was logged.
    """

    question: Future[str] | None = None
    asked_at: float = 0.0
    due_at: float = 0.0
    problem: str | None = None
    logged: str = ""

    def hear(self, address: str) -> None:
        """Take its answer, if it is there."""
        question = self.question
        if question is None:
            return
        if not question.done():
            if self.problem is None and time.monotonic() >= self.asked_at + ANSWER_SECONDS:
                self.problem = f"{_called(address)} has not answered for {ANSWER_SECONDS:g} seconds"
            return
        self.question = None
        try:
            why = question.result()
        except ShellError as error:
            self.problem = str(error)
        except BrokenExecutor:
            self.due_at = 0.0
        else:
            self.problem = f"{_called(address)} {why}" if why else ""


class FitWorkers:
    """Who is there and may be asked, as of a second ago at most.

    Args:
        calls: The workers.
        check: What each of them is asked.
        place: About which root; all roots of a daemon are of one repository.
    """

    def __init__(self, calls: WorkerCalls, check: CheckWorker, place: RootPlace) -> None:
        self.present: tuple[str, ...] = ()
        self._calls = calls
        self._question = (check, place)
        self._problem = ""
        self._workers: Mapping[str, _Worker] = {}
        self._is_first = True
        self._due_at = 0.0
        self._turn = threading.Lock()

    def usable(self) -> Sequence[str]:
        """Return the workers that may be asked.

        The first time, and where nobody fits, it waits for those that have not answered yet.

        Raises:
            ShellError: There is none.
        """
        with self._turn:
            if time.monotonic() >= self._due_at:
                self._renew()
                self._due_at = time.monotonic() + LOOK_SECONDS
            if self._problem:
                raise ShellError(self._problem)
            fit = self._fit()
            while (self._is_first or not fit) and (asked := self._unanswered()):
                wait(asked, LONGEST_UNANSWERED_SECONDS, return_when=FIRST_COMPLETED)
                fit = self._fit()
            self._is_first = False
            if not fit:
                raise ShellError(_joined(self.problems()))
            return fit

    def problems(self) -> Sequence[str]:
        """Return why workers that are there are not asked, a sentence each; for any thread."""
        return [worker.problem for worker in self._workers.values() if worker.problem]

    def refuse(self, worker: str, why: str) -> None:
        """Ask a worker no more for a while."""
        with self._turn:
            if worker in self._workers:
                self._workers[worker].problem = why
                self._workers[worker].due_at = time.monotonic() + AGAIN_SECONDS

    def log_news(self) -> None:
        """Log each worker that does not fit, once while its reason is the same; for one thread."""
        log = structlog.get_logger()
        for address, worker in self._workers.items():
            problem = worker.logged if worker.problem is None else worker.problem
            if problem == worker.logged:
                continue
            worker.logged = problem
            if problem:
                log.warning("a worker computes nothing", worker=address, reason=problem)
            else:
                log.info("a worker computes again", worker=address)

    def _renew(self) -> None:
        """Look who is there, and ask those who have not said that they fit."""
        try:
            self.present, self._problem = tuple(self._calls.present()), ""
        except ReconcilerError as error:
            self.present, self._problem = (), str(error)
        self._workers = {one: self._workers.get(one) or _Worker() for one in self.present}
        now = time.monotonic()
        for address, worker in self._workers.items():
            if worker.question is None and worker.problem != "" and now >= worker.due_at:
                worker.question = self._calls.ask(address, *self._question)
                worker.asked_at, worker.due_at = now, now + AGAIN_SECONDS

    def _fit(self) -> Sequence[str]:
        """Return who fits, by the answers that are there."""
        for address, worker in self._workers.items():
            worker.hear(address)
        return [address for address, worker in self._workers.items() if worker.problem == ""]

    def _unanswered(self) -> Sequence[Future[str]]:
        """Return the questions that are still to be waited for."""
        return [
            worker.question
            for worker in self._workers.values()
            if worker.question is not None and worker.problem is None
        ]


def _called(address: str) -> str:
    return f"the Dask worker {shown(address)}"


def _joined(problems: Sequence[str]) -> str:
    """Return the first sentences of many as one."""
    more = len(problems) - MOST_NAMED
    rest = [f"and {more} more"] if more > 0 else []
    return "; ".join([*problems[:MOST_NAMED], *rest]) or "no Dask worker has answered yet"
