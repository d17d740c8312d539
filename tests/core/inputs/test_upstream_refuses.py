"""What an API server with its webhooks refuses is refused, written as YAML in a repository."""

import pytest

from tests.core.inputs.test_upstream_accepts import (
    CLUSTER,
    HUB_PLACEMENT,
    MEMBER,
    OVERFLOW,
    PLACEMENT,
    POLICY,
)
from tests.stories import Story

FAILOVER = "  propagateDeps: true\n  failover: {application: {decisionConditions: {}, %s}}"
BY_CLUSTER = "{spreadByField: cluster, maxGroups: 1}"
MODELS = (
    "{grade: 0, ranges: [{name: cpu, min: 0, max: 1}]},"
    "{grade: 1, ranges: [{name: cpu, min: 2, max: 4}]}"
)
SELECTED_TWICE = """
  - {group: "", version: v1, kind: Namespace, name: a,
     selectionScope: NamespaceWithResourceSelectors}
"""
SCORES = """
apiVersion: cluster.open-cluster-management.io/v1alpha1
kind: AddOnPlacementScore
metadata: {name: cpu, namespace: east}
status: {scores: [{name: a, value: 1}, {name: a, value: 2}]}
"""
CONDITION = """{type: A, status: 'True', reason: R, message: '',
  lastTransitionTime: '2026-01-01T00:00:00Z'}"""
CONDITIONS = f"  numberOfClusters: 1\nstatus: {{conditions: [{CONDITION}, {CONDITION}]}}"


def affinity(name: str) -> str:
    """Workloads that are kept together by a label."""
    return f"  placement: {{workloadAffinity: {{affinity: {{groupByLabelKey: '{name}'}}}}}}"


def strategy(written: str) -> str:
    """A strategy of a placement of KubeFleet."""
    return f"{PLACEMENT}  strategy: {{{written}}}"


@pytest.mark.parametrize(
    ("document", "rule"),
    [
        pytest.param(
            POLICY.replace("kind: Deployment", "kind: Deployment, namespace: other"),
            "policy-selector-namespace",
            id="selector-in-another-namespace",
        ),
        *(
            pytest.param(
                POLICY + FAILOVER % f"gracePeriodSeconds: {seconds}, purgeMode: {mode}",
                "policy-grace-period",
                id=f"grace-period-{seconds}-{mode}",
            )
            for seconds, mode in ((5, "Directly"), (5, "Never"), (0, "Gracefully"))
        ),
        pytest.param(
            POLICY
            + (FAILOVER % "").replace(
                "decisionConditions: {}", "decisionConditions: {tolerationSeconds: -1}"
            ),
            "policy-toleration-seconds",
            id="negative-toleration",
        ),
        pytest.param(
            POLICY + OVERFLOW.replace("Aggregated", "Weighted"),
            "policy-overflow-division",
            id="overflow-of-static-weights",
        ),
        pytest.param(
            POLICY + OVERFLOW.replace("any", "own"), "policy-overflow-unique", id="overflow-name"
        ),
        pytest.param(
            POLICY + OVERFLOW.replace("[east]", "[]"), "policy-overflow-primary", id="no-primary"
        ),
        pytest.param(
            f"{POLICY}  placement: {{spreadConstraints: [{BY_CLUSTER}, {BY_CLUSTER}]}}",
            "policy-spread-unique",
            id="two-constraints-by-cluster",
        ),
        pytest.param(POLICY + affinity("a b"), "policy-label-key", id="group-by-no-label"),
        pytest.param(
            POLICY
            + FAILOVER % "statePreservation: {rules: [{aliasLabelName: a b, jsonPath: '{.x}'}]}",
            "policy-label-key",
            id="alias-that-is-no-label",
        ),
        pytest.param(CLUSTER.replace("Push", "Both"), "cluster-sync-mode", id="sync-mode"),
        pytest.param(CLUSTER.replace("east", "e.ast"), "cluster-name", id="name-with-a-dot"),
        pytest.param(CLUSTER.replace("east", "e" * 49), "cluster-name", id="long-name"),
        *(
            pytest.param(CLUSTER.replace("Push", f"Push, {name}: a b"), "cluster-location", id=name)
            for name in ("provider", "region", "zone")
        ),
        pytest.param(
            CLUSTER.replace("Push", "Push, zone: a, zones: [b]"), "cluster-zones", id="zone-twice"
        ),
        pytest.param(
            CLUSTER.replace("Push", "Push, taints: [{key: a b, effect: NoSchedule}]"),
            "cluster-taint-key",
            id="taint",
        ),
        pytest.param(
            CLUSTER.replace("Push", f"Push, resourceModels: [{MODELS}]"),
            "cluster-models",
            id="models-with-a-gap",
        ),
        *(
            pytest.param(CLUSTER.replace("Push", f"Push, {name}: x"), "cluster-address", id=name)
            for name in ("apiEndpoint", "proxyURL")
        ),
        pytest.param(
            PLACEMENT + SELECTED_TWICE + "  - {group: '', version: v1, kind: Namespace, name: b}",
            "placement-namespace-single",
            id="namespaces-beside-the-chosen-one",
        ),
        pytest.param(
            strategy("reportBackStrategy: {type: Mirror}"),
            "placement-report-destination",
            id="mirror-without-destination",
        ),
        pytest.param(
            strategy("type: External, rollingUpdate: {}"),
            "placement-strategy-external",
            id="external-with-limits",
        ),
        pytest.param(MEMBER.replace("east", "e" * 64), "cluster-name", id="member-name"),
        pytest.param(SCORES, "list-key", id="scores-of-one-name"),
        pytest.param(
            HUB_PLACEMENT + CONDITIONS,
            "list-key",
            id="conditions-of-one-type",
        ),
    ],
)
def test_it_is_refused(document: str, rule: str) -> None:
    """The fault names the rule."""
    assert rule in [fault.rule for fault in Story({"a.yaml": document}).world().faults]
