"""The only file that runs git.

Every command goes through GitPython's runner as a list of arguments, in an environment that leaves
a repository nothing to execute. A repository is data here, never a program.

Of GitPython only the runner is used, which starts a process from a list of arguments, without a
shell. Its objects are not for an untrusted repository: `Repo` and `Remote` read the
settings of the repository and of the user, `IndexFile.commit` runs hooks, and its object database,
in Python, reads neither in batches nor within limits of size and time. A test holds the one import.
"""

import contextlib
import os
import re
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import BinaryIO, cast

from reconciler.shell.git.environment import ENVIRONMENT, KEPT, SETTINGS
from reconciler.shell.git.errors import GitError, GitKilled, PartialClone, TookTooLong
from reconciler.shell.git.masking import masked
from reconciler.shell.processes.disk import refusal
from reconciler.shell.processes.held_signals import held_signals
from reconciler.shell.processes.machine_limits import limit_met, limit_said

NOT_FOUND = 127  # what env(1) answers when there is no git
NOT_THERE = "git was not found; install git 2.34 or later and put it on the PATH"
LEFT_OUT = r"^remote\..+\.partialclonefilter$"
LACKING = (
    "lazy fetching disabled",
    "missing",
    "not a tree object",
    "bad object",
    "unable to read",
    "could not get object info",
    "does not point to a valid object",
)
"""What git says of an object that is not there."""
TERMINATION_SECONDS = 2.0  # for git to remove its lock files after a SIGTERM
CHILDREN_SECONDS = 0.5  # for what it started, once it has ended itself


