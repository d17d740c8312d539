"""Reading: what each text means, and what each broken rule is reported as."""

import pytest

from reconciler.manifests.text.reader import Document, read

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
