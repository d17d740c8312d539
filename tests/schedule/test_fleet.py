"""The fleet: masks, the inverted index, and filters that share the work."""

from collections.abc import Iterator
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from reconciler.model.cluster import Cluster
from reconciler.model.identity import ClusterName
from reconciler.model.labels import LabelSelector, Requirement, matches
from reconciler.schedule.fleet import Fleet, fleet_of
from reconciler.schedule.framework import (
    Levels,
    Mask,
    Profile,
    Rejection,
    bits_of,
    mask_of,
    positions_of,
    run_filters,
)

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
KEYS = st.sampled_from(["env", "tier", "n"])
VALUES = st.sampled_from(["a", "b", "1", "20", ""])
LABELS = st.dictionaries(KEYS, VALUES)
OPERATORS = st.sampled_from(["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Odd"])
REQUIREMENTS = st.builds(
    Requirement, KEYS, OPERATORS, st.none() | st.lists(VALUES, max_size=2).map(tuple)
)


def fleet(labels: list[dict[str, str]]) -> Fleet:
    """A fleet of clusters with these labels, handed over in reverse."""
    return fleet_of(
        Cluster(name=ClusterName(f"c{i:03d}"), labels=pairs)
        for i, pairs in reversed(list(enumerate(labels)))
    )


@given(st.lists(LABELS, max_size=9), st.lists(REQUIREMENTS, max_size=3))
def test_index_answers_like_the_plain_rule(
    labels: list[dict[str, str]], requirements: list[Requirement]
) -> None:
    """The inverted index and `matches` agree, well-formed or not."""
    selector = LabelSelector(match_expressions=tuple(requirements))
    expected = [i for i, pairs in enumerate(labels) if matches(selector, pairs)]

    assert expected == positions_of(fleet(labels).select(selector))


@given(st.sets(st.integers(0, 200)))
def test_positions_and_masks_are_inverse(positions: set[int]) -> None:
    """A mask is the set of its positions."""
    mask = mask_of(positions)

    assert sorted(positions) == positions_of(mask)
    assert [int(i in positions) for i in range(201)] == list(bits_of(mask, 201))


def test_fleet_is_ascending_by_name() -> None:
    """The order of the manifests does not matter."""
    assert ["c000", "c001"] == [cluster.name for cluster in fleet([{}, {}]).clusters]


def test_first_filter_gives_the_reason() -> None:
    """A cluster that two filters turn away is counted once, for the first."""

    def first(_request: None, _fleet: Fleet, _now: datetime, /) -> Iterator[Rejection]:
        yield Rejection(Mask(0b011), "no API", "serve it")

    def second(_request: None, _fleet: Fleet, _now: datetime, /) -> Iterator[Rejection]:
        yield Rejection(Mask(0b110), "tainted", "lose it")

    profile: Profile[None, Fleet, Levels] = Profile(filters={"A": first, "B": second}, scores={})
    found = run_filters(profile.filters, None, fleet([{}, {}, {}, {}]), Mask(0b1111), NOW)

    assert found == (
        0b1000,
        (
            Rejection(Mask(0b011), "no API", "serve it", "A"),
            Rejection(Mask(0b100), "tainted", "lose it", "B"),
        ),
    )
