"""Reading what we wrote: the quick way and the strict one never differ."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reconciler.manifests.text.canonical import read_canonical
from reconciler.manifests.text.emitter import encode
from reconciler.manifests.text.reader import read
from tests.manifests.text.test_emitter import BODIES, WRITABLE

VALUES = [
    *("1", "x", '"x"', "'x'", "yes", '"yes"', "{}", "[]", "{a: 1}", "|", "-0", "1.0", "1.5e3"),
    *("1.5e+3", "0x1", "null", "~", '"\\u00e9"', "é", "&a x"),
]
LINES = st.builds(
    "{}{}{}".format,
    st.sampled_from(["", "", "  ", "    ", " ", "- ", "- - ", "  - ", "-"]),
    st.sampled_from(["a:", "b:", "c: ", '"on":', "'a':", "", "? a", "a :", "a:b", "# "]),
    st.sampled_from(["", *(f" {text}" for text in VALUES), "\r"]),
)


def check(text: str) -> None:
    """Hold one text against the strict reader and the writer."""
    data = text.encode("utf-8", "surrogatepass")
    body = read_canonical(data)
    if body is None:
        return
    strict = read(data, "a.yaml")

    assert () == strict.faults
    assert repr(body) == repr(strict.documents[0].body)
    assert text == encode(body)


@given(BODIES.filter(bool))
def test_every_written_body_is_read(body: dict[str, object]) -> None:
    """The types of the values too: `True` is not 1, and 1.0 is not 1."""
    again = read_canonical(encode(body).encode())

    assert repr(body) == repr(again)


@settings(max_examples=400)
@given(
    BODIES,
    st.lists(
        st.tuples(st.integers(0, 400), st.integers(0, 3), WRITABLE | st.sampled_from("\n :-#")),
        max_size=3,
    ),
)
def test_edited_text_is_read_as_the_strict_reader_does(
    body: dict[str, object], edits: list[tuple[int, int, str]]
) -> None:
    """Or not at all."""
    text = encode(body)
    for at, length, instead in edits:
        text = text[:at] + instead + text[at + length :]

    check(text)


@settings(max_examples=400)
@given(st.lists(LINES, max_size=8))
def test_composed_text_is_read_as_the_strict_reader_does(lines: list[str]) -> None:
    """Or not at all."""
    check("".join(f"{line}\n" for line in lines))


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="empty"),
        pytest.param("{}\n", id="empty-body"),
        pytest.param("a: 1", id="no-end-of-line"),
        pytest.param("a: 1\n\n", id="blank-line"),
        pytest.param("a: 1 # why\n", id="comment"),
        pytest.param("a: 1\r\n", id="windows-line-ends"),
        pytest.param("\ufeffa: 1\n", id="byte-order-mark"),
        pytest.param("a: 'b'\n", id="single-quotes"),
        pytest.param('a: "b"\n', id="needless-quotes"),
        pytest.param('a: "\\u00e9"\n', id="needless-escape"),
        pytest.param("a: yes\n", id="word-of-yaml-1-1"),
        pytest.param("a:\n  - 1\n", id="indented-list"),
        pytest.param("a:\n   b: 1\n", id="three-blanks"),
        pytest.param("a: {b: 1}\n", id="flow"),
        pytest.param("a: 1\na: 2\n", id="key-twice"),
        pytest.param("a:\n", id="nothing-behind-a-key"),
        pytest.param("- a\n", id="list"),
        pytest.param("a: 1\n---\nb: 1\n", id="two-documents"),
        pytest.param("a: " + "[" * 5 + "]" * 5 + "\n", id="nested-brackets"),
        pytest.param("a:\n" + "- " * 300_000 + "b\n", id="too-deep"),
        pytest.param("a:\n" + "- - - - - - - - b\n" * 12_000, id="too-many-nodes"),
        pytest.param("a: " + "1" * 101 + "\n", id="too-many-digits"),
        pytest.param("a: " + "b" * (1 << 20) + "\n", id="too-large"),
    ],
)
def test_text_that_we_do_not_write_is_left_to_the_strict_reader(text: str) -> None:
    """A person was there, or the strict reader has something to say."""
    assert read_canonical(text.encode()) is None


def test_bytes_that_are_no_text_are_left_to_the_strict_reader() -> None:
    """It names the place."""
    assert read_canonical(b"a: \xff\n") is None
