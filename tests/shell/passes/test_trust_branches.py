"""Branches that somebody without a key sets, deletes or tags: nothing that counted is undone."""

from pathlib import Path

import pytest

from tests.builders import configuration, text
from tests.shell.fleet import decisions
from tests.shell.guarded import SHOP_BINDING, Guarded, new_guarded
from tests.shell.keys import commit_signed
from tests.shell.passes.test_trust_purpose import FEEDBACK


@pytest.fixture
def guarded(tmp_path: Path) -> Guarded:
    """The example, trusted as it is, and what its passes come to."""
    found = new_guarded(tmp_path)
    found.run()
    return found


def test_reports_whose_branch_was_deleted_go_on(guarded: Guarded) -> None:
    """What was accepted of them is read, or whoever can push would take it back."""
    files = {"reconciler.yaml": text(configuration(feedback={"branch": "reports"}))}
    commit_signed(guarded.fleet, guarded.ada, {**files, "feedback/member1/x.yaml": FEEDBACK})
    guarded.fleet.git("branch", "reports")
    accepted = guarded.run().world.reported_at
    guarded.fleet.git("branch", "--delete", "--force", "reports")

    assert (accepted, True) == (guarded.run().world.reported_at, bool(accepted))


def test_a_tag_of_the_same_name_is_no_branch(guarded: Guarded) -> None:
    """Git would take the tag; what counts is the branch."""
    stranger = guarded.scale(9, by=None)
    guarded.fleet.git("tag", "main", stranger)
    guarded.fleet.git("reset", "--quiet", "--hard", "HEAD^")

    guarded.scale(4, by=guarded.ada)

    assert ((), 4) == (guarded.run().refused, guarded.replicas())


@pytest.fixture
def apart(guarded: Guarded) -> Guarded:
    """The same with outputs on a branch of their own."""
    guarded.output_branch = "fleet-status"
    guarded.fleet.git("rm", "-r", "--quiet", "status")
    commit_signed(guarded.fleet, guarded.ada, {})
    guarded.run()
    guarded.run()
    return guarded


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


def test_the_last_pass_cannot_be_undone_by_setting_the_branch_back(guarded: Guarded) -> None:
    """It was accepted as it was written: nobody has to look at it again first."""
    guarded.scale(4, by=guarded.ada)
    before = guarded.fleet.head()
    decided = str(guarded.run().commit)
    guarded.fleet.git("reset", "--quiet", "--hard", before)

    report = guarded.run()

    said = f"{decided[:12]}, which was accepted last, is no part of the branch any more"
    assert (None, [said]) == (report.commit, [one.problem for one in report.refused])
