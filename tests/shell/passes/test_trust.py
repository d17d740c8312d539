"""Which commits are decided from, on branches that strangers set, rewrite or share by roots."""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from reconciler.cli.main import run
from reconciler.core.record import last_pass
from reconciler.model.records import dataclass, field, replace
from reconciler.model.world import World
from reconciler.shell.daemon.serve_branch import Daemon
from reconciler.shell.git.command import GitError
from reconciler.shell.git.repository import Repository
from reconciler.shell.git.signing import AllowedKeys, Signature, read_signatures
from reconciler.shell.passes import trust
from reconciler.shell.passes.branch_delivery import BranchDelivery
from reconciler.shell.passes.branches import LocalBranch
from reconciler.shell.passes.one_pass import Passes
from reconciler.shell.passes.pass_report import commit_pass
from reconciler.shell.passes.trust import ACCEPTED, NothingTrusted, RefusedCommit, Trust
from reconciler.shell.reports.metrics import Metrics
from tests.builders import configuration, text
from tests.shell.counted import (
    DOWN,
    FRONTEND_OUTPUT,
    SHOP_BINDING,
    SHOP_OUTPUT,
    Guarded,
    new_guarded,
)
from tests.shell.daemon.test_roots import ROOTS, fleets
from tests.shell.daemon.test_serve_branch import Steps, served_by
from tests.shell.fleet import Clock, decisions, load_world, new_passes
from tests.shell.keys import SshKey, allowing, commit_signed, new_ssh_key
from tests.shell.passes.test_trust_purpose import FEEDBACK
from tests.shell.repositories import NOW, Checkout, git, new_checkout

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


@pytest.fixture
def guarded_example(tmp_path: Path) -> Guarded:
    """The example, trusted as it is, and what its passes come to."""
    found = new_guarded(tmp_path)
    found.run()
    return found


def test_reports_whose_branch_was_deleted_go_on(guarded_example: Guarded) -> None:
    """What was accepted of them is read, or whoever can push would take it back."""
    files = {"reconciler.yaml": text(configuration(feedback={"branch": "reports"}))}
    commit_signed(
        guarded_example.fleet, guarded_example.ada, {**files, "feedback/member1/x.yaml": FEEDBACK}
    )
    guarded_example.fleet.git("branch", "reports")
    accepted = guarded_example.run().world.reported_at
    guarded_example.fleet.git("branch", "--delete", "--force", "reports")

    assert (accepted, True) == (guarded_example.run().world.reported_at, bool(accepted))


def test_a_tag_of_the_same_name_is_no_branch(guarded_example: Guarded) -> None:
    """Git would take the tag; what counts is the branch."""
    stranger = guarded_example.scale(9, by=None)
    guarded_example.fleet.git("tag", "main", stranger)
    guarded_example.fleet.git("reset", "--quiet", "--hard", "HEAD^")

    guarded_example.scale(4, by=guarded_example.ada)

    assert ((), 4) == (guarded_example.run().refused, guarded_example.replicas())


@pytest.fixture
def apart(guarded_example: Guarded) -> Guarded:
    """The same with outputs on a branch of their own."""
    guarded_example.output_branch = "fleet-status"
    guarded_example.fleet.git("rm", "-r", "--quiet", "status")
    commit_signed(guarded_example.fleet, guarded_example.ada, {})
    guarded_example.run()
    guarded_example.run()
    return guarded_example


def test_outputs_that_were_set_back_are_decided_once(apart: Guarded) -> None:
    """The pass on top of the older ones is found again, or each look would decide anew."""
    old = apart.fleet.git("rev-parse", "fleet-status")
    apart.scale(4, by=apart.ada)
    apart.run()
    apart.fleet.git("branch", "--force", "fleet-status", old)
    apart.scale(5, by=apart.ada)

    commits = [apart.run().commit for _ in range(3)]

    assert [True, False, False] == [one is not None for one in commits]
    assert 5 == apart.replicas("fleet-status")


