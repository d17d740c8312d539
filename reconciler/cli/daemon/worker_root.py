"""A root as a worker opens it: by its own settings, through its own mirror.

What it is sent names the root. Credentials and keys come from the environment of the worker, or
from the file that `RECONCILER_SETTINGS` names there, as if `reconciler run` were started in it.
"""

import shutil
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from reconciler.cli.daemon.serving import (
    default_mirror,
    open_branch,
    remote_secrets,
    root_passes,
)
from reconciler.cli.main import cli
from reconciler.cli.options.options import Service
from reconciler.cli.options.remote_access import RemoteAccess
from reconciler.cli.options.trust import Keys, SigningOptions
from reconciler.errors import ReconcilerError, UsageError
from reconciler.shell.daemon.checkup import CheckState, check_git
from reconciler.shell.git.masking import mask_of
from reconciler.shell.git.remotes.access import Access
from reconciler.shell.git.remotes.remote import parse_remote
from reconciler.shell.processes.disk import refusal_of
from reconciler.shell.processes.garbage import collect_steadily
from reconciler.shell.work.dask_cluster import ClusterAround
from reconciler.shell.work.divided_pass import Hands
from reconciler.shell.work.held_roots import OpenedRoot, RootPlace
from reconciler.shell.work.worker_folder import claimed_folder

if TYPE_CHECKING:
    from reconciler.shell.passes.branches import LocalBranch, RemoteBranch

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _OwnBranch:
    """A branch as this worker reaches it, with its settings and the context that they came from."""

    branch: "LocalBranch | RemoteBranch"
    service: Service
    keys: Keys
    context: click.Context


@dataclass(slots=True, eq=False)
class _OwnBranches:
    """The branches that this process has opened: one mirror for all roots of a repository."""

    opened: dict[tuple[str, str], _OwnBranch] = field(default_factory=dict)
    turn: threading.Lock = field(default_factory=threading.Lock)

    def of(self, place: RootPlace) -> _OwnBranch:
        """Return the branch of a root."""
        with self.turn:
            key = (place.remote, place.branch)
            if key not in self.opened:
                self.opened[key] = _open(place)
            return self.opened[key]


OWN = _OwnBranches()


def open_root(place: RootPlace) -> OpenedRoot:
    """Open a root in this process, for as long as it lives.

    Raises:
        UsageError: The settings of this worker are not for that repository, or cannot be used.
        ShellError: The mirror cannot be opened.
    """
    collect_steadily()
    own = OWN.of(place)
    served = own.branch.below(place.root) if place.root else own.branch
    service = replace(own.service, layout=place.layout, author=str(place.author))
    with own.context.scope(cleanup=False):
        passes = root_passes(Path(place.root), service, own.keys, served, processes=1)

    def mask(text: str) -> str:
        return mask_of(remote_secrets(own.service))(text)  # as they are by then

    return OpenedRoot(passes, mask, _hands_around)


def check_worker(place: RootPlace) -> str:
    """Return what keeps this process from computing for a root, `""` if nothing does.

    The remote is not asked: where it does not answer, no other worker is of more use.
    """
    git = check_git()
    if git.state is CheckState.FAILED:
        remedy = "install git 2.34 or later there"
        if shutil.which("git") is None:
            return f"has no git on its PATH; {remedy}"
        return f"cannot use its git ({git.found}); {remedy}"
    try:
        given = _own_context().params
        _own_remote(place, given["remote"], given["mirror"], _taken(RemoteAccess, given))
    except click.ClickException as error:
        return f"has wrong settings: {error.format_message()}"
    except OSError as error:
        return f"has wrong settings: {refusal_of(error)}"
    except ReconcilerError as error:
        return f"cannot serve this repository: {error}"
    return ""


def _hands_around(helpers: Sequence[str]) -> Hands:
    """Return those workers of the cluster that this one is in, which take pieces."""
    around = ClusterAround(helpers)
    return Hands(around.count, around.begin)


def _open(place: RootPlace) -> _OwnBranch:
    """Open the branch of a root by the settings of this process."""
    context = _own_context()
    given = context.params
    access = _taken(RemoteAccess, given)
    service = Service(
        branch=place.branch,
        remote=_own_remote(place, given["remote"], given["mirror"], access),
        mirror=given["mirror"],
        access=access,
        layout=place.layout,
        author=str(place.author),
    )
    keys = Keys(
        signing=_taken(SigningOptions, given),
        allowed_signers=given["allowed_signers"],
        allowed_keyring=given["allowed_keyring"],
        trust_from=given["trust_from"],
    )
    with context.scope(cleanup=False):
        branch = _open_mirror(place, service)
    branch.share()
    return _OwnBranch(branch, service, keys, context)


def _open_mirror(place: RootPlace, service: Service) -> "LocalBranch | RemoteBranch":
    """Return the branch through a mirror that no other worker of this machine uses."""
    if service.mirror is not None:
        return open_branch(Path(), service)
    with claimed_folder(default_mirror(place.remote).with_suffix(".worker.git")) as folder:
        return open_branch(Path(), replace(service, mirror=folder))


def _own_context() -> click.Context:
    """Return the context of `reconciler run` as this process would start it without arguments."""
    top = cli.make_context("reconciler", ["run"])
    top.obj = Path()
    command = cli.get_command(top, "run")
    if command is None:
        raise ValueError("there is no verb run")
    return command.make_context("run", [], parent=top)


def _own_remote(
    place: RootPlace, remote: str | None, mirror: Path | None, access: RemoteAccess
) -> str:
    """Return the URL of the repository, with credentials if the settings here have them there.

    Raises:
        UsageError: The settings are for another repository, or for none and hold what is for one.
    """
    if remote is None:
        if mirror is not None or access.read() != Access():
            raise UsageError(
                "a worker whose settings have a mirror, or what lets into a remote, must name the "
                "remote there, too (RECONCILER_REMOTE), so that no other one is sent it"
            )
        return place.remote
    own = parse_remote(remote).url
    if own != place.remote:
        raise UsageError(
            f"the settings of this worker are for {own}, and it was asked for a root of "
            f"{place.remote}; give each repository workers of its own"
        )
    return remote


def _taken(kind: Callable[..., T], given: Mapping[str, Any]) -> T:
    """Return options that belong together, out of those of a verb."""
    return kind(**{one.name: given[one.name] for one in fields(kind)})  # type: ignore[arg-type]
