"""What admission refuses of policies, workloads, clusters and quotas, and where it points."""

from collections.abc import Mapping

import pytest

from reconciler.core.inputs.admissions import ADMISSIONS
from reconciler.dialects.karmada.api.admission import refuse_cluster, refuse_policy
from reconciler.dialects.karmada.api.cluster_admission import mutated_cluster
from reconciler.dialects.karmada.api.policy import mutated, with_defaults
from reconciler.dialects.karmada.api.quota import refuse_quota
from reconciler.model.fields import mapping
from reconciler.model.identity import ObjectKey
from tests.builders import Body, cluster, deployment, groups, metadata, policy, quota, taint
from tests.stories import story

POLICY = ObjectKey("policy.karmada.io", "PropagationPolicy", "default", "p")


@pytest.mark.parametrize(
    ("placement", "expected"),
    [
        pytest.param(groups(["a"], ["b"]), [], id="groups"),
        pytest.param(
            {**groups(["a"]), "clusterAffinity": {}},
            [("/spec/placement/clusterAffinities", "policy-affinity-exclusive")],
            id="both-affinities",
        ),
        pytest.param(
            {"clusterAffinities": [{"affinityName": "x"}, {"affinityName": "x"}]},
            [("/spec/placement/clusterAffinities/1/affinityName", "policy-affinity-unique")],
            id="name-twice",
        ),
        pytest.param(
            {"spreadConstraints": [{"spreadByField": "region"}]},
            [("/spec/placement/spreadConstraints", "policy-spread-cluster")],
            id="no-cluster-constraint",
        ),
        pytest.param(
            {"spreadConstraints": [{"spreadByField": "cluster", "minGroups": 3, "maxGroups": 2}]},
            [("/spec/placement/spreadConstraints/0/maxGroups", "policy-spread-bounds")],
            id="bounds",
        ),
        pytest.param({"clusterTolerations": [{"operator": "Nope"}]}, [], id="unknown-operator"),
        pytest.param(
            {"spreadConstraints": [{}, {"spreadByField": "cluster"}]},
            [("/spec/placement/spreadConstraints/1/spreadByField", "policy-spread-unique")],
            id="cluster-by-default-and-by-name",
        ),
        pytest.param(
            {"workloadAffinity": {"antiAffinity": {"groupByLabelKey": "a b"}}},
            [("/spec/placement/workloadAffinity/antiAffinity/groupByLabelKey", "policy-label-key")],
            id="group-key",
        ),
        pytest.param(
            {"clusterTolerations": [{"operator": "Gt"}]},
            [("/spec/placement/clusterTolerations/0/operator", "policy-toleration-operator")],
            id="toleration",
        ),
    ],
)
def test_placements(placement: Body, expected: list[tuple[str, str]]) -> None:
    """Pointer and rule of each violation."""
    found = refuse_policy(policy(placement=placement))

    assert expected == [(violation.pointer, violation.rule) for violation in found]


@pytest.mark.parametrize(
    ("application", "expected"),
    [
        pytest.param({"purgeMode": "Gracefully"}, [], id="graceful"),
        pytest.param({"purgeMode": "Gracefully", "gracePeriodSeconds": 1}, [], id="one-second"),
        pytest.param(
            {"gracePeriodSeconds": 0},
            [("/gracePeriodSeconds", "policy-grace-period")],
            id="no-time",
        ),
        pytest.param(
            {"purgeMode": "Never", "gracePeriodSeconds": 1},
            [("/gracePeriodSeconds", "policy-grace-period")],
            id="nothing-to-wait-for",
        ),
        pytest.param(
            {"decisionConditions": {"tolerationSeconds": -1}},
            [("/decisionConditions/tolerationSeconds", "policy-toleration-seconds")],
            id="negative-toleration",
        ),
        pytest.param(
            {"statePreservation": {"rules": [{"aliasLabelName": "", "jsonPath": "{.a}"}]}},
            [("/statePreservation/rules/0/aliasLabelName", "policy-label-key")],
            id="no-alias",
        ),
    ],
)
def test_application_failover(application: Body, expected: list[tuple[str, str]]) -> None:
    """Pointer below `failover.application` and rule of each violation."""
    failover = {"application": application}
    found = refuse_policy(policy(failover=failover, propagateDeps=True))
    below = "/spec/failover/application"

    assert expected == [(one.pointer.removeprefix(below), one.rule) for one in found]


