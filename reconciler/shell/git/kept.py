"""Git processes that stay open, so that a question costs a line, not a process.

Only `git cat-file` is kept: it locks nothing, runs nothing, and sees what was written since it
began, objects and references alike. It ends with this process, for its input ends, and after some
hundred uses: it holds every pack that it has ever seen, those too that were removed since. Beside
them the last answer is kept of questions that always have the same one.
"""

import contextlib
import os
import subprocess
import threading
import weakref
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO, cast

from reconciler.shell.git.command import TERMINATION_SECONDS, Finished, Git, stop
from reconciler.shell.git.errors import GitError

CHUNK_BYTES = 4096  # any pipe takes as much at once, so neither side waits for the other for ever
MOST_USES = 500  # ours: some 50 passes, of which it holds 40 kB each; to start one takes 3 ms
SETTINGS = {"core.warnAmbiguousRefs": "false"}  # nobody reads what it prints beside the answers

Key = tuple[object, ...]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Conversation:
    """One git process that answers line by line, in use by one reader.

    Attributes:
        git: How it was started.
        arguments: Of the command.
        process: The process itself.
        owner: Pid of the process that started it; a fork of that must not use it.
        place: What stood at the git folder then; another repository there needs another process.
        left: How often it may be lent, one number for each time that is left.
    """

    git: Git
    arguments: tuple[str, ...]
    process: "subprocess.Popen[bytes]"
    owner: int
    place: tuple[int, int]
    left: Iterator[int]

    def answers(self, questions: Iterable[bytes]) -> Iterator[tuple[bytes, BinaryIO]]:
        """Ask one question a line, and yield the first line of each answer, in order.

        The caller reads what belongs to an answer beyond that line before it takes the next.

        Raises:
            GitError: Git ended before it had answered.
        """
        output = cast("BinaryIO", self.process.stdout)
        for chunk in _chunks(questions):
            with contextlib.suppress(BrokenPipeError):  # it ended; no answer comes, which tells
                sent = cast("BinaryIO", self.process.stdin)
                sent.write(b"".join(chunk))
                sent.flush()
            for _ in chunk:
                line = output.readline()
                if not line.endswith(b"\n"):
                    raise self.ended()
                yield line, output

    def is_fit(self) -> bool:
        """Return whether it still runs, for this process and on the same repository."""
        return (
            self.owner == os.getpid()
            and self.place == _identity(self.git.folder)
            and self.process.poll() is None
            and next(self.left, None) is not None
        )

    def end(self) -> None:
        """End the process; it holds nothing that would have to be put away."""
        if self.owner != os.getpid():
            return
        stop(self.process)
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            with contextlib.suppress(OSError):  # what was not sent is of no use
                cast("BinaryIO", pipe).close()

    def ended(self) -> GitError:
        """Return what is to be raised where it ended in the middle of an answer."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(TERMINATION_SECONDS)
        stop(self.process)
        said = cast("BinaryIO", self.process.stderr).read().decode(errors="replace")
        finished = Finished(self.process.returncode, b"", self.git.mask(said))
        return self.git.error(self.arguments, finished)


class KeptProcesses:
    """The processes of one repository that wait for a question, at most one of each kind."""

    def __init__(self) -> None:
        """Begin without any; each is started when it is first needed."""
        self._idle: dict[Key, Conversation] = {}
        self._last: tuple[tuple[str, ...], bytes] = ((), b"")
        weakref.finalize(self, _end_all, self._idle)

    def lasting(self, git: Git, *arguments: str) -> bytes:
        """Return the output of a command that says the same whenever it is asked.

        Args:
            git: How to run it.
            arguments: The command; what it depends on is named by full ids.

        Raises:
            GitError: It failed.
        """
        asked, answer = self._last
        if asked != arguments:
            answer = git.output(*arguments)
            self._last = (arguments, answer)
        return answer

    @contextlib.contextmanager
    def lent(self, git: Git, *arguments: str) -> Iterator[Conversation]:
        """Lend a process for the length of a block, a waiting one if there is one.

        It waits for others afterwards, unless the block was left by an exception or early: then
        there may be answers that nobody read.

        Raises:
            GitError: The time limit of `git` passed meanwhile.
        """
        key = (arguments, git.folder, git.options, *sorted(git.variables.items()))
        kept = self._idle.pop(key, None)
        if kept is None or not kept.is_fit():
            if kept is not None:
                kept.end()
            kept = _start(git, arguments)
        expired = threading.Event()
        timer = threading.Timer(git.timeout_seconds, _expire, (kept, expired))
        timer.daemon = True
        timer.start()
        try:
            yield kept
        except BaseException:
            kept.end()
            if expired.is_set():
                raise git.too_slow(arguments) from None
            raise
        finally:
            timer.cancel()
        if self._idle.setdefault(key, kept) is not kept:
            kept.end()


def _start(git: Git, arguments: tuple[str, ...]) -> Conversation:
    """Start a process; it inherits no lock, since it changes nothing."""
    reading = replace(git.having(settings=SETTINGS), inherited=(), processor_seconds=None)
    return Conversation(
        git=git,
        arguments=arguments,
        process=reading.start(arguments),
        owner=os.getpid(),
        place=_identity(git.folder),
        left=iter(range(1, MOST_USES)),
    )


def _identity(folder: Path) -> tuple[int, int]:
    """Return what stands at a place now; zeros for nothing."""
    try:
        facts = folder.stat()
    except OSError:
        return (0, 0)
    return (facts.st_dev, facts.st_ino)


def _chunks(questions: Iterable[bytes]) -> Iterator[list[bytes]]:
    """Yield the questions in groups that a pipe takes at once; a longer one is alone."""
    chunk: list[bytes] = []
    size = 0
    for question in questions:
        if chunk and size + len(question) > CHUNK_BYTES:
            yield chunk
            chunk, size = [], 0
        chunk.append(question)
        size += len(question)
    if chunk:
        yield chunk


def _expire(kept: Conversation, expired: threading.Event) -> None:
    expired.set()
    stop(kept.process)


def _end_all(idle: dict[Key, Conversation]) -> None:
    for kept in idle.values():
        kept.end()
