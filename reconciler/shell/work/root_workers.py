"""Passes of roots by workers: which worker has which root, and what becomes of a lost pass.

A pass is handed to the worker that has the root's memory, and a root stays with its worker, unless
that worker has too many. If the worker is gone, the pass is lost, and its daemon tries again as it
does after any failure: then another worker loads the root. The branch moved or it did not; either
way nothing is lost and nothing done twice. This process watches the branch, and reports.
"""

import math
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import BrokenExecutor, wait
from contextlib import suppress
from functools import partial
from typing import TypeVar

from reconciler.errors import ReconcilerError, ShellError
from reconciler.model.records import dataclass, replace
from reconciler.model.text import shown
from reconciler.model.world import World
from reconciler.shell.daemon.events import FailedElsewhere, PassFailure
from reconciler.shell.passes.one_pass import Passes
from reconciler.shell.passes.pass_report import PassSummary
from reconciler.shell.passes.turns import PassDropped
from reconciler.shell.processes.signals import LONGEST_UNANSWERED_SECONDS, Background
from reconciler.shell.work.fit_workers import LOOK_SECONDS, CheckWorker, FitWorkers, WorkerCalls
from reconciler.shell.work.held_roots import (
    OpenRoot,
    RootPiece,
    RootPlace,
    end_session,
    held_roots,
    rest_root,
    run_root,
)


