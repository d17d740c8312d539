"""What merging a branch would move, as the page and the report ask for it."""

from pathlib import Path

from reconciler.audit.look_ahead import look_ahead
from reconciler.audit.preview import Preview
from reconciler.audit.wording import Heading
from reconciler.cli.world import open_fleet
from reconciler.library.fleet import moment_of

SHORT_ID = 12


def planned(
    directory: Path, output_root: str, base: tuple[str, str], branch: str
) -> tuple[Preview, Heading]:
    """Return what merging a branch would move.

    Args:
        directory: The repository.
        output_root: Folder of the outputs.
        base: What it is merged into: as people call it, and its full hex id.
        branch: What is merged.

    Raises:
        UsageError: There is no such branch, or it cannot be merged.
    """
    name, revision = base
    with open_fleet(directory, output_root).sides(base=revision, head=branch) as sides:
        found = look_ahead(sides.base, sides.merged, moment_of(sides, None))
    head = f"{branch} ({sides.head_revision[:SHORT_ID]})"
    return found, Heading("plan", f"{head} merged into {name} ({revision[:SHORT_ID]})")
