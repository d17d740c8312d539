"""What a worker is sent and what is its own: no credential travels, in either direction."""

import select
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from reconciler.cli.root_workers import open_root
from reconciler.errors import UsageError
from reconciler.model.identity import RepositoryLayout
from reconciler.shell.git.command import forms_of
from reconciler.shell.work.held_roots import RootPlace, claimed_folder
from tests.shell.fleet import DAEMON, eventually
from tests.shell.keys import new_ssh_key
from tests.shell.remote_servers import basic, new_certificate, web_server
from tests.shell.repositories import git
from tests.shell.work.roots_by_workers import served_in

OURS, THEIRS, WRONG = "password-of-the-daemon", "password-of-the-worker", "password-that-is-wrong"

LOOK_MILLISECONDS = 100


def readable(*numbers: int) -> select.poll:
    """Return what tells which of some files can be read, however high their numbers are."""
    found = select.poll()
    for number in numbers:
        found.register(number, select.POLLIN)
    return found


@contextmanager
def overheard(address: str) -> Iterator[tuple[str, bytearray]]:
    """Pass on what is sent to an address and back; yields where to connect, and all that was said.

    Args:
        address: As `dask://HOST:PORT`.
    """
    host, _, port = address.removeprefix("dask://").partition(":")
    said, over = bytearray(), threading.Event()

    def carry(one: socket.socket) -> None:
        with one, socket.create_connection((host, int(port))) as other:
            ends = {one.fileno(): (one, other), other.fileno(): (other, one)}
            ready = readable(*ends)
            while not over.is_set():
                for number, _ in ready.poll(LOOK_MILLISECONDS):
                    end, beyond = ends[number]
                    data = end.recv(1 << 16)
                    if not data:
                        return
                    said.extend(data)
                    beyond.sendall(data)

    def listen(server: socket.socket) -> None:
        ready = readable(server.fileno())
        while not over.is_set():
            if ready.poll(LOOK_MILLISECONDS):
                threads.append(threading.Thread(target=carry, args=(server.accept()[0],)))
                threads[-1].start()

    threads: list[threading.Thread] = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        listener = threading.Thread(target=listen, args=(server,))
        listener.start()
        try:
            yield f"dask://127.0.0.1:{server.getsockname()[1]}", said
        finally:
            over.set()
            listener.join()
            for thread in threads:
                thread.join()


@pytest.mark.cpu_seconds(20)
def test_credentials_and_keys_never_travel(tmp_path: Path) -> None:
    """The daemon reads with its own; the worker pushes and signs with its own, refused or not."""
    certificate, key = new_certificate(tmp_path), new_ssh_key(tmp_path / "keys", "robot")
    given = tmp_path / "credential"
    given.write_text(f"robot:{OURS}")
    with served_in(tmp_path) as served, web_server(tmp_path, certificate=certificate) as web:
        git(served.remote, "config", "http.receivepack", "true")
        url = f"{web.url}/{served.remote.name}"
        settings = {
            "RECONCILER_REMOTE": url,
            "RECONCILER_CA_FILE": str(certificate.file),
            "RECONCILER_SIGNING_KEY": str(key.file),
        }
        access = ("--ca-file", str(certificate.file), "--credential-file", str(given))
        with (
            overheard(served.cluster.dask) as (address, said),
            served.running("--remote", url, *access, address=address),
        ):
            wrong = served.start_worker(RECONCILER_CREDENTIAL=f"robot:{WRONG}", **settings)
            web.credential = basic("robot", OURS)
            eventually(
                lambda: "Authentication failed" in served.reason(), "a worker without a right"
            )
            wrong.kill()
            web.credential = ""
            served.start_worker(RECONCILER_CREDENTIAL=f"robot:{THEIRS}", **settings)
            served.wait_until_ready()
        asked = {given for _, given in web.asked}

    assert b"run_root" in said
    secrets = [*(form for one in (OURS, THEIRS, WRONG) for form in forms_of(one)), str(key.file)]
    assert [] == [one for one in secrets if one.encode() in said]
    assert {basic("robot", OURS), basic("robot", WRONG)} <= asked
    commits = git(served.remote, "log", "--format=%H", "--author=reconciler", "main").splitlines()
    signed = ["SSH SIGNATURE" in git(served.remote, "cat-file", "-p", one) for one in commits]
    assert [True, True] == signed


def place_of(remote: Path) -> RootPlace:
    """Return the whole of a repository as what a worker is asked for."""
    return RootPlace(
        remote=f"file://{remote}",
        branch="main",
        root="",
        layout=RepositoryLayout(),
        author=DAEMON,
    )


@pytest.mark.parametrize(
    ("variable", "value", "message"),
    [
        pytest.param(
            "RECONCILER_REMOTE",
            "https://git.example.com/other",
            "are for https://git.example.com/other, and it was asked for a root of file:///",
            id="another-repository",
        ),
        pytest.param(
            "RECONCILER_CREDENTIAL",
            "robot:secret",
            r"must name the remote there, too \(RECONCILER_REMOTE\)",
            id="credential-for-whom",
        ),
        pytest.param(
            "RECONCILER_SETTINGS", "/nonexistent/file", "cannot be read", id="no-settings"
        ),
    ],
)
def test_settings_that_are_not_for_a_repository_refuse_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str, value: str, message: str
) -> None:
    """So nobody who names a remote gets what is for another one."""
    monkeypatch.setenv(variable, value)

    with pytest.raises(UsageError, match=message):
        open_root(place_of(tmp_path / "remote.git"))


def test_workers_of_one_machine_have_folders_of_their_own(tmp_path: Path) -> None:
    """Each takes the least number that is free; one that could not be used is free again."""
    beside = tmp_path / "cache/mirror.git"
    with claimed_folder(beside) as first, claimed_folder(beside) as second:
        assert ["mirror-1.git", "mirror-2.git"] == [first.name, second.name]
    with pytest.raises(ValueError, match="no"), claimed_folder(beside) as third:
        raise ValueError("no")

    with claimed_folder(beside) as fourth:
        assert third == fourth
