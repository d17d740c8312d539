"""The only file that starts processes which answer the page.

Nothing that a page asks runs in the process of the daemon: no pass waits for it, and its memory is
bounded by itself. One process answers views and is kept; what takes whole passes is computed by
another one, so no view waits for that. A plan and a what-if have one of their own, one at a time.
"""

import os
import subprocess
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from reconciler.errors import ShellError
from reconciler.shell.http.kept_process import KeptProcess, PageQuestion, PageReply, asked, end

LOAD_SECONDS = 900.0  # measured: 110 s for 100,000 workloads on 55 clusters each, 2 cores
VIEW_SECONDS = 60.0
WHOLE_SECONDS = 900.0
ALONE_SECONDS = 120.0
MEMORY_BYTES = 4 * 1024**3
ALONE = frozenset({"plan", "what-if", "rebalance", "suspend"})
WHOLE = "--whole"  # what tells a process to compute whole passes


class PageBusy(ShellError):
    """Another plan or what-if is being computed."""


def is_alone(question: PageQuestion) -> bool:
    """Return whether a question has a process of its own: it computes what would be."""
    return question.view in ALONE and any(value for _, value in question.query)


@dataclass(slots=True, eq=False)
class PageProcesses:
    """Asks processes, with limits.

    Attributes:
        command: What starts one; what it is for and the limit of memory are appended.
        load_seconds: What a new process may take to read the repository, before its first view.
        view_seconds: What a view may take.
        whole_seconds: What a view may take that computes whole passes.
        alone_seconds: What a plan or a what-if may take.
        memory_bytes: How much memory each may have.
    """

    command: Sequence[str]
    load_seconds: float = LOAD_SECONDS
    view_seconds: float = VIEW_SECONDS
    whole_seconds: float = WHOLE_SECONDS
    alone_seconds: float = ALONE_SECONDS
    memory_bytes: int = MEMORY_BYTES
    _viewing: KeptProcess = field(init=False)
    _whole: KeptProcess = field(init=False)
    _alone: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        """Remember how to start those that are kept."""
        self._viewing = KeptProcess(self._start, self.load_seconds, self.view_seconds)
        self._whole = KeptProcess(self._start_whole, self.load_seconds, self.whole_seconds)

    def ask(self, question: PageQuestion) -> PageReply:
        """Return the answer, without what takes whole passes; may be called by any thread.

        Raises:
            PageBusy: Another plan or what-if is being computed.
            ShellError: It took too long, or the process ended.
        """
        if not is_alone(question):
            return self._viewing.ask(question)
        if not self._alone.acquire(blocking=False):
            raise PageBusy("another plan is being computed; ask again in a moment")
        try:
            process = self._start()
            try:
                return asked(process, question, self.alone_seconds)
            finally:
                end(process)
        finally:
            self._alone.release()

    def ask_whole(self, question: PageQuestion) -> PageReply:
        """Return the answer with all that whole passes tell.

        Raises:
            ShellError: It took too long, or the process ended.
        """
        return self._whole.ask(question)

    def close(self) -> None:
        """End the processes that are kept."""
        self._viewing.close()
        self._whole.close()

    def _start_whole(self) -> "subprocess.Popen[bytes]":
        return self._start(WHOLE)

    def _start(self, *options: str) -> "subprocess.Popen[bytes]":
        variables: Mapping[str, str] = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
        return subprocess.Popen(  # noqa: S603  # our own command
            [*self.command, *options, "--memory-bytes", str(self.memory_bytes)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=variables,
            start_new_session=True,
        )
