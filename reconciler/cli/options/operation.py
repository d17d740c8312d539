"""Options of the daemon's operation: the listener, who is told, and their secrets."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from reconciler.cli.options.option_group import gathered
from reconciler.cli.options.page_access import PageOptions, page_options, read_access
from reconciler.cli.options.secret_files import (
    read_secret,
    read_secrets_of_hooks,
    secret_option,
)
from reconciler.errors import UsageError
from reconciler.shell.http.page_access import PageAccess

if TYPE_CHECKING:
    from reconciler.shell.git.masking import HiddenTexts
    from reconciler.shell.renewed_secret import RenewedSecret

HOOK_SECRET = "RECONCILER_WEBHOOK_SECRET"  # noqa: S105  # the name of a variable
REPORT_TOKEN = "RECONCILER_REPORT_TOKEN"  # noqa: S105  # the name of a variable
REPORT_SECRET = "RECONCILER_REPORT_SECRET"  # noqa: S105  # the name of a variable
WEBHOOK = "webhook"
Read = Callable[[str, Path | None, str], str]
REPORTS = ("github", "gitlab", "gitea", WEBHOOK)


@dataclass(frozen=True, slots=True)
class Operation:
    """How the daemon is operated. `listen` of `None` listens nowhere."""

    listen: str | None
    page: PageOptions
    webhook_secret_file: Path | None
    report: tuple[tuple[str, str], ...]
    report_context: str
    propose: bool
    report_token_file: Path | None
    report_secret_file: Path | None


OPERATION_OPTIONS = (
    click.option(
        "--listen",
        metavar="[HOST:]PORT",
        envvar="RECONCILER_LISTEN",
        help="Serve /livez, /readyz, /metrics, /hook and the page there; a port alone is on "
        "127.0.0.1. On other addresses there is a page only with a token or a trusted proxy.",
    ),
    page_options,
    secret_option(
        "--webhook-secret-file", HOOK_SECRET, "Secret of POST /hook, which is there only with one"
    ),
    click.option(
        "--report",
        metavar="KIND URL",
        envvar="RECONCILER_REPORT",
        type=(click.Choice(REPORTS), str),
        multiple=True,
        help="Report to a repository at github, gitlab or gitea (commit status), or to a webhook "
        "(signed documents of decisions and faults); may be repeated.",
    ),
    click.option(
        "--report-context",
        metavar="NAME",
        envvar="RECONCILER_REPORT_CONTEXT",
        default="reconciler",
        show_default=True,
        help="Name of the commit status; daemons that share a repository need one each.",
    ),
    click.option(
        "--propose",
        is_flag=True,
        envvar="RECONCILER_PROPOSE",
        help="Open a pull request at the forge of --report that lets held removals go.",
    ),
    secret_option("--report-token-file", REPORT_TOKEN, "Token for the commit status"),
    secret_option(
        "--report-secret-file", REPORT_SECRET, "Secret by which documents for webhooks are signed"
    ),
)


def operation_options(function: Callable[..., int]) -> Callable[..., int]:
    """Add the options of operation; the verb gets them as its `operation`."""
    return gathered(function, "operation", Operation, OPERATION_OPTIONS)


@dataclass(frozen=True, slots=True)
class OperationSecrets:
    """What must never be shown; each is read again when its file has changed."""

    webhook: "RenewedSecret"
    page: PageAccess
    report_token: "RenewedSecret"
    report_secret: "RenewedSecret"

    @property
    def texts(self) -> "HiddenTexts":
        """All that there are, and were of late."""
        from reconciler.shell.git.masking import HiddenTexts

        page = (self.page.token,) if self.page.token else ()
        return HiddenTexts((self.webhook, page, self.report_token, self.report_secret))


def read_secrets(operation: Operation) -> OperationSecrets:
    """Read the secrets of operation.

    Raises:
        UsageError: One cannot be read, or is too short to be one.
    """
    from reconciler.shell.renewed_secret import RenewedSecret

    def renewed(read: Read, option: str, file: Path | None, variable: str) -> RenewedSecret:
        return RenewedSecret(partial(read, option, file, variable), file)

    hooks = operation.webhook_secret_file
    webhook = renewed(read_secrets_of_hooks, "--webhook-secret-file", hooks, HOOK_SECRET)
    if webhook() and operation.listen is None:
        raise UsageError("a webhook secret goes with --listen, where /hook would be")
    token = renewed(_token, "--report-token-file", operation.report_token_file, REPORT_TOKEN)
    secret = renewed(
        read_secret, "--report-secret-file", operation.report_secret_file, REPORT_SECRET
    )
    kinds = [kind for kind, _ in operation.report]
    forges = [kind for kind in kinds if kind != WEBHOOK]
    if len(forges) > 1:
        raise UsageError("--report takes one forge, since there is one token")
    if operation.propose and not forges:
        raise UsageError("--propose goes with --report github, gitlab or gitea")
    if bool(forges) != bool(token()):
        raise UsageError(f"--report of a forge and --report-token-file (${REPORT_TOKEN}) go along")
    if (WEBHOOK in kinds) != bool(secret()):
        raise UsageError(f"--report webhook and --report-secret-file (${REPORT_SECRET}) go along")
    return OperationSecrets(webhook, read_access(operation.page), token, secret)


def _token(option: str, file: Path | None, variable: str) -> str:
    token = read_secret(option, file, variable)
    if not (token.isascii() and token.isprintable()):
        raise UsageError("the token of --report must be one line of ASCII")
    return token
