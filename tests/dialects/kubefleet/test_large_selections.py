"""Resources that do not fit into one snapshot: a master, and numbered ones for the rest."""

from collections.abc import Mapping, Sequence
from typing import cast

import pytest

from reconciler.dialects.kubefleet.snapshots.resource_snapshots import SIZE_LIMIT, Resource, split
from tests.builders import Body, configmap
from tests.dialects.kubefleet.fleet import GROUP, fixed, member, namespaced_placement, placement
from tests.stories import Story, story

HALF = SIZE_LIMIT // 2
SCOPES = [
    pytest.param(placement(fixed("a")), "clusterresourcesnapshots", "", id="of-the-fleet"),
    pytest.param(
        namespaced_placement(fixed("a")), "resourcesnapshots", "default/", id="of-a-namespace"
    ),
]


def resource(size: int) -> Resource:
    """A resource whose JSON has so many bytes."""
    return Resource({}, "x" * size)


def large(name: str, size: int = HALF) -> Body:
    """A ConfigMap of so many bytes and a few more."""
    return {**configmap(name), "data": {"text": "x" * size}}


def snapshots(told: Story, plural: str, scope: str) -> dict[str, list[str]]:
    """Name of each snapshot to the names of the resources in it."""
    folder = f"status/{plural}.{GROUP}/{scope}"
    return {
        path.removeprefix(folder).removesuffix(".yaml"): names_in(told.output(path))
        for path in sorted(told.outputs)
        if path.startswith(folder)
    }


def names_in(snapshot: Body) -> list[str]:
    """The names of the resources in a snapshot."""
    resources = cast(Sequence[Body], cast(Body, snapshot["spec"])["selectedResources"])
    return [cast(Mapping[str, str], one["metadata"])["name"] for one in resources]


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        pytest.param([], [[]], id="none"),
        pytest.param([HALF, HALF], [[HALF, HALF]], id="exactly"),
        pytest.param([HALF, HALF + 1], [[HALF], [HALF + 1]], id="one-byte-more"),
        pytest.param([1, SIZE_LIMIT + 1, 1], [[1], [SIZE_LIMIT + 1], [1]], id="too-large-alone"),
        pytest.param([HALF, 1, HALF, 1], [[HALF, 1], [HALF, 1]], id="in-order"),
    ],
)
def test_resources_are_packed_in_order(sizes: list[int], expected: list[list[int]]) -> None:
    """Each chunk has 800 KiB at most, but for a single resource that has more."""
    chunks = split([resource(size) for size in sizes])

    assert expected == [[len(one.content) for one in chunk] for chunk in chunks]


@pytest.mark.parametrize(("wanted", "plural", "scope"), SCOPES)
def test_a_large_selection_has_several_snapshots(wanted: Body, plural: str, scope: str) -> None:
    """The first is the master, the others are numbered from 0."""
    told = story(member("a"), wanted, *map(large, ("one", "two", "three")))
    told.run(0)

    assert {"web-0-0": ["three"], "web-0-1": ["two"], "web-0-snapshot": ["one"]} == snapshots(
        told, plural, scope
    )
    assert () == told.run(60).faults
    assert () == told.run(120).changes


@pytest.mark.parametrize(("wanted", "plural", "scope"), SCOPES)
def test_a_lost_part_of_a_group_is_made_again(wanted: Body, plural: str, scope: str) -> None:
    """The master says how many belong together."""
    told = story(member("a"), wanted, large("one"), large("two"))
    told.run(0)
    before = snapshots(told, plural, scope)
    del told.files[f"status/{plural}.{GROUP}/{scope}web-0-0.yaml"]
    told.run(60)

    assert before == snapshots(told, plural, scope)


@pytest.mark.parametrize(("wanted", "plural", "scope"), SCOPES)
def test_a_smaller_selection_is_a_group_of_its_own(wanted: Body, plural: str, scope: str) -> None:
    """The parts of the group before stay as long as their history does."""
    told = story(member("a"), wanted, large("one"), large("two"))
    told.run(0)
    told.drop(large("two")).run(60)

    assert {
        "web-0-0": ["two"],
        "web-0-snapshot": ["one"],
        "web-1-snapshot": ["one"],
    } == snapshots(told, plural, scope)
