"""The passes of one root, computed by workers; this process watches the branch and tells."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial

from reconciler.errors import ShellError
from reconciler.model.world import World
from reconciler.shell.passes.one_pass import Passes
from reconciler.shell.passes.pass_summary import PassSummary
from reconciler.shell.work.root_workers import RootWorkers


@dataclass(frozen=True, slots=True)
class RunByWorkers:
    """Has workers compute the passes of one root.

    Attributes:
        workers: Who computes.
        root: Its name.
    """

    workers: RootWorkers
    root: str

    def run(
        self, passes: Passes, waiting: Callable[[], None], /, *, due: bool
    ) -> tuple[PassSummary, Callable[[], World]]:
        """Have a pass computed; what it left is fetched, for the page and whoever else reads here.

        What counts as left is what this process knows to be so: a worker that has seen other
        commits, since somebody pushed meanwhile, is asked again.
        """
        branches = passes.branches
        heads = (branches.known if due else branches).heads()
        passes.began(heads.inputs)
        summary = self.workers.run(self.root, waiting, due=due)
        read = summary.heads
        if read._replace(reports=None) != heads:
            summary = replace(summary, left=heads._replace(reports=read.reports))
        if summary.commit is not None:
            with suppress(ShellError):  # the next look tells it
                branches.heads()
        return summary, partial(branches.load, passes.loader, read)

    def rest(self, passes: Passes, /) -> bool:
        """Look after the repository here, and have the worker do so there."""
        passes.branch.maintain()
        return self.workers.rest(self.root)
