"""The fleet and the bindings of the published benchmark, as manifests."""

from collections.abc import Mapping

Body = Mapping[str, object]

APIS = {
    "apps/v1": ("DaemonSet", "Deployment", "StatefulSet"),
    "v1": ("ConfigMap", "Secret", "Service"),
}
CPU = ("100m", "250m", "500m", "1")
MEMORY = ("128Mi", "256Mi", "512Mi", "1Gi")


def cluster(i: int) -> Body:
    """The i-th cluster, counted from 0."""
    region = f"r{i % 10}"
    taints = [{"key": "maintenance", "value": "true", "effect": "NoSchedule"}] if i % 7 == 0 else []
    if i % 11 == 0:
        taints.append({"key": "spot", "effect": "NoSchedule"})
    return {
        "metadata": {
            "name": f"member-{i:05d}",
            "labels": {"env": "prod" if i % 10 < 6 else "dev", "tier": f"t{i % 4}"},
        },
        "spec": {
            "provider": f"p{i % 3}",
            "region": region,
            "zones": [f"{region}-z{i % 3}"],
            "taints": taints,
        },
        "status": {
            "apiEnablements": [
                {"groupVersion": version, "resources": [{"kind": kind} for kind in kinds]}
                for version, kinds in APIS.items()
            ],
            "resourceSummary": {
                "allocatable": {
                    "cpu": str(16 + i % 48),
                    "memory": f"{64 + i % 192}Gi",
                    "pods": str(110 * (1 + i % 9)),
                },
                "allocated": {
                    "cpu": str(i % 13),
                    "memory": f"{i % 29}Gi",
                    "pods": str(i % 97),
                },
                "allocating": {"cpu": "500m", "pods": "1"},
            },
        },
    }


def placement(strategy: str) -> Body:
    """The placement of one strategy: dynamic, duplicated, aggregated, static or spread."""
    dynamic = {
        "replicaSchedulingType": "Divided",
        "replicaDivisionPreference": "Weighted",
        "weightPreference": {"dynamicWeight": "AvailableReplicas"},
    }
    rules = [
        {"targetCluster": {"labelSelector": {"matchLabels": {"tier": tier}}}, "weight": weight}
        for tier, weight in (("t1", 2), ("t2", 1))
    ]
    scheduling: Mapping[str, Body] = {
        "dynamic": dynamic,
        "spread": dynamic,
        "duplicated": {"replicaSchedulingType": "Duplicated"},
        "aggregated": {
            "replicaSchedulingType": "Divided",
            "replicaDivisionPreference": "Aggregated",
        },
        "static": {**dynamic, "weightPreference": {"staticWeightList": rules}},
    }
    constraints = [
        {"spreadByField": "region", "minGroups": 2, "maxGroups": 3},
        {"spreadByField": "cluster", "minGroups": 4, "maxGroups": 8},
    ]
    return {
        "clusterAffinity": {"labelSelector": {"matchLabels": {"env": "prod"}}},
        "clusterTolerations": [{"key": "spot", "operator": "Exists", "effect": "NoSchedule"}],
        "replicaScheduling": scheduling[strategy],
        **({"spreadConstraints": constraints} if strategy == "spread" else {}),
    }


def binding(j: int, strategy: str) -> Body:
    """The j-th binding, counted from 0."""
    return {
        "metadata": {"name": f"web-{j}-deployment", "namespace": "default"},
        "spec": {
            "resource": {
                "apiVersion": "apps/v1",
                "kind": "Deployment",
                "namespace": "default",
                "name": f"web-{j}",
                "uid": f"00000000-0000-4000-8000-{j:012d}",
            },
            "replicas": 10 + 7 * j % 90,
            "replicaRequirements": {
                "resourceRequest": {"cpu": CPU[j % 4], "memory": MEMORY[j // 4 % 4]}
            },
            "placement": placement(strategy),
        },
    }
