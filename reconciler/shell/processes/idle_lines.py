"""Lines that come through a pipe, and work that is done in pieces while none comes."""

import os
import select
from collections.abc import Callable, Iterator

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
