"""A pass that is due goes first; what a stranger pushed is fetched and judged after it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from random import Random

import pytest
from structlog.testing import capture_logs

from reconciler.shell.daemon.serve_branch import Daemon
from reconciler.shell.git.remotes import mirror as mirror_module
from reconciler.shell.git.remotes.mirror import Mirror
from reconciler.shell.passes.branch_delivery import BranchDelivery
from reconciler.shell.passes.branches import RemoteBranch
from reconciler.shell.passes.one_pass import Passes
from reconciler.shell.passes.trust import Trust
from tests.shell.counted import CommandLog
from tests.shell.daemon.test_daemon import Steps
from tests.shell.daemon.test_run_remote import clone
from tests.shell.fleet import EXAMPLE, Clock, passes_of
from tests.shell.guarded import DOWN, SHOP, Guarded, new_guarded
from tests.shell.keys import commit_signed
from tests.shell.repositories import NOW, Checkout, git

OUTPUTS = "fleet-status"


@dataclass
class Watched:
    """A remote whose commits must be signed, served through a mirror by hand.

    `guarded` says who may sign; its checkout is where the remote began.
    """

    guarded: Guarded
    remote: Path
    mirror: Mirror
    person: Checkout
    clock: Clock
    log: CommandLog

    def passes(self, outputs: str | None) -> Passes:
        """Return what a daemon of this remote runs."""
        branch = RemoteBranch(self.mirror, self.mirror.repository, "main")
        found = passes_of(branch, self.clock, outputs)
        trust = Trust(
            self.mirror.repository,
            found.branches.layout,
            self.guarded.allowed,
            own=self.guarded.robot.fingerprint,
            anchors=(self.guarded.anchor,),
        )
        return replace(
            found,
            delivery=BranchDelivery(key=self.guarded.robot.signing),
            branches=replace(found.branches, trust=trust),
        )

    def serve(self, outputs: str | None, *steps: Callable[[], object]) -> None:
        """Serve while people take steps."""
        wakeups = Steps(iter(steps))
        Daemon(passes=self.passes(outputs), wakeups=wakeups, poll_seconds=60).run()

    def push_unsigned(self) -> str:
        """Push as a stranger who has no key."""
        files = {SHOP: EXAMPLE[SHOP].replace("replicas: 2", "replicas: 9")}
        return self._push(lambda: self.person.commit(files))

    def fail(self) -> None:
        """Let a cluster fail: the shop leaves it, and a pass is due once that has ended."""
        self._push(lambda: commit_signed(self.person, self.guarded.ada, DOWN))
        self.come(1)

    def _push(self, commit: Callable[[], str]) -> str:
        self.person.git("pull", "--quiet", "origin", "main")
        pushed = commit()
        self.person.git("push", "--quiet", "origin", "main")
        return pushed

    def come(self, seconds: int) -> None:
        """Let a moment come, and forget which commands ran before."""
        self.clock.moment += timedelta(seconds=seconds)
        self.log.taken()

    def taken(self) -> list[str]:
        """Return the commands that talk to the remote or judge signatures, in their order."""
        return [verb for verb in self.log.taken() if verb in ("fetch", "push", "log")]


@pytest.fixture
def watched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Watched]:
    """The example at a remote."""
    guarded = new_guarded(tmp_path)
    guarded.fleet.git("reset", "--quiet", "--hard", guarded.anchor)
    remote = tmp_path / "remote"
    git(tmp_path, "clone", "--quiet", "--bare", str(guarded.fleet.folder), str(remote))
    person = clone(remote, tmp_path / "person")
    with Mirror.open(f"file://{remote}", tmp_path / "mirror") as mirror:
        log = CommandLog(tmp_path / "bin", monkeypatch)
        yield Watched(guarded, remote, mirror, person, Clock(NOW + timedelta(seconds=1)), log)


def test_outputs_apart_land_before_anything_is_fetched(watched: Watched) -> None:
    """The pass decides from what was accepted last, and pushes; then there is a look."""
    pushed: list[str] = []
    heads: list[str] = []

    def come() -> None:
        pushed.append(watched.push_unsigned())
        heads.append(git(watched.remote, "rev-parse", OUTPUTS))
        watched.come(120)

    def look() -> None:
        heads.append(git(watched.remote, "rev-parse", OUTPUTS))
        assert ["push"] == watched.taken()
        assert pushed[0] != watched.mirror.repository.find("main")

    watched.serve(OUTPUTS, lambda: None, watched.fail, come, look)

    assert heads[0] != heads[1]
    assert pushed[0] == watched.mirror.repository.find("main")
    assert "fetch" == watched.taken()[0]


def test_on_one_branch_a_race_is_lost_once(watched: Watched) -> None:
    """Then what was pushed is fetched and judged, and the pass stands on top of it."""
    pushed: list[str] = []

    def come() -> None:
        pushed.append(watched.push_unsigned())
        watched.come(120)

    def look() -> None:
        taken = watched.taken()
        assert (["push", "fetch", "log"], "push") == (taken[:3], taken[-1])

    watched.serve(None, lambda: None, watched.fail, come, look)

    said = git(watched.remote, "log", "-1", "--format=%P %(trailers:key=Reconciled-Over)", "main")
    assert f"{pushed[0]} Reconciled-Over: {pushed[0]}" == said.strip()


def test_a_look_follows_each_pass_that_was_due(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even where another one is due already: a moment that never goes by hides no push."""
    pushed: list[str] = []
    runs: list[bool] = []
    run = Passes.run

    def counted(passes: Passes, **named: object) -> object:
        runs.append(bool(named.get("due")))
        return replace(run(passes, due=bool(named.get("due"))))

    monkeypatch.setattr(Passes, "run", counted)
    monkeypatch.setattr(Daemon, "_has_come", lambda *_: True)
    nothing = lambda: None  # noqa: E731
    push = lambda: pushed.append(watched.push_unsigned())  # noqa: E731
    watched.serve(OUTPUTS, nothing, push, nothing, nothing, nothing)

    assert [False, True, False, True, False] == runs
    assert pushed[0] == watched.mirror.repository.find("main")


