"""A Lazy policy that comes after its workloads: it places them at once, and everyone says so."""

from pathlib import Path

import pytest

from tests.builders import cluster, deployment, path_of, policy, selector, text
from tests.cli.history import answer
from tests.shell.fleet import run_pass
from tests.shell.repositories import Checkout, new_checkout

Capsys = pytest.CaptureFixture[str]
LAZY = policy(
    "lazy", activationPreference="Lazy", selectors=[selector()], placement={"clusterAffinity": {}}
)


@pytest.fixture
def fleet(tmp_path: Path) -> Checkout:
    """Two workloads that no policy claims, and a branch with a Lazy policy for them."""
    bodies = (cluster("a"), deployment("web"), deployment("api"))
    fleet = new_checkout(tmp_path / "fleet", {path_of(one): text(one) for one in bodies})
    run_pass(fleet.folder, 0)
    fleet.git("switch", "--quiet", "--create", "topic")
    fleet.commit({path_of(LAZY): text(LAZY)}, "Add a Lazy policy")
    return fleet


def test_validate_names_them(fleet: Checkout, capsys: Capsys) -> None:
    """Before the merge, from the files alone."""
    out = answer(fleet, capsys, "validate")[1]

    assert "places 2 workloads at once that have no binding yet: Deployment api, Deployment" in out
    assert "[policy-lazy-places]" in out


def test_plan_names_them_and_can_refuse(fleet: Checkout, capsys: Capsys) -> None:
    """With their number; `--fail-on lazy` answers 3."""
    code, out, err = answer(fleet, capsys, "plan", "--base", "main", "--fail-on", "lazy")

    assert 3 == code
    assert "places 2 workloads at once that had no binding: default/api, default/web" in out
    assert "the plan has 1 policy that is newly Lazy and places workloads at once" in err


def test_the_commit_names_them(fleet: Checkout, capsys: Capsys) -> None:
    """After which nothing is told any more, also where another workload comes."""
    fleet.git("switch", "--quiet", "main")
    fleet.git("merge", "--quiet", "topic")
    run_pass(fleet.folder, 60)
    message = fleet.git("log", "-1", "--format=%B")
    later = deployment("later")
    fleet.commit({path_of(later): text(later)}, "Add another workload")

    assert (
        "default/web: nowhere -> a(2): created (policy lazy, Lazy, which found no binding"
        in message
    )
    assert "lazy" not in answer(fleet, capsys, "validate")[1]
    assert (0, "") == (answer(fleet, capsys, "plan", "--fail-on", "lazy")[0], "")
