"""An index that follows a mapping finds what one that looks at everything finds."""

from hypothesis import given
from hypothesis import strategies as st

from reconciler.dialects.reads import Followed, FollowedIndex, KeyIndex
from reconciler.model.identity import ObjectKey
from reconciler.model.remembered import patched

KEYS = [ObjectKey("", "Thing", "", name) for name in "abcd"]
VALUES = st.text("xyz", max_size=3)
STEPS = st.lists(st.dictionaries(st.sampled_from(KEYS), st.none() | VALUES), max_size=12)


def letters(_key: ObjectKey, value: str) -> list[str]:
    """A text is found by each of its letters, however often it has one."""
    return list(value)


@given(STEPS, st.sampled_from(["told", "compared"]))
def test_an_index_finds_what_is_there(steps: list[dict[ObjectKey, str | None]], how: str) -> None:
    """Be the mappings versions of each other, or compared; nothing is left of what went."""
    index = FollowedIndex[str, str](letters)
    known = patched(dict[ObjectKey, str](), {})
    for step in steps:
        came = {key: value for key, value in step.items() if value is not None}
        before, known = dict(known), patched(known, came, step.keys() - came.keys())
        touched = index.follow(known if how == "told" else dict(known))
        expected = {way: {key for key in known if way in known[key]} for way in "xyz"}
        differing = {key for key in step if before.get(key) != known.get(key)}

        assert expected == {way: set(index.of(way)) for way in "xyz"}
        assert {way for way, found in expected.items() if found} == index.all_ways
        assert {w for key in differing for w in before.get(key, "") + known.get(key, "")} <= touched
        assert all(sorted(expected[w]) == [*index.found(w)] for w in "xyz")


def test_only_what_differs_is_told() -> None:
    """The first look sees everything, and one at the same mapping nothing."""
    followed = Followed[str, int]()
    first = patched(dict[str, int](), {"a": 1, "b": 2})

    assert {("a", None, 1), ("b", None, 2)} == set(followed.follow(first))
    assert [] == followed.follow(first)
    assert [("a", 1, None)] == followed.follow(patched(first, {}, ["a"]))


def test_the_ways_are_the_same_set_while_they_stay() -> None:
    """So that whoever asks for them can tell at a glance."""
    index = KeyIndex[str, int]()
    index.put(1, ["a"])
    ways = index.ways
    index.put(2, ["a"])
    index.drop(1, ["a", "b"])
    index.put(3, ["c"])
    index.drop(3, ["c"])

    assert ways is index.ways
    index.drop(2, ["a"])
    assert frozenset() == index.ways
