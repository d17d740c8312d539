"""The daemon as a process: its log, its signals, its roots, and new settings."""

import sys
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from types import FrameType

import click

from reconciler.cli.observers import operated
from reconciler.cli.operation import Operation, RootOptions, check_share, read_secrets
from reconciler.cli.options import Service
from reconciler.cli.root_workers import by_workers, check_executor
from reconciler.cli.serving import open_roots, remote_secrets
from reconciler.cli.settings import RELOAD, Renewal, read_settings
from reconciler.cli.trust import Keys
from reconciler.model.records import replace
from reconciler.shell.daemon.events import DaemonHealth, Observer
from reconciler.shell.daemon.log import configure_log
from reconciler.shell.daemon.serve_branch import Daemon, PassRunner, RunHere
from reconciler.shell.daemon.watch import RootsWatch, ServedRoot, SettingsWatch, Wakeups, run_beside
from reconciler.shell.git.command import HiddenTexts
from reconciler.shell.passes.branches import RemoteBranch
from reconciler.shell.passes.one_pass import Passes
from reconciler.shell.processes.limits import collect_steadily
from reconciler.shell.processes.signals import handle_ending

LOCAL_POLL_SECONDS = 5.0
REMOTE_POLL_SECONDS = 60.0


def run(
    directory: Path,
    *,
    settings: Path | None,
    service: Service,
    keys: Keys,
    operation: Operation,
    served_roots: RootOptions,
    poll_seconds: float | None,
    log_format: str,
    renewal: Renewal,
) -> int:
    """Serve branches until that is to end, or to begin anew."""
    collect_steadily()
    early = renewal.signals
    handle_ending(lambda number, _: early.append(number))
    terminal = sys.stderr.isatty()
    text = log_format == "text" or (log_format == "auto" and terminal)
    colours = terminal and click.get_current_context().color is not False
    secrets = read_secrets(operation)
    hidden = HiddenTexts((secrets.texts, remote_secrets(service)))
    configure_log(sys.stderr, text=text, colours=colours, secrets=hidden)
    asked = served_roots
    check_executor(asked.executor, service)
    check_share(asked)
    opened = open_roots(
        directory,
        service,
        keys,
        asked.roots,
        asked.patterns,
        last=renewal.roots,
        share=asked.share,
    )
    renewal.roots[:] = opened.passes
    seconds = poll_seconds or (REMOTE_POLL_SECONDS if service.remote else LOCAL_POLL_SECONDS)
    with ExitStack() as stack:
        served = [_served(name, one, seconds, stack) for name, one in opened.passes.items()]

        def stop(number: int, frame: FrameType | None) -> None:
            del frame
            early.append(number)
            _stop(served)

        handle_ending(stop)
        if early:
            return 0
        folders = RootsWatch(opened.passes, opened.find, partial(_stop, served))
        watches: list[SettingsWatch | RootsWatch] = [folders]
        watch = None
        if settings is not None:
            watch = stack.enter_context(_watch(settings, renewal.problem, served))
            watches.append(watch)

        def renewing() -> bool:
            return any(one.reload for one in watches)

        computed = by_workers(asked.executor, service, served, renewing, stack)
        observers = stack.enter_context(operated(operation, secrets, computed, watch))
        run_beside(
            {
                root.name: _daemon(
                    root, (*observers[root.name], folders), computed.runners.get(root.name)
                )
                for root in computed.roots
            }
        )
    return RELOAD if renewing() else 0


def _stop(served: Sequence[ServedRoot]) -> None:
    """End all daemons, once the passes that have begun are finished."""
    for root in served:
        root.wakeups.stop()


def _watch(settings: Path, problem: str, served: Sequence[ServedRoot]) -> SettingsWatch:
    """Return what ends the daemons when the settings have changed."""
    context = click.get_current_context()

    def check() -> None:
        with context.scope(cleanup=False):
            read_settings(context, settings)

    changed = partial(_stop, served)
    return SettingsWatch(settings, problem=problem, check=check, changed=changed)


def _served(name: str, passes: Passes, seconds: float, stack: ExitStack) -> ServedRoot:
    """Return a root that is watched."""
    distant = isinstance(passes.branch, RemoteBranch)
    watched = None if distant else passes.branch.repository.common_dir
    wakeups = stack.enter_context(Wakeups(watched, poll_seconds=seconds))
    health = DaemonHealth(poll_seconds=seconds)
    passes = replace(passes, is_stopped=lambda: wakeups.stopped)
    return ServedRoot(name=name, passes=passes, wakeups=wakeups, health=health)


def _daemon(root: ServedRoot, observers: tuple[Observer, ...], runner: PassRunner | None) -> Daemon:
    return Daemon(
        runner=runner or RunHere(),
        passes=root.passes,
        wakeups=root.wakeups,
        poll_seconds=root.wakeups.poll_seconds,
        observers=observers,
    )
