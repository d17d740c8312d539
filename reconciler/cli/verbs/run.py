"""`reconciler run`: the daemon."""

import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

import click

from reconciler.cli.daemon.observers import operated
from reconciler.cli.daemon.serving import open_roots, remote_secrets
from reconciler.cli.options.operation import Operation, operation_options, read_secrets
from reconciler.cli.options.options import Service, service_options
from reconciler.cli.options.settings import (
    RELOAD,
    ReloadingCommand,
    Renewal,
    pass_renewal,
    read_settings,
    take_settings,
)
from reconciler.cli.options.trust import Keys, key_options
from reconciler.shell.processes.held_signals import handle_ending

if TYPE_CHECKING:
    from reconciler.shell.daemon.events import Observer
    from reconciler.shell.daemon.roots import ServedRoot
    from reconciler.shell.daemon.serve_branch import Daemon
    from reconciler.shell.daemon.settings_file import SettingsWatch
    from reconciler.shell.passes.one_pass import Passes

LOCAL_POLL_SECONDS = 5.0
REMOTE_POLL_SECONDS = 60.0


@click.command(name="run", cls=ReloadingCommand)
@click.option(
    "--settings",
    metavar="FILE",
    envvar="RECONCILER_SETTINGS",
    type=click.Path(path_type=Path),
    is_eager=True,
    callback=take_settings,
    help="YAML with any of these options, such as poll-seconds: 60; read again when it changes.",
)
@service_options
@key_options
@click.option(
    "--root",
    "roots",
    metavar="DIR",
    multiple=True,
    envvar="RECONCILER_ROOTS",
    help="Serve this folder of the repository; repeated, each by itself  [default: as -C]",
)
@click.option(
    "--poll-seconds",
    type=click.FloatRange(min=0.1),
    envvar="RECONCILER_POLL_SECONDS",
    help="Look at least this often  [default: 5 for a checkout, 60 for a remote]",
)
@click.option(
    "--log-format",
    type=click.Choice(["auto", "text", "json"]),
    default="auto",
    show_default=True,
    envvar="RECONCILER_LOG_FORMAT",
    help="How to log; auto is text on a terminal and json elsewhere.",
)
@operation_options
@pass_renewal
@click.pass_obj
def command(
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
    r"""Serve a branch: a pass whenever it moves or a moment comes, until SIGTERM, SIGHUP or Ctrl-C.

    \b
    Examples:
      reconciler run
      reconciler run --remote git@git.example.org:platform/fleet.git --branch main
      reconciler run --listen 9440 --webhook-secret-file /etc/reconciler/hook
      reconciler run --root teams/a --root teams/b
    """
    from reconciler.shell.daemon.log import configure_log
    from reconciler.shell.daemon.roots import run_beside

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


def _watch(settings: Path, problem: str, served: "Sequence[ServedRoot]") -> "SettingsWatch":
    """Return what ends the daemons when the settings have changed."""
    from reconciler.shell.daemon.settings_file import SettingsWatch

    context = click.get_current_context()

    def check() -> None:
        with context.scope(cleanup=False):
            read_settings(context, settings)

    def changed() -> None:
        for root in served:
            root.wakeups.stop()

    return SettingsWatch(settings, problem=problem, check=check, changed=changed)


def _served(name: str, passes: "Passes", seconds: float, stack: ExitStack) -> "ServedRoot":
    """Return a root that is watched."""
    from reconciler.shell.daemon.health import DaemonHealth
    from reconciler.shell.daemon.roots import ServedRoot
    from reconciler.shell.daemon.watch import Wakeups
    from reconciler.shell.passes.branches import RemoteBranch

    distant = isinstance(passes.branch, RemoteBranch)
    watched = None if distant else passes.branch.repository.common_dir
    wakeups = stack.enter_context(Wakeups(watched, poll_seconds=seconds))
    health = DaemonHealth(poll_seconds=seconds)
    return ServedRoot(name=name, passes=passes, wakeups=wakeups, health=health)


def _daemon(root: "ServedRoot", observers: "tuple[Observer, ...]") -> "Daemon":
    from reconciler.shell.daemon.serve_branch import Daemon

    return Daemon(
        passes=root.passes,
        wakeups=root.wakeups,
        poll_seconds=root.wakeups.poll_seconds,
        observers=observers,
    )
