"""Proving 1,000 commits of a repository of 1,000 manifests: seconds in all, and per pass."""

import shutil
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from benchmarks.commands import command
from benchmarks.figure import Figure, Unit
from benchmarks.repositories import WORKLOAD, Given, make_repository
from reconciler.core.changes import WriteFile
from reconciler.model.identity import RepositoryLayout
from reconciler.model.records import dataclass
from reconciler.shell.git.checkout.moves import KeptEdit
from reconciler.shell.git.commits import write_commit
from reconciler.shell.git.publish import publish
from reconciler.shell.git.repository import CommitIdentity, Repository
from reconciler.shell.passes.branches import LocalBranch
from reconciler.shell.passes.one_pass import Passes
from reconciler.shell.reading.load import Loader
from reconciler.shell.reading.sources import ServedBranches
from reconciler.shell.reading.trees import GitTrees
from reconciler.shell.resources import Clock, load_schemas

AUTHOR = CommitIdentity("bench", "bench@example.org")


@dataclass(frozen=True, slots=True)
class Bare(LocalBranch):
    """The branch itself; no checkout follows, which would take the most time."""

    def publish(self, *, old: str, new: str) -> tuple[KeptEdit, ...]:
        """Move the branch."""
        publish(self.repository, self.name, old=old, new=new)
        return ()


def make_history(folder: Path, manifests: int, commits: int, clusters: int) -> None:
    """Scale one workload and decide, in turn, until there are so many commits."""
    make_repository(folder, manifests, clusters=clusters)
    repository = Repository.open(folder)
    clock = Given(datetime(2026, 1, 1, tzinfo=UTC))
    given: Clock = clock
    passes = Passes(
        branches=ServedBranches(Bare(repository, "main"), RepositoryLayout()),
        loader=Loader(GitTrees(repository), load_schemas(), layout=RepositoryLayout()),
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


def figures() -> Iterator[Figure]:
    """Make a history and prove it, with the processes that there are."""
    folder = Path(tempfile.mkdtemp(prefix="reconciler-bench-"))
    try:
        make_history(folder / "repository", 1000, 1000, 100)
        start = time.perf_counter()
        command("-C", str(folder / "repository"), "verify", "--afresh")
        took = time.perf_counter() - start
    finally:
        shutil.rmtree(folder)
    yield Figure("verify, 1,000 commits of 1,000 manifests", took, Unit.SECONDS)
