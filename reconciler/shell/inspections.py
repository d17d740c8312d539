"""Inspects files: here, or where there are very many with the help of other processes."""

import contextlib
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future
from dataclasses import dataclass
from itertools import islice

from reconciler.core.inspect import Inspection, Rules, inspect
from reconciler.manifests.limits import Oversized
from reconciler.shell.workers import start_workers

PIECE = 250  # files; a fortieth of a second
AHEAD = 2  # pieces that each helper has: one at hand, one to go on with
ENOUGH = 2500  # ours: files that are inspected while a process starts

File = tuple[str, str, bytes | Oversized]
"""Path, blob id, and the content or its size."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Inspectors:
    """Who inspects: this process, and helpers where there are any.

    Attributes:
        rules: What documents are held against, by name.
        pool: The helpers, `None` without any.
        ahead: How many pieces they are given before they have answered.
    """

    rules: Mapping[str, Rules]
    pool: Executor | None = None
    ahead: int = 0

    def inspect(self, files: Iterable[File], name: str) -> Iterator[Inspection]:
        """Yield the inspection of each file by the rules of a name, in no particular order."""
        if self.pool is None:
            yield from self._here(files, name)
            return
        asked: deque[tuple[Sequence[File], Future[list[Inspection]]]] = deque()
        files = iter(files)
        while piece := tuple(islice(files, PIECE)):
            if len(asked) < self.ahead:
                asked.append((piece, _ask(self.pool, piece, name)))
                continue
            yield from self._here(piece, name)
            while asked and asked[0][1].done():
                yield from self._answer(*asked.popleft(), name)
        for given, future in asked:
            yield from self._answer(given, future, name)

    def _here(self, files: Iterable[File], name: str) -> Iterator[Inspection]:
        """Inspect in this process."""
        rules = self.rules[name]
        return (inspect(*file, rules) for file in files)

    def _answer(
        self, piece: Sequence[File], future: Future[list[Inspection]], name: str
    ) -> Iterable[Inspection]:
        """Return what a helper found, or find it here: it may have been killed."""
        try:
            return future.result()
        except (BrokenExecutor, OSError):
            return self._here(piece, name)


@contextlib.contextmanager
def inspectors(
    rules: Mapping[str, Rules], total: int, *, processes: int, enough: int = ENOUGH
) -> Iterator[Inspectors]:
    """Call up who inspects; helpers are there until the block ends.

    Args:
        rules: What documents are held against, by name.
        total: How many files there are about.
        processes: How many processes may work at it, this one included.
        enough: How many files each of them must have.
    """
    helpers = min(processes, total // enough) - 1
    with contextlib.ExitStack() as stack:
        pool = None
        if helpers > 0:
            with contextlib.suppress(OSError):  # a machine that has no processes to give
                pool = stack.enter_context(start_workers(helpers, _begin, rules))
        yield Inspectors(rules=rules, pool=pool, ahead=AHEAD * helpers)


def _ask(pool: Executor, piece: Sequence[File], name: str) -> Future[list[Inspection]]:
    """Hand a piece to the helpers."""
    try:
        return pool.submit(_inspect_piece, piece, name)
    except (BrokenExecutor, OSError) as error:
        failed: Future[list[Inspection]] = Future()
        failed.set_exception(error)
        return failed


_RULES: dict[str, Rules] = {}
"""The rules of a helper process."""


def _begin(rules: Mapping[str, Rules]) -> None:
    """Begin a helper."""
    _RULES.update(rules)


def _inspect_piece(files: Sequence[File], name: str) -> list[Inspection]:
    """Inspect files in a helper."""
    rules = _RULES[name]
    return [inspect(*file, rules) for file in files]
