"""Long work on a real Dask cluster: equal results, lost workers, and workers that are unfit."""

import json
import logging
import os
import re
import signal
import socket
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import dask
import pytest

from reconciler.cli.root_workers import check_worker
from reconciler.errors import ShellError, UsageError
from reconciler.model.identity import RepositoryLayout
from reconciler.shell.resources import package_digest
from reconciler.shell.work import dask as dask_cluster
from reconciler.shell.work import fit_workers
from reconciler.shell.work.dask import NamedWorkers, open_cluster
from reconciler.shell.work.executors import results_of
from reconciler.shell.work.fit_workers import FitWorkers
from reconciler.shell.work.held_roots import RootPlace
from reconciler.shell.work.proofs import Stretch, cut_stretch, prove_stretch
from reconciler.version import __version__
from tests.cli.history import answer, told_fleet
from tests.shell.daemon.test_roots import ROOTS
from tests.shell.dask_processes import (
    OTHER_BUILD,
    Cluster,
    Served,
    cluster_in,
    new_tls_files,
    quiet_fleets,
    served_in,
)
from tests.shell.fleet import DAEMON, eventually
from tests.shell.repositories import Checkout
from tests.shell.work.test_executors import SQUARES, square
from tests.shell.work.test_proofs import opened, proven, proven_singly

NOWHERE = "dask://127.0.0.1:9"


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """Three inputs, three passes."""
    return told_fleet(tmp_path_factory.mktemp("dask") / "fleet")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A scheduler and two workers, none of which has git."""
    with cluster_in(tmp_path_factory.mktemp("cluster"), workers=2) as cluster:
        yield cluster


def die_once(marker: Path, stretch: Stretch) -> list[object]:
    """Prove a stretch; whoever is the first to be asked is killed in the middle of it."""
    try:
        marker.touch(exist_ok=False)
    except FileExistsError:
        return [*prove_stretch(stretch)]
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("unreachable")


def test_cluster_proves_what_one_process_proves(cluster: Cluster, fleet: Checkout) -> None:
    """Workers have the package and what they are sent; not even git."""
    with open_cluster(cluster.dask) as workers:
        assert 2 == workers.count
        assert proven_singly(fleet.folder) == proven(fleet.folder, workers)


def test_cluster_fails_each_cluster_as_one_process_does(
    cluster: Cluster, fleet: Checkout, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command prints the same, to the letter."""
    asked = ("simulate", "--fail-each", "--now", "2026-11-20T13:00:00Z", "-o", "json")

    assert answer(fleet, capsys, *asked) == answer(
        fleet, capsys, *asked, "--executor", cluster.dask
    )