def test_passes_of_a_line_that_was_left_do_not_come_back(apart: Guarded) -> None:
    """They were made of older outputs; whoever can push may have kept them."""
    old = apart.fleet.git("rev-parse", "fleet-status")
    apart.fleet.git("branch", "--force", "fleet-status", "main")
    apart.scale(4, by=apart.ada)
    left = str(apart.run().commit)
    apart.fleet.git("branch", "--force", "fleet-status", old)
    apart.scale(5, by=apart.ada)
    apart.run()
    apart.run()
    apart.fleet.git("branch", "--force", "fleet-status", left)

    report = apart.run()

    found = decisions(report.world)[SHOP_BINDING]
    assert (None, 5) == (report.commit, sum(int(str(one["replicas"])) for one in found))


@pytest.mark.parametrize("scaled", [False, True], ids=["nothing to decide", "a decision"])
def test_outputs_whose_branch_was_deleted_go_on(apart: Guarded, *, scaled: bool) -> None:
    """What was accepted last is here, and the branch begins there again."""
    last = apart.fleet.git("rev-parse", "fleet-status")
    apart.fleet.git("branch", "--delete", "--force", "fleet-status")
    if scaled:
        apart.scale(4, by=apart.ada)

    apart.run()

    ends = apart.fleet.git("rev-parse", "fleet-status^" if scaled else "fleet-status")
    assert (last, 4 if scaled else 2) == (ends, apart.replicas("fleet-status"))


def test_the_last_pass_cannot_be_undone_by_setting_the_branch_back(
    guarded_example: Guarded,
) -> None:
    """It was accepted as it was written: nobody has to look at it again first."""
    guarded_example.scale(4, by=guarded_example.ada)
    before = guarded_example.fleet.head()
    decided = str(guarded_example.run().commit)
    guarded_example.fleet.git("reset", "--quiet", "--hard", before)

    report = guarded_example.run()

    said = f"{decided[:12]}, which was accepted last, is no part of the branch any more"
    assert (None, [said]) == (report.commit, [one.problem for one in report.refused])


A, B = ROOTS
DUE = 120  # seconds until an eviction has ended, so that a pass has something to write


@dataclass
class Shared:
    """A repository with two roots, whose commits must be signed by Ada or by the daemon."""

    fleet: Checkout
    ada: SshKey
    robot: SshKey
    folder: Path
    anchor: str
    trusts: dict[str, Trust] = field(default_factory=dict)

    def allowing(self, name: str, *keys: SshKey) -> AllowedKeys:
        """Return the keys of a daemon."""
        (self.folder / name).mkdir(exist_ok=True)
        return AllowedKeys(signers=allowing(self.folder / name, *keys))

    def passes(
        self, root: str, seconds: int, *, allowed: AllowedKeys | None = None, anchored: bool = True
    ) -> Passes:
        """Return what a process that was just started runs at a root, so long after `NOW`."""
        found = new_passes(self.fleet.folder / root, Clock(NOW + timedelta(seconds=seconds)))
        allowed = allowed or self.allowing("all", self.ada, self.robot)
        anchors = (self.anchor,) if anchored else ()
        own, branches = self.robot.fingerprint, found.branches
        trust = Trust(branches.repository, branches.layout, allowed, own=own, anchors=anchors)
        return replace(
            found,
            delivery=BranchDelivery(key=self.robot.signing),
            branches=replace(branches, trust=trust),
        )

    def accepted(self) -> set[str]:
        """Return what the references of ours have."""
        listed = self.fleet.git("for-each-ref", "--format=%(objectname)", "refs/reconciler/")
        return set(listed.split())


