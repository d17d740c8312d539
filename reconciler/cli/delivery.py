"""Where a user's change goes: into the files of the checkout, or onto a new branch.

Verbs that write a manifest of their own share their options: what it is for, where it goes, and
how it is shown.
"""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from reconciler.cli import complete
from reconciler.cli.options import gathered, layout_options, output_option, with_options
from reconciler.errors import UsageError
from reconciler.model.identity import RepositoryLayout
from reconciler.model.records import dataclass
from reconciler.model.text import short_id

if TYPE_CHECKING:
    from reconciler.shell.git.repository import Repository


FEW = 3  # so many are named one by one

DELIVERY_OPTIONS = (
    click.option(
        "--branch",
        metavar="NAME",
        help="Commit to a new branch of this name instead; the checkout is left unchanged.",
    ),
    click.option(
        "--author",
        metavar="'NAME <EMAIL>'",
        envvar="RECONCILER_AUTHOR",
        help="Author of that commit  [default: as configured for git]",
    ),
)


def delivery_options(function: Callable[..., int]) -> Callable[..., int]:
    """Add the options that say where the change goes."""
    return with_options(function, DELIVERY_OPTIONS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """Where a change goes.

    Attributes:
        directory: The root, as it was named.
        repository: The repository that it is in.
        base: Full hex id of the commit that the change was made for.
        branch: Name of a new branch, `None` for the files of the checkout.
        author: Author of the commit as a person gave it, `None` for the one that git would name.
    """

    directory: Path
    repository: "Repository"
    base: str
    branch: str | None
    author: str | None

    def check(self) -> None:
        """Refuse what cannot be delivered, before anything is decided.

        Raises:
            UsageError: There is no checkout, or there is such a branch.
        """
        from reconciler.shell.git.repository import check_branch

        if self.branch is None:
            if self.repository.work_tree is None:
                raise UsageError(
                    "this repository has no work tree; give a new branch with --branch"
                )
        elif self.repository.find(check_branch(self.branch)) is not None:
            raise UsageError(f'branch "{self.branch}" already exists; give a new name')

    def deliver(self, files: Mapping[str, bytes | None], message: str) -> str:
        """Write files, remove those without content, and return in words what to do next."""
        from reconciler.cli.options import parse_author
        from reconciler.shell.passes.user_files import branch_off, write_files
        from reconciler.shell.resources import SystemClock

        named = ", ".join(sorted(files)) if len(files) <= FEW else f"{len(files)} files"
        paths, later = f"{named} is", "it takes effect once it is merged"
        if len(files) > 1:
            paths, later = f"{named} are", "they take effect once they are merged"
        if self.branch is None:
            write_files(self.directory, files)
            gone = [path for path, content in files.items() if content is None]
            done = "removed" if len(gone) == len(files) else "written"
            return f"{paths} {done}, not committed; {later}"
        commit = branch_off(
            self.repository,
            self.branch,
            files,
            base=self.base,
            message=message,
            author=parse_author(self.author or commit_author(self.repository)),
            at=SystemClock().now(),
        )
        return f"{paths} committed on the new branch {self.branch} ({short_id(commit)}); {later}"


def commit_subject(text: str) -> str:
    """Return the subject of a person's commit: one line, no longer than a log shows."""
    from reconciler.core.message import LONGEST_SUBJECT, plain

    line = plain(text)
    return line if len(line) <= LONGEST_SUBJECT else f"{line[: LONGEST_SUBJECT - 1]}…"


def commit_author(repository: "Repository") -> str:
    """Return the author that git would name: by the environment, else by its settings."""
    from reconciler.shell.passes.user_files import git_setting

    home = Path(os.environ.get("HOME", "/nonexistent"))
    plain = home / ".gitconfig"
    other = Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config") / "git/config"
    settings = os.environ.get("GIT_CONFIG_GLOBAL") or str(plain if plain.exists() else other)
    name, email = (
        os.environ.get(f"GIT_AUTHOR_{part.upper()}")
        or git_setting(repository, f"author.{part}", settings=settings, home=home)
        or git_setting(repository, f"user.{part}", settings=settings, home=home)
        for part in ("name", "email")
    )
    if name and email:
        return f"{name} <{email}>"
    lacking = "user.email" if name else "user.name and user.email" if not email else "user.name"
    raise UsageError(
        f"git does not know who you are, and this would be a commit of yours: set {lacking} "
        "(git config --global user.name Ada), or give --author 'NAME <EMAIL>'"
    )


base_option = click.option(
    "--base",
    metavar="REV",
    shell_complete=complete.revisions,
    envvar="RECONCILER_BRANCH",
    default="HEAD",
    show_default=True,
    help="Served branch: base of the plan and of a new branch.",
)
"""What a manifest is written for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestOptions:
    """What a manifest is written for, where it goes, and how it is shown."""

    base: str
    branch: str | None
    author: str | None
    output: str
    layout: RepositoryLayout
    dry_run: bool = False


def manifest_options(function: Callable[..., int]) -> Callable[..., int]:
    """Add the options that say where a manifest goes; the verb gets them as its `to`."""
    options = (
        click.option(
            "--dry-run", is_flag=True, help="Print the manifest and the plan without writing."
        ),
        base_option,
        output_option("text", "yaml", "json", says="Output format; yaml prints only the manifest."),
        delivery_options,
        layout_options,
    )
    return gathered(function, "to", ManifestOptions, options)
