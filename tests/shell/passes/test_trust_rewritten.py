"""A branch that was set back, rewritten or amended: what of it counts, and from when on."""

from pathlib import Path

import pytest

from tests.shell.fleet import decisions
from tests.shell.guarded import SHOP_BINDING, Guarded, new_guarded


@pytest.fixture
def guarded(tmp_path: Path) -> Guarded:
    """The example, trusted as it is, and one pass."""
    return new_guarded(tmp_path)


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
