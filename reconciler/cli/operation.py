"""Options of the daemon's operation: the listener, receivers of its reports, the page, the roots.

Secrets are in files or in the environment, never in arguments, which all can read. The page is for
those who know a token, and those whom a proxy lets in. The options of roots say which roots of a
repository are served, and who computes their passes.
"""

import hashlib
import ipaddress
import os
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from reconciler.cli.options import Option, gathered
from reconciler.errors import UsageError
from reconciler.model.records import dataclass
from reconciler.shell.http.page_access import PageAccess
from reconciler.shell.http.trusted_proxies import Network

if TYPE_CHECKING:
    from reconciler.shell.git.command import HiddenTexts
    from reconciler.shell.renewed_secret import RenewedSecret


MOST_AT_ONCE = 2  # secrets of webhooks
SHORTEST_SECRET = 16  # characters; forges generate longer ones
LONGEST_SECRET_BYTES = 16 * 1024


def secret_option(name: str, variable: str, says: str) -> Option:
    """Return the option that names the file of a secret; `variable` may hold it instead."""
    return click.option(
        name,
        metavar="FILE",
        envvar=f"{variable}_FILE",
        type=click.Path(path_type=Path),
        help=f"{says}  [or: ${variable}]",
    )


def read_secret(
    option: str, file: Path | None, variable: str, longest_bytes: int = LONGEST_SECRET_BYTES
) -> str:
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
                secret = stream.read(longest_bytes)
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
            raise UsageError(f"{where} cannot be read: {reason}") from None
    secret = secret.strip("\r\n")
    if len(secret) < SHORTEST_SECRET:
        raise UsageError(f"{where} must hold at least {SHORTEST_SECRET} characters")
    return secret


def read_secrets_of_hooks(option: str, file: Path | None, variable: str) -> str:
    """Return the secrets of webhooks, one a line: two may hold at once, while one is renewed."""
    secret = read_secret(option, file, variable)
    lines = [line for line in secret.splitlines() if line.strip()]
    if len(lines) > MOST_AT_ONCE:
        raise UsageError(f"{option} must hold at most {MOST_AT_ONCE} secrets, each on its own line")
    if any(len(line.strip()) < SHORTEST_SECRET for line in lines):
        raise UsageError(f"{option} must hold at least {SHORTEST_SECRET} characters on each line")
    return "\n".join(lines)


PAGE_TOKEN = "RECONCILER_PAGE_TOKEN"  # noqa: S105  # the name of a variable
FORGES = ("github", "gitlab", "gitea")
HEADER_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,63}")
SHARE = re.compile(r"([0-9]{1,4})/([0-9]{1,4})")
OF_EVERYBODY = frozenset(
    {
        *("accept", "accept-encoding", "accept-language", "authorization", "cache-control"),
        *("connection", "content-length", "content-type", "cookie", "forwarded", "host", "origin"),
        *("pragma", "referer", "user-agent", "via", "x-forwarded-for", "x-forwarded-host"),
        *("x-forwarded-port", "x-forwarded-proto", "x-real-ip"),
    }
)
"""Headers that say nothing of who asks: browsers and proxies send them for everybody."""


