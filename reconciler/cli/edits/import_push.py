"""`reconciler import --remote`: onto a branch of a remote, with a lease, again if it moved."""

from typing import TYPE_CHECKING

import click

from reconciler.audit.short_id import short_id
from reconciler.cli.edits.delivery import Delivery, commit_author
from reconciler.cli.edits.import_work import (
    ImportOptions,
    ImportResult,
    compute,
    message_of,
    print_result,
)
from reconciler.cli.options.trust import signing_key
from reconciler.errors import UsageError

if TYPE_CHECKING:
    from reconciler.shell.git.remotes.mirror import Mirror

ATTEMPTS = 5  # each computes everything again


def import_and_push(options: ImportOptions) -> int:
    """Import onto a branch of a remote, and push it as a fast-forward of what was read.

    Raises:
        UsageError: The remote has no such branch.
        LostRace: Others pushed each time.
    """
    from reconciler.cli.daemon.serving import default_mirror
    from reconciler.shell.git.errors import LostRace
    from reconciler.shell.git.remotes.mirror import Mirror

    remote = options.remote or ""
    own = default_mirror(remote).with_suffix(".import.git")  # a daemon may have the other one
    access, seconds = options.access.read(), options.access.remote_timeout_seconds
    with Mirror.open(remote, own, access=access, timeout_seconds=seconds) as mirror:
        mirror.recover()  # no pass runs in this one, and does it
        for attempt in range(ATTEMPTS):
            try:
                result, said = _attempt(options, mirror)
                break
            except LostRace:
                if attempt + 1 == ATTEMPTS:
                    raise
    print_result(options, result)
    click.echo(said, err=True)
    return result.code


def _attempt(options: ImportOptions, mirror: "Mirror") -> tuple[ImportResult, str]:
    """Read the branch, import, commit and push once."""
    from reconciler.cli.edits.edited_world import committed_world
    from reconciler.cli.options.options import parse_author
    from reconciler.core.changes import WriteFile
    from reconciler.core.commit_purpose import CommitPurpose, Purpose
    from reconciler.shell.clock import SystemClock
    from reconciler.shell.git.commits import write_commit
    from reconciler.shell.git.signing import CommitSigning

    branch, repository = options.branch or "", mirror.repository
    head = mirror.fetch(branch)
    if head is None:
        raise UsageError(f'the remote has no branch "{branch}"; push one first')
    delivery = Delivery(
        directory=options.directory,
        repository=repository,
        base=head,
        branch=branch,
        author=options.author,
    )
    world, content = committed_world(delivery, options.layout)
    result = compute(options, world, content)
    if not result.files:
        return result, "nothing that counts has changed"
    if options.dry_run:
        return result, f"nothing is pushed (--dry-run); {len(result.files)} files would be"
    with repository.held:
        commit = write_commit(
            repository,
            [WriteFile(path, data.decode()) for path, data in sorted(result.files.items())],
            parent=head,
            message=message_of(options, result, head),
            at=SystemClock().now(),
            author=parse_author(options.author or commit_author(repository)),
            signing=CommitSigning.by(
                signing_key(options.signing),
                CommitPurpose(Purpose.REPORTS, branch, repository.prefix),
            ),
        )
        mirror.push(branch, old=head, new=commit)
    return result, f"{len(result.files)} files are pushed to {branch} ({short_id(commit)})"
