"""What admission refuses, and where it points; defaults that come before it."""

import pytest

from reconciler.dialects.karmada.api.admission import refuse_cluster, refuse_policy
from reconciler.dialects.karmada.api.cluster_admission import mutated_cluster
from reconciler.dialects.karmada.api.policy import mutated, with_defaults
from reconciler.model.fields import mapping
from reconciler.model.identity import ObjectKey
from tests.builders import Body, cluster, groups, policy, taint

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
