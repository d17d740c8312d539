"""Several roots of one repository in one process: a daemon each, in a thread of its own.

Each has its own loader, memory, passes and back-off, so what is broken or slow in one delays no
other. They share the checkout or the mirror, whose moves wait for each other.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import structlog

from reconciler.shell.daemon.health import DaemonHealth
from reconciler.shell.daemon.serve_branch import Daemon
from reconciler.shell.daemon.watch import Wakeups
from reconciler.shell.passes.one_pass import Passes
from reconciler.shell.processes.held_signals import LONGEST_UNANSWERED_SECONDS


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedRoot:
    """A root that is served.

    Attributes:
        name: Its folder as the operator named it, `""` if it is the only one and was not named.
        passes: How its passes are run.
        wakeups: What its daemon sleeps on.
        health: Whether its daemon lives and is ready.
        worker: Returns who has its memory now, `""` for this process or nobody.
    """

    name: str
    passes: Passes
    wakeups: Wakeups
    health: DaemonHealth
    worker: Callable[[], str] = lambda: ""


def run_beside(daemons: Mapping[str, Daemon]) -> None:
    """Run daemons beside each other until their wakeups say to stop.

    Args:
        daemons: By the name of the root, which all that is logged of it carries. One alone runs in
            this thread.
    """
    if len(daemons) == 1:
        for root, daemon in daemons.items():
            _run(root, daemon)
        return
    threads = [
        threading.Thread(target=_run, args=(root, daemon), name=f"root {root}")
        for root, daemon in daemons.items()
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        while thread.is_alive():
            thread.join(LONGEST_UNANSWERED_SECONDS)


def _run(root: str, daemon: Daemon) -> None:
    if root:
        structlog.contextvars.bind_contextvars(root=root)
    daemon.run()


class JointHealth:
    """The health of several daemons: well if all are, else what ails which.

    Args:
        roots: Whose daemons.
        warnings: Returns what is wrong though they are ready, a sentence each.
    """

    def __init__(
        self, roots: Sequence[ServedRoot], warnings: Callable[[], Sequence[str]] = tuple
    ) -> None:
        self._roots = roots
        self.warnings = warnings

    def not_alive(self) -> str:
        """Return why a loop counts as stuck, `""` if all turn."""
        return self._ailing(DaemonHealth.not_alive)

    def not_ready(self) -> str:
        """Return why nobody should rely on all of them, `""` if all are ready."""
        return self._ailing(DaemonHealth.not_ready)

    def _ailing(self, question: Callable[[DaemonHealth], str]) -> str:
        found = [(root.name, question(root.health)) for root in self._roots]
        return "; ".join(f"{name}: {why}" if name else why for name, why in found if why)
