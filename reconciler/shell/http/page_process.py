"""The only file that starts processes which answer the page.

Nothing that a page asks runs in the process of the daemon: no pass waits for it, and its memory is
bounded by itself. One process answers views; it is kept, for one question after the other, and
ended if it takes too long. What takes whole passes is computed by another one, one answer after the
other, so no view waits for that. A plan and a what-if have a process of their own; they stand in
line, and each is answered in its turn.
"""

import asyncio
import contextlib
import dataclasses
import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import NamedTuple

from reconciler.errors import ShellError
from reconciler.model.records import dataclass, field
from reconciler.page.links import subject_of


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
    something else: a cluster is silent, and will be assumed to have its copy. `leads_to` is the
    address of another view that is shown in the place of this one, `""` for none.
    """

    status: int
    html: str
    lacks: bool = False
    brief: bool = False
    leads_to: str = ""


CLOSED = "the page is closed"


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
                raise ShellError(CLOSED)
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
        fields = {**question._asdict(), "query": dict(question.query)}
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(json.dumps(fields).encode() + b"\n")
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
    return PageReply(**json.loads(line))


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


LOAD_SECONDS = 900.0  # measured: 110 s for 100,000 workloads on 55 clusters each, 2 cores
VIEW_SECONDS = 60.0
WHOLE_SECONDS = 900.0
ALONE_SECONDS = 120.0
MEMORY_BYTES = 4 * 1024**3
ALONE = frozenset({"plan", "what-if", "rebalance", "suspend"})
WHOLE = "--whole"  # what tells a process to compute whole passes


class PageUnwanted(ShellError):
    """Nobody waits for the answer any more."""


def is_alone(question: PageQuestion) -> bool:
    """Return whether a question has a process of its own: it computes what would be."""
    return question.view in ALONE and any(value for _, value in question.query)


@dataclasses.dataclass(slots=True, eq=False)
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
    _viewing: KeptProcess = dataclasses.field(init=False)
    _whole: KeptProcess = dataclasses.field(init=False)
    _alone: "subprocess.Popen[bytes] | None" = None
    _closed: bool = False

    def __post_init__(self) -> None:
        start_whole = partial(self._start, WHOLE)
        self._viewing = KeptProcess(self._start, self.load_seconds, self.view_seconds)
        self._whole = KeptProcess(start_whole, self.load_seconds, self.whole_seconds)

    def ask(self, question: PageQuestion) -> PageReply:
        """Return the answer, without what takes whole passes; may be called by any thread.

        Raises:
            ShellError: It took too long, or the process ended.
        """
        if not is_alone(question):
            return self._viewing.ask(question)
        if self._closed:
            raise ShellError(CLOSED)
        process = self._alone = self._start()
        try:
            return asked(process, question, self.alone_seconds)
        finally:
            end(process)

    def ask_whole(self, question: PageQuestion) -> PageReply:
        """Return the answer with all that whole passes tell.

        Raises:
            ShellError: It took too long, or the process ended.
        """
        return self._whole.ask(question)

    def close(self) -> None:
        """End every process; what waits in line is not computed any more."""
        self._closed = True
        if self._alone is not None:
            _kill(self._alone)
        self._viewing.close()
        self._whole.close()

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


MOST = 16  # answers that are kept, and questions that wait
BRIEF_SECONDS = 5.0  # how long one is shown that time alone may change
WANTED_SECONDS = 30.0  # a browser that waits asks each second; whoever left does not


class PlaceInLine(NamedTuple):
    """How far a question is: how many are before it, and which is computed for how many seconds."""

    before: int
    first: PageQuestion
    seconds: int

    def words(self, more: str) -> str:
        """Return it in words; `more` is said of what is being computed."""
        if not self.before:
            return f"computing for {self.seconds} s, {more}"
        first = subject_of(self.first.view, dict(self.first.query))
        before = "1 question" if self.before == 1 else f"{self.before} questions"
        return f"waiting for {before}: {first} is being computed, for {self.seconds} s so far; "


@dataclass(slots=True, eq=False)
class AnswersInTurn:
    """Answers that are computed one after the other, and what is shown of them until then.

    Attributes:
        ask: Computes an answer, in a thread.
        brief_seconds: After how long a brief answer is computed anew, when it is asked for.
        wanted_seconds: How long a question keeps its place in line that nobody asks any more.
    """

    ask: Callable[[PageQuestion], PageReply]
    brief_seconds: float = BRIEF_SECONDS
    wanted_seconds: float = WANTED_SECONDS
    _thread: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1))
    _asked: "dict[PageQuestion, asyncio.Future[tuple[PageReply, float]]]" = field(
        default_factory=dict
    )
    _until: dict[PageQuestion, PageReply] = field(default_factory=dict)
    _wanted: dict[PageQuestion, float] = field(default_factory=dict)
    _first: tuple[PageQuestion, float] | None = None

    def begin(self, question: PageQuestion, until: PageReply) -> bool:
        """Have an answer computed; return whether it is, or too many wait already.

        Args:
            question: It.
            until: What is shown until the answer is there.
        """
        if question in self._asked:
            return True
        if len(self._waiting()) >= MOST:
            return False
        self._want(question)
        loop = asyncio.get_running_loop()
        self._asked[question] = loop.run_in_executor(self._thread, self._compute, question)
        self._until[question] = until
        self._forget()
        return True

    def find(self, question: PageQuestion) -> tuple[PageReply, bool] | None:
        """Return what there is to show, and whether that is the answer; `None` if nothing is.

        Raises:
            ShellError: It could not be computed; it is forgotten, so it may be asked for again.
        """
        answer = self._asked.get(question)
        if answer is None:
            return None
        self._want(question)
        if not answer.done():
            return self._until[question], False
        self._until.pop(question, None)
        try:
            reply, at = answer.result()
        except PageUnwanted:
            del self._asked[question]
            return None
        except ShellError:
            del self._asked[question]
            raise
        if not reply.brief or time.monotonic() - at < self.brief_seconds:
            return reply, True
        del self._asked[question]
        self.begin(question, reply)
        return reply, False

    async def wait(self, question: PageQuestion, seconds: float) -> None:
        """Wait for an answer, for so long at most."""
        self._want(question, seconds)
        await asyncio.wait({self._asked[question]}, timeout=seconds)

    def place(self, question: PageQuestion) -> PlaceInLine:
        """Return how far a question is."""
        waiting = self._waiting()
        first, began = self._first or (question, time.monotonic())
        before = waiting.index(question) if question in waiting else 0
        return PlaceInLine(before, first, int(time.monotonic() - began))

    def _waiting(self) -> list[PageQuestion]:
        return [question for question, answer in self._asked.items() if not answer.done()]

    def _want(self, question: PageQuestion, seconds: float = 0.0) -> None:
        until = time.monotonic() + self.wanted_seconds + seconds
        self._wanted[question] = max(until, self._wanted.get(question, 0.0))

    def _compute(self, question: PageQuestion) -> tuple[PageReply, float]:
        """Compute an answer, if anybody waits for it still."""
        self._first = question, time.monotonic()
        if self._wanted[question] < time.monotonic():
            raise PageUnwanted("nobody waits for it any more")
        return self.ask(question), time.monotonic()

    def _forget(self) -> None:
        """Keep the newest answers, and no others."""
        done = [question for question, answer in self._asked.items() if answer.done()]
        for old in done[: max(0, len(done) - MOST)]:
            del self._asked[old]
            self._until.pop(old, None)
        self._wanted = {one: at for one, at in self._wanted.items() if one in self._asked}