def test_variable_of_dask_names_the_cluster(
    cluster: Cluster,
    fleet: Checkout,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As Dask itself understands it."""
    expected = answer(fleet, capsys, "verify", "-v")
    monkeypatch.setenv("DASK_SCHEDULER_ADDRESS", cluster.address)

    assert expected == answer(fleet, capsys, "verify", "-v")


def test_worker_killed_in_the_middle_costs_time_only(fleet: Checkout, tmp_path: Path) -> None:
    """Another worker gets its piece."""
    revisions, commits = opened(fleet.folder)
    stretches = [cut_stretch(revisions, [commit], last_inputs=None) for commit in commits]
    with cluster_in(tmp_path, workers=2) as cluster, open_cluster(cluster.dask) as workers:
        call = partial(die_once, tmp_path / "died")
        found = [proof for _, proofs in results_of(workers, call, stretches) for proof in proofs]

        assert proven_singly(fleet.folder) == found
        assert 1 == sum(process.poll() is not None for process in cluster.processes)


def test_scheduler_killed_in_the_middle_costs_time_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it had is done here."""
    monkeypatch.setattr(dask_cluster, "CONNECT_SECONDS", 1)
    with cluster_in(tmp_path, workers=1) as cluster, open_cluster(cluster.dask) as workers:
        results = results_of(workers, square, range(20))
        found = [next(results)]
        cluster.processes[0].kill()

        assert SQUARES == [*found, *results]


def test_address_without_a_scheduler_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """In one sentence, with the address."""
    monkeypatch.setattr(dask_cluster, "CONNECT_SECONDS", 0.5)

    with (
        pytest.raises(ShellError, match=f'there is no Dask scheduler at "{NOWHERE}"'),
        open_cluster(NOWHERE),
    ):
        pass


def test_cluster_without_a_worker_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the command that starts one."""
    monkeypatch.setattr(dask_cluster, "WORKER_SECONDS", 0.2)
    with (
        cluster_in(tmp_path, workers=0) as cluster,
        pytest.raises(ShellError, match=f"no worker; start one with dask worker {cluster.address}"),
        open_cluster(cluster.dask),
    ):
        pass


@pytest.mark.parametrize(
    ("before", "message"),
    [
        pytest.param(
            "import reconciler.version; reconciler.version.__version__ = '0.0.9'",
            r"has another reconciler \(0\.0\.9, build \w{12}\) than this one \(.*\), and might",
            id="other-version",
        ),
        pytest.param(
            OTHER_BUILD,
            rf"\({__version__}, build 0123456789ab\) than this one "
            rf"\({__version__}, build {package_digest()[:12]}\), and might decide otherwise",
            id="other-build",
        ),
        pytest.param(
            "import sys; sys.modules['reconciler'] = None",
            "the workers of the Dask cluster must have the package reconciler, version",
            id="no-package",
        ),
    ],
)
def test_worker_with_another_package_is_refused(tmp_path: Path, before: str, message: str) -> None:
    """It might decide otherwise."""
    with cluster_in(tmp_path, workers=0) as cluster:
        cluster.start_worker(before=before)
        with (
            open_cluster(cluster.dask) as workers,
            pytest.raises(ShellError, match=message),
        ):
            list(results_of(workers, square, range(2)))


def test_dask_writes_no_lines_of_its_own(
    cluster: Cluster, capfd: pytest.CaptureFixture[str]
) -> None:
    """Whatever its loggers were set up to write, by itself or by its settings."""
    own = [logging.getLogger(name) for name in ("distributed", "distributed.client")]
    for logger in own:
        logger.addHandler(logging.StreamHandler())
        logger.setLevel(logging.DEBUG)
    with open_cluster(cluster.dask):
        for logger in (*own, logging.getLogger("distributed.new")):
            logger.warning("a line of its own")

    assert ("", "") == capfd.readouterr()


def test_extra_that_is_not_installed_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """With what installs it."""
    monkeypatch.setitem(sys.modules, "distributed", None)

    with (
        pytest.raises(UsageError, match=r'pip install "\.\[dask\]"'),
        open_cluster(NOWHERE),
    ):
        pass


@pytest.mark.parametrize(
    "address", ["dask://10.0.0.7:8786", "tcp://scheduler.example.org:8786", "dask://0.0.0.0:8786"]
)
def test_another_machine_without_tls_is_refused(address: str) -> None:
    """Before anything is sent there."""
    with (
        pytest.raises(UsageError, match="on another machine, where Dask must speak TLS; name"),
        open_cluster(address),
    ):
        pass


def own_address() -> str:
    """Return an address of this machine on a network; nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as link:
        try:
            link.connect(("198.51.100.1", 9))
        except OSError:
            pytest.skip("this machine is on no network")
        return str(link.getsockname()[0])


def test_worker_on_a_network_without_tls_is_refused(tmp_path: Path) -> None:
    """What it is sent would travel there; here that is this machine, by its address there."""
    with cluster_in(tmp_path, workers=0) as cluster:
        cluster.start_worker("--host", own_address())
        message = 'the worker "tcp://.*" is on another machine, where Dask must speak TLS'
        with pytest.raises(UsageError, match=message), open_cluster(cluster.dask):
            pass


@pytest.mark.parametrize(
    "address", ["dask", "dask://", "dask://host", "http://127.0.0.1:8786", "dask://127.0.0.1:x"]
)
def test_what_is_no_address_is_told(address: str) -> None:
    """With one that is."""
    with (
        pytest.raises(UsageError, match="must be dask://HOST:PORT of a scheduler, such as"),
        open_cluster(address),
    ):
        pass


def test_cluster_that_speaks_tls_is_used(fleet: Checkout, tmp_path: Path) -> None:
    """With Dask's own settings."""
    tls = new_tls_files(tmp_path)
    key, certificate = str(tls / "tls.key"), str(tls / "tls.crt")
    settings = {
        "distributed.comm.tls.ca-file": certificate,
        "distributed.comm.tls.client.cert": certificate,
        "distributed.comm.tls.client.key": key,
    }
    options = ("--tls-ca-file", certificate, "--tls-cert", certificate, "--tls-key", key)
    with (
        dask.config.set(settings),
        cluster_in(tmp_path, workers=1, options=options, scheme="tls") as cluster,
        open_cluster(cluster.address) as workers,
    ):
        assert cluster.address.startswith("tls://")
        assert proven_singly(fleet.folder) == proven(fleet.folder, workers)


def test_tls_without_certificates_is_told() -> None:
    """With the settings of Dask that are missing."""
    with (
        pytest.raises(ShellError, match=r"distributed\.comm\.tls must name ca-file"),
        open_cluster("tls://127.0.0.1:9"),
    ):
        pass


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
