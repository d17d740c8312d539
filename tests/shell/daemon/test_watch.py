"""Waking up when a branch moves, and a log without secrets."""

import base64
import io
import json
import logging
import signal
import threading
import time
import warnings
from pathlib import Path
from urllib.parse import quote, quote_plus

import pytest
import structlog

from reconciler.shell.daemon.log import configure_log
from reconciler.shell.daemon.watch import Wakeups, _Stopped
from reconciler.shell.git.repository import Repository
from tests.shell.repositories import Checkout, git, new_bare, new_checkout

FAR = 300.0


def watching(folder: Path) -> Wakeups:
    """Wakeups of a repository, events only."""
    return Wakeups(Repository.open(folder).common_dir, poll_seconds=FAR)


def woken(wakeups: Wakeups) -> bool:
    """True if an event came long before the poll."""
    start = time.monotonic()
    return wakeups.wait() and time.monotonic() - start < FAR / 2


class StopAtTheEnd(_Stopped):
    """Hears a stop just after it was asked whether there was one, as a wait ends."""

    def __init__(self, wakeups: Wakeups) -> None:
        """Of these wakeups."""
        super().__init__()
        self._wakeups, self._looks = wakeups, 0

    def is_set(self) -> bool:
        """Answer, and be stopped at once after the second answer."""
        found, self._looks = self.asked, self._looks + 1
        if self._looks == 2:
            self._wakeups.stop()
        return found


def test_a_stop_that_comes_as_a_wait_ends_is_heard() -> None:
    """The next wait ends at once, however far away the poll is."""
    wakeups = Wakeups(None, poll_seconds=FAR)
    wakeups._stopped = StopAtTheEnd(wakeups)
    wakeups.wake()
    wakeups.wait()
    start = time.monotonic()

    assert not wakeups.wait()
    assert time.monotonic() - start < FAR / 2


def test_a_signal_may_come_at_any_moment_of_a_wait() -> None:
    """What its handler does takes no lock that the wait has taken."""
    wakeups = Wakeups(None, poll_seconds=FAR)
    rung: list[int] = []

    def ring(number: int, _: object) -> None:
        rung.append(number)
        wakeups.wake()

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, 1e-4, 1e-4)
    try:
        while len(rung) < 2000:
            wakeups.wait(0.0)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)

    assert wakeups.wait(0.0)


def test_a_signal_given_to_another_thread_ends_a_wait() -> None:
    """The system may choose any thread, which does not wake the one that answers to it."""
    with Wakeups(None, poll_seconds=FAR) as wakeups:
        before = signal.signal(signal.SIGTERM, lambda *_: wakeups.stop())
        late = threading.Timer(FAR / 10, wakeups.stop)  # ends a failure, too
        late.start()

        def hit() -> None:
            signal.pthread_kill(threading.get_ident(), signal.SIGTERM)

        asking = threading.Timer(0.1, hit)  # by then the wait has begun
        asking.start()
        try:
            assert not wakeups.wait()
        finally:
            was_heard_in_time = late.is_alive()
            late.cancel()
            asking.join()
            signal.signal(signal.SIGTERM, before)
    assert was_heard_in_time


def test_a_commit_wakes(tmp_path: Path) -> None:
    """As a person makes it."""
    checkout = new_checkout(tmp_path / "r", {"x": "1"})
    with watching(checkout.folder) as wakeups:
        checkout.commit({"x": "2"})

        assert woken(wakeups)
        assert "" == wakeups.problem


def test_a_commit_in_a_linked_worktree_wakes(tmp_path: Path) -> None:
    """Its branch lives in the common folder, nested as branch names are."""
    checkout = new_checkout(tmp_path / "r", {"x": "1"})
    checkout.git("worktree", "add", "--quiet", "-b", "team/a/b", str(tmp_path / "linked"))
    with watching(tmp_path / "linked") as wakeups:
        Checkout(tmp_path / "linked").commit({"x": "2"})

        assert woken(wakeups)


def test_a_push_into_a_bare_repository_wakes(tmp_path: Path) -> None:
    """The common way in production without a server."""
    bare = new_bare(tmp_path / "b.git", {"x": "1"})
    git(tmp_path, "clone", "--quiet", str(bare), "person")
    person = Checkout(tmp_path / "person")
    person.commit({"x": "2"})
    with watching(bare) as wakeups:
        person.git("push", "--quiet", "origin", "main")

        assert woken(wakeups)


def test_packed_references_wake(tmp_path: Path) -> None:
    """A reference that exists in the packed file only may be deleted there."""
    bare = new_bare(tmp_path / "b.git", {"x": "1"})
    git(bare, "branch", "side", "main")
    git(bare, "pack-refs", "--all", "--prune")
    with watching(bare) as wakeups:
        git(bare, "update-ref", "-d", "refs/heads/side")

        assert woken(wakeups)


