"""A branch of a remote to look at, through a mirror of its own; nothing is pushed."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from reconciler.errors import UsageError

if TYPE_CHECKING:
    from reconciler.cli.options.remote_access import RemoteAccess
    from reconciler.library.fleet import FleetRepository
    from reconciler.model.repository_layout import RepositoryLayout

BRANCH = "main"


class RemoteFleet(NamedTuple):
    """What a remote has: the repository, its URL without credentials, the branch and its head."""

    fleet: "FleetRepository"
    url: str
    branch: str
    head: str


@contextmanager
def open_remote(
    remote: str, branch: str | None, access: "RemoteAccess", layout: "RepositoryLayout"
) -> Iterator[RemoteFleet]:
    """Fetch a branch of a remote, and that of the outputs if it is another, to be asked.

    Args:
        remote: Its URL.
        branch: Which branch, `None` for `main`.
        access: How git is let in.
        layout: Where outputs are.

    Raises:
        UsageError: The remote has no such branch.
        ShellError: It does not answer, or does not let us in.
    """
    from reconciler.cli.daemon.serving import default_mirror
    from reconciler.cli.objects.world import fleet_of
    from reconciler.model.message_text import shown
    from reconciler.shell.git.remotes.mirror import Mirror

    name = branch or BRANCH
    own = default_mirror(remote).with_suffix(".look.git")  # a daemon may have the other one
    seconds = access.remote_timeout_seconds
    with Mirror.open(remote, own, access=access.read(), timeout_seconds=seconds) as mirror:
        mirror.recover()
        head = mirror.fetch(name)
        if layout.output_branch is not None:
            mirror.fetch(layout.output_branch)
        if head is None:
            raise UsageError(f"{mirror.remote.url} has no branch {shown(name)}; name one: --branch")
        yield RemoteFleet(
            fleet_of(Path(), mirror.repository, layout), mirror.remote.url, name, head
        )
