"""Places of fields, for the faults that name them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.manifests.text.positions import Place, Spot, locate_all

FILE = b"""\
# head
a: 1
---
kind: A
spec:
  items:
  - name: x
    ports: [80, {n: 5}]
  "a/b~c": word
  empty:
  deep:
    deeper: 1
"""


def locate(data: bytes, index: int, pointer: str, *, key: bool = False) -> Place:
    """The place of one spot."""
    spot = Spot(index, pointer, key)
    return locate_all(data, [spot])[spot]


@pytest.mark.parametrize(
    ("pointer", "expected"),
    [
        pytest.param("", (4, 1), id="document"),
        pytest.param("/kind", (4, 7), id="scalar"),
        pytest.param("/spec", (5, 1), id="block-is-at-its-key"),
        pytest.param("/spec/items/0", (7, 5), id="item"),
        pytest.param("/spec/items/0/name", (7, 11), id="field-of-an-item"),
        pytest.param("/spec/items/0/ports", (8, 12), id="flow-list"),
        pytest.param("/spec/items/0/ports/1/n", (8, 21), id="inside-of-flow"),
        pytest.param("/spec/a~1b~0c", (9, 12), id="escaped-pointer"),
        pytest.param("/spec/deep/deeper", (12, 13), id="deep"),
        pytest.param("/spec/deep/none", (11, 3), id="absent-field-is-at-its-parent"),
        pytest.param("/spec/items/7/name", (6, 3), id="absent-item-is-at-its-list"),
        pytest.param("/kind/none/of/these", (4, 7), id="below-a-scalar"),
        pytest.param("/none", (4, 1), id="absent-at-the-root"),
        pytest.param("/spec/items/99999999999999999999", (6, 3), id="number-beyond-reason"),
    ],
)
def test_pointer_leads_to(pointer: str, expected: tuple[int, int]) -> None:
    """Line and column count from 1."""
    assert expected == locate(FILE, 1, pointer)


def test_key_of_an_unknown_field() -> None:
    """The name is what is wrong, not the value."""
    assert (4, 1) == locate(FILE, 1, "/kind", key=True)


@pytest.mark.parametrize(
    ("data", "index", "expected"),
    [
        pytest.param(b'\xef\xbb\xbf{\n\t"a": {\n\t\t"b": 1}}', 0, (3, 8), id="json-with-tabs"),
        pytest.param(b"a: {b: 1, c: [\n", 0, (1, 8), id="before-broken-syntax"),
        pytest.param(b"a: 1\n", 3, (1, 1), id="no-such-document"),
        pytest.param(b"\xff", 0, (1, 1), id="not-utf-8"),
        pytest.param(b"", 0, (1, 1), id="empty"),
        pytest.param(b"- a\n", 0, (1, 1), id="list"),
        pytest.param(b"x: &x {b: 1}\na: *x\n", 0, (2, 4), id="alias-is-where-it-stands"),
        pytest.param("é: 1\na: {é: 1, b: 2}\n".encode(), 0, (2, 14), id="columns-are-characters"),
    ],
)
def test_odd_files_have_places(data: bytes, index: int, expected: tuple[int, int]) -> None:
    """The nearest place that there is."""
    assert expected == locate(data, index, "/a/b")


@given(st.binary(max_size=60) | st.text("ab:-[]{}\n 0/", max_size=60).map(str.encode), st.text())
def test_locate_never_raises(data: bytes, pointer: str) -> None:
    """Any file and any pointer are answered."""
    line, column = locate(data, 0, pointer)

    assert line >= 1
    assert column >= 1
