"""What an API server with its webhooks accepts is accepted, written as YAML in a repository."""

import pytest

from tests.stories import Story

CLUSTER = """
apiVersion: cluster.karmada.io/v1alpha1
kind: Cluster
metadata: {name: east}
spec: {syncMode: Push}
"""
MEMBER = """
apiVersion: cluster.kubernetes-fleet.io/v1beta1
kind: MemberCluster
metadata: {name: east}
spec:
  identity: {kind: User, name: east}
"""
POLICY = """
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: web, namespace: default}
spec:
  resourceSelectors:
  - {apiVersion: apps/v1, kind: Deployment, name: web}
"""
PLACEMENT = """
apiVersion: placement.kubernetes-fleet.io/v1beta1
kind: ClusterResourcePlacement
metadata: {name: web}
spec:
  resourceSelectors:
  - {group: "", version: v1, kind: Namespace, name: web}
"""
HUB_PLACEMENT = """
apiVersion: cluster.open-cluster-management.io/v1beta1
kind: Placement
metadata: {name: web, namespace: apps}
spec:
"""
SAME_KEY = """
  taints:
  - {key: site, value: a, effect: NoSchedule}
  - {key: site, value: b, effect: NoSchedule}
"""
OVERFLOW = """
  placement:
    clusterAffinities:
    - affinityName: own
      clusterNames: [east]
      overflowAffinities:
      - {affinityName: any, labelSelector: {}}
    replicaScheduling:
      replicaSchedulingType: Divided
      replicaDivisionPreference: Aggregated
"""
OVERFLOW_FROM_ALL = OVERFLOW.replace("clusterNames: [east]", "labelSelector: {}")
OPERATOR = """
  placement:
    clusterTolerations:
    - {key: site, operator: Same, value: a}
"""
SERVICE_IMPORT = """
  failover:
    application: {decisionConditions: {}}
"""
HALF_A_CORE = """
status:
  resourceSummary:
    allocatable: {cpu: 0.5}
"""


@pytest.mark.parametrize(
    "document",
    [
        pytest.param(CLUSTER.replace("east}", 'east, namespace: ""}'), id="empty-namespace"),
        pytest.param(POLICY.replace("default", '""'), id="empty-namespace-of-a-namespaced-kind"),
        pytest.param(MEMBER + SAME_KEY, id="taints-that-differ-in-value-only"),
        pytest.param(PLACEMENT + "  policy: {placementType: PickFixed}", id="fixed-to-no-cluster"),
        pytest.param(POLICY + OVERFLOW, id="empty-labels-in-overflow"),
        pytest.param(POLICY + OVERFLOW_FROM_ALL, id="overflow-from-empty-labels"),
        pytest.param(
            POLICY.replace("apps/v1", "multicluster.x-k8s.io/v1alpha1").replace(
                "Deployment", "ServiceImport"
            )
            + SERVICE_IMPORT,
            id="service-import-propagates-dependencies",
        ),
        pytest.param(
            POLICY + "  propagateDeps: true\n  failover: {application: {}}",
            id="failover-without-conditions",
        ),
        pytest.param(
            CLUSTER.replace("Push", "Push, resourceModels: [{grade: 0}]"),
            id="models-without-ranges",
        ),
        pytest.param(CLUSTER + HALF_A_CORE, id="fraction-of-a-quantity"),
        pytest.param(POLICY + OPERATOR, id="unknown-operator-of-a-toleration"),
        pytest.param(POLICY + "  priority: 2.0", id="whole-number-of-karmada"),
        pytest.param(MEMBER + "  heartbeatPeriodSeconds: 60.0", id="whole-number-of-kubefleet"),
        pytest.param(HUB_PLACEMENT + "  numberOfClusters: 2.0", id="whole-number-of-ocm"),
        pytest.param(PLACEMENT + "  strategy: {rollingUpdate: {maxSurge: 1.0}}", id="or-a-share"),
    ],
)
def test_it_takes_effect(document: str) -> None:
    """No fault is told."""
    assert () == Story({"a.yaml": document}).world().faults


def test_a_whole_number_with_a_point_is_decided_by() -> None:
    """`numberOfClusters: 2.0` wants two clusters, in a pass, too."""
    repository = Story({"a.yaml": HUB_PLACEMENT + "  numberOfClusters: 2.0"})
    repository.run(0)
    outcome = repository.run(60)

    assert ((), ()) == (outcome.faults, outcome.traces)
