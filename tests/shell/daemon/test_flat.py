"""What a daemon holds after thousands of events is what it held after the first thousand.

    FLAT=10000 pytest tests/shell/http/test_flat.py

asks so often of each kind.
"""

import gc
import http.client
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import active_count
from typing import NamedTuple

import pytest

from tests.bounded import is_bounded
from tests.builders import NOW
from tests.cli.options.test_operation import port_in
from tests.shell.fleet import Clock, eventually, new_fleet, new_passes, running

EACH = int(os.environ.get("FLAT", "300" if is_bounded() else "1000"))
FIRST = 150
MOST_KB = 2000
KINDS = {
    "alive": ("GET", "/livez"),
    "ready": ("GET", "/readyz"),
    "missing": ("GET", "/nothing/here"),
    "metrics": ("GET", "/metrics"),
    "strange-method": ("DELETE", "/"),
    "refused-hook": ("POST", "/hook"),
}

pytestmark = [pytest.mark.cpu_seconds(120), pytest.mark.timeout(300)]  # thousands of requests


class Held(NamedTuple):
    """What a process holds."""

    kilobytes: int
    descriptors: int
    threads: int


def held_by(pid: int) -> Held:
    """Return what a process holds now."""
    status = Path(f"/proc/{pid}/status").read_text()
    kilobytes, threads = (
        int(re.search(rf"^{name}:\s+(\d+)", status, re.MULTILINE)[1])  # type: ignore[index]  # it stands there
        for name in ("VmRSS", "Threads")
    )
    return Held(kilobytes, len(list(Path(f"/proc/{pid}/fd").iterdir())), threads)


def ask(port: int, method: str, path: str) -> None:
    """Ask once, on a connection of its own."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request(method, path, body=b"{}" if method == "POST" else None)
        connection.getresponse().read()
    finally:
        connection.close()


@contextmanager
def daemon(folder: Path) -> Iterator[tuple[int, int]]:
    """Run one that listens; yield its process and its port."""
    fleet = new_fleet(folder / "fleet")
    options = ("--listen", "0", "--log-format", "json", "--poll-seconds", "1")
    with running(fleet.folder, *options) as process:
        eventually(lambda: "reconciler" in fleet.git("log", "-1", "--format=%an"), "a pass")
        yield process.pid, port_in(fleet.folder.with_name("fleet.log"))


def test_requests_of_any_kind_leave_nothing(tmp_path: Path) -> None:
    """Neither memory, nor descriptors, nor threads."""
    with daemon(tmp_path) as (pid, port):
        for _ in range(FIRST):
            for method, path in KINDS.values():
                ask(port, method, path)
        before = held_by(pid)
        for _ in range(EACH):
            for method, path in KINDS.values():
                ask(port, method, path)
        eventually(lambda: held_by(pid).descriptors <= before.descriptors, "the last connection")
        after = held_by(pid)

    assert after.threads <= before.threads
    assert after.kilobytes - before.kilobytes < MOST_KB


def tracked() -> Held:
    """What this process holds, its tracked objects in place of its memory."""
    gc.collect()
    return Held(len(gc.get_objects()), len(list(Path("/proc/self/fd").iterdir())), active_count())


def test_passes_leave_nothing_but_what_they_committed(tmp_path: Path) -> None:
    """Each scales a workload, or finds nothing to do; what is remembered is of the last ones."""
    fleet = new_fleet(tmp_path / "fleet")
    clock = Clock(NOW)
    passes = new_passes(fleet.folder, clock)
    path = "workloads/shop.yaml"
    content = (fleet.folder / path).read_text()
    measured = []
    for count in (8, max(10, EACH // 20)):
        for number in range(count):
            clock.pause(30)
            passes.run()
            fleet.commit({path: content.replace("replicas: 2", f"replicas: {3 + number % 3}")})
            clock.pause(30)
            passes.run()
        measured.append(tracked())
    before, after = measured
    objects = after.kilobytes - before.kilobytes

    assert after.threads <= before.threads
    assert after.descriptors <= before.descriptors
    assert objects < 40 * EACH // 20  # a commit of a pass is known by its id for a while
    assert [] == [one.name for one in fleet.folder.rglob(".shop*")]
