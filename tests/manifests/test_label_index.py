"""An index of objects by their labels finds what asking each finds."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from reconciler.manifests.selectors import LabelIndex
from reconciler.model.labels import LabelSelector, Requirement, matches

KEYS = st.sampled_from(["app", "tier", "example.org/team", "not a key"])
VALUES = st.sampled_from(["", "1", "7", "web", "api", "-wrong-"])
OPERATORS = ["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "=", "!=", "Near"]

LABELS = st.dictionaries(KEYS, VALUES, max_size=4)
REQUIREMENTS = st.builds(
    Requirement,
    KEYS,
    st.sampled_from(OPERATORS),
    st.none() | st.lists(VALUES, max_size=3).map(tuple),
)
SELECTORS = st.builds(
    LabelSelector,
    st.none() | LABELS.map(lambda labels: tuple(sorted(labels.items()))),
    st.none() | st.lists(REQUIREMENTS, max_size=3).map(tuple),
)


@given(st.lists(LABELS, max_size=8), st.lists(SELECTORS, max_size=8))
def test_an_index_finds_what_asking_each_finds(
    objects: Sequence[dict[str, str]], selectors: Sequence[LabelSelector]
) -> None:
    """Whatever the operators, and for selectors that cannot be judged; objects in their order."""
    by_label = LabelIndex((labels, number) for number, labels in enumerate(objects))

    for selector in selectors:
        found = [number for number, labels in enumerate(objects) if matches(selector, labels)]
        assert found == list(by_label.selected(selector))


def test_no_selector_finds_all() -> None:
    """Which is not the same as an empty one only for those who ask how it is written."""
    index = LabelIndex([({}, "a"), ({"app": "web"}, "b")])

    assert ["a", "b"] == list(index.selected(None)) == list(index.selected(LabelSelector()))
