"""Runs a page in a folder of its own, as its reader would, under a clock that is set.

Where the page starts the daemon, passes are made as it would make them, until nothing is left to be
done; `tests/documents/test_readme.py` has a reader with a real one.
"""

import os
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from datetime import datetime
from io import StringIO
from pathlib import Path

import pytest

from reconciler.cli.main import run
from reconciler.model.moments import format_moment
from reconciler.shell.resources import SystemClock
from tests.pages.clocked import PageClock, pass_time
from tests.shell.fleet import PATIENCE_SECONDS, ROOT
from tests.shell.repositories import ENVIRONMENT

FENCE = re.compile(
    r"^( *)```(\w*)\n(.*?)^\1```$|^ *<!-- meanwhile: (.*?) -->$", re.MULTILINE | re.DOTALL
)
PATH = re.compile(r"(?P<more>more of )?`(?P<path>[\w./-]+)`:\s*\Z", re.IGNORECASE)
EXIT = re.compile(r"\[exit (\d+)\]")
ELIDED = "..."
RUN = "reconciler run"
PROMPT, MORE = "$ ", "> "
ANYTHING: list[list[str]] = [[], []]


@dataclass(frozen=True)
class WrittenFile:
    """A file that the reader is told to write, or to append to."""

    path: str
    content: str
    appended: bool


@dataclass
class Command:
    """A command with the pieces of output that the page shows, and its exit code."""

    text: str
    pieces: list[list[str]] = field(default_factory=lambda: [[]])
    code: int = 0


@dataclass(frozen=True)
class Daemon:
    """The daemon is started, and stays."""


Step = WrittenFile | Command | Daemon


def steps_of(page: str) -> list[Step]:
    """Return what a page asks its reader to do, in order."""
    found: list[Step] = []
    for fence in FENCE.finditer(page):
        indent, language, body, meanwhile = fence.groups()
        if meanwhile is not None:
            found.append(Command(meanwhile, pieces=ANYTHING))
            continue
        lines = [line.removeprefix(indent) for line in body.splitlines()]
        before = PATH.search(page[: fence.start()].rstrip())
        if language == "console":
            found += _commands(lines)
        elif language == "sh":
            found += [Command(line, pieces=ANYTHING) for line in lines]
        elif lines == [RUN]:
            found.append(Daemon())
        elif before is not None:
            content = "".join(f"{line}\n" for line in lines)
            found.append(WrittenFile(before["path"], content, bool(before["more"])))
    return found


def _commands(lines: list[str]) -> Iterator[Command]:
    """Yield the commands of a console."""
    command: Command | None = None
    for line in lines:
        if line.startswith(PROMPT):
            if command is not None:
                yield command
            command = Command(line.removeprefix(PROMPT))
            continue
        assert command is not None, f"output before any command: {line}"
        if line.startswith(MORE) and command.pieces == [[]]:
            command.text += f"\n{line.removeprefix(MORE)}"
            continue
        code = EXIT.fullmatch(line)
        if code:
            command.code = int(code[1])
        elif line == ELIDED:
            command.pieces.append([])
        else:
            command.pieces[-1].append(line)
    if command is not None:
        yield command


MASKS = (
    (re.compile(r"(?:/[\w.-]+)+(?=/home/)"), ""),
    (re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:Z|[+-]\d\d:\d\d)"), "MOMENT"),
    (re.compile(r"\b(?:[0-9a-f]{40}|[0-9a-f]{12}|[0-9a-f]{7})\b"), "COMMIT"),
    (re.compile(r"\b(?:\d+[dhms])+(?= |$)", re.MULTILINE), "AGE"),
    (re.compile(r"[ ]+"), " "),
    (re.compile(r"[ ]+$", re.MULTILINE), ""),
)
"""What differs from day to day and place to place, and the widths that follow from it."""

SHELL = frozenset("|&;<>()$`*?[]{}~#\n")  # what may be more than a word, quoted or not
MOST_PASSES = 6  # until all has come to rest
CD = re.compile(r"cd (\S+)")
RECONCILER = """#!/bin/sh
exec "{python}" -P -m tests.pages.clocked "$@"
"""
SLEEP = """#!/bin/sh
exec "{python}" -P -m tests.pages.clocked --sleep "$1"
"""
DATE = """#!/bin/sh
cat "$PAGE_CLOCK"
"""


