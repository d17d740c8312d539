"""`reconciler plan`: what merging a branch would move."""

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from reconciler.audit.short_id import short_id
from reconciler.cli.objects import complete
from reconciler.cli.options.fail_on import (
    EXIT_FORBIDDEN,
    Forbidden,
    ForbiddenType,
    report_forbidden,
)
from reconciler.cli.options.layout import layout_options
from reconciler.cli.options.options import Moment, output_option
from reconciler.errors import ShellError, UsageError
from reconciler.model.repository_layout import RepositoryLayout

if TYPE_CHECKING:
    from reconciler.shell.reading.merge_preview import Sides

EXIT_CHANGES = 2


@click.command(name="plan")
@click.option(
    "--base",
    metavar="REV",
    shell_complete=complete.revisions,
    help="What is merged into  [default: --branch, else main, else origin/main]",
)
@click.option(
    "--branch",
    metavar="NAME",
    envvar="RECONCILER_BRANCH",
    shell_complete=complete.branches,
    help="Branch that the daemon serves.",
)
@click.option(
    "--head",
    metavar="REV",
    shell_complete=complete.revisions,
    help="What is merged  [default: the files of the checkout]",
)
@click.option("--worktree", is_flag=True, help="Merge the files of the checkout, committed or not.")
@click.option(
    "--now", metavar="MOMENT", type=Moment(), help="Decide as at this moment  [default: the clock]"
)
@output_option(
    "text",
    "markdown",
    "json",
    "html",
    "svg",
    says="How to print it; markdown (or md) fits one comment on a pull request, html is one page, "
    "svg draws the moves.",
)
@click.option(
    "--detailed-exitcode",
    is_flag=True,
    help="Exit with 0 if nothing changes, 2 if something does, 1 on any error.",
)
@click.option(
    "--fail-on",
    "conditions",
    metavar="CONDITION",
    type=ForbiddenType(),
    multiple=True,
    help="Exit with 3 if the plan has it: moves>N, unschedulable or removed; may be repeated.",
)
@click.option(
    "--manifests", is_flag=True, help="Print how the manifests of each cluster change, too."
)
@layout_options
@click.pass_obj
def command(
    directory: Path,
    *,
    base: str | None,
    branch: str | None,
    head: str | None,
    worktree: bool,
    now: datetime | None,
    output: str,
    detailed_exitcode: bool,
    conditions: tuple[Forbidden, ...],
    manifests: bool,
    layout: RepositoryLayout,
) -> int:
    r"""Show what merging would move: from where to where, and why; no cluster is asked.

    The base is the branch that the daemon serves; what is merged are the files of this checkout,
    committed or not, or --head. The merge is tried aside, nothing in the repository changes.

    \b
    Examples:
      reconciler plan                              what would merging this branch move?
      reconciler plan --head feature -o markdown   the same as a pull-request comment
      reconciler plan --base HEAD --worktree       what would my uncommitted edits move?
      reconciler plan --fail-on 'moves>10' --fail-on removed
      reconciler plan --manifests                  what would change on each cluster?
    \b
    With --fail-on a move is a replica that leaves one cluster for another, or an object without
    replicas that does; what only starts, grows, shrinks or ends is none. An object that no
    cluster can take is unschedulable, one that is on no cluster afterwards is removed.
    \b
    Exit codes: 0 told, 1 the branches cannot be merged or read, 2 wrong usage, 3 a condition of
    --fail-on is met, whatever else; see --detailed-exitcode.
    """
    from reconciler.audit.previews.look_ahead import look_ahead
    from reconciler.audit.previews.manifest_changes import manifest_changes
    from reconciler.audit.previews.wording import Heading
    from reconciler.cli.objects.world import note_if_empty, open_fleet
    from reconciler.cli.printing.manifest_changes import print_manifest_changes
    from reconciler.cli.printing.preview import print_preview
    from reconciler.library.fleet import moment_of

    if manifests and output != "text":
        raise UsageError("--manifests are printed as text only; leave -o out")
    if worktree and head is not None:
        raise UsageError("--worktree and --head name two things to merge; give one of them")
    try:
        with open_fleet(directory, layout).sides(base=base or branch, head=head) as sides:
            note_if_empty(directory, sides.base, sides.merged)
            at = moment_of(sides, now)
            found = look_ahead(sides.base, sides.merged, at)
            changed = manifest_changes(sides.base, sides.merged, at) if manifests else None
    except UsageError as error:
        if detailed_exitcode:
            raise ShellError(str(error)) from error
        raise
    heading = Heading("plan", _of(sides))
    base_facts = {"name": sides.base_name, "commit": sides.base_revision}
    head_facts = {
        "name": sides.head_name,
        "commit": sides.head_revision,
        "uncommitted": sides.uncommitted,
    }
    print_preview(found, heading, output, base=base_facts, head=head_facts)
    if changed is not None:
        print_manifest_changes(changed)
    if report_forbidden(found, conditions):
        return EXIT_FORBIDDEN
    return EXIT_CHANGES if detailed_exitcode and found.changes else 0


def _of(sides: "Sides") -> str:
    """Return in one line what is compared."""
    edited = f", {sides.uncommitted} of them not committed" if sides.uncommitted else ""
    head = f"{sides.head_name} ({short_id(sides.head_revision)}{edited})"
    return f"{head} merged into {sides.base_name} ({short_id(sides.base_revision)})"
