"""The page of a daemon that serves several roots: a list of them, and a page for each."""

import re
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import httpx
import pytest

from reconciler.cli.main import run
from tests.cli.test_operation import port_in
from tests.page.served import VIEWS
from tests.shell.daemon.test_roots import LATER, ROOTS, fleets, options
from tests.shell.fleet import PATIENCE_SECONDS, eventually, running
from tests.shell.repositories import Checkout, new_bare, new_checkout

PART_OF_THE_REASON = "the last pass failed"  # long enough for a token
LISTEN = ("--poll-seconds", "0.2", "--listen", "0")
DECIDED = re.compile(r'<a href="\./(roots/[^"]+/)">([^<]+)</a>.*?<td class="(good|bad)">([^<]*)')


@dataclass(frozen=True)
class Listening:
    """The listener of a daemon that runs."""

    log: Path

    token: str = ""

    def get(self, path: str) -> httpx.Response:
        """Ask it."""
        at = f"http://127.0.0.1:{port_in(self.log)}{path}"
        known = {"authorization": f"Bearer {self.token}"} if self.token else {}
        return httpx.get(at, timeout=PATIENCE_SECONDS, headers=known)

    def roots(self) -> dict[str, tuple[str, str]]:
        """Return where the list leads and what it says of each root, by name."""
        rows = DECIDED.findall(self.get("/").text)
        return {name: (href, says) for href, name, _, says in rows}


def shows(daemon: Listening, path: str, text: str) -> bool:
    """Return whether a view holds a text."""
    return text in daemon.get(path).text


def answers(daemon: Listening, path: str) -> bool:
    """Return whether a view is there, and not on its way."""
    return 200 == daemon.get(path).status_code


@pytest.fixture
def fleet(tmp_path: Path) -> Checkout:
    """The example in two folders."""
    return new_checkout(tmp_path / "fleet", fleets(*ROOTS))


@pytest.mark.cpu_seconds(40)  # every view, those with a plan included
def test_the_list_leads_to_the_page_of_each_root(tmp_path: Path, fleet: Checkout) -> None:
    """Every view stands below the root's name, and no name leads elsewhere."""
    daemon = Listening(tmp_path / "log")
    with running(fleet.folder, *options(*ROOTS), *LISTEN, log=daemon.log):
        eventually(
            lambda: set(ROOTS) == {n for n, (_, s) in daemon.roots().items() if s == "ready"},
            "both roots",
        )
        assert {root: f"roots/{root}/" for root in ROOTS} == {
            name: href for name, (href, _) in daemon.roots().items()
        }
        for view in VIEWS:
            path = f"/roots/teams/a{view}"
            eventually(partial(answers, daemon, path), view)
        assert shows(daemon, "/roots/teams/b/matrix", '<a href="../../../">Roots</a>')
        assert shows(daemon, "/roots/teams/b/matrix", "deployment/shop")
        assert {404} == {
            daemon.get(path).status_code
            for path in ("/matrix", "/roots/teams/matrix", "/roots/teams/c/", "/roots/")
        }


def test_a_root_without_a_folder_has_a_page(tmp_path: Path, fleet: Checkout) -> None:
    """In the mirror of a remote no root is a folder; each page shows its own root."""
    remote = new_bare(tmp_path / "remote.git", fleets("teams/a"))
    daemon = Listening(tmp_path / "log")
    words = ("--remote", f"file://{remote}", "--mirror", str(tmp_path / "mirror"))
    with running(fleet.folder, *words, *options(*ROOTS), *LISTEN, log=daemon.log):
        eventually(lambda: set(ROOTS) == set(daemon.roots()), "the list")
        eventually(
            lambda: shows(daemon, "/roots/teams/a/matrix", "deployment/shop"), "the root with files"
        )
        eventually(lambda: answers(daemon, "/roots/teams/b/matrix"), "the other")
        assert not shows(daemon, "/roots/teams/b/matrix", "deployment/shop")


def test_a_root_that_fails_is_told_and_the_other_is_shown(tmp_path: Path, fleet: Checkout) -> None:
    """The list says what ails it, and its page has what it decided before."""
    assert 0 == run(["-C", str(fleet.folder / "teams/b"), "reconcile", "--now", LATER])
    daemon = Listening(tmp_path / "log")
    with running(fleet.folder, *options(*ROOTS), *LISTEN, log=daemon.log):
        eventually(lambda: "clock" in daemon.roots().get("teams/b", ("", ""))[1], "the failure")
        eventually(lambda: "ready" == daemon.roots()["teams/a"][1], "the other root")
        for root in ROOTS:
            assert shows(daemon, f"/roots/{root}/matrix", "deployment/shop")


def test_the_token_guards_the_list_and_every_page(tmp_path: Path, fleet: Checkout) -> None:
    """Who does not know it learns no name of a root."""
    secret = tmp_path / "token"
    secret.write_text("correct horse battery staple")
    secret.chmod(0o600)
    daemon = Listening(tmp_path / "log")
    words = (*options(*ROOTS), *LISTEN, "--page-token-file", str(secret))
    with running(fleet.folder, *words, log=daemon.log):
        eventually(lambda: "listening" in daemon.log.read_text(), "the listener")
        paths = ("/", "/events", "/style.css", "/roots/teams/a/", "/roots/no/such/root")
        assert {401} == {daemon.get(path).status_code for path in paths}


def test_the_list_holds_no_secret(tmp_path: Path, fleet: Checkout) -> None:
    """Whatever a root's failure says: here the token happens to stand in the sentence."""
    assert 0 == run(["-C", str(fleet.folder / "teams/b"), "reconcile", "--now", LATER])
    secret = tmp_path / "token"
    secret.write_text(PART_OF_THE_REASON)
    secret.chmod(0o600)
    daemon = Listening(tmp_path / "log", PART_OF_THE_REASON)
    words = (*options(*ROOTS), *LISTEN, "--page-token-file", str(secret))
    with running(fleet.folder, *words, log=daemon.log):
        eventually(lambda: "clock" in daemon.get("/").text, "the failure")
        assert PART_OF_THE_REASON not in daemon.get("/").text
