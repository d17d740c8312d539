"""Reading: what each text means, where it stands, and what broken rules are reported as."""

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from reconciler.core.dialects import KINDS
from reconciler.core.inputs.admissions import ADMISSIONS
from reconciler.core.inputs.validation import FileValidation, Rules, described, validate_file
from reconciler.manifests.text.positions import Place, Spot, locate_all
from reconciler.manifests.text.reader import Document, read
from reconciler.shell.resources import load_schemas

PLAIN = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: a, labels: {app: "web"}}
data:
  "on": |
    line
  list: [1, 2.5, ~, true]
---
# nothing
---
- not a mapping
---
kind: Second
"""

AMBIGUOUS = [
    "y",
    "Y",
    "n",
    "N",
    "yes",
    "Yes",
    "YES",
    "no",
    "No",
    "NO",
    "on",
    "On",
    "ON",
    "off",
    "Off",
    "OFF",
    "1_0",
    "1_000.5",
    "0b101",
    "-0b1",
    "+0x1F",
    "0x1_F",
    "0_7",
    "12:30:45",
    "1:30",
    "190:20:30.15",
    "0888",
    ".5_0",
]


def value_of(text: str) -> object:
    """What one scalar is read as."""
    reading = read(f"a: {text}\n".encode(), "a.yaml")
    assert () == reading.faults
    return reading.documents[0].body["a"]


def rules_of(data: bytes | str, path: str = "a.yaml") -> list[tuple[str, int, int]]:
    """Rule, line and column of each fault."""
    reading = read(data.encode() if isinstance(data, str) else data, path)
    return [(one.fault.rule, one.fault.line, one.fault.column) for one in reading.faults]


def test_documents_keep_their_index_and_line() -> None:
    """Empty documents and other roots count, but are not returned."""
    reading = read(PLAIN.encode(), "a.yaml")

    first: dict[str, object] = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "a", "labels": {"app": "web"}},
        "data": {"on": "line\n", "list": [1, 2.5, None, True]},
    }
    assert () == reading.faults
    assert (Document(0, 1, first), Document(3, 13, {"kind": "Second"})) == reading.documents


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("", None, id="empty"),
        pytest.param("~", None, id="tilde"),
        pytest.param("NULL", None, id="null-in-capitals"),
        pytest.param("True", True, id="capitalised-true"),
        pytest.param("tRUE", "tRUE", id="odd-capitals-are-text"),
        pytest.param("0", 0, id="zero"),
        pytest.param("-17", -17, id="negative"),
        pytest.param("+17", 17, id="plus"),
        pytest.param("0755", 493, id="leading-zero-is-octal"),
        pytest.param("-0755", -493, id="negative-octal"),
        pytest.param("0o755", 493, id="octal"),
        pytest.param("0xFf", 255, id="hexadecimal"),
        pytest.param("12345678901234567890123", 12345678901234567890123, id="23-digits"),
        pytest.param("1e3", 1000.0, id="float-with-exponent"),
        pytest.param("-.5", -0.5, id="float-without-digit"),
        pytest.param("1.", 1.0, id="float-ending-in-dot"),
        pytest.param("1.2.3", "1.2.3", id="version"),
        pytest.param("2026-01-02", "2026-01-02", id="date"),
        pytest.param("2026-01-02T03:04:05Z", "2026-01-02T03:04:05Z", id="moment"),
        pytest.param("=", "=", id="equals"),
        pytest.param("_9", "_9", id="underscore-nine"),
        pytest.param("8080:80", "8080:80", id="ports-are-not-sexagesimal"),
        pytest.param("'yes'", "yes", id="quoted-yes"),
        pytest.param('"\\u00e9\\n"', "é\n", id="escapes"),
        pytest.param("nginx:1.19", "nginx:1.19", id="image"),
        pytest.param("'<<'", "<<", id="merge-key-as-value"),
    ],
)
def test_scalar_means(text: str, expected: object) -> None:
    """The 1.2 core schema, with Kubernetes' octals."""
    actual = value_of(text)

    assert (type(expected), expected) == (type(actual), actual)


