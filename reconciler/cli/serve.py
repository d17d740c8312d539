"""The page of a branch, served until somebody ends it."""

from pathlib import Path
from types import FrameType

import click

from reconciler.cli.operation import PageOptions, read_access
from reconciler.cli.page.service import is_loopback, open_page
from reconciler.errors import UsageError
from reconciler.model.identity import RepositoryLayout
from reconciler.shell.daemon.watch import Wakeups
from reconciler.shell.git.repository import Repository
from reconciler.shell.http.endpoints import page_app
from reconciler.shell.http.listener import Listener, parse_address
from reconciler.shell.processes.limits import collect_steadily
from reconciler.shell.processes.signals import handle_ending

POLL_SECONDS = 5.0


def run(
    directory: Path,
    *,
    listen: str,
    page: PageOptions,
    branch: str | None,
    layout: RepositoryLayout,
) -> int:
    """Serve the page."""
    collect_steadily()
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
        open_page(directory, name, layout, access, forge=page.page_forge) as served,
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