@pytest.fixture
def shared(tmp_path: Path) -> Shared:
    """Both roots are decided once, and again as a cluster of each is down."""
    fleet = new_checkout(tmp_path / "fleet", fleets(*ROOTS))
    ada, robot = (new_ssh_key(tmp_path / "keys", who) for who in ("ada", "robot"))
    found = Shared(fleet, ada, robot, tmp_path, fleet.head())
    for second, root in enumerate(ROOTS):
        found.passes(root, second).run()
    down = {f"{root}/{path}": text for root in ROOTS for path, text in DOWN.items()}
    commit_signed(fleet, ada, down)
    for second, root in enumerate(ROOTS):
        found.passes(root, 2 + second).run()
    return found


def test_what_another_root_passed_over_is_not_trusted(shared: Shared) -> None:
    """A pass of one root is signed, and stands on an edit of the outputs of the other."""
    before = decisions(load_world(shared.fleet.folder / B))
    trusted = shared.fleet.head()
    shared.fleet.git("rm", "--quiet", f"{B}/{FRONTEND_OUTPUT}")
    shared.fleet.commit({})
    assert shared.passes(A, DUE).run().commit

    report = shared.passes(B, DUE + 1).run()

    assert (trusted, before) == (
        report.heads.outputs,
        decisions(load_world(shared.fleet.folder / B)),
    )


def test_a_root_proves_what_it_put_back_over_passes_of_another(
    shared: Shared, capsys: pytest.CaptureFixture[str]
) -> None:
    """The edit is told, the passes of both roots hold."""
    shared.fleet.git("rm", "--quiet", f"{B}/{FRONTEND_OUTPUT}")
    edited = shared.fleet.commit({})
    assert shared.passes(A, DUE).run().commit
    assert shared.passes(B, DUE + 1).run().commit

    for root in ROOTS:
        assert (root == B) == run(["-C", str(shared.fleet.folder / root), "verify"])

    of_a, of_b = capsys.readouterr().out.split("decision commits verified", 1)
    assert "3 of 3 " in of_a
    assert f"✘ tampered  {edited[:12]}" in of_b
    assert "3 of 3 decision commits verified, 1 tampered" in of_b


def test_a_root_goes_on_from_its_own_passes_over_what_waits(shared: Shared) -> None:
    """Passes of the other root that came later do not hide it."""
    shared.fleet.commit({"notes.txt": "unsigned"})
    of_a = shared.passes(A, DUE).run().commit
    of_b = shared.passes(B, DUE + 1).run().commit

    report = shared.passes(A, DUE + 2).run()

    assert (of_a, of_b) == (report.heads.outputs, report.heads.tip)


@pytest.mark.parametrize(("blocked", "other"), [(A, B), (B, A)], ids=["the first", "the second"])
def test_a_root_that_is_blocked_holds_up_no_other(shared: Shared, blocked: str, other: str) -> None:
    """It lacks the key of Ada; what the other accepts does not move what it accepted."""
    alone = shared.allowing("alone", shared.robot)
    shared.passes(blocked, 200, allowed=alone).run()
    shared.passes(other, 201).run()
    start = shared.fleet.head()
    shared.passes(blocked, 202, allowed=alone).run()
    signed = commit_signed(shared.fleet, shared.ada, {"notes.txt": "signed"})
    first = shared.passes(blocked, 203, allowed=alone).run()

    shared.passes(other, 204).run()

    again = shared.passes(blocked, 205, allowed=alone).run()
    assert [[signed], [signed]] == [[one.revision for one in r.refused] for r in (first, again)]
    assert (start, start) == (first.heads.inputs, again.heads.inputs)
    assert {start, signed} == shared.accepted()


def test_what_was_accepted_for_all_roots_counts_for_each(shared: Shared) -> None:
    """A root has one of its own only since; before, the branch had one, and no anchor is needed."""
    shared.passes(A, 2).run()
    for one in shared.fleet.git("for-each-ref", "--format=%(refname)", "refs/reconciler/").split():
        shared.fleet.git("update-ref", "-d", one)
    head = shared.fleet.head()
    shared.fleet.git("update-ref", f"{ACCEPTED}main", head)

    report = shared.passes(A, 3, anchored=False).run()

    assert ((), head) == (report.refused, report.heads.inputs)


