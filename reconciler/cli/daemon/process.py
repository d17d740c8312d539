"""The daemon as a process: its log, its signals, its roots, and new settings."""

import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from types import FrameType

import click

from reconciler.cli.daemon.observers import operated
from reconciler.cli.daemon.serving import open_roots, remote_secrets
from reconciler.cli.options.operation import Operation, read_secrets
from reconciler.cli.options.options import Service
from reconciler.cli.options.settings import RELOAD, Renewal, read_settings
from reconciler.cli.options.trust import Keys
from reconciler.shell.daemon.events import Observer
from reconciler.shell.daemon.health import DaemonHealth
from reconciler.shell.daemon.log import configure_log
from reconciler.shell.daemon.roots import ServedRoot, run_beside
from reconciler.shell.daemon.serve_branch import Daemon
from reconciler.shell.daemon.settings_file import SettingsWatch
from reconciler.shell.daemon.watch import Wakeups
from reconciler.shell.passes.branches import RemoteBranch
from reconciler.shell.passes.one_pass import Passes
from reconciler.shell.processes.held_signals import handle_ending

LOCAL_POLL_SECONDS = 5.0
REMOTE_POLL_SECONDS = 60.0


def run(
    directory: Path,
    *,
    settings: Path | None,
    service: Service,
    keys: Keys,
    operation: Operation,
    roots: tuple[str, ...],
    poll_seconds: float | None,
    log_format: str,
    renewal: Renewal,
) -> int:
    """Serve branches until that is to end, or to begin anew."""
    early = renewal.signals
    handle_ending(lambda number, _: early.append(number))
    terminal = sys.stderr.isatty()
    text = log_format == "text" or (log_format == "auto" and terminal)
    colours = terminal and click.get_current_context().color is not False
    secrets = read_secrets(operation)
    hidden = (*secrets.texts, *remote_secrets(service))
    configure_log(sys.stderr, text=text, colours=colours, secrets=hidden)
    passes = open_roots(directory, service, keys, roots)
    seconds = poll_seconds or (REMOTE_POLL_SECONDS if service.remote else LOCAL_POLL_SECONDS)
    with ExitStack() as stack:
        served = [_served(name, one, seconds, stack) for name, one in passes.items()]

        def stop(number: int, frame: FrameType | None) -> None:
            del frame
            early.append(number)
            for root in served:
                root.wakeups.stop()

        handle_ending(stop)
        if early:
            return 0
        watch = (
            None
            if settings is None
            else stack.enter_context(_watch(settings, renewal.problem, served))
        )
        observers = stack.enter_context(operated(operation, secrets, served, watch))
        run_beside({root.name: _daemon(root, observers[root.name]) for root in served})
    return RELOAD if watch is not None and watch.reload else 0


def _watch(settings: Path, problem: str, served: Sequence[ServedRoot]) -> SettingsWatch:
    """Return what ends the daemons when the settings have changed."""
    context = click.get_current_context()

    def check() -> None:
        with context.scope(cleanup=False):
            read_settings(context, settings)

    def changed() -> None:
        for root in served:
            root.wakeups.stop()

    return SettingsWatch(settings, problem=problem, check=check, changed=changed)


def _served(name: str, passes: Passes, seconds: float, stack: ExitStack) -> ServedRoot:
    """Return a root that is watched."""
    distant = isinstance(passes.branch, RemoteBranch)
    watched = None if distant else passes.branch.repository.common_dir
    wakeups = stack.enter_context(Wakeups(watched, poll_seconds=seconds))
    health = DaemonHealth(poll_seconds=seconds)
    return ServedRoot(name=name, passes=passes, wakeups=wakeups, health=health)


def _daemon(root: ServedRoot, observers: tuple[Observer, ...]) -> Daemon:
    return Daemon(
        passes=root.passes,
        wakeups=root.wakeups,
        poll_seconds=root.wakeups.poll_seconds,
        observers=observers,
    )