@pytest.mark.parametrize("name", ["refs/heads/main.lock", "FETCH_HEAD", "index"])
def test_what_moves_no_branch_does_not_wake(tmp_path: Path, name: str) -> None:
    """Locks and other files come and go; the event after them is the first to be seen."""
    checkout = new_checkout(tmp_path / "r", {"x": "1"})
    with Wakeups(checkout.folder / ".git", poll_seconds=0.3) as wakeups:
        start = time.monotonic()
        (checkout.folder / ".git" / name).touch()
        wakeups.wait()

        assert time.monotonic() - start >= 0.3


def test_the_poll_and_the_timeout_end_a_wait(tmp_path: Path) -> None:
    """Whichever is first; a moment in the past does not wait at all."""
    with Wakeups(None, poll_seconds=0.01) as wakeups:
        assert wakeups.wait()
    with Wakeups(None, poll_seconds=FAR) as wakeups:
        assert wakeups.wait(0.01)
        assert wakeups.wait(-5)


def test_a_wake_up_before_the_wait_counts(tmp_path: Path) -> None:
    """A webhook may come while a pass runs."""
    with Wakeups(None, poll_seconds=FAR) as wakeups:
        wakeups.wake()

        assert woken(wakeups)


def test_a_stop_is_noticed_at_once(tmp_path: Path) -> None:
    """Long before the poll, watchers included, and it stays."""
    checkout = new_checkout(tmp_path / "r", {"x": "1"})
    answers: list[bool] = []
    with watching(checkout.folder) as wakeups:
        waiting = threading.Thread(target=lambda: answers.append(wakeups.wait()))
        waiting.start()
        start = time.monotonic()
        wakeups.stop()
        waiting.join()
    took = time.monotonic() - start

    assert [False] == answers
    assert took < FAR / 2
    assert not wakeups.wait()


def test_what_cannot_be_watched_is_polled(tmp_path: Path) -> None:
    """The reason is told once, to whoever logs."""
    with Wakeups(tmp_path / "absent", poll_seconds=0.01) as wakeups:
        assert "cannot be watched" in wakeups.problem
        assert wakeups.wait()


TOKEN = 'p/ss "w+rd'  # noqa: S105  # of tests only

FORMS = [
    pytest.param(TOKEN, id="plain"),
    pytest.param(quote(TOKEN), id="path"),
    pytest.param(quote(TOKEN, safe=""), id="url"),
    pytest.param(quote_plus(TOKEN), id="query"),
    pytest.param(json.dumps({"token": TOKEN}), id="json"),
    pytest.param(base64.b64encode(TOKEN.encode()).decode(), id="base64"),
    pytest.param(base64.urlsafe_b64encode(TOKEN.encode()).decode(), id="base64-url"),
    pytest.param(base64.b64encode(f"me:{TOKEN}".encode()).decode(), id="basic-auth"),
    pytest.param(base64.b64encode(f"user:{TOKEN}!".encode()).decode(), id="basic-auth-longer"),
]


def logged(*, text: bool, **values: object) -> str:
    """Return the line that an event makes."""
    stream = io.StringIO()
    configure_log(stream, text=text, colours=False, secrets=[TOKEN])
    structlog.get_logger().warning(f"before {values['said']} after", **values)
    return stream.getvalue()


@pytest.mark.parametrize("text", [True, False], ids=["text", "json"])
@pytest.mark.parametrize("form", FORMS)
def test_no_form_of_a_secret_is_logged(form: str, *, text: bool) -> None:
    """In the message, in a value, deep in a value, in an exception."""
    line = logged(text=text, said=form, deep={"x": [{"y": (form,)}]}, error=ValueError(form))

    assert "before" in line
    assert "after" in line
    for secret in FORMS[:-2]:
        assert str(secret.values[0]) not in line
    shifted = {base64.b64encode(bytes(n) + TOKEN.encode())[4:-4].decode() for n in range(3)}
    assert [] == [digits for digits in shifted if digits in line]


@pytest.mark.filterwarnings("default")
def test_what_libraries_log_is_json_too() -> None:
    """Warnings as well, in one line each, without secrets and without the words of an exception."""
    stream = io.StringIO()
    logging.captureWarnings(capture=False)  # pytest took back what an earlier test had set
    configure_log(stream, text=False, colours=False, secrets=[TOKEN])
    log = logging.getLogger("some.library")
    log.info("not worth a line")
    log.warning("a key is lost:\n%s", TOKEN)
    log.error("it failed", exc_info=ValueError(TOKEN))
    warnings.warn("two versions", RuntimeWarning, stacklevel=1)

    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    lost, failed, warned = lines
    assert ("warning", "some.library", "a key is lost:\\n***") == (
        lost["level"],
        lost["logger"],
        lost["msg"],
    )
    assert ("error", "it failed") == (failed["level"], failed["msg"])
    assert "ValueError" == failed["trace"]
    assert "RuntimeWarning: two versions" in warned["msg"]


def test_values_stay_values() -> None:
    """Numbers and absent moments are no texts in JSON."""
    line = json.loads(logged(text=False, said="x", seconds=0.5, faults=2, recheck_at=None))

    assert (0.5, 2, None) == (line["seconds"], line["faults"], line["recheck_at"])
