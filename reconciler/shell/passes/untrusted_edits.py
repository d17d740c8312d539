"""Puts back what commits that wait did to folders of ours, when we write on top of them."""

from collections.abc import Collection, Iterator

from reconciler.core.changes import Change, DeleteFile, Outcome, WriteFile
from reconciler.delivery.destinations import folders_of_passes
from reconciler.errors import ShellError
from reconciler.manifests.text.limits import Oversized
from reconciler.model.frozen import is_at_or_below
from reconciler.model.world import World
from reconciler.shell.git.objects import changed_files, read_blobs
from reconciler.shell.git.repository import Repository
from reconciler.shell.reading.sources import Heads


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
    if heads.tip is not None and heads.outputs is not None:
        folders = folders_of_passes(world)
        written = {change.path for change in outcome.files}
        yield from restored(repository, heads.outputs, heads.tip, folders=folders, but=written)


def restored(
    repository: Repository,
    trusted: str,
    tip: str,
    *,
    folders: Collection[str],
    but: Collection[str],
) -> Iterator[Change]:
    """Yield what makes folders at a tip those of a commit that is trusted.

    Args:
        repository: Where the commits are, and the root that the folders are below.
        trusted: Full hex id of the commit.
        tip: The same of what stands on the branch.
        folders: Paths of folders, and of files.
        but: Paths that are written anyway.
    """
    for one in changed_files(repository, trusted, tip, prefix=repository.prefix):
        if one.path in but or not any(is_at_or_below(one.path, folder) for folder in folders):
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
