"""What is no YAML is told where the mistake is, not where the reader gave up."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from reconciler.manifests.text.reader import read

PIECES = st.sampled_from(
    ["a:", "b: 1", "- c: 2", "-d: 3", '"', "'", " ", "  ", "\n", "\n", "\t", "{{", "}}", "[", "--"]
)


@pytest.mark.parametrize(
    ("text", "place", "said"),
    [
        pytest.param('a: 1\nb: "x\nc: 2\n', (2, 4), "the quote that opens here", id="open-quote"),
        pytest.param(
            'a: 1\nb: "x\nc: "y"\n', (2, 4), "the quote that opens here", id="closed-by-another"
        ),
        pytest.param(
            'a: "x\n  y"\nb: "z" w\n', (3, 8), "did not find expected key", id="behind-a-quote"
        ),
        pytest.param(
            "s:\n   a: 1\n  b: 2\n  c: 3\n", (2, 4), "by 3 where those below", id="first-too-far"
        ),
        pytest.param(
            "s:\n  a: 1\n  b: 2\n c: 3\n", (4, 2), "by 1 where those above", id="last-too-near"
        ),
        pytest.param("s:\n  a: 1\n   b: 2\n", (3, 4), "by 3 where those above", id="too-far"),
        pytest.param("l:\n  -a: 1\n    b: 2\n", (2, 3), "a dash without a space", id="dash"),
        pytest.param("s:\n  a 1\n  b: 2\n", (2, 3), "a key has no colon", id="no-colon"),
        pytest.param("s:\n  a: 1\n  b 2\n", (3, 3), "a key has no colon", id="no-colon-at-the-end"),
        pytest.param("a: 1\n--\nb: 2\n", (2, 1), "three dashes", id="two-dashes"),
        pytest.param("s:\n    l:\n  - a: 1\n", (3, 3), "further left than the key", id="item"),
        pytest.param("a: [1, ::1]\n", (1, 8), "begins with a colon", id="address-in-brackets"),
        pytest.param("a: {b: ::1}\n", (1, 8), "begins with a colon", id="address-in-braces"),
        pytest.param("a: b: c\n", (1, 5), "mapping values are not allowed", id="two-colons"),
        pytest.param("a: {{ b }}\n", (1, 5), "a template of another tool", id="template"),
    ],
)
def test_the_mistake_is_named_at_its_place(text: str, place: tuple[int, int], said: str) -> None:
    """With what is right."""
    [found] = [one.fault for one in read(text.encode(), "a.yaml").faults]

    assert said in found.message
    assert place == (found.line, found.column)
    assert found.expected


@given(st.lists(PIECES, max_size=20).map("".join))
@example('a: "\n"b: "')
def test_every_text_has_an_answer_inside_of_it(text: str) -> None:
    """Whatever is wrong, the place is one that the file has, or the end of it."""
    lines = text.split("\n")
    for one in read(text.encode(), "a.yaml").faults:
        assert 1 <= one.fault.line <= len(lines) + 1
        assert one.fault.column >= 1
