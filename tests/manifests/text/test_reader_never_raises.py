"""Reading answers whatever bytes there are, JSON included."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.manifests.text.reader import Document, read

PLAIN = b"""\
apiVersion: v1
kind: ConfigMap
metadata: {name: a, labels: {app: "web"}}
data:
  "on": |
    line
  list: [1, 2.5, ~, true, &a {b: c}, *a]
---
kind: Second
"""


def test_json_is_read_with_tabs_and_surrogates() -> None:
    """JSON has its own escapes, and blanks of any kind."""
    data = b'{\n\t"a": "\\ud83d\\ude00\\/",\n\t"b": [1, 2.5, null]\n}\n'
    document = read(data, "a.json").documents[0]

    assert Document(0, 1, {"a": "😀/", "b": [1, 2.5, None]}) == document


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param('{"a": 1,\n "a": 2}', ("yaml-duplicate-key", 2, 2), id="duplicate"),
        pytest.param('{"a": NaN}', ("yaml-non-finite", 0, 0), id="nan"),
        pytest.param('{"a": 1e999}', ("yaml-non-finite", 0, 0), id="infinity"),
        pytest.param('{"a": 1', ("yaml-syntax", 1, 8), id="open-brace"),
        pytest.param("a: 1", ("yaml-syntax", 1, 1), id="yaml"),
        pytest.param('{"a": "\\ud800"}', ("yaml-encoding", 0, 0), id="half-a-pair"),
        pytest.param('{"a": ' + "1" * 5000 + "}", ("yaml-number", 0, 0), id="many-digits"),
        pytest.param('{"a":' * 70 + "1" + "}" * 70, ("yaml-depth", 1, 1), id="too-deep"),
        pytest.param('{"a":' * 100_000, ("yaml-depth", 1, 1), id="far-too-deep"),
    ],
)
def test_broken_rule_of_json(text: str, expected: tuple[str, int, int]) -> None:
    """The same rules as YAML, as far as JSON can break them."""
    faults = [one.fault for one in read(text.encode(), "a.json").faults]

    assert [expected] == [(fault.rule, fault.line, fault.column) for fault in faults]


@given(st.binary(max_size=200), st.sampled_from(["a.yaml", "a.json"]))
def test_random_bytes_never_raise(data: bytes, path: str) -> None:
    """Whatever Git holds, reading answers."""
    read(data, path)


@given(
    st.lists(
        st.tuples(st.integers(0, len(PLAIN)), st.integers(0, 9), st.binary(max_size=4)), max_size=6
    ),
    st.sampled_from(["a.yaml", "a.json"]),
)
def test_mutations_never_raise(edits: list[tuple[int, int, bytes]], path: str) -> None:
    """A valid file with bytes cut out and put in is still answered."""
    data = PLAIN
    for at, cut, put in edits:
        data = data[:at] + put + data[at + cut :]
    read(data, path)


@given(st.text(alphabet="ab:-[]{}&*!|>'\"#%@`,?~<\n\t \\0179.exyo", max_size=60))
def test_indicator_soup_never_raises(text: str) -> None:
    """Texts of YAML's own indicators reach deeper than random bytes."""
    read(text.encode(), "a.yaml")
