"""A process that is kept to answer one question after the other, and ended if it takes too long."""

import contextlib
import json
import os
import signal
import subprocess
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from reconciler.errors import ShellError


class PageQuestion(NamedTuple):
    """A view, the rest of its address in order, and the commit that is looked at.

    `problem` says why whole passes could not be computed for it, `""` if that was not tried.
    `warnings` are what the daemon knows to be wrong beside what is in the repository.
    """

    view: str
    query: tuple[tuple[str, str], ...]
    head: str
    problem: str = ""
    warnings: tuple[str, ...] = ()


class PageReply(NamedTuple):
    """An HTTP status and a page.

    `lacks` says whether whole passes would tell more, `brief` whether time alone may soon tell
    something else: a cluster is silent, and will be assumed to have its copy.
    """

    status: int
    html: str
    lacks: bool = False
    brief: bool = False


@dataclass(slots=True, eq=False)
class KeptProcess:
    """Asks a process, and starts another one where it ended.

    Attributes:
        start: Starts one.
        load_seconds: What a new process may take to read the repository, before its first view.
        view_seconds: What a view may take.
    """

    start: "Callable[[], subprocess.Popen[bytes]]"
    load_seconds: float
    view_seconds: float
    _process: "subprocess.Popen[bytes] | None" = None
    _asking: threading.Lock = field(default_factory=threading.Lock)
    _closed: bool = False

    def ask(self, question: PageQuestion) -> PageReply:
        """Return the answer; may be called by any thread.

        Raises:
            ShellError: It took too long, or the process ended.
        """
        with self._asking:
            if self._closed:
                raise ShellError("the page is closed")
            is_new = self._process is None or self._process.poll() is not None
            process = self._process = self.start() if is_new else self._process
            assert process is not None  # noqa: S101  # it is one of both
            try:
                if is_new:
                    asked(process, PageQuestion("load", (), question.head), self.load_seconds)
                return asked(process, question, self.view_seconds)
            except BaseException:
                end(process)
                self._process = None
                raise

    def close(self) -> None:
        """End the process, whatever it computes."""
        self._closed = True
        if (process := self._process) is not None:
            _kill(process)
        with self._asking:
            if self._process is not None:
                end(self._process)
            self._process = None


def asked(process: "subprocess.Popen[bytes]", question: PageQuestion, seconds: float) -> PageReply:
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
        told = {**question._asdict(), "query": dict(question.query)}
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
    return PageReply(
        found["status"], found["html"], found.get("lacks", False), found.get("brief", False)
    )


def end(process: "subprocess.Popen[bytes]") -> None:
    """End a process, and wait until it is gone."""
    _kill(process)
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            with contextlib.suppress(BrokenPipeError):
                stream.close()
    process.wait()


def _kill(process: "subprocess.Popen[bytes]") -> None:
    """Kill a process and all that it started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
