"""`run --executor`: a daemon whose passes the workers of a Dask cluster compute.

A worker opens a root by its own settings, through its own mirror. What it is sent names the root.
Credentials and keys come from the environment of the worker, or from the file that
`RECONCILER_SETTINGS` names there, as if `reconciler run` were started in it.
"""

import shutil
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from reconciler.cli.main import cli
from reconciler.cli.options import RemoteAccess, Service
from reconciler.cli.serving import default_mirror, open_branch, remote_secrets, root_passes
from reconciler.cli.trust import Keys, SigningOptions
from reconciler.errors import ReconcilerError, UsageError
from reconciler.model.records import dataclass, field, field_names, replace
from reconciler.shell.daemon.checkup import CheckState, check_git
from reconciler.shell.daemon.watch import ServedRoot
from reconciler.shell.git.command import mask_of
from reconciler.shell.git.remotes.remote import Access, parse_remote
from reconciler.shell.processes.limits import collect_steadily, refusal_of
from reconciler.shell.work.dask import ClusterAround
from reconciler.shell.work.divided_pass import Hands
from reconciler.shell.work.held_roots import OpenedRoot, RootPlace, claimed_folder

if TYPE_CHECKING:
    from reconciler.shell.daemon.serve_branch import PassRunner
    from reconciler.shell.passes.branches import LocalBranch, RemoteBranch


@dataclass(frozen=True, slots=True)
class Computed:
    """Who computes for the roots of a daemon.

    Attributes:
        roots: What is served, with who has it.
        runners: Who runs passes, by the name of a root; this process for those that are not there.
        unfit: Returns why workers that are there compute nothing, a sentence each.
    """

    roots: Sequence[ServedRoot]
    runners: "Mapping[str, PassRunner]" = field(default_factory=dict)
    unfit: Callable[[], Sequence[str]] = tuple


def check_executor(address: str | None, service: Service) -> None:
    """Raise `UsageError` unless workers could serve what the options name.

    Args:
        address: Of the scheduler, `None` for none.
        service: Which branch.
    """
    if address is None:
        return
    from reconciler.shell.work.dask import check_usable

    check_usable(address)
    if service.remote is None:
        raise UsageError(
            "--executor goes with --remote: workers read and move the branch through mirrors of "
            "their own, also that of a bare repository on this machine, as file:///path"
        )


def by_workers(
    address: str | None,
    service: Service,
    roots: Sequence[ServedRoot],
    renewing: Callable[[], bool],
    stack: ExitStack,
) -> Computed:
    """Return the roots with who has them, and who computes for each, while the stack lasts.

    Args:
        address: Of the scheduler, `None` for none; then nothing is changed.
        service: Which branch.
        roots: What is served.
        renewing: Whether the daemon ends only to begin anew.
        stack: What leaves the cluster when it is closed.
    """
    if address is None or service.remote is None:
        return Computed(roots)
    from reconciler.shell.git.remotes.remote import parse_remote
    from reconciler.shell.work.dask import NamedWorkers
    from reconciler.shell.work.root_workers import RootWorkers, RunByWorkers

    url = parse_remote(service.remote).url

    def wake() -> None:
        for root in roots:
            root.wakeups.wake()

    workers = stack.enter_context(
        RootWorkers(
            NamedWorkers(address),
            {root.name: _place(url, root, service) for root in roots},
            open_root,
            check=check_worker,
            stopping=lambda: roots[0].wakeups.stopped,
            renewing=renewing,
            wake=wake,
        )
    )
    served = [replace(root, worker=partial(workers.worker_of, root.name)) for root in roots]
    runners = {root.name: RunByWorkers(workers, root.name) for root in roots}
    return Computed(served, runners, workers.unfit)


def _place(url: str, root: ServedRoot, service: Service) -> "RootPlace":
    """Return what workers are told of a root."""
    from reconciler.shell.work.held_roots import RootPlace

    branch = root.passes.branch
    return RootPlace(
        remote=url,
        branch=branch.name,
        root=branch.repository.prefix,
        layout=service.layout,
        author=root.passes.author,
    )


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
        reporters_file=given["reporters_file"],
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
    return kind(**{name: given[name] for name in field_names(kind)})
