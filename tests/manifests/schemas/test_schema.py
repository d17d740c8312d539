"""Validation: what is refused, where, and in which words."""

from copy import deepcopy
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reconciler.manifests.schemas.violations import Violation
from tests.manifests.shipped_schemas import schemas

POLICY: dict[str, Any] = {
    "apiVersion": "policy.karmada.io/v1alpha1",
    "kind": "PropagationPolicy",
    "metadata": {"name": "web", "namespace": "default", "creationTimestamp": None},
    "spec": {
        "resourceSelectors": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": None}],
        "placement": {
            "clusterAffinity": {"clusterNames": ["member1"]},
            "clusterTolerations": [{"key": "a", "operator": "Exists", "tolerationSeconds": 5}],
            "replicaScheduling": {
                "replicaSchedulingType": "Divided",
                "weightPreference": {"staticWeightList": [{"targetCluster": {}, "weight": 1}]},
            },
        },
        "priority": 3,
        "suspension": None,
    },
    "status": {},
}
CONFIGURATION: dict[str, Any] = {
    "apiVersion": "reconciler.dev/v1alpha1",
    "kind": "ReconcilerConfiguration",
    "metadata": {"name": "reconciler"},
    "spec": {"feedback": {"assumeAfterSeconds": None}},
}
CLUSTER: dict[str, Any] = {
    "apiVersion": "cluster.karmada.io/v1alpha1",
    "kind": "Cluster",
    "metadata": {"name": "member1"},
    "spec": {"syncMode": "Push", "taints": [{"key": "a", "effect": "NoSchedule"}]},
    "status": {"resourceSummary": {"allocatable": {"cpu": 4, "memory": "8Gi"}}, "new": 1},
}


def changed(body: dict[str, Any], pointer: str, value: object) -> dict[str, Any]:
    """A copy with one value put in."""
    copy = deepcopy(body)
    *parents, last = pointer.strip("/").split("/")
    at: Any = copy
    for part in parents:
        at = at[int(part) if part.isdigit() else part]
    at[int(last) if last.isdigit() else last] = value
    return copy


@pytest.mark.parametrize("body", [POLICY, CONFIGURATION, CLUSTER], ids=lambda body: body["kind"])
def test_good_manifest_has_no_violations(body: dict[str, Any]) -> None:
    """A field that is null counts as absent."""
    assert () == schemas().judge(body).violations


def test_validation_leaves_the_body_as_it_was() -> None:
    """Nulls are dropped from a copy."""
    body = deepcopy(POLICY)
    schemas().judge(body)

    assert body == POLICY


@pytest.mark.parametrize(
    ("pointer", "value", "rule", "message", "expected"),
    [
        pytest.param(
            "/spec/placement/replicaSchedulling",
            {},
            "schema-unknown-field",
            '"replicaSchedulling" is not a field of spec.placement.',
            'Did you mean "replicaScheduling"?',
            id="misspelled-field",
        ),
        pytest.param(
            "/spec/suspension",
            {"what": 1},
            "schema-unknown-field",
            '"what" is not a field of spec.suspension.',
            "Its fields are dispatching or dispatchingOnClusters.",
            id="unknown-field",
        ),
        pytest.param(
            "/spec/priority",
            "high",
            "schema-type",
            'spec.priority must be a whole number, "high" is text.',
            "",
            id="text-for-number",
        ),
        pytest.param(
            "/spec/priority",
            2.5,
            "schema-type",
            "spec.priority must be a whole number, 2.5 is a number with a fraction.",
            "",
            id="float-for-integer",
        ),
        pytest.param(
            "/spec/priority",
            True,
            "schema-type",
            "spec.priority must be a whole number, true is a boolean.",
            "",
            id="boolean-for-integer",
        ),
        pytest.param(
            "/metadata/labels",
            {"app": 1},
            "schema-type",
            "metadata.labels.app must be text, 1 is a number.",
            "Put it in quotes.",
            id="number-for-text",
        ),
        pytest.param(
            "/spec/preemption",
            "Sometimes",
            "schema-enum",
            'spec.preemption must be one of its known values, "Sometimes" is none.',
            "Always or Never.",
            id="unknown-value",
        ),
        pytest.param(
            "/spec/priority",
            2**31,
            "schema-range",
            "spec.priority must be at most 2147483647, 2147483648 is not.",
            "A whole number of at most 2147483647.",
            id="beyond-int32",
        ),
        pytest.param(
            "/spec/placement/replicaScheduling/weightPreference/staticWeightList/0/weight",
            0,
            "schema-range",
            "spec.placement.replicaScheduling.weightPreference.staticWeightList[0].weight must be"
            " at least 1, 0 is not.",
            "A whole number of at least 1.",
            id="weight-of-zero",
        ),
        pytest.param(
            "/spec/resourceSelectors",
            [],
            "schema-items",
            "spec.resourceSelectors must have at least 1 item, it has 0.",
            "",
            id="empty-list",
        ),
        pytest.param(
            "/metadata/name",
            "web\n",
            "schema-pattern",
            'metadata.name must have its proper form, "web\\n" has not.',
            'Text such as "web" or "web.v2".',
            id="name-with-line-end",
        ),
        pytest.param(
            "/metadata/creationTimestamp",
            "2026-02-30T00:00:00Z",
            "schema-format",
            "metadata.creationTimestamp must be a moment with its time zone by RFC 3339,"
            ' "2026-02-30T00:00:00Z" is not.',
            "Write it as 2026-01-02T15:04:05Z.",
            id="no-such-day",
        ),
        pytest.param(
            "/spec/placement/clusterAffinities",
            [{"affinityName": "a" * 33}],
            "schema-length",
            "spec.placement.clusterAffinities[0].affinityName must have at most 32 characters,"
            f' "{"a" * 33}" has 33.',
            "Text of at most 32 characters.",
            id="long-text",
        ),
    ],
)
def test_violation_says(
    pointer: str, value: object, rule: str, message: str, expected: str
) -> None:
    """One sentence names the field, what must be, and what was found."""
    found = schemas().judge(changed(POLICY, pointer, value)).violations

    assert [(rule, message, expected)] == [(one.rule, one.message, one.expected) for one in found]


