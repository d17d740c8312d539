"""`run --executor`: a daemon whose passes the workers of a Dask cluster compute."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from reconciler.cli.options.options import Service
from reconciler.errors import UsageError
from reconciler.shell.daemon.roots import ServedRoot

if TYPE_CHECKING:
    from reconciler.shell.daemon.serve_branch import PassRunner
    from reconciler.shell.work.held_roots import RootPlace


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
    from reconciler.shell.work.dask_cluster import check_usable

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
    from reconciler.cli.daemon.worker_root import check_worker, open_root
    from reconciler.shell.git.remotes.remote import parse_remote
    from reconciler.shell.work.dask_cluster import NamedWorkers
    from reconciler.shell.work.root_workers import RootWorkers
    from reconciler.shell.work.run_by_workers import RunByWorkers

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
