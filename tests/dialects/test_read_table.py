"""Which objects a table of reads has looked at: those that asked what has another answer."""

from collections.abc import Iterable
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.dialects.reads import ReadTable
from reconciler.model.identity import ObjectKey
from tests.builders import NOW

A, B, C = (ObjectKey("", "Thing", "", name) for name in "abc")


def table(**reads: Iterable[str]) -> ReadTable[str]:
    """One in which objects rest since `NOW`, each with the questions that it asked."""
    made = ReadTable[str]()
    assert not made.affected((), (), NOW)
    for name, asked in reads.items():
        made.settle(ObjectKey("", "Thing", "", name), name, frozenset(asked), None)
    return made


def test_who_asked_what_has_another_answer_is_looked_at() -> None:
    """And has no value until it rests again."""
    made = table(a=["x", "y"], b=["y"], c=["z"])

    assert {A, B} == made.affected(["y"], (), NOW)
    assert [None, None, "c"] == [made.find(key) for key in (A, B, C)]


def test_what_nobody_asked_affects_nothing() -> None:
    """Not even if it was asked before."""
    made = table(a=["x"])
    made.settle(A, "again", frozenset(["y"]), None)

    assert not made.affected(["x", "other"], (), NOW)
    assert "again" == made.find(A)


def test_what_did_not_rest_is_looked_at_in_each_round() -> None:
    """Until it is settled, or forgotten."""
    made = table(a=["x"], b=["x"])

    assert [{A, B}, {A, B}] == [made.affected(asked, (), NOW) for asked in (["x"], [])]
    made.settle(A, "a", frozenset(), None)
    made.drop_all([B])
    assert not made.affected((), (), NOW)


def test_an_object_looks_at_what_is_its_own() -> None:
    """Without having asked for it."""
    assert {A} == table(a=[], b=[]).affected((), [A], NOW)


def test_a_moment_comes_once() -> None:
    """And not for a value that was replaced since."""
    made = table()
    soon, later = (NOW + timedelta(seconds=number) for number in (5, 9))
    made.settle(A, "a", frozenset(), soon)
    made.settle(B, "b", frozenset(), soon)
    made.settle(B, "b", frozenset(), later)

    assert soon == made.until()
    assert {A} == made.affected((), (), soon)
    assert later == made.until()


def test_an_earlier_moment_looks_at_everything() -> None:
    """Nothing is known of the time before a value was computed."""
    assert {A, B} == table(a=[], b=[]).affected((), (), NOW - timedelta(seconds=1))


def test_what_has_news_tells_it_while_it_rests() -> None:
    """But for what is looked at."""
    made = ReadTable[str](tells=lambda value: value != "b")
    made.affected((), (), NOW)
    for key, value in ((A, "a"), (B, "b"), (C, "c")):
        made.settle(key, value, frozenset(), None)

    assert ["c"] == list(made.telling(but=[A]))


STEPS = st.lists(
    st.one_of(
        st.tuples(
            st.just("settle"), st.sampled_from((A, B, C)), st.frozensets(st.sampled_from("xyz"))
        ),
        st.tuples(st.just("change"), st.frozensets(st.sampled_from("xyz")), st.none()),
        st.tuples(st.just("drop"), st.sampled_from((A, B, C)), st.none()),
        st.tuples(st.just("wait"), st.integers(0, 5), st.none()),
    ),
    max_size=30,
)


@given(STEPS)
def test_the_index_says_what_a_look_at_all_reads_says(
    steps: list[tuple[str, object, object]],
) -> None:
    """Whatever was settled, dropped and changed before; nothing is left of what was dropped."""
    made, now = ReadTable[str](), NOW
    reads: dict[ObjectKey, frozenset[str]] = {}
    unsettled: set[ObjectKey] = set()
    made.affected((), (), now)
    for what, one, more in steps:
        if what == "settle":
            assert isinstance(one, ObjectKey)
            assert isinstance(more, frozenset)
            made.settle(one, one.name, more, None)
            reads[one] = more
            unsettled.discard(one)
        elif what == "drop":
            assert isinstance(one, ObjectKey)
            made.drop_all([one])
            reads.pop(one, None)
            unsettled.discard(one)
        else:
            asked = one if isinstance(one, frozenset) else frozenset[str]()
            now += timedelta(seconds=one if isinstance(one, int) else 0)
            hit = {key for key, known in reads.items() if known & asked}
            unsettled |= hit
            for key in hit:
                del reads[key]
            assert unsettled == made.affected(asked, (), now)
        assert len(reads) == len(made)
    made.clear()
    assert not made.affected("xyz", (), now)


@pytest.mark.parametrize("number", [1, 40])
def test_objects_that_asked_the_same_share_the_record(number: int) -> None:
    """What many objects cost does not grow with what they asked."""
    made, shared = ReadTable[str](), frozenset(map(str, range(50)))
    made.affected((), (), NOW)
    for index in range(number):
        made.settle(ObjectKey("", "Thing", "", str(index)), "", shared, None)

    assert {1} == {len(made._index._sets.of(one)) for one in shared}  # what is measured
    assert number == len(made.affected(["7"], (), NOW))
