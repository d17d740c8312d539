"""An index of selectors that is changed in place finds what asking each of them finds."""

from collections.abc import Mapping, Sequence

from hypothesis import given
from hypothesis import strategies as st

from reconciler.dialects.karmada.detector.policies import GroupedSelector, SelectorIndex
from reconciler.model.labels import LabelSelector, matches
from tests.manifests.test_label_index import LABELS, SELECTORS

GROUPS = st.sampled_from(["a", "b"])
ENTRIES = st.dictionaries(
    st.integers(0, 9), st.none() | st.builds(GroupedSelector, GROUPS, SELECTORS), max_size=6
)


@given(st.lists(ENTRIES, max_size=4), st.lists(LABELS, min_size=1, max_size=4))
def test_whatever_came_and_went_it_finds_what_asking_each_finds(
    steps: Sequence[Mapping[int, GroupedSelector[str] | None]], objects: Sequence[dict[str, str]]
) -> None:
    """Of the group that is asked alone; a number without a selector is one that goes."""
    index, there = SelectorIndex[str, int](), dict[int, GroupedSelector[str]]()
    for step in steps:
        came = {number: one for number, one in step.items() if one is not None}
        index.drop(number for number in step if number in there)
        index.put(came)
        there = {number: one for number, one in there.items() if number not in step} | came
        for group in ("a", "b"):
            for labels in objects:
                asked = sorted(
                    number
                    for number, one in there.items()
                    if one.group == group and matches(one.selector, labels)
                )
                assert asked == sorted(index.selecting(group, labels))


class _Counted(dict[str, str]):
    """Labels that count how often a selector asks for one."""

    asked = 0

    def get(self, key: str, default: object = None) -> object:  # type: ignore[override]
        """Count, and answer."""
        self.asked += 1
        return super().get(key, default)


def test_a_question_asks_only_the_selectors_that_share_a_label_with_it() -> None:
    """A hundred policies of a hundred applications cost one of them as much as one does."""
    asked = []
    for count in (1, 100):
        index = SelectorIndex[str, int]()
        index.put({n: GroupedSelector("", LabelSelector((("app", str(n)),))) for n in range(count)})
        labels = _Counted(app="0")
        assert [0] == list(index.selecting("", labels))
        asked.append(labels.asked)

    assert asked[0] == asked[1]