def test_a_policy_of_service_imports_need_not_ask_for_dependencies() -> None:
    """The mutating webhook sets propagateDeps for it, before anything is checked."""
    selectors = [{"apiVersion": "multicluster.x-k8s.io/v1alpha1", "kind": "ServiceImport"}]
    body = policy(failover={"application": {}}, selectors=selectors)

    assert () == refuse_policy(body)


@pytest.mark.parametrize(
    ("body", "count"),
    [
        pytest.param(cluster(taints=[taint()]), 0, id="good"),
        pytest.param(cluster(taints=[{**taint(), "timeAdded": "yesterday"}]), 1, id="moment"),
        pytest.param(
            cluster(status={"resourceSummary": {"allocatable": {"cpu": "much"}}}), 1, id="quantity"
        ),
    ],
)
def test_clusters_that_cannot_be_read(body: Body, count: int) -> None:
    """Amounts and moments are read at admission, so that no pass stumbles."""
    assert count == len(refuse_cluster(body))


MODELS = [
    {"grade": 1, "ranges": [{"name": "memory", "min": "1Gi", "max": "2Gi"}]},
    {"grade": 0, "ranges": [{"name": "memory", "min": "512Mi", "max": "1Gi"}]},
]


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param({"resourceModels": MODELS}, [], id="models-out-of-order"),
        pytest.param(
            {"resourceModels": [MODELS[0], {**MODELS[1], "grade": 1}]},
            [("/spec/resourceModels", "cluster-models")],
            id="grade-twice",
        ),
        pytest.param({"syncMode": "push"}, [("/spec/syncMode", "cluster-sync-mode")], id="mode"),
        pytest.param({"apiEndpoint": "https://[::1]:6443"}, [], id="ipv6-endpoint"),
        pytest.param(
            {"apiEndpoint": "h:port"}, [("/spec/apiEndpoint", "cluster-address")], id="no-host"
        ),
        pytest.param(
            {"proxyURL": "ftp://p"}, [("/spec/proxyURL", "cluster-address")], id="proxy-scheme"
        ),
        pytest.param({"zones": ["a", "b c"]}, [("/spec/zones/1", "cluster-location")], id="zone"),
        pytest.param(
            {"zone": "a", "zones": ["a"]}, [("/spec/zones", "cluster-zones")], id="zone-and-zones"
        ),
        pytest.param(
            {"taints": [{"key": "a b", "effect": "NoSchedule"}]},
            [("/spec/taints/0/key", "cluster-taint-key")],
            id="taint-key",
        ),
        pytest.param(
            {"taints": [taint(), {**taint(), "value": "other"}]},
            [("/spec/taints/1", "cluster-taint-unique")],
            id="taint-twice",
        ),
    ],
)
def test_clusters(spec: Body, expected: list[tuple[str, str]]) -> None:
    """Pointer and rule of each violation."""
    plain = cluster()
    body = {**plain, "spec": {"syncMode": "Push", **mapping(plain, "spec"), **spec}}

    assert expected == [(one.pointer, one.rule) for one in refuse_cluster(body)]


def test_a_cluster_is_stored_with_zones_and_complete_models() -> None:
    """A zone becomes a list of one, the least grade begins at nothing, the last has no end."""
    stored = mutated_cluster({"zone": "a", "resourceModels": MODELS})
    low = {"name": "memory", "min": "0", "max": "1Gi"}
    high = {"name": "memory", "min": "1Gi", "max": "9223372036854775807"}

    assert {
        "zones": ["a"],
        "resourceModels": [{"grade": 0, "ranges": [low]}, {"grade": 1, "ranges": [high]}],
    } == stored


def test_defaults_need_their_parent() -> None:
    """Division is the default of replicaScheduling, and weighted is that of division."""
    bare = mutated(POLICY, with_defaults({"placement": {}}))
    filled = mutated(POLICY, with_defaults({"placement": {"replicaScheduling": {}}}))

    assert {} == bare["placement"]
    assert {
        "replicaScheduling": {
            "replicaSchedulingType": "Divided",
            "replicaDivisionPreference": "Weighted",
        }
    } == filled["placement"]


