"""Signals that ask this process to end, and work that goes on beside or while it waits.

A signal waits while a step would be left half done. Whoever sends it, a person with Ctrl-C or a
runner of jobs, may never start the command again. So the step is finished, and then the signal
does what it always does.

Work may run in a thread from the beginning of a `with` block to its end, or in pieces while no line
comes through a pipe.
"""

import contextlib
import os
import select
import signal
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Self

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
PATIENCE_SECONDS = 2.0  # timeout(1) and systemd send two at once; who asks later wants an end now

LONGEST_UNANSWERED_SECONDS = 0.5
"""How long the main thread may wait for something at a time.

Only it answers to signals, and the system may give one to any thread, which does not wake it.
"""


def handle_ending(handler: Callable[[int, FrameType | None], None]) -> None:
    """Let a function answer to all of them, but for those that whoever started us has ignored."""
    for number in ENDING:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, handler)


def is_main_thread() -> bool:
    """Return whether signals can be handled here."""
    return threading.current_thread() is threading.main_thread()


@contextlib.contextmanager
def held_signals() -> Iterator[None]:
    """Let a signal that asks this process to end wait for the end of a block.

    One that comes `PATIENCE_SECONDS` after the first is not held, so the block must be fit for an
    interruption at any moment, too. In other threads nothing is done: no signal interrupts them.
    """
    if not is_main_thread():
        yield
        return
    caught: list[int] = []
    first_at = 0.0

    def hold(number: int, frame: FrameType | None) -> None:
        nonlocal first_at
        del frame
        now = time.monotonic()
        if not caught:
            first_at = now
        caught.append(number)
        if now - first_at >= PATIENCE_SECONDS and len(caught) > 1:
            signal.signal(number, before[signal.Signals(number)])
            signal.raise_signal(number)

    handlers = {number: signal.getsignal(number) for number in ENDING}
    before = {number: one for number, one in handlers.items() if one not in (None, signal.SIG_IGN)}
    with _blocked():
        for number in before:
            signal.signal(number, hold)
    try:
        yield
    finally:
        with _blocked():
            for number, handler in before.items():
                signal.signal(number, handler)
        for asked in dict.fromkeys(caught):
            signal.raise_signal(asked)


@contextlib.contextmanager
def _blocked() -> Iterator[None]:
    """Let no signal come between two changes of what it does; none is lost."""
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    try:
        signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


class Background(ABC):
    """What works beside the passes and never delays one.

    The thread is a daemon's: a process that ends does not wait for it.
    """

    def __init__(self, name: str) -> None:
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)

    @abstractmethod
    def _work(self) -> None:
        """Work until it is asked to end."""

    @abstractmethod
    def _end(self) -> None:
        """Ask the thread to end, and wait for it as long as that is worth it."""

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end()


PIECE = 65536  # bytes


def lines_of(pipe: int, work_on: Callable[[], bool]) -> Iterator[bytes]:
    """Yield the lines of a pipe as they come; a piece of work is done while none is there.

    So a line waits for one piece at most. Work is begun after the first line, and again after each
    other one.

    Args:
        pipe: What is read, open; nothing else may read it.
        work_on: Does one piece, and returns whether there are more.
    """
    rest, has_work = b"", False
    while True:
        *lines, rest = rest.split(b"\n")
        for line in lines:
            yield line
            has_work = True
        while has_work and not select.select([pipe], [], [], 0)[0]:
            has_work = work_on()
        piece = os.read(pipe, PIECE)
        if not piece:
            return
        rest += piece