@dataclass(frozen=True, slots=True)
class Finished:
    """What a command left: its exit code and both outputs.

    `stderr` is text in which credentials are masked; `stdout` is as git wrote it.
    """

    code: int
    stdout: bytes
    stderr: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Git:
    """A way to run git: where, and with what beyond the hardened environment.

    Attributes:
        folder: Where commands start. Relative arguments are read from here.
        options: Options before the verb, such as `--git-dir=...`.
        variables: Environment on top of `ENVIRONMENT`; given by our code or by the operator.
        settings: Configuration on top of `SETTINGS`, key to value.
        secrets: Texts that never appear in an error.
        timeout_seconds: Limit for one command.
        inherited: Open files that commands keep open for as long as they live.
        processor_seconds: Limit for what one process of a command computes, `None` for none.
        file_bytes: Limit for a file that a command writes, `None` for none. Both are Linux's.
    """

    folder: Path
    options: tuple[str, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict, repr=False)
    settings: Mapping[str, str] = field(default_factory=dict, repr=False)
    secrets: tuple[str, ...] = field(default=(), repr=False)
    timeout_seconds: float = 120.0
    inherited: tuple[int, ...] = ()
    processor_seconds: int | None = None
    file_bytes: int | None = None

    def having(
        self,
        *,
        variables: Mapping[str, str] | None = None,
        settings: Mapping[str, str] | None = None,
    ) -> "Git":
        """Return a copy with more variables and settings; the newer win."""
        return replace(
            self,
            variables={**self.variables, **(variables or {})},
            settings={**self.settings, **(settings or {})},
        )

    def run(self, *arguments: str, stdin: bytes = b"") -> Finished:
        """Run a command to its end, whatever its exit code.

        Raises:
            GitError: The time limit passed, or there is no git; `GitKilled` if a signal ended it.
        """
        with self.start(arguments) as process:
            try:
                stdout, stderr = process.communicate(stdin, timeout=self.timeout_seconds)
            except subprocess.TimeoutExpired:
                stop(process)
                raise self.too_slow(arguments) from None
            except BaseException:
                stop(process)
                raise
        finished = Finished(process.returncode, stdout, self.mask(stderr.decode(errors="replace")))
        if finished.code == NOT_FOUND or finished.code < 0:
            raise self.error(arguments, finished)
        return finished

    def output(self, *arguments: str, stdin: bytes = b"") -> bytes:
        """Run a command that must succeed, and return its output.

        Raises:
            GitError: It exited with another code than 0, or the time limit passed.
        """
        finished = self.run(*arguments, stdin=stdin)
        if finished.code != 0:
            raise self.error(arguments, finished)
        return finished.stdout

    def line(self, *arguments: str) -> str:
        """Run a command that must succeed, and return its output as one line of text."""
        return self.output(*arguments).decode(errors="surrogateescape").removesuffix("\n")

    @contextlib.contextmanager
    def stream(self, *arguments: str, stdin: Iterable[bytes]) -> Iterator[BinaryIO]:
        """Run a command that is fed and read at the same time.

        A thread of its own writes `stdin`, so neither side can wait for the other for ever. An
        exception inside the block ends the command.

        Yields:
            The command's output, to be read to its end.

        Raises:
            GitError: At the end of the block, if the command failed or its time limit passed.
        """
        problems: list[bytes] = []
        expired = threading.Event()
        with self.start(arguments) as process:
            timer = threading.Timer(self.timeout_seconds, _expire, (process, expired))
            helpers = [
                threading.Thread(target=_feed, args=(process, stdin)),
                threading.Thread(target=_drain, args=(process, problems)),
                timer,
            ]
            try:
                for helper in helpers:
                    helper.daemon = True
                    helper.start()
                yield cast("BinaryIO", process.stdout)
                process.wait()
            except BaseException:
                if expired.is_set():
                    raise self.too_slow(arguments) from None
                raise
            finally:
                with held_signals():  # or else a pipe would be closed that a helper uses
                    timer.cancel()
                    stop(process)
                    for helper in filter(threading.Thread.is_alive, helpers):
                        helper.join()
        if expired.is_set():
            raise self.too_slow(arguments)
        stderr = self.mask(b"".join(problems).decode(errors="replace"))
        if process.returncode != 0:
            raise self.error(arguments, Finished(process.returncode, b"", stderr))

    def partial(self, said: str) -> PartialClone | None:
        """Return the error of a clone that left out what it now lacks, `None` if that is not it.

        Args:
            said: What a command said of what it lacks.
        """
        if not any(sign in said for sign in LACKING):
            return None
        for name, objects in self.partial_settings().items():
            return PartialClone(name.removeprefix("remote.").rpartition(".")[0], objects)
        return None

    def partial_settings(self) -> dict[str, str]:
        """Return what tells that this clone is partial, for a repository that reads from it."""
        found = self.run("config", "--get-regexp", LEFT_OUT).stdout.decode(errors="replace")
        pairs = (line.partition(" ") for line in found.splitlines())
        return {name: objects for name, _, objects in pairs}

    def mask(self, text: str) -> str:
        """Return `text` without credentials, those of this way to run git included."""
        return masked(text, self.secrets)

    def error(self, arguments: tuple[str, ...], finished: Finished) -> GitError:
        """Return the error that a finished command stands for."""
        if finished.code == NOT_FOUND:
            return GitError(NOT_THERE)
        if found := refusal(finished.stderr, str(self.folder)):
            return GitError(found)
        if partial := self.partial(finished.stderr):
            return partial
        said = one_line(finished.stderr) or f"exit code {finished.code}"
        told = limit_said(finished.stderr, finished.code) or f"git {arguments[0]}: {said}"
        return GitKilled(told) if finished.code < 0 else GitError(told)

    def too_slow(self, arguments: tuple[str, ...]) -> TookTooLong:
        """Return the error of a command whose time limit passed."""
        return TookTooLong(f"git {arguments[0]} took longer than {self.timeout_seconds:g} seconds")

    def start(self, arguments: tuple[str, ...]) -> "subprocess.Popen[bytes]":
        """Start a command with pipes to all its ends; whoever gets it ends it.

        A signal that asks this process to end can come while the command is on its way: it is ended
        here then, since nobody else knows of it, and it would write where others clear away.

        Raises:
            GitError: There is no git.
        """
        process: subprocess.Popen[bytes] | None = None
        try:
            with held_signals():
                process = self._start(arguments)
        except BaseException:
            if process is not None:
                with process:
                    stop(process)
            raise
        return process

    def _start(self, arguments: tuple[str, ...]) -> "subprocess.Popen[bytes]":
        try:  # here, so that a machine without git can use all the rest
            from git.cmd import Git as Runner  # noqa: PLC0415
        except ImportError as error:  # GitPython looks for git when it is imported
            raise GitError(limit_met(error) or NOT_THERE) from error
        variables = {**ENVIRONMENT, **self._configuration(), **self.variables}
        # GitPython adds to the environment of this process and never removes; env(1) removes.
        # Values stay out of the argument list, where other users could read them.
        dropped = sorted(set(os.environ) - set(KEPT) - set(variables))
        unset = [argument for name in dropped for argument in ("-u", name)]
        try:
            running = Runner(str(self.folder)).execute(
                ["env", *unset, "git", *self.options, *arguments],
                istream=subprocess.PIPE,
                as_process=True,
                shell=False,
                env=variables,
                start_new_session=True,
                pass_fds=self.inherited,
            )
        except Exception as error:
            if isinstance(error.__cause__, FileNotFoundError):  # the PATH has not even env(1)
                raise GitError(NOT_THERE) from None
            raise
        process = cast("subprocess.Popen[bytes]", running.proc)
        running.proc = None  # ours now: it must not end when the wrapper is collected
        if (self.processor_seconds, self.file_bytes) != (None, None):
            self._limit(process.pid)
        return process

    def _limit(self, pid: int) -> None:
        """Set the limits of a process that has just begun, and of all that it has started since.

        What it starts later has the same. Not before it begins, which would need code between fork
        and exec, and that is not safe where there are threads. A stricter limit of the machine
        stays.
        """
        if sys.platform != "linux":
            return
        for kind, most in (
            (resource.RLIMIT_CPU, self.processor_seconds),
            (resource.RLIMIT_FSIZE, self.file_bytes),
            (resource.RLIMIT_CORE, 0),  # git would leave one where it is ended so
        ):
            with contextlib.suppress(OSError, ValueError):
                if most is not None:
                    resource.prlimit(pid, kind, (most, most))
        with contextlib.suppress(OSError):
            for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
                self._limit(int(child))

    def _configuration(self) -> dict[str, str]:
        settings = {**SETTINGS, **self.settings}
        variables = {"GIT_CONFIG_COUNT": str(len(settings))}
        for i, (key, value) in enumerate(settings.items()):
            variables[f"GIT_CONFIG_KEY_{i}"] = key
            variables[f"GIT_CONFIG_VALUE_{i}"] = value
        return variables