@pytest.mark.parametrize(
    ("constraint", "expected"),
    [
        pytest.param({}, {"spreadByField": "cluster", "minGroups": 1}, id="empty"),
        pytest.param(
            {"spreadByField": ""}, {"spreadByField": "cluster", "minGroups": 1}, id="empty-text"
        ),
        pytest.param(
            {"spreadByLabel": "zone"}, {"spreadByLabel": "zone", "minGroups": 1}, id="label"
        ),
        pytest.param(
            {"spreadByField": "cluster", "minGroups": 2},
            {"spreadByField": "cluster", "minGroups": 2},
            id="kept",
        ),
    ],
)
def test_spread_constraints_are_completed(constraint: Body, expected: Body) -> None:
    """By cluster, and at least one group; the greatest number is not defaulted."""
    spec = mutated(POLICY, {"placement": {"spreadConstraints": [constraint]}})

    assert {"spreadConstraints": [expected]} == spec["placement"]


def test_empty_lists_of_a_placement_go() -> None:
    """The webhook writes the policy anew, as Go does; what it selects by may be empty."""
    affinity = {"clusterNames": [], "labelSelector": {"matchLabels": {}, "matchExpressions": []}}
    spec = mutated(POLICY, {"placement": {"clusterAffinity": affinity, "clusterTolerations": []}})

    assert {"clusterAffinity": {"labelSelector": {}}} == spec["placement"]


def test_failover_defaults() -> None:
    """Purge mode, tolerated seconds and the grace period of a graceful purge."""
    spec = mutated(POLICY, with_defaults({"failover": {"application": {}, "cluster": {}}}))

    assert {
        "application": {
            "purgeMode": "Gracefully",
            "gracePeriodSeconds": 600,
            "decisionConditions": {"tolerationSeconds": 300},
        },
        "cluster": {"purgeMode": "Gracefully"},
    } == spec["failover"]


def job(**spec: object) -> Body:
    """A Job."""
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata("once"), "spec": spec}


@pytest.mark.parametrize("replicas", ["three", "3", -3, 2**31, 1.5, True, [3]])
def test_a_workload_keeps_its_clusters_while_its_replicas_cannot_be_read(replicas: object) -> None:
    """The fault has file, field and rule; the last good number stays."""
    told = story(cluster("a"), deployment(replicas=2), policy())
    told.run()
    told.put({**deployment(), "spec": {"replicas": replicas}})
    outcome = told.run()

    assert {"a": 2} == told.placed()
    assert [("/spec/replicas", "workload-replicas")] == [
        (fault.field, fault.rule) for fault in outcome.faults
    ]


@pytest.mark.parametrize(
    ("replicas", "expected"),
    [
        (-1, "0 or more"),
        (2**31, "2147483647 or less"),
        (1.5, "a whole number"),
        ("3", "a number without quotes"),
        (True, "a number without quotes"),
    ],
)
def test_what_would_be_right_fits_what_is_wrong(replicas: object, expected: str) -> None:
    """Quotes are the mistake of a text only."""
    body = {**deployment(), "spec": {"replicas": replicas}}

    assert [expected] == [one.expected for one in ADMISSIONS["apps", "Deployment"](body)]


@pytest.mark.parametrize("spec", [{}, {"replicas": None}, {"replicas": 0}, {"replicas": 2**31 - 1}])
def test_what_is_a_number_of_replicas(spec: Mapping[str, object]) -> None:
    """Or none at all."""
    assert () == ADMISSIONS["apps", "Deployment"]({**deployment(), "spec": spec})


def test_a_job_has_two_numbers() -> None:
    """Each is judged."""
    found = ADMISSIONS["batch", "Job"](job(parallelism="2", completions=-1))

    assert ["/spec/parallelism", "/spec/completions"] == [violation.pointer for violation in found]


