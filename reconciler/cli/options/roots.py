"""The options that say which roots of a repository are served, and who computes their passes."""

from collections.abc import Callable
from dataclasses import dataclass

import click

from reconciler.cli.options.option_group import gathered


@dataclass(frozen=True, slots=True)
class RootOptions:
    """Which roots, by folder and by pattern, and the address of a Dask cluster, `None` for none."""

    roots: tuple[str, ...]
    patterns: tuple[str, ...]
    executor: str | None


ROOT_OPTIONS = (
    click.option(
        "--root",
        "roots",
        metavar="DIR",
        multiple=True,
        envvar="RECONCILER_ROOTS",
        help="Serve this folder of the repository; repeated, each by itself  [default: as -C]",
    ),
    click.option(
        "--roots",
        "patterns",
        metavar="GLOB",
        multiple=True,
        envvar="RECONCILER_ROOTS_GLOB",
        help="Serve each such folder of the branch that has a reconciler.yaml, also those that "
        "come later; repeated.",
    ),
    click.option(
        "--executor",
        metavar="ADDRESS",
        envvar="RECONCILER_EXECUTOR",
        help="Who computes: the workers of a Dask cluster, dask://HOST:PORT  "
        "[default: this process]",
    ),
)


def root_options(function: Callable[..., int]) -> Callable[..., int]:
    """Add the options; the verb gets them as its `served_roots`."""
    return gathered(function, "served_roots", RootOptions, ROOT_OPTIONS)
