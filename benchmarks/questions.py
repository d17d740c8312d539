"""What questions about the example repository cost: processor time, children included.

Compared with the check of one file by the same command, so that machines can be compared. Byte
code is cached, as it is for any installed package. `python -m benchmarks.questions`.
"""

import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.startup_and_passes import git
from reconciler.shell.resources import write_example

REPEAT = 7
CHECK_ONE = ("validate", "policies/shop.yaml")
QUESTIONS = (
    (("get", "clusters"), 0.5),
    (("tree", "pp/shop"), 0.5),
    (("top", "clusters"), 0.5),
    (("plan", "--base", "HEAD~2", "--head", "HEAD~1"), 0.9),
    (("why", "deployment/shop"), 0.9),
    (("verify",), 0.9),
)
"""What is asked, and the goal in seconds."""


def run(folder: Path, *arguments: str) -> None:
    """Run the command in a process of its own."""
    variables = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-m", "reconciler", *arguments]
    subprocess.run(command, cwd=folder, env=variables, check=True, capture_output=True)


def cpu_seconds(folder: Path, *arguments: str) -> float:
    """Return the median processor time of a command."""
    times = []
    for _ in range(REPEAT):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        run(folder, *arguments)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return statistics.median(times)


def main() -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory(prefix="reconciler-bench-") as name:
        folder = Path(name)
        write_example(folder)
        git(folder, "init", "-q", "-b", "main")
        git(folder, "add", ".")
        git(folder, "commit", "-q", "-m", "start")
        run(folder, "reconcile")
        git(folder, "commit", "-q", "--allow-empty", "-m", "look")
        unit = cpu_seconds(folder, *CHECK_ONE)
        print(f"{'question':<36}{'CPU s':>6}{'ratio':>7}   goal")
        print(f"{' '.join(CHECK_ONE):<36}{unit:6.2f}{1:7.1f}")
        for arguments, goal in QUESTIONS:
            seconds = cpu_seconds(folder, *arguments)
            question = " ".join(arguments)
            print(f"{question:<36}{seconds:6.2f}{seconds / unit:7.1f}   < {goal}")


if __name__ == "__main__":
    main()
