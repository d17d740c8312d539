"""deploy/systemd: the unit is one that systemd takes, hardened, and the daemon does its part."""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click
import pytest

from reconciler.cli.verbs.run import run_command
from reconciler.shell.daemon.events import LoopTurned, PassFailed, ServiceManager
from reconciler.shell.git.command import RemoteUnreachable, mask_of
from tests.shell.fleet import PATIENCE_SECONDS, ROOT, new_fleet, process_environment

UNIT = ROOT / "deploy/systemd/reconciler@.service"
TEXT = UNIT.read_text(encoding="utf-8")
SECRET = "correct horse battery staple"  # noqa: S105  # of tests only

systemd = pytest.mark.skipif(
    shutil.which("systemd-analyze") is None,
    reason="systemd-analyze is not installed: apt-get install systemd",
)


@pytest.fixture
def unit(tmp_path: Path) -> Path:
    """Return an instance of the unit; its program is one that is here."""
    file = tmp_path / "reconciler@fleet.service"
    file.write_text(TEXT.replace("/usr/local/bin/reconciler", sys.executable))
    return file


@systemd
def test_systemd_takes_the_unit(unit: Path) -> None:
    """Without a single remark."""
    finished = subprocess.run(
        ["systemd-analyze", "verify", str(unit)], capture_output=True, text=True, check=False
    )

    assert (0, "") == (finished.returncode, finished.stdout + finished.stderr)


@systemd
def test_the_unit_is_hardened(unit: Path) -> None:
    """Its exposure is at most 1.5 of 10, where a unit without any of it has 9.6."""
    finished = subprocess.run(
        ["systemd-analyze", "security", "--offline=yes", "--threshold=15", "--no-pager", str(unit)],
        capture_output=True,
        text=True,
        check=False,
    )

    assert 0 == finished.returncode, finished.stdout


def test_the_settings_of_the_unit_are_settings_of_the_command() -> None:
    """Each variable that it names is one that `run` reads."""
    parameters = [
        *run_command.get_params(click.Context(run_command, info_name="run")),
        *click.Context(run_command).command.params,
    ]
    known = {str(one.envvar) for one in parameters if one.envvar}
    known.add("RECONCILER_CACHE_DIR")  # of every verb

    assert set(re.findall(r"RECONCILER_[A-Z_]+", TEXT)) <= known


@contextmanager
def notified(folder: Path) -> Iterator[tuple[str, socket.socket]]:
    """Listen as systemd does; give the address and the socket."""
    address = str(folder / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as end:
        end.settimeout(PATIENCE_SECONDS)
        end.bind(address)
        yield address, end


def manager(address: str, *, watchdog_seconds: float | None, not_alive: str = "") -> ServiceManager:
    """Return what talks to an address."""
    return ServiceManager(
        address,
        watchdog_seconds=watchdog_seconds,
        not_alive=lambda: not_alive,
        mask=mask_of([SECRET]),
    )


def test_a_loop_that_turns_feeds_the_watchdog(tmp_path: Path) -> None:
    """Ready once, then signs of life, at last that it stops."""
    with notified(tmp_path) as (address, end):
        with manager(address, watchdog_seconds=0.01) as service:
            assert b"WATCHDOG=1" == end.recv(100)
            service(LoopTurned())
            service(LoopTurned())
            said = {end.recv(100) for _ in range(20)}
        while (last := end.recv(100)) == b"WATCHDOG=1":
            pass

    assert {b"READY=1", b"WATCHDOG=1"} == said
    assert b"STOPPING=1" == last


def test_a_loop_that_is_stuck_starves_the_watchdog(tmp_path: Path) -> None:
    """Then systemd restarts it."""
    with notified(tmp_path) as (address, end):
        with manager(address, watchdog_seconds=0.001, not_alive="stuck") as service:
            service._thread.join(0.05)
        assert b"STOPPING=1" == end.recv(100)


def test_a_failure_is_the_status_of_the_service(tmp_path: Path) -> None:
    """In one line, without credentials."""
    with notified(tmp_path) as (address, end):
        manager(address, watchdog_seconds=None)(PassFailed(RemoteUnreachable(f"no\n{SECRET}"), 1))
        assert b"STATUS=the last pass failed: no ***" == end.recv(1000)


def test_a_manager_that_is_gone_stops_nothing(tmp_path: Path) -> None:
    """The daemon goes on without it."""
    with manager(str(tmp_path / "gone"), watchdog_seconds=None) as service:
        service(LoopTurned())


@pytest.mark.parametrize("abstract", [False, True], ids=["path", "abstract"])
def test_the_daemon_notifies(tmp_path: Path, *, abstract: bool) -> None:
    """A real one: ready, how it goes, signs of life, stopping."""
    fleet = new_fleet(tmp_path / "fleet")
    address = f"@reconciler-{os.getpid()}" if abstract else str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as end:
        end.settimeout(PATIENCE_SECONDS)
        end.bind(f"\0{address[1:]}" if abstract else address)
        process = subprocess.Popen(
            [sys.executable, "-m", "reconciler", "-C", str(fleet.folder), "run"],
            env={**process_environment(), "NOTIFY_SOCKET": address, "WATCHDOG_USEC": "20000"},
            stderr=subprocess.DEVNULL,
        )
        try:
            said: list[bytes] = []
            while not any(one.startswith(b"STATUS=") for one in said) or said[-1] != b"WATCHDOG=1":
                said.append(end.recv(1000))
            process.send_signal(signal.SIGTERM)
            while said[-1] != b"STOPPING=1":
                said.append(end.recv(1000))
            assert 0 == process.wait(PATIENCE_SECONDS)
        finally:
            process.kill()
            process.wait()

    assert 1 == said.count(b"READY=1")
    assert re.fullmatch(
        r"STATUS=decided at [0-9a-f]{12}, 0 faults",
        next(one for one in said if one.startswith(b"STATUS=")).decode(),
    )
