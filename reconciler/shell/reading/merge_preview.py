"""The two worlds that a preview compares: a branch as it is, and as it would be after a merge."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass

from reconciler.core.asked import SettledWorld
from reconciler.model.identity import RepositoryLayout
from reconciler.model.world import World
from reconciler.shell.git.history import resolve_revision
from reconciler.shell.git.repository import Repository
from reconciler.shell.git.scratch import merge_trees, scratch, take_files
from reconciler.shell.reading.load import Loader
from reconciler.shell.reading.settled_commits import SettledCommits
from reconciler.shell.reading.sources import finding_sources
from reconciler.shell.reading.tables import DocumentCache
from reconciler.shell.reading.tree_cache import Track, untracked
from reconciler.shell.reading.trees import GitTrees
from reconciler.shell.resources import load_schemas
from reconciler.shell.work.executors import processors

FILES = "working tree"
SERVED = ("refs/heads/main", "refs/remotes/origin/main", "refs/remotes/origin/HEAD")
"""Where the branch that is served is looked for, if it is not named; HEAD comes last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sides:
    """What is compared.

    Attributes:
        base: The world of the branch that is merged into.
        merged: The world after the merge.
        base_revision: Full hex id of the base.
        head_revision: Full hex id of what is merged; of the commit that is checked out where the
            files of the checkout are.
        base_name: The base as the person named it.
        head_name: What is merged, in words.
        uncommitted: How many files of the checkout differ from that commit.
        settled: A world of this repository in which nothing moves, if one is known.
    """

    base: World
    merged: World
    base_revision: str
    head_revision: str
    base_name: str
    head_name: str
    uncommitted: int = 0
    settled: SettledWorld | None = None


@contextlib.contextmanager
def open_sides(
    repository: Repository,
    *,
    base: str | None,
    head: str | None,
    layout: RepositoryLayout,
    track: Track = untracked,
    documents: DocumentCache | None = None,
    commits: SettledCommits | None = None,
) -> Iterator[Sides]:
    """Merge in a throw-away database, and load both worlds.

    Args:
        repository: Where both sides are.
        base: A revision; `None` takes the branch that is served.
        head: A revision; `None` takes the files of the checkout, committed or not.
        layout: Where passes write.
        track: Shows how far reading is.
        documents: Those that were parsed before, `None` for none.
        commits: What keeps the last one in which nothing moved, `None` for nothing.
    """
    base_name = base or _served(repository)
    base_revision = resolve_revision(repository, base_name)
    head_revision = resolve_revision(repository, head or "HEAD")
    with scratch(repository) as private:
        theirs, uncommitted = head_revision, 0
        if head is None:
            theirs, uncommitted = take_files(repository, private, head_revision)
        tree = merge_trees(private, base_revision, theirs)
        loader = Loader(
            GitTrees(private),
            load_schemas(),
            layout=layout,
            track=track,
            processes=processors(),
            documents=documents,
            past=True,
            sources=finding_sources(repository, layout),
        )
        outputs = loader.sources_of(base_revision)[1] if layout.apart else None
        reports = repository.find_fetched
        settled = None if commits is None else commits.load(loader, of_present=True)
        yield Sides(
            base=loader.load(base_revision, outputs=outputs, reports=reports),
            merged=loader.load(tree, outputs=outputs, reports=reports),
            base_revision=base_revision,
            head_revision=head_revision,
            base_name=base_name.removeprefix("refs/heads/").removeprefix("refs/remotes/"),
            head_name=head or FILES,
            uncommitted=uncommitted,
            settled=settled,
        )


def _served(repository: Repository) -> str:
    """Return the branch that the daemon most likely serves."""
    return next((name for name in SERVED if repository.find_reference(name)), "HEAD")
