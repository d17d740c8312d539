"""What is trusted of a remote, through a mirror that may be lost."""

import shutil
from pathlib import Path

import pytest

from tests.cli.options.test_trust import SHOP, answer, keys
from tests.shell.fleet import EXAMPLE, new_fleet
from tests.shell.keys import commit_signed
from tests.shell.repositories import Checkout, git, new_bare


@pytest.fixture
def fleet(tmp_path: Path) -> Checkout:
    """The example."""
    return new_fleet(tmp_path / "fleet")


def test_a_remote_is_followed_from_what_is_trusted(
    fleet: Checkout, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What Ada signed is decided from and pushed signed; what nobody signed waits."""
    bare = new_bare(tmp_path / "remote.git")
    ada, _, options = keys(tmp_path, trusted=fleet.head())
    remote = ["--remote", f"file://{bare}", "--mirror", str(tmp_path / "mirror")]
    commit_signed(fleet, ada, {SHOP: EXAMPLE[SHOP].replace("replicas: 2", "replicas: 4")})
    fleet.git("push", "--quiet", str(bare), "main")
    assert 0 == answer(fleet, "reconcile", *remote, *options)
    placed = git(bare, "rev-parse", "main")
    fleet.git("fetch", "--quiet", str(bare), "main")
    fleet.git("reset", "--quiet", "--hard", "FETCH_HEAD")
    unsigned = fleet.commit({SHOP: EXAMPLE[SHOP].replace("replicas: 2", "replicas: 9")})
    fleet.git("push", "--quiet", str(bare), "main")
    capsys.readouterr()

    code = answer(fleet, "reconcile", "--dry-run", *remote, *options)

    told = capsys.readouterr().err
    assert f"main has {unsigned[:12]} by Ada <ada@example.com>, which waits: it is not" in told
    assert (1, True) == (code, "gpgsig" in git(bare, "cat-file", "commit", placed))


def test_a_mirror_that_was_lost_is_trusted_from_the_anchor_again(
    fleet: Checkout, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What was accepted was kept there; without an anchor the whole line must be signed."""
    bare, mirror = new_bare(tmp_path / "remote.git"), tmp_path / "mirror"
    _, _, options = keys(tmp_path, trusted=fleet.head())
    fleet.git("push", "--quiet", str(bare), "main")
    at = ["reconcile", "--remote", f"file://{bare}", "--mirror", str(mirror), *options]
    codes = [answer(fleet, *at, "--now", "2026-11-20T12:00:00Z")]

    shutil.rmtree(mirror)
    codes.append(answer(fleet, *at, "--now", "2026-11-20T12:05:00Z"))
    shutil.rmtree(mirror)
    capsys.readouterr()
    codes.append(answer(fleet, *at[:-2], "--now", "2026-11-20T12:10:00Z"))

    assert [0, 0, 1] == codes
    assert "it is not signed; sign it by an allowed key, or name it" in capsys.readouterr().err
