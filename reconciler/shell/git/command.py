"""The only file that runs git.

Every command is a list of arguments, without a shell, in an environment that leaves a repository
nothing to execute. A repository is data here, never a program. The environment is made from
nothing, with settings that outrank any file's. They switch off whatever a repository could make git
execute: hooks, file system monitors, signing programs, transports.

What changes a repository, or talks to a remote, is started by GitPython's runner; what only reads
is started likewise without it, since its import alone takes longer than most questions to git. Both
are made in one place. Other objects of GitPython are not for an untrusted repository: `Repo` and
`Remote` read the settings of the repository and of the user, `IndexFile.commit` runs hooks, and its
object database, in Python, reads neither in batches nor within limits of size and time. A test
ensures the one import.

Errors of git are classes by what to do about them. Credentials are masked in messages before they
are shown, logged or sent.
"""

import contextlib
import dataclasses
import json
import os
import re
import shlex
import signal
import subprocess
import threading
import time
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import BinaryIO, cast
from urllib.parse import quote, quote_plus

from reconciler.errors import ShellError
from reconciler.model.records import dataclass, field, replace
from reconciler.shell.processes.limits import HelperThread, limit_met, limit_said, refusal
from reconciler.shell.processes.signals import held_signals

KEPT = ("PATH", "SSH_AUTH_SOCK")
"""Variables of the caller's environment that git may see."""

SSH_COMMAND = "ssh -o BatchMode=yes -o ConnectTimeout=15"

ENVIRONMENT: Mapping[str, str] = {
    "GIT_ALLOW_PROTOCOL": "none",  # only the mirror talks to remotes, and says by which protocol
    "GIT_ASKPASS": "true",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_COMMITTER_EMAIL": "reconciler@localhost",  # reflogs only; commits name their identity
    "GIT_COMMITTER_NAME": "reconciler",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_GRAFT_FILE": "/dev/null",  # or else a file of the repository rewrites its history
    "GIT_LFS_SKIP_SMUDGE": "1",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_NO_LAZY_FETCH": "1",  # a partial clone must not fetch behind our back
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_PAGER": "cat",
    "GIT_SSH_COMMAND": SSH_COMMAND,
    "GIT_SSH_VARIANT": "ssh",
    "GIT_TERMINAL_PROMPT": "0",
    "HOME": "/nonexistent",
    "LANGUAGE": "C",
    "LC_ALL": "C",
}

SETTINGS: Mapping[str, str] = {
    "commit.gpgsign": "false",
    "core.alternateRefsCommand": "true",
    "core.attributesFile": "/dev/null",
    "core.fsmonitor": "false",
    "core.fsync": "all",  # objects, references and the index outlive a loss of power
    "core.hooksPath": "/dev/null",
    "core.sshCommand": SSH_COMMAND,
    "core.untrackedCache": "false",
    "credential.helper": "",
    "fetch.recurseSubmodules": "false",
    "gc.auto": "0",
    "log.showSignature": "false",  # or else git log runs gpg.program
    "maintenance.auto": "false",
    "protocol.ext.allow": "never",
    "push.gpgSign": "false",
    "push.recurseSubmodules": "no",
    "safe.bareRepository": "explicit",
    "submodule.recurse": "false",
    "tag.gpgSign": "false",
}
"""Settings that outrank those of any file; a repository's own cannot undo them."""


READING = frozenset(
    (
        *("cat-file", "config", "diff-files", "diff-index", "diff-tree", "for-each-ref", "fsck"),
        *("log", "ls-files", "ls-tree", "merge-base", "rev-list", "rev-parse", "symbolic-ref"),
        *("version", "worktree"),
    )
)
"""Commands that change nothing as they are used here, and ask no remote."""


class GitError(ShellError):
    """A git command failed, or took longer than its limit."""


class TookTooLong(GitError):
    """A git command took longer than its limit, and was ended."""


class GitKilled(GitError):
    """A signal ended a git command, so it has said nothing; what it was to do may be done."""


class LostRace(GitError):
    """The branch moved; read it again, compute again, publish again."""


class RemoteRefused(GitError):
    """The remote answered no: a hook or a protection rule. Retrying the same cannot help."""


class RemoteUnreachable(GitError):
    """The remote did not answer, or not now; back off and retry."""


class RemoteMisconfigured(GitError):
    """The remote is absent, or does not know us; an operator must act."""


class LostObjects(GitError):
    """A branch needs objects that git has no more; a person must bring them back."""

    def __init__(self, what: str, folder: Path) -> None:
        super().__init__(
            f"{what} (git gc --prune took it, or the disk lost it); bring it back from a clone "
            "that has it: git -C CLONE pack-objects --all --stdout < /dev/null | "
            f"git -C {shlex.quote(str(folder))} unpack-objects"
        )


class HistoryMissing(GitError):
    """The history ends in this clone before it begins; more of it must be fetched."""


