"""How long after a reference has moved the daemon starts its pass, git's own work included."""

import contextlib
import io
import statistics
import tempfile
import threading
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from queue import SimpleQueue

from benchmarks.figure import Figure, Unit
from benchmarks.repositories import AUTHOR, make_bare, manifests_of, passes_of, workload
from reconciler.core.changes import WriteFile
from reconciler.model.records import dataclass, field
from reconciler.shell.daemon.serve_branch import Daemon
from reconciler.shell.daemon.watch import POLL_SECONDS, Wakeups
from reconciler.shell.git.commits import write_commit
from reconciler.shell.git.publish import publish
from reconciler.shell.git.repository import Repository
from reconciler.shell.passes.one_pass import Passes
from reconciler.shell.passes.pass_report import PassReport
from reconciler.shell.resources import SystemClock

ROUNDS = 9
MANIFESTS = 200
QUIET_SECONDS = 1.2  # after it the daemon sleeps, and a pass has a later second
PATIENCE_SECONDS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Timed(Passes):
    """Passes that tell when one starts and ends."""

    started: SimpleQueue[float] = field(default_factory=SimpleQueue)
    ended: SimpleQueue[PassReport] = field(default_factory=SimpleQueue)

    def run(
        self, *, at: datetime | None = None, publish: bool = True, due: bool = False
    ) -> PassReport:
        """Run a pass."""
        self.started.put(time.perf_counter())
        report = Passes.run(self, at=at, publish=publish, due=due)
        self.ended.put(report)
        return report


def figures() -> Iterator[Figure]:
    """Yield the median over some pushes to a repository that a daemon serves."""
    with tempfile.TemporaryDirectory(prefix="reconciler-bench-") as name:
        repository = make_bare(Path(name) / "bare", manifests_of(MANIFESTS))
        plain = passes_of(repository, SystemClock())
        passes = Timed(
            branches=plain.branches, loader=plain.loader, clock=plain.clock, author=plain.author
        )
        with Wakeups(repository.common_dir) as wakeups:
            daemon = Daemon(passes=passes, wakeups=wakeups, poll_seconds=POLL_SECONDS)
            thread = threading.Thread(target=_serve, args=(daemon,))
            thread.start()
            passes.ended.get(timeout=PATIENCE_SECONDS)
            passes.started.get()
            waits = [_push(repository, passes, number) for number in range(ROUNDS)]
            wakeups.stop()
            thread.join()
    took = statistics.median(waits)
    yield Figure("reference moved until the pass starts", took, Unit.MILLISECONDS)


def _serve(daemon: Daemon) -> None:
    """Run the daemon, whose log is of no interest."""
    with contextlib.redirect_stdout(io.StringIO()):
        daemon.run()


def _push(repository: Repository, passes: Timed, number: int) -> float:
    """Return the milliseconds from before a push until the pass after it starts."""
    time.sleep(QUIET_SECONDS)
    head = repository.resolve("main")
    changes = [WriteFile(path, text) for path, text in workload(number, 7).items()]
    at = SystemClock().now()
    commit = write_commit(repository, changes, parent=head, message="Scale", at=at, author=AUTHOR)
    begin = time.perf_counter()
    publish(repository, "main", old=head, new=commit)
    start = passes.started.get(timeout=PATIENCE_SECONDS)
    passes.ended.get(timeout=PATIENCE_SECONDS)
    return 1000 * (start - begin)
