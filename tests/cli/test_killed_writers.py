"""Who writes people's files and is killed at any step: the same command once more ends it."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from reconciler.cli.main import run
from tests.bounded import is_bounded
from tests.crash.victim import FileOperations
from tests.shell.fleet import new_fleet

STRIDE = 7 if is_bounded() else 1

pytestmark = [pytest.mark.cpu_seconds(120), pytest.mark.timeout(300)]  # a process for each step


def in_child(work: Callable[[], int]) -> int:
    """Do something in a process of its own; return how that ended, negative by a signal."""
    child = os.fork()
    if not child:
        code = 70
        try:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            os.dup2(1, 2)
            code = work()
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def killed(root: Path, control: Path, arguments: list[str]) -> Iterator[int]:
    """Run a command again and again, killed at one file operation after the other below a root."""
    number = 1
    while True:

        def work(at: int = number) -> int:
            FileOperations(root, control, number=at).install()
            return run(arguments)

        code = in_child(work)
        if code >= 0:
            assert 0 == code
            return
        yield number
        number += STRIDE


def contents(folder: Path) -> dict[str, bytes]:
    """All that stands in a folder, but for git's own."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and ".git" not in path.relative_to(folder).parts
    }


def test_an_init_that_is_killed_goes_on_or_begins_anew(tmp_path: Path) -> None:
    """Whatever is there then, all of it is there after the next one, and nothing else."""
    calm, control = tmp_path / "calm", tmp_path / "control"
    control.mkdir()
    assert 0 == in_child(lambda: run(["init", str(calm)]))
    expected, steps = contents(calm), 0
    root = tmp_path / "root"
    root.mkdir()
    for number in killed(root, control, ["init", str(root / "0")]):
        steps += 1
        assert 0 == in_child(lambda: run(["init", str(root / "0")])), number
        assert expected == contents(root / "0"), number
        (root / "0").rename(tmp_path / f"done-{number}")

    assert steps * STRIDE > len(expected)


def test_an_edit_that_is_killed_leaves_no_file_of_its_own(tmp_path: Path) -> None:
    """Neither then nor later; the edit is there or not."""
    fleet, control = new_fleet(tmp_path / "fleet"), tmp_path / "control"
    control.mkdir()
    path = fleet.folder / "workloads/shop.yaml"
    before, names = path.read_bytes(), contents(fleet.folder).keys()
    arguments = ["-C", str(fleet.folder), "scale", "deployment/shop", "--replicas=9"]
    steps = 0
    for number in killed(fleet.folder, control, arguments):
        steps += 1
        assert names == contents(fleet.folder).keys(), number
        path.write_bytes(before)

    assert steps
    assert b"replicas: 9" in path.read_bytes()
    assert [] == list((fleet.folder / ".git/reconciler-drafts").iterdir())
