"""What `plan` compares with, and that it never says "Nothing moves" where something does."""

from pathlib import Path

import pytest

from reconciler.audit.previews.wording import Heading
from reconciler.cli.main import run
from tests.cli.history import SCALED, answer, answer_json
from tests.shell.fleet import EXAMPLE, new_fleet, run_pass
from tests.shell.repositories import Checkout, git, new_checkout

Capsys = pytest.CaptureFixture[str]
LATER = ("--now", "2026-11-20T12:10:00Z")
SHOP = "status/resourcebindings.work.karmada.io/default/shop-deployment.yaml"
ROOTS = ("envs/dev", "envs/prod")


@pytest.fixture
def fleet(tmp_path: Path) -> Checkout:
    """A fleet that was passed once, on its branch."""
    checkout = new_fleet(tmp_path / "fleet")
    run_pass(checkout.folder, 0)
    return checkout


@pytest.fixture
def roots(tmp_path: Path) -> Checkout:
    """A repository of two roots, each passed once, with both scaled on a branch."""
    files = {f"{root}/{path}": text for root in ROOTS for path, text in EXAMPLE.items()}
    checkout = new_checkout(tmp_path / "roots", files)
    for second, root in enumerate(ROOTS):
        run_pass(checkout.folder / root, second)
    checkout.git("checkout", "--quiet", "-b", "topic")
    scaled = {f"{root}/{path}": text for root in ROOTS for path, text in SCALED.items()}
    checkout.commit(scaled, "Scale both")
    return checkout


def headline(fleet: Checkout, capsys: Capsys, *arguments: str) -> str:
    """Return the first line of a plan."""
    code, out, err = answer(fleet, capsys, "plan", *arguments, *LATER)
    assert (0, "") == (code, err)
    return out.splitlines()[0]


def test_a_commit_on_the_served_branch_is_compared_with_what_was_decided(
    fleet: Checkout, capsys: Capsys
) -> None:
    """Without a remote: against the branch itself nothing would ever move."""
    decided = fleet.head()
    fleet.commit(SCALED, "Scale the shop")

    code, found = answer_json(fleet, capsys, ["plan", *LATER])

    assert (0, "1 binding changes; 3 replicas start") == (code, found["headline"])
    assert {"name": "main as last decided", "commit": decided} == found["base"]
    assert [] == found["anyway"]


@pytest.mark.parametrize("head", [(), ("--head", "HEAD"), ("--head", "main")], ids=" ".join)
def test_a_commit_that_is_not_pushed_is_compared_with_the_remote(
    fleet: Checkout, tmp_path: Path, capsys: Capsys, head: tuple[str, ...]
) -> None:
    """As `git status` does: the branch of the remote as it was fetched."""
    git(tmp_path, "clone", "--quiet", str(fleet.folder), "clone")
    clone = Checkout(tmp_path / "clone")
    clone.commit(SCALED, "Scale the shop")

    code, found = answer_json(clone, capsys, ["plan", *head, *LATER])

    assert (0, "1 binding changes; 3 replicas start") == (code, found["headline"])
    assert {"name": "origin/main", "commit": fleet.head()} == found["base"]


def test_a_clone_without_a_base_is_refused(fleet: Checkout, tmp_path: Path, capsys: Capsys) -> None:
    """A pipeline that fetches one commit has nothing to compare with; it passes no gate."""
    fleet.git("checkout", "--quiet", "-b", "topic")
    fleet.commit(SCALED, "Scale the shop")
    url = f"file://{fleet.folder}"
    git(tmp_path, "clone", "--quiet", "--depth=1", "--branch=topic", url, "clone")

    code = run(["-C", str(tmp_path / "clone"), "plan", "--fail-on", "moves>0"])

    assert 2 == code
    assert capsys.readouterr().err.startswith(
        "reconciler: no base: neither main nor origin/main is in this clone; fetch it "
        "(git fetch origin main:refs/remotes/origin/main) or name one with --base"
    )


@pytest.mark.parametrize("taken", [(SHOP,), (SHOP, "workloads/shop.yaml")], ids=len)
def test_outputs_that_a_merge_takes_along_are_what_it_moves(
    fleet: Checkout, capsys: Capsys, taken: tuple[str, ...]
) -> None:
    """An object is where the base has it decided, whatever the merge does to the record."""
    fleet.git("checkout", "--quiet", "-b", "topic")
    for path in (*taken, "workloads/shop.yaml"):
        (fleet.folder / path).unlink(missing_ok=True)
    fleet.commit({}, "Take the shop away")

    code, out, _ = answer(fleet, capsys, "plan", "--fail-on", "removed", *LATER)

    assert 3 == code
    assert "Plan: 1 removed; 2 replicas stop" == out.splitlines()[0]