@pytest.mark.parametrize(
    "text",
    AMBIGUOUS,
)
def test_scalar_with_two_meanings_is_refused(text: str) -> None:
    """What YAML 1.1 reads in another way must be spelled so that both agree."""
    assert [("yaml-ambiguous-scalar", 1, 4)] == rules_of(f"a: {text}\n")


@pytest.mark.parametrize("text", [".inf", "-.INF", ".NaN", "123e4567", "1e400"])
def test_number_that_is_not_finite_is_refused(text: str) -> None:
    """A short commit id may look like a number beyond all floats."""
    assert [("yaml-non-finite", 1, 4)] == rules_of(f"a: {text}\n")


def test_ambiguous_scalar_offers_both_spellings() -> None:
    """The reader of the fault can choose."""
    fault = read(b"a:\n  b: yes\n", "x.yaml").faults[0].fault

    assert (2, 6) == (fault.line, fault.column)
    assert 'Write "yes" in quotes for the text, or true for the boolean.' == fault.expected


@pytest.mark.parametrize(
    "text",
    ["nginx:1.25", "https://example.org", "system:masters", "--addr=127.0.0.1:8080", "fe80::1"],
)
def test_a_colon_stands_in_plain_text_within_brackets(text: str) -> None:
    """As in an image, an address or a name of RBAC; kubectl reads it, too."""
    reading = read(f"a: {{b: {text}, c: [{text}, x]}}\n".encode(), "a.yaml")

    assert () == reading.faults
    assert {"a": {"b": text, "c": [text, "x"]}} == reading.documents[0].body


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("a: 1\nb: 2\na: 3\n", ("yaml-duplicate-key", 3, 1), id="duplicate"),
        pytest.param("a: {b: 1, 'b': 2}\n", ("yaml-duplicate-key", 1, 11), id="duplicate-in-flow"),
        pytest.param("a: &x {b: 1}\nc:\n  <<: *x\n", ("yaml-merge-key", 3, 3), id="merge-key"),
        pytest.param("on: push\n", ("yaml-ambiguous-scalar", 1, 1), id="key-on"),
        pytest.param("y: 1\n", ("yaml-ambiguous-scalar", 1, 1), id="key-y"),
        pytest.param("1: a\n", ("yaml-key", 1, 1), id="number-as-key"),
        pytest.param("true: a\n", ("yaml-key", 1, 1), id="boolean-as-key"),
        pytest.param("~: a\n", ("yaml-key", 1, 1), id="null-as-key"),
        pytest.param("? [a]\n: b\n", ("yaml-key", 1, 3), id="list-as-key"),
        pytest.param("a: !foo b\n", ("yaml-tag", 1, 4), id="tag"),
        pytest.param("a: ! b\n", ("yaml-tag", 1, 4), id="bare-tag"),
        pytest.param("a: !!str 1\n", ("yaml-tag", 1, 4), id="core-tag"),
        pytest.param("a: !!omap [b: 1]\n", ("yaml-tag", 1, 4), id="tag-on-list"),
        pytest.param("a: !!python/object:x {}\n", ("yaml-tag", 1, 4), id="python-tag"),
        pytest.param("a: *b\n", ("yaml-alias", 1, 4), id="alias-without-anchor"),
        pytest.param("a: &b [*b]\n", ("yaml-alias", 1, 8), id="recursive-alias"),
        pytest.param("a: " + "[" * 64 + "]" * 64, ("yaml-depth", 1, 67), id="too-deep"),
        pytest.param("a: " + "1" * 101, ("yaml-number", 1, 4), id="many-digits"),
        pytest.param("a: [1\n", ("yaml-syntax", 2, 1), id="open-bracket"),
        pytest.param("a: 'b\n", ("yaml-syntax", 1, 4), id="open-quote"),
        pytest.param("a: b: c\n", ("yaml-syntax", 1, 5), id="two-colons"),
        pytest.param("a:\n\tb: 1\n", ("yaml-syntax", 2, 1), id="tab"),
        pytest.param("a: {{ .Values.b }}\n", ("yaml-key", 1, 5), id="template"),
        pytest.param("a: \x07\n", ("yaml-encoding", 1, 4), id="control-character"),
        pytest.param("a: \x00\n", ("yaml-encoding", 1, 4), id="nul"),
        pytest.param(b"a: 1\nb: \xff\n", ("yaml-encoding", 2, 4), id="not-utf-8"),
        pytest.param("a: 1\n".encode("utf-16"), ("yaml-encoding", 1, 1), id="utf-16"),
        pytest.param("a: 1\n".encode("utf-16-le"), ("yaml-encoding", 1, 1), id="utf-16-no-bom"),
        pytest.param("a: 1\n<<<<<<< HEAD\n", ("yaml-conflict-marker", 2, 1), id="conflict"),
        pytest.param("# " + "a" * (1 << 20), ("yaml-size", 1, 1), id="too-large"),
        pytest.param(
            "version https://git-lfs.github.com/spec/v1\noid sha256:0\n",
            ("yaml-lfs-pointer", 1, 1),
            id="lfs-pointer",
        ),
    ],
)
def test_broken_rule_is_reported_at_its_place(
    text: str | bytes, expected: tuple[str, int, int]
) -> None:
    """Line and column count from 1."""
    assert [expected] == rules_of(text)


