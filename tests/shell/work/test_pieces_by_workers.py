"""A large first pass of a root that the workers of a real Dask cluster compute in pieces."""

import signal
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.shell.daemon.test_roots import ROOTS
from tests.shell.fleet import Clock, eventually, new_passes
from tests.shell.repositories import NOW, git, new_checkout
from tests.shell.work.roots_by_workers import CONFIGURATION, Served, served_in
from tests.shell.work.test_divided_pass import FILES
from tests.soak.replay import replay

pytestmark = pytest.mark.cpu_seconds(60)  # a scheduler, a daemon, two workers each

ROOT = ROOTS[0]
DIVIDES = """
import os, signal
from pathlib import Path
from reconciler.shell.work import divided_pass
divided_pass.decide_divided.__kwdefaults__["enough"] = 1
decide = divided_pass.reconcile
def told(*given):
    Path({folder!r}, str(os.getpid())).touch()
    if {dies}:
        try: Path({folder!r}, "died").touch(exist_ok=False)
        except FileExistsError: return decide(*given)
        os.kill(os.getpid(), signal.SIGKILL)
    return decide(*given)
divided_pass.reconcile = told
"""
"""Has a worker divide whatever it can, and tell that it takes a piece; the first one may die."""


def files() -> Mapping[str, str]:
    """One root whose workloads are decided apart."""
    fleet = {f"{ROOT}/{path}": text for path, text in FILES.items()}
    return {**fleet, f"{ROOT}/reconciler.yaml": CONFIGURATION}


def begun(served: Served, *, dies: bool) -> Path:
    """Start two workers; return the folder in which those that take a piece are named."""
    folder = served.folder / "took"
    folder.mkdir()
    for _ in range(2):
        served.start_worker(DIVIDES.format(folder=str(folder), dies=dies))
    return folder


def wait_for_pass(served: Served) -> None:
    """Wait until the root is placed, and the daemon ready."""
    eventually(lambda: served.ready() and bool(served.passes_of(ROOT)), "the first pass")


def test_all_workers_take_pieces_of_a_root(tmp_path: Path) -> None:
    """And bring about the files of one process, in one commit that can be proven."""
    with served_in(tmp_path, files()) as served:
        took = begun(served, dies=False)
        with served.running():
            wait_for_pass(served)
        told = {int(one.name) for one in took.iterdir()}

        alone = new_checkout(tmp_path / "alone", FILES)
        new_passes(alone.folder, Clock(NOW)).run()
        names = git(served.remote, "ls-tree", "-r", "--name-only", f"main:{ROOT}/status")

    assert {worker.pid for worker in served.workers} == told
    assert alone.git("ls-tree", "-r", "--name-only", "main:status") == names
    assert 1 == len(served.passes_of(ROOT))
    assert [] == replay(served.remote, tmp_path, [ROOT])


def test_a_worker_that_does_not_fit_takes_no_piece(tmp_path: Path) -> None:
    """Though it could: it is there for another repository."""
    with served_in(tmp_path, files()) as served:
        took = begun(served, dies=False)
        unfit = served.start_worker(
            DIVIDES.format(folder=str(took), dies=False),
            RECONCILER_REMOTE="https://git.example.com/other",
        )
        with served.running():
            wait_for_pass(served)
        told = {int(one.name) for one in took.iterdir()}

    assert {worker.pid for worker in served.workers} - {unfit.pid} == told
    assert [] == replay(served.remote, tmp_path, [ROOT])


def test_a_worker_killed_in_a_piece_loses_nothing(tmp_path: Path) -> None:
    """The piece goes to another one, or the root does, whichever had died."""
    with served_in(tmp_path, files()) as served:
        begun(served, dies=True)
        with served.running():
            wait_for_pass(served)
            gone = [worker.wait() for worker in served.workers if worker.poll() is not None]

    assert [-signal.SIGKILL] == gone
    assert 1 == len(served.passes_of(ROOT))
    assert [] == replay(served.remote, tmp_path, [ROOT])
