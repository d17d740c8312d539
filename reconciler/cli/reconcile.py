"""One pass that a user asks for, and how it is printed."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path

import click

from reconciler.cli.options import Service
from reconciler.cli.printing import print_faults, print_traces
from reconciler.cli.progress import doing
from reconciler.cli.serving import open_passes
from reconciler.cli.trust import Keys
from reconciler.cli.world import is_empty, note_if_empty
from reconciler.core.changes import Change, DeleteFile
from reconciler.core.message import decision_line, is_told
from reconciler.model.decision import Decision
from reconciler.model.moments import format_moment
from reconciler.model.text import printable, short_id
from reconciler.shell.git.checkout.moves import KeptEdit
from reconciler.shell.git.scratch import uncommitted_manifests
from reconciler.shell.passes.one_pass import Passes
from reconciler.shell.passes.pass_report import PassReport
from reconciler.shell.resources import Clock


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
    if not _told_uncommitted(passes, service, report):
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


def _told_uncommitted(passes: Passes, service: Service, report: PassReport) -> bool:
    """Say that manifests are there and not committed, where a pass saw none at all."""
    if service.remote is not None or not is_empty(report.world):
        return False
    repository = passes.branches.repository
    count = len(uncommitted_manifests(repository, report.heads.inputs))
    if count:
        files = f"{count} manifest{'s are' if count > 1 else ' is'} not committed"
        click.echo(f"{files}; passes decide from commits: git add . && git commit", err=True)
    return bool(count)


def _warn_if_ahead(now: datetime, clock: Clock) -> None:
    """Warn that no other pass can run before the clock has caught up with this one."""
    seconds = int((now - clock.now()).total_seconds())
    if seconds > 0:
        click.echo(
            f"warning: --now is {seconds} s ahead of the clock, and passes never go back in time: "
            f"without a later --now, none runs before {format_moment(now)}",
            err=True,
        )


MOST_SHOWN = 20
MOST_DECISIONS = 50  # ours: a screen or two; the commit message has more of them


def print_pass(
    report: PassReport, *, branch: str, dry_run: bool, moved: bool, verbose: bool
) -> None:
    """Print what a pass decided to standard output; of much of it the beginning, unless verbose."""
    outcome = report.outcome
    most = None if verbose else MOST_DECISIONS
    _print_first([line for one in outcome.decisions for line in _lines(one)], most)
    if dry_run:
        _print_first([_change_line(change) for change in outcome.files], most)
    click.echo(_summary(report, branch, dry_run=dry_run, moved=moved))
    for warning in outcome.warnings:
        click.echo(f"warning: {printable(warning)}", err=True)
    _print_beside(report)
    beside = (edit for one in report.beside for edit in one.kept)
    _print_kept([*report.kept, *beside])
    for mended in report.mended:
        click.echo(printable(mended), err=True)
    for path in sorted(report.waiting):
        click.echo(f"{printable(path)} is being edited, so its leftovers are kept", err=True)
    if outcome.recheck_at is not None:
        click.echo(f"next scheduled pass at {format_moment(outcome.recheck_at)}", err=True)


def _lines(decision: Decision) -> Iterator[str]:
    """Yield what is printed of one decision."""
    if is_told(decision):
        yield decision_line(decision)
    if decision.problem:
        yield f"{printable(decision.subject)}: {printable(decision.problem)}"


def _change_line(change: Change) -> str:
    """Return what a file that would change is printed as."""
    verb = "delete" if isinstance(change, DeleteFile) else "write "
    return f"{verb} {printable(change.path)}"


def _print_first(lines: Sequence[str], most: int | None) -> None:
    """Print lines, or the first of them and how many there are besides."""
    for line in lines[:most]:
        click.echo(line)
    if most is not None and len(lines) > most:
        click.echo(f"and {len(lines) - most:,} more; -v shows all")


def _print_kept(edits: Sequence[KeptEdit]) -> None:
    """Print the files of checkouts that keep a person's edit."""
    for edit in edits[:MOST_SHOWN]:
        click.echo(f"warning: {printable(str(edit))}", err=True)
    if len(edits) > MOST_SHOWN:
        click.echo(f"warning: {len(edits) - MOST_SHOWN} more files keep their edits", err=True)


def _print_beside(report: PassReport) -> None:
    """Print what became of other branches."""
    for edit in report.beside:
        if edit.commit is not None:
            files = f"{edit.files} file{'s' if edit.files != 1 else ''}"
            click.echo(f"{files} delivered in {short_id(edit.commit)} on {printable(edit.branch)}")
        for fault in edit.faults:
            click.echo(f"{printable(edit.branch)}: {printable(fault.message)}", err=True)
            click.echo(f"  expected: {printable(fault.expected)}", err=True)


def _summary(report: PassReport, branch: str, *, dry_run: bool, moved: bool) -> str:
    """Return the last line: what became of the pass."""
    count = len(report.outcome.files)
    files = f"{count} file{'s' if count != 1 else ''}"
    if not count:
        return "nothing to do"
    if dry_run:
        return f"{files} would change"
    if report.commit is None:
        return "nothing to do"
    if not moved:
        return f"{files} changed in {report.commit}, which is on no branch"
    return f"{files} changed in {short_id(report.commit)} on {printable(branch)}"
