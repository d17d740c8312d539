"""Uids follow from who an object is."""

from uuid import UUID, uuid5

from hypothesis import given
from hypothesis import strategies as st

from reconciler.model.identity import UID_NAMESPACE, ObjectKey, uid_of

WORD = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


@given(WORD, WORD, WORD, WORD)
def test_a_uid_is_the_fifth_sort_of_uuid_of_the_identity(
    group: str, kind: str, namespace: str, name: str
) -> None:
    """As RFC 9562 has it, and Python's own function."""
    expected = uuid5(UUID(bytes=UID_NAMESPACE), "\x00".join((group, kind, namespace, name)))

    assert str(expected) == uid_of(ObjectKey(group, kind, namespace, name))
