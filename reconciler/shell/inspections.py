"""Inspects files: here, or where there are very many with the help of other processes."""

import contextlib
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future
from itertools import islice

from reconciler.core.inspect import Inspection, Rules, inspect
from reconciler.manifests.limits import Oversized
from reconciler.shell.workers import start_workers

PIECE = 250  # files; a twentieth of a second
AHEAD = 2  # pieces that each helper has: one at hand, one to go on with
ENOUGH = 2500  # ours: files that are inspected while a process starts

File = tuple[str, str, bytes | Oversized]
"""Path, blob id, and the content or its size."""


def inspect_all(
    files: Iterable[File], total: int, rules: Rules, *, processes: int, enough: int = ENOUGH
) -> Iterator[Inspection]:
    """Inspect files.

    Args:
        files: What was read.
        total: How many there are.
        rules: What documents are held against.
        processes: How many processes may work at it, this one included.
        enough: How many files each of them must have.

    Yields:
        The inspection of each file, in no particular order.
    """
    helpers = min(processes, total // enough) - 1
    with contextlib.ExitStack() as stack:
        pool = _start(helpers, rules, stack) if helpers > 0 else None
        if pool is None:
            yield from (inspect(*file, rules) for file in files)
        else:
            yield from _inspect_together(iter(files), rules, pool, ahead=AHEAD * helpers)


def _start(helpers: int, rules: Rules, stack: contextlib.ExitStack) -> Executor | None:
    """Start the helpers, `None` if this machine cannot; the stack ends them."""
    try:
        return stack.enter_context(start_workers(helpers, _begin, rules))
    except OSError:
        return None


def _inspect_together(
    files: Iterator[File], rules: Rules, pool: Executor, *, ahead: int
) -> Iterator[Inspection]:
    """Keep the helpers so many pieces ahead, and inspect here what they have no time for."""
    asked: deque[tuple[Sequence[File], Future[list[Inspection]]]] = deque()
    while piece := tuple(islice(files, PIECE)):
        if len(asked) < ahead:
            asked.append((piece, _ask(pool, piece)))
            continue
        yield from (inspect(*file, rules) for file in piece)
        while asked and asked[0][1].done():
            yield from _answer(*asked.popleft(), rules)
    for given, future in asked:
        yield from _answer(given, future, rules)


def _ask(pool: Executor, piece: Sequence[File]) -> Future[list[Inspection]]:
    """Hand a piece to the helpers."""
    try:
        return pool.submit(_inspect_piece, piece)
    except (BrokenExecutor, OSError) as error:
        failed: Future[list[Inspection]] = Future()
        failed.set_exception(error)
        return failed


def _answer(
    piece: Sequence[File], future: Future[list[Inspection]], rules: Rules
) -> list[Inspection]:
    """Return what a helper found, or find it here: it may have been killed."""
    try:
        return future.result()
    except (BrokenExecutor, OSError):
        return [inspect(*file, rules) for file in piece]


_RULES: list[Rules] = []
"""The rules of a helper process."""


def _begin(rules: Rules) -> None:
    """Begin a helper."""
    _RULES.append(rules)


def _inspect_piece(files: Sequence[File]) -> list[Inspection]:
    """Inspect files in a helper."""
    return [inspect(*file, _RULES[-1]) for file in files]