@pytest.mark.parametrize("text", ["a:\n\tb: 1\n", "a:\n  b: 1\n\tc: 2\n", "a:\n  b: c\n \td: e\n"])
def test_a_tab_in_the_indentation_is_called_so(text: str) -> None:
    """Whatever the parser calls it; quotes would not help."""
    [found] = read(text.encode(), "a.yaml").faults

    assert "a tab character stands in the indentation" in found.fault.message
    assert "Indent with spaces." == found.fault.expected


def test_faulty_document_leaves_the_others_readable() -> None:
    """A broken rule costs its own document only."""
    reading = read(b"a: 1\n---\nb: yes\nc: !x 1\n---\nd: [*e]\n---\nf: 2\n", "a.yaml")

    assert [0, 3] == [document.index for document in reading.documents]
    assert [(1, 3), (1, 4), (2, 6)] == [(one.index, one.fault.line) for one in reading.faults]


def test_broken_syntax_ends_the_file() -> None:
    """Documents before it stay."""
    reading = read(b"a: 1\n---\nb: [\n---\nc: 1\n", "a.yaml")

    assert [0] == [document.index for document in reading.documents]
    assert [("yaml-syntax", 1)] == [(one.fault.rule, one.index) for one in reading.faults]


def test_other_programs_yaml_is_told_apart() -> None:
    """A fault of a document without `apiVersion` and `kind` is foreign."""
    reading = read(b"on: push\n---\nkind: A\non: push\n", "a.yaml")

    assert [True, False] == [one.foreign for one in reading.faults]


def test_alias_is_accepted_and_noted() -> None:
    """The caller refuses it where it must not be; an anchor alone is harmless."""
    reading = read(b"a: &x {b: 1}\n---\na: &x {b: 1}\nc: *x\n", "a.yaml")

    assert [(), ((4, 4),)] == [document.aliases for document in reading.documents]
    assert {"a": {"b": 1}, "c": {"b": 1}} == reading.documents[1].body