OWNER = {"apiVersion": "v1", "kind": "ConfigMap", "name": "c", "uid": "u"}
MUCH = "x" * (256 * 1024 - 1)


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        pytest.param({"labels": {"example.com/a": "b.c", "d": ""}}, [], id="labels"),
        pytest.param({"labels": {"a b": "c"}}, ["/labels/a b"], id="label-key"),
        pytest.param({"labels": {"x/y/z": "c"}}, ["/labels/x~1y~1z"], id="label-prefix"),
        pytest.param({"labels": {"a": "b c"}}, ["/labels/a"], id="label-value"),
        pytest.param({"annotations": {"Example.com/A": "any text"}}, [], id="annotations"),
        pytest.param({"annotations": {"a b": "c"}}, ["/annotations/a b"], id="annotation-key"),
        pytest.param({"annotations": {"a": MUCH}}, [], id="as-many-annotations-as-may-be"),
        pytest.param({"annotations": {"a": MUCH + "x"}}, ["/annotations"], id="too-many"),
        pytest.param({"finalizers": ["karmada.io/x", "y"]}, [], id="finalizers"),
        pytest.param({"finalizers": ["x", "not so!"]}, ["/finalizers/1"], id="finalizer"),
        pytest.param({"ownerReferences": [OWNER]}, [], id="owner"),
        pytest.param(
            {"ownerReferences": [OWNER, {**OWNER, "kind": "", "uid": ""}]},
            ["/ownerReferences/1/kind", "/ownerReferences/1/uid"],
            id="owner-without-fields",
        ),
        pytest.param(
            {"ownerReferences": [OWNER, *2 * [{**OWNER, "controller": True}]]},
            ["/ownerReferences/2/controller"],
            id="two-controllers",
        ),
    ],
)
def test_metadata_of_clusters(metadata: Body, expected: list[str]) -> None:
    """Where each violation is, below the metadata."""
    body = {**cluster(), "metadata": {"name": "a", **metadata}}
    body = {**body, "spec": {"syncMode": "Push"}}
    found = refuse_cluster(body)

    assert [f"/metadata{one}" for one in expected] == [one.pointer for one in found]
    assert {"cluster-metadata"} >= {one.rule for one in found}


ASSIGNED = {"clusterName": "a", "hard": {"cpu": "2"}}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param({"overall": {"cpu": 4, "requests.memory": "1Gi", "pods": "3"}}, [], id="fine"),
        pytest.param({"overall": {"example.com/gpu": "4"}}, [], id="domain"),
        pytest.param({"overall": {"requests.hugepages-2Mi": "4"}}, [], id="huge-pages"),
        pytest.param(
            {"overall": {"gpu": "4"}}, [("/spec/overall/gpu", "quota-resource")], id="no-domain"
        ),
        pytest.param(
            {"overall": {"cpu": "-1"}},
            [("/spec/overall/cpu", "quota-amount"), ("/spec/overall/cpu", "quota-assigned")],
            id="negative",
        ),
        pytest.param(
            {"overall": {"example.com/gpu": "500m"}},
            [("/spec/overall/example.com~1gpu", "quota-amount")],
            id="half-of-a-device",
        ),
        pytest.param(
            {"overall": {"cpu": "2"}, "staticAssignments": [ASSIGNED]}, [], id="assigned-all"
        ),
        pytest.param(
            {"overall": {"cpu": "3"}, "staticAssignments": [ASSIGNED, ASSIGNED]},
            [("/spec/overall/cpu", "quota-assigned")],
            id="assigned-more",
        ),
        pytest.param(
            {"overall": {"memory": "3"}, "staticAssignments": [ASSIGNED]},
            [("/spec/staticAssignments/0/hard/cpu", "quota-assigned")],
            id="assigned-without-limit",
        ),
        pytest.param(
            {"overall": {"cpu": "3"}, "staticAssignments": [{**ASSIGNED, "clusterName": "A.b"}]},
            [("/spec/staticAssignments/0/clusterName", "quota-cluster")],
            id="cluster",
        ),
    ],
)
def test_quotas(spec: Body, expected: list[tuple[str, str]]) -> None:
    """Pointer and rule of each violation."""
    found = refuse_quota({**quota(), "spec": spec})

    assert expected == [(violation.pointer, violation.rule) for violation in found]


def test_a_name_is_a_label() -> None:
    """It is the value of one on what clusters get."""
    found = refuse_quota(quota("a" * 64, overall={"cpu": "1"}))

    assert ["quota-name"] == [violation.rule for violation in found]
