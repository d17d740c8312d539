"""The page of a branch for a listener: the processes that answer it, and who may see it."""

import ipaddress
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from reconciler.cli.options import chosen_cache
from reconciler.model.identity import RepositoryLayout

if TYPE_CHECKING:
    from reconciler.shell.http.page_access import PageAccess
    from reconciler.shell.http.page_endpoints import PageEndpoints


OPTION = "--page-forge"


@contextmanager
def open_page(
    directory: Path,
    branch: str,
    layout: RepositoryLayout,
    access: "PageAccess",
    *,
    forge: tuple[str, str] | None = None,
    below: str = "",
    home: str = "",
    warnings: Callable[[], tuple[str, ...]] = tuple,
    ails: Callable[[], str] | None = None,
) -> "Iterator[PageEndpoints]":
    """Answer the page while the block lasts.

    Args:
        directory: The repository.
        branch: Name of the branch, as people call it.
        layout: Where the outputs are.
        access: Who may see it.
        forge: Kind and address of the forge to which it links, `None` for none.
        below: Folder of it that matters, from there; it need not be there yet.
        home: Where the list of the roots is, as the page sees it; `""` where there is none.
        warnings: Returns what is wrong beside what is in the repository, a sentence each.
        ails: Returns why nobody should rely on the daemon, `None` where there is none.
    """
    from reconciler.shell.http.page_endpoints import PageEndpoints, PageNews
    from reconciler.shell.http.page_process import PageProcesses

    if forge is not None:
        from reconciler.shell.reports.forges import open_forge

        open_forge(
            *forge, "", branch=branch, option=OPTION
        )  # an address that is none is told at once
    words = [sys.executable, "-m", "reconciler.cli.page.worker", "-C", str(directory.resolve())]
    words += ["--branch", branch, "--below", below, "--home", home]
    words += ["--output-root", layout.output_root]
    words += ["--output-branch", apart] if (apart := layout.output_branch) else []
    words += ["--cache-dir", cache] if (cache := chosen_cache()) else []
    words += ["--forge", *forge] if forge is not None else []
    processes = PageProcesses(words)
    try:
        yield PageEndpoints(processes, PageNews(), access, warnings, ails)
    finally:
        processes.close()


def is_loopback(host: str) -> bool:
    """Return whether only this machine reaches a host.

    >>> is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
