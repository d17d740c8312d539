"""Which commits are decided from: those that allowed keys signed; the others wait."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from reconciler.core.record import last_pass
from reconciler.model.world import World
from reconciler.shell.daemon.serve_branch import Daemon
from reconciler.shell.git.command import GitError
from reconciler.shell.git.repository import Repository
from reconciler.shell.git.signing import AllowedKeys, Signature, read_signatures
from reconciler.shell.passes import trust
from reconciler.shell.passes.pass_report import commit_pass
from reconciler.shell.passes.trust import ACCEPTED, NothingTrusted, RefusedCommit
from reconciler.shell.reports.metrics import Metrics
from tests.shell.daemon.test_daemon import Steps, served_by
from tests.shell.fleet import Clock, decisions, load_world
from tests.shell.guarded import DOWN, FRONTEND_OUTPUT, SHOP_OUTPUT, Guarded, new_guarded
from tests.shell.keys import commit_signed, new_ssh_key
from tests.shell.repositories import NOW, git

UNSIGNED = "it is not signed"


@pytest.fixture
def guarded(tmp_path: Path) -> Guarded:
    """The example, trusted as it is, and one pass; the next one is due at once."""
    return new_guarded(tmp_path)


def test_what_an_allowed_key_signed_is_decided_from(guarded: Guarded) -> None:
    """The pass signs what it writes, so that the next one goes on from there."""
    guarded.scale(4, by=guarded.ada)

    report = guarded.run()

    assert ((), 4) == (report.refused, guarded.replicas())
    signed = read_signatures(
        Repository.open(guarded.fleet.folder), [report.outputs], guarded.allowed
    )
    assert [""] == [one.problem for one in signed]


def test_what_is_not_signed_waits_and_is_told(guarded: Guarded) -> None:
    """Who, which commit, why; what Ada signed on top of it waits, too."""
    guarded.run()
    unsigned = guarded.scale(4, by=None)
    guarded.scale(5, by=guarded.ada)

    report = guarded.run()

    who = "Ada <ada@example.com>"
    assert (RefusedCommit("main", unsigned, who, UNSIGNED, 2),) == report.refused
    assert (None, 2) == (report.commit, guarded.replicas())
    assert (
        f"main has {unsigned[:12]} by {who}, which waits and 1 after it: it is not signed; sign it "
        "by an allowed key, or name it with --trust-from once it is reviewed"
    ) == str(report.refused[0])


def test_the_key_of_a_stranger_does_not_count(guarded: Guarded, tmp_path: Path) -> None:
    """A good signature by a key that nobody allowed is as none."""
    stranger = new_ssh_key(tmp_path / "keys", "stranger")
    guarded.scale(4, by=stranger)

    report = guarded.run()

    assert ["is not an allowed one"] == [one.problem[-21:] for one in report.refused]
    assert 2 == guarded.replicas()


def test_a_reviewed_commit_is_named_and_counts(guarded: Guarded) -> None:
    """The operator names it, and passes go on from the head."""
    unsigned = guarded.scale(4, by=None)
    assert 1 == len(guarded.run().refused)

    report = guarded.run(unsigned)

    assert ((), 4) == (report.refused, guarded.replicas())


def test_timed_passes_go_on_at_the_accepted_commit(guarded: Guarded) -> None:
    """A pass that is due writes on top of what waits, from the inputs before it, and it is signed.

    Here the outputs are edited by a commit that waits: the next pass that writes puts them back.
    """
    commit_signed(guarded.fleet, guarded.ada, DOWN)
    guarded.run()  # the shop leaves a cluster, which keeps its copy until the other one has its own
    accepted = guarded.fleet.head()
    before = decisions(load_world(guarded.fleet.folder))
    waiting = guarded.scale(9, by=None)
    guarded.fleet.git("rm", "--quiet", FRONTEND_OUTPUT)
    edits = {SHOP_OUTPUT: "gone: wrong\n", "status/extra.txt": "e\n", "notes.txt": "n\n"}
    tampered = guarded.fleet.commit(edits)
    due = NOW + timedelta(seconds=120)

    report = replace(guarded.passes(), clock=Clock(due)).run()
    then = replace(guarded.passes(), clock=Clock(due + timedelta(seconds=1))).run()

    commit = str(report.commit)
    assert tampered == guarded.fleet.git("rev-parse", f"{commit}^")
    trailers = guarded.fleet.git("log", "-1", "--format=%(trailers)", commit).split("\n")
    assert [f"Reconciled-From: {accepted}", f"Reconciled-Over: {tampered}"] == trailers[:2]
    world = load_world(guarded.fleet.folder)
    last = last_pass(world.outputs)
    assert (before, "n\n") == (decisions(world), guarded.fleet.git("show", "HEAD:notes.txt") + "\n")
    assert last is not None
    assert (accepted, due) == (last.revision, last.at)
    assert [waiting] == [one.revision for one in report.refused]
    listed = guarded.fleet.git("ls-tree", "-r", "--name-only", "HEAD", "status").splitlines()
    assert (True, False) == (FRONTEND_OUTPUT in listed, "status/extra.txt" in listed)
    assert (None, commit) == (then.commit, then.outputs)


def test_strangers_who_overtake_a_pass_cost_no_decision(
    guarded: Guarded, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is written on top of what waits, as often as they push, and puts back what they edit."""
    guarded.scale(4, by=guarded.ada)
    decided: list[World] = []
    strange: list[str] = []

    def decide(world: World, _now: datetime) -> None:
        decided.append(world)

    def commit(*arguments: Any, **named: Any) -> str:
        written = commit_pass(*arguments, **named)
        if len(strange) < 6:
            files = {"notes.txt": str(len(strange)), SHOP_OUTPUT: f"gone: {len(strange) // 2}\n"}
            strange.append(guarded.fleet.commit(files))
        return written

    monkeypatch.setattr("reconciler.shell.passes.one_pass.commit_pass", commit)
    report = replace(guarded.passes(), divided=decide).run()

    assert (1, 6, 4) == (len(decided), report.races, guarded.replicas())
    assert [(strange[0], 6)] == [(one.revision, one.waiting) for one in report.refused]
    trailers = guarded.fleet.git("log", "-1", "--format=%(trailers)", str(report.commit))
    assert f"Reconciled-Over: {strange[-1]}" in trailers
    assert "gone" not in guarded.fleet.git("show", f"main:{SHOP_OUTPUT}")


