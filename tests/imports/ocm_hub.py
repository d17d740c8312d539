"""An OCM hub, as kubectl prints it."""

from collections.abc import Iterator

from reconciler.model.body import Body
from tests.imports.hubs import CLUSTERS, cluster_names, condition, live

GROUP = "cluster.open-cluster-management.io"


def ocm_hub(count: int) -> list[Body]:
    """Return a hub with so many placements of two clusters each."""
    sets = [
        live(f"{GROUP}/v1beta2", "ManagedClusterSet", "global", spec=_everything()),
        live(
            f"{GROUP}/v1beta2",
            "ManagedClusterSetBinding",
            "global",
            namespace="default",
            spec={"clusterSet": "global"},
            status={"conditions": [condition("Bound")]},
        ),
    ]
    placed = (one for number in range(count) for one in _placed(number))
    return [*map(_cluster, cluster_names()), *sets, *placed]


def _everything() -> Body:
    return {"clusterSelector": {"labelSelector": {}, "selectorType": "LabelSelector"}}


def _cluster(name: str) -> Body:
    room = {"cpu": "64", "memory": "256Gi", "pods": "330"}
    return live(
        f"{GROUP}/v1",
        "ManagedCluster",
        name,
        metadata={"labels": {"feature.open-cluster-management.io/addon-work-manager": "available"}},
        spec={
            "hubAcceptsClient": True,
            "leaseDurationSeconds": 60,
            "managedClusterClientConfigs": [{"url": f"https://{name}.example.com:6443"}],
        },
        status={
            "allocatable": room,
            "capacity": room,
            "clusterClaims": [{"name": "id.k8s.io", "value": name}],
            "conditions": [
                condition(f"{kind}")
                for kind in ("HubAcceptedManagedCluster", "ManagedClusterJoined")
            ]
            + [condition("ManagedClusterConditionAvailable")],
            "version": {"kubernetes": "v1.31.2"},
        },
    )


def _placed(number: int) -> Iterator[Body]:
    """Yield a placement and its decision."""
    name = f"apps-{number:04d}"
    chosen = sorted({f"member{(number + step) % CLUSTERS + 1}" for step in (0, 3)})
    decision = f"{name}-decision-1"
    yield live(
        f"{GROUP}/v1beta1",
        "Placement",
        name,
        namespace="default",
        spec={"clusterSets": ["global"], "numberOfClusters": 2},
        status={
            "conditions": [
                condition("PlacementSatisfied", reason="AllDecisionsScheduled"),
                condition("PlacementMisconfigured", status="False", reason="Succeedconfigured"),
            ],
            "decisionGroups": [
                {
                    "clusterCount": 2,
                    "decisionGroupIndex": 0,
                    "decisionGroupName": "",
                    "decisions": [decision],
                }
            ],
            "numberOfSelectedClusters": 2,
        },
    )
    yield live(
        f"{GROUP}/v1beta1",
        "PlacementDecision",
        decision,
        namespace="default",
        metadata={
            "labels": {
                f"{GROUP}/decision-group-index": "0",
                f"{GROUP}/decision-group-name": "",
                f"{GROUP}/placement": name,
            }
        },
        status={"decisions": [{"clusterName": cluster, "reason": ""} for cluster in chosen]},
    )
