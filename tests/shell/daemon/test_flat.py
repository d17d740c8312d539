"""No kind of event leaves anything behind: a share of what `make flat` makes of each.

What is counted here is exact: objects and bytes of Python's, not the memory of the process.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkstemp
from threading import Event, Thread

import pytest

from tests.bounded import is_bounded
from tests.soak.flat import KINDS, Kind, Opened, grown

TIMES = 120 if is_bounded() else 600
MOST_BYTES = 60_000  # what libraries cache at odd moments; a leak of 1 kB each is twice that
BYTES_EACH = 3_000  # of those that leave objects until what is remembered is full

pytestmark = [pytest.mark.cpu_seconds(60), pytest.mark.timeout(300)]


@pytest.mark.parametrize("name", KINDS)
def test_no_event_leaves_anything(tmp_path: Path, name: str) -> None:
    """Memory, tracked objects, descriptors, threads, temporary files, and what `.git` holds."""
    kind = KINDS[name]
    times = max(6, TIMES // kind.divisor)

    found = grown(kind, tmp_path, before=times // 3, after=times, traced=True)

    allowed = BYTES_EACH * found.events if kind.objects else 0
    assert [] == found.faults(MOST_BYTES + allowed), found


def test_what_an_event_leaves_is_found(tmp_path: Path) -> None:
    """An object each, and a file, a descriptor and a thread once."""
    left: list[object] = []
    opened: list[int] = []
    wake = Event()

    @contextmanager
    def leaking(folder: Path) -> Iterator[Opened]:
        def once() -> None:
            left.append({"each": ["time"] * 200})
            if len(left) == 250:
                opened.append(mkstemp()[0])
                thread = Thread(target=wake.wait)
                thread.start()
                left.append(thread)

        del folder
        yield Opened(once)
        wake.set()
        os.close(opened[0])

    found = grown(Kind(leaking), tmp_path, before=100, after=500, traced=True)

    names = [fault.partition(":")[0] for fault in found.faults(MOST_BYTES)]
    assert ["bytes", "objects", "descriptors", "threads", "files"] == names
