"""What merging would move, in words or for machines."""

from datetime import datetime
from pathlib import Path

from reconciler.audit.previews.preview import look_ahead, manifest_changes
from reconciler.audit.previews.wording import Heading
from reconciler.cli.options import EXIT_FORBIDDEN, Forbidden, report_forbidden
from reconciler.cli.previews import print_manifest_changes, print_preview
from reconciler.cli.progress import PASSES, doing
from reconciler.cli.world import note_if_empty, open_fleet
from reconciler.errors import ShellError, UsageError
from reconciler.library.fleet import moment_of
from reconciler.model.identity import RepositoryLayout
from reconciler.model.text import short_id
from reconciler.shell.reading.merge_preview import Sides

EXIT_CHANGES = 2


def run(
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
    """Show what merging would move; return the exit code."""
    if manifests and output != "text":
        raise UsageError("--manifests supports only text; omit -o")
    if worktree and head is not None:
        raise UsageError("--worktree and --head exclude each other")
    try:
        with open_fleet(directory, layout).sides(base=base or branch, head=head) as sides:
            note_if_empty(directory, sides.base, sides.merged)
            at = moment_of(sides, now)
            with doing(PASSES):
                found = look_ahead(sides.base, sides.merged, at, settled=sides.settled)
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


def _of(sides: Sides) -> str:
    """Return in one line what is compared."""
    count = sides.uncommitted
    edited = f" + {count} uncommitted file{'s' if count > 1 else ''}" if count else ""
    head = f"{sides.head_name} ({short_id(sides.head_revision)}{edited})"
    return f"{head} merged into {sides.base_name} ({short_id(sides.base_revision)})"