@dataclass(frozen=True, slots=True)
class Overtaken(LocalBranch):
    """A branch that somebody moves right after it was looked at."""

    meanwhile: Callable[[], object] = lambda: None

    def head(self) -> str:
        """Return where it was before."""
        found = self.repository.resolve(self.name)
        self.meanwhile()
        return found


def test_what_another_daemon_accepts_meanwhile_is_no_branch_set_back(shared: Shared) -> None:
    """It accepted a newer head than this one has seen; this one neither waits nor takes it back."""
    newer: list[str] = []

    def meanwhile() -> None:
        if not newer:
            newer.append(commit_signed(shared.fleet, shared.ada, {"notes.txt": "signed"}))
            shared.passes(A, 3).decide()

    found = shared.passes(A, 4)
    branch = Overtaken(found.branch.repository, "main", meanwhile=meanwhile)

    report = replace(found, branches=replace(found.branches, inputs=branch)).decide()

    assert () == report.refused
    assert newer[0] in shared.accepted()


def test_a_branch_that_was_set_back_goes_on_from_a_newer_commit(guarded: Guarded) -> None:
    """Naming the old one does not help, or any old anchor would let the branch be set back."""
    old = guarded.fleet.head()
    guarded.scale(4, by=guarded.ada)
    guarded.run()
    guarded.run()
    guarded.fleet.git("reset", "--quiet", "--hard", old)

    named = guarded.run(old)
    newer = guarded.fleet.commit({"notes.txt": "n"})
    then = guarded.run(newer)

    helps = "push that again, or name a newer commit of the branch with --trust-from"
    assert [helps] == [one.expected for one in named.refused]
    assert ((), newer) == (then.refused, then.heads.inputs)


def test_a_branch_that_was_rewritten_goes_on_from_its_named_head(guarded: Guarded) -> None:
    """It has nothing of what was accepted, but for the start."""
    guarded.scale(4, by=guarded.ada)
    guarded.run()
    guarded.run()
    guarded.fleet.git("reset", "--quiet", "--hard", guarded.anchor)
    head = guarded.scale(3, by=None)

    waits = guarded.run()
    report = guarded.run(guarded.fleet.head())

    assert [1, 0] == [len(waits.refused), len(report.refused)]
    assert head in guarded.fleet.git("rev-list", report.heads.inputs)


def test_a_commit_that_is_signed_afterwards_counts(guarded: Guarded) -> None:
    """Amended, it takes the place of the one that waits."""
    guarded.run()
    guarded.scale(4, by=None)
    waits = guarded.run()
    guarded.fleet.git(
        "-c", "gpg.format=ssh", "-c", f"user.signingkey={guarded.ada.file}",
        "commit", "--quiet", "--amend", "--no-edit", "-S",
    )  # fmt: skip

    report = guarded.run()

    assert [1, 0] == [len(waits.refused), len(report.refused)]
    assert 4 == guarded.replicas()


def test_an_unsigned_merge_does_not_set_the_branch_back_to_a_signed_commit(
    guarded: Guarded,
) -> None:
    """Its first parent is an old branch of Ada's, its second one is what was accepted last."""
    guarded.fleet.git("branch", "topic")
    guarded.scale(4, by=guarded.ada)
    guarded.run()
    guarded.run()
    accepted = guarded.fleet.head()
    guarded.fleet.git("switch", "--quiet", "topic")
    guarded.scale(3, by=guarded.ada)
    guarded.fleet.git("merge", "--quiet", "--no-ff", "-m", "Merge", "-s", "ours", "main")
    guarded.fleet.git("branch", "--force", "main", "topic")
    guarded.fleet.git("switch", "--quiet", "main")

    report = guarded.run()

    assert (1, accepted, 4) == (
        len(report.refused),
        report.heads.inputs,
        sum(int(str(one["replicas"])) for one in decisions(report.world)[SHOP_BINDING]),
    )
