"""What questions about the example repository cost: processor time, children included.

Compared with the check of one file by the same command, so that machines can be compared.
"""

import resource
import statistics
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.commands import command
from benchmarks.figure import Figure, Unit
from benchmarks.repositories import git
from reconciler.shell.resources import write_example

REPEAT = 7
CHECK_ONE = ("validate", "policies/shop.yaml")
QUESTIONS = (
    ("get", "clusters"),
    ("tree", "pp/shop"),
    ("top", "clusters"),
    ("plan", "--base", "HEAD~2", "--head", "HEAD~1"),
    ("why", "deployment/shop"),
    ("verify",),
)


def cpu_seconds(folder: Path, *arguments: str) -> float:
    """Return the median processor time of a command."""
    times = []
    for _ in range(REPEAT):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command(*arguments, folder=folder)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return statistics.median(times)


def figures() -> Iterator[Figure]:
    """Yield the seconds of each question."""
    with tempfile.TemporaryDirectory(prefix="reconciler-bench-") as name:
        folder = Path(name)
        write_example(folder)
        git(folder, "init", "-q", "-b", "main")
        git(folder, "add", ".")
        git(folder, "commit", "-q", "-m", "start")
        command("reconcile", folder=folder)
        git(folder, "commit", "-q", "--allow-empty", "-m", "look")
        unit = cpu_seconds(folder, *CHECK_ONE)
        yield Figure(f"example: {' '.join(CHECK_ONE)}", unit, Unit.SECONDS, "processor time")
        for arguments in QUESTIONS:
            took = cpu_seconds(folder, *arguments)
            note = f"{took / unit:.1f} times the check of one file"
            yield Figure(f"example: {' '.join(arguments)}", took, Unit.SECONDS, note)