class HeaderName(click.ParamType[str]):
    """Name of the header in which a proxy says who asks."""

    name = "header"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the name in lower case, as headers are compared."""
        if HEADER_NAME.fullmatch(value) is None:
            self.fail(
                f'"{value}" must be the name of a header: letters, digits and "-", such as '
                "X-Forwarded-User",
                param,
                ctx,
            )
        if value.lower() in OF_EVERYBODY:
            self.fail(
                f'"{value}" must be a header that the proxy sends only for those whom it let in, '
                "such as X-Forwarded-User",
                param,
                ctx,
            )
        return value.lower()


class AddressRange(click.ParamType[Network]):
    """Addresses from which a proxy connects."""

    name = "range"

    def convert(
        self, value: str | Network, param: click.Parameter | None, ctx: click.Context | None
    ) -> Network:
        """Return the range that an address or a CIDR names."""
        if not isinstance(value, str):
            return value
        try:
            parsed = ipaddress.ip_network(value, strict=False)
        except ValueError:
            self.fail(
                f'"{value}" must be an address or a range of them, such as 10.0.0.7 or 10.1.0.0/24',
                param,
                ctx,
            )
        if parsed.prefixlen == 0:
            self.fail(f'"{value}" covers every address; give those of the proxy', param, ctx)
        if ipaddress.ip_address(value.partition("/")[0]) != parsed.network_address:
            self.fail(f'"{value}" is not the start of a range; use {parsed}', param, ctx)
        return parsed


@dataclass(frozen=True, slots=True)
class PageOptions:
    """Who may see the page, and where its commits are for people, as options say it."""

    page_token_file: Path | None
    page_user_header: str | None
    page_trusted_proxy: tuple[Network, ...]
    page_forge: tuple[str, str] | None


PAGE_OPTIONS = (
    secret_option(
        "--page-token-file",
        PAGE_TOKEN,
        "Token for the page: the password that the browser asks for",
    ),
    click.option(
        "--page-user-header",
        metavar="NAME",
        envvar="RECONCILER_PAGE_USER_HEADER",
        type=HeaderName(),
        help="Header with the user authenticated by a proxy, such as X-Forwarded-User; accepted "
        "only from --page-trusted-proxy.",
    ),
    click.option(
        "--page-trusted-proxy",
        metavar="CIDR",
        envvar="RECONCILER_PAGE_TRUSTED_PROXY",
        type=AddressRange(),
        multiple=True,
        help="Address or range of that proxy (repeatable).",
    ),
    click.option(
        "--page-forge",
        metavar="KIND URL",
        envvar="RECONCILER_PAGE_FORGE",
        type=(click.Choice(FORGES), str),
        help="Repository at github, gitlab or gitea for the page's links to commits and files.",
    ),
)


def page_options(function: Callable[..., int]) -> Callable[..., int]:
    """Add the options of who may see the page; the verb gets them as its `page`."""
    return gathered(function, "page", PageOptions, PAGE_OPTIONS)


def read_access(page: PageOptions) -> PageAccess:
    """Return who may see the page.

    Raises:
        UsageError: The token cannot be read, or a header is named without a proxy, or the reverse.
    """
    header = page.page_user_header or ""
    if bool(header) != bool(page.page_trusted_proxy):
        raise UsageError(
            "--page-user-header and --page-trusted-proxy require each other: the header that names "
            "the user, and the addresses of the proxy that may send it"
        )
    token = read_secret("--page-token-file", page.page_token_file, PAGE_TOKEN)
    return PageAccess(token=token, user_header=header, proxies=page.page_trusted_proxy)


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
        help="Address to serve /livez, /readyz, /metrics, /hook and the page on; a port alone "
        "means 127.0.0.1. On other addresses the page requires a token or a trusted proxy.",
    ),
    page_options,
    secret_option(
        "--webhook-secret-file", HOOK_SECRET, "Secret for POST /hook, which is disabled without one"
    ),
    click.option(
        "--report",
        metavar="KIND URL",
        envvar="RECONCILER_REPORT",
        type=(click.Choice(REPORTS), str),
        multiple=True,
        help="Report to a repository at github, gitlab or gitea (commit status), or to a webhook "
        "(signed documents of decisions and faults); repeatable.",
    ),
    click.option(
        "--report-context",
        metavar="NAME",
        envvar="RECONCILER_REPORT_CONTEXT",
        default="reconciler",
        show_default=True,
        help="Name of the commit status; must be unique among daemons that share a repository.",
    ),
    click.option(
        "--propose",
        is_flag=True,
        envvar="RECONCILER_PROPOSE",
        help="Open a pull request at the forge of --report to release held removals.",
    ),
    secret_option("--report-token-file", REPORT_TOKEN, "Token for the commit status"),
    secret_option("--report-secret-file", REPORT_SECRET, "Secret to sign webhook documents with"),
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
        from reconciler.shell.git.command import HiddenTexts

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
        raise UsageError("a webhook secret requires --listen, which serves /hook")
    token = renewed(_token, "--report-token-file", operation.report_token_file, REPORT_TOKEN)
    secret = renewed(
        read_secret, "--report-secret-file", operation.report_secret_file, REPORT_SECRET
    )
    kinds = [kind for kind, _ in operation.report]
    forges = [kind for kind in kinds if kind != WEBHOOK]
    if len(forges) > 1:
        raise UsageError("--report accepts only one forge, since there is only one token")
    if operation.propose and not forges:
        raise UsageError("--propose requires --report github, gitlab or gitea")
    if bool(forges) != bool(token()):
        raise UsageError(
            f"--report of a forge and --report-token-file (${REPORT_TOKEN}) require each other"
        )
    if (WEBHOOK in kinds) != bool(secret()):
        raise UsageError(
            f"--report webhook and --report-secret-file (${REPORT_SECRET}) require each other"
        )
    return OperationSecrets(webhook, read_access(operation.page), token, secret)


def _token(option: str, file: Path | None, variable: str) -> str:
    token = read_secret(option, file, variable)
    if not (token.isascii() and token.isprintable()):
        raise UsageError("the token of --report must be one line of ASCII")
    return token


class RootShare(NamedTuple):
    """A fixed part of the roots: the second of five is 2/5."""

    part: int
    of: int

    def __str__(self) -> str:
        return f"{self.part}/{self.of}"

    def has(self, root: str) -> bool:
        """Return whether a root belongs to it, which no other root has a say in.

        >>> [[RootShare(part, 2).has(root) for part in (1, 2)] for root in ("teams/a", "teams/c")]
        [[True, False], [False, True]]
        """
        digest = hashlib.sha256(root.encode(errors="surrogateescape")).digest()
        return int.from_bytes(digest, "big") % self.of == self.part - 1


class RootShareType(click.ParamType[RootShare]):
    """Which part of the roots a daemon serves."""

    name = "share"

    def convert(
        self, value: str | RootShare, param: click.Parameter | None, ctx: click.Context | None
    ) -> RootShare:
        """Return the part that is meant."""
        if isinstance(value, RootShare):
            return value
        if (parsed := SHARE.fullmatch(value)) is None or not 1 <= int(parsed[1]) <= int(parsed[2]):
            self.fail(f'"{value}" must be a part of the roots such as 2/5', param, ctx)
        return RootShare(int(parsed[1]), int(parsed[2]))


@dataclass(frozen=True, slots=True)
class RootOptions:
    """Which roots, by folder, by pattern and by share, and the address of a Dask cluster.

    `share` and `executor` are `None` for all, and for none.
    """

    roots: tuple[str, ...]
    patterns: tuple[str, ...]
    share: RootShare | None
    executor: str | None


ROOT_OPTIONS = (
    click.option(
        "--root",
        "roots",
        metavar="DIR",
        multiple=True,
        envvar="RECONCILER_ROOTS",
        help="Folder of the repository to serve, each independently (repeatable)  [default: as -C]",
    ),
    click.option(
        "--roots",
        "patterns",
        metavar="GLOB",
        multiple=True,
        envvar="RECONCILER_ROOTS_GLOB",
        help="Serve all matching folders of the branch that have a reconciler.yaml, including "
        "those added later (repeatable).",
    ),
    click.option(
        "--share",
        metavar="K/N",
        type=RootShareType(),
        envvar="RECONCILER_SHARE",
        help="Serve the K-th of N fixed parts of these roots; other daemons serve the others.",
    ),
    click.option(
        "--executor",
        metavar="ADDRESS",
        envvar="RECONCILER_EXECUTOR",
        help="Compute on the workers of a Dask cluster, dask://HOST:PORT  [default: this process]",
    ),
)


def check_share(asked: RootOptions) -> None:
    """Raise `UsageError` where there is nothing to share, or workers share it already."""
    if asked.share is None:
        return
    if not asked.roots and not asked.patterns:
        raise UsageError("--share requires --roots or --root, whose roots are shared")
    if asked.executor is not None:
        raise UsageError("--share cannot be combined with --executor: workers share all roots")


def root_options(function: Callable[..., int]) -> Callable[..., int]:
    """Add the options; the verb gets them as its `served_roots`."""
    return gathered(function, "served_roots", RootOptions, ROOT_OPTIONS)
