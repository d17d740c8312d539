"""Several roots of one branch in one process: who writes next, and who fetches for whom."""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from threading import Event

import pytest

from reconciler.model.records import dataclass, field, replace
from reconciler.shell.daemon.events import DaemonEvent, PassFailed, PassFinished
from reconciler.shell.daemon.serve_branch import Daemon
from reconciler.shell.daemon.watch import Wakeups, run_beside
from reconciler.shell.git.checkout.moves import KeptEdit
from reconciler.shell.git.command import GitError, RemoteRefused
from reconciler.shell.git.remotes.mirror import Mirror
from reconciler.shell.git.repository import Repository
from reconciler.shell.passes.branches import LocalBranch, RemoteBranch
from reconciler.shell.passes.turns import JointFetches, PassDropped, Turns
from tests.builders import cluster, deployment, path_of, policy, text
from tests.shell.counted import CommandLog
from tests.shell.daemon.test_serve_branch import Steps
from tests.shell.fleet import PATIENCE_SECONDS, Clock, eventually, passes_of
from tests.shell.repositories import Checkout, git, new_bare

ROOTS = tuple(f"teams/t{number}" for number in range(6))
FIRST, *OTHERS = ROOTS
FILES: Mapping[str, str] = {
    f"{root}/{path_of(body)}": text(body)
    for root in ROOTS
    for body in (cluster(), policy(), deployment())
}


def waits(turns: Turns, count: int) -> bool:
    """Whether so many wait for their turn."""
    return turns.waiting == count


def after_queueing(turns: Turns, work: Sequence[Callable[[], None]]) -> list[Future[None]]:
    """Start each of some work once the one before it waits for its turn."""
    pool = ThreadPoolExecutor(len(work))
    begun = []
    for waiting, one in enumerate(work, start=1):
        begun.append(pool.submit(one))
        eventually(partial(waits, turns, waiting), "the next in the queue")
    pool.shutdown(wait=False)
    return begun


def test_turns_are_had_in_the_order_of_asking() -> None:
    """First come, first served."""
    turns, order = Turns(), list[int]()

    def take(number: int) -> None:
        with turns.taken():
            order.append(number)

    with turns.taken():
        begun = after_queueing(turns, [partial(take, number) for number in range(8)])
    for one in begun:
        one.result(PATIENCE_SECONDS)

    assert [*range(8)] == order


def test_whoever_is_told_to_stop_leaves_the_queue() -> None:
    """Those behind have their turn as if it had never asked."""
    turns, stopped, order = Turns(), Event(), list[str]()

    def take(name: str, is_dropped: Callable[[], bool]) -> None:
        with turns.taken(is_dropped):
            order.append(name)

    with turns.taken():
        first, second = after_queueing(
            turns,
            [lambda: take("stopped", stopped.is_set), lambda: take("patient", lambda: False)],
        )
        stopped.set()
        with pytest.raises(PassDropped):
            first.result(PATIENCE_SECONDS)
        assert not second.done()
    second.result(PATIENCE_SECONDS)

    assert ["patient"] == order


def test_a_turn_ends_with_an_exception() -> None:
    """The next one has it."""
    turns = Turns()
    with pytest.raises(GitError), turns.taken():
        raise GitError("broken")
    with turns.taken():
        assert 0 == turns.waiting


@pytest.mark.parametrize("fails", [False, True], ids=["found", "failed"])
def test_one_fetch_answers_all_who_asked_before_it(fails: bool) -> None:  # noqa: FBT001
    """Not the one that had begun: it may be older than the question."""
    fetches, release, begun = JointFetches(), Event(), Event()
    count: list[str] = []

    def fetch(name: str) -> str:
        count.append(name)
        number = len(count)
        begun.set()
        assert release.wait(PATIENCE_SECONDS)
        if fails and number == 2:
            raise GitError("the remote is away")
        return f"head {number}"

    def ask() -> str | None:
        try:
            return fetches.head("main", fetch)
        except GitError as error:
            return str(error)

    with ThreadPoolExecutor(6) as pool:
        early = pool.submit(ask)
        assert begun.wait(PATIENCE_SECONDS)
        late = [pool.submit(ask) for _ in range(5)]
        eventually(lambda: fetches.waiting == 5, "five who ask")
        release.set()
        answers = [one.result(PATIENCE_SECONDS) for one in (early, *late)]

    expected = "the remote is away" if fails else "head 2"
    assert ["head 1", *[expected] * 5] == answers
    assert "head 3" == fetches.head("main", fetch)
    assert "head 4" == fetches.head("other", fetch)


