"""Roots that workers of a real Dask cluster compute, whole or in pieces: equal bytes, failures."""

import json
import re
import signal
from collections.abc import Mapping
from pathlib import Path

import pytest

from reconciler.cli.main import run
from reconciler.shell.work.dask import NamedWorkers
from reconciler.shell.work.held_roots import held_roots
from tests.shell.daemon.test_roots import LATER, ROOTS
from tests.shell.daemon.test_run import clone
from tests.shell.dask_processes import CONFIGURATION, DIES_ONCE, Served, quiet_fleets, served_in
from tests.shell.fleet import Clock, eventually, new_passes
from tests.shell.repositories import NOW, git, new_checkout
from tests.shell.work.test_executors import FILES
from tests.soak.checks import replay

SEVERAL_WORKERS = pytest.mark.cpu_seconds(30)  # a scheduler, a daemon, two or three workers each

WORKER = re.compile(r"<td>(tcp://127\.0\.0\.1:\d+)</td>")


def held_by_workers(served: Served) -> int:
    """Return how many roots the workers of a cluster have in their memory."""
    workers = NamedWorkers(served.cluster.dask)
    try:
        return sum(map(len, workers.tell(workers.present(), held_roots).values()))
    finally:
        workers.close()


@SEVERAL_WORKERS
def test_workers_decide_as_one_process_does(tmp_path: Path) -> None:
    """To the letter, each through its own mirror; when the daemon ends, they forget the roots."""
    with served_in(tmp_path) as served:
        for _ in range(2):
            served.start_worker()
        with served.running():
            served.wait_until_ready()
            served.push("more", ROOTS[0])
            eventually(lambda: served.placed() == [4, 3], "the next commit")
            page = served.answer("/")[1]
            held = held_by_workers(served)
        left = held_by_workers(served)

    assert [] == replay(served.remote, tmp_path, ROOTS)
    assert (2, 0) == (held, left)
    assert 2 == len(set(WORKER.findall(page)))
    assert 2 == len(list((tmp_path / "cache/reconciler").glob("*.worker-?.git")))
    assert 1 == len(list(tmp_path.glob("mirror")))
    lines = [json.loads(line) for line in served.log.read_text().splitlines()]
    committed = [line["root"] for line in lines if line["msg"] == "pass committed"]
    assert [*ROOTS, ROOTS[0]] == [*sorted(committed[:2]), *committed[2:]]


@SEVERAL_WORKERS
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_worker_killed_in_a_pass_loses_nothing(tmp_path: Path, when: str) -> None:
    """The other one loads the root and goes on; nothing is done twice."""
    dies = DIES_ONCE.format(marker=str(tmp_path / "died"), late=when == "after")
    with served_in(tmp_path) as served:
        for _ in range(2):
            served.start_worker(dies)
        with served.running():
            served.wait_until_ready()
            gone = [worker.wait() for worker in served.workers if worker.poll() is not None]

    assert [-signal.SIGKILL] == gone
    assert [1, 1] == [len(served.passes_of(root)) for root in ROOTS]
    assert [] == replay(served.remote, tmp_path, ROOTS)
    assert "had this root is gone; another one takes it" in served.log.read_text()


@SEVERAL_WORKERS
def test_an_idle_worker_that_dies_gives_its_roots_to_another(tmp_path: Path) -> None:
    """At once, not when something is to be decided."""
    with served_in(tmp_path) as served:
        first, _ = served.start_worker(), served.start_worker()
        with served.running():
            served.wait_until_ready()
            first.kill()

            def all_at_one() -> bool:
                found = WORKER.findall(served.answer("/")[1])
                return len(found) == 2 and len(set(found)) == 1 and served.ready()

            eventually(all_at_one, "the root of the other")
            served.push("more", *ROOTS)
            eventually(lambda: served.placed() == [4, 4], "the next commit")

    assert [] == replay(served.remote, tmp_path, ROOTS)


@SEVERAL_WORKERS
def test_without_a_worker_the_daemon_waits(tmp_path: Path) -> None:
    """It says so, is not ready, and goes on as soon as there is one."""
    with served_in(tmp_path) as served, served.running():
        missing = f"no worker; start one with dask worker {served.cluster.address}"
        eventually(lambda: missing in served.reason(), "what it says")
        before = served.start_worker()
        served.wait_until_ready()
        before.kill()
        eventually(lambda: missing in served.reason(), "what it says once more")
        served.push("more", *ROOTS)
        served.start_worker()
        eventually(lambda: served.ready() and served.placed() == [4, 4], "the next commit")

    assert "pass failed, trying again" in served.log.read_text()
    assert [] == replay(served.remote, tmp_path, ROOTS)


