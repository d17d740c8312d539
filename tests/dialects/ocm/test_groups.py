"""Decision groups: their length, their order, and the objects that list them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.dialects.ocm.api.cluster import Members, decode_cluster, members_of
from reconciler.dialects.ocm.api.placement import GROUP_INDEX_LABEL, decode_placement
from reconciler.dialects.ocm.scheduler.schedule import group, group_length
from reconciler.errors import Misconfigured
from reconciler.model.identity import ClusterName


@pytest.mark.parametrize(
    ("written", "total", "expected"),
    [
        pytest.param(0, 5, 5, id="no-strategy"),
        pytest.param(3, 5, 3, id="number"),
        pytest.param(9, 5, 5, id="greater-than-the-total"),
        pytest.param(-1, 5, 5, id="negative"),
        pytest.param("30%", 5, 2, id="rounded-up"),
        pytest.param("7%", 100, 8, id="rounded-up-in-floats"),
        pytest.param("0%", 5, 5, id="nothing"),
        pytest.param("NaN%", 5, 5, id="no-number"),
        pytest.param("2e1%", 10, 2, id="exponent"),
    ],
)
def test_length_of_groups(written: int | str, total: int, expected: int) -> None:
    """A number, or a share of the total."""
    assert expected == group_length(written, total)


@pytest.mark.parametrize("written", ["5", "", "%", " 50%", "abc", "1_0%", "1e999%"])
def test_text_that_is_no_percentage(written: str) -> None:
    """Upstream's sentence."""
    with pytest.raises(Misconfigured, match="invalid type: string is not a percentage"):
        group_length(written, 10)


def fleet(count: int) -> Members:
    """So many clusters, every second one labelled `even`."""
    return members_of(
        decode_cluster({"metadata": {"name": f"c{i:04d}", "labels": {"even": str(i % 2 == 0)}}})
        for i in range(count)
    )


def strategy(length: int | str | None, *selectors: object) -> object:
    """A decision strategy with groups by selector, named g0, g1 and so on."""
    groups = [
        {"groupName": f"g{i}", "groupClusterSelector": selector}
        for i, selector in enumerate(selectors)
    ]
    return {"groupStrategy": {"clustersPerDecisionGroup": length, "decisionGroups": groups}}


EVEN = {"labelSelector": {"matchLabels": {"even": "True"}}}
WRONG = {"labelSelector": {"matchExpressions": [{"key": "a", "operator": "Near"}]}}


@given(count=st.integers(0, 250), length=st.integers(0, 130), by_label=st.booleans())
def test_every_cluster_is_listed_once_in_order(count: int, length: int, *, by_label: bool) -> None:
    """Objects partition the choice, hold at most 100, are numbered from 1, and are never none."""
    members = fleet(count)
    rules = [EVEN] if by_label else []
    spec = {"decisionStrategy": strategy(length, *rules)}
    placement = decode_placement({"metadata": {"name": "p"}, "spec": spec})
    found = group(placement, list(reversed(members.fleet.names)), members)
    listed = [name for item in found.objects for name in item.clusters]

    assert sorted(members.fleet.names) == sorted(listed)
    assert [f"p-decision-{i + 1}" for i in range(max(len(found.objects), 1))] == [
        item.name for item in found.objects
    ]
    assert all(len(item.clusters) <= 100 for item in found.objects)
    assert all(list(item.clusters) == sorted(item.clusters) for item in found.objects)
    assert [name for item in found.groups for name in item.objects] == [
        item.name for item in found.objects
    ]


def test_groups_before_a_wrong_selector_stay() -> None:
    """What comes after it is not made, and the problem is told."""
    members = fleet(4)
    spec = {"decisionStrategy": strategy(None, EVEN, WRONG)}
    placement = decode_placement({"metadata": {"name": "p"}, "spec": spec})
    found = group(placement, members.fleet.names, members)

    assert [("c0000", "c0002")] == [item.clusters for item in found.groups]
    assert '"Near" is not a valid label selector operator' == found.problem


def test_choice_of_nothing_is_one_empty_object() -> None:
    """Group 0 without a name, and one object that lists nobody."""
    placement = decode_placement({"metadata": {"name": "p"}})
    [item] = group(placement, [], fleet(0)).objects

    assert ((), "0") == (item.clusters, dict(item.labels)[GROUP_INDEX_LABEL])
    assert list[ClusterName]() == list(item.clusters)
