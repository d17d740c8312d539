"""Roots and daemons that share a repository: each trusts by itself, and takes its own outputs."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path

import pytest

from reconciler.cli.main import run
from reconciler.shell.git.signing import AllowedKeys
from reconciler.shell.passes.branch_delivery import BranchDelivery
from reconciler.shell.passes.branches import LocalBranch
from reconciler.shell.passes.one_pass import Passes
from reconciler.shell.passes.trust import ACCEPTED, Trust
from tests.shell.daemon.test_roots import ROOTS, fleets
from tests.shell.fleet import Clock, decisions, load_world, new_passes
from tests.shell.guarded import DOWN, FRONTEND_OUTPUT
from tests.shell.keys import SshKey, allowing, commit_signed, new_ssh_key
from tests.shell.repositories import NOW, Checkout, new_checkout

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
