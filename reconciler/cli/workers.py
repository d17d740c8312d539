"""The options that say who does long work: this process, others beside it, or a Dask cluster."""

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from reconciler.errors import UsageError
from reconciler.model.records import dataclass

if TYPE_CHECKING:
    from reconciler.shell.work.executors import Workers


PROCESSES = "processes"


@dataclass(frozen=True, slots=True)
class AskedWorkers:
    """Who shall work; the result is the same.

    `address` is that of a Dask scheduler, `None` for this machine. `jobs` is how many processes of
    this machine, `None` for one a processor where there is enough to do.
    """

    address: str | None
    jobs: int | None

    @contextlib.contextmanager
    def open(self, total: int, enough: int) -> "Iterator[Workers | None]":
        """Call the workers up, for as long as the block lasts; `None` is this process.

        Args:
            total: How many things there are to do.
            enough: For how many of them a process is worth its start.
        """
        from reconciler.shell.processes.limits import processors
        from reconciler.shell.work.executors import Workers, start_pool

        if self.address is not None:
            from reconciler.shell.work.dask import open_cluster

            with open_cluster(self.address) as workers:
                yield workers
            return
        count = min(self.jobs, total) if self.jobs else min(processors(), total // enough)
        if count <= 1:
            yield None
            return
        with start_pool(count) as pool:
            yield Workers(pool, count)


def workers_options(function: Callable[..., int]) -> Callable[..., int]:
    """Add the options; the verb gets them as its `workers`."""

    @click.option(
        "--executor",
        metavar="ADDRESS",
        envvar="DASK_SCHEDULER_ADDRESS",
        default=PROCESSES,
        show_default=True,
        help="Compute on processes of this machine, or on a Dask cluster, dask://HOST:PORT.",
    )
    @click.option(
        "--jobs",
        metavar="N",
        type=click.IntRange(min=1),
        help="Number of processes  [default: one per processor]",
    )
    @functools.wraps(function)
    def verb(*arguments: object, executor: str, jobs: int | None, **named: Any) -> int:
        return function(*arguments, workers=_asked(executor, jobs), **named)

    return verb


def _asked(executor: str, jobs: int | None) -> AskedWorkers:
    """Return who shall work; what the command line says goes before the environment."""
    if executor == PROCESSES:
        return AskedWorkers(None, jobs)
    source = click.get_current_context().get_parameter_source("executor")
    if jobs is None:
        return AskedWorkers(executor, None)
    if source is ParameterSource.COMMANDLINE:
        raise UsageError("--jobs is for processes of this machine; omit it with --executor")
    return AskedWorkers(None, jobs)
