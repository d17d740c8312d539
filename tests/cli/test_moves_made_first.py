"""Moves that make before they break, over real commits: each step is proven from a clone."""

from collections.abc import Callable
from pathlib import Path

import pytest

from reconciler.cli.main import run
from tests.builders import (
    DYNAMIC,
    Body,
    cluster,
    configuration,
    deployment,
    groups,
    path_of,
    policy,
    rebalancer,
    taint,
    text,
)
from tests.core.test_make_before_break import ALL, OPTIONS, STATUS, given, hear
from tests.shell.fleet import run_pass, subjects
from tests.shell.repositories import Checkout, git, new_checkout
from tests.stories import Story

Capsys = pytest.CaptureFixture[str]


def put(fleet: Checkout, *objects: Body, message: str) -> None:
    """Commit what people write."""
    fleet.commit({path_of(one): text(one) for one in objects}, message)


def standing(fleet: Checkout) -> Story:
    """The files of the branch as a story has them."""
    paths = fleet.git("ls-files").splitlines()
    return Story({path: (fleet.folder / path).read_text() for path in paths})


def report(fleet: Checkout, where: str) -> None:
    """Commit what a cluster reports: all that it was given is ready."""
    path = f"feedback/{where}/web.yaml"
    fleet.commit({path: hear(standing(fleet), where).files[path]}, f"Report of {where}")


def moving(folder: Path) -> Checkout:
    """Web is on b, which reports it; since second 10 it is on its way to a."""
    placement = groups(["a"], ["b"], replicaScheduling=DYNAMIC)
    first = (
        cluster("a", status=STATUS, taints=[taint()]),
        cluster("b", status=STATUS),
        policy(placement=placement),
        deployment(replicas=4),
        configuration(**OPTIONS),
    )
    fleet = new_checkout(folder, {path_of(one): text(one) for one in first})
    run_pass(fleet.folder, 0)
    put(fleet, cluster("a", status=STATUS), message="Take the taint away")
    report(fleet, "b")
    put(fleet, rebalancer(limits=ALL), message="Bring web home")
    run_pass(fleet.folder, 10)
    return fleet


def is_ready(fleet: Checkout) -> None:
    """Cluster a reports what it was given."""
    report(fleet, "a")
    run_pass(fleet.folder, 20)


def is_late(fleet: Checkout) -> None:
    """It never does."""
    run_pass(fleet.folder, 110)


def is_cancelled(fleet: Checkout) -> None:
    """The rebalancer is removed."""
    fleet.git("rm", "--quiet", path_of(rebalancer()))
    fleet.git("commit", "--quiet", "--message", "Leave web where it is")
    run_pass(fleet.folder, 20)


@pytest.mark.parametrize(
    ("ends", "becomes", "said"),
    [
        pytest.param(is_ready, {"a": 4}, "4 on a ready", id="success"),
        pytest.param(is_late, {"b": 4}, "4 on a given back", id="deadline"),
        pytest.param(is_cancelled, {"b": 4}, "4 on a given back", id="cancel"),
    ],
)
def test_each_step_is_a_commit_that_is_proven(
    tmp_path: Path,
    capsys: Capsys,
    ends: Callable[[Checkout], None],
    becomes: dict[str, int],
    said: str,
) -> None:
    """The clusters are given both sides in between, and one of them at the end."""
    fleet = moving(tmp_path / "fleet")
    assert {"a": 4, "b": 4} == given(standing(fleet))
    assert "Rebalance default/web, which stays on b(4)" == subjects(fleet)[0]
    ends(fleet)

    assert becomes == given(standing(fleet))
    assert said in fleet.git("log", "-1", "--format=%b")
    git(tmp_path, "clone", "--quiet", str(fleet.folder), "clone")
    capsys.readouterr()
    code = run(["-C", str(tmp_path / "clone"), "verify", "-v"])
    told = capsys.readouterr()
    assert (0, "") == (code, told.err)
    assert 3 == told.out.count("✔ proven")
