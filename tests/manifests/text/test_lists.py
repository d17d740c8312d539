"""Lists as kubectl prints them, taken apart: who each item is, and where it stands."""

import json

import pytest

from reconciler.core.dialects import KINDS
from reconciler.core.inputs.admissions import ADMISSIONS
from reconciler.core.inputs.validation import FileValidation, Rules, described, validate_file
from reconciler.shell.resources import load_schemas

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
