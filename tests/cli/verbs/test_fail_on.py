"""`plan --fail-on`: what a pipeline does not let through."""

from pathlib import Path

import pytest

from tests.builders import cluster_policy, configmap, selector, text
from tests.cli.history import FAILED, SCALED, answer
from tests.shell.fleet import EXAMPLE, new_fleet, run_pass
from tests.shell.repositories import Checkout

Capsys = pytest.CaptureFixture[str]
LATER = ("plan", "--now", "2026-11-20T12:10:00Z")
SIX = "reconciler: --fail-on moves>5: the plan has 6 moves\n"
SETTINGS = "policies/settings.yaml"


@pytest.fixture
def fleet(tmp_path: Path) -> Checkout:
    """A fleet that was passed once, with a topic branch checked out."""
    checkout = new_fleet(tmp_path / "fleet")
    run_pass(checkout.folder, 0)
    checkout.git("checkout", "--quiet", "-b", "topic")
    return checkout


def verdict(fleet: Checkout, capsys: Capsys, *conditions: str) -> tuple[int, str]:
    """Return the exit code, and what is said on standard error."""
    options = [word for condition in conditions for word in ("--fail-on", condition)]
    code, out, err = answer(fleet, capsys, *LATER, *options)
    assert code == 2 or out.startswith("Plan: ")
    return code, err


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        pytest.param("moves>5", (3, SIX), id="5"),
        pytest.param("moves > 5", (3, SIX), id="blanks"),
        pytest.param("moves>6", (0, ""), id="6"),
        pytest.param("removed", (0, ""), id="removed"),
        pytest.param("unschedulable", (0, ""), id="unschedulable"),
    ],
)
def test_moves_are_counted(
    fleet: Checkout, capsys: Capsys, condition: str, expected: tuple[int, str]
) -> None:
    """Six replicas leave the cluster that fails; the plan is printed all the same."""
    fleet.commit(FAILED, "Fail member1")

    assert expected == verdict(fleet, capsys, condition)


def test_what_only_starts_is_no_move(fleet: Checkout, capsys: Capsys) -> None:
    """A workload that grows moves nothing."""
    fleet.commit(SCALED, "Scale the shop")

    assert (0, "") == verdict(fleet, capsys, "moves>0")


def test_an_object_without_replicas_moves_as_one(tmp_path: Path, capsys: Capsys) -> None:
    """A ConfigMap that leaves a cluster for another is a move, though no replica is."""
    policy = EXAMPLE[SETTINGS]
    placement = "  placement:\n    clusterAffinity:\n      clusterNames: [{}]\n"
    fleet = new_fleet(tmp_path / "fleet", {SETTINGS: policy + placement.format("member1")})
    run_pass(fleet.folder, 0)
    fleet.write({SETTINGS: policy + placement.format("member2")})

    expected = "reconciler: --fail-on moves>0: the plan has 1 move\n"
    assert (3, expected) == verdict(fleet, capsys, "moves>0")


def test_what_is_removed_is_found(fleet: Checkout, capsys: Capsys) -> None:
    """A workload whose manifest goes is on no cluster afterwards."""
    fleet.git("rm", "--quiet", "workloads/shop.yaml")
    fleet.commit({}, "Close the shop")

    expected = "reconciler: --fail-on removed: the plan has 1 object removed\n"
    assert (3, expected) == verdict(fleet, capsys, "removed", "unschedulable", "moves>0")


def test_removals_that_are_held_back_are_found(tmp_path: Path, capsys: Capsys) -> None:
    """The brake keeps the objects, yet whoever merges means to remove them."""
    files = {f"workloads/{name}.yaml": text(configmap(name)) for name in "abcdefghij"}
    everything = cluster_policy("all", selectors=[selector("ConfigMap")])
    fleet = new_fleet(tmp_path / "fleet", {**files, "policies/all.yaml": text(everything)})
    run_pass(fleet.folder, 0)
    for path in files:
        (fleet.folder / path).unlink()

    expected = "reconciler: --fail-on removed: the plan has removals that are held back\n"
    assert (3, expected) == verdict(fleet, capsys, "removed")


def test_what_no_cluster_can_take_is_found(fleet: Checkout, capsys: Capsys) -> None:
    """Each condition that is met is said."""
    policy = EXAMPLE["policies/shop.yaml"].replace("member1", "nowhere")
    fleet.commit({"policies/shop.yaml": policy.replace("backup", "nowhere")}, "Ask for nowhere")

    code, err = verdict(fleet, capsys, "unschedulable", "moves>0")
    assert (3, "reconciler: --fail-on unschedulable: the plan has 1 object unschedulable\n") == (
        code,
        err,
    )


def test_a_condition_wins_over_the_detailed_exit_code(fleet: Checkout, capsys: Capsys) -> None:
    """2 says that something changes; 3 that it must not."""
    fleet.commit(FAILED, "Fail member1")
    detailed = (*LATER, "--detailed-exitcode", "--fail-on")

    assert [3, 2] == [answer(fleet, capsys, *detailed, one)[0] for one in ("moves>1", "removed")]


@pytest.mark.parametrize("condition", ["moves", "moves>", "moves>-1", "moves<3", "moved>3", ""])
def test_what_is_no_condition_is_refused(fleet: Checkout, capsys: Capsys, condition: str) -> None:
    """With those that there are."""
    code, err = verdict(fleet, capsys, condition)

    assert (2, True) == (
        code,
        "must be moves>N, unschedulable, removed, lazy, faults or warnings" in err,
    )


def test_md_is_markdown(fleet: Checkout, capsys: Capsys) -> None:
    """As a pipeline's author may write it; where there is no markdown it is none."""
    fleet.commit(SCALED, "Scale the shop")
    markdown = answer(fleet, capsys, *LATER, "-o", "markdown")

    assert (0, True) == (markdown[0], markdown[1].startswith("<!-- reconciler:plan -->"))
    assert markdown == answer(fleet, capsys, *LATER, "-o", "md")
    assert 2 == answer(fleet, capsys, "get", "rb", "-o", "md")[0]
