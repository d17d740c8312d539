"""Schemas: which kinds they know, what they refuse, where, and in which words."""

import re
import subprocess
import sys
from collections.abc import Mapping
from copy import deepcopy
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reconciler.manifests.schemas.schema import Schemas
from reconciler.manifests.schemas.violations import Violation
from tests.builders import Body, metadata, policy
from tests.crds.facts import walk
from tests.manifests.shipped_schemas import FIELDS, FOLDER, documents, schemas
from tests.shell.fleet import ROOT

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
DRAWN_FIELDS = st.sampled_from(
    ["clusterAffinity", "clusterNames", "exclude", "spreadConstraints", "weight"]
)


@given(
    st.recursive(
        LEAVES,
        lambda inner: (
            st.lists(inner, max_size=3) | st.dictionaries(DRAWN_FIELDS, inner, max_size=3)
        ),
        max_leaves=6,
    ),
    st.sampled_from(["", "spec"]),
)
def test_the_quick_check_agrees_with_jsonschema(value: object, optional: str) -> None:
    """jsonschema-rs and jsonschema judge mutated policies alike."""
    body = changed(POLICY, "/spec/placement", value)
    question = ("policy.karmada.io/propagationpolicy_v1alpha1.json", optional)
    subject: Any = schemas().judge(body).body

    quick = schemas()._gate(question)(subject)

    assert quick == (not list(schemas()._validator(question).iter_errors(subject)))


def test_values_of_a_secret_are_never_quoted() -> None:
    """Where a schema covers Secrets, its messages do not tell them."""
    document = {
        "properties": {
            "apiVersion": {"const": "v1"},
            "kind": {"const": "Secret"},
            "stringData": {"additionalProperties": {"type": "string", "pattern": "^a$(?!\\n)"}},
        }
    }
    body = {"apiVersion": "v1", "kind": "Secret", "stringData": {"a": "password", "b": 12345}}
    found = Schemas({"v1/secret.json": document}).judge(body).violations

    assert 2 == len(found)
    assert not [one for one in found if "password" in str(one) or "12345" in str(one)]


def test_best_alternative_is_reported() -> None:
    """Of `oneOf`, the error deepest in the alternative that fits best."""
    document = {
        "properties": {
            "apiVersion": {"const": "a/v1"},
            "kind": {"const": "A"},
            "spec": {
                "oneOf": [
                    {"type": "string"},
                    {"type": "object", "properties": {"size": {"type": "integer"}}},
                ]
            },
        }
    }
    body = {"apiVersion": "a/v1", "kind": "A", "spec": {"size": "x"}}

    found = Schemas({"a/a_v1.json": document}).judge(body).violations

    assert ["/spec/size"] == [one.pointer for one in found]


def test_kinds_are_known_by_version() -> None:
    """A version without a schema is not covered, and the others are named."""
    known = schemas()

    assert known.covers("work.karmada.io/v1alpha2", "ResourceBinding")
    assert not known.covers("work.karmada.io/v1alpha1", "ResourceBinding")
    versions = known.versions_of("work.karmada.io", "ResourceBinding")
    assert ("work.karmada.io/v1alpha2",) == versions
    assert () == known.versions_of("apps", "Deployment")
    with pytest.raises(ValueError, match="no schema"):
        known.judge({"apiVersion": "apps/v1", "kind": "Deployment"})


def test_schemas_are_schemas() -> None:
    """Each file satisfies the schema of schemas."""
    from jsonschema import Draft202012Validator

    for document in documents().values():
        Draft202012Validator.check_schema(document)


def test_jsonschema_is_imported_late() -> None:
    """Importing the module costs the command line nothing."""
    code = (
        "import sys, reconciler.manifests.schemas.schema;"
        "print([name for name in ('jsonschema', 'referencing', 'difflib') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
    )

    assert "[]" == done.stdout.strip()


EACH = "One item for each name."


def scores(*names: str) -> dict[str, Any]:
    """Scores of these names."""
    return {
        "apiVersion": "cluster.open-cluster-management.io/v1alpha1",
        "kind": "AddOnPlacementScore",
        "metadata": {"name": "cost", "namespace": "a"},
        "status": {"scores": [{"name": name, "value": 1} for name in names]},
    }


def test_items_of_a_list_have_keys_of_their_own() -> None:
    """Each later one is in the wrong."""
    said = 'must have a name of its own, "cpu" is in an item before it.'
    found = [
        Violation(f"/status/scores/{i}", "list-key", f"status.scores[{i}] {said}", EACH)
        for i in (1, 3)
    ]

    assert tuple(found) == schemas().judge(scores("cpu", "cpu", "memory", "cpu")).violations


def test_items_with_other_keys_may_be_alike_otherwise() -> None:
    """Only the keys count."""
    assert () == schemas().judge(scores("cpu", "memory")).violations


def test_several_keys_count_together() -> None:
    """A namespace may be managed by two sets."""
    pairs = (("a", "x"), ("b", "x"), ("a", "x"))
    managed = [{"clusterSet": one, "name": name} for one, name in pairs]
    body = {
        "apiVersion": "cluster.open-cluster-management.io/v1",
        "kind": "ManagedCluster",
        "metadata": {"name": "a"},
        "status": {"managedNamespaces": managed},
    }

    (found,) = schemas().judge(body).violations
    assert (
        "status.managedNamespaces[2] must have a clusterSet and name of its own,"
        ' "a" and "x" are in an item before it.'
    ) == found.message


WEB: Body = {"apiVersion": "apps/v1", "kind": "Deployment"}