class PartialClone(HistoryMissing):
    """What is asked for was left out when this was cloned; a person must fetch it.

    Git would fetch it by the way, from whatever the repository names, so that is switched off.
    """

    def __init__(self, remote: str, objects: str) -> None:
        super().__init__(
            f"this clone is partial ({objects}), and what is needed here was not fetched; fetch "
            f"the rest with git fetch --refetch --no-filter {shlex.quote(remote)}"
        )


class PathBlocked(GitError):
    """A folder stands where a file must go, or something else where a folder must."""


class CheckoutBusy(ShellError):
    """A checkout cannot follow without touching a person's work; the message says what to do."""


class MirrorBusy(ShellError):
    """Another process uses the folder of a mirror."""


LIMITED = '{ ulimit -c 0; ulimit -t "$1"; ulimit -f "$2"; } 2> /dev/null; shift 2; exec "$@"'
"""For sh: seconds of a processor, blocks of a file, and the command, which nothing expands."""
ULIMIT_BLOCK_BYTES = 512  # by POSIX
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
        file_bytes: Limit for a file that a command writes, `None` for none.
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
        with (
            self.start(arguments) as process,
            ended_after(self.timeout_seconds, process) as expired,
        ):
            helpers = (
                HelperThread(partial(_feed, process, stdin)),
                HelperThread(lambda: problems.append(cast("BinaryIO", process.stderr).read())),
            )
            try:
                for helper in helpers:
                    helper.start()
                yield cast("BinaryIO", process.stdout)
                process.wait()
            except BaseException:
                if expired.is_set():
                    raise self.too_slow(arguments) from None
                raise
            finally:
                with held_signals():  # or else a pipe would be closed that a helper uses
                    stop(process)
                    for helper in helpers:
                        helper.join()
        if expired.is_set():
            raise self.too_slow(arguments)
        for error in filter(None, (helper.error for helper in helpers)):
            raise error
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
        listed = self.run("config", "--get-regexp", LEFT_OUT).stdout.decode(errors="replace")
        pairs = (line.partition(" ") for line in listed.splitlines())
        return {name: objects for name, _, objects in pairs}

    def mask(self, text: str) -> str:
        """Return `text` without credentials, those of this way to run git included."""
        return masked(text, self.secrets)

    def error(self, arguments: tuple[str, ...], finished: Finished) -> GitError:
        """Return the error that a finished command stands for."""
        if finished.code == NOT_FOUND:
            return GitError(NOT_THERE)
        if problem := refusal(finished.stderr, str(self.folder)):
            return GitError(problem)
        if partial := self.partial(finished.stderr):
            return partial
        said = one_line(finished.stderr) or f"exit code {finished.code}"
        message = limit_said(finished.stderr, finished.code) or f"git {arguments[0]}: {said}"
        return GitKilled(message) if finished.code < 0 else GitError(message)

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
        command = [*self._limits(), "git", *self.options, *arguments]
        variables = {**ENVIRONMENT, **self._configuration(), **self.variables}
        try:
            if arguments[0] in READING:
                kept = {name: os.environ[name] for name in KEPT if name in os.environ}
                return subprocess.Popen(  # noqa: S603  # a list of ours
                    command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    cwd=self.folder,
                    env=kept | variables,
                    start_new_session=True,
                    pass_fds=self.inherited,
                )
            return self._start_by_gitpython(command, variables)
        except FileNotFoundError:  # the PATH has no git, or not even env(1); or the folder is gone
            gone = not self.folder.is_dir()
            raise GitError(f'"{self.folder}" is not there' if gone else NOT_THERE) from None
        except PermissionError as error:
            if error.filename == command[0]:
                raise GitError(NOT_THERE) from None
            raise

    def _start_by_gitpython(
        self, command: list[str], variables: Mapping[str, str]
    ) -> "subprocess.Popen[bytes]":
        try:  # here, so that what reads does without
            from git.cmd import Git as Runner  # noqa: PLC0415
        except ImportError as error:  # GitPython looks for git when it is imported
            raise GitError(limit_met(error) or NOT_THERE) from error
        # GitPython adds to the environment of this process and never removes; env(1) removes.
        # Values stay out of the argument list, where other users could read them.
        dropped = sorted(set(os.environ) - set(KEPT) - set(variables))
        unset = [argument for name in dropped for argument in ("-u", name)]
        try:
            running = Runner(str(self.folder)).execute(
                ["env", *unset, *command],
                istream=subprocess.PIPE,
                as_process=True,
                shell=False,
                env=variables,
                start_new_session=True,
                pass_fds=self.inherited,
            )
        except Exception as error:
            if isinstance(error.__cause__, FileNotFoundError):
                raise error.__cause__ from None
            raise
        process = cast("subprocess.Popen[bytes]", running.proc)
        running.proc = None  # ours now: it must not end when the wrapper is collected
        return process

    def _limits(self) -> tuple[str, ...]:
        """Return what starts a command with limits, which all that it starts have, too.

        They must stand before git begins. Code between fork and exec is not safe where there are
        threads, so a shell sets them and becomes git; a stricter limit of the machine stays.
        """
        if (self.processor_seconds, self.file_bytes) == (None, None):
            return ()
        blocks = None if self.file_bytes is None else -(-self.file_bytes // ULIMIT_BLOCK_BYTES)
        limits = (
            "unlimited" if one is None else str(one) for one in (self.processor_seconds, blocks)
        )
        return ("sh", "-c", LIMITED, "sh", *limits)

    def _configuration(self) -> dict[str, str]:
        settings = {**SETTINGS, **self.settings}
        variables = {"GIT_CONFIG_COUNT": str(len(settings))}
        for i, (key, value) in enumerate(settings.items()):
            variables[f"GIT_CONFIG_KEY_{i}"] = key
            variables[f"GIT_CONFIG_VALUE_{i}"] = value
        return variables


def _feed(process: "subprocess.Popen[bytes]", chunks: Iterable[bytes]) -> None:
    stdin = cast("BinaryIO", process.stdin)
    with contextlib.suppress(BrokenPipeError):  # the command ended early; its exit code tells
        try:
            for chunk in chunks:
                stdin.write(chunk)
        finally:
            stdin.close()


def one_line(text: str) -> str:
    r"""Return what git said as one printable line, without its prefixes.

    >>> one_line("error: Entry 'a' not uptodate.\nfatal: stop\n")
    "Entry 'a' not uptodate.; stop"
    """
    lines = (re.sub(r"^(fatal|error|warning): ", "", line.strip()) for line in text.splitlines())
    joined = "; ".join(line for line in lines if line and not line.startswith("hint:"))
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in joined)


