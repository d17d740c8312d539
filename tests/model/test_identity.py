"""Uids, selectors, and mappings in versions."""

import pickle
from uuid import UUID, uuid5

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.model.identity import UID_NAMESPACE, ObjectKey, uid_of
from reconciler.model.labels import LabelSelector, Requirement, refusal_of
from reconciler.model.remembered import Versioned, differing, patched

WORD = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


@given(WORD, WORD, WORD, WORD)
def test_a_uid_is_the_fifth_sort_of_uuid_of_the_identity(
    group: str, kind: str, namespace: str, name: str
) -> None:
    """As RFC 9562 has it, and Python's own function."""
    expected = uuid5(UUID(bytes=UID_NAMESPACE), "\x00".join((group, kind, namespace, name)))

    assert str(expected) == uid_of(ObjectKey(group, kind, namespace, name))


@pytest.mark.parametrize(
    ("requirement", "beginning"),
    [
        pytest.param(Requirement("a", "Exists"), "", id="fine"),
        pytest.param(Requirement("a.b/c", "NotIn", ("",)), "", id="prefix-and-empty-value"),
        pytest.param(Requirement("a", ""), '"" is not a valid label selector operator', id="none"),
        pytest.param(Requirement("a", "Gt", ("1",)), '"Gt" is not a valid', id="of-nodes-only"),
        pytest.param(
            Requirement("a", "In", ()),
            "values: Invalid value: null: for 'in', 'notin' operators",
            id="no-values",
        ),
        pytest.param(
            Requirement("a", "Exists", ("x", "y")),
            'values: Invalid value: ["x","y"]: values set must be empty',
            id="values-for-nothing",
        ),
        pytest.param(
            Requirement("a", "In", ("ok", "x" * 64)),
            f'values[1][a]: Invalid value: "{"x" * 64}": must be no more than 63 bytes',
            id="long-value",
        ),
        pytest.param(
            Requirement("", "Exists"),
            'key: Invalid value: "": name part must be non-empty; name part must consist of',
            id="empty-key",
        ),
        pytest.param(
            Requirement("/a", "Exists"),
            'key: Invalid value: "/a": prefix part must be non-empty',
            id="empty-prefix",
        ),
        pytest.param(
            Requirement("A.b/a", "Exists"),
            'key: Invalid value: "A.b/a": prefix part a lowercase RFC 1123 subdomain must',
            id="prefix",
        ),
        pytest.param(
            Requirement("a/b/c", "Exists"),
            'key: Invalid value: "a/b/c": a qualified name must consist of',
            id="two-slashes",
        ),
        pytest.param(
            Requirement("a b", "In", ("-",)),
            '[key: Invalid value: "a b": name part must consist of',
            id="several-things",
        ),
    ],
)
def test_refusal(requirement: Requirement, beginning: str) -> None:
    """The sentence begins like this, and is empty where there is nothing to say."""
    found = refusal_of(LabelSelector(match_expressions=(requirement,)))

    assert found.startswith(beginning)
    assert bool(found) == bool(beginning)


ENTRIES = st.dictionaries(st.integers(0, 8), st.integers(0, 3))
STEPS = st.lists(st.tuples(ENTRIES, st.sets(st.integers(0, 8))), max_size=6)


@given(ENTRIES, STEPS)
def test_each_version_stays_as_it_was(
    start: dict[int, int], steps: list[tuple[dict[int, int], set[int]]]
) -> None:
    """Whatever follows: entries, size, membership."""
    versions, expected = [Versioned(start)], [dict(start)]
    for came, gone in steps:
        versions.append(versions[-1].patched(came, gone))
        after = {k: v for k, v in expected[-1].items() if k not in gone}
        expected.append({**after, **came})

    assert expected == [dict(version) for version in versions]
    assert [len(one) for one in expected] == [len(version) for version in versions]
    for key in range(9):
        assert [one.get(key) for one in expected] == [version.get(key) for version in versions]
        assert [key in one for one in expected] == [key in version for version in versions]


@given(ENTRIES, STEPS)
def test_what_differs_is_among_what_is_told(
    start: dict[int, int], steps: list[tuple[dict[int, int], set[int]]]
) -> None:
    """Between any two versions of a line."""
    first = Versioned(start)
    before = dict(first)
    latest = first
    for came, gone in steps:
        latest = latest.patched(came, gone)
    told = latest.differing(first)

    assert told is not None
    differing = {k for k in {*before, *latest} if before.get(k) != latest.get(k)}
    assert differing <= told
    assert told <= {key for came, gone in steps for key in {*came, *gone}}


@given(ENTRIES, ENTRIES, ENTRIES, st.sets(st.integers(0, 8)))
def test_a_branch_leaves_the_line_alone(
    start: dict[int, int], one: dict[int, int], other: dict[int, int], gone: set[int]
) -> None:
    """Before and after the line goes on; where the two differ is known in both directions."""
    first = Versioned(start)
    branch = first.branched(other, gone)
    second = first.patched(one)
    expected = {**{k: v for k, v in start.items() if k not in gone}, **other}

    assert (start, {**start, **one}, expected) == (dict(first), dict(second), dict(branch))
    assert (len(expected), expected.get(3)) == (len(branch), branch.get(3))
    told = branch.differing(second)
    assert told is not None
    assert told == second.differing(branch)
    assert {k for k in range(9) if branch.get(k) != second.get(k)} <= told


def test_versions_of_two_lines_have_to_be_compared() -> None:
    """Nothing is known of where they differ."""
    assert None is Versioned({"a": 1}).differing(Versioned({"a": 1}))


def test_a_step_that_changes_nothing_is_the_same_version() -> None:
    """So that what was drawn from it stays."""
    first = Versioned({"a": 1})

    assert first is first.patched({"a": first["a"]}, ["b"])


def test_a_version_can_be_sent_to_another_process() -> None:
    """Also an older one, with what it held."""
    first = Versioned({"a": 1})
    first.patched({"a": 2})

    assert {"a": 1} == dict(pickle.loads(pickle.dumps(first)))  # noqa: S301  # our own


def test_plain_mappings_can_be_patched() -> None:
    """They are left alone; of them only a comparison says what differs."""
    before = {"a": 1}
    after = patched(before, {"b": 2}, ["a"])

    assert ({"a": 1}, {"b": 2}) == (before, dict(after))
    assert None is differing(after, before)
    assert frozenset() == differing(before, before)


def test_an_absent_key_is_an_error() -> None:
    """In an older version as in the latest."""
    first = Versioned({"a": 1})
    first.patched({"b": 2})

    with pytest.raises(KeyError):
        first["b"]