def one_line(text: str) -> str:
    r"""Return what git said as one printable line, without its prefixes.

    >>> one_line("error: Entry 'a' not uptodate.\nfatal: stop\n")
    "Entry 'a' not uptodate.; stop"
    """
    lines = (re.sub(r"^(fatal|error|warning): ", "", line.strip()) for line in text.splitlines())
    joined = "; ".join(line for line in lines if line and not line.startswith("hint:"))
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in joined)


def _feed(process: "subprocess.Popen[bytes]", chunks: Iterable[bytes]) -> None:
    stdin = cast("BinaryIO", process.stdin)
    with contextlib.suppress(BrokenPipeError):  # the command ended early; its exit code tells
        try:
            for chunk in chunks:
                stdin.write(chunk)
        finally:
            stdin.close()


def _drain(process: "subprocess.Popen[bytes]", into: list[bytes]) -> None:
    into.append(cast("BinaryIO", process.stderr).read())


def _expire(process: "subprocess.Popen[bytes]", expired: threading.Event) -> None:
    expired.set()
    stop(process)


def stop(process: "subprocess.Popen[bytes]") -> None:
    """End a command that runs and its children: politely, so that locks are removed, then for good.

    They are one group of processes, which is there for as long as one of them is.
    """
    if process.poll() is not None:
        return
    with contextlib.suppress(ProcessLookupError):
        _end(process, signal.SIGTERM)
        _await_children(process)
        _end(process, signal.SIGKILL)


def _end(process: "subprocess.Popen[bytes]", number: signal.Signals) -> None:
    """Send a signal to a command and its children, and wait a while for the command.

    Raises:
        ProcessLookupError: Nothing of the group is left.
    """
    os.killpg(process.pid, number)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(TERMINATION_SECONDS)


def _await_children(process: "subprocess.Popen[bytes]") -> None:
    """Wait a moment for what a command left, whose parent we are not: it can be looked for only.

    Raises:
        ProcessLookupError: Nothing of the group is left.
    """
    end = time.monotonic() + CHILDREN_SECONDS
    while time.monotonic() < end:
        os.killpg(process.pid, 0)
        time.sleep(CHILDREN_SECONDS / 100)
