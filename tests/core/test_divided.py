"""A first pass in pieces is the first pass: to the byte, whatever the repository holds."""

from collections.abc import Callable, Sequence

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from reconciler.core.changes import Outcome
from reconciler.core.divided import divide, is_divisible, join_outcomes
from reconciler.core.reconcile import reconcile
from reconciler.model.world import World
from tests.builders import (
    Body,
    cluster,
    configmap,
    configuration,
    deployment,
    policy,
    rebalancer,
    selector,
)
from tests.core.cell_fleets import CellFleet
from tests.core.test_law_asked_alone import CELLS, PLAIN, SETS, files, unbalanced
from tests.core.test_laws import LAW
from tests.core.test_staged_deliveries import staged_delivery
from tests.dialects.ocm.test_laws import hubs
from tests.stories import Story, applied, story
from tests.strategies import READS_SETTINGS, objects

pytestmark = pytest.mark.cpu_seconds(60)  # many examples of whole passes

Balance = Callable[[list[Body]], list[Body]]
DELIVERS = "ReconcilerConfiguration"


def in_pieces(told: Story, count: int) -> tuple[Sequence[World], Outcome | None]:
    """The pieces of a repository, and what passes over them bring about together."""
    world = told.world()
    pieces = divide(world, count)
    return pieces, join_outcomes(world, told.now, [reconcile(one, told.now) for one in pieces])


@LAW
@given(objects(), st.integers(2, 4))
def test_pieces_decide_what_the_whole_decides(bodies: Sequence[Body], count: int) -> None:
    """Faulty objects, overlapping policies, objects of several APIs: also what is told of it."""
    told = Story().put(*bodies)
    world = told.world()
    if not is_divisible(world):
        event("not divisible")
        return

    pieces, together = in_pieces(told, count)

    event(f"{len(pieces)} pieces")
    assert reconcile(world, told.now) == together


@LAW
@given(hubs(), st.sampled_from(SETS), st.sampled_from([unbalanced, list]), st.integers(2, 4))
def test_hubs_are_divided_too(
    bodies: list[Body],
    sets: Sequence[Body],
    balance: Callable[[list[Body]], list[Body]],
    count: int,
) -> None:
    """Where decisions are balanced all placements stay together; without, each is by itself."""
    told = story(*sets).put(*balance(bodies))

    pieces, together = in_pieces(told, count)

    event(f"{len(pieces)} pieces")
    assert reconcile(told.world(), told.now) == together


@pytest.mark.parametrize("fleet", PLAIN.values(), ids=PLAIN)
def test_a_plain_fleet_is_divided_evenly(fleet: CellFleet) -> None:
    """Every input is in a piece, each that is decided about in one alone."""
    told = Story(files=files(fleet.files(CELLS)))
    told.files = {path: one for path, one in told.files.items() if DELIVERS not in one}
    world = told.world()
    pieces, together = in_pieces(told, 3)

    common = set.intersection(*(set(one.inputs) for one in pieces))
    sizes = [len(one.inputs.keys() - common) for one in pieces]

    assert 3 == len(pieces)
    assert set(world.inputs) == common.union(*(one.inputs for one in pieces))
    assert len(world.inputs) - len(common) == sum(sizes)
    assert max(sizes) <= 1.5 * min(sizes)
    assert reconcile(world, told.now) == together


def test_what_follows_other_objects_stays_with_them() -> None:
    """A policy may have what its workloads need follow them; a workload of no need is apart."""
    claiming = policy("p", selectors=[selector("Deployment")], propagateDeps=True)
    web = deployment("web")
    reading = {**web, "spec": {**web["spec"], **READS_SETTINGS}}  # type: ignore[dict-item]  # a mapping
    told = story(cluster("a"), claiming, reading, deployment("api"), configmap("settings"))

    pieces, together = in_pieces(told, 3)

    own = [sorted(key.name for key in one.inputs if key.kind in WORKLOADS) for one in pieces]
    assert [["settings", "web"], ["api"]] == own
    assert reconcile(told.world(), told.now) == together


WORKLOADS = ("ConfigMap", "Deployment")
FIRST = (cluster("a"), policy("p", selectors=[selector("Deployment")]), deployment("web"))


@pytest.mark.parametrize(
    "counted",
    [
        pytest.param([rebalancer("r")], id="a-rebalancer"),
        pytest.param([staged_delivery()], id="a-staged-delivery"),
        pytest.param(
            [configuration(freeze={"windows": [{"schedule": "0 0 * * *", "duration": "1h"}]})],
            id="a-freeze",
        ),
        pytest.param([configuration(delivery={"folders": {}})], id="delivery"),
        pytest.param([configuration(suspend=True)], id="suspended"),
    ],
)
def test_what_is_counted_over_all_objects_is_not_divided(counted: list[Body]) -> None:
    """One process decides it."""
    assert is_divisible(story(*FIRST).world())
    assert not is_divisible(story(*FIRST, *counted).world())


def test_only_a_first_pass_is_divided() -> None:
    """What was written is followed by one process, which remembers it."""
    told = story(*FIRST)
    told.files = applied(told.files, reconcile(told.world(), told.now))

    assert not is_divisible(told.world())


def test_pieces_that_contradict_each_other_are_not_joined() -> None:
    """Then the whole is asked."""
    told = story(*FIRST)
    world = told.world()
    first = reconcile(world, told.now)
    told.put(cluster("b"))

    assert join_outcomes(world, told.now, [first, reconcile(told.world(), told.now)]) is None
