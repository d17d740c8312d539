"""What merging a branch would move, as the page and the report ask for it."""

from reconciler.audit.previews.look_ahead import look_ahead
from reconciler.audit.previews.preview import Preview
from reconciler.audit.previews.wording import Heading
from reconciler.audit.short_id import short_id
from reconciler.library.fleet import FleetRepository, moment_of


def planned(fleet: FleetRepository, base: tuple[str, str], branch: str) -> tuple[Preview, Heading]:
    """Return what merging a branch would move.

    Args:
        fleet: The repository.
        base: What it is merged into: as people call it, and its full hex id.
        branch: What is merged.

    Raises:
        UsageError: There is no such branch, or it cannot be merged.
    """
    name, revision = base
    with fleet.sides(base=revision, head=branch) as sides:
        found = look_ahead(sides.base, sides.merged, moment_of(sides, None), settled=sides.settled)
    head = f"{branch} ({short_id(sides.head_revision)})"
    return found, Heading("plan", f"{head} merged into {name} ({short_id(revision)})")
