"""A disk that takes nothing: one sentence says what it is and what to do."""

import errno
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from reconciler.cli.main import run
from reconciler.shell.git.command import Finished, Git
from reconciler.shell.processes.limits import refusal, refusal_of, user_named
from tests.shell.fleet import eventually, new_fleet, reconciler, running

FULL = 'the disk that holds "/f" is full; free some space and try again'
READ_ONLY = '"/f" is on a read-only file system; make it writable, or work on a copy elsewhere'
UNSAID = 'git could not write to "/f"; see whether its disk is full, and try again'
DENIED = (
    f'{user_named(os.geteuid())} may not use "/f"; run this as its owner, or change its permissions'
)


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        pytest.param("fatal: sha1 file 'p' write error. Out of diskspace", FULL, id="diskspace"),
        pytest.param("error: x: No space left on device\nfatal: stop", FULL, id="no-space"),
        pytest.param("fatal: cannot write: Disk quota exceeded", FULL, id="quota"),
        pytest.param("fatal: Unable to create 'p': Read-only file system", READ_ONLY, id="ro"),
        pytest.param("fatal: cannot mkdir p: Permission denied", DENIED, id="denied"),
        pytest.param(
            "error: insufficient permission for adding an object to repository database .git",
            DENIED,
            id="objects",
        ),
        pytest.param("error: unable to write file status/a.yaml", UNSAID, id="no-reason"),
        pytest.param("fatal: refusing to go on", None, id="another-trouble"),
    ],
)
def test_what_git_says_of_a_disk(said: str, expected: str | None) -> None:
    """Whatever else it prints, and however often."""
    assert expected == refusal(said, "/f")
    told = str(Git(folder=Path("/f")).error(("fast-import",), Finished(128, b"", said)))
    assert (expected or "git fast-import: refusing to go on") == told


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        pytest.param(errno.ENOSPC, FULL, id="full"),
        pytest.param(errno.EDQUOT, FULL, id="quota"),
        pytest.param(errno.EROFS, READ_ONLY, id="read-only"),
        pytest.param(errno.EACCES, DENIED, id="denied"),
        pytest.param(errno.EIO, f'"/f": {os.strerror(errno.EIO)}', id="another"),
    ],
)
def test_what_the_system_says_of_a_disk(number: int, expected: str) -> None:
    """Without its numbers."""
    assert expected == refusal_of(OSError(number, os.strerror(number), "/f"))


def test_a_failure_without_a_file_is_told_too() -> None:
    """A write to an open file names none."""
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    assert "a disk is full; free some space and try again" == refusal_of(full)
    assert "no file" == refusal_of(OSError("no file"))


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A file system of two megabytes; only an administrator can mount one."""
    folder = tmp_path / "small"
    folder.mkdir()
    if os.geteuid() != 0 or shutil.which("mount") is None or _mount(folder, "size=2m"):
        pytest.skip("this user may not mount")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def _mount(folder: Path, options: str) -> int:
    """Mount a file system in memory; return the exit code."""
    command = ["mount", "-t", "tmpfs", "-o", options, "none", str(folder)]
    return subprocess.run(command, check=False, capture_output=True).returncode


def fill(folder: Path, *, but: int) -> None:
    """Leave so many bytes."""
    free = shutil.disk_usage(folder).free
    (folder / "filling").write_bytes(b"x" * (free - but))


@pytest.mark.parametrize("but", range(0, 200_000, 16_384))
def test_a_pass_on_a_full_disk(small: Path, but: int) -> None:
    """Told whenever it fills up; nothing is half-done once there is room."""
    fleet = new_fleet(small / "fleet")
    head = fleet.head()
    fill(small, but=but)

    told = reconciler(fleet.folder, "reconcile")
    (small / "filling").unlink()

    if told.code:
        assert "is full" in told.stderr
        assert "try again" in told.stderr
        assert 1 == told.stderr.count("\n")
    again = reconciler(fleet.folder, "reconcile")
    assert 0 == again.code, again.stderr
    assert head in fleet.git("log", "--format=%H").split()
    assert "" == fleet.status()
    fleet.git("fsck", "--strict")


@pytest.mark.parametrize("but", [0, 32_768, 65_536, 81_920])
def test_the_daemon_outlives_a_full_disk(small: Path, but: int) -> None:
    """It says so and tries again; once there is room, it goes on by itself."""
    fleet = new_fleet(small / "fleet")
    fill(small, but=but)
    log = small.with_name("log")

    with running(fleet.folder, log=log):
        eventually(lambda: "is full" in log.read_text(), "a warning")
        (small / "filling").unlink()
        eventually(lambda: "status/reconciler.yaml" in fleet.git("ls-files"), "a pass")
        eventually(lambda: "" == fleet.status(), "the files")


def test_a_pass_on_a_read_only_disk(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Asking goes on, committing does not."""
    fleet = new_fleet(small / "fleet")
    assert 0 == _mount(small, "remount,ro")

    assert 1 == run(["-C", str(fleet.folder), "reconcile"])
    assert "is on a read-only file system; make it writable" in capsys.readouterr().err
    assert 0 == run(["-C", str(fleet.folder), "reconcile", "--dry-run"])
