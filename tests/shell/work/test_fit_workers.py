"""Workers of a real Dask cluster that cannot compute what they are asked: found before they are."""

import json
import re
import signal
from pathlib import Path

import pytest

from reconciler.cli.root_workers import check_worker
from reconciler.errors import ShellError
from reconciler.model.identity import RepositoryLayout
from reconciler.shell.resources import package_digest
from reconciler.shell.work import fit_workers
from reconciler.shell.work.dask import NamedWorkers
from reconciler.shell.work.fit_workers import FitWorkers
from reconciler.shell.work.held_roots import RootPlace
from reconciler.version import __version__
from tests.shell.daemon.test_roots import ROOTS
from tests.shell.dask_processes import OTHER_BUILD, cluster_in
from tests.shell.fleet import DAEMON, eventually
from tests.shell.work.roots_by_workers import Served, quiet_fleets, served_in

OTHER_VERSION = "import reconciler.version; reconciler.version.__version__ = '0.0.9'"
NO_PACKAGE = "import sys; sys.modules['reconciler'] = None"
THERE, HERE = "0123456789ab", package_digest()[:12]

UNFIT = [
    pytest.param("", {"PATH": "/nonexistent"}, "has no git on its PATH; install git", id="no-git"),
    pytest.param(
        "",
        {"RECONCILER_REMOTE": "https://git.example.com/other"},
        "are for https://git.example.com/other, and it was asked for a root of file:///",
        id="another-remote",
    ),
    pytest.param(
        "",
        {"RECONCILER_REMOTE_TIMEOUT_SECONDS": "soon"},
        "has wrong settings: Invalid value for '--remote-timeout-seconds'",
        id="wrong-settings",
    ),
    pytest.param(
        OTHER_BUILD,
        {},
        f"({__version__}, build {THERE}) than this one ({__version__}, build {HERE})",
        id="another-build",
    ),
    pytest.param(OTHER_VERSION, {}, "has another reconciler (0.0.9, build ", id="another-version"),
    pytest.param(NO_PACKAGE, {}, "must have the package reconciler, version", id="no-package"),
]

PLACE = RootPlace(
    remote="file:///nowhere", branch="main", root="", layout=RepositoryLayout(), author=DAEMON
)


def lines_of(served: Served, message: str) -> list[dict[str, object]]:
    """Return the lines of the log with a message."""
    lines = map(json.loads, served.log.read_text().splitlines())
    return [line for line in lines if line["msg"] == message]


def count_unfit(served: Served) -> list[str]:
    """Return the values of the series that counts workers that do not fit."""
    series = re.compile(r"^reconciler_unfit_workers (\S+)$", re.MULTILINE)
    return series.findall(served.answer("/metrics")[1])


@pytest.mark.cpu_seconds(40)
@pytest.mark.parametrize(("before", "settings", "words"), UNFIT)
def test_a_worker_that_does_not_fit_gets_nothing(
    tmp_path: Path, before: str, settings: dict[str, str], words: str
) -> None:
    """The other one has all roots, nothing fails, and it is named with the reason."""
    with served_in(tmp_path) as served:
        served.start_worker(before, **settings)
        fit = served.start_worker()
        with served.running():
            served.wait_until_ready()
            eventually(lambda: bool(lines_of(served, "a worker computes nothing")), "the log")
            ready, page = served.answer("/readyz"), served.answer("/")[1]
            counted = count_unfit(served)
            assert fit.poll() is None

    said, *_ = told = lines_of(served, "a worker computes nothing")
    committed = [line["worker"] for line in lines_of(served, "pass committed")]
    assert (200, f"ok\nwarning: {said['reason']}\n") == ready
    assert words in str(said["reason"])
    assert f'"{said["worker"]}"' in str(said["reason"])
    assert words in page.replace("&#39;", "'")
    assert ["1.0"] == counted
    assert 1 == len(told)
    assert "root" not in said
    assert 1 == len({*committed} - {said["worker"]}) == len({*committed})
    assert [] == lines_of(served, "pass failed, trying again")


@pytest.mark.cpu_seconds(40)
def test_without_one_that_fits_the_daemon_waits_and_says_why(tmp_path: Path) -> None:
    """In the words for that worker, never as a mistake of ours; it goes on as soon as one fits."""
    with served_in(tmp_path, quiet_fleets(ROOTS[0])) as served:
        served.start_worker(PATH="/nonexistent")
        with served.running():
            eventually(lambda: "has no git on its PATH; install" in served.reason(), "the reason")
            assert [0, 0] == served.placed()
            served.start_worker()
            eventually(lambda: served.ready() and served.placed() == [3, 0], "the root")
            eventually(lambda: "has no git on its PATH" in served.answer("/")[1], "the page of one")

    assert "mistake" not in served.log.read_text()


@pytest.mark.cpu_seconds(40)
def test_a_worker_that_was_mended_computes_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is asked again, without a restart of anything."""
    monkeypatch.setattr(fit_workers, "AGAIN_SECONDS", 0.0)
    monkeypatch.setattr(fit_workers, "LOOK_SECONDS", 0.0)
    settings = tmp_path / "settings.yaml"
    with cluster_in(tmp_path, workers=0) as cluster:
        served = Served(tmp_path, cluster, tmp_path / "remote.git", tmp_path / "log")
        served.start_worker(RECONCILER_SETTINGS=str(settings))
        calls = NamedWorkers(cluster.dask)
        fit = FitWorkers(calls, check_worker, PLACE)
        with pytest.raises(ShellError, match=r"has wrong settings|cannot serve this repository"):
            fit.usable()
        settings.write_text("branch: main\n")
        eventually(lambda: not fit.problems() or not _refused(fit), "a worker that fits")

        assert calls.present() == tuple(fit.usable())
        assert [] == fit.problems()
        calls.close()


def _refused(fit: FitWorkers) -> bool:
    """Return whether nobody may be asked."""
    try:
        return not fit.usable()
    except ShellError:
        return True


@pytest.mark.cpu_seconds(40)
def test_a_worker_that_does_not_answer_holds_up_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is told as that, and may be asked as soon as it has answered."""
    monkeypatch.setattr(fit_workers, "ANSWER_SECONDS", 1.0)
    monkeypatch.setattr(fit_workers, "LOOK_SECONDS", 0.0)
    with cluster_in(tmp_path, workers=0) as cluster:
        served = Served(tmp_path, cluster, tmp_path / "remote.git", tmp_path / "log")
        calls = NamedWorkers(cluster.dask)
        hangs = served.start_worker()
        (stopped,) = calls.present()
        hangs.send_signal(signal.SIGSTOP)
        served.start_worker()
        fit = FitWorkers(calls, check_worker, PLACE)

        eventually(lambda: not _refused(fit), "the other one")
        assert {*calls.present()} - {stopped} == {*fit.usable()}
        eventually(lambda: bool(fit.usable()) and bool(fit.problems()), "the sentence")
        expected = [f'the Dask worker "{stopped}" has not answered for 1 seconds']
        assert expected == [*fit.problems()]
        hangs.send_signal(signal.SIGCONT)
        eventually(lambda: len(fit.usable()) == 2, "both")
        calls.close()