def test_absent_field_is_named_with_its_parent() -> None:
    """Null counts as absent, and the field's description says what it is for."""
    found = schemas().judge(changed(CLUSTER, "/spec/taints/0/key", None)).violations

    expected = Violation(
        "/spec/taints/0",
        "schema-required",
        'spec.taints[0] must have the field "key".',
        "key: Name of the taint.",
    )
    assert (expected,) == found


def test_several_violations_are_sorted_and_each_told_once() -> None:
    """Two unknown fields are two violations; a wrong type silences the rest of its field."""
    body = changed(changed(POLICY, "/spec/zz", 1), "/spec/aa", 1)
    found = schemas().judge(changed(body, "/spec/preemption", 5)).violations

    assert ["/spec/aa", "/spec/preemption", "/spec/zz"] == [one.pointer for one in found]


def test_user_text_is_cut_and_escaped() -> None:
    """Nothing in a manifest can fill or colour a terminal."""
    body = changed(POLICY, "/spec/preemption", "\x1b[31m" + "x" * 500)
    message = schemas().judge(body).violations[0].message

    assert "\x1b" not in message
    assert len(message) < 150


@pytest.mark.parametrize(
    ("quantity", "rules"),
    [
        *((text, []) for text in ("1", "0.1m", "1e3", "1E", "1Ei", ".5Gi", "5.", "-1", "+1")),
        *((text, ["schema-pattern"]) for text in ("1KI", "", "1 Gi", "1Gi\n", "x", "1e", "--1")),
        *((number, []) for number in (0, 4, 9223372036854775808)),
        (0.5, []),
    ],
)
def test_quantity(quantity: object, rules: list[str]) -> None:
    """Quantities of an aggregated API are numbers, or text of Kubernetes' form."""
    body = changed(CLUSTER, "/status/resourceSummary/allocatable/cpu", quantity)

    assert rules == [one.rule for one in schemas().judge(body).violations]


def test_a_number_without_remainder_is_a_whole_number() -> None:
    """So an API server reads it: 2.0 is 2, where a whole number is asked for."""
    judged = schemas().judge(changed(POLICY, "/spec/priority", 2.0))
    priority = cast(dict[str, object], judged.body["spec"])["priority"]

    assert ((), 2, int) == (judged.violations, priority, type(priority))


def test_a_fraction_of_a_quantity_is_decoded_as_text() -> None:
    """`cpu: 0.5` in the status of a cluster is half a core."""
    body = changed(CLUSTER, "/status/resourceSummary/allocatable/cpu", 0.5)
    status = cast(dict[str, dict[str, dict[str, object]]], schemas().judge(body).body["status"])

    assert "0.5" == status["resourceSummary"]["allocatable"]["cpu"]


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.text(max_size=5) | st.sampled_from(["name", "kind", "placement", "clusters"]), inner
        )
    ),
    max_leaves=8,
)


@settings(max_examples=50)
@given(st.sampled_from([POLICY, CLUSTER]), st.sampled_from(["metadata", "spec", "status"]), JUNK)
def test_any_content_is_answered(body: dict[str, Any], field: str, junk: object) -> None:
    """Validation never raises, and its answer is sorted."""
    found = schemas().judge({**body, field: junk}).violations

    assert sorted(set(found)) == list(found)


LEAVES = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 3), st.just(2.0), st.sampled_from(["", "In", "a"])
)
FIELDS = st.sampled_from(
    ["clusterAffinity", "clusterNames", "exclude", "spreadConstraints", "weight"]
)


@given(
    st.recursive(
        LEAVES,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(FIELDS, inner, max_size=3),
        max_leaves=6,
    ),
    st.sampled_from(["", "spec"]),
)
def test_the_quick_check_agrees_with_jsonschema(value: object, optional: str) -> None:
    """jsonschema-rs and jsonschema judge mutated policies alike."""
    body = changed(POLICY, "/spec/placement", value)
    question = ("policy.karmada.io/propagationpolicy_v1alpha1.json", optional)
    subject: Any = schemas().judge(body).body

    quick = schemas()._passes(question, subject)

    assert quick == (not list(schemas()._validator(question).iter_errors(subject)))
