"""Options of who may see the page: those who know a token, and those whom a proxy lets in."""

import ipaddress
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import click

from reconciler.cli.options.option_group import gathered
from reconciler.cli.options.secret_files import read_secret, secret_option
from reconciler.errors import UsageError
from reconciler.shell.http.page_access import PageAccess
from reconciler.shell.http.trusted_proxies import Network

PAGE_TOKEN = "RECONCILER_PAGE_TOKEN"  # noqa: S105  # the name of a variable
FORGES = ("github", "gitlab", "gitea")
HEADER_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,63}")
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
            found = ipaddress.ip_network(value, strict=False)
        except ValueError:
            self.fail(
                f'"{value}" must be an address or a range of them, such as 10.0.0.7 or 10.1.0.0/24',
                param,
                ctx,
            )
        if found.prefixlen == 0:
            self.fail(f'"{value}" is every address; name those of the proxy', param, ctx)
        if ipaddress.ip_address(value.partition("/")[0]) != found.network_address:
            self.fail(f'"{value}" is not where a range begins; write {found}', param, ctx)
        return found


@dataclass(frozen=True, slots=True)
class PageOptions:
    """Who may see the page, and where its commits are for people, as options say it."""

    page_token_file: Path | None
    page_user_header: str | None
    page_trusted_proxy: tuple[Network, ...]
    page_forge: tuple[str, str] | None


PAGE_OPTIONS = (
    secret_option(
        "--page-token-file", PAGE_TOKEN, "Token of the page: the password that a browser asks for"
    ),
    click.option(
        "--page-user-header",
        metavar="NAME",
        envvar="RECONCILER_PAGE_USER_HEADER",
        type=HeaderName(),
        help="Header in which a proxy names the person that it let in, such as X-Forwarded-User; "
        "it counts from --page-trusted-proxy only.",
    ),
    click.option(
        "--page-trusted-proxy",
        metavar="CIDR",
        envvar="RECONCILER_PAGE_TRUSTED_PROXY",
        type=AddressRange(),
        multiple=True,
        help="Address or range from which that proxy connects; may be repeated.",
    ),
    click.option(
        "--page-forge",
        metavar="KIND URL",
        envvar="RECONCILER_PAGE_FORGE",
        type=(click.Choice(FORGES), str),
        help="Repository at github, gitlab or gitea to which the page links commits and files.",
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
            "--page-user-header and --page-trusted-proxy go along: the header that names the "
            "person, and the addresses of the proxy that may send it"
        )
    token = read_secret("--page-token-file", page.page_token_file, PAGE_TOKEN)
    return PageAccess(token=token, user_header=header, proxies=page.page_trusted_proxy)
