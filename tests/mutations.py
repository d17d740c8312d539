"""Mutations of the package, drawn by a seed, and which of them the tests concerned catch.

`python -m tests.mutations --room core --count 50` makes one small change after the other in a copy
of the repository: a comparison, a condition, a number, a sum. The tests concerned are the file that
mirrors the changed one, then those that import it, then the room's. What survives is printed: a
test is missing, or the change means nothing. What takes too long is printed, too: it hangs, or the
machine is busy.
"""

import argparse
import ast
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.left_out import is_shared
from tests.quick import is_quick
from tests.shell.fleet import ROOT

ROOMS = ("core", "dialects", "shell", "delivery")
COUNT = 50
SECONDS = 300.0
"""What the tests of one mutation may take."""

DANGEROUS = frozenset({"kill", "killpg", "pthread_kill", "rmtree", "send_signal", "terminate"})
NOTHING_COLLECTED = 5  # of pytest
NOT_COPIED = (".git", ".venv", "__pycache__", ".*_cache", ".hypothesis", "build", "dist")
FAILED = re.compile(r"^(?:FAILED|ERROR) ([^\s\[]+)", re.MULTILINE)
COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.Lt: "<=",
    ast.LtE: "<",
    ast.Gt: ">=",
    ast.GtE: ">",
    ast.In: "not in",
    ast.NotIn: "in",
    ast.Is: "is not",
    ast.IsNot: "is",
}
SUMS: dict[type[ast.operator], str] = {ast.Add: "-", ast.Sub: "+", ast.Mult: "+"}


@dataclass(frozen=True, slots=True)
class Mutation:
    """A piece of a file, from `start` to `end` in bytes, and what stands there instead."""

    path: str
    line: int
    start: int
    end: int
    before: str
    after: str

    def __str__(self) -> str:
        """Where it is, and what it does."""
        return f"{self.path}:{self.line}: {self.before!r} -> {self.after!r}"

    def changed(self, data: bytes) -> bytes:
        """Return a file with the other piece."""
        return data[: self.start] + self.after.encode() + data[self.end :]


def draw(room: str, count: int, seed: int) -> list[Mutation]:
    """Return as many mutations of a room, the same for the same seed, in the order drawn."""
    candidates = [
        mutation
        for path in sorted((ROOT / "reconciler" / room).rglob("*.py"))
        for mutation in mutations_of(path.relative_to(ROOT).as_posix(), path.read_text("utf-8"))
    ]
    return random.Random(f"{seed} {room}").sample(candidates, count)  # noqa: S311  # no secret


def mutations_of(path: str, text: str) -> Iterator[Mutation]:
    """Yield every change of a file that these rules know, in the functions of it."""
    lines = text.encode().splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))

    def place(node: ast.expr) -> tuple[int, int]:
        end = starts[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0)
        return starts[node.lineno - 1] + node.col_offset, end

    data = text.encode()
    seen: set[tuple[int, int]] = set()
    for function in ast.walk(ast.parse(text)):
        if isinstance(function, ast.FunctionDef) and not _is_left_alone(function):
            for node in _expressions(function.body):
                start, end = place(node)
                if (start, end) not in seen:
                    seen.add((start, end))
                    before = data[start:end].decode()
                    for after in _instead(node):
                        yield Mutation(path, node.lineno, start, end, before, after)


def _expressions(nodes: Sequence[ast.AST]) -> Iterator[ast.expr]:
    """Yield expressions, but for annotations and what stands in a text, whose place is not told."""
    for node in nodes:
        if isinstance(node, ast.expr):
            yield node
        if isinstance(node, ast.AnnAssign):
            yield from _expressions([node.value] if node.value else [])
        elif isinstance(node, ast.FunctionDef):
            yield from _expressions(node.body)
        elif not isinstance(node, ast.JoinedStr):
            yield from _expressions(list(ast.iter_child_nodes(node)))


def _is_left_alone(function: ast.FunctionDef) -> bool:
    """Whether a function ends processes or removes folders: changed, it might take others'."""
    return any(
        isinstance(node, ast.Attribute | ast.Name)
        and (node.attr if isinstance(node, ast.Attribute) else node.id) in DANGEROUS
        for node in ast.walk(function)
    )


