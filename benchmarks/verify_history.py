"""Proving 1,000 commits of a repository of 1,000 manifests: seconds in all, and per pass."""

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from benchmarks.startup_and_passes import WORKLOAD, Given, make_repository
from reconciler.core.changes import WriteFile
from reconciler.shell.clock import Clock
from reconciler.shell.git.commits import write_commit
from reconciler.shell.git.identity import CommitIdentity
from reconciler.shell.git.publish import publish
from reconciler.shell.git.repository import Repository
from reconciler.shell.load import Loader
from reconciler.shell.passes import LocalBranch, Passes
from reconciler.shell.resources import load_schemas
from reconciler.shell.trees import GitTrees

GOAL_SECONDS = 60
AUTHOR = CommitIdentity("bench", "bench@example.org")


@dataclass(frozen=True, slots=True)
class Bare(LocalBranch):
    """The branch itself; no checkout follows, which would take the most time."""

    def publish(self, *, old: str, new: str) -> None:
        """Move the branch."""
        publish(self.repository, self.name, old=old, new=new)


def make_history(folder: Path, manifests: int, commits: int, clusters: int) -> None:
    """Scale one workload and decide, in turn, until there are so many commits."""
    make_repository(folder, manifests, clusters=clusters)
    repository = Repository.open(folder)
    clock = Given(datetime(2026, 1, 1, tzinfo=UTC))
    given: Clock = clock
    passes = Passes(
        branch=Bare(repository, "main"),
        loader=Loader(GitTrees(repository), load_schemas(), output_root="status"),
        clock=given,
        author=AUTHOR,
    )
    workloads = (manifests - clusters) // 2
    for number in range(commits // 2):
        if number:
            i = number * 7 % workloads
            text = WORKLOAD.format(i=i, replicas=5 + number % 90)
            change = WriteFile(f"workloads/{i:05d}.yaml", text)
            head = passes.branch.head()
            new = write_commit(
                repository,
                [change],
                parent=head,
                message=f"Scale {i}",
                at=clock.moment,
                author=AUTHOR,
            )
            publish(repository, "main", old=head, new=new)
        clock.moment += timedelta(seconds=300)
        passes.run()


def main() -> None:
    """Make the history, prove it, print the figures."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--manifests", type=int, default=1000)
    parser.add_argument("--commits", type=int, default=1000)
    parser.add_argument("--clusters", type=int, default=100, help="a quarter has each workload")
    parser.add_argument("--jobs", type=int, default=0)
    parser.add_argument("--executor", default="processes", help="or dask://HOST:PORT")
    parser.add_argument("--folder", type=Path)
    asked = parser.parse_args()
    folder = asked.folder or Path(tempfile.mkdtemp(prefix="reconciler-bench-"))
    if not (folder / ".git").exists():
        make_history(folder, asked.manifests, asked.commits, asked.clusters)
    options = ["--afresh", "--executor", asked.executor]
    options += ["--jobs", str(asked.jobs)] if asked.jobs else []
    start = time.perf_counter()
    finished = subprocess.run(
        [sys.executable, "-m", "reconciler", "-C", str(folder), "verify", *options], check=False
    )
    seconds = time.perf_counter() - start
    print(f"exit code {finished.returncode}, {seconds:.1f} s, goal {GOAL_SECONDS} s")
    print(f"{seconds / (asked.commits / 2) * 1000:.0f} ms a pass")
    if asked.folder is None:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
