"""Rebalancers that run again since a person took their record away, such as by a revert.

The pass itself cannot know: a rebalancer without a record is one that never ran.
"""

from reconciler.core.changes import Outcome, WriteFile
from reconciler.manifests.paths import output_path
from reconciler.model.world import World
from reconciler.shell.git.history import read_removal
from reconciler.shell.git.repository import Repository

OUR_TRAILER = "Reconciled-From"


def find_reruns(
    repository: Repository, outputs: str, world: World, outcome: Outcome
) -> list[tuple[str, str]]:
    """Return who runs again, as `Kind name`, and who removed the record before a commit of outputs.

    A record that a pass removed itself, since the manifest was gone, is none to tell of.
    """
    written = {change.path for change in outcome.changes if isinstance(change, WriteFile)}
    found = []
    for key in sorted(m.key for kind in world.known.removable for m in world.of_kind(*kind)):
        path = output_path(world.output_root, key)
        if path not in written or path in world.present:
            continue
        removal = read_removal(repository, outputs, path)
        if removal is not None and OUR_TRAILER not in dict(removal.trailers):
            found.append((f"{key.kind} {key.name}", str(removal.author)))
    return found
