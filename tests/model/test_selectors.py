"""What Kubernetes says of a selector that cannot be used."""

import pytest

from reconciler.model.labels import LabelSelector, Requirement, refusal_of


@pytest.mark.parametrize(
    ("requirement", "beginning"),
    [
        pytest.param(Requirement("a", "Exists"), "", id="fine"),
        pytest.param(Requirement("a.b/c", "NotIn", ("",)), "", id="prefix-and-empty-value"),
        pytest.param(Requirement("a", ""), '"" is not a valid label selector operator', id="none"),
        pytest.param(Requirement("a", "Gt", ("1",)), '"Gt" is not a valid', id="of-nodes-only"),
        pytest.param(
            Requirement("a", "In", ()),
            "values: Invalid value: null: for 'in', 'notin' operators",
            id="no-values",
        ),
        pytest.param(
            Requirement("a", "Exists", ("x", "y")),
            'values: Invalid value: ["x","y"]: values set must be empty',
            id="values-for-nothing",
        ),
        pytest.param(
            Requirement("a", "In", ("ok", "x" * 64)),
            f'values[1][a]: Invalid value: "{"x" * 64}": must be no more than 63 bytes',
            id="long-value",
        ),
        pytest.param(
            Requirement("", "Exists"),
            'key: Invalid value: "": name part must be non-empty; name part must consist of',
            id="empty-key",
        ),
        pytest.param(
            Requirement("/a", "Exists"),
            'key: Invalid value: "/a": prefix part must be non-empty',
            id="empty-prefix",
        ),
        pytest.param(
            Requirement("A.b/a", "Exists"),
            'key: Invalid value: "A.b/a": prefix part a lowercase RFC 1123 subdomain must',
            id="prefix",
        ),
        pytest.param(
            Requirement("a/b/c", "Exists"),
            'key: Invalid value: "a/b/c": a qualified name must consist of',
            id="two-slashes",
        ),
        pytest.param(
            Requirement("a b", "In", ("-",)),
            '[key: Invalid value: "a b": name part must consist of',
            id="several-things",
        ),
    ],
)
def test_refusal(requirement: Requirement, beginning: str) -> None:
    """The sentence begins like this, and is empty where there is nothing to say."""
    found = refusal_of(LabelSelector(match_expressions=(requirement,)))

    assert found.startswith(beginning)
    assert bool(found) == bool(beginning)