def test_an_edit_of_outputs_stands_until_a_pass_writes(guarded: Guarded) -> None:
    """Nothing is due, so nothing is committed; agents that read the branch see the edit."""
    guarded.run()
    guarded.fleet.commit({SHOP_OUTPUT: "gone: wrong\n"})

    report = guarded.run()

    assert (None, "gone: wrong") == (
        report.commit,
        guarded.fleet.git("show", f"HEAD:{SHOP_OUTPUT}"),
    )


def test_a_branch_that_is_set_back_waits(guarded: Guarded) -> None:
    """An old commit was signed once; what was accepted since is not undone by whoever can push."""
    old = guarded.fleet.head()
    guarded.scale(4, by=guarded.ada)
    newer = guarded.run().outputs
    guarded.run()
    guarded.fleet.git("reset", "--quiet", "--hard", old)

    report = guarded.run()

    said = f"{newer[:12]}, which was accepted last, is no part of the branch any more"
    assert [said] == [one.problem for one in report.refused]
    assert newer == guarded.fleet.git("rev-parse", f"{ACCEPTED}main")


def test_a_merge_counts_by_its_own_signature(guarded: Guarded) -> None:
    """Commits beside the first-parent line need none: who signs the merge answers for them."""
    guarded.fleet.git("switch", "--quiet", "--create", "topic")
    guarded.scale(4, by=None)
    guarded.fleet.git("switch", "--quiet", "main")
    guarded.fleet.git(
        "-c", "gpg.format=ssh", "-c", f"user.signingkey={guarded.ada.file}",
        "merge", "--quiet", "--no-ff", "-S", "-m", "Merge", "topic",
    )  # fmt: skip

    report = guarded.run()

    assert ((), 4) == (report.refused, guarded.replicas())


def test_without_an_anchor_the_whole_line_must_be_signed(guarded: Guarded) -> None:
    """The first commit is not signed, and nothing was accepted before: nothing is decided."""
    guarded.fleet.git("update-ref", "-d", f"{ACCEPTED}main")
    passes = guarded.passes()
    assert passes.branches.trust is not None
    passes.branches.trust.anchors = ()

    with pytest.raises(NothingTrusted, match="it is not signed"):
        passes.run()


