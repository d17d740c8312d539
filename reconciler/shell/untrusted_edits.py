"""Puts back what commits that wait did to the outputs, when a pass writes on top of them."""

from collections.abc import Iterator

from reconciler.core.changes import Change, DeleteFile, Outcome, WriteFile
from reconciler.delivery.settings import decode_delivery
from reconciler.errors import ShellError
from reconciler.manifests.limits import Oversized
from reconciler.model.settings import settings_in
from reconciler.model.world import World
from reconciler.shell.git.objects import changed_files, read_blobs
from reconciler.shell.git.repository import Repository
from reconciler.shell.sources import Heads


def put_back(
    repository: Repository, heads: Heads, world: World, outcome: Outcome
) -> Iterator[Change]:
    """Yield what makes the folders of a pass those that it decided from, but for what it changes.

    Args:
        repository: Where the commits are.
        heads: Where the pass read; without a tip nothing waits.
        world: What it read.
        outcome: What it writes by itself.
    """
    if heads.tip is None or heads.outputs is None:
        return
    folders = [world.output_root, *_delivered(world)]
    written = {change.path for change in outcome.files}
    for one in changed_files(repository, heads.outputs, heads.tip, prefix=repository.prefix):
        if one.path in written or not any(one.path.startswith(f"{name}/") for name in folders):
            continue
        if one.before is None:
            yield DeleteFile(one.path)
            continue
        for _, content in read_blobs(repository, [one.before.blob]):
            if isinstance(content, Oversized):
                raise ShellError(f"{one.path} is too large to be put back")
            yield WriteFile(one.path, content.decode())


def _delivered(world: World) -> tuple[str, ...]:
    """Return the folders of the same branch that a pass delivers to."""
    found = decode_delivery(settings_in(world)).destinations
    return tuple(one.root for one in found if not one.branch)
