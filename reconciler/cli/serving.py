"""The branch that a verb serves, and what runs passes on it."""

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from reconciler.cli.options import Service, parse_author
from reconciler.cli.trust import Keys, open_trust, signing_key
from reconciler.cli.world import fleet_of
from reconciler.errors import UsageError

if TYPE_CHECKING:
    from reconciler.shell.branches import Branch
    from reconciler.shell.passes import Passes


def open_passes(directory: Path, service: Service, keys: Keys) -> "Passes":
    """Return what runs passes on the branch that the options name.

    Raises:
        UsageError: The options name nothing that can be served; the message says what would do.
    """
    from reconciler.shell.branch_delivery import BranchDelivery

    key = signing_key(keys)
    served = open_branch(directory, service)
    fleet = fleet_of(directory, served.repository, service.output_root)
    passes = fleet.passes(served, author=parse_author(service.author))
    trust = open_trust(keys, key, served.repository, passes.clock.now())
    return replace(passes, delivery=BranchDelivery(key=key), trust=trust)


def open_branch(directory: Path, service: Service) -> "Branch":
    """Return the branch to serve, here or at a remote."""
    from reconciler.shell.branches import LocalBranch, RemoteBranch
    from reconciler.shell.git.mirror import Mirror
    from reconciler.shell.git.repository import Repository

    if service.remote is not None:
        mirror = Mirror.open(service.remote, service.mirror or default_mirror(service.remote))
        click.get_current_context().call_on_close(mirror.close)
        return RemoteBranch(mirror, mirror.repository, service.branch or "main")
    if service.mirror is not None:
        raise UsageError("--mirror goes with --remote")
    repository = Repository.open(directory)
    branch = service.branch or repository.head_branch()
    repository.resolve(branch)
    return LocalBranch(repository, branch)


def remote_secrets(service: Service) -> tuple[str, ...]:
    """Return the credentials in the address of the remote, none for a checkout."""
    from reconciler.shell.git.remote import parse_remote

    return () if service.remote is None else parse_remote(service.remote).secrets


def default_mirror(remote: str) -> Path:
    """Return the folder of a remote's mirror below the user's cache; credentials change nothing."""
    from reconciler.cli.user_cache import user_cache
    from reconciler.shell.git.remote import parse_remote

    digest = hashlib.sha256(parse_remote(remote).url.encode()).hexdigest()[:16]
    return user_cache() / f"{digest}.git"
