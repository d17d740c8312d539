"""A folder for one process out of several that are alike: the first that no other one uses."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path


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
