"""Edits of a world: pure, and nothing but what they say."""

import copy
from collections.abc import Callable

import pytest

from reconciler.audit.previews import edits
from reconciler.audit.previews.edits import Edit, Named, apply_edits
from reconciler.model.fields import mapping
from reconciler.model.identity import ObjectKey
from reconciler.model.world import World
from tests.builders import NOW, cluster, deployment, policy, target
from tests.stories import story

A = ObjectKey("cluster.karmada.io", "Cluster", "", "a")
WEB = ObjectKey("apps", "Deployment", "default", "web")


def placed_world() -> World:
    """Two clusters and a placed Deployment."""
    told = story(cluster("a", labels={"x": "1"}), cluster("b"), policy(), deployment())
    told.run(0)
    return told.world()


@pytest.mark.parametrize(
    "edit",
    [
        pytest.param(edits.fail((A,), NOW), id="fail"),
        pytest.param(edits.cordon((A,)), id="cordon"),
        pytest.param(edits.remove((A,)), id="remove"),
        pytest.param(edits.scale(WEB, 9), id="scale"),
        pytest.param(edits.set_field(A, "/metadata/labels/x", "2"), id="set"),
        pytest.param(edits.rebalance([target()]), id="rebalance"),
        pytest.param(edits.add([(WEB, deployment(replicas=3))]), id="add"),
    ],
)
def test_an_edit_changes_no_world_but_its_own(edit: Edit) -> None:
    """The world that it was given equals its deep copy; the other one has another object."""
    world = placed_world()
    before = copy.deepcopy(world)

    changed = apply_edits(world, [Named("", edit)])

    assert before == world
    assert 1 == sum(
        changed.inputs.get(key) != world.inputs.get(key)
        for key in changed.inputs.keys() | world.inputs.keys()
    )
    assert world.outputs == changed.outputs


@pytest.mark.parametrize(
    ("pointer", "value", "expected"),
    [
        pytest.param("/spec/list/0", 9, {"list": [9, {"b": 2}]}, id="item"),
        pytest.param("/spec/list/-", 9, {"list": [1, {"b": 2}, 9]}, id="append"),
        pytest.param("/spec/list/1/b", 9, {"list": [1, {"b": 9}]}, id="in-item"),
        pytest.param("/spec/list/0", None, {"list": [{"b": 2}]}, id="remove-item"),
        pytest.param("/spec/list", None, {}, id="remove"),
        pytest.param("/spec/a~1b~0", 1, {"list": [1, {"b": 2}], "a/b~": 1}, id="escaped"),
        pytest.param("/spec/x/y", 1, {"list": [1, {"b": 2}], "x": {"y": 1}}, id="made"),
    ],
)
def test_pointers(pointer: str, value: object, expected: object) -> None:
    """RFC 6901, with `-` for a new last item and null for removal."""
    key = ObjectKey("apps", "Deployment", "default", "odd")
    body = {**deployment("odd"), "spec": {"list": [1, {"b": 2}]}}
    world = edits.put(placed_world(), {key: body})
    edit: Callable[[World], World] = edits.set_field(key, pointer, value)

    assert expected == mapping(edit(world).inputs[key].body, "spec")
