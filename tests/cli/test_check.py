"""What the daemon needs, tried: each thing that is wrong has its line, and says what to do."""

import json
import shutil
from pathlib import Path

import pytest

from reconciler.cli.main import run
from reconciler.shell.git.remotes.mirror import Mirror
from tests.shell.fleet import new_fleet
from tests.shell.keys import allowing, new_ssh_key
from tests.shell.repositories import Checkout, git, new_bare


@pytest.fixture
def fleet(tmp_path: Path) -> Checkout:
    """The example."""
    return new_fleet(tmp_path / "fleet")


def check(
    fleet: Checkout, capsys: pytest.CaptureFixture[str], *options: str
) -> tuple[int, dict[str, str], dict[str, str]]:
    """Return the exit code, how each check went, and what to do."""
    code = run(["-C", str(fleet.folder), "--cache-dir", "off", "check", "-o", "json", *options])
    found = json.loads(capsys.readouterr().out)["checks"]
    states = {one["name"]: one["state"] for one in found}
    return code, states, {one["name"]: one["remedy"] for one in found if one["remedy"]}


def test_all_is_well(fleet: Checkout, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is written meanwhile."""
    before = fleet.git("for-each-ref"), fleet.git("count-objects", "-v")

    names = ["git", "author", "secrets", "repository", "keys", "read", "write", "state", "clock"]
    assert (0, dict.fromkeys(names, "ok"), {}) == check(fleet, capsys)
    assert before == (fleet.git("for-each-ref"), fleet.git("count-objects", "-v"))


def test_a_remote_is_asked_for_both_ways(
    fleet: Checkout, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is fetched, and would take a push; no branch comes of it."""
    bare = new_bare(tmp_path / "remote.git")
    fleet.git("push", "--quiet", str(bare), "main")
    remote = ["--remote", f"file://{bare}", "--mirror", str(tmp_path / "mirror")]

    code, states, _ = check(fleet, capsys, *remote)

    assert (0, "ok", "ok") == (code, states["read"], states["write"])
    assert "refs/heads/main" == git(bare, "for-each-ref", "--format=%(refname)")


def test_a_running_daemon_is_no_obstacle(
    fleet: Checkout, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It holds its mirror, and is not to be stopped to be checked: another one is fetched."""
    bare = new_bare(tmp_path / "remote.git")
    fleet.git("push", "--quiet", str(bare), "main")
    url, mirror = f"file://{bare}", tmp_path / "mirror"

    with Mirror.open(url, mirror):
        code, states, _ = check(fleet, capsys, "--remote", url, "--mirror", str(mirror))

    assert (0, "ok", "ok") == (code, states["repository"], states["write"])


def test_a_remote_that_is_not_there_fails(
    fleet: Checkout, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What needs it is not tried."""
    remote = ["--remote", f"file://{tmp_path}/none", "--mirror", str(tmp_path / "mirror")]

    code, states, remedies = check(fleet, capsys, *remote)

    assert (1, "failed", False) == (code, states["read"], "write" in states)
    assert ["read"] == list(remedies)


def test_keys_that_do_not_fit_fail(
    fleet: Checkout, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The other checks go on."""
    ada, robot = (new_ssh_key(tmp_path / "keys", who) for who in ("ada", "robot"))
    options = ["--signing-key", str(robot.file)]
    allowed = str(allowing(tmp_path, ada))

    good = check(fleet, capsys, *options)
    code, states, _ = check(fleet, capsys, *options, "--allowed-signers", allowed)

    assert (0, "ok", "ok") == (good[0], good[1]["keys"], good[1]["permissions"])
    assert (1, "failed", "ok") == (code, states["keys"], states["read"])


def test_commits_that_would_not_count_are_told(
    fleet: Checkout, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without an anchor nothing counts; with one, what came after it waits; nothing is accepted."""
    robot = new_ssh_key(tmp_path / "keys", "robot")
    options = [
        "--signing-key",
        str(robot.file),
        "--allowed-signers",
        str(allowing(tmp_path, robot)),
    ]
    anchor = fleet.head()
    nothing = check(fleet, capsys, *options)
    whole = check(fleet, capsys, *options, "--trust-from", anchor)
    fleet.commit({"notes.txt": "n\n"})
    before = fleet.git("for-each-ref")

    later = check(fleet, capsys, *options, "--trust-from", anchor)

    states = [(code, found["trust"]) for code, found, _ in (nothing, whole, later)]
    assert [(1, "failed"), (0, "ok"), (0, "warning")] == states
    assert later[2]["trust"].startswith("sign it by an allowed key")
    assert before == fleet.git("for-each-ref")


def test_a_key_that_others_can_read_is_a_warning(
    fleet: Checkout, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """And what to do is said."""
    secret = tmp_path / "secret"
    secret.write_text("x" * 32)
    secret.chmod(0o644)

    code, states, remedies = check(
        fleet, capsys, "--listen", "9440", "--webhook-secret-file", str(secret)
    )

    assert (0, "warning") == (code, states["permissions"])
    assert f"chmod 600 {secret}, or make it readable only by this user" == remedies["permissions"]


@pytest.mark.parametrize(
    ("option", "more"),
    [
        ("--credential-file", ["--remote", "https://127.0.0.1:1/fleet.git"]),
        ("--ssh-key-file", ["--remote", "ssh://git@127.0.0.1:1/fleet.git"]),
        ("--signing-key", []),
        ("--page-token-file", []),
        ("--webhook-secret-file", ["--listen", "9440"]),
        ("--report-token-file", ["--report", "github", "https://github.com/acme/fleet"]),
        ("--report-secret-file", ["--report", "webhook", "https://127.0.0.1/events"]),
    ],
)
def test_no_file_of_a_secret_is_left_out(
    fleet: Checkout,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    option: str,
    more: list[str],
) -> None:
    """Whatever it lets into."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    secret = tmp_path / "secret"
    secret.write_text("user:" + "x" * 32)
    secret.chmod(0o644)

    _, states, _ = check(fleet, capsys, option, str(secret), *more)

    assert "warning" == states["permissions"]


def test_a_commit_of_tomorrow_is_a_warning(
    fleet: Checkout, capsys: pytest.CaptureFixture[str]
) -> None:
    """The clock is behind, or that of somebody else is ahead."""
    raw = fleet.git("cat-file", "commit", "HEAD")
    stamp = raw.split("committer ")[1].split("\n")[0].split()[-2]
    later = raw.replace(stamp, "4102444800")
    commit = git(
        fleet.folder, "hash-object", "-t", "commit", "-w", "--stdin", stdin=later.encode() + b"\n"
    )
    fleet.git("reset", "--quiet", "--hard", commit)

    code, states, remedies = check(fleet, capsys)

    assert (0, "warning") == (code, states["clock"])
    assert {"clock": "synchronize the clock, for instance with NTP"} == remedies


def test_an_old_git_fails(
    fleet: Checkout,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The version that is needed is named."""
    old = tmp_path / "bin" / "git"
    old.parent.mkdir()
    said = '[ "$1" = version ] && echo git version 2.20.1 && exit'
    old.write_text(f'#!/bin/sh\n{said}\nexec {shutil.which("git")} "$@"\n')
    old.chmod(0o755)
    monkeypatch.setenv("PATH", str(old.parent), prepend=":")

    code, states, remedies = check(fleet, capsys)

    assert (1, "failed") == (code, states["git"])
    assert "install git 2.34 or later" == remedies["git"]


def test_people_read_a_line_a_check(fleet: Checkout, capsys: pytest.CaptureFixture[str]) -> None:
    """How it went comes first."""
    assert 0 == run(["-C", str(fleet.folder), "--cache-dir", "off", "check"])

    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("ok       git: git version ")
    assert "ok       keys: commits are not signed, all commits are accepted" in lines