@dataclass(frozen=True, slots=True)
class Forge(RemoteBranch):
    """A branch of a remote whose forge does something of its own when it is pushed to."""

    on_push: Callable[[str], None] = lambda _: None

    def publish(self, *, old: str, new: str) -> tuple[KeptEdit, ...]:
        """Push, after what the forge does for the root."""
        self.on_push(self.repository.prefix)
        return RemoteBranch.publish(self, old=old, new=new)


@dataclass
class Fleet:
    """Six roots of one remote, each with a daemon; what these tell, and how often they decide."""

    remote: Path
    mirror: Mirror
    events: dict[str, list[DaemonEvent]] = field(default_factory=dict)
    decided: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    meeting: threading.Barrier | None = None

    def forge(self, on_push: Callable[[str], None] = lambda _: None) -> Forge:
        """Return the branch."""
        return Forge(self.mirror, self.mirror.repository, "main", on_push=on_push)

    def daemon(self, branch: RemoteBranch, root: str, wakeups: Wakeups | None = None) -> Daemon:
        """Return the daemon of a root, for one pass unless it has wakeups."""
        passes = replace(passes_of(branch.below(root), Clock()), divided=self.decide)
        if wakeups is not None:
            passes = replace(passes, is_stopped=lambda: wakeups.stopped)
        told = self.events.setdefault(root, [])
        return Daemon(
            passes=passes,
            wakeups=wakeups or Steps(iter([lambda: None])),
            poll_seconds=60,
            observers=(told.append,),
        )

    def decide(self, *_: object) -> None:
        """Count a decision; where all are to meet, wait for the others."""
        self.decided.release()
        if self.meeting is not None:
            self.meeting.wait(PATIENCE_SECONDS)

    def have_decided(self, count: int) -> bool:
        """Wait until so many roots have decided."""
        return all(self.decided.acquire(timeout=PATIENCE_SECONDS) for _ in range(count))

    def races(self) -> dict[str, int]:
        """Return the races that each root lost whose pass committed."""
        return {
            root: one.report.races
            for root, told in self.events.items()
            for one in told
            if isinstance(one, PassFinished) and one.report.commit is not None
        }

    def failures(self) -> dict[str, str]:
        """Return why passes failed, by root."""
        return {
            root: one.failure.reason
            for root, told in self.events.items()
            for one in told
            if isinstance(one, PassFailed)
        }


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[Fleet]:
    """The roots at a remote, with a mirror."""
    remote = new_bare(tmp_path / "remote.git", FILES)
    with Mirror.open(f"file://{remote}", tmp_path / "mirror") as mirror:
        yield Fleet(remote, mirror)