def test_outputs_of_another_branch_must_be_signed_by_the_daemon(guarded: Guarded) -> None:
    """An edit there waits; the next pass decides from its own outputs, and puts them back."""
    guarded.output_branch = "fleet-status"
    guarded.fleet.git("rm", "-r", "--quiet", "status")
    commit_signed(guarded.fleet, guarded.ada, {})
    first = guarded.run().outputs
    guarded.fleet.git("switch", "--quiet", "fleet-status")
    edited = guarded.fleet.commit({SHOP_OUTPUT: "gone: wrong\n"})
    guarded.fleet.git("switch", "--quiet", "main")
    guarded.scale(4, by=guarded.ada)

    report = guarded.run()

    assert [edited] == [one.revision for one in report.refused]
    assert (first, edited) == (report.heads.outputs, report.heads.tip)
    assert 4 == guarded.replicas("fleet-status")


def test_what_waits_is_measured(guarded: Guarded) -> None:
    """How many commits, and since when; nothing any more once they are trusted."""
    passes = guarded.passes()
    clock = Clock(NOW + timedelta(seconds=9))
    metrics = Metrics(lambda _: NOW)
    found: list[tuple[float | None, float | None]] = []

    def measure() -> None:
        names = ("unaccepted_commits", "unaccepted_since_timestamp_seconds")
        count, since = (metrics.registry.get_sample_value(f"reconciler_{one}") for one in names)
        found.append((count, since))
        clock.moment += timedelta(seconds=60)

    def push() -> None:
        measure()
        guarded.scale(4, by=None)

    def push_more() -> None:
        measure()
        guarded.scale(5, by=guarded.ada)

    def trust() -> None:
        measure()
        assert passes.branches.trust is not None
        passes.branches.trust.anchors += (guarded.fleet.head(),)
        commit_signed(guarded.fleet, guarded.ada, {"notes.txt": "n"})

    steps = (lambda: None, push, push_more, trust, measure)
    serving = replace(passes, clock=clock, pause=clock.pause)
    Daemon(passes=serving, wakeups=Steps(iter(steps)), poll_seconds=60, observers=(metrics,)).run()

    since = (NOW + timedelta(seconds=69)).timestamp()
    assert [(0, 0), (1, since), (2, since), (0, 0)] == found


def test_the_daemon_tells_once_what_waits(guarded: Guarded) -> None:
    """While it waits, polls say nothing more."""
    passes = guarded.passes()
    unsigned: list[str] = []

    with capture_logs() as logs:
        served_by(
            passes,
            lambda: None,
            lambda: unsigned.append(guarded.scale(4, by=None)),
            lambda: None,
            lambda: None,
        )

    told = [entry for entry in logs if "not signed" in str(entry)]
    assert [("warning", unsigned[0][:12], 1)] == [
        (one["log_level"], one["commit"], one["waiting"]) for one in told
    ]


def test_what_comes_behind_a_refused_commit_is_not_judged(
    guarded: Guarded, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many a stranger pushes: of each piece git is asked once, up to the first refused."""
    asked: list[int] = []

    def counted(
        repository: Repository, revisions: Sequence[str], allowed: AllowedKeys
    ) -> list[Signature]:
        asked.append(len(revisions))
        return read_signatures(repository, revisions, allowed)

    monkeypatch.setattr(trust, "read_signatures", counted)
    guarded.run()
    first = guarded.scale(4, by=None)
    for number in range(60):
        git(guarded.fleet.folder, "commit", "--quiet", "--allow-empty", "-m", f"Flood {number}")

    report = guarded.run()

    assert [(first, 61)] == [(one.revision, one.waiting) for one in report.refused]
    assert sum(asked) <= trust.TOGETHER


def test_what_git_cannot_judge_is_refused(
    guarded: Guarded, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is no failed pass: those before it count, and what is due goes on."""
    guarded.scale(4, by=guarded.ada)
    odd = guarded.scale(5, by=guarded.ada)

    def fails(
        repository: Repository, revisions: Sequence[str], allowed: AllowedKeys
    ) -> list[Signature]:
        if odd in revisions:
            raise GitError("git log took longer than its limit")
        return read_signatures(repository, revisions, allowed)

    monkeypatch.setattr(trust, "read_signatures", fails)
    report = guarded.run()

    told = [(one.revision, one.problem) for one in report.refused]
    assert [(odd, "git cannot say whose its signature is")] == told
    assert 4 == guarded.replicas()
