"""Options that several verbs share, and the objects that they stand for."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reconciler.cli.objects import complete
from reconciler.cli.options.layout import layout_options
from reconciler.cli.options.option_group import Option, gathered
from reconciler.cli.options.remote_access import RemoteAccess, access_options
from reconciler.errors import UsageError
from reconciler.model.repository_layout import RepositoryLayout

if TYPE_CHECKING:
    from reconciler.shell.git.identity import CommitIdentity

FIRST_YEAR, LAST_YEAR = 1970, 2999  # ours: leaves room for every timeout that is added


class Moment(click.ParamType[datetime]):
    """A moment in RFC 3339, such as 2026-01-02T15:04:05Z."""

    name = "moment"

    def convert(
        self, value: str | datetime, param: click.Parameter | None, ctx: click.Context | None
    ) -> datetime:
        """Parse it."""
        if isinstance(value, datetime):
            return value
        from reconciler.model.message_text import shown
        from reconciler.model.moments import parse_moment

        try:
            moment = parse_moment(value)
        except ValueError:
            self.fail(f"{shown(value)} must be a moment such as 2026-01-02T15:04:05Z", param, ctx)
        if not FIRST_YEAR <= moment.year <= LAST_YEAR:
            years = f"{FIRST_YEAR} to {LAST_YEAR}"
            self.fail(f"{shown(value)} must be a moment of the years {years}", param, ctx)
        return moment


@dataclass(frozen=True, slots=True)
class Service:
    """Which branch is served, and who commits.

    `branch` of `None` is the one that is checked out, `remote` of `None` a checkout here,
    `mirror` of `None` a folder below the user's cache.
    """

    branch: str | None
    remote: str | None
    mirror: Path | None
    access: RemoteAccess
    layout: RepositoryLayout
    author: str


at_option = click.option(
    "--at",
    metavar="REV",
    default="HEAD",
    show_default=True,
    shell_complete=complete.revisions,
    help="As at a revision.",
)
"""Which revision a question is about."""

read_branch_option = click.option(
    "--branch",
    metavar="NAME",
    envvar="RECONCILER_BRANCH",
    shell_complete=complete.branches,
    help="Branch to read  [default: HEAD]",
)
"""Which branch is followed."""

poll_option = click.option(
    "--poll-seconds",
    type=click.FloatRange(min=0.1),
    default=5.0,
    show_default=True,
    help="With --watch: look at least this often.",
)


class Format(click.Choice[str]):
    """One of some formats; `md` is short for markdown where that is one of them."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Read it."""
        short = {"md": "markdown"}.get(value, value)
        return super().convert(short if short in self.choices else value, param, ctx)


def output_option(*formats: str, says: str = "How to print it.") -> Option:
    """Return the option `-o` that chooses among formats, the first by default."""
    return click.option(
        "-o",
        "output",
        type=Format(formats),
        default=formats[0],
        show_default=True,
        help=says,
    )


def here() -> Path:
    """Return the folder from which a person names paths: that of `-C`, or the present one."""
    named: Path | None = click.get_current_context().find_root().params["directory"]
    return named or Path()


SERVICE_OPTIONS = (
    click.option(
        "--branch",
        metavar="NAME",
        shell_complete=complete.branches,
        envvar="RECONCILER_BRANCH",
        help="Branch to serve; the one that is checked out by default (main for --remote).",
    ),
    click.option(
        "--remote",
        metavar="URL",
        envvar="RECONCILER_REMOTE",
        help="Serve this remote through a mirror of its own instead of a checkout.",
    ),
    click.option(
        "--mirror",
        metavar="DIR",
        envvar="RECONCILER_MIRROR",
        type=click.Path(path_type=Path),
        help="Where the mirror of --remote is kept  [default: ~/.cache/reconciler/...]",
    ),
    access_options,
    layout_options,
    click.option(
        "--author",
        metavar="'NAME <EMAIL>'",
        envvar="RECONCILER_AUTHOR",
        default="reconciler <reconciler@localhost>",
        show_default=True,
        help="Author of the commits.",
    ),
)


def service_options(function: Callable[..., int]) -> Callable[..., int]:
    """Add the options that say which branch is served; the verb gets them as its `service`."""
    return gathered(function, "service", Service, SERVICE_OPTIONS)


def parse_author(text: str) -> "CommitIdentity":
    """Return the identity that `NAME <EMAIL>` names."""
    from reconciler.model.message_text import shown
    from reconciler.shell.git.identity import CommitIdentity, check_identity

    name, bracket, rest = text.partition(" <")
    if not bracket or not rest.endswith(">"):
        raise UsageError(f"--author {shown(text)} must be NAME <EMAIL>")
    try:
        return check_identity(CommitIdentity(name.strip(), rest[:-1]))
    except ValueError as error:
        raise UsageError(f"--author: {error}") from None
