"""What of a Secret may be shown is said once, and says no value."""

from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.manifests.secrets import HIDDEN, without_secrets
from reconciler.model.body import Body
from tests.builders import deployment, metadata

SECRET: Body = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {
        **metadata("s", "default"),
        "labels": {"app": "web"},
        "annotations": {"note": "hunter2"},
        "managedFields": [{"manager": "hunter2"}],
    },
    "type": "Opaque",
    "immutable": True,
    "data": {"password": "aHVudGVyMg=="},
    "stringData": {"other": "hunter2"},
    "sops": {"mac": "hunter2"},
}
SHOWN: Body = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {
        **metadata("s", "default"),
        "labels": {"app": "web"},
        "annotations": {"note": HIDDEN},
        "managedFields": HIDDEN,
    },
    "type": "Opaque",
    "immutable": True,
    "data": {"password": HIDDEN},
    "stringData": {"other": HIDDEN},
    "sops": HIDDEN,
}


def test_names_keys_labels_and_the_type_are_shown() -> None:
    """Nothing else is."""
    assert SHOWN == without_secrets(SECRET)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        pytest.param("type", "hunter2", id="a type of nobody's"),
        pytest.param("immutable", "hunter2", id="no boolean"),
        pytest.param("data", "hunter2", id="data that is no mapping"),
        pytest.param("metadata", "hunter2", id="metadata that is no mapping"),
        pytest.param("password", "hunter2", id="a field in the wrong place"),
    ],
)
def test_a_value_in_the_wrong_place_is_hidden(field: str, value: object) -> None:
    """What is not known to be harmless is a value."""
    assert HIDDEN == without_secrets({**SECRET, field: value})[field]


def test_a_secret_in_another_object_is_one() -> None:
    """As in the manifests of a ManifestWork; the object itself is as it was."""
    carrier = {"kind": "ManifestWork", "spec": {"workload": {"manifests": [deployment(), SECRET]}}}
    shown = without_secrets(carrier)

    assert [deployment(), SHOWN] == cast("Body", cast("Body", shown["spec"])["workload"])[
        "manifests"
    ]
    assert SECRET == carrier["spec"]["workload"]["manifests"][1]  # type: ignore[index]


def test_other_objects_are_the_very_same() -> None:
    """Nothing is copied where nothing is hidden."""
    body = deployment()

    assert without_secrets(body) is body


VALUES = st.recursive(
    st.just("hunter2") | st.integers(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(st.dictionaries(st.sampled_from([*SECRET, "x"]), VALUES))
def test_no_value_is_ever_shown(fields: dict[str, object]) -> None:
    """Whatever shape it has, and wherever it stands, but for what names the object."""
    secret = {**fields, "apiVersion": "v1", "kind": "Secret"}
    secret.pop("metadata", None)

    assert "hunter2" not in repr([*without_secrets({"items": [secret]}).values()])
