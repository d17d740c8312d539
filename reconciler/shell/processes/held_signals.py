"""Signals that ask this process to end, held while a step would be left half done.

Whoever sends one, a person with Ctrl-C or a runner of jobs, may never start the command again. So
the step is finished, and then the signal does what it always does.
"""

import contextlib
import signal
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType

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

    found = {number: signal.getsignal(number) for number in ENDING}
    before = {number: one for number, one in found.items() if one not in (None, signal.SIG_IGN)}
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
