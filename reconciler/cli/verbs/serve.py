"""`reconciler serve`: the page of a branch, without the daemon."""

from pathlib import Path
from types import FrameType

import click

from reconciler.cli.options.layout import layout_options
from reconciler.cli.options.options import read_branch_option
from reconciler.cli.options.page_access import PageOptions, page_options, read_access
from reconciler.errors import UsageError
from reconciler.model.repository_layout import RepositoryLayout
from reconciler.shell.processes.held_signals import handle_ending

POLL_SECONDS = 5.0


@click.command(name="serve")
@click.option(
    "--listen",
    metavar="[HOST:]PORT",
    envvar="RECONCILER_LISTEN",
    default="8080",
    show_default=True,
    help="Where; a port alone is on 127.0.0.1, any other takes a token or a trusted proxy.",
)
@page_options
@read_branch_option
@layout_options
@click.pass_obj
def command(
    directory: Path,
    *,
    listen: str,
    page: PageOptions,
    branch: str | None,
    layout: RepositoryLayout,
) -> int:
    r"""Serve the page of a branch until Ctrl-C: where everything runs, what moved, why, what comes.

    It only reads, and follows the branch as somebody else's passes move it. `reconciler run
    --listen` has the same page.

    \b
    Examples:
      reconciler serve
      reconciler serve --listen 9000 --branch production
      reconciler serve --listen 0.0.0.0:9000 --page-token-file /etc/reconciler/page
      reconciler serve --listen 0.0.0.0:9000 --page-user-header X-Forwarded-User \\
        --page-trusted-proxy 10.1.0.0/24
    \b
    Exit codes: 0 stopped, 1 it cannot listen, 2 no such branch, an address without token or proxy.
    """
    from reconciler.cli.page.service import is_loopback, open_page
    from reconciler.shell.daemon.watch import Wakeups
    from reconciler.shell.git.repository import Repository
    from reconciler.shell.http.endpoints import page_app
    from reconciler.shell.http.listener import Listener, parse_address

    address = parse_address(listen)
    access = read_access(page)
    if not access.is_guarded and not is_loopback(address.host):
        raise UsageError(
            f"{address.host} is not the loopback: give the page a token (--page-token-file), "
            "or a proxy that lets people in (--page-user-header, --page-trusted-proxy)"
        )
    repository = Repository.open(directory)
    name = branch or repository.head_branch()
    repository.resolve(name)
    with (
        Wakeups(repository.common_dir, poll_seconds=POLL_SECONDS) as wakeups,
        open_page(directory, name, layout, access) as served,
        Listener(address, page_app(served), proxies=access.proxies) as listener,
    ):

        def stop(number: int, frame: FrameType | None) -> None:
            del number, frame
            wakeups.stop()

        handle_ending(stop)
        served.news.tell(repository.resolve(name))
        place = listener.address
        host = f"[{place.host}]" if ":" in place.host else place.host
        click.echo(f"http://{host}:{place.port}/")
        while wakeups.wait():
            served.news.tell(repository.find(name) or served.news.revision)
    return 0