def test_roots_of_one_remote_lose_no_race_and_fetch_together(
    fleet: Fleet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All have decided before any writes; each writes on what the one before it has pushed."""
    branch, fetch, first = fleet.forge(), fleet.mirror.fetch, threading.Lock()
    fleet.meeting = threading.Barrier(len(ROOTS))

    def fetch_once_all_ask(name: str) -> str | None:
        if first.acquire(blocking=False):
            eventually(lambda: branch.fetches.waiting == len(OTHERS), "all who look")
        return fetch(name)

    monkeypatch.setattr(fleet.mirror, "fetch", fetch_once_all_ask)
    commands = CommandLog(tmp_path / "commands", monkeypatch)
    run_beside({root: fleet.daemon(branch, root) for root in ROOTS})
    counted = commands.taken()

    assert dict.fromkeys(ROOTS, 0) == fleet.races()
    assert (2, len(ROOTS)) == (counted.count("fetch"), counted.count("push"))
    assert fleet.have_decided(len(ROOTS))
    assert not fleet.decided.acquire(blocking=False)
    assert f"{1 + len(ROOTS)}" == git(fleet.remote, "rev-list", "--count", "main")


def test_roots_of_one_checkout_lose_no_race(tmp_path: Path) -> None:
    """Nor do they where branches move on this machine."""
    bare = new_bare(tmp_path / "bare.git", FILES)
    branch = LocalBranch(Repository.open(bare), "main")
    meeting = threading.Barrier(len(ROOTS))

    def decide(*_: object) -> None:
        meeting.wait(PATIENCE_SECONDS)

    def races(root: str) -> int:
        return replace(passes_of(branch.below(root), Clock()), divided=decide).run().races

    with ThreadPoolExecutor(len(ROOTS)) as pool:
        assert [0] * len(ROOTS) == [*pool.map(races, ROOTS)]
    assert f"{1 + len(ROOTS)}" == git(bare, "rev-list", "--count", "main")


def test_all_others_decide_while_one_pushes(fleet: Fleet) -> None:
    """However long the forge takes."""
    in_time: list[bool] = []

    def on_push(_root: str) -> None:
        if not in_time:
            in_time.append(fleet.have_decided(len(ROOTS)))

    branch = fleet.forge(on_push)
    run_beside({root: fleet.daemon(branch, root) for root in ROOTS})

    assert [True] == in_time
    assert dict.fromkeys(ROOTS, 0) == fleet.races()


def test_a_root_whose_push_fails_delays_no_other(fleet: Fleet) -> None:
    """Its turn ends with its failure."""

    def on_push(root: str) -> None:
        if root == FIRST:
            raise RemoteRefused("teams/t0 may not be written")

    branch = fleet.forge(on_push)
    run_beside({root: fleet.daemon(branch, root) for root in ROOTS})

    assert dict.fromkeys(OTHERS, 0) == fleet.races()
    assert {FIRST: "teams/t0 may not be written"} == fleet.failures()


def test_who_loses_a_race_lets_the_others_go_first(fleet: Fleet, tmp_path: Path) -> None:
    """They know by then what has come, and lose none."""
    person = Checkout(tmp_path / "person")
    git(tmp_path, "clone", "--quiet", str(fleet.remote), "person")
    order: list[str] = []

    def on_push(root: str) -> None:
        order.append(root)
        if len(order) == 1:
            eventually(lambda: branch.writers.waiting == len(OTHERS), "all others wait")
            person.commit({"notes.txt": "from a person"})
            person.git("push", "--quiet", "origin", "main")

    branch = fleet.forge(on_push)
    run_beside({root: fleet.daemon(branch, root) for root in ROOTS})

    first = order[0]
    assert (len(ROOTS) + 1, first) == (len(order), order[-1])
    assert {**dict.fromkeys(ROOTS, 0), first: 1} == fleet.races()
    assert len(ROOTS) == git(fleet.remote, "log", "--format=%an", "main").count("reconciler")


def test_a_stop_ends_those_that_wait_for_their_turn(fleet: Fleet) -> None:
    """While the one that pushes is not answered; it alone is finished, as the answer comes."""
    wakeups = {root: Wakeups(None, poll_seconds=PATIENCE_SECONDS) for root in ROOTS}
    pushing, answer = Event(), Event()

    def on_push(_root: str) -> None:
        pushing.set()
        assert answer.wait(PATIENCE_SECONDS)

    branch = fleet.forge(on_push)
    daemons = {root: fleet.daemon(branch, root, wakeups[root]) for root in ROOTS}
    with ThreadPoolExecutor(len(ROOTS)) as pool:
        running = [pool.submit(daemon.run) for daemon in daemons.values()]
        assert pushing.wait(PATIENCE_SECONDS)
        eventually(lambda: branch.writers.waiting == len(OTHERS), "all others wait")
        for wakeup in wakeups.values():
            wakeup.stop()
        eventually(lambda: sum(one.done() for one in running) == len(OTHERS), "all others end")
        answer.set()
        for one in running:
            one.result(PATIENCE_SECONDS)

    assert (1, {}) == (len(fleet.races()), fleet.failures())
    assert "2" == git(fleet.remote, "rev-list", "--count", "main")
