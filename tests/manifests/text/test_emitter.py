"""Writing: every reader of either YAML version reads back what was written, byte for byte."""

import math
from datetime import UTC, datetime
from enum import StrEnum
from io import StringIO

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from reconciler.manifests.text.emitter import Filled, Known, Written, encode, encode_alike
from reconciler.manifests.text.reader import read
from reconciler.model.body import Body
from reconciler.model.moments import stamp

NASTY = [
    *("", " ", "a ", " a", "~", "null", "Null", "none", "true", "FALSE", "yes", "No", "on", "OFF"),
    *("y", "N", "0", "007", "0755", "0o17", "0x1F", "0b101", "1_000", "_9", "1e3", "123e4567"),
    *("1.5", ".5", "5.", ".inf", "-.INF", ".nan", "12:30:45", "1:30", "2026-01-02"),
    *("2026-01-02T03:04:05Z", "=", "<<", "a: b", "a #b", "a:", ":a", "#a", "- a", "-", "?", "? a"),
    *("[a]", "{a}", "a, b", "&a", "*a", "!a", "|", ">", "%a", "@a", "`a", "'a'", '"a"', "a'b"),
    *("a\nb", "a\r\nb", "\t", "a\tb", "\x00", "\x07", "\x1b[0m", "\x7f", "\x85", "\xa0", "\u2028"),
    *("\ufeff", "\ufffe", "é", "😀", "---", "...", "--- a", "a" * 500, "b c " * 200, "//x"),
    *("a: ", "a'", "\\", "nginx:1.19"),
    *( "Binding has been scheduled.", "/spec/replicas", "It isn't #1", "a  b"),
]  # fmt: skip

TEXTS = st.text(max_size=12) | st.sampled_from(NASTY) | st.text("ab: #-'\"[]{}\n0_y", max_size=8)
WRITABLE = TEXTS.filter(lambda text: not any("\ud800" <= char <= "\udfff" for char in text))
SCALARS = (
    WRITABLE
    | st.none()
    | st.booleans()
    | st.integers(-(10**60), 10**60)
    | st.floats(allow_nan=False, allow_infinity=False)
)
BODIES = st.dictionaries(
    WRITABLE,
    st.recursive(
        SCALARS,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WRITABLE, inner, max_size=4),
        max_leaves=12,
    ),
    max_size=5,
)


class Colour(StrEnum):
    """A text of a subclass."""

    RED = "red"


def read_back(text: str) -> object:
    """The body that our reader finds."""
    reading = read(text.encode(), "a.yaml")
    assert () == reading.faults
    return reading.documents[0].body


def ruamel(text: str, version: tuple[int, int]) -> object:
    """What ruamel's own reader finds, by either version's rules."""
    reader = YAML(typ="safe", pure=True)
    reader.version = version
    return reader.load(StringIO(text))


@pytest.mark.parametrize("text", NASTY)
def test_nasty_text_survives_every_reader(text: str) -> None:
    """Text stays text as a value, as an item and as a key."""
    body = {"a": text, "b": [text], "c": {text: text, "d": [[text]]}}
    written = encode(body)

    assert body == read_back(written)
    assert body == ruamel(written, (1, 1))
    assert body == ruamel(written, (1, 2))


