"""The page for tests: on a free port of the loopback, by the processes that really answer."""

import http.client
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from reconciler.cli.page.service import open_page
from reconciler.model.identity import RepositoryLayout
from reconciler.shell.git.repository import Repository
from reconciler.shell.http.endpoints import page_app
from reconciler.shell.http.listener import Address, Listener
from reconciler.shell.http.page_access import PageAccess
from reconciler.shell.http.page_endpoints import PageEndpoints

PATIENCE_SECONDS = 120.0  # only ends what hangs
VIEWS = (
    "/",
    "/clusters",
    "/clusters?sort=-taken",
    "/cluster?name=member1",
    "/objects",
    "/objects?state=unplaced",
    "/search?list=1&q=shop",
    "/manifest?group=apps&kind=Deployment&namespace=default&name=shop",
    "/matrix",
    "/matrix?group=policy",
    "/timeline",
    "/coming",
    "/rebalancers",
    "/faults",
    "/plan",
    "/what-if",
    "/what-if?cordon=member2",
    "/rebalance?group=apps&kind=Deployment&namespace=default&name=shop",
    "/suspend?group=apps&kind=Deployment&namespace=default&name=shop",
    "/rebalance?of=objects&name=shop",
    "/suspend?of=objects&name=shop",
    "/plan?branch=main",
    "/object?group=apps&kind=Deployment&namespace=default&name=shop",
)


@dataclass(frozen=True)
class Answer:
    """What came back."""

    status: int
    headers: Mapping[str, str]
    text: str


@dataclass(frozen=True)
class ServedPage:
    """A page that is served."""

    folder: Path
    port: int
    endpoints: PageEndpoints

    @property
    def address(self) -> str:
        """Where it is."""
        return f"http://127.0.0.1:{self.port}"

    def get(
        self,
        path: str,
        method: str = "GET",
        headers: Mapping[str, str] | None = None,
        *,
        source: str = "127.0.0.1",
    ) -> Answer:
        """Ask for a path, from an address of this machine."""
        connection = http.client.HTTPConnection(
            "127.0.0.1", self.port, timeout=PATIENCE_SECONDS, source_address=(source, 0)
        )
        try:
            connection.request(method, path, headers=dict(headers or {}))
            found = connection.getresponse()
            told = {name.lower(): value for name, value in found.getheaders()}
            return Answer(found.status, told, found.read().decode())
        finally:
            connection.close()

    def raw(self, path: str, headers: Mapping[str, str]) -> bytes:
        """Ask for a path, and return the bytes that come."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_SECONDS)
        try:
            connection.request("GET", path, headers=dict(headers))
            return connection.getresponse().read()
        finally:
            connection.close()

    def renew(self) -> str:
        """Say where the branch is, as a pass does; return it."""
        head = Repository.open(self.folder).resolve("main")
        self.endpoints.news.tell(head)
        return head


@contextmanager
def served_page(
    folder: Path, access: PageAccess | None = None, forge: tuple[str, str] | None = None
) -> Iterator[ServedPage]:
    """Serve the page of a checkout's branch while the block lasts."""
    with open_page(
        folder, "main", RepositoryLayout(), access or PageAccess(), forge=forge
    ) as endpoints:
        endpoints.answer_seconds = PATIENCE_SECONDS
        address = Address("127.0.0.1", 0)
        app = page_app(endpoints)
        with Listener(address, app, connection_seconds=PATIENCE_SECONDS) as listener:
            found = ServedPage(folder, listener.address.port, endpoints)
            found.renew()
            yield found
