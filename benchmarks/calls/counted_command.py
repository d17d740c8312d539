"""Runs the command, and says how many calls of our functions that took.

`python -m benchmarks.calls.counted_command ARGUMENT ...`: the number is the last line of standard
error.
"""

import cProfile
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import reconciler
from reconciler.cli.main import run

PACKAGE = str(Path(reconciler.__file__).parent)
INLINED = frozenset({"<listcomp>", "<dictcomp>", "<setcomp>"})
"""Functions of their own up to Python 3.11, none from 3.12 on."""


def calls_of(act: Callable[[], object]) -> int:
    """Return how many calls of our functions something takes."""
    profile = cProfile.Profile(builtins=False)
    profile.enable()
    try:
        act()
    finally:
        profile.disable()
    return sum(one.callcount for one in profile.getstats() if _is_ours(one.code))


def _is_ours(code: object) -> bool:
    """Return whether a function is one of the package, in every version of Python."""
    path = getattr(code, "co_filename", "")
    return path.startswith(PACKAGE) and getattr(code, "co_name", "") not in INLINED


def main() -> None:
    """Run the command with the arguments of this one."""
    print(calls_of(_act), file=sys.stderr)


def _act() -> None:
    with suppress(SystemExit):  # completion ends so
        run(sys.argv[1:])


if __name__ == "__main__":
    main()