@SEVERAL_WORKERS
def test_a_scheduler_that_is_started_again_is_found(tmp_path: Path) -> None:
    """Meanwhile the daemon says that it is gone; the workers of the new one load the roots."""
    with served_in(tmp_path) as served:
        served.start_worker()
        with served.running():
            served.wait_until_ready()
            scheduler, worker = served.cluster.processes
            for process in (scheduler, worker):
                process.kill()
                process.wait()
            eventually(lambda: "the Dask scheduler" in served.reason(), "what it says")
            served.cluster.start_scheduler(served.cluster.address.rpartition(":")[2])
            served.start_worker()
            served.push("more", *ROOTS)
            eventually(lambda: served.ready() and served.placed() == [4, 4], "the next commit")

    assert [] == replay(served.remote, tmp_path, ROOTS)


@SEVERAL_WORKERS
def test_a_pass_that_fails_there_is_told_as_one_here(tmp_path: Path) -> None:
    """Its clock is behind its last pass; the other root goes on."""
    with served_in(tmp_path) as served:
        person = clone(served.remote, tmp_path / "person")
        assert 0 == run(["-C", str(person.folder / ROOTS[0]), "reconcile", "--now", LATER])
        person.git("push", "--quiet", "origin", "main")
        served.start_worker()
        with served.running():
            eventually(lambda: served.placed() == [3, 3], "the other root")
            said = re.compile(r"teams/a: the last pass failed[^;]*: the clock[^;]*")
            eventually(lambda: bool(said.fullmatch(served.reason())), "the failure of one alone")


@SEVERAL_WORKERS
def test_a_mistake_of_ours_there_is_told_with_its_trace(tmp_path: Path) -> None:
    """The log of the daemon has where it came from."""
    wrong = """
from reconciler.shell.passes import one_pass
def reconcile(*given, **named): raise KeyError("nobody thought of it")
one_pass.reconcile = reconcile
"""
    with served_in(tmp_path) as served:
        served.start_worker(wrong)
        with served.running():
            eventually(lambda: "KeyError), see the log" in served.reason(), "the failure")
    lines = [json.loads(line) for line in served.log.read_text().splitlines()]
    traces = [line["trace"] for line in lines if "trace" in line]
    assert "one_pass.py" in traces[0]
    assert traces[0].endswith("KeyError")  # what it says may hold what it worked on


@SEVERAL_WORKERS
def test_a_worker_of_another_version_gets_no_root(tmp_path: Path) -> None:
    """It might decide otherwise; another one does, and without one that is told."""
    other = "import reconciler.version; reconciler.version.__version__ = '0.0.9'"
    with served_in(tmp_path) as served:
        served.start_worker(other)
        with served.running():
            said = "has another reconciler (0.0.9, build "
            eventually(lambda: said in served.reason(), "what it says")
            assert [0, 0] == served.placed()
            served.start_worker()
            served.wait_until_ready()


@SEVERAL_WORKERS
def test_a_signal_ends_the_daemon_after_the_pass_that_has_begun(tmp_path: Path) -> None:
    """What the worker has not begun by then is dropped."""
    with served_in(tmp_path) as served:
        served.start_worker()
        stall = served.stall()
        with served.running() as daemon:
            eventually(lambda: "incoming" in _quarantines(served.remote), "a push that stalls")
            daemon.terminate()
            eventually(lambda: held_by_workers(served) == 0, "the end that workers hear of")
            assert daemon.poll() is None
            stall.unlink()

    assert [0, 3] == sorted(served.placed())


def _quarantines(remote: Path) -> str:
    """Return the names of the folders in which git keeps what a push brings, until it is taken."""
    return " ".join(path.name for path in (remote / "objects").glob("*incoming*"))


@SEVERAL_WORKERS
def test_a_root_that_comes_later_is_served(tmp_path: Path) -> None:
    """As soon as it is on the branch; the others stay where they are."""
    with served_in(tmp_path, quiet_fleets(ROOTS[0])) as served:
        served.start_worker()
        with served.running():
            eventually(lambda: served.ready() and served.placed() == [3, 0], "the first root")
            person = clone(served.remote, tmp_path / "person")
            person.commit(quiet_fleets(ROOTS[1]))
            person.git("push", "--quiet", "origin", "main")
            served.wait_until_ready()

    assert [1, 1] == [len(served.passes_of(root)) for root in ROOTS]
    assert 2 == git(served.remote, "log", "--format=%an", "main").count("reconciler")


@SEVERAL_WORKERS
def test_workers_need_a_remote(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """They have mirrors of their own, and no checkout of ours."""
    assert 2 == run(["-C", str(tmp_path), "run", "--executor", "dask://127.0.0.1:9"])
    assert "--executor goes with --remote" in capsys.readouterr().err


DIVIDED_PASS = pytest.mark.cpu_seconds(60)  # a scheduler, a daemon, two workers each

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


@DIVIDED_PASS
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


@DIVIDED_PASS
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


@DIVIDED_PASS
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