def test_alias_bomb_is_refused() -> None:
    """Nine levels of nine aliases are 387,420,489 nodes written out."""
    lines = ["a0: &a0 [x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 10)]

    assert ["yaml-alias-limit"] == [rule for rule, _, _ in rules_of("\n".join(lines))]


def test_aliases_of_large_text_are_bounded() -> None:
    """Size counts, not only the number of nodes."""
    text = f"a: &a {'x' * 100_000}\nb: [{', '.join(['*a'] * 100)}]\n"

    assert ["yaml-alias-limit"] == [rule for rule, _, _ in rules_of(text)]


def test_nodes_are_bounded() -> None:
    """A million numbers are no manifest."""
    assert ["yaml-node-limit"] == [rule for rule, _, _ in rules_of(f"a: [{'1,' * 200_000}]")]


def test_documents_are_bounded() -> None:
    """The first 1000 documents are read."""
    reading = read(b"a: 1\n---\n" * 1001, "a.yaml")

    assert 1000 == len(reading.documents)
    assert ["yaml-documents"] == [one.fault.rule for one in reading.faults]


@pytest.mark.cpu_seconds(5)
@pytest.mark.parametrize("prefix", ["", "a: ", "a:\n"])
@pytest.mark.parametrize("opening", ["[", "{", "[\n", "{a: ", "- ", "? "])
def test_deep_nesting_fails_fast(prefix: str, opening: str) -> None:
    """Twenty thousand brackets cost no second."""
    read((prefix + opening * 20_000).encode(), "a.yaml")


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"# only a comment\n", id="comment"),
        pytest.param(b"---\n---\n...\n", id="separators"),
        pytest.param(b"just text\n", id="text"),
        pytest.param(b"- a\n- yes\n", id="list"),
        pytest.param(b"\xef\xbb\xbf", id="mark-alone"),
    ],
)
def test_file_without_mappings_has_no_documents_and_no_faults(data: bytes) -> None:
    """Another program's YAML is not ours to judge."""
    assert ((), ()) == (read(data, "a.yaml").documents, read(data, "a.yaml").faults)


@pytest.mark.parametrize("data", [b"\xef\xbb\xbfa: 1\n", b"a: 1\r\n", b"%YAML 1.2\n---\na: 1\n"])
def test_encodings_that_are_accepted(data: bytes) -> None:
    """A byte order mark, Windows line ends and a version line change nothing."""
    assert [{"a": 1}] == [document.body for document in read(data, "a.yaml").documents]


@pytest.mark.parametrize("value", ["12:30:45", "*s3cret", "!s3cret", "!s3cret x", "&a [*a]"])
def test_secret_text_is_never_quoted(value: str) -> None:
    """What breaks the rule may be a password, an alias or a tag that was meant as text as well."""
    data = f"kind: Secret\nstringData:\n  a: {value}\n".encode()
    fault = read(data, "a.yaml").faults[0].fault

    assert "it is hidden" in fault.message
    assert not [part for part in ("12:30", "s3cret", '"a"') if part in str(fault)]


PLAIN_BYTES = b"""\
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
        st.tuples(st.integers(0, len(PLAIN_BYTES)), st.integers(0, 9), st.binary(max_size=4)),
        max_size=6,
    ),
    st.sampled_from(["a.yaml", "a.json"]),
)
def test_mutations_never_raise(edits: list[tuple[int, int, bytes]], path: str) -> None:
    """A valid file with bytes cut out and put in is still answered."""
    data = PLAIN_BYTES
    for at, cut, put in edits:
        data = data[:at] + put + data[at + cut :]
    read(data, path)


@given(st.text(alphabet="ab:-[]{}&*!|>'\"#%@`,?~<\n\t \\0179.exyo", max_size=60))
def test_indicator_soup_never_raises(text: str) -> None:
    """Texts of YAML's own indicators reach deeper than random bytes."""
    read(text.encode(), "a.yaml")


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


RULES = Rules(load_schemas(), ADMISSIONS, KINDS)

EXPORTED = b"""\
apiVersion: v1
items:
- apiVersion: cluster.karmada.io/v1alpha1
  kind: Cluster
  metadata:
    name: member1
  spec:
    syncMode: Push
- apiVersion: v1
  kind: ConfigMap
  metadata:
    name: settings
  data: {a: b}
kind: List
metadata:
  resourceVersion: ""
"""
MIXED = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: first}\n---\n" + EXPORTED.decode()


def validated(text: str | bytes, path: str = "a.yaml") -> FileValidation:
    """What a file holds."""
    data = text if isinstance(text, bytes) else text.encode()
    return validate_file(path, "", data, RULES)


