"""Earlier versions of input files, read while clusters still have what stood in them."""

from pathlib import Path

import pytest

from reconciler.model.identity import RepositoryLayout
from reconciler.model.world import World
from reconciler.shell.git.repository import Repository
from reconciler.shell.reading.load import Loader
from reconciler.shell.reading.trees import GitTrees
from reconciler.shell.resources import load_schemas
from tests.builders import configuration, deployment, text
from tests.delivery.test_kubefleet_folders import NEW, ONE_BY_ONE, fleet
from tests.dialects.kubefleet.fleet import fixed, placement
from tests.shell.repositories import Checkout, new_checkout
from tests.stories import Story


def held() -> tuple[dict[str, str], Story]:
    """The files before a change, and a story in which a cluster is held on them."""
    told = fleet(placement(fixed("a", "b"), strategy=ONE_BY_ONE), deployment())
    told.run(100)
    before = dict(told.files)
    told.put(deployment(labels=NEW)).run()
    return before, told


def loaded(checkout: Checkout, *, past: bool = False) -> World:
    """The world at the head of a repository."""
    repository = Repository.open(checkout.folder)
    return Loader(GitTrees(repository), load_schemas(), layout=RepositoryLayout(), past=past).load(
        checkout.head()
    )


def test_the_version_that_a_cluster_is_held_on_is_read(tmp_path: Path) -> None:
    """From the git blob that its snapshot names."""
    before, told = held()
    checkout = new_checkout(tmp_path / "r", before)
    checkout.commit(told.files)
    ((version,),) = loaded(checkout).past.values()

    assert deployment() == version.body


def test_a_version_that_is_not_there_stops_nothing(tmp_path: Path) -> None:
    """As in a clone without history."""
    _, told = held()

    assert {} == loaded(new_checkout(tmp_path / "r", told.files)).past


@pytest.mark.parametrize(("past", "read"), [(False, 0), (True, 1)], ids=["daemon", "render"])
def test_where_nothing_is_delivered_it_is_read_on_demand(
    tmp_path: Path,
    past: bool,  # noqa: FBT001  # a row of the table
    read: int,
) -> None:
    """A pass asks for no content there, a person may."""
    before, told = held()
    silent = {**told.files, "reconciler.yaml": text(configuration())}
    checkout = new_checkout(tmp_path / "r", before)
    checkout.commit(silent)
    checkout.git("rm", "-r", "--quiet", "delivery", "status/delivery.yaml")
    checkout.git("commit", "--quiet", "--message", "Deliver nothing")

    assert read == len(loaded(checkout, past=past).past)


def test_a_version_that_nothing_is_held_on_is_not_read(tmp_path: Path) -> None:
    """Once the rollout has reached every cluster."""
    before, told = held()
    told.run(300)
    told.run(500)
    checkout = new_checkout(tmp_path / "r", before)
    checkout.commit(told.files)

    assert {} == loaded(checkout).past
