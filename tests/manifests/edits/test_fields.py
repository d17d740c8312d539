"""Edits of a person's file: one field set or taken away, one document removed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.manifests.edits.documents import cut
from reconciler.manifests.edits.fields import append_item, drop_field, set_field
from reconciler.manifests.text.reader import read

NOTE = ("metadata", "annotations", "reconciler.dev/suspend")
LINE = 'reconciler.dev/suspend: "true"'
FLOW = '"reconciler.dev/suspend": "true"'
BELOW = f"{{{FLOW}}}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            "metadata:\n  name: a # mine\nspec: {}\n",
            f"metadata:\n  name: a # mine\n  annotations:\n    {LINE}\nspec: {{}}\n",
            id="no-annotations",
        ),
        pytest.param(
            "metadata:\n    annotations:\n        a: b\n    name: c\n",
            f"metadata:\n    annotations:\n        a: b\n        {LINE}\n    name: c\n",
            id="own-indent",
        ),
        pytest.param(
            "# top\nmetadata:\n  name: a\n\n  # labels\n  labels:\n    x: why # z\n\n# end\n",
            "# top\nmetadata:\n  name: a\n\n  # labels\n  labels:\n    x: why # z\n"
            f"  annotations:\n    {LINE}\n\n# end\n",
            id="comments-stay",
        ),
        pytest.param(
            "metadata:\r\n  name: a\r\nspec: 1\r\n",
            f"metadata:\r\n  name: a\r\n  annotations:\r\n    {LINE}\r\nspec: 1\r\n",
            id="windows-line-ends",
        ),
        pytest.param(
            "metadata:\n  name: a",
            f"metadata:\n  name: a\n  annotations:\n    {LINE}",
            id="no-newline-at-end",
        ),
        pytest.param(
            "metadata: {name: a}\n", f'metadata: {{name: a, "annotations": {BELOW}}}\n', id="flow"
        ),
        pytest.param(
            "metadata:\n  annotations: {}\n", f"metadata:\n  annotations: {BELOW}\n", id="empty"
        ),
        pytest.param(
            "metadata:\n  annotations:\n  name: a\n",
            f"metadata:\n  annotations: {BELOW}\n  name: a\n",
            id="nothing",
        ),
        pytest.param(
            "metadata:\n  annotations: null # yet\n",
            f"metadata:\n  annotations: {BELOW} # yet\n",
            id="null",
        ),
        pytest.param(
            'metadata:\n  annotations:\n    reconciler.dev/suspend: "false" # no\n',
            f"metadata:\n  annotations:\n    {LINE} # no\n",
            id="another-value",
        ),
        pytest.param(
            "metadata:\n  annotations:\n    a: |\n      b\n      c\n  name: d\n",
            f"metadata:\n  annotations:\n    a: |\n      b\n      c\n    {LINE}\n  name: d\n",
            id="literal-before",
        ),
        pytest.param(
            "spec: 1\nmetadata:\n  ownerReferences:\n  - name: a\n    kind: b\n",
            "spec: 1\nmetadata:\n  ownerReferences:\n  - name: a\n    kind: b\n"
            f"  annotations:\n    {LINE}\n",
            id="list-before",
        ),
        pytest.param("a: 1\n", f"a: 1\nmetadata:\n  annotations:\n    {LINE}\n", id="no-metadata"),
    ],
)
def test_a_field_is_set_where_it_belongs(text: str, expected: str) -> None:
    """Only lines of its own are new; every other byte is as it was."""
    assert expected == set_field(text.encode(), "a.yaml", 0, NOTE, "true").decode()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            f"metadata:\n  annotations:\n    a: b\n    {LINE} # hold\n  name: c\n",
            "metadata:\n  annotations:\n    a: b\n  name: c\n",
            id="others-stay",
        ),
        pytest.param(
            f"metadata:\n  annotations:\n    {LINE}\n  name: c\n",
            "metadata:\n  name: c\n",
            id="parent-goes",
        ),
        pytest.param(
            f'metadata: {{name: a, "annotations": {BELOW}}}\n', "metadata: {name: a}\n", id="flow"
        ),
        pytest.param(
            f"metadata: {{annotations: {{{FLOW}, b: c}}, name: a}}\n",
            "metadata: {annotations: {b: c}, name: a}\n",
            id="first-in-flow",
        ),
        pytest.param(
            f"metadata:\r\n  name: c\r\n  annotations:\r\n    {LINE}",
            "metadata:\r\n  name: c\r\n",
            id="last-line-without-end",
        ),
    ],
)
def test_a_field_is_taken_away(text: str, expected: str) -> None:
    """With its line, and with parents that it would leave empty."""
    assert expected == drop_field(text.encode(), "a.yaml", 0, NOTE).decode()


def test_other_documents_stay() -> None:
    """The second of three is edited, behind a byte order mark."""
    text = "\ufeff# a\nmetadata:  {name: a}\n---\nmetadata:\n  name: b\n...\n---\n'metadata': c\n"
    made = set_field(text.encode(), "a.yaml", 1, NOTE, "true")

    expected = text.replace("name: b\n", f"name: b\n  annotations:\n    {LINE}\n")
    assert expected.encode() == made
    assert text.encode() == drop_field(made, "a.yaml", 1, NOTE)


def test_json_stays_json() -> None:
    """Keys are quoted."""
    text = '{\n\t"metadata": {\n\t\t"name": "a"\n\t}\n}\n'
    made = set_field(text.encode(), "a.json", 0, NOTE, "true")

    assert (
        f'{{\n\t"metadata": {{\n\t\t"name": "a", "annotations": {BELOW}\n\t}}\n}}\n'
        == made.decode()
    )
    assert text.encode() == drop_field(made, "a.json", 0, NOTE)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("metadata: [\n", id="broken"),
        pytest.param("metadata: text\n", id="no-mapping"),
        pytest.param("a: &a {b: c}\nmetadata: *a\n", id="alias"),
        pytest.param("- a\n", id="list"),
        pytest.param("", id="empty"),
    ],
)
def test_what_only_a_person_can_edit_is_refused(text: str) -> None:
    """Rather than written otherwise than it was meant."""
    with pytest.raises(ValueError, match=r"\w"):
        set_field(text.encode(), "a.yaml", 0, NOTE, "true")
    with pytest.raises(ValueError, match=r"\w"):
        drop_field(text.encode(), "a.yaml", 0, NOTE)


TAINTS = ("spec", "taints")
NEW = {"key": "a/b", "effect": "NoSchedule"}
ITEM = '{"key": "a/b", "effect": "NoSchedule"}'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            "spec:\n  a: 1\nstatus: {}\n",
            "spec:\n  a: 1\n  taints:\n  - key: a/b\n    effect: NoSchedule\nstatus: {}\n",
            id="no-list",
        ),
        pytest.param(
            "kind: A\nspec:\n    zones:\n      - a\n",
            "kind: A\nspec:\n    zones:\n      - a\n    taints:\n"
            "      - key: a/b\n        effect: NoSchedule\n",
            id="as-other-lists-are-indented",
        ),
        pytest.param(
            "spec:\r\n  taints:  # mine\r\n  -   key: x # why\r\n      effect: E\r\n  # end\r\n",
            "spec:\r\n  taints:  # mine\r\n  -   key: x # why\r\n      effect: E\r\n"
            "  - key: a/b\r\n    effect: NoSchedule\r\n  # end\r\n",
            id="behind-the-last",
        ),
        pytest.param(
            "spec:\n  taints:\n    - {key: x, effect: E}\n",
            "spec:\n  taints:\n    - {key: x, effect: E}\n    - {key: a/b, effect: NoSchedule}\n",
            id="braces-as-the-last-has-them",
        ),
        pytest.param(
            "spec: {taints: [{key: x, effect: E}], a: 1}\n",
            f"spec: {{taints: [{{key: x, effect: E}}, {ITEM}], a: 1}}\n",
            id="brackets",
        ),
        pytest.param(
            "spec:\n  taints: [] # none\n", f"spec:\n  taints: [{ITEM}] # none\n", id="empty"
        ),
        pytest.param("spec:\n  taints:\n", f"spec:\n  taints: [{ITEM}]\n", id="nothing"),
        pytest.param("spec: {a: 1}\n", f'spec: {{a: 1, "taints": [{ITEM}]}}\n', id="flow"),
        pytest.param("kind: A\n", f"kind: A\nspec:\n  taints: [{ITEM}]\n", id="no-parent"),
    ],
)
def test_an_item_is_added_at_the_end_of_a_list(text: str, expected: str) -> None:
    """Only its own lines are new; every other byte is as it was."""
    assert expected == append_item(text.encode(), "a.yaml", 0, TAINTS, NEW).decode()


@pytest.mark.parametrize(
    ("text", "parts", "expected"),
    [
        pytest.param(
            "spec:\n  taints:\n  # first\n  - key: x\n    effect: E  # why\n  - key: z\n  a: 1\n",
            (*TAINTS, 0),
            "spec:\n  taints:\n  # first\n  - key: z\n  a: 1\n",
            id="first",
        ),
        pytest.param(
            "spec:\n  taints:\n  - key: x\n  - {key: z}\n  a: 1\n",
            (*TAINTS, 1),
            "spec:\n  taints:\n  - key: x\n  a: 1\n",
            id="last",
        ),
        pytest.param(
            "spec:\n  taints:\n  - key: x\n  a: 1\n",
            (*TAINTS, 0),
            "spec:\n  a: 1\n",
            id="list-goes-with-the-only-one",
        ),
        pytest.param(
            "spec: {taints: [{key: x}, {key: z}]}\n",
            (*TAINTS, 1),
            "spec: {taints: [{key: x}]}\n",
            id="brackets",
        ),
        pytest.param(
            "spec:\n  taints:\n  - key: x\n    value: 'v'\n    effect: E\n",
            (*TAINTS, 0, "value"),
            "spec:\n  taints:\n  - key: x\n    effect: E\n",
            id="field-of-an-item",
        ),
    ],
)
def test_an_item_is_taken_away(text: str, parts: tuple[str | int, ...], expected: str) -> None:
    """With its lines; comments above it stay."""
    assert expected == drop_field(text.encode(), "a.yaml", 0, parts).decode()


def test_a_field_of_an_item_is_set() -> None:
    """As in a mapping."""
    text = "spec:\n  taints:\n  - key: x\n    value: 'v' # why\n  - {key: z, value: w}\n"
    first = set_field(text.encode(), "a.yaml", 0, (*TAINTS, 0, "value"), "new")
    both = set_field(first, "a.yaml", 0, (*TAINTS, 1, "value"), "new").decode()

    assert text.replace("'v'", "new").replace("value: w", 'value: "new"') == both


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("spec:\n  taints: text\n", id="no-list"),
        pytest.param("spec:\n  taints: {a: b}\n", id="mapping"),
        pytest.param("a: &a [{key: x}]\nspec:\n  taints: *a\n", id="alias"),
        pytest.param("spec:\n  taints:\n  -\n    key: x\n", id="dash-by-itself"),
        pytest.param("spec: text\n", id="no-mapping"),
    ],
)
def test_a_list_that_only_a_person_can_edit_is_refused(text: str) -> None:
    """Rather than written otherwise than it was meant."""
    with pytest.raises(ValueError, match=r"\w"):
        append_item(text.encode(), "a.yaml", 0, TAINTS, NEW)


NAMES = st.text("ab: #'\"-{}[],\n\té|>", max_size=8)


@given(st.recursive(NAMES, lambda inner: st.dictionaries(NAMES, inner, max_size=3), max_leaves=8))
def test_suspending_and_resuming_is_no_change(value: object) -> None:
    """Whatever else the file holds: the bytes are what they were."""
    from reconciler.manifests.text.emitter import encode

    data = encode({"kind": "A", "metadata": {"name": "a", "labels": {"x": value}}}).encode()
    made = set_field(data, "a.yaml", 0, NOTE, "true")

    assert "true" == read(made, "").documents[0].body["metadata"]["annotations"][NOTE[2]]  # type: ignore[index]
    assert data == drop_field(made, "a.yaml", 0, NOTE)


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
