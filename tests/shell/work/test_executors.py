"""Pieces of work come back in order, whatever becomes of the workers."""

import multiprocessing
import os
import signal
import struct
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from reconciler.shell.work.executors import AHEAD, Workers, results_of, start_pool

DEADLY = 5


def square(number: int) -> int:
    """Return the square of a number."""
    return number * number


def square_or_die(number: int) -> int:
    """Return the square of a number; one of them ends each worker, as a lack of memory would."""
    if number == DEADLY and multiprocessing.parent_process() is not None:
        os._exit(1)
    return square(number)


def square_or_stammer(number: int) -> int:
    """Return the square of a number; one of them ends its worker in the midst of an answer."""
    if number == DEADLY and multiprocessing.parent_process() is not None:
        frame = sys._getframe()
        while "result_queue" not in frame.f_locals:
            assert frame.f_back is not None
            frame = frame.f_back
        pipe = frame.f_locals["result_queue"]._writer.fileno()
        os.write(pipe, struct.pack("!i", 1000) + b"half of it")
        os.kill(os.getpid(), signal.SIGKILL)
    return square(number)


def refuse(number: int) -> int:
    """Fail as a programmer's mistake does."""
    raise ValueError(number)


SQUARES = [(number, number * number) for number in range(20)]


def test_results_come_in_order() -> None:
    """Whoever is ready first."""
    with ThreadPoolExecutor(4) as executor:
        assert SQUARES == list(results_of(Workers(executor, 4), square, range(20)))


def test_worker_that_is_killed_costs_time_only() -> None:
    """Its piece is done here, and so are those that come after it."""
    with start_pool(2) as executor:
        assert SQUARES == list(results_of(Workers(executor, 2), square_or_die, range(20)))


def test_worker_that_is_killed_while_it_answers_costs_time_only() -> None:
    """A machine without memory kills whom it likes, when it likes: nobody waits for the rest."""
    with start_pool(2) as executor:
        assert SQUARES == list(results_of(Workers(executor, 2), square_or_stammer, range(20)))


def test_mistake_in_a_call_is_not_taken_for_a_lost_worker() -> None:
    """It is raised here."""
    with start_pool(1) as executor, pytest.raises(ValueError, match="0"):
        list(results_of(Workers(executor, 1), refuse, range(3)))


def test_few_pieces_exist_at_a_time() -> None:
    """A history is not held as a whole."""
    made = []

    def pieces() -> Iterator[int]:
        for number in range(20):
            made.append(number)
            yield number

    with ThreadPoolExecutor(1) as executor:
        next(results_of(Workers(executor, 1), square, pieces()))

    assert AHEAD + 1 == len(made)
