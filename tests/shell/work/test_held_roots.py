"""What workers are sent, keep and share of roots, and never a secret."""

import select
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.cli.root_workers import open_root
from reconciler.errors import UsageError
from reconciler.model.identity import RepositoryLayout
from reconciler.shell.daemon.events import PassFailure
from reconciler.shell.git.command import forms_of, mask_of
from reconciler.shell.git.repository import Repository
from reconciler.shell.passes.branches import LocalBranch
from reconciler.shell.passes.pass_report import PassSummary
from reconciler.shell.work.held_roots import (
    HeldRoots,
    OpenedRoot,
    RootPiece,
    RootPlace,
    claimed_folder,
)
from reconciler.shell.work.root_workers import RootShares
from tests.shell.daemon.test_roots import ROOTS, fleets
from tests.shell.dask_processes import served_in
from tests.shell.fleet import DAEMON, Clock, eventually, passes_of
from tests.shell.keys import new_ssh_key
from tests.shell.repositories import git, new_checkout
from tests.shell.servers import basic, new_certificate, web_server

FIRST, SECOND = (
    RootPlace(
        remote="file:///fleet", branch="main", root=root, layout=RepositoryLayout(), author=DAEMON
    )
    for root in ROOTS
)


class Opener:
    """Opens roots of a checkout, and counts how often."""

    def __init__(self, folder: Path) -> None:
        fleet = new_checkout(folder, fleets(*ROOTS))
        self.branch = LocalBranch(Repository.open(fleet.folder), "main")
        self.opened: list[str] = []

    def __call__(self, place: RootPlace) -> OpenedRoot:
        """Open one."""
        self.opened.append(place.root)
        return OpenedRoot(passes_of(self.branch.below(place.root), Clock()), mask_of(["secret"]))


@pytest.fixture
def opener(tmp_path: Path) -> Opener:
    """A checkout with two roots."""
    return Opener(tmp_path / "fleet")


def piece(place: RootPlace, *beside: RootPlace, session: str = "s") -> RootPiece:
    """What a daemon asks about a root, and which others it leaves there."""
    return RootPiece(place=place, session=session, held=frozenset((place, *beside)))


def test_a_root_is_opened_once(opener: Opener) -> None:
    """Its memory is there for the next pass."""
    roots = HeldRoots()
    first, second = (roots.run(opener, piece(FIRST)) for _ in range(2))

    assert isinstance(first, PassSummary)
    assert isinstance(second, PassSummary)
    assert first.commit is not None
    assert second.commit is None
    assert [FIRST.root] == opener.opened


def test_what_another_worker_has_now_is_let_go(opener: Opener) -> None:
    """Of the daemon that says so; what another daemon needs stays."""
    roots = HeldRoots()
    for one in (piece(FIRST), piece(SECOND, FIRST)):
        roots.run(opener, one)
    both = roots.held()
    roots.run(opener, piece(SECOND, session="another"))
    still = roots.held()
    roots.run(opener, piece(SECOND))

    assert (FIRST, SECOND) == both == still
    assert (SECOND,) == roots.held()


def test_a_daemon_that_ends_leaves_nothing(opener: Opener) -> None:
    """And none of its passes begins any more."""
    roots = HeldRoots()
    roots.run(opener, piece(FIRST))

    assert frozenset() == roots.end("s", forget=True)
    assert () == roots.held()
    assert roots.run(opener, piece(FIRST)) is None


def test_a_daemon_that_begins_anew_finds_its_roots(opener: Opener) -> None:
    """And what it serves no more goes with its first question."""
    roots = HeldRoots()
    for one in (piece(FIRST), piece(SECOND, FIRST)):
        roots.run(opener, one)
    roots.end("s", forget=False)
    before = roots.held()
    roots.run(opener, piece(SECOND, session="anew"))

    assert (FIRST, SECOND) == before
    assert (SECOND,) == roots.held()
    assert [FIRST.root, SECOND.root] == opener.opened


def test_a_failure_shows_no_secret_of_the_worker(opener: Opener) -> None:
    """It is told where nobody knows what to mask."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("reconciler.shell.passes.one_pass.Passes.run", _fail)
        answer = HeldRoots().run(opener, piece(FIRST))

    assert isinstance(answer, PassFailure)
    assert answer.trace.rstrip().endswith("KeyError")
    assert "secret of the worker" not in answer.trace


def _fail(*_: object, **__: object) -> None:
    words = "the", "secret", "of", "the", "worker"
    raise KeyError(" ".join(words))


SHARED_ROOTS = tuple(f"r{number}" for number in range(20))
WORKERS = ("a", "b", "c", "d")


def shared(workers: list[str], present: dict[str, str] | None = None) -> dict[str, str]:
    """Return who has each root after all of them had a pass."""
    shares = RootShares(SHARED_ROOTS, present or {})
    return {root: shares.take(root, workers) for root in SHARED_ROOTS}


def test_roots_stay_where_they_are() -> None:
    """Also where a new daemon finds them."""
    before = shared([*WORKERS])

    assert before == shared([*WORKERS], before)


def test_a_worker_that_is_gone_loses_its_roots_only() -> None:
    """The others have theirs still."""
    before = shared([*WORKERS])
    after = shared(["a", "b", "c"], before)

    assert [] == [
        root for root in SHARED_ROOTS if before[root] != "d" and after[root] != before[root]
    ]


@given(st.lists(st.sets(st.sampled_from(WORKERS), min_size=1), min_size=1, max_size=6))
def test_nobody_has_more_than_a_share(steps: list[set[str]]) -> None:
    """Whoever came and went before; and a second round moves nothing."""
    shares = RootShares(SHARED_ROOTS, {})
    for workers in steps:
        found = {root: shares.take(root, sorted(workers)) for root in SHARED_ROOTS}
        again = {root: shares.take(root, sorted(workers)) for root in SHARED_ROOTS}

        assert found == again
        most = -(-len(SHARED_ROOTS) // len(workers))
        assert [] == [one for one in workers if len(shares.roots_of(one)) > most]


@pytest.mark.parametrize("root", ["r0", "r19"])
def test_a_root_that_nobody_has_is_told(root: str) -> None:
    """By an empty name."""
    assert "" == RootShares(SHARED_ROOTS, {"r1": "a"}).worker_of(root)


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
