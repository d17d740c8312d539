"""Removing a document from a file that has others."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.manifests.edits.documents import cut
from reconciler.manifests.text.reader import read


@pytest.mark.parametrize(
    ("text", "index", "expected"),
    [
        pytest.param("a: 1\n", 0, "", id="only-document"),
        pytest.param("# c\na: 1\n---\n# nothing\n---\n", 0, "", id="only-document-with-content"),
        pytest.param("a: 1\n---\nb: 2\n", 0, "---\nb: 2\n", id="first"),
        pytest.param("a: 1\n---\nb: 2\n", 1, "a: 1\n", id="last"),
        pytest.param("a: 1\n---\nb: 2\n---\nc: 3\n", 1, "a: 1\n---\nc: 3\n", id="middle"),
        pytest.param(
            "# licence\n---\n# a\na: 1\n---\n# b\nb: 2 # two\n\n",
            0,
            "# licence\n---\n# b\nb: 2 # two\n\n",
            id="comments-of-others-stay",
        ),
        pytest.param("---\na: 1\n---\n- list\n", 0, "---\n- list\n", id="other-content-counts"),
        pytest.param("a: 1\r\n---\r\nb: 2\r\n", 1, "a: 1\r\n", id="windows-line-ends"),
        pytest.param(
            "a: 1\n---\nb: 2\n...\n%YAML 1.2\n---\nc: 3\n",
            1,
            "a: 1\n...\n%YAML 1.2\n---\nc: 3\n",
            id="directives-need-a-document-end",
        ),
        pytest.param("a: 1\n---\nb: [\n", 0, "---\nb: [\n", id="broken-syntax-stays"),
        pytest.param("\ufeffa: 1\n---\nb: é\n", 0, "\ufeff---\nb: é\n", id="byte-order-mark"),
        pytest.param('{\n\t"a": 1\n}\n', 0, "", id="json"),
        pytest.param("a: |\n  ---\n  x\n--- {b: 1}\n", 0, "--- {b: 1}\n", id="separator-in-text"),
    ],
)
def test_cut_leaves(text: str, index: int, expected: str) -> None:
    """Every byte that is not of the document stays."""
    assert expected == cut(text.encode(), index).decode()


@pytest.mark.parametrize(
    ("data", "index"),
    [
        pytest.param(b"a: 1\n", 1, id="no-such-document"),
        pytest.param(b"a: 1\n", -1, id="negative"),
        pytest.param(b"a: [\n", 0, id="end-unknown"),
        pytest.param(b"\xff", 0, id="not-utf-8"),
    ],
)
def test_cut_refuses(data: bytes, index: int) -> None:
    """A caller cuts only what was read."""
    with pytest.raises(ValueError, match=r"document|must"):
        cut(data, index)


DOCUMENTS = st.sampled_from(
    [
        "a: 1\n",
        "# c\nb: {c: d}\n",
        "e:\n- f # g\n\n",
        "h: |\n  --- i\n  ...\n",
        '"j": é\u2028\n',
        "",
    ]
)
SEPARATORS = st.sampled_from(
    ["---\n", "--- # c\n", "...\n---\n", "...\n%YAML 1.1\n---\n", "---\r\n"]
)


@given(st.lists(st.tuples(SEPARATORS, DOCUMENTS), min_size=1, max_size=5), DOCUMENTS)
def test_cut_takes_one_document_and_no_other(pairs: list[tuple[str, str]], first: str) -> None:
    """What is read afterwards is what was read before, without the one."""
    data = (first + "".join(separator + text for separator, text in pairs)).encode()
    before = read(data, "a.yaml").documents

    for document in before:
        after = read(cut(data, document.index), "a.yaml")
        expected = [one.body for one in before if one.index != document.index]
        assert () == after.faults
        assert expected == [one.body for one in after.documents]