@pytest.mark.parametrize("outputs", [OUTPUTS, None], ids=["apart", "on one branch"])
def test_what_cannot_be_fetched_stops_nothing_else(
    watched: Watched, monkeypatch: pytest.MonkeyPatch, outputs: str | None
) -> None:
    """It is told as a commit that waits, no pass fails, and what can land does.

    On one branch nothing can, since whatever is written must stand on it, until it is taken off.
    """
    monkeypatch.setattr(mirror_module, "FETCHED_BYTES", 100_000)
    before: list[str] = []

    def push() -> None:
        before.append(git(watched.remote, "rev-parse", "main"))
        watched.person.git("pull", "--quiet", "origin", "main")
        watched.person.commit({"large": Random(0).randbytes(300_000).hex()})  # noqa: S311  # to be repeated, no secret
        watched.person.git("push", "--quiet", "origin", "main")

    def take_off() -> None:
        git(watched.remote, "update-ref", "refs/heads/main", before[0])

    nothing = lambda: None  # noqa: E731
    come = lambda: watched.come(120)  # noqa: E731
    with capture_logs() as logs:
        steps = (nothing, watched.fail, push, nothing, come, nothing, take_off, nothing)
        watched.serve(outputs, *steps)

    assert [] == [one for one in logs if one["event"].startswith("pass failed")]
    told = [one for one in logs if "it takes more than" in one["event"]]
    assert [("warning", "somebody unknown", "main")] == [
        (one["log_level"], one["author"], one["branch"]) for one in told
    ]
    assert 3 == len([one for one in logs if one["event"] == "pass committed"])
