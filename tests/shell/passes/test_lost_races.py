"""A pass that comes too late: decided anew where what it looked at has moved, and only there."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from reconciler.core.changes import Outcome
from reconciler.model.moments import format_moment
from reconciler.model.world import World
from reconciler.shell.git.repository import Repository
from reconciler.shell.passes.branches import LocalBranch
from reconciler.shell.passes.one_pass import Passes
from reconciler.shell.passes.pass_commit import commit_pass
from tests.builders import cluster, deployment, path_of, policy, rebalancer, text
from tests.shell.fleet import Clock, passes_of
from tests.shell.repositories import NOW, Checkout, new_checkout

ROOT, OTHER = "teams/a", "teams/b"
BODIES = (cluster(), policy(), deployment())
LATER = NOW + timedelta(seconds=7)


def files(root: str) -> Mapping[str, str]:
    """A fleet in a folder."""
    return {f"{root}/{path_of(body)}": text(body) for body in BODIES}


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    """Two roots in one repository."""
    return new_checkout(tmp_path / "fleet", {**files(ROOT), **files(OTHER)})


def contested(checkout: Checkout, overtake: Callable[[], None], clock: Clock) -> list[datetime]:
    """Run a pass that somebody overtakes once; return the moment of each decision."""
    branch = LocalBranch(Repository.open(checkout.folder), "main")
    decided: list[datetime] = []

    def decide(_world: World, now: datetime) -> Outcome | None:
        decided.append(now)
        if len(decided) == 1:
            overtake()
        return None

    passes: Passes = replace(passes_of(branch.below(ROOT), clock), divided=decide)
    report = passes.run()
    assert (1, report.commit) == (report.races, checkout.git("rev-parse", "main").strip())
    return decided


def test_a_commit_of_another_root_costs_no_decision(checkout: Checkout) -> None:
    """The decision stands, with its moment, on top of that commit, and names it."""
    clock = Clock(NOW)

    def overtake() -> None:
        clock.moment = LATER
        checkout.commit({f"{OTHER}/{path_of(deployment('api'))}": text(deployment("api"))})

    decided = contested(checkout, overtake, clock)

    said = checkout.git("log", "-1", "--format=%B", "main")
    assert [NOW] == decided
    assert f"Reconciled-From: {checkout.git('rev-parse', 'main~1').strip()}" in said
    assert f"Reconciled-At: {format_moment(NOW)}" in said


def test_pushes_that_are_no_input_never_stop_a_pass(
    checkout: Checkout, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many come before the branch moves; what was decided is written on top of them."""
    clock, many = Clock(NOW), 20
    decided: list[datetime] = []
    overtaken: list[str] = []

    def decide(_world: World, now: datetime) -> Outcome | None:
        decided.append(now)
        return None

    def commit(*arguments: Any, **named: Any) -> str:
        if len(overtaken) < many:
            overtaken.append(checkout.commit({"notes.txt": str(len(overtaken))}))
        return commit_pass(*arguments, **named)

    monkeypatch.setattr("reconciler.shell.passes.one_pass.commit_pass", commit)
    branch = LocalBranch(Repository.open(checkout.folder), "main")
    report = replace(passes_of(branch.below(ROOT), clock), divided=decide).run()

    assert ([NOW], many) == (decided, report.races)
    assert len(clock.waits) <= 1
    assert report.commit == checkout.git("rev-parse", "main").strip()
    assert f"Reconciled-From: {overtaken[-1]}" in checkout.git("log", "-1", "--format=%B")


def test_a_commit_of_the_same_root_is_decided_about(checkout: Checkout) -> None:
    """Together with what was there."""
    clock = Clock(NOW)
    added = rebalancer("back")

    def overtake() -> None:
        clock.moment = LATER
        checkout.commit({f"{ROOT}/{path_of(added)}": text(added)})

    first, second = contested(checkout, overtake, clock)

    assert NOW == first
    assert LATER <= second
    assert f"{ROOT}/status/workloadrebalancers.apps.karmada.io/back.yaml" in checkout.git(
        "ls-tree", "-r", "--name-only", "main"
    )
