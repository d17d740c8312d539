"""One pass that a person asks for."""

from datetime import datetime
from pathlib import Path

import click

from reconciler.audit.printable import printable
from reconciler.cli.daemon.serving import open_passes
from reconciler.cli.objects.world import note_if_empty
from reconciler.cli.options.options import Service
from reconciler.cli.options.trust import Keys
from reconciler.cli.printing.faults import print_faults, print_traces
from reconciler.cli.printing.pass_report import print_pass
from reconciler.cli.printing.progress import doing
from reconciler.model.moments import format_moment
from reconciler.shell.clock import Clock


def run(
    directory: Path,
    *,
    service: Service,
    keys: Keys,
    now: datetime | None,
    dry_run: bool,
    no_push: bool,
    verbose: bool,
) -> int:
    """Run one pass; return the exit code."""
    passes = open_passes(directory, service, keys)
    publish = service.remote is None or not no_push
    with doing("Deciding"):
        report = passes.decide(at=now) if dry_run else passes.run(at=now, publish=publish)
    note_if_empty(directory if service.remote is None else None, report.world)
    if now is not None and report.commit is not None:
        _warn_if_ahead(now, passes.clock)
    print_faults(report.outcome.faults)
    print_traces(report.outcome.traces)
    for refused in report.refused:
        click.echo(f"warning: {printable(str(refused))}", err=True)
    print_pass(
        report, branch=passes.branches.moved, dry_run=dry_run, moved=publish, verbose=verbose
    )
    return 1 if report.outcome.faults or report.refused else 0


def _warn_if_ahead(now: datetime, clock: Clock) -> None:
    """Warn that no other pass can run before the clock has caught up with this one."""
    seconds = int((now - clock.now()).total_seconds())
    if seconds > 0:
        click.echo(
            f"warning: --now is {seconds} s ahead of the clock, and passes only go forward: "
            f"without a later --now none runs before {format_moment(now)}",
            err=True,
        )
