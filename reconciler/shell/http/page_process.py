"""The only file that starts processes which answer the page, and ends those that take too long.

Nothing that a page asks runs in the process of the daemon: no pass waits for it, and its memory is
bounded by itself. One process answers views and is kept; each plan and each what-if has one of its
own, one at a time.
"""

import contextlib
import json
import os
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from reconciler.errors import ShellError

LOAD_SECONDS = 900.0  # measured: 110 s for 100,000 workloads on 55 clusters each, 2 cores
VIEW_SECONDS = 60.0
ALONE_SECONDS = 120.0
MEMORY_BYTES = 4 * 1024**3
ALONE = frozenset({"plan", "what-if"})
PRESENT = "present"  # of an object, without its past; no address leads to it


class PageQuestion(NamedTuple):
    """A view, the rest of its address in order, and the commit that is looked at."""

    view: str
    query: tuple[tuple[str, str], ...]
    head: str

    @property
    def is_alone(self) -> bool:
        """Whether it has a process of its own: it computes what would be."""
        return self.view in ALONE and any(value for _, value in self.query)

    @property
    def present(self) -> "PageQuestion | None":
        """What is told at once of the same, `None` of what is told at once itself."""
        return self._replace(view=PRESENT) if self.view == "object" else None


class PageReply(NamedTuple):
    """An HTTP status and a page."""

    status: int
    html: str


class PageBusy(ShellError):
    """Another plan or what-if is being computed."""


@dataclass(slots=True, eq=False)
class PageProcesses:
    """Asks processes, with limits.

    Attributes:
        command: What starts one; the limit of memory is appended.
        load_seconds: What a new process may take to read the repository, before its first view.
        view_seconds: What a view may take.
        alone_seconds: What a plan or a what-if may take.
        memory_bytes: How much memory each may have.
    """

    command: Sequence[str]
    load_seconds: float = LOAD_SECONDS
    view_seconds: float = VIEW_SECONDS
    alone_seconds: float = ALONE_SECONDS
    memory_bytes: int = MEMORY_BYTES
    _kept: "subprocess.Popen[bytes] | None" = None
    _viewing: threading.Lock = field(default_factory=threading.Lock)
    _alone: threading.Lock = field(default_factory=threading.Lock)

    def ask(self, question: PageQuestion) -> PageReply:
        """Return the answer; may be called by any thread.

        Raises:
            PageBusy: Another plan or what-if is being computed.
            ShellError: It took too long, or the process ended.
        """
        if not question.is_alone:
            with self._viewing:
                return self._view(question)
        if not self._alone.acquire(blocking=False):
            raise PageBusy("another plan is being computed; ask again in a moment")
        try:
            process = self._start()
            try:
                return _asked(process, question, self.alone_seconds)
            finally:
                _end(process)
        finally:
            self._alone.release()

    def close(self) -> None:
        """End the process that is kept."""
        with self._viewing:
            if self._kept is not None:
                _end(self._kept)
            self._kept = None

    def _view(self, question: PageQuestion) -> PageReply:
        is_new = self._kept is None or self._kept.poll() is not None
        process = self._start() if is_new else self._kept
        assert process is not None  # noqa: S101  # it is one of both
        self._kept = process
        try:
            if is_new:
                _asked(process, PageQuestion("load", (), question.head), self.load_seconds)
            return _asked(process, question, self.view_seconds)
        except BaseException:
            _end(process)
            self._kept = None
            raise

    def _start(self) -> "subprocess.Popen[bytes]":
        variables: Mapping[str, str] = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
        return subprocess.Popen(  # noqa: S603  # our own command
            [*self.command, "--memory-bytes", str(self.memory_bytes)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=variables,
            start_new_session=True,
        )


def _asked(process: "subprocess.Popen[bytes]", question: PageQuestion, seconds: float) -> PageReply:
    """Ask a process, and kill it when time is up."""
    assert process.stdin is not None  # noqa: S101  # they are pipes
    assert process.stdout is not None  # noqa: S101
    late = threading.Event()

    def stop() -> None:
        late.set()
        _kill(process)

    timer = threading.Timer(seconds, stop)
    timer.start()
    try:
        told = {"view": question.view, "query": dict(question.query), "head": question.head}
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(json.dumps(told).encode() + b"\n")
            process.stdin.flush()
        line = process.stdout.readline()
    finally:
        timer.cancel()
    if late.is_set():
        raise ShellError(f"it took more than {seconds:g} seconds, and was ended")
    if not line.endswith(b"\n"):
        raise ShellError(
            "the process that answers ended: it may have needed more memory than it may have"
        )
    found = json.loads(line)
    return PageReply(found["status"], found["html"])


def _kill(process: "subprocess.Popen[bytes]") -> None:
    """Kill a process and all that it started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def _end(process: "subprocess.Popen[bytes]") -> None:
    """End a process, and wait until it is gone."""
    _kill(process)
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            with contextlib.suppress(BrokenPipeError):
                stream.close()
    process.wait()
