"""Puts back what commits that wait did to the outputs, when a pass writes on top of them."""

from collections.abc import Iterator

from reconciler.core.changes import Change, DeleteFile, Outcome, WriteFile
from reconciler.delivery.destinations import folders_of_passes
from reconciler.errors import ShellError
from reconciler.manifests.limits import Oversized
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
    folders = tuple(f"{name}/" for name in folders_of_passes(world))
    written = {change.path for change in outcome.files}
    for one in changed_files(repository, heads.outputs, heads.tip, prefix=repository.prefix):
        if one.path in written or not one.path.startswith(folders):
            continue
        if one.before is None:
            yield DeleteFile(one.path)
            continue
        for _, content in read_blobs(repository, [one.before.blob]):
            if isinstance(content, Oversized):
                raise ShellError(f"{one.path} is too large to be put back")
            try:
                yield WriteFile(one.path, content.decode())
            except UnicodeDecodeError:
                raise ShellError(f"{one.path} is not UTF-8 and cannot be put back") from None
