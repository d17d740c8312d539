"""The branch that a verb serves, and what runs passes on it."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from reconciler.cli.options import Service, parse_author
from reconciler.cli.trust import Keys, open_trust, signing_key
from reconciler.cli.world import fleet_of
from reconciler.errors import ShellError, UsageError
from reconciler.model.records import dataclass, replace

if TYPE_CHECKING:
    from reconciler.cli.operation import RootShare
    from reconciler.shell.passes.branches import Branch, LocalBranch, RemoteBranch
    from reconciler.shell.passes.one_pass import Passes


def open_passes(directory: Path, service: Service, keys: Keys) -> "Passes":
    """Return what runs passes on the branch that the options name.

    Raises:
        UsageError: The options name nothing that can be served; the message says what would do.
    """
    return root_passes(directory, service, keys, open_branch(directory, service))


@dataclass(frozen=True, slots=True)
class OpenedRoots:
    """The roots of one repository.

    Attributes:
        passes: What runs passes on each, by name; `""` is the only one, which was not named.
        find: Returns the names as they would be at a commit.
    """

    passes: "Mapping[str, Passes]"
    find: Callable[[str], Sequence[str]]


def open_roots(
    directory: Path,
    service: Service,
    keys: Keys,
    roots: Sequence[str],
    patterns: Sequence[str],
    last: Sequence[str] = (),
    *,
    share: "RootShare | None" = None,
) -> OpenedRoots:
    """Open several roots of one repository.

    Args:
        directory: The root where none is named, and where they begin in a checkout.
        service: Options.
        keys: Who signs, and whose commits count.
        roots: Folders from there; of a remote from its top.
        patterns: Of further ones, as the branch has them; see `find_roots`.
        last: Those that were served before, which stay where the branch has none any more.
        share: The part of them that is served, `None` for all.

    Raises:
        UsageError: One of `roots` is no plain path, or holds another; no folder matches, or none
            belongs to the share.
    """
    from reconciler.shell.git.history import find_roots

    served = open_branch(directory, service)
    if not roots and not patterns:
        passes = {"": root_passes(directory, service, keys, served)}
        return OpenedRoots(passes, lambda _: ("",))

    for root in roots:
        _check_root(root, roots)

    def find(commit: str) -> Sequence[str]:
        found = find_roots(served.repository, commit, patterns) if patterns else ()
        beside = [name for name in found if not any(_overlap(name, root) for root in roots)]
        names = dict.fromkeys((*roots, *beside))
        return tuple(name for name in names if share is None or share.has(name))

    names = find(_newest(directory, service, keys, served) if patterns else "") or last
    if not names:
        asked = " ".join(f"--roots {one}" for one in patterns)
        if share is not None:
            raise UsageError(f"--share {share}: none of the roots that there are belongs to it")
        raise UsageError(f"{asked}: no such folder of {served.name} has a reconciler.yaml")
    served.share()
    opened = {
        name: root_passes(directory / name, service, keys, served.below(name)) for name in names
    }
    return OpenedRoots(opened, find)


def _newest(directory: Path, service: Service, keys: Keys, served: "Branch") -> str:
    """Return the newest commit that is decided from.

    Of a remote that does not answer it is the one that it had last.
    """
    try:
        return root_passes(directory, service, keys, served).branches.heads().inputs
    except ShellError:
        last = served.repository.find(served.name)
        if last is None:
            raise
        return last


def _overlap(one: str, other: str) -> bool:
    """Return whether one folder is the other, or holds it."""
    return f"{one}/".startswith(f"{other}/") or f"{other}/".startswith(f"{one}/")


def _check_root(root: str, roots: Sequence[str]) -> None:
    """Raise if a root is no folder of a repository, or holds another of them."""
    from reconciler.model.text import shown
    from reconciler.shell.git.commits import check_path

    try:
        check_path(root)
    except ValueError as error:
        raise UsageError(f"--root must be a folder such as teams/a: {error}") from None
    inner = [other for other in roots if other.startswith(f"{root}/")]
    if inner:
        raise UsageError(f"--root {shown(root)} holds {shown(inner[0])}; name folders side by side")


def root_passes(
    directory: Path,
    service: Service,
    keys: Keys,
    served: "Branch",
    *,
    processes: int | None = None,
) -> "Passes":
    """Return what runs passes on one root.

    Args:
        directory: The root in a checkout.
        service: Options.
        keys: Who signs, and whose commits count.
        served: Its branch.
        processes: How many may read files, `None` for one a processor.
    """
    from reconciler.shell.passes.branch_delivery import BranchDelivery

    key = signing_key(keys.signing)
    fleet = fleet_of(directory, served.repository, service.layout)
    if processes is not None:
        fleet = replace(fleet, processes=processes)
    passes = fleet.passes(served, author=parse_author(service.author))
    trust = open_trust(keys, key, served.repository, passes.clock.now(), layout=service.layout)
    branches = replace(passes.branches, trust=trust)
    return replace(passes, delivery=BranchDelivery(key=key), branches=branches)


def open_branch(directory: Path, service: Service) -> "LocalBranch | RemoteBranch":
    """Return the branch to serve, here or at a remote."""
    from reconciler.shell.git.remotes.mirror import Mirror
    from reconciler.shell.git.remotes.remote import Access
    from reconciler.shell.git.repository import Repository
    from reconciler.shell.passes.branches import LocalBranch, RemoteBranch

    if service.remote is not None:
        mirror = Mirror.open(
            service.remote,
            service.mirror or default_mirror(service.remote),
            access=service.access.read(),
            timeout_seconds=service.access.remote_timeout_seconds,
        )
        click.get_current_context().call_on_close(mirror.close)
        return RemoteBranch(mirror, mirror.repository, service.branch or "main")
    if service.mirror is not None or service.access.read() != Access():
        raise UsageError("--mirror and the options for remote access require --remote")
    repository = Repository.open(directory)
    branch = service.branch or repository.head_branch()
    repository.resolve(branch)
    return LocalBranch(repository, branch)


def remote_secrets(service: Service) -> tuple[str, ...]:
    """Return the credentials of the remote, none for a checkout."""
    from reconciler.shell.git.remotes.remote import parse_remote

    if service.remote is None:
        return ()
    return service.access.read().applied(parse_remote(service.remote)).secrets


LOOKING = ".look.git"
"""How the mirror of those who only look ends: a daemon may hold the other one."""


def default_mirror(remote: str) -> Path:
    """Return the folder of a remote's mirror below the user's cache; credentials change nothing."""
    from reconciler.cli.options import user_cache
    from reconciler.shell.git.remotes.remote import parse_remote

    digest = hashlib.sha256(parse_remote(remote).url.encode()).hexdigest()[:16]
    return user_cache() / f"{digest}.git"
