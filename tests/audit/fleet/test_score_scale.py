"""Numbers as scores: the best 100, the worst -100, those between in proportion."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.audit.fleet.usage import as_they_are, free_shares, scaled, usage_of
from tests.builders import cluster, cluster_status
from tests.stories import story

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
