"""An import into the files of a checkout, onto a new branch, or onto one of a remote."""

from pathlib import Path
from typing import Any

import click

from reconciler.cli.edits.delivery import Delivery
from reconciler.cli.edits.edited_world import edited_world
from reconciler.cli.edits.import_push import import_and_push
from reconciler.cli.edits.import_work import (
    ImportOptions,
    ImportResult,
    adopting,
    compute,
    message_of,
    print_result,
)
from reconciler.errors import UsageError
from reconciler.shell.git.repository import Repository


def run(directory: Path, /, **asked: Any) -> int:
    """Import what is asked for; return the exit code."""
    options = ImportOptions(directory=directory, **asked)
    options.check()
    if options.check_switch:
        from reconciler.cli.edits.import_check import check_here

        return check_here(options)
    if options.remote is not None:
        return import_and_push(options)
    return import_here(options)


def import_here(options: ImportOptions) -> int:
    """Import into the files of the checkout, or onto a new branch."""
    repository = Repository.open(options.directory)
    delivery = Delivery(
        directory=options.directory,
        repository=repository,
        base=_base(repository, options),
        branch=options.branch,
        author=options.author,
    )
    delivery.check()
    world, content = edited_world(delivery, options.layout)
    result = compute(options, world, content)
    said = "nothing that counts has changed"
    if result.files:
        said = f"nothing is written (--dry-run); {len(result.files)} files would be"
        if not options.dry_run:
            said = delivery.deliver(result.files, message_of(options, result, delivery.base))
            said += _how_to_commit(options, result, delivery.base)
    print_result(options, result)
    click.echo(said, err=True)
    return result.code


def _how_to_commit(options: ImportOptions, result: ImportResult, base: str) -> str:
    """Return how to commit what is adopted into the checkout, so that `verify` knows it."""
    trailer = adopting(options, result, base) if options.branch is None else ""
    return f"\ncommit them with: git commit --trailer '{trailer}'" if trailer else ""


def _base(repository: Repository, options: ImportOptions) -> str:
    """Return the commit that is imported onto, `""` if there is none yet."""
    found = repository.find(repository.head_branch())
    if found is None and (options.adopt or options.branch is not None):
        raise UsageError(
            "the repository has no commit yet; make one first: git commit --allow-empty -m Start"
        )
    return found or ""