def spec(**more: object) -> Body:
    """A policy with this spec."""
    return {**policy(), "spec": {"resourceSelectors": [WEB], "placement": {}, **more}}


def affinity(**selector: object) -> Body:
    """A policy that names clusters by a selector."""
    return spec(placement={"clusterAffinity": selector})


def override(**rule: object) -> Body:
    """An OverridePolicy of one rule."""
    return {
        "apiVersion": "policy.karmada.io/v1alpha1",
        "kind": "OverridePolicy",
        "metadata": metadata("web", "default"),
        "spec": {"overrideRules": [rule]},
    }


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(spec(resourceSelectors=[{"kind": "Deployment"}]), id="no-api-version"),
        pytest.param(spec(resourceSelectors=[{"apiVersion": "apps/v1"}]), id="no-kind"),
        pytest.param(spec(resourceSelectors=[{}]), id="selector-of-nothing"),
        pytest.param(spec(preemption=""), id="empty-preemption"),
        pytest.param(spec(conflictResolution=""), id="empty-conflict-resolution"),
        pytest.param(spec(activationPreference=""), id="empty-activation"),
        pytest.param(spec(failover={"cluster": {"purgeMode": ""}}), id="empty-purge-mode"),
        pytest.param(
            spec(placement={"replicaScheduling": {"replicaSchedulingType": ""}}), id="empty-type"
        ),
        pytest.param(
            affinity(labelSelector={"matchExpressions": [{"key": "a"}]}), id="no-operator"
        ),
        pytest.param(override(targetCluster={}), id="rule-without-overriders"),
    ],
)
def test_what_is_empty_is_accepted(body: Body) -> None:
    """An optional text that is empty is gone, a required one that is absent is empty."""
    assert () == schemas().judge(body).violations


@pytest.mark.parametrize(
    ("body", "at", "rule"),
    [
        pytest.param(
            spec(schedulePriority={"priorityClassName": "x"}),
            "/spec/schedulePriority/priorityClassSource",
            "schema-enum",
            id="required-choice",
        ),
        pytest.param(
            spec(placement={"clusterAffinities": [{}]}),
            "/spec/placement/clusterAffinities/0/affinityName",
            "schema-length",
            id="required-length",
        ),
        pytest.param(
            {**policy(), "spec": {"placement": {}}}, "/spec", "schema-required", id="required-list"
        ),
        pytest.param(
            spec(resourceSelectors=[]), "/spec/resourceSelectors", "schema-items", id="empty-list"
        ),
        pytest.param(
            {**override(targetCluster={}), "kind": "ClusterOverridePolicy"},
            "/spec/overrideRules/0",
            "schema-required",
            id="kind-that-no-webhook-writes",
        ),
    ],
)
def test_bounds_and_choices_still_refuse(body: Body, at: str, rule: str) -> None:
    """What is empty must be among them; lists are not filled in."""
    found = schemas().judge(body).violations

    assert [(at, rule)] == [(violation.pointer, violation.rule) for violation in found]


def test_labels_keep_their_empty_texts() -> None:
    """An entry of a map is no field."""
    body = affinity(labelSelector={"matchLabels": {"env": ""}})
    judged = schemas().judge(body)

    assert ((), body) == (judged.violations, judged.body)


def test_an_absent_text_is_decoded_as_an_empty_one() -> None:
    """The document that was judged is the one that is decoded."""
    body = schemas().judge(spec(resourceSelectors=[{"kind": "Deployment"}])).body
    found = body["spec"]

    assert isinstance(found, Mapping)
    assert [{"apiVersion": "", "kind": "Deployment"}] == found["resourceSelectors"]


OWN = [name for name in documents() if not name.startswith("definitions/")]


def test_every_table_has_a_schema() -> None:
    """No kind is forgotten."""
    tables = [path.relative_to(FIELDS).with_suffix("") for path in FIELDS.rglob("*.txt")]

    assert sorted(path.as_posix() for path in tables) == sorted(
        name.removesuffix(".json") for name in OWN
    )


@pytest.mark.parametrize("name", OWN)
def test_schema_is_named_after_its_kind(name: str) -> None:
    """The path says group, kind and version."""
    properties = documents()[name]["properties"]
    group, version = properties["apiVersion"]["const"].split("/")

    assert f"{group}/{properties['kind']['const'].lower()}_{version}.json" == name


@pytest.mark.parametrize("name", OWN)
def test_spec_is_closed(name: str) -> None:
    """A misspelled field is found wherever it is."""
    document = documents()[name]
    assert document["additionalProperties"] is False
    for path, node, _ in walk(document, name, ""):
        if path.startswith("spec") and node.get("properties"):
            assert node["additionalProperties"] is False, path


@pytest.mark.parametrize("name", OWN)
def test_every_field_is_described(name: str) -> None:
    """One sentence of ours says what each field is for."""
    document = documents()[name]
    assert document["description"].endswith(".")
    for path, node, _ in walk(document, name, ""):
        if not path.endswith(("[]", "{}")):
            assert node["description"].endswith("."), path
            assert len(node["description"]) <= 140, path


def test_references_stay_in_the_folder() -> None:
    """Nothing is ever fetched, and every shared part is used."""
    text = "".join(path.read_text(encoding="utf-8") for path in FOLDER.rglob("*.json"))
    references = set(re.findall(r'"\$ref": "([^"]*)"', text))

    assert not [one for one in references if "://" in one]
    defined = {
        name
        for key, document in documents().items()
        if key.startswith("definitions/")
        for name in document["$defs"]
    }
    assert defined == {one.rpartition("/")[2] for one in references}
