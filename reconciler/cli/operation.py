"""Options of the daemon's operation: the listener, who is told, and their secrets.

Secrets come from files or from the environment, never from arguments, which every process can read.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import click

from reconciler.cli.option_group import Option, gathered
from reconciler.errors import UsageError

HOOK_SECRET = "RECONCILER_WEBHOOK_SECRET"  # noqa: S105  # the name of a variable
PAGE_TOKEN = "RECONCILER_PAGE_TOKEN"  # noqa: S105  # the name of a variable
REPORT_TOKEN = "RECONCILER_REPORT_TOKEN"  # noqa: S105  # the name of a variable
REPORT_SECRET = "RECONCILER_REPORT_SECRET"  # noqa: S105  # the name of a variable
WEBHOOK = "webhook"
REPORTS = ("github", "gitlab", "gitea", WEBHOOK)
SHORTEST_SECRET = 16  # characters; forges generate longer ones
LONGEST_SECRET_BYTES = 16 * 1024


@dataclass(frozen=True, slots=True)
class Operation:
    """How the daemon is operated. `listen` of `None` listens nowhere."""

    listen: str | None
    page_token_file: Path | None
    webhook_secret_file: Path | None
    report: tuple[tuple[str, str], ...]
    report_context: str
    propose: bool
    report_token_file: Path | None
    report_secret_file: Path | None


def _secret_option(name: str, variable: str, says: str) -> Option:
    """Return the option that names the file of a secret; `variable` may hold it instead."""
    return click.option(
        name,
        metavar="FILE",
        envvar=f"{variable}_FILE",
        type=click.Path(path_type=Path),
        help=f"{says}  [or: ${variable}]",
    )


page_token_option = _secret_option(
    "--page-token-file", PAGE_TOKEN, "Token of the page: the password that a browser asks for"
)
"""Who may see the page."""

OPERATION_OPTIONS = (
    click.option(
        "--listen",
        metavar="[HOST:]PORT",
        envvar="RECONCILER_LISTEN",
        help="Serve /livez, /readyz, /metrics, /hook and the page there; a port alone is on "
        "127.0.0.1. On other addresses there is a page only with a token.",
    ),
    page_token_option,
    _secret_option(
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
    _secret_option("--report-token-file", REPORT_TOKEN, "Token for the commit status"),
    _secret_option(
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
    page_token: str = ""
    report_token: str = ""
    report_secret: str = ""

    @property
    def texts(self) -> tuple[str, ...]:
        """All that there are."""
        return tuple(
            filter(None, (self.webhook, self.page_token, self.report_token, self.report_secret))
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
    page = read_secret("--page-token-file", operation.page_token_file, PAGE_TOKEN)
    return OperationSecrets(webhook, page, token, secret)


def read_secret(option: str, file: Path | None, variable: str) -> str:
    """Return the secret of a file, or else of the environment, `""` if neither is set.

    Line ends around it do not count.
    """
    if file is None:
        secret, where = os.environ.get(variable, ""), f"${variable}"
        if not secret:
            return ""
    else:
        where = f'{option} "{file}"'
        try:
            with file.open(encoding="utf-8") as stream:
                secret = stream.read(LONGEST_SECRET_BYTES)
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
            raise UsageError(f"{where} cannot be read: {reason}") from None
    secret = secret.strip("\r\n")
    if len(secret) < SHORTEST_SECRET:
        raise UsageError(f"{where} must hold at least {SHORTEST_SECRET} characters")
    return secret
