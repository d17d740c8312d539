"""JSONPath as kubectl reads it."""

import pytest

from reconciler.manifests.json_path import check_path, find_path

BODY = {
    "metadata": {"name": "web", "labels": {"example.org/team": "shop"}},
    "spec": {"ports": [{"port": 80, "tls": False}, {"port": 443, "tls": True}]},
    "status": {
        "conditions": [{"type": "Ready", "status": "True"}, {"type": "Old", "status": "False"}]
    },
}


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        pytest.param(".metadata.name", ["web"], id="field"),
        pytest.param("metadata.name", ["web"], id="without-first-dot"),
        pytest.param("{.metadata.name}", ["web"], id="braces"),
        pytest.param(r".metadata.labels.example\.org/team", ["shop"], id="escaped-dot"),
        pytest.param(".metadata.labels['example.org/team']", ["shop"], id="quoted"),
        pytest.param(".spec.ports[0].port", [80], id="index"),
        pytest.param(".spec.ports[-1].port", [443], id="index-from-the-end"),
        pytest.param(".spec.ports[7].port", [], id="index-behind-the-end"),
        pytest.param(".spec.ports[*].port", [80, 443], id="all"),
        pytest.param(".spec.ports[?(@.tls==true)].port", [443], id="filter-flag"),
        pytest.param('.status.conditions[?(@.type=="Ready")].status', ["True"], id="filter"),
        pytest.param("{.status.conditions[?(@.type!='Ready')].type}", ["Old"], id="filter-not"),
        pytest.param(".spec.nothing.there", [], id="missing"),
        pytest.param(".metadata.name.first", [], id="below-a-text"),
    ],
)
def test_a_path_leads_to_values(path: str, expected: list[object]) -> None:
    """In the order of the document; nothing if it leads nowhere."""
    assert expected == list(find_path(BODY, path))


@pytest.mark.parametrize("path", ["", "{}", ".a[", ".a[x]", ".a[?(b)]", "a b", "..a", ".a}"])
def test_what_is_no_path_is_refused(path: str) -> None:
    """With one that is."""
    with pytest.raises(ValueError, match=r"must be a JSONPath such as \.metadata\.name"):
        check_path(path)


@pytest.mark.parametrize(
    ("path", "message"),
    [
        pytest.param(".spec.nothing.there", "nothing is not found", id="field"),
        pytest.param("{.metadata.name.first}", "first is not found", id="below-a-text"),
        pytest.param(".spec.ports[7].port", "[7] is not found", id="index"),
        pytest.param("{.absent}", "{.absent} is null", id="null"),
    ],
)
def test_what_is_required_must_be_there(path: str, message: str) -> None:
    """And the end of the path is told."""
    with pytest.raises(LookupError) as lost:
        find_path({**BODY, "absent": None}, path, required=True)
    assert message == str(lost.value)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        pytest.param(".spec.ports[1].port", [443], id="there"),
        pytest.param(".status.conditions[?(@.type=='None')].status", [], id="filter"),
        pytest.param(".spec.ports[*].port", [80, 443], id="all"),
    ],
)
def test_what_names_nothing_may_lead_to_nothing(path: str, expected: list[object]) -> None:
    """A filter that no item passes, and what stands behind it."""
    assert expected == list(find_path(BODY, path, required=True))
