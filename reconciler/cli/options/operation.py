"""Options of the daemon's operation: the listener, who is told, and their secrets."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import click

from reconciler.cli.options.option_group import gathered
from reconciler.cli.options.page_access import PageOptions, page_options, read_access
from reconciler.cli.options.secret_files import read_secret, secret_option
from reconciler.errors import UsageError
from reconciler.shell.http.page_access import NO_ACCESS, PageAccess

HOOK_SECRET = "RECONCILER_WEBHOOK_SECRET"  # noqa: S105  # the name of a variable
REPORT_TOKEN = "RECONCILER_REPORT_TOKEN"  # noqa: S105  # the name of a variable
REPORT_SECRET = "RECONCILER_REPORT_SECRET"  # noqa: S105  # the name of a variable
WEBHOOK = "webhook"
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
    """What must never be shown; `""` where there is none."""

    webhook: str = ""
    page: PageAccess = NO_ACCESS
    report_token: str = ""
    report_secret: str = ""

    @property
    def texts(self) -> tuple[str, ...]:
        """All that there are."""
        return tuple(
            filter(None, (self.webhook, self.page.token, self.report_token, self.report_secret))
        )


def read_secrets(operation: Operation) -> OperationSecrets:
    """Read the secrets of operation.

    Raises:
        UsageError: One cannot be read, or is too short to be one.
    """
    webhook = read_secret("--webhook-secret-file", operation.webhook_secret_file, HOOK_SECRET)
    if webhook and operation.listen is None:
        raise UsageError("a webhook secret goes with --listen, where /hook would be")
    token = read_secret("--report-token-file", operation.report_token_file, REPORT_TOKEN)
    if not (token.isascii() and token.isprintable()):
        raise UsageError("the token of --report must be one line of ASCII")
    secret = read_secret("--report-secret-file", operation.report_secret_file, REPORT_SECRET)
    kinds = [kind for kind, _ in operation.report]
    forges = [kind for kind in kinds if kind != WEBHOOK]
    if len(forges) > 1:
        raise UsageError("--report takes one forge, since there is one token")
    if operation.propose and not forges:
        raise UsageError("--propose goes with --report github, gitlab or gitea")
    if bool(forges) != bool(token):
        raise UsageError(f"--report of a forge and --report-token-file (${REPORT_TOKEN}) go along")
    if (WEBHOOK in kinds) != bool(secret):
        raise UsageError(f"--report webhook and --report-secret-file (${REPORT_SECRET}) go along")
    return OperationSecrets(webhook, read_access(operation.page), token, secret)
