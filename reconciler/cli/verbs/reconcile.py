"""`reconciler reconcile`: one pass."""

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from reconciler.cli.daemon.serving import open_passes
from reconciler.cli.options.options import Moment, Service, service_options
from reconciler.cli.options.trust import Keys, key_options

if TYPE_CHECKING:
    from reconciler.shell.clock import Clock


@click.command(name="reconcile")
@service_options
@key_options
@click.option(
    "--now", metavar="MOMENT", type=Moment(), help="Decide as at this moment  [default: the clock]"
)
@click.option("--dry-run", is_flag=True, help="Decide and print, commit nothing.")
@click.option(
    "--no-push",
    is_flag=True,
    help="With --remote: commit in the mirror only, and print the commit. A checkout never pushes.",
)
@click.pass_obj
def command(
    directory: Path,
    *,
    service: Service,
    keys: Keys,
    now: datetime | None,
    dry_run: bool,
    no_push: bool,
) -> int:
    r"""Run one pass: read the branch, decide, commit, move the branch.

    \b
    Examples:
      reconciler reconcile --dry-run
      reconciler reconcile --now 2026-01-02T15:04:05Z
      reconciler reconcile --remote https://git.example.org/fleet.git
    """
    from reconciler.audit.printable import printable
    from reconciler.cli.objects.world import note_if_empty
    from reconciler.cli.printing.faults import print_faults, print_traces
    from reconciler.cli.printing.pass_report import print_pass

    passes = open_passes(directory, service, keys)
    publish = service.remote is None or not no_push
    report = passes.decide(at=now) if dry_run else passes.run(at=now, publish=publish)
    note_if_empty(directory if service.remote is None else None, report.world)
    if now is not None and report.commit is not None:
        _warn_if_ahead(now, passes.clock)
    print_faults(report.outcome.faults)
    print_traces(report.outcome.traces)
    for refused in report.refused:
        click.echo(f"warning: {printable(str(refused))}", err=True)
    print_pass(report, branch=passes.branches.moved, dry_run=dry_run, moved=publish)
    return 1 if report.outcome.faults or report.refused else 0


def _warn_if_ahead(now: datetime, clock: "Clock") -> None:
    """Warn that no other pass can run before the clock has caught up with this one."""
    from reconciler.model.moments import format_moment

    seconds = int((now - clock.now()).total_seconds())
    if seconds > 0:
        click.echo(
            f"warning: --now is {seconds} s ahead of the clock, and passes only go forward: "
            f"without a later --now none runs before {format_moment(now)}",
            err=True,
        )
