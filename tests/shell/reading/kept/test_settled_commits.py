"""What is kept of commits in which nothing is left to do, and which of them serves a question."""

from datetime import datetime, timedelta
from pathlib import Path

import pytest

from reconciler.core.asked import SettledWorld
from reconciler.core.dialects import KINDS
from reconciler.library.fleet import FleetRepository
from reconciler.model.identity import RepositoryLayout
from reconciler.shell.git.repository import Repository
from reconciler.shell.reading.tables import DocumentCache
from tests.builders import Body, cluster, configuration, deployment, path_of, policy, selector, text
from tests.shell.repositories import NOW, Checkout, new_checkout

WORKLOADS = 520  # from 500 objects on a settled commit is kept
HOUR = timedelta(hours=1)


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    """A fleet that nobody looked at yet."""
    return checkout_of(tmp_path / "fleet", WORKLOADS, selector("Deployment", name="web-000"))


def checkout_of(folder: Path, workloads: int, placed: Body) -> Checkout:
    """A fleet of some workloads, of which those are placed that a selector chooses."""
    bodies = [
        configuration(feedback={"assumeAfterSeconds": None}),
        cluster("a"),
        policy("p", selectors=[placed]),
        *(deployment(f"web-{number:03}") for number in range(workloads)),
    ]
    return new_checkout(folder, {path_of(body): text(body) for body in bodies})


@pytest.fixture
def fleet(checkout: Checkout, tmp_path: Path) -> FleetRepository:
    """The same, asked with a cache of its own."""
    return fleet_of(checkout, tmp_path)


def fleet_of(checkout: Checkout, tmp_path: Path) -> FleetRepository:
    """A repository that is asked with a cache of its own."""
    return FleetRepository(
        directory=checkout.folder,
        repository=Repository.open(checkout.folder),
        layout=RepositoryLayout(),
        documents=DocumentCache(tmp_path / "cache", lambda: "this", KINDS),
    )


def known(fleet: FleetRepository, *, of_present: bool = False) -> tuple[str, datetime] | None:
    """The input commit and the moment that a question begins with."""
    commits = fleet.settled_commits
    assert commits is not None
    found: SettledWorld | None = commits.load(fleet.new_loader(), of_present=of_present)
    return None if found is None else (found.world.revision, found.at)


def test_a_later_pass_that_changes_nothing_leaves_the_moment_of_the_one_that_wrote(
    fleet: FleetRepository,
) -> None:
    """Or else a question about what follows the last pass would have to ask for all again."""
    wrote = fleet.reconcile(at=NOW)
    assert wrote.commit is not None

    assert fleet.reconcile(at=NOW + HOUR).commit is None
    assert (wrote.commit, NOW) == known(fleet)
    assert (wrote.commit, NOW) == known(fleet, of_present=True)


def test_what_a_first_pass_writes_counts_among_the_objects(tmp_path: Path) -> None:
    """So the pass that writes is known, and not only the one after it."""
    checkout = checkout_of(tmp_path / "fleet", WORKLOADS // 2, selector("Deployment"))
    fleet = fleet_of(checkout, tmp_path)
    wrote = fleet.reconcile(at=NOW)
    fleet.reconcile(at=NOW + HOUR)

    assert (wrote.commit, NOW) == known(fleet)


def test_a_commit_that_moves_nothing_serves_questions_about_the_present_only(
    checkout: Checkout, fleet: FleetRepository
) -> None:
    """What a pass finds by then says nothing of the time since the pass before."""
    wrote = fleet.reconcile(at=NOW)
    unplaced = deployment("web-001", replicas=7)
    edited = checkout.commit({path_of(unplaced): text(unplaced)})

    assert fleet.reconcile(at=NOW + HOUR).commit is None
    assert (wrote.commit, NOW) == known(fleet)
    assert (edited, NOW + HOUR) == known(fleet, of_present=True)


def test_the_next_pass_that_writes_takes_the_place_of_both(
    checkout: Checkout, fleet: FleetRepository
) -> None:
    """It is the last pass from then on."""
    fleet.reconcile(at=NOW)
    unplaced, placed = deployment("web-001", replicas=7), deployment("web-000", replicas=7)
    checkout.commit({path_of(unplaced): text(unplaced)})
    fleet.reconcile(at=NOW + HOUR)
    checkout.commit({path_of(placed): text(placed)})
    wrote = fleet.reconcile(at=NOW + 2 * HOUR)

    assert (wrote.commit, NOW + 2 * HOUR) == known(fleet)
    assert known(fleet) == known(fleet, of_present=True)


def test_without_what_was_kept_a_pass_that_finds_nothing_to_do_is_known_from_then_on(
    fleet: FleetRepository, tmp_path: Path
) -> None:
    """What lies before it nobody has looked at."""
    wrote = fleet.reconcile(at=NOW)
    (tmp_path / "cache/settled.db").unlink()
    fleet.reconcile(at=NOW + HOUR)

    assert (wrote.commit, NOW + HOUR) == known(fleet)
