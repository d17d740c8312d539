"""Slices of decisions: which cluster is in which, and what they are called."""

from collections.abc import Mapping
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.model.identity import ObjectKey
from reconciler.model.labels import is_label_value
from reconciler.model.text import is_label
from reconciler.multicluster.placement_decision import (
    SLICE_LIMIT,
    assign,
    key_label,
    slice_key,
    whole_key,
)

LIMIT = 3
Held = Mapping[int, tuple[str, ...]]

clusters = st.sets(st.sampled_from([f"c{number:02}" for number in range(14)]))
histories = st.lists(clusters, min_size=1, max_size=6)
keys = st.builds(
    ObjectKey,
    st.sampled_from(["", "apps", "work.karmada.io"]),
    st.sampled_from(["Deployment", "ResourceBinding"]),
    st.sampled_from(["", "shop", "shop-web"]),
    st.text("ab-._:AZ", min_size=1, max_size=80),
    st.just(""),
)


def states(history: list[set[str]]) -> list[Held]:
    """The slices after each pass, from none on."""
    found: list[Held] = [{}]
    for chosen in history:
        found.append(assign(found[-1], chosen, LIMIT))
    return found


@given(histories)
def test_each_chosen_cluster_is_in_one_slice(history: list[set[str]]) -> None:
    """And nothing else is; no slice has too many, and an empty one is the only one."""
    for chosen, held in zip(history, states(history)[1:], strict=True):
        named = [name for names in held.values() for name in names]
        assert sorted(chosen) == sorted(named)
        assert all(len(names) <= LIMIT for names in held.values())
        assert all(held.values()) or len(held) == 1


@given(histories)
def test_a_cluster_never_changes_its_slice_while_it_is_chosen(history: list[set[str]]) -> None:
    """No slice is renumbered or packed anew."""
    for before, after in pairwise(states(history)):
        place = {name: index for index, names in before.items() for name in names}
        for index, names in after.items():
            assert all(place.get(name, index) == index for name in names)


@given(histories, st.data())
def test_whatever_is_applied_first_who_stays_is_always_seen(
    history: list[set[str]], data: st.DataObject
) -> None:
    """Slices are applied and deleted one by one, in any order, as Flux and Argo CD may do it."""
    for before, after in pairwise(states(history)):
        stay = {n for names in before.values() for n in names} & {
            n for names in after.values() for n in names
        }
        shown = dict(before)
        for index in data.draw(st.permutations(sorted(before.keys() | after.keys()))):
            if index in after:
                shown[index] = after[index]
            else:
                shown.pop(index)
            assert stay <= {name for names in shown.values() for name in names}
        assert shown == after


@given(histories)
def test_the_same_choice_changes_nothing(history: list[set[str]]) -> None:
    """A second pass is quiet."""
    last = states(history)[-1]

    assert last == assign(last, history[-1], LIMIT)


@pytest.mark.parametrize(
    ("present", "chosen", "expected"),
    [
        pytest.param({}, (), {0: ()}, id="nothing-is-chosen"),
        pytest.param({}, ("d", "c", "b", "a"), {0: ("a", "b", "c"), 1: ("d",)}, id="first"),
        pytest.param(
            {0: ("a",), 1: ("d",)}, ("a", "d", "b"), {0: ("a", "b"), 1: ("d",)}, id="room-first"
        ),
        pytest.param({0: ("a",), 1: ("d",)}, ("d",), {1: ("d",)}, id="an-empty-one-goes"),
        pytest.param({1: ("d",)}, (), {1: ()}, id="but-not-the-last"),
        pytest.param({0: ("a",), 1: ("d",)}, (), {0: ()}, id="the-first-of-several-stays"),
        pytest.param({0: ("a",), 1: ("d",)}, ("d", "e"), {0: ("e",), 1: ("d",)}, id="refilled"),
        pytest.param(
            {1: ("d", "e", "f")}, ("d", "e", "f", "g"), {0: ("g",), 1: ("d", "e", "f")}, id="unused"
        ),
        pytest.param({0: ("a", "a"), 1: ("a",)}, ("a",), {0: ("a",)}, id="written-twice-by-hand"),
        pytest.param(
            {0: ("a", "b", "c", "d")},
            ("a", "b", "c", "d"),
            {0: ("a", "b", "c"), 1: ("d",)},
            id="full",
        ),
    ],
)
def test_newcomers_fill_the_first_room(
    present: Held, chosen: tuple[str, ...], expected: Held
) -> None:
    """By name."""
    assert expected == assign(present, chosen, LIMIT)


def test_a_slice_holds_a_hundred() -> None:
    """As the CRD has it."""
    names = [f"c{number:03}" for number in range(250)]

    assert [100, 100, 50] == [len(one) for one in assign({}, names).values()]
    assert SLICE_LIMIT == 100


@given(keys)
def test_labels_and_names_are_valid_whatever_they_stand_for(key: ObjectKey) -> None:
    """Also where a name has characters that no label may have."""
    assert is_label_value(key_label(key))
    assert is_label(slice_key("fleet", key_label(key), 999).name)


@given(keys, keys)
def test_no_two_objects_share_a_label(one: ObjectKey, other: ObjectKey) -> None:
    """Names alone may be alike once they are cut."""
    assert (one == other) == (key_label(one) == key_label(other))


def test_the_whole_key_says_what_a_label_cannot() -> None:
    """Of the core group the kind alone."""
    assert "namespace/shop" == whole_key(ObjectKey("", "Namespace", "", "shop"))
