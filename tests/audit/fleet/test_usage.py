"""What is placed on each cluster, read anew or followed, and numbers as scores."""

from datetime import timedelta
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reconciler.audit.fleet.usage import (
    FleetLoads,
    Usage,
    as_they_are,
    free_shares,
    scaled,
    usage_of,
)
from reconciler.core.reconcile import reconcile
from reconciler.model.identity import ObjectKey
from reconciler.model.remembered import AnswerCache
from reconciler.model.world import World
from tests.bounded import examples
from tests.builders import Body, cluster, cluster_status, configmap, deployment, policy
from tests.core.test_laws import LAW
from tests.dialects.kubefleet.fleet import BINDINGS, fixed, member, placement
from tests.stories import Story, applied, linked, story
from tests.strategies import SECONDS, edit, objects, stories

EDITS = st.lists(st.tuples(objects(), st.sampled_from((0, 1, 3, 15)), SECONDS), max_size=3)


def assert_followed(
    loads: FleetLoads, world: World, kept: AnswerCache[ObjectKey, Usage] | None = None
) -> None:
    """Hold what was followed, with answers of the world before, against what is read."""
    loads.follow(world)
    fresh = FleetLoads(world)

    assert dict(fresh.placements) == dict(loads.placements)
    assert list(fresh.placements) == list(loads.placements)
    assert fresh.objects == loads.objects
    assert usage_of(world, fresh) == usage_of(world, loads, kept)


@settings(LAW, max_examples=examples(30))
@given(stories(), EDITS)
def test_following_is_reading_again(told: Story, edits: list[tuple[list[Body], int, int]]) -> None:
    """Whatever people and passes change, and back to the first world."""
    first = world = told.world()
    loads, kept = FleetLoads(first), AnswerCache[ObjectKey, Usage]()
    for bodies, share, seconds in edits:
        told.files = applied(told.files, reconcile(told.world(), told.now))
        world = linked(told.world(), world)
        assert_followed(loads, world, kept)
        edit(told, bodies, share)
        told.now += timedelta(seconds=1 + seconds)
        world = linked(told.world(), world)
        assert_followed(loads, world, kept)
    assert_followed(loads, first, kept)


def test_what_is_placed_is_counted_where_it_is() -> None:
    """A workload that is scaled counts with what it has now."""
    told = story(cluster("a"), policy(), deployment(replicas=2))
    told.run(0)
    loads = FleetLoads(told.world())
    told.put(deployment(replicas=5)).run(10)

    assert (1, 5) == counted(loads.follow(told.world()))


def test_what_is_gone_leaves_no_trace() -> None:
    """A cluster that is left asks for nothing, as one that never had anything."""
    asks = deployment(replicas=2, cpu="100m")
    told = story(cluster("a"), policy(), asks)
    told.run(0)
    loads = FleetLoads(told.world())
    told.drop(asks).run(10)
    told.run(1000)

    assert (0, 0) == counted(loads.follow(told.world()))
    assert {} == loads.requested_by(loads.on("a"))


def test_a_part_that_a_person_deletes_counts_no_more() -> None:
    """Whose it was is told by what it held."""
    told = story(member("a"), member("b"), placement(fixed("a", "b")), configmap())
    told.run(0)
    before = told.world()
    loads = FleetLoads(before)
    first = next(path for path in sorted(told.files) if path.startswith(BINDINGS))
    del told.files[first]

    assert_followed(loads, linked(told.world(), before))
    assert 1 == sum(loads.on(name).objects for name in "ab")


def counted(loads: FleetLoads) -> tuple[int, int]:
    """Objects and replicas on the cluster `a`."""
    load = loads.on("a")
    return load.objects, load.replicas


numbers = st.dictionaries(
    st.sampled_from("abcdefgh"), st.decimals(-(10**6), 10**6, places=3).map(Fraction), min_size=1
)


@given(numbers)
def test_the_order_stays_and_the_ends_are_reached(found: dict[str, Fraction]) -> None:
    """Of equal numbers the scores are equal; where all are, they are 0."""
    scores = scaled(found)
    pairs = sorted((number, scores[name]) for name, number in found.items())

    assert found.keys() == scores.keys()
    assert sorted(score for _, score in pairs) == [score for _, score in pairs]
    assert len({number for number, _ in pairs}) == len(set(pairs))
    differ = len(set(found.values())) > 1
    assert ({-100, 100} if differ else {0}) == {min(scores.values()), max(scores.values())}


@given(numbers)
def test_lower_is_better_turns_signs_and_no_more(found: dict[str, Fraction]) -> None:
    """Halves go away from zero, so nothing depends on the direction."""
    turned = scaled(found, lower_is_better=True)

    assert {name: -score for name, score in scaled(found).items()} == turned


@pytest.mark.parametrize("wrong", [Fraction(101), Fraction(-101), Fraction(1, 2)])
def test_scores_that_are_none_are_named(wrong: Fraction) -> None:
    """Where they are to count as they are."""
    assert {"a": 7} == as_they_are({"a": Fraction(7)})
    assert "b" == as_they_are({"a": Fraction(7), "b": wrong})


def test_what_is_free_is_a_share_of_the_capacity() -> None:
    """As `top clusters` counts it; of a cluster that tells nothing there is none."""
    world = story(cluster("a", status=cluster_status(cpu="100")), cluster("b")).world()
    (key,) = (one for one in world.inputs if one.name == "a")

    assert {key: 100} == free_shares(usage_of(world), "cpu")
    assert {} == free_shares(usage_of(world), "nvidia.com/gpu")
