"""A page: the files that it writes and the commands that it runs, in the order of reading.

A file is a fence after a line that holds nothing but its path in back-quotes and a colon; "more of"
before the path appends to it. A console is a fence marked `console`: a line that begins with `$ `
is a command, lines with `> ` go on with it, what follows is its output, `...` stands for lines left
out, and a last line such as `[exit 1]` says that it fails. In a fence marked `sh` every line is a
command whose output is not shown. A fence with `reconciler run` alone starts the daemon, which
goes on until the page ends. What happens out of sight is in a comment, as in
`<!-- meanwhile: COMMAND -->`.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

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
