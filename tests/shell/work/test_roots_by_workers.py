"""Roots that workers of a real Dask cluster compute: equal bytes, lost workers, failures."""

import json
import re
import signal
from pathlib import Path

import pytest

from reconciler.cli.main import run
from reconciler.shell.work.dask import NamedWorkers
from reconciler.shell.work.held_roots import held_roots
from tests.shell.daemon.test_roots import LATER, ROOTS
from tests.shell.daemon.test_run_remote import clone
from tests.shell.fleet import eventually
from tests.shell.repositories import git
from tests.shell.work.roots_by_workers import DIES_ONCE, Served, quiet_fleets, served_in
from tests.soak.replay import replay

pytestmark = pytest.mark.cpu_seconds(30)  # a scheduler, a daemon, two or three workers each

WORKER = re.compile(r"<td>(tcp://127\.0\.0\.1:\d+)</td>")


def held_by_workers(served: Served) -> int:
    """Return how many roots the workers of a cluster have in their memory."""
    workers = NamedWorkers(served.cluster.dask)
    try:
        return sum(map(len, workers.tell(workers.present(), held_roots).values()))
    finally:
        workers.close()


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


def test_workers_need_a_remote(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """They have mirrors of their own, and no checkout of ours."""
    assert 2 == run(["-C", str(tmp_path), "run", "--executor", "dask://127.0.0.1:9"])
    assert "--executor goes with --remote" in capsys.readouterr().err
