"""A file stays where nothing but the moments of a pass would differ in it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.model.body import keep_present
from reconciler.model.moments import Stamp

THEN, NOW = "2026-01-01T00:00:00Z", Stamp("2026-01-02T00:00:00Z")
SCALARS = st.none() | st.booleans() | st.integers(-2, 2) | st.text("ab", max_size=2)
BODIES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3)
    ),
)


@pytest.mark.parametrize(
    ("desired", "present", "stays"),
    [
        ({"a": 1}, {"a": 1}, True),
        ({"at": NOW}, {"at": THEN}, True),
        ({"at": NOW}, {}, False),
        ({"at": NOW}, {"at": None}, False),
        ({"at": NOW, "a": 1}, {"at": THEN, "a": 2}, False),
        ({"at": NOW, "a": [1, {"b": "c"}]}, {"a": [1, {"b": "c"}], "at": THEN}, True),
        ({"list": [{"at": NOW}, {"at": THEN}]}, {"list": [{"at": THEN}, {"at": THEN}]}, True),
        ({"list": [{"at": NOW}]}, {"list": [{"at": THEN}, {"at": THEN}]}, False),
        ({"list": ({"at": NOW},)}, {"list": [{"at": THEN}]}, True),
        ({"at": "2026-01-03T00:00:00Z"}, {"at": THEN}, False),
        ({"at": {"b": NOW}}, {"at": THEN}, False),
    ],
)
def test_stamps_alone_never_make_a_change(
    desired: dict[str, object], present: dict[str, object], *, stays: bool
) -> None:
    """Neither does the order of keys, nor whether a list is one."""
    assert (keep_present(desired, present) is present) is stays


@given(st.dictionaries(st.sampled_from("abc"), BODIES), BODIES)
def test_a_body_stays_beside_a_stamp_if_and_only_if_it_is_equal(
    body: dict[str, object], other: object
) -> None:
    """Whatever else is in it."""
    desired = {**body, "at": NOW, "more": body.get("a")}
    present = {**body, "at": THEN, "more": other}

    assert (keep_present(desired, present) is present) is (body.get("a") == other)
