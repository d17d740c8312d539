"""The options that say where the outputs are: their folder and their branch."""

from collections.abc import Callable
from pathlib import Path

import click

from reconciler.cli.objects import complete
from reconciler.cli.options.option_group import gathered
from reconciler.errors import UsageError
from reconciler.model.repository_layout import OUTPUT_ROOT, RepositoryLayout


def _settle_root(context: click.Context, _parameter: click.Parameter, folder: str) -> str:
    """Hand the verb the root: the folder of `-C`, or else the one that is found from here."""
    check_output_root(folder)
    if context.obj is None:
        from reconciler.shell.root import find_root

        context.obj = find_root(Path(), RepositoryLayout(output_root=folder))
    return folder


def _checked(_context: click.Context, _parameter: click.Parameter, name: str | None) -> str | None:
    """Return the name of a branch, if git may take it for one."""
    if name is None:
        return None
    from reconciler.shell.git.repository import check_branch  # late: validate goes without git

    return check_branch(name)


LAYOUT_OPTIONS = (
    click.option(
        "--output-root",
        metavar="DIR",
        envvar="RECONCILER_OUTPUT_ROOT",
        default=OUTPUT_ROOT,
        show_default=True,
        callback=_settle_root,
        help="Folder of the root that the reconciler owns.",
    ),
    click.option(
        "--output-branch",
        metavar="NAME",
        envvar="RECONCILER_OUTPUT_BRANCH",
        shell_complete=complete.branches,
        callback=_checked,
        help="Branch of the outputs, where it is not that of the inputs.",
    ),
)


def layout_options(function: Callable[..., int]) -> Callable[..., int]:
    """Add the options; every verb about a repository gets them as its `layout`.

    The root is found by its outputs, so a verb that has these options has a root.
    """
    return gathered(function, "layout", RepositoryLayout, LAYOUT_OPTIONS)


def check_output_root(folder: str) -> str:
    """Return the folder of outputs if it is a plain folder inside of the repository.

    Raises:
        UsageError: It is not.
    """
    from reconciler.model.message_text import shown

    parts = folder.split("/")
    if not all(part.isprintable() and part.strip(". ") and "\\" not in part for part in parts):
        raise UsageError(f"--output-root {shown(folder)} must be a folder inside of the repository")
    if any(part.startswith(".") for part in parts):
        raise UsageError(f"--output-root {shown(folder)} must not begin with a dot")
    return folder
