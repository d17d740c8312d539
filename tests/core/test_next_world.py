"""The world as a pass leaves it is what the shell would load after that pass."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.core.reconcile import reconcile
from reconciler.core.rounds import next_world
from reconciler.model.world import World
from tests.builders import NOW, Body, cluster, deployment, policy, rebalancer, target
from tests.core.test_laws import LAW
from tests.stories import Story, story
from tests.strategies import edit, objects, stories

pytestmark = pytest.mark.cpu_seconds(60)  # many examples of whole passes


def parts(world: World) -> tuple[object, ...]:
    """All of a world that a pass changes; the revision is that of its commit."""
    files = (world.present, world.inexact, world.texts, world.blobs)
    return (world.inputs, world.outputs, *files)


def left_and_loaded(told: Story, seconds: int) -> tuple[World, World]:
    """The world as a pass leaves it, and as it is loaded after the same pass."""
    moment = NOW + timedelta(seconds=seconds)
    world = told.world()
    left = next_world(world, reconcile(world, moment))
    told.run(seconds)
    return left, told.world()


@LAW
@given(stories(), objects(), st.integers(0, 15))
def test_the_next_world_is_what_the_shell_would_load(
    told: Story, bodies: list[Body], share: int
) -> None:
    """Whatever the pass writes and deletes."""
    edit(told, bodies, share)
    seconds = int((told.now - NOW).total_seconds()) + 1

    left, loaded = left_and_loaded(told, seconds)

    assert parts(loaded) == parts(left)


def test_documents_that_are_taken_out_move_up_those_behind_them() -> None:
    """Two of four go, one after the other; then the file holds the others."""
    told = story(cluster(), policy(), deployment())
    short, long = (rebalancer(name, target(), ttl=ttl) for name, ttl in (("s", 30), ("t", 60)))
    told.put(short, deployment("api"), long, deployment("last"), path="all.yaml")
    told.run(0)

    first, second = (left_and_loaded(told, seconds) for seconds in (30, 60))

    assert parts(first[1]) == parts(first[0])
    assert parts(second[1]) == parts(second[0])
    assert "WorkloadRebalancer" not in told.files["all.yaml"]


def test_a_file_that_held_nothing_else_is_gone() -> None:
    """With its text and its blob."""
    told = story(cluster(), policy(), deployment(), rebalancer(ttl=30))
    told.run(0)

    left, loaded = left_and_loaded(told, 30)

    assert parts(loaded) == parts(left)
    assert "workloadrebalancer/demo.yaml" not in left.texts


def test_a_pass_that_changes_nothing_leaves_the_very_same_world() -> None:
    """So that what is remembered of it holds."""
    told = story(cluster(), policy(), deployment())
    told.run(0)
    world = told.world()

    assert next_world(world, reconcile(world, NOW + timedelta(seconds=1))) is world
