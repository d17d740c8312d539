"""`status`: how a repository stands, on one screen."""

from pathlib import Path

import pytest

from tests.builders import configuration, rebalancer, target, text
from tests.cli.history import answer, told_fleet
from tests.shell.fleet import EXAMPLE, new_fleet, run_pass
from tests.shell.repositories import Checkout

Capsys = pytest.CaptureFixture[str]
SHOP = "policies/shop.yaml"


@pytest.fixture
def fleet(tmp_path: Path) -> Checkout:
    """A fleet that was passed once."""
    checkout = new_fleet(tmp_path / "fleet")
    run_pass(checkout.folder, 0)
    return checkout


def told(fleet: Checkout, capsys: Capsys, *options: str) -> dict[str, list[str]]:
    """Return the lines of each part by its title, what follows a blank line by `""`."""
    code, out, err = answer(fleet, capsys, "status", *options)
    assert (0, "") == (code, err)
    head, _, rest = out.partition("\n\n")
    found: dict[str, list[str]] = {"": [" ".join(line.split()) for line in rest.splitlines()]}
    title = ""
    for line in head.splitlines():
        if not line.startswith(" "):
            title = line.partition(":")[0]
            found[title] = []
        found[title].append(" ".join(line.removeprefix(f"{title}:").split()))
    return found


def test_a_healthy_fleet_has_one_screen(tmp_path: Path, capsys: Capsys) -> None:
    """Where it is, what was done last, that nothing is wrong, and what there is."""
    fleet = told_fleet(tmp_path / "fleet")
    head, inputs = (fleet.git("rev-parse", "--short=12", name) for name in ("HEAD", "HEAD~1"))

    found = told(fleet, capsys)

    assert [
        "Problems",
        "Root",
        "Branch",
        "Last pass",
        "Input",
        "Held files",
        "Suspended",
        "Coming",
        "Copies",
        "Objects",
    ] == [title for title in found if title]
    assert [f"{fleet.folder}, outputs in status/"] == found["Root"]
    assert [f"main at {head} (Place default/shop on backup1(5))"] == found["Branch"]
    assert found["Last pass"][0].startswith("2026-11-20T12:02:00Z, ")
    assert [f"{inputs}, nothing since"] == found["Input"]
    assert [["none"]] * 2 == [found[title] for title in ("Held files", "Suspended")]
    assert "2 deployments, 3 clusters," in " ".join(found["Objects"])


def test_before_the_first_pass_it_says_how_to_run_one(tmp_path: Path, capsys: Capsys) -> None:
    """There is no input then."""
    found = told(new_fleet(tmp_path / "fleet"), capsys)

    assert ["none yet; reconciler reconcile runs one"] == found["Last pass"]
    assert "Input" not in found


def test_what_came_since_is_counted(fleet: Checkout, capsys: Capsys) -> None:
    """Commits of people that no pass has answered."""
    fleet.commit({"notes.txt": "a\n"}, "Take a note")
    fleet.commit({"notes.txt": "b\n"}, "Take another note")

    assert told(fleet, capsys)["Input"][0].endswith(", 2 commits since")


def test_a_fault_is_told_with_what_is_held(fleet: Checkout, capsys: Capsys) -> None:
    """Where it is, and whose last good version is in force; before a pass, too."""
    broken = EXAMPLE[SHOP].replace("  placement:", "  placment:")
    fleet.commit({SHOP: broken}, "Break the policy")
    before = told(fleet, capsys)
    run_pass(fleet.folder, 60)
    after = told(fleet, capsys)

    assert before["Problems"] == after["Problems"]
    assert "1 fault" == after["Problems"][0]
    assert after["Problems"][1].startswith(f"{SHOP}:12:3: ")
    assert [f"{SHOP}: using the last valid PropagationPolicy shop"] == after["Held files"]


def test_a_fault_that_only_a_pass_finds_is_told(fleet: Checkout, capsys: Capsys) -> None:
    """As the last pass recorded it, until somebody commits."""
    silent = text(rebalancer("demo", {**target(name="shop"), "namespace": ""}))
    fleet.commit({"rebalancers/demo.yaml": silent}, "Forget the namespace")
    run_pass(fleet.folder, 60)

    assert "1 fault" == told(fleet, capsys)["Problems"][0]


def test_what_is_suspended_is_told(fleet: Checkout, capsys: Capsys) -> None:
    """One by one, or that everything is; each with its file, and what a resume would move."""
    annotated = EXAMPLE[SHOP].replace(
        "  name: shop\n", "  name: shop\n  annotations: {reconciler.dev/suspend: 'true'}\n", 1
    )
    fleet.commit({SHOP: annotated}, "Suspend the shop")
    one = told(fleet, capsys)["Suspended"]
    fleet.commit({"reconciler.yaml": text(configuration(suspend=True))}, "Suspend all")

    still = "resuming would move nothing now"
    assert [f"propagationpolicy/shop in namespace default ({SHOP}): {still}"] == one
    assert [f"everything (reconciler.yaml): {still}"] == told(fleet, capsys)["Suspended"]


def test_rebalancers_are_a_table(fleet: Checkout, capsys: Capsys) -> None:
    """With how far they are."""
    demand = text(rebalancer("demo", target(name="shop")))
    fleet.commit({"rebalancers/demo.yaml": demand}, "Rebalance the shop")
    run_pass(fleet.folder, 60)

    head, row = told(fleet, capsys)[""]
    assert "NAME SUCCESSFUL FAILED FINISHED AGE" == head
    assert row.startswith("workloadrebalancer.apps.karmada.io/demo 1/1 0 ")


def test_many_faults_stay_one_screen(fleet: Checkout, capsys: Capsys) -> None:
    """The first few, and how many more."""
    broken = "apiVersion: apps/v1\nkind: Deployment\nspec: [\n"
    fleet.commit({f"workloads/{name}.yaml": broken for name in "abcdefgh"}, "Break much")

    found = told(fleet, capsys)["Problems"]
    assert ("8 faults", "and 3 more; see reconciler validate") == (found[0], found[6])


def test_the_past_is_told_as_it_was(tmp_path: Path, capsys: Capsys) -> None:
    """By the outputs of that time."""
    found = told(told_fleet(tmp_path / "fleet"), capsys, "--at", "HEAD~2")

    assert found["Branch"][0].startswith("HEAD~2 at ")
    assert found["Last pass"][0].startswith("2026-11-20T12:01:00Z, ")