def _instead(node: ast.expr) -> Iterator[str]:
    """Yield what may stand for an expression."""
    match node:
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            yield f"{ast.unparse(left)} {COMPARISONS[type(op)]} {ast.unparse(right)}"
        case ast.BoolOp(op=op, values=values):
            word = " or " if isinstance(op, ast.And) else " and "
            yield f"({word.join(f'({ast.unparse(value)})' for value in values)})"
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield f"bool({ast.unparse(operand)})"
        case ast.IfExp(test=test, body=body, orelse=orelse):
            yield f"({ast.unparse(orelse)} if {ast.unparse(test)} else {ast.unparse(body)})"
        case ast.BinOp(left=left, op=op, right=right) if type(op) in SUMS:
            yield f"({ast.unparse(left)} {SUMS[type(op)]} {ast.unparse(right)})"
        case ast.Constant(value=bool(value)):
            yield str(not value)
        case ast.Constant(value=int(value)):
            yield str(value + 1)
        case _:
            return


def tests_of(path: str) -> list[list[str]]:
    """Return the tests of a file of the package, in the order in which they are run.

    First the file that mirrors it and those that import it, then all of its room and the stories.
    """
    inner = Path(path).relative_to("reconciler")
    room, mirror = inner.parts[0], f"tests/{inner.parent}/test_{inner.name}"
    imported = f"from {'.'.join(Path(path).with_suffix('').parts)} import"
    home, near, rest = f"tests/{room}/", set(), {"tests/test_golden.py"}
    for test in (ROOT / "tests").rglob("test_*.py"):
        name = test.relative_to(ROOT).as_posix()
        if is_shared(name):
            continue
        if name == mirror or imported in test.read_text(encoding="utf-8"):
            near.add(name)
        if name.startswith(home) and (room == "shell" or is_quick(name)):
            rest.add(name)
    first = sorted(
        near, key=lambda name: (name != mirror, not name.startswith(f"tests/{room}/"), name)
    )
    return [part for part in (first, sorted(rest)) if part]


class Judgement(StrEnum):
    """What became of a mutation; one is not judged if the test that fails does so without it."""

    CAUGHT = "caught"
    SURVIVED = "survived"
    OUT_OF_TIME = "out of time"
    NOT_JUDGED = "not judged"


def judge(mutation: Mutation, folder: Path, *, near: bool = False) -> Judgement:
    """Run the tests concerned, or the nearest, in a copy of the repository that is changed so."""
    original = (folder / mutation.path).read_bytes()
    until = time.monotonic() + SECONDS
    for tests in tests_of(mutation.path)[: 1 if near else None]:
        (folder / mutation.path).write_bytes(mutation.changed(original))
        try:
            failed = first_failure(tests, folder, until - time.monotonic())
        except subprocess.TimeoutExpired:
            return Judgement.OUT_OF_TIME
        finally:
            (folder / mutation.path).write_bytes(original)
        if failed is not None:
            return Judgement.CAUGHT if passes_unchanged(failed, folder) else Judgement.NOT_JUDGED
    return Judgement.SURVIVED


@cache
def passes_unchanged(test: str, folder: Path) -> bool:
    """Whether a test passes in a copy of the repository as it is."""
    return first_failure([test], folder, 10 * SECONDS) is None


def first_failure(tests: Sequence[str], folder: Path, seconds: float) -> str | None:
    """Run tests in a copy of the repository; return the first that fails, else `None`.

    Raises:
        TimeoutExpired: If they are not through by then.
    """
    options = ("-q", "-x", "-p", "no:cacheprovider", "-m", "not whole")
    environment = {**os.environ, "PYTHONPATH": str(folder), "BOUNDED": "1"}
    with subprocess.Popen(
        [sys.executable, "-m", "pytest", *options, *tests],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        errors="replace",
        start_new_session=True,
    ) as process:
        try:
            out, _ = process.communicate(timeout=max(seconds, 1))
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            raise
    if process.returncode in {0, NOTHING_COLLECTED}:
        return None
    failed = FAILED.search(out)
    return failed[1] if failed else tests[0]  # one that kills the run says no word


def main() -> int:
    """Print each mutation with what became of it, and how many of each room were caught."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=COUNT, help="of each room")
    parser.add_argument("--room", choices=ROOMS, action="append", help="all, if none is named")
    parser.add_argument("--near", action="store_true", help="only what mirrors or imports the file")
    asked = parser.parse_args()
    with TemporaryDirectory() as name:
        folder = Path(name) / "copy"
        shutil.copytree(ROOT, folder, ignore=shutil.ignore_patterns(*NOT_COPIED), symlinks=True)
        rooms = asked.room or ROOMS
        counted = {room: Counter[Judgement]() for room in rooms}
        for drawn in zip(*(draw(room, asked.count, asked.seed) for room in rooms), strict=True):
            for room, mutation in zip(rooms, drawn, strict=True):
                judgement = judge(mutation, folder, near=asked.near)
                counted[room][judgement] += 1
                print(f"{judgement}: {mutation}", flush=True)
        for room, words in counted.items():
            print(f"{room}: {', '.join(f'{count} {word}' for word, count in words.items())}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