def names(file: FileValidation) -> list[str]:
    """The valid documents."""
    return [described(document.identity) for document in file.documents]


def faults(file: FileValidation) -> list[tuple[int, int, str, str]]:
    """Line, column, pointer and rule of each fault."""
    found = (broken.fault for broken in file.broken)
    return [(fault.line, fault.column, fault.field, fault.rule) for fault in found]


def test_what_kubectl_prints_is_read_item_by_item() -> None:
    """Each item is a document of its own."""
    file = validated(EXPORTED)

    assert ["Cluster member1", "ConfigMap settings"] == names(file)
    assert [] == faults(file)
    assert 0 == file.ignored


def test_an_item_stands_where_it_begins() -> None:
    """The document in the file, the pointer in the document, line and column in the file."""
    places = [(d.index, d.pointer, d.line, d.column) for d in validated(MIXED).documents]

    assert [(0, "", 1, 1), (1, "/items/0", 7, 3), (1, "/items/1", 13, 3)] == places


@pytest.mark.parametrize(
    "head",
    [
        pytest.param("kind: List\n", id="none"),
        pytest.param("kind: List\nmetadata: {}\n", id="empty"),
        pytest.param("kind: List\nmetadata: {resourceVersion: ''}\n", id="version"),
        pytest.param("kind: List\nmetadata: null\n", id="null"),
        pytest.param("kind: ConfigMapList\nmetadata: {}\n", id="of-a-kind"),
        pytest.param("kind: ConfigMapList\n", id="of-a-kind-without"),
    ],
)
def test_metadata_of_a_list_does_not_matter(head: str) -> None:
    """Printers differ."""
    item = "- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n"

    assert ["ConfigMap a"] == names(validated(f"apiVersion: v1\n{head}items:\n{item}"))


@pytest.mark.parametrize(
    ("api_version", "kind", "item", "expected"),
    [
        ("cluster.karmada.io/v1alpha1", "ClusterList", "spec: {syncMode: Push}", "Cluster a"),
        ("apps/v1", "DeploymentList", "spec: {replicas: 1}", "Deployment a"),
        ("example.org/v1", "WidgetList", "spec: {}", "Widget a"),
        ("v1", "ConfigMapList", "apiVersion: v1", "ConfigMap a"),
        ("v1", "ConfigMapList", "kind: ConfigMap", "ConfigMap a"),
    ],
)
def test_an_item_without_a_kind_has_that_of_the_list(
    api_version: str, kind: str, item: str, expected: str
) -> None:
    """And its version; an unknown kind, too."""
    text = f"apiVersion: {api_version}\nkind: {kind}\nitems:\n- metadata: {{name: a}}\n  {item}\n"
    file = validated(text)

    assert [expected] == names(file)
    assert {"apiVersion": api_version, "kind": kind.removesuffix("List")} == {
        field: file.documents[0].body[field] for field in ("apiVersion", "kind")
    }


def test_an_item_of_another_kind_keeps_its_own() -> None:
    """What it says itself counts."""
    text = (
        "apiVersion: apps/v1\nkind: DeploymentList\nitems:\n"
        "- {apiVersion: v1, kind: Secret, metadata: {name: a}}\n"
    )

    assert ["Secret a"] == names(validated(text))


def test_a_list_in_a_list_is_taken_apart() -> None:
    """As kubectl does."""
    text = (
        "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: ConfigMapList\n  items:\n"
        "  - metadata: {name: a}\n"
    )
    file = validated(text)

    assert ["ConfigMap a"] == names(file)
    assert ("/items/0/items/0", 7) == (file.documents[0].pointer, file.documents[0].line)


def test_a_list_in_json_is_taken_apart() -> None:
    """As `kubectl get -o json` prints it."""
    item = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
    text = json.dumps({"apiVersion": "v1", "items": [item], "kind": "List"}, indent=4)
    file = validated(text, "a.json")

    assert ["ConfigMap a"] == names(file)
    assert (4, 9) == (file.documents[0].line, file.documents[0].column)


