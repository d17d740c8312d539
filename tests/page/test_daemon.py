"""The page of a running daemon: on the port of its probes, and only for those who may see it."""

from pathlib import Path

import httpx
import pytest

from reconciler.cli.main import run
from tests.cli.options.test_operation import port_in
from tests.shell.fleet import eventually, new_fleet, running


def test_the_daemon_shows_what_it_decided(tmp_path: Path) -> None:
    """As soon as its first pass is over."""
    fleet, log = new_fleet(tmp_path / "fleet"), tmp_path / "log"
    with running(fleet.folder, "--listen", "0", log=log):
        at = f"http://127.0.0.1:{port_in(log)}"
        eventually(
            lambda: "deployment/shop" in httpx.get(f"{at}/matrix", timeout=60).text, "the page"
        )


def test_a_daemon_whose_passes_fail_shows_what_was_decided_before(tmp_path: Path) -> None:
    """Its clock is behind the last pass; somebody must look, so there is something to see."""
    fleet, log = new_fleet(tmp_path / "fleet"), tmp_path / "log"
    assert 0 == run(["-C", str(fleet.folder), "reconcile", "--now", "2099-01-01T00:00:00Z"])
    with running(fleet.folder, "--listen", "0", log=log):
        at = f"http://127.0.0.1:{port_in(log)}"
        eventually(
            lambda: "deployment/shop" in httpx.get(f"{at}/matrix", timeout=60).text, "the page"
        )


@pytest.mark.parametrize(("path", "status"), [("/livez", 200), ("/", 404), ("/matrix", 404)])
def test_on_all_addresses_there_is_no_page_without_a_token(
    tmp_path: Path, path: str, status: int
) -> None:
    """Probes stay as they are."""
    fleet, log = new_fleet(tmp_path / "fleet"), tmp_path / "log"
    with running(fleet.folder, "--listen", "0.0.0.0:0", log=log):
        assert status == httpx.get(f"http://127.0.0.1:{port_in(log)}{path}").status_code
