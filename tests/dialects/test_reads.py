"""Tables of reads, followed indexes and inventories find what looking at everything finds."""

from collections.abc import Iterable, Mapping
from datetime import timedelta
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.core.rounds import world_after
from reconciler.dialects.inventory import InventoryCache, take_inventory
from reconciler.dialects.karmada.api.cluster import MemberCluster
from reconciler.dialects.karmada.api.cluster_taints import admit_cluster
from reconciler.dialects.reads import Followed, FollowedIndex, KeyIndex, ReadTable
from reconciler.model.identity import ObjectKey
from reconciler.model.remembered import patched
from tests.builders import NOW, cluster
from tests.stories import story

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

    assert ["c"] == made.telling(but=[A])


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


KEYS = [ObjectKey("", "Thing", "", name) for name in "abcd"]
VALUES = st.text("xyz", max_size=3)
INDEX_STEPS = st.lists(st.dictionaries(st.sampled_from(KEYS), st.none() | VALUES), max_size=12)


def letters(_key: ObjectKey, value: str) -> list[str]:
    """A text is found by each of its letters, however often it has one."""
    return list(value)


@given(INDEX_STEPS, st.sampled_from(["told", "compared"]))
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


CLUSTER = ("cluster.karmada.io", "Cluster")
TAINT: Mapping[str, str] = {"key": "maintenance", "effect": "NoSchedule"}


def test_a_cluster_that_is_drawn_again_to_the_same_is_the_very_same() -> None:
    """Its taint is dated in one round and read in the next: whoever looked at it need not again."""
    world = story(cluster("a", taints=[TAINT]), cluster("b")).world()
    known: InventoryCache[MemberCluster] = InventoryCache()
    admit = partial(admit_cluster, declared=True, failover=False, now=NOW)

    first = take_inventory(world, CLUSTER, known, admit, under=())
    dated = world_after(world, first.records, (), ())
    second = take_inventory(dated, CLUSTER, known, admit, under=())

    assert ["a"] == [key.name for key in first.records]
    assert {} == second.records
    assert all(first.views[name] is view for name, view in second.views.items())
