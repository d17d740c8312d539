"""The two worlds that a preview compares: a branch as it is, and as it would be after a merge."""

import contextlib
from collections.abc import Iterator
from typing import NamedTuple

from reconciler.audit.history.revisions import FROM
from reconciler.core.asked import SettledWorld
from reconciler.core.record import last_pass
from reconciler.errors import UsageError
from reconciler.manifests.paths import RECORD, output_path
from reconciler.model.identity import RepositoryLayout
from reconciler.model.records import dataclass
from reconciler.model.settings import CONFIGURATION_PATH
from reconciler.model.world import World
from reconciler.shell.git.history import cut_off, has_remotes, resolve_revision
from reconciler.shell.git.repository import Repository
from reconciler.shell.git.scratch import merge_commits, scratch, take_files
from reconciler.shell.processes.limits import processors
from reconciler.shell.reading.load import Loader
from reconciler.shell.reading.settled_commits import SettledCommits
from reconciler.shell.reading.sources import finding_sources
from reconciler.shell.reading.tables import DocumentCache
from reconciler.shell.reading.tree_cache import Track, untracked
from reconciler.shell.reading.trees import GitTrees
from reconciler.shell.resources import load_schemas

FILES = "working tree"
DEFAULT_BRANCH = "main"
BRANCHES, FETCHED = "refs/heads/", "refs/remotes/origin/"


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
        roots: Folders below the root that have a configuration of their own, and that the merge
            changes; sorted.
    """

    base: World
    merged: World
    base_revision: str
    head_revision: str
    base_name: str
    head_name: str
    uncommitted: int = 0
    settled: SettledWorld | None = None
    roots: tuple[str, ...] = ()


class Base(NamedTuple):
    """What is merged into: as people call it, and its full hex id."""

    name: str
    revision: str


@contextlib.contextmanager
def open_sides(
    repository: Repository,
    *,
    base: str | None,
    head: str | None,
    layout: RepositoryLayout,
    branch: str | None = None,
    track: Track = untracked,
    documents: DocumentCache | None = None,
    commits: SettledCommits | None = None,
) -> Iterator[Sides]:
    """Merge in a throw-away database, and load both worlds.

    Args:
        repository: Where both sides are.
        base: A revision; `None` takes the branch that is served, see `served_base`.
        head: A revision; `None` takes the files of the checkout, committed or not.
        layout: Where passes write.
        branch: The branch that is served, `None` for `main`.
        track: Shows how far reading is.
        documents: Those that were parsed before, `None` for none.
        commits: What keeps the last one in which nothing moved, `None` for nothing.

    Raises:
        UsageError: There is no such revision, or none to take for the base.
        HistoryMissing: The clone is shallow, and a pass over the base needs what it lacks.
    """
    head_revision = resolve_revision(repository, head or "HEAD")
    with scratch(repository) as private:
        trees = GitTrees(private)
        loader = Loader(
            trees,
            load_schemas(),
            layout=layout,
            track=track,
            processes=processors(),
            documents=documents,
            past=True,
            sources=finding_sources(repository, layout),
        )
        if base is None:
            base_name, base_revision = served_base(repository, branch, head, layout, loader)
        else:
            base_name, base_revision = base, resolve_revision(repository, base)
        theirs, uncommitted = head_revision, 0
        if head is None:
            theirs, uncommitted = take_files(repository, private, head_revision)
        merge = merge_commits(private, base_revision, theirs)
        outputs = loader.sources_of(base_revision)[1] if layout.apart else None
        reports = repository.find_fetched
        settled = None if commits is None else commits.load(loader, of_present=True)
        present = loader.load(base_revision, outputs=outputs, reports=reports)
        loader.check_past(repository)
        yield Sides(
            base=present,
            merged=loader.load(merge, outputs=outputs, reports=reports),
            base_revision=base_revision,
            head_revision=head_revision,
            base_name=base_name.removeprefix(BRANCHES).removeprefix("refs/remotes/"),
            head_name=head or FILES,
            uncommitted=uncommitted,
            settled=settled,
            roots=tuple(sorted(_changed_roots(trees, base_revision, merge, layout))),
        )


def _changed_roots(trees: GitTrees, base: str, merged: str, layout: RepositoryLayout) -> set[str]:
    """Return the outermost folders with a configuration of their own that a merge changes.

    The record of passes has the name of a configuration, and is none.
    """
    changed = {change.path for change in trees.changed(base, merged)}
    listed = {*trees.files(base), *trees.files(merged)} if changed else set[str]()
    ends = f"/{CONFIGURATION_PATH}"
    people = (path for path in listed if not layout.is_output(path))
    roots = {path.removesuffix(ends) for path in people if path.endswith(ends)}
    outermost = {
        root for root in roots if not any(root.startswith(f"{other}/") for other in roots - {root})
    }
    return {root for root in outermost if any(path.startswith(f"{root}/") for path in changed)}


def served_base(
    repository: Repository,
    branch: str | None,
    head: str | None,
    layout: RepositoryLayout,
    loader: Loader,
) -> Base:
    """Return what a change is merged into where nobody names it: the branch that is served.

    Whoever works on that branch itself asks what their commits and files do to what is decided. So
    the base is the branch as it was fetched from the remote or, where there is none, the last
    commit of a pass. Against the commit that is checked out nothing would ever move.

    Args:
        repository: Where the branch is looked for.
        branch: Its name; `None` for `main` or, in a repository without remotes that has no `main`,
            the branch that is checked out.
        head: What is merged, `None` for the files of the checkout.
        layout: Where passes write.
        loader: Reads what the last pass recorded.

    Raises:
        UsageError: This clone has neither the branch nor that of the remote.
    """
    name = branch or DEFAULT_BRANCH
    here, fetched = repository.find(name), repository.find_reference(f"{FETCHED}{name}")
    if here is None and fetched is None and branch is None:
        if has_remotes(repository):
            remote = repository.find_reference(f"{FETCHED}HEAD")
            fetched = None if cut_off(repository) else remote
        else:
            name = repository.head_branch()
            here = repository.resolve(name)
    if fetched is None and here is None:
        raise UsageError(
            f"no base: neither {name} nor origin/{name} is in this clone; fetch it (git fetch "
            f"origin {name}:refs/remotes/origin/{name}) or name one with --base"
        )
    merged = repository.head_reference() if head in (None, "HEAD") else head
    on_base = merged in (name, f"{BRANCHES}{name}")
    if fetched is not None and (here is None or on_base):
        return Base(f"origin/{name}", fetched)
    present = here or repository.head()
    decided = last_decided(repository, present, layout, loader) if on_base else None
    return Base(name, present) if decided is None else Base(f"{name} as last decided", decided)


def last_decided(
    repository: Repository, head: str, layout: RepositoryLayout, loader: Loader
) -> str | None:
    """Return the newest commit of a branch that a pass wrote, or that it read.

    The latter where outputs have a branch of their own. `None` if there was no pass, or if its
    commit is not in this clone.
    """
    if layout.apart:
        last = last_pass(loader.load(head, outputs=loader.sources_of(head)[1]).outputs)
        return None if last is None else repository.find_reference(last.revision)
    record = repository.from_top(output_path(layout.output_root, RECORD))
    arguments = ("log", "-1", "--first-parent", "--format=%H", f"--grep=^{FROM}: ", head)
    return repository.git.line(*arguments, "--", record) or None