def test_layout_is_that_of_kubectl() -> None:
    """Dashes are level with their key, mappings start behind the dash."""
    body: dict[str, object] = {
        "kind": "A",
        "items": [{"name": "a", "ports": [1, 2]}, {"b": {"c": 1.5}}, [], {}, [[1], "x"]],
        "none": None,
        "flag": True,
        "empty": {"a": {}, "b": []},
    }
    expected = """\
kind: A
items:
- name: a
  ports:
  - 1
  - 2
- b:
    c: 1.5
- []
- {}
- - - 1
  - x
"none": null
flag: true
empty:
  a: {}
  b: []
"""

    assert expected == encode(body)
    assert body == read_back(encode(body))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param(stamp(datetime(2026, 1, 2, tzinfo=UTC)), '"2026-01-02T00:00:00Z"', id="stamp"),
        pytest.param(Colour.RED, "red", id="enum"),
        pytest.param(1e22, "1.0e+22", id="float-without-dot"),
        pytest.param(-0.0, "-0.0", id="negative-zero"),
        pytest.param(("a", "b"), "\n- a\n- b", id="tuple"),
        pytest.param("a\nb", '"a\\nb"', id="lines"),
        pytest.param("\u2028\x85", '"\\u2028\\u0085"', id="line-breaks-of-yaml-1-1"),
    ],
)
def test_value_is_written_as(value: object, expected: str) -> None:
    """The spelling that all readers share."""
    assert "a: " + expected + "\n" == encode({"a": value}).replace("a:\n", "a: \n")


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(math.nan, id="nan"),
        pytest.param(math.inf, id="infinity"),
        pytest.param("\ud800", id="half-a-surrogate-pair"),
        pytest.param({1: "a"}, id="number-as-key"),
        pytest.param({"a", "b"}, id="set"),
        pytest.param(datetime(2026, 1, 2, tzinfo=UTC), id="moment"),
        pytest.param(b"a", id="bytes"),
        pytest.param(10**100, id="many-digits"),
    ],
)
def test_what_yaml_cannot_carry_is_refused(value: object) -> None:
    """A programmer's mistake is not written to a file."""
    with pytest.raises(ValueError, match=r"must"):
        encode({"a": value})


def test_cycle_is_refused() -> None:
    """A body that contains itself has no end."""
    body: dict[str, object] = {}
    body["a"] = [body]

    with pytest.raises(ValueError, match="64 levels"):
        encode(body)


def test_deepest_body_is_read_back() -> None:
    """The writer's limit is the reader's."""
    body: dict[str, object] = {"a": 1}
    for _ in range(63):
        body = {"a": body}

    assert body == read_back(encode(body))


def test_long_key_is_read_back() -> None:
    """YAML finds a colon only so far behind a key."""
    body = {"a": {"k" * 5000: {"b": [{"é" * 3000: [1]}]}}}

    assert body == read_back(encode(body))
    assert body == ruamel(encode(body), (1, 2))


@given(BODIES)
def test_reading_undoes_writing(body: dict[str, object]) -> None:
    """No body is lost or changed on the way, and writing again gives the same bytes."""
    written = encode(body)
    again = read_back(written)

    assert body == again
    assert written == encode(body if not isinstance(again, dict) else again)


@settings(max_examples=60)
@given(BODIES)
def test_other_readers_agree(body: dict[str, object]) -> None:
    """A reader of either version finds the same body."""
    written = encode(body)

    assert body == ruamel(written, (1, 2))
    assert body == ruamel(written, (1, 1))


@given(BODIES)
def test_key_order_is_kept(body: dict[str, object]) -> None:
    """Callers fix the order of keys; the writer keeps it."""
    again = read_back(encode(body))

    assert list(body) == list(again if isinstance(again, dict) else {})


PLACES = (("metadata", "labels", "id"), ("metadata", "annotations", "for"))


def document(**annotations: str) -> Body:
    """A document with two texts that are filled in, the second one first."""
    return {
        "kind": "A",
        "metadata": {"annotations": {"for": "", **annotations}, "labels": {"id": ""}},
    }


@pytest.mark.parametrize(
    "shared",
    [
        pytest.param(document(), id="plain"),
        pytest.param(document(a="hole"), id="the-text-that-stands-for-it"),
        pytest.param(document(hole="holes", a="a hole, a holess"), id="and-longer-ones"),
    ],
)
def test_what_is_filled_is_written_as_if_it_stood_there(shared: Body) -> None:
    """Whatever else the documents hold, and whatever the text needs to be quoted."""
    known: Known = {}
    for text in ("east", "yes", "", "1", "a: b", "hole"):
        filled = Filled(shared, PLACES, ("hole", text))

        assert encode(dict(filled)) == encode_alike(filled, known)
    assert 1 == len(known)


@given(BODIES, st.lists(SCALARS, max_size=3))
def test_what_documents_share_is_written_as_it_stands_in_each(
    shared: dict[str, object], items: list[object]
) -> None:
    """At whatever level it stands, and however often."""
    below: dict[str, object] = {"both": shared, "items": items, "more": {"both": shared}}
    documents: list[Body] = [
        shared,
        below,
        {"status": below, "both": shared},
        {"on": {"b": items}},
        below,
    ]
    written: Written = {}

    assert [encode(body) for body in documents] == [encode(body, written) for body in documents]