@contextlib.contextmanager
def ended_after(seconds: float, process: "subprocess.Popen[bytes]") -> Iterator[threading.Event]:
    """End a command if its time is up before the block is over.

    Yields:
        What is set then.
    """
    expired, over = threading.Event(), threading.Event()

    def expire() -> None:
        if not over.wait(seconds):
            expired.set()
            stop(process)

    helper = HelperThread(expire)
    helper.start()
    try:
        yield expired
    finally:
        over.set()
        helper.join()


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


USERINFO = re.compile(r"(?<=://)[^/@\s'\"]*@")
QUERY = re.compile(r"(://[^\s?'\"]*\?)[^\s'\"]+")
SCP_PASSWORD = re.compile(r"(?<![\w/.:-])([\w.-]+):[^\s/@:'\"]+(?=@[\w.-]+:)")

SHORTEST_BASE64 = 4  # what is shorter is found in ordinary words


def masked(text: str, secrets: Iterable[str] = ()) -> str:
    """Return `text` in which secrets are `***`.

    Secrets are `secrets`, the user info and the query of a URL, and a password before a host.

    >>> masked("cannot reach 'https://me:token@example.com/r'")
    "cannot reach 'https://***@example.com/r'"
    >>> masked("https://example.com/r?token=abc and me:abc@example.com:r")
    'https://example.com/r?*** and me:***@example.com:r'
    """
    for secret in secrets:
        text = text.replace(secret, "***")
    text = QUERY.sub(r"\1***", USERINFO.sub("***@", text))
    return SCP_PASSWORD.sub(r"\1:***", text)


def mask_of(secrets: Collection[str]) -> Callable[[str], str]:
    """Return what masks these secrets in any form, as they are by then."""
    known: tuple[str, ...] = ()
    hidden: list[str] = []

    def mask(text: str) -> str:
        nonlocal known, hidden
        if (present := tuple(secrets)) != known:
            known, hidden = present, [form for secret in present for form in forms_of(secret)]
        return masked(text, hidden)

    return mask


@dataclasses.dataclass(frozen=True, slots=True)
class HiddenTexts(Collection[str]):
    """What must not be shown, of several sources; each is asked whenever it matters."""

    sources: tuple[Iterable[str], ...]

    def __iter__(self) -> Iterator[str]:
        for source in self.sources:
            yield from source

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __contains__(self, text: object) -> bool:
        return any(one == text for one in self)


def forms_of(secret: str) -> tuple[str, ...]:
    """Return a secret as it may be written, the longest first: encoded for a URL, JSON, Base64.

    In Base64 the first and the last digits depend on what stands beside it, so they are left out,
    and there is a form for each of the three places where it may begin.

    >>> forms_of("p/w")
    ('p%2Fw', 'cC93', 'p/w')
    """
    raw = secret.encode()
    forms = {secret, quote(secret), quote(secret, safe=""), quote_plus(secret)}
    forms.add(json.dumps(secret)[1:-1])
    for encode in (b64encode, urlsafe_b64encode):
        for shift in range(3):
            digits = encode(bytes(shift) + raw).decode().rstrip("=")
            whole = digits[(8 * shift + 5) // 6 : 8 * (shift + len(raw)) // 6]
            if len(whole) >= SHORTEST_BASE64:
                forms.add(whole)
    return tuple(sorted(forms, key=lambda form: (-len(form), form)))
