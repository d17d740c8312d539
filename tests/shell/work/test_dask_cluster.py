"""Long work on a real Dask cluster on loopback: equal results, lost workers, refusals."""

import logging
import os
import signal
import socket
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import dask
import distributed  # noqa: F401  # or else what is set for a test is all that there is of its settings
import pytest

from reconciler.errors import ShellError, UsageError
from reconciler.shell.resources import package_digest
from reconciler.shell.work import dask as dask_cluster
from reconciler.shell.work.dask import open_cluster
from reconciler.shell.work.executors import results_of
from reconciler.shell.work.proofs import Stretch, cut_stretch, prove_stretch
from reconciler.version import __version__
from tests.cli.history import answer, told_fleet
from tests.shell.dask_processes import OTHER_BUILD, Cluster, cluster_in, new_tls_files
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
