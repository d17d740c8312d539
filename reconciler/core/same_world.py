"""What was decided of a world counts for the same world at another commit.

A branch moves also where nobody looks: in a folder that another root owns.
"""

from dataclasses import replace
from datetime import datetime

from reconciler.core.changes import Outcome, WriteFile
from reconciler.core.record import record_body
from reconciler.manifests.paths import RECORD, output_path
from reconciler.manifests.text.emitter import encode
from reconciler.model.world import World
from reconciler.version import __version__


def carried_over(outcome: Outcome, now: datetime, before: World, after: World) -> Outcome | None:
    """Return what a pass at `now` decides of a world, given what it decided of another one.

    Args:
        outcome: Of the pass over `before`, with nothing left out of it.
        now: The moment of that pass, aware UTC.
        before: What it looked at.
        after: Another world.

    Returns:
        The outcome that a pass over `after` would have at that moment; `None` where the worlds
        differ in more than in the commit that they were read from.
    """
    if replace(after, revision=before.revision) != before:
        return None
    path = output_path(after.output_root, RECORD)
    record = WriteFile(path, encode(record_body(after, now, __version__)))
    changes = (record if one.path == path else one for one in outcome.changes)
    return replace(outcome, changes=tuple(changes))
