"""`reconciler status --remote`: how a branch of a remote stands, without a checkout."""

from pathlib import Path

import pytest

from reconciler.cli.main import run
from tests.cli.history import answer, told_fleet
from tests.shell.repositories import Checkout

Capsys = pytest.CaptureFixture[str]


@pytest.fixture
def remote(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Checkout, str]:
    """A checkout, and a bare repository that has its branch."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    fleet = told_fleet(tmp_path / "fleet")
    bare = tmp_path / "bare.git"
    fleet.git("clone", "--quiet", "--bare", str(fleet.folder), str(bare))
    return fleet, f"file://{bare}"


@pytest.mark.usefixtures("an_hour_later")
@pytest.mark.parametrize("more", [(), ("--at", "HEAD~2"), ("-o", "json")])
def test_a_remote_is_told_as_its_checkout_is(
    remote: tuple[Checkout, str], tmp_path: Path, capsys: Capsys, more: tuple[str, ...]
) -> None:
    """But for where it is; asked from a folder without any repository."""
    fleet, url = remote
    (tmp_path / "elsewhere").mkdir()
    here = answer(fleet, capsys, "status", *more)[1].splitlines()

    for _ in range(2):  # the mirror is there, and asked again
        code = run(["-C", str(tmp_path / "elsewhere"), "status", "--remote", url, *more])
        there = capsys.readouterr().out.splitlines()

        assert 0 == code
        assert here[2:] == there[2:]
    if not more:
        assert f"Root:        {url}, outputs in status/" == there[0]
        assert here[1] == there[1]


def test_a_branch_that_is_not_there_is_named(remote: tuple[Checkout, str], capsys: Capsys) -> None:
    """And which option names another."""
    _, url = remote

    code = run(["status", "--remote", url, "--branch", "other"])

    assert 2 == code
    assert f'{url} has no branch "other"; name one: --branch' in capsys.readouterr().err


def test_a_branch_goes_with_a_remote(capsys: Capsys) -> None:
    """Of a checkout a revision is asked for."""
    assert 2 == run(["status", "--branch", "other"])
    assert "--branch goes with --remote; --at names" in capsys.readouterr().err


def test_a_remote_that_is_not_there_is_told(tmp_path: Path, capsys: Capsys) -> None:
    """With the exit code of what a person did not write wrong."""
    code = run(["status", "--remote", f"file://{tmp_path}/none.git"])

    assert 1 == code
    assert "does not appear to be a git repository" in capsys.readouterr().err