@dataclass
class Reader:
    """Somebody who does what a page says: the folder they are in, their tools, a clock."""

    folder: Path
    tools: Path
    serves: bool = False

    def follow(self, page: str) -> list[str]:
        """Do everything on a page, and return what was not as it shows."""
        wrong = []
        for step in steps_of(page):
            match step:
                case WrittenFile(path=path, content=content, appended=appended):
                    target = self.folder / path
                    target.parent.mkdir(parents=True, exist_ok=True)
                    before = target.read_text(encoding="utf-8") if appended else ""
                    target.write_text(before + content, encoding="utf-8")
                case Daemon():
                    self.serves = True
                    self.come_to_rest()
                case Command():
                    before = self.head()
                    wrong += self._run(step)
                    if self.serves and self.head() != before:
                        self.come_to_rest()
        return wrong

    def head(self) -> str:
        """Return the commit that is served, `""` before there is one."""
        return self.start("git rev-parse --verify --quiet main").stdout.decode()

    def come_to_rest(self) -> None:
        """Have passes until nothing is left to be done."""
        for _ in range(MOST_PASSES):
            before = self.head()
            self.let_time_pass()
            assert 0 == self.start("reconciler reconcile --branch main").returncode
            if before == self.head():
                return
        raise AssertionError("it does not come to rest")

    def let_time_pass(self, seconds: int = 2) -> None:
        """Let some seconds go by."""
        pass_time(self._clock, seconds)

    def start(self, command: str) -> subprocess.CompletedProcess[bytes]:
        """Run a command, and return how it ended; the time that it took has gone by then."""
        began = time.monotonic()
        words = words_of(command)
        finished = self.ask(words, PageClock().now) if words else self.start_process(command)
        self.let_time_pass(int(time.monotonic() - began))
        return finished

    def ask(
        self, words: Sequence[str], now: Callable[[object], datetime] | None = None
    ) -> subprocess.CompletedProcess[bytes]:
        """Ask a verb in this process, which is what most of a page does, and ten times as fast.

        Args:
            words: Those behind `reconciler`.
            now: What the clock says, `None` for what it is.
        """
        out = StringIO()
        with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(out):
            for name in os.environ.keys() - self.environment().keys():
                patch.delenv(name)
            for name, value in self.environment().items():
                patch.setenv(name, value)
            patch.chdir(self.folder)
            if now is not None:
                patch.setattr(SystemClock, "now", now)
            code = run([*words])
        return subprocess.CompletedProcess(words, code, out.getvalue().encode())

    def start_process(self, command: str) -> subprocess.CompletedProcess[bytes]:
        """Run a command of the shell."""
        return subprocess.run(
            ["bash", "-c", command],
            cwd=self.folder,
            env=self.environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=PATIENCE_SECONDS,
            check=False,
        )

    def environment(self) -> dict[str, str]:
        """Return what commands find."""
        return {
            **{k: v for k, v in ENVIRONMENT.items() if not k.endswith("_DATE")},
            "PATH": f"{self.tools}:{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT),
            "HOME": str(self.tools),
            "PAGE_CLOCK": str(self._clock),
        }

    def _run(self, command: Command) -> list[str]:
        """Run a command two seconds after the one before, and return how it differs."""
        self.let_time_pass()
        into = CD.fullmatch(command.text)
        if into:
            self.folder /= into[1]
            return []
        finished = self.start(command.text)
        out = finished.stdout.decode()
        if finished.returncode != command.code:
            return [f"$ {command.text}\nexit {finished.returncode}, not {command.code}:\n{out}"]
        lacking = missing(command.pieces, out)
        return [f"$ {command.text}\n{lacking}"] if lacking else []

    @property
    def _clock(self) -> Path:
        return self.tools / "clock"


def words_of(command: str) -> list[str]:
    """Return the words of a command that is `reconciler` and nothing of the shell's, else none.

    >>> words_of("reconciler why 'deployment/a b'"), words_of("reconciler get rb | wc -l")
    (['why', 'deployment/a b'], [])
    """
    first, _, rest = command.partition(" ")
    return shlex.split(rest) if first == "reconciler" and SHELL.isdisjoint(rest) else []


def new_reader(folder: Path, now: datetime) -> Reader:
    """Return a reader in an empty folder, with `reconciler`, and a `sleep` that does not wait."""
    home, tools = folder / "home", folder / "tools"
    home.mkdir(parents=True)
    tools.mkdir()
    for name, script in (("reconciler", RECONCILER), ("sleep", SLEEP), ("date", DATE)):
        tool = tools / name
        tool.write_text(script.format(python=sys.executable), encoding="utf-8")
        tool.chmod(0o755)
    (tools / "clock").write_text(format_moment(now), encoding="utf-8")
    return Reader(home, tools)


def missing(pieces: list[list[str]], out: str) -> str:
    """Return what an output lacks of the pieces, one behind the other, or has beside them.

    Without `...` the output must be the piece; `...` first, last or between leaves room.
    """
    rest = masked(out)
    for number, piece in enumerate(pieces):
        wanted = masked("".join(f"{line}\n" for line in piece))
        at = rest.find(wanted)
        if at < 0 or (number == 0 and at > 0):
            return f"shown:\n{wanted}\nbut it is:\n{rest}"
        rest = rest[at + len(wanted) :]
    open_ended = len(pieces) > 1 and not pieces[-1]
    return "" if open_ended or not rest else f"not shown:\n{rest}"


def masked(text: str) -> str:
    """Return a text without what differs from day to day.

    >>> masked("1a2b3c4   5m2s   2026-11-20T12:00:00Z")
    'COMMIT AGE MOMENT'
    >>> masked("dbfbdca 1234567")  # ids of letters alone, or of digits alone, are ids
    'COMMIT COMMIT'
    """
    for pattern, word in MASKS:
        text = pattern.sub(word, text)
    return text


BLOCK = re.compile(r"<!-- told -->\n```\n(.*?)```\n", re.DOTALL)
ELSEWHERE = re.compile(r"\b[0-9a-f]{12}\b|\b[0-9a-f]{40}\b|^\d+[smhd] +", re.MULTILINE)


def told(document: str) -> list[tuple[str, list[list[str]]]]:
    """Each command with the pieces of its output, as a document shows them."""
    found: list[tuple[str, list[list[str]]]] = []
    for block in BLOCK.findall((ROOT / document).read_text(encoding="utf-8")):
        for line in block.splitlines():
            if line.startswith("$ reconciler "):
                found.append((line.removeprefix("$ reconciler "), [[]]))
            elif line == ELIDED:
                found[-1][1].append([])
            else:
                found[-1][1][-1].append(line)
    return found


def missing_piece(pieces: list[list[str]], out: str) -> str:
    """Return the first piece that an output has not, one behind the other; `""` if it has all."""
    rest = ELSEWHERE.sub("~", out)
    for piece in pieces:
        wanted = ELSEWHERE.sub("~", "".join(f"{line}\n" for line in piece))
        if wanted not in rest:
            return f"{wanted}is not in\n{rest}"
        rest = rest[rest.index(wanted) + len(wanted) :]
    return ""
