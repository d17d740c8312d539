"""How much memory a daemon's passes take after many commits, against what they took after few."""

import os
import time
from dataclasses import dataclass
from pathlib import Path

from reconciler.core.changes import WriteFile
from reconciler.shell.git.commits import write_commit
from reconciler.shell.git.repository import Repository
from tests.builders import deployment, text
from tests.shell.fleet import DAEMON, Clock, new_passes
from tests.shell.repositories import NOW, new_bare
from tests.soak.writers import WORKLOADS, first_files

COMMITS = 10_000  # of people and passes together
WARM = 3_000  # by then the caches of texts are full
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True)
class Growth:
    """Commits of people and passes, and bytes of memory after `WARM` of them and at the end."""

    commits: int
    before: int
    after: int

    @property
    def percent(self) -> float:
        """How much more it is, in percent; 0 where too few commits were made to tell."""
        return 100 * (self.after - self.before) / self.before if self.before else 0.0

    def __str__(self) -> str:
        if not self.before:
            return f"memory: {self.commits} commits are too few to tell, {COMMITS} take a while"
        return f"memory grew by {self.percent:.1f} % from {WARM} to {self.commits} commits"


def grow(folder: Path, *, seconds: float, commits: int = COMMITS) -> Growth:
    """Let people scale workloads and a process follow them, a commit each.

    Args:
        folder: Where the repository is made.
        seconds: After which no more commits are made.
        commits: How many are made at most.
    """
    bare = new_bare(folder / "growth.git", first_files())
    repository = Repository.open(bare)
    clock = Clock(NOW)
    passes = new_passes(bare, clock)
    end = time.monotonic() + seconds
    made, before = 0, 0
    while made < commits and time.monotonic() < end:
        name = WORKLOADS[made // 2 % len(WORKLOADS)]
        edit = WriteFile(f"workloads/{name}.yaml", text(deployment(name, replicas=1 + made % 29)))
        head = repository.resolve("main")
        clock.pause(100)
        new = write_commit(
            repository, [edit], parent=head, message="Scale", at=clock.now(), author=DAEMON
        )
        passes.branch.publish(old=head, new=new)
        clock.pause(100)
        made += 1 + (passes.run().commit is not None)
        passes.rest()
        if not before and made >= WARM:
            before = _resident_bytes()
    return Growth(made, before, _resident_bytes())


def _resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE_BYTES