class RootShares:
    """The workers of the roots of one daemon.

    Args:
        roots: Names of the roots.
        present: Who has which already.
    """

    def __init__(self, roots: Collection[str], present: Mapping[str, str]) -> None:
        self._count = len(roots)
        self._workers = {root: present[root] for root in roots if root in present}

    def worker_of(self, root: str) -> str:
        """Return who has a root, `""` if nobody has."""
        return self._workers.get(root, "")

    def roots_of(self, worker: str) -> frozenset[str]:
        """Return the roots that a worker has."""
        return frozenset(root for root, one in self._workers.items() if one == worker)

    def take(self, root: str, workers: Sequence[str]) -> str:
        """Return who computes for a root now, and has it from now on.

        A root stays with its worker while that one is there and has no more than its share, which
        is the number of roots by that of workers, rounded up. Else it goes to the one with the
        fewest, the lesser address first. So a worker that comes back gets some of them, each once.

        Args:
            root: The root.
            workers: Who is there, at least one.

        >>> shares = RootShares(("x", "y", "z"), {"x": "a", "y": "a", "z": "a"})
        >>> shares.take("x", ["a", "b"]), shares.take("y", ["a", "b"]), shares.take("z", ["a", "b"])
        ('b', 'a', 'a')
        """
        counts = Counter(dict.fromkeys(workers, 0))
        counts.update(worker for worker in self._workers.values() if worker in counts)
        present, share = self._workers.get(root, ""), -(-self._count // len(workers))
        if present not in counts or counts[present] > share:
            present = min(workers, key=lambda worker: (counts[worker], worker))
        self._workers[root] = present
        return present


R = TypeVar("R")

END_SECONDS = 5.0  # for workers to hear that a daemon ends


class RootWorkers(Background):
    """Has workers compute the passes of the roots of one daemon, while its block lasts.

    Args:
        calls: The workers.
        places: The roots, by name.
        open_root: How a worker opens one.
        check: How a worker finds out whether it could.
        stopping: Whether the daemon is to end, once the passes that have begun are finished.
        renewing: Whether it then begins anew, so that workers keep what they have.
        wake: Has all roots look again at once.
    """

    def __init__(
        self,
        calls: WorkerCalls,
        places: Mapping[str, RootPlace],
        open_root: OpenRoot,
        *,
        check: CheckWorker,
        stopping: Callable[[], bool],
        renewing: Callable[[], bool],
        wake: Callable[[], None],
    ) -> None:
        super().__init__("workers")
        self._look = FitWorkers(calls, check, next(iter(places.values())))
        self._calls = calls
        self._places = places
        self._open_root = open_root
        self._stopping = stopping
        self._renewing = renewing
        self._wake = wake
        self._session = uuid.uuid4().hex
        self._shares: RootShares | None = None
        self._unrested: set[str] = set()
        self._begun: frozenset[RootPlace] | None = None
        self._unheard_at = math.inf
        self._turn = threading.RLock()
        self._over = threading.Event()

    def run(self, root: str, waiting: Callable[[], None], *, due: bool = False) -> PassSummary:
        """Have a pass of a root computed.

        Args:
            root: Its name.
            waiting: Is called now and then meanwhile.
            due: Whether its moment has come; see `Passes.run`.

        Raises:
            FailedElsewhere: It did not end well.
            ShellError: There is no worker, or the one that had it is gone or has other code.
            PassDropped: The daemon ends, and it has not begun.
        """
        with self._turn:
            worker = self._known_shares().take(root, self._look.usable())
            piece = replace(self._piece(root, worker), due=due)
        answer = self._answer(worker, piece, waiting, run_root, self._open_root, piece)
        if answer is None:
            raise PassDropped
        if isinstance(answer, PassFailure):
            raise FailedElsewhere(answer)
        self._unrested.add(root)
        return replace(answer, worker=worker)

    def rest(self, root: str) -> bool:
        """Have a little done of what no pass waits for, and return whether more is left.

        Raises:
            ShellError: Nobody has the root any more; the next pass finds somebody.
        """
        if self._stopping():
            return False
        with self._turn:
            worker = self._known_shares().worker_of(root)
            if worker not in self._look.usable():
                raise _gone(worker)
            piece = self._piece(root, worker)
        if root not in self._unrested:
            return False
        answer = self._answer(worker, piece, lambda: None, rest_root, piece)
        if isinstance(answer, PassFailure):
            raise FailedElsewhere(answer)
        if not answer:
            self._unrested.discard(root)
        return answer

    def worker_of(self, root: str) -> str:
        """Return who has a root now, `""` if nobody has."""
        shares = self._shares
        worker = "" if shares is None else shares.worker_of(root)
        return worker if worker in self._look.present else ""

    def unfit(self) -> Sequence[str]:
        """Return why workers that are there compute nothing, a sentence each."""
        return self._look.problems()

    def _known_shares(self) -> RootShares:
        """Return who has which root; at first, who still has them from before."""
        if self._shares is None:
            held = self._calls.tell(self._look.usable(), held_roots)
            by_place = {place: worker for worker, places in held.items() for place in places}
            places = self._places.items()
            present = {name: by_place[place] for name, place in places if place in by_place}
            self._shares = RootShares(self._places, present)
        return self._shares

    def _piece(self, root: str, worker: str) -> RootPiece:
        names = {root, *self._known_shares().roots_of(worker)}
        held = frozenset(self._places[name] for name in names)
        return RootPiece(
            place=self._places[root],
            session=self._session,
            held=held,
            helpers=tuple(self._look.usable()),
        )

    def _answer(
        self,
        worker: str,
        piece: RootPiece,
        waiting: Callable[[], None],
        call: Callable[..., R],
        *given: object,
    ) -> R:
        """Return what a worker answers; see `run` for what it may raise."""
        try:
            future = self._calls.submit(worker, call, *given)
        except BrokenExecutor:
            raise _gone(worker) from None
        try:
            while not wait((future,), LONGEST_UNANSWERED_SECONDS).done:
                waiting()
                self._check(worker, piece)
        except BaseException:
            future.cancel()
            raise
        try:
            return future.result()
        except BrokenExecutor:
            raise _gone(worker) from None
        except ShellError as error:  # it cannot compute our calls
            self._look.refuse(worker, str(error))
            raise

    def _check(self, worker: str, piece: RootPiece) -> None:
        """Raise if there is nothing to wait for any more."""
        if worker not in self._look.usable():
            raise _gone(worker)
        if self._begun is None:
            dropped = time.monotonic() > self._unheard_at
        else:
            dropped = piece.place not in self._begun
        if dropped:
            raise PassDropped

    def _work(self) -> None:
        """Look who is there, so that all roots go on at once, and all end."""
        before: tuple[str, ...] = ()
        while not self._over.wait(LOOK_SECONDS):
            with suppress(ReconcilerError):
                self._look.usable()
            self._look.log_news()
            present = self._look.present
            if (present and not before) or set(before) - set(present):
                self._wake()
            before = present
            if self._stopping() and self._begun is None:
                self._stop()
        if self._begun is None:
            self._stop()

    def _stop(self) -> None:
        """Have workers begin no pass any more; what has begun is waited for."""
        self._unheard_at = time.monotonic() + END_SECONDS
        begun: frozenset[RootPlace] = frozenset()
        with suppress(ReconcilerError, OSError):
            answers = self._calls.tell(
                self._look.present, end_session, self._session, forget=not self._renewing()
            )
            begun = begun.union(*answers.values())
        self._begun = begun

    def _end(self) -> None:
        self._over.set()
        self._thread.join(END_SECONDS)
        self._calls.close()


def _gone(worker: str) -> ShellError:
    who = f"the Dask worker {shown(worker)}" if worker else "the Dask worker"
    return ShellError(f"{who} that had this root is gone; another one takes it")


@dataclass(frozen=True, slots=True)
class RunByWorkers:
    """Has workers compute the passes of one root.

    Attributes:
        workers: Who computes.
        root: Its name.
    """

    workers: RootWorkers
    root: str

    def run(
        self, passes: Passes, waiting: Callable[[], None], /, *, due: bool
    ) -> tuple[PassSummary, Callable[[], World]]:
        """Have a pass computed; what it left is fetched, for the page and whoever else reads here.

        What counts as left is what this process knows to be so: a worker that has seen other
        commits, since somebody pushed meanwhile, is asked again.
        """
        branches = passes.branches
        heads = (branches.known if due else branches).heads()
        passes.began(heads.inputs)
        summary = self.workers.run(self.root, waiting, due=due)
        read = summary.heads
        if read._replace(reports=None) != heads:
            summary = replace(summary, left=heads._replace(reports=read.reports))
        if summary.commit is not None:
            with suppress(ShellError):  # the next look tells it
                branches.heads()
        return summary, partial(branches.load, passes.loader, read)

    def rest(self, passes: Passes, /) -> bool:
        """Look after the repository here, and have the worker do so there."""
        passes.branch.maintain()
        return self.workers.rest(self.root)
