"""`reconciler run`: the daemon."""

import signal
import sys
from pathlib import Path
from types import FrameType

import click

from reconciler.cli.observers import operated
from reconciler.cli.operation import Operation, operation_options, read_secrets
from reconciler.cli.options import Service, service_options
from reconciler.cli.serving import open_passes, remote_secrets
from reconciler.cli.trust import Keys, key_options

LOCAL_POLL_SECONDS = 5.0
REMOTE_POLL_SECONDS = 60.0


@click.command(name="run")
@service_options
@key_options
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
@click.pass_obj
def command(
    directory: Path,
    *,
    service: Service,
    keys: Keys,
    operation: Operation,
    poll_seconds: float | None,
    log_format: str,
) -> int:
    r"""Serve a branch: a pass whenever it moves or a moment comes, until SIGTERM or Ctrl-C.

    \b
    Examples:
      reconciler run
      reconciler run --remote git@git.example.org:platform/fleet.git --branch main
      reconciler run --listen 9440 --webhook-secret-file /etc/reconciler/hook
    """
    from reconciler.shell.branches import RemoteBranch
    from reconciler.shell.daemon import Daemon
    from reconciler.shell.log import configure_log
    from reconciler.shell.watch import Wakeups

    early: list[int] = []
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda number, _: early.append(number))
    terminal = sys.stderr.isatty()
    text = log_format == "text" or (log_format == "auto" and terminal)
    colours = terminal and click.get_current_context().color is not False
    secrets = read_secrets(operation)
    hidden = (*secrets.texts, *remote_secrets(service))
    configure_log(sys.stderr, text=text, colours=colours, secrets=hidden)
    passes = open_passes(directory, service, keys)
    distant = isinstance(passes.branch, RemoteBranch)
    seconds = poll_seconds or (REMOTE_POLL_SECONDS if distant else LOCAL_POLL_SECONDS)
    watched = None if distant else passes.branch.repository.common_dir
    with Wakeups(watched, poll_seconds=seconds) as wakeups:

        def stop(number: int, frame: FrameType | None) -> None:
            del number, frame
            wakeups.stop()

        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, stop)
        if early:
            return 0
        with operated(operation, secrets, passes, wakeups) as observers:
            Daemon(passes=passes, wakeups=wakeups, poll_seconds=seconds, observers=observers).run()
    return 0
