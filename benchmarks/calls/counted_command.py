"""Runs the command, and says how many calls of our functions that took.

`python -m benchmarks.calls.counted_command ARGUMENT ...`: the number is the last line of standard
error.
"""

import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import CodeType

import reconciler
from benchmarks.work_counters import counted
from reconciler.cli.main import run

PACKAGE = str(Path(reconciler.__file__).parent)
INLINED = frozenset({"<listcomp>", "<dictcomp>", "<setcomp>"})
"""Functions of their own up to Python 3.11, none from 3.12 on."""


def calls_of(act: Callable[[], object]) -> int:
    """Return how many calls of our functions something takes."""
    with counted() as calls:
        act()
    return sum(count for code, count in calls.items() if _is_ours(code))


def _is_ours(code: CodeType) -> bool:
    """Return whether a function is one of the package, in every version of Python."""
    return code.co_filename.startswith(PACKAGE) and code.co_name not in INLINED


def main() -> None:
    """Run the command with the arguments of this one."""
    print(calls_of(_act), file=sys.stderr)


def _act() -> None:
    with suppress(SystemExit):  # completion ends so
        run(sys.argv[1:])


if __name__ == "__main__":
    main()
