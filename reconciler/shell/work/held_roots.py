"""The roots whose memory a worker has: what it is sent, and what it answers.

A piece says which root, and never how to get at it: credentials and keys are the worker's own.
Nothing here is needed for a right answer. A worker that has never seen a root loads it; one that
still has a root of long ago finds by its branch what has changed.

Of several processes that are alike, each claims a folder: the first that no other one uses.
"""

import fcntl
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import count
from pathlib import Path

from reconciler.model.identity import RepositoryLayout
from reconciler.model.records import dataclass, field, replace
from reconciler.shell.daemon.events import PassFailure, failure_of
from reconciler.shell.git.repository import CommitIdentity
from reconciler.shell.passes.one_pass import Passes
from reconciler.shell.passes.pass_report import PassSummary, summary_of
from reconciler.shell.work.divided_pass import PROCESSES, Hands, decide_divided


@dataclass(frozen=True, slots=True, kw_only=True)
class RootPlace:
    """Which root it is, and what all who decide about it must do alike.

    Attributes:
        remote: URL of the repository, without credentials.
        branch: The branch that is served.
        root: Folder from the top, `""` for all of it.
        layout: Where passes write.
        author: Who commits.
    """

    remote: str
    branch: str
    root: str
    layout: RepositoryLayout
    author: CommitIdentity


@dataclass(frozen=True, slots=True, kw_only=True)
class RootPiece:
    """What a worker is asked about a root.

    Attributes:
        place: Which one.
        session: Whose daemon asks, by a random name.
        held: The roots of this session that the worker is to keep, this one included.
        helpers: The workers that may take a part of it, this one included.
        due: Whether the moment of the pass has come.
    """

    place: RootPlace
    session: str
    held: frozenset[RootPlace]
    helpers: tuple[str, ...] = ()
    due: bool = False


@dataclass(frozen=True, slots=True)
class OpenedRoot:
    """A root as a worker serves it.

    Attributes:
        passes: How its passes are run.
        mask: Takes its credentials out of a text.
        hands: Returns who takes pieces of a large first pass, of the workers that may.
    """

    passes: Passes
    mask: Callable[[str], str]
    hands: Callable[[Sequence[str]], Hands] = lambda _: PROCESSES


OpenRoot = Callable[[RootPlace], OpenedRoot]
"""Opens a root by the settings of the process that calls it; a function of a module."""


@dataclass(slots=True, eq=False)
class _HeldRoot:
    """A root that is kept.

    Attributes:
        session: Who asked for it last.
        opened: The root, `None` until it was opened.
        turn: Whose turn it is; a worker may have several threads.
    """

    session: str
    opened: OpenedRoot | None = None
    turn: threading.Lock = field(default_factory=threading.Lock)

    def run(self, open_root: OpenRoot, piece: RootPiece) -> PassSummary | PassFailure:
        """Run a pass."""
        try:
            self.opened = self.opened or open_root(piece.place)
            divided = partial(decide_divided, hands=self.opened.hands(piece.helpers))
            report = replace(self.opened.passes, divided=divided).run(due=piece.due)
            return summary_of(report, self.opened.passes.problems)
        except Exception as error:  # noqa: BLE001  # the daemon tells it as if it were its own
            return self._masked(failure_of(error))

    def rest(self) -> bool | PassFailure:
        """Do a little of what no pass waits for."""
        try:
            return self.opened is not None and self.opened.passes.rest()
        except Exception as error:  # noqa: BLE001  # the daemon tells it as if it were its own
            return self._masked(failure_of(error))

    def _masked(self, failure: PassFailure) -> PassFailure:
        """Return a failure without any secret of this worker."""
        if self.opened is None:
            return failure
        mask = self.opened.mask
        return replace(failure, reason=mask(failure.reason), trace=mask(failure.trace))


class HeldRoots:
    """The roots of a process, for as long as it lives or until it is told to let them go."""

    def __init__(self) -> None:
        self._roots: dict[RootPlace, _HeldRoot] = {}
        self._begun: list[RootPiece] = []
        self._ended: set[str] = set()
        self._change = threading.Lock()

    def run(self, open_root: OpenRoot, piece: RootPiece) -> PassSummary | PassFailure | None:
        """Run a pass; `None` if its daemon was told to stop before it began."""
        with self._change:
            if piece.session in self._ended:
                return None
            self._begun.append(piece)
            self._let_go(piece)
            held = self._roots.setdefault(piece.place, _HeldRoot(piece.session))
            held.session = piece.session
        try:
            with held.turn:
                return held.run(open_root, piece)
        finally:
            with self._change:
                self._begun.remove(piece)

    def rest(self, piece: RootPiece) -> bool | PassFailure:
        """Do a little of what no pass waits for, and return whether more is left."""
        held = self._roots.get(piece.place)
        if held is None or piece.session in self._ended:
            return False
        with held.turn:
            return held.rest()

    def held(self) -> tuple[RootPlace, ...]:
        """Return the roots that are here."""
        with self._change:
            return tuple(self._roots)

    def end(self, session: str, *, forget: bool) -> frozenset[RootPlace]:
        """Begin no pass of a session any more, and return the roots of those that have begun.

        With `forget` its roots are let go, once the passes that have begun are finished.
        """
        with self._change:
            self._ended.add(session)
            if forget:
                kept = {place: one for place, one in self._roots.items() if one.session != session}
                self._roots = kept
            return frozenset(root.place for root in self._begun if root.session == session)

    def _let_go(self, piece: RootPiece) -> None:
        """Forget what a daemon needs here no more, also what it needed before it began anew."""
        over = {piece.session, *self._ended}
        branch = (piece.place.remote, piece.place.branch)
        self._roots = {
            place: root
            for place, root in self._roots.items()
            if place in piece.held
            or root.session not in over
            or branch != (place.remote, place.branch)
        }


HELD = HeldRoots()
"""Those of this process."""


def run_root(open_root: OpenRoot, piece: RootPiece) -> PassSummary | PassFailure | None:
    """Run a pass of a root of this process; see `HeldRoots.run`."""
    return HELD.run(open_root, piece)


def rest_root(piece: RootPiece) -> bool | PassFailure:
    """See `HeldRoots.rest`."""
    return HELD.rest(piece)


def held_roots() -> tuple[RootPlace, ...]:
    """See `HeldRoots.held`."""
    return HELD.held()


def end_session(session: str, *, forget: bool) -> frozenset[RootPlace]:
    """See `HeldRoots.end`."""
    return HELD.end(session, forget=forget)


@contextmanager
def claimed_folder(beside: Path) -> Iterator[Path]:
    """Claim a folder for as long as this process lives; only if the block fails it is given back.

    The least number that is free is taken, so that a process that is started again finds what the
    one before it had. A lock ends with its process, however that ends.

    Args:
        beside: What it is called, but for the number; its parent is made.

    Yields:
        The folder, which need not be there yet.
    """
    beside.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    for number in count(1):
        place = beside.with_name(f"{beside.stem}-{number}{beside.suffix}")
        descriptor = os.open(place.with_suffix(".lock"), os.O_CREAT | os.O_RDWR, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            continue
        try:
            yield place
        except BaseException:
            os.close(descriptor)
            raise
        return
