"""What the daemon needs, tried one by one."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, TypedDict

import click

from reconciler.cli.operation import Operation, read_secrets
from reconciler.cli.options import Service, parse_author
from reconciler.cli.printing import print_json
from reconciler.cli.serving import LOOKING, default_mirror, open_branch
from reconciler.cli.trust import Keys, open_trust, signing_key
from reconciler.cli.world import fleet_of
from reconciler.model.records import replace
from reconciler.model.text import printable
from reconciler.shell.daemon.checkup import Check, attempt, check_branches, check_git, check_private
from reconciler.shell.git.command import MirrorBusy
from reconciler.shell.passes.branches import Branch
from reconciler.shell.passes.trust import Trust

COLOURS = {"ok": "green", "warning": "yellow", "failed": "red"}


class AttemptJson(TypedDict):
    """What was tried."""

    name: Annotated[str, "What was tried, such as `git`, `keys` or `write`."]
    state: Annotated[str, "`ok`, `warning` or `failed`."]
    found: Annotated[str, "What came of it."]
    remedy: Annotated[str, 'What to do, `""` if nothing.']


class CheckJson(TypedDict):
    """What the daemon needs, tried."""

    checks: Annotated[list[AttemptJson], "In the order in which they were made."]


def run(directory: Path, *, service: Service, keys: Keys, operation: Operation, output: str) -> int:
    """Print how each check went; return the exit code."""
    checks = list(_checks(directory, service, keys, operation))
    if output == "json":
        rows: list[AttemptJson] = [
            {
                "name": check.name,
                "state": str(check.state),
                "found": check.found,
                "remedy": check.remedy,
            }
            for check in checks
        ]
        answer: CheckJson = {"checks": rows}
        print_json(answer)
    else:
        for check in checks:
            state = click.style(f"{check.state!s:8}", fg=COLOURS[check.state])
            click.echo(f"{state} {check.name}: {printable(check.found)}")
            if check.remedy:
                click.echo(f"         {printable(check.remedy)}")
    return 1 if any(check.state == "failed" for check in checks) else 0


def _checks(directory: Path, service: Service, keys: Keys, operation: Operation) -> Iterator[Check]:
    """Yield the checks, those that need nothing first."""
    yield check_git()
    yield attempt("author", lambda: str(parse_author(service.author)), "give --author 'N <E>'")
    yield from _private(service, keys, operation)
    yield attempt("secrets", lambda: _secrets(operation), "see docs/operations.md")
    opened: list[Branch] = []

    def opens() -> str:
        branch, beside = _open(directory, service)
        opened.append(branch)
        return f"{branch.repository.common_dir}{beside}"

    yield attempt("repository", opens, "give a checkout, or a remote and a folder for its mirror")
    if not opened:
        return
    branch = opened[0]
    fleet = fleet_of(directory, branch.repository, service.layout)
    passes = fleet.passes(branch)

    trusts: list[Trust] = []

    def signs() -> str:
        key = signing_key(keys.signing)
        trust = open_trust(keys, key, branch.repository, passes.clock.now(), layout=service.layout)
        trusts.extend(filter(None, [trust]))
        checked = "all commits are accepted" if trust is None else "signatures are checked"
        return f"{'commits are signed' if key else 'commits are not signed'}, {checked}"

    yield attempt("keys", signs, "see docs/security.md, Signed commits")
    trust = next(iter(trusts), None)
    yield from check_branches(passes.branches, passes.loader, passes.clock, trust)


def _open(directory: Path, service: Service) -> tuple[Branch, str]:
    """Return the branch, and what is to be said of where it is read.

    A daemon that runs holds its mirror; beside it the remote is fetched into another one.
    """
    try:
        return open_branch(directory, service), ""
    except MirrorBusy:
        if service.remote is None:
            raise
        mirror = service.mirror or default_mirror(service.remote)
        beside = replace(service, mirror=mirror.with_suffix(LOOKING))
        return open_branch(directory, beside), f" (a running daemon holds {mirror})"


def _private(service: Service, keys: Keys, operation: Operation) -> Iterator[Check]:
    """Yield what is to be said of files with secrets."""
    key = keys.signing.signing_key
    files = [
        service.access.credential_file,
        service.access.ssh_key_file,
        operation.page.page_token_file,
        operation.webhook_secret_file,
        operation.report_token_file,
        operation.report_secret_file,
        Path(key) if key and keys.signing.signing_format == "ssh" else None,
    ]
    for file in files:
        if file is not None and file.suffix != ".pub":
            yield check_private("permissions", file)


def _secrets(operation: Operation) -> str:
    """Return how many secrets can be read."""
    number = len(read_secrets(operation).texts)
    return f"{number} secret{'s' if number != 1 else ''} readable"