def test_a_decision_that_a_merge_edits_is_a_move(fleet: Checkout, capsys: Capsys) -> None:
    """A pass takes the edit for the decision before, so it has nothing to say of it."""
    fleet.git("checkout", "--quiet", "-b", "topic")
    binding = (fleet.folder / SHOP).read_text()
    fleet.commit({SHOP: binding.replace("  - name: member1\n", "  - name: backup1\n")}, "Move it")

    assert "Plan: 1 binding changes; 2 replicas move" == headline(fleet, capsys)


def test_what_a_sparse_checkout_leaves_out_stays(
    fleet: Checkout, tmp_path: Path, capsys: Capsys
) -> None:
    """The files are in the index, so they are not removed; the rest is compared as ever."""
    git(tmp_path, "clone", "--quiet", "--sparse", str(fleet.folder), "clone")
    clone = Checkout(tmp_path / "clone")
    clone.git("sparse-checkout", "set", "workloads")
    clone.git("checkout", "--quiet", "-b", "topic")
    clone.write(SCALED)

    assert not (clone.folder / "policies").exists()
    assert "Plan: 1 binding changes; 3 replicas start" == headline(clone, capsys)


def test_a_fault_stands_in_the_title(fleet: Checkout, capsys: Capsys) -> None:
    """What is refused does not move, and that is not all there is to say; a gate may hold it."""
    fleet.git("checkout", "--quiet", "-b", "topic")
    broken = EXAMPLE["policies/shop.yaml"].replace("spec:", "spec: 7 #", 1)
    fleet.commit({"policies/shop.yaml": broken}, "Break the policy")

    assert "Plan: 1 fault in policies/shop.yaml; nothing moves" == headline(fleet, capsys)
    code, _, err = answer(fleet, capsys, "plan", "--fail-on", "warnings,faults", *LATER)
    assert (3, "reconciler: --fail-on faults: the plan has 1 fault\n") == (code, err)


def test_what_is_pending_already_stands_in_the_title(fleet: Checkout, capsys: Capsys) -> None:
    """No list of moves stands below "Nothing moves"."""
    fleet.commit(SCALED, "Scale the shop")
    fleet.git("checkout", "--quiet", "-b", "topic")
    fleet.commit({"notes.txt": "nothing to place\n"}, "Take notes")

    assert "Plan: No move of its own; 1 object is pending already" == headline(fleet, capsys)


def test_the_top_of_several_roots_names_those_that_change(roots: Checkout, capsys: Capsys) -> None:
    """The files of a root below are none of the top's, so it cannot say what they move."""
    found = headline(roots, capsys)

    assert "Plan: Nothing moves in this root; envs/dev, envs/prod below changes, too" == found


def test_each_root_has_a_title_and_a_comment_of_its_own(roots: Checkout, capsys: Capsys) -> None:
    """So that the comment of one does not take the place of the other's."""
    out = answer(roots, capsys, "plan", "--roots", "envs/*", "-o", "markdown", *LATER)[1]

    lines = out.splitlines()
    for root in ROOTS:
        first = lines.index(f"<!-- reconciler:plan {root} -->")
        assert f"### Plan of `{root}`: 1 binding changes; 3 replicas start" == lines[first + 1]
    code, found = answer_json(roots, capsys, ["plan", "--roots", "envs/*", *LATER])
    assert (0, [*ROOTS]) == (code, [one["root"] for one in found["roots"]])


def test_no_root_is_refused(roots: Checkout, capsys: Capsys) -> None:
    """A pattern that matches nothing is a mistake."""
    code, _, err = answer(roots, capsys, "plan", "--roots", "teams/*")

    assert (2, "reconciler: --roots teams/*: no such folder has a reconciler.yaml\n") == (code, err)


def test_a_marker_cannot_be_ended_by_a_root() -> None:
    """A folder may be named like the end of a comment."""
    assert "<!-- reconciler:plan a-%2D%3E -->" == Heading("plan", "", "a-->").marker


@pytest.mark.parametrize(
    ("options", "shown"),
    [
        pytest.param(("-n", "default"), ["default/shop"], id="namespace"),
        pytest.param(("-n", "kube-system"), [], id="another-namespace"),
        pytest.param(("--only", "deployment/shop"), ["default/shop"], id="only"),
        pytest.param(("--only", "deployment/frontend"), [], id="only-another"),
        pytest.param(("-l", "app=shop"), ["default/shop"], id="labels"),
        pytest.param(("-l", "app=none"), [], id="no-such-labels"),
    ],
)
def test_a_part_is_shown(
    fleet: Checkout, capsys: Capsys, options: tuple[str, ...], shown: list[str]
) -> None:
    """What is not asked for is counted; "Nothing moves" is said of what is asked only."""
    fleet.write(SCALED)

    found = answer_json(fleet, capsys, ["plan", *options, *LATER])[1]

    assert shown == [one["subject"] for one in found["objects"]]
    assert 1 - len(shown) == found["hidden"]
    assert shown or found["headline"].endswith("; 1 other object changes")