@pytest.mark.parametrize("items", ["items: []", "items: null", ""])
def test_an_empty_list_holds_nothing(items: str) -> None:
    """It is no document of another program either."""
    file = validated(f"apiVersion: v1\nkind: List\n{items}\n")

    assert ([], [], 0) == (names(file), faults(file), file.ignored)


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        pytest.param("items: 7", (3, 8, "/items", "list-items"), id="no-list"),
        pytest.param("items: {a: b}", (3, 8, "/items", "list-items"), id="mapping"),
        pytest.param("items:\n- 7", (4, 3, "/items/0", "list-items"), id="no-object"),
        pytest.param("items:\n- null", (4, 3, "/items/0", "list-items"), id="null"),
        pytest.param(
            "items:\n- metadata: {name: a}",
            (4, 3, "/items/0/apiVersion", "identity-api-version"),
            id="no-kind",
        ),
        pytest.param(
            "items:\n- {apiVersion: v1, metadata: {name: a}}",
            (4, 3, "/items/0/kind", "identity-kind"),
            id="half",
        ),
        pytest.param(
            "items:\n- {apiVersion: example.org/v1, kind: Foo}",
            (4, 3, "/items/0/metadata", "identity-name"),
            id="no-metadata",
        ),
        pytest.param(
            "items:\n- {apiVersion: v1, kind: Secret, metadata: {name: a/b}}",
            (4, 51, "/items/0/metadata/name", "identity-name"),
            id="name",
        ),
    ],
)
def test_what_is_wrong_is_pointed_at(items: str, expected: tuple[int, int, str, str]) -> None:
    """By line, column and pointer."""
    assert [expected] == faults(validated(f"apiVersion: v1\nkind: List\n{items}\n"))


def test_a_wrong_item_leaves_the_others() -> None:
    """Each is judged by itself, by its schema, too."""
    file = validated(EXPORTED.replace(b"syncMode: Push", b"syncMode: 7"))

    assert ["ConfigMap settings"] == names(file)
    assert [(8, 15, "/items/0/spec/syncMode", "schema-type")] == faults(file)


def test_a_field_that_must_not_be_is_at_its_key() -> None:
    """As in a document of its own."""
    file = validated(EXPORTED.replace(b"syncMode: Push", b"syncMode: Push\n    typo: 1"))

    assert [(9, 5, "/items/0/spec/typo", "schema-unknown-field")] == faults(file)


ALIASED = """\
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: &data {a: b}}
- {apiVersion: v1, kind: ConfigMap, metadata: {name: b}, data: *data}
- apiVersion: cluster.karmada.io/v1alpha1
  kind: Cluster
  metadata: {name: member1, labels: *data}
  spec: {syncMode: Push}
"""


def test_an_alias_is_refused_where_it_stands() -> None:
    """In the cluster, not in the workload beside it."""
    file = validated(ALIASED)

    assert ["ConfigMap a", "ConfigMap b"] == names(file)
    assert [(8, 37, "/items/2", "yaml-alias")] == faults(file)


def test_aliases_of_other_items_are_none_of_an_item() -> None:
    """A cluster without one is read."""
    assert [] == faults(validated(ALIASED.replace("*data}\n  spec", "{a: b}}\n  spec")))


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("apiVersion: v1\nkind: ShoppingList\nitems: [milk]\n", id="texts"),
        pytest.param("apiVersion: a/v1\nkind: PriceList\nitems: [{price: 3}]\n", id="mappings"),
        pytest.param("kind: TodoList\n", id="kind-alone"),
    ],
)
def test_a_list_of_another_program_is_ignored(text: str) -> None:
    """Of an unknown kind, with items that are no objects."""
    file = validated(text)

    assert ([], [], 1) == (names(file), faults(file), file.ignored)


def test_an_object_whose_kind_ends_in_list_is_an_object() -> None:
    """It has a name."""
    text = "apiVersion: a.org/v1\nkind: AllowList\nmetadata: {name: a}\nitems: [{metadata: {}}]\n"

    assert ["AllowList a"] == names(validated(text))
