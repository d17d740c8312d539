"""Fleets that grow by cells: whatever there is concerns the objects of its own cell, at any size.

A cell has two clusters, a policy or a label of its own, an override, and ten objects.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tests.builders import Body, cluster_status, configuration, metadata, rebalancer, taint

PER_CELL = 10
FLEET = "placement.kubernetes-fleet.io"
ROLES = {"group": "rbac.authorization.k8s.io", "version": "v1", "kind": "ClusterRole"}

Files = Mapping[str, Body]


@dataclass(frozen=True)
class CellFleet:
    """A repository of one API.

    Attributes:
        files: Returns so many cells, by path.
        changes: What happens in one cell, one after the other.
    """

    files: Callable[[int], Files]
    changes: Mapping[str, Files]


def named(kind: str, api_version: str, name: str, namespace: str = "", **more: object) -> Body:
    """An object."""
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": metadata(name, namespace, labels=more.pop("labels", None)),
        **more,
    }


def in_cell(cell: int) -> Body:
    """What selects a cell's own."""
    return {"matchLabels": {"cell": f"c{cell:03}"}}


def labels(cell: int, **more: str) -> Mapping[str, str]:
    """The labels of what is in a cell."""
    return {"cell": f"c{cell:03}", **more}


def settings() -> Body:
    """Delivery to folders; what is assumed is assumed soon."""
    return configuration(delivery={"folders": {}}, feedback={"assumeAfterSeconds": 10})


def karmada_cluster(cell: int, number: int, *taints: Body, cpu: str = "100", **more: str) -> Body:
    """A cluster of a cell."""
    spec: Body = {"syncMode": "Push", **({"taints": list(taints)} if taints else {})}
    return named(
        "Cluster", "cluster.karmada.io/v1alpha1", f"k{cell:03}-{number}",
        labels=labels(cell, **more), spec=spec, status=cluster_status(cpu=cpu),
    )  # fmt: skip


def workload(cell: int, number: int, replicas: int = 2, image: str = "x:1") -> Body:
    """A Deployment of a cell."""
    containers = [{"name": "m", "image": image, "resources": {"requests": {"cpu": "1"}}}]
    return named(
        "Deployment", "apps/v1", f"w{cell:03}-{number}", f"ns{cell:03}", labels=labels(cell),
        spec={"replicas": replicas, "template": {"spec": {"containers": containers}}},
    )  # fmt: skip


def policy(cell: int, affinity: Body) -> Body:
    """What places the workloads of a cell."""
    selectors = [{"apiVersion": "apps/v1", "kind": "Deployment", "labelSelector": in_cell(cell)}]
    division = {
        "replicaSchedulingType": "Divided",
        "replicaDivisionPreference": "Weighted",
        "weightPreference": {"dynamicWeight": "AvailableReplicas"},
    }
    return named(
        "PropagationPolicy", "policy.karmada.io/v1alpha1", f"p{cell:03}", f"ns{cell:03}",
        spec={
            "resourceSelectors": selectors,
            "placement": {"clusterAffinity": affinity, "replicaScheduling": division},
        },
    )  # fmt: skip


def override_policy(cell: int, value: str) -> Body:
    """What labels the workloads of a cell."""
    adds = [{"operator": "add", "value": {"v": value}}]
    return named(
        "OverridePolicy", "policy.karmada.io/v1alpha1", f"o{cell:03}", f"ns{cell:03}",
        spec={
            "resourceSelectors": [{"apiVersion": "apps/v1", "kind": "Deployment"}],
            "overrideRules": [{"overriders": {"labelsOverrider": adds}}],
        },
    )  # fmt: skip


def karmada(cells: int) -> Files:
    """Karmada's."""
    files: dict[str, Body] = {"reconciler.yaml": settings()}
    for cell in range(cells):
        for number in (0, 1):
            files[f"clusters/{cell}-{number}.yaml"] = karmada_cluster(cell, number)
        files[f"policies/{cell}.yaml"] = policy(cell, {"labelSelector": in_cell(cell)})
        files[f"overrides/{cell}.yaml"] = override_policy(cell, "a")
        for number in range(PER_CELL):
            files[f"work/{cell}/{number}.yaml"] = workload(cell, number)
    return files


def report() -> Body:
    """A cluster says that its copy runs."""
    body = workload(1, 3, replicas=1)
    status = {"observedGeneration": 1, "updatedReplicas": 1, "availableReplicas": 1}
    return {**body, "metadata": {**metadata("w001-3", "ns001"), "generation": 1}, "status": status}


def target(api_version: str, kind: str, name: str, namespace: str = "") -> Body:
    """What a rebalancer names."""
    space = {"namespace": namespace} if namespace else {}
    return {"apiVersion": api_version, "kind": kind, "name": name, **space}


KARMADA = CellFleet(
    karmada,
    {
        "replicas": {"work/1/1.yaml": workload(1, 1, replicas=4)},
        "image": {"work/1/2.yaml": workload(1, 2, image="x:2")},
        "policy": {"policies/1.yaml": policy(1, {"clusterNames": ["k001-0"]})},
        "override": {"overrides/1.yaml": override_policy(1, "b")},
        "label": {"clusters/1-0.yaml": karmada_cluster(1, 0, z="1")},
        "taint": {"clusters/1-0.yaml": karmada_cluster(1, 0, taint(), z="1")},
        "resources": {"clusters/1-1.yaml": karmada_cluster(1, 1, cpu="50")},
        "rebalancer": {
            "r.yaml": rebalancer("r", target("apps/v1", "Deployment", "w001-1", "ns001"))
        },
        "report": {"feedback/k001-0/w.yaml": report()},
    },
)


def member(cell: int, number: int, *taints: Body, **more: str) -> Body:
    """A MemberCluster of a cell."""
    spec: Body = {"identity": {"kind": "User", "name": "a"}, "taints": list(taints)}
    return named(
        "MemberCluster", "cluster.kubernetes-fleet.io/v1beta1", f"f{cell:03}-{number}",
        labels=labels(cell, **more), spec=spec,
    )  # fmt: skip


def role(cell: int, number: int, verb: str = "get") -> Body:
    """What a placement places."""
    rules = [{"apiGroups": [""], "resources": ["pods"], "verbs": [verb]}]
    version = "rbac.authorization.k8s.io/v1"
    return named("ClusterRole", version, f"role{cell:03}-{number}", rules=rules)


def placement(cell: int, number: int, wanted: int = 1) -> Body:
    """A placement in its cell."""
    terms = {"clusterSelectorTerms": [{"labelSelector": in_cell(cell)}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": terms}
    return named(
        "ClusterResourcePlacement", f"{FLEET}/v1", f"p{cell:03}-{number}",
        spec={
            "resourceSelectors": [{**ROLES, "name": f"role{cell:03}-{number}"}],
            "policy": {
                "placementType": "PickN",
                "numberOfClusters": wanted,
                "affinity": {"clusterAffinity": required},
            },
        },
    )  # fmt: skip


def override(cell: int, value: str) -> Body:
    """What labels the role of one placement of a cell."""
    patch = {"op": "add", "path": "/metadata/labels", "value": {"v": value}}
    rule = {"clusterSelector": {"clusterSelectorTerms": []}, "jsonPatchOverrides": [patch]}
    return named(
        "ClusterResourceOverride", f"{FLEET}/v1alpha1", f"o{cell:03}",
        spec={
            "placement": {"name": f"p{cell:03}-2"},
            "clusterResourceSelectors": [{**ROLES, "name": f"role{cell:03}-2"}],
            "policy": {"overrideRules": [rule]},
        },
    )  # fmt: skip


def kubefleet(cells: int) -> Files:
    """KubeFleet's."""
    files: dict[str, Body] = {"reconciler.yaml": settings()}
    for cell in range(cells):
        for number in (0, 1):
            files[f"clusters/{cell}-{number}.yaml"] = member(cell, number)
        files[f"overrides/{cell}.yaml"] = override(cell, "a")
        for number in range(PER_CELL):
            files[f"placements/{cell}/{number}.yaml"] = placement(cell, number)
            files[f"roles/{cell}/{number}.yaml"] = role(cell, number)
    return files


KUBEFLEET = CellFleet(
    kubefleet,
    {
        "resource": {"roles/1/1.yaml": role(1, 1, "list")},
        "placement": {"placements/1/1.yaml": placement(1, 1, wanted=2)},
        "override": {"overrides/1.yaml": override(1, "b")},
        "label": {"clusters/1-0.yaml": member(1, 0, z="1")},
        "taint": {"clusters/1-0.yaml": member(1, 0, taint(), z="1")},
        "rebalancer": {
            "r.yaml": rebalancer("r", target(f"{FLEET}/v1", "ClusterResourcePlacement", "p001-1"))
        },
        "report": {"feedback/f001-0/role.yaml": role(1, 3)},
    },
)


OCM_GROUP = "cluster.open-cluster-management.io"
WORK_GROUP = "work.open-cluster-management.io"


def managed(cell: int, number: int, *taints: Body, cpu: str = "8", **more: str) -> Body:
    """A ManagedCluster of the set of a cell."""
    in_set = {f"{OCM_GROUP}/clusterset": f"s{cell:03}"}
    return named(
        "ManagedCluster", f"{OCM_GROUP}/v1", f"m{cell:03}-{number}",
        labels={**in_set, **more}, spec={"taints": list(taints), "hubAcceptsClient": True},
        status={"allocatable": {"cpu": cpu}, "capacity": {"cpu": cpu}},
    )  # fmt: skip


def score(cell: int, number: int, value: int) -> Body:
    """What an add-on says of a cluster."""
    status = {"scores": [{"name": "s", "value": value}]}
    return named(
        "AddOnPlacementScore", f"{OCM_GROUP}/v1alpha1", "r", f"m{cell:03}-{number}", status=status
    )


def hub_placement(cell: int, number: int, wanted: int = 1) -> Body:
    """A placement in the namespace of its cell, by a score or by room."""
    by_score = {"type": "AddOn", "addOn": {"resourceName": "r", "scoreName": "s"}}
    by_room = {"type": "BuiltIn", "builtIn": "ResourceAllocatableCPU"}
    coordinate = by_score if number % 2 else by_room
    steady = {"type": "BuiltIn", "builtIn": "Steady"}
    return named(
        "Placement", f"{OCM_GROUP}/v1beta1", f"p{number}", f"ns{cell:03}",
        spec={
            "numberOfClusters": wanted,
            "prioritizerPolicy": {
                "mode": "Exact",
                "configurations": [
                    {"scoreCoordinate": coordinate, "weight": 1},
                    {"scoreCoordinate": steady, "weight": 3},
                ],
            },
        },
    )  # fmt: skip


def replica_set(cell: int, number: int, value: str = "1") -> Body:
    """A ConfigMap on the clusters of a placement."""
    settings_map = named("ConfigMap", "v1", f"c{number}", f"ns{cell:03}", data={"v": value})
    return named(
        "ManifestWorkReplicaSet", f"{WORK_GROUP}/v1alpha1", f"w{number}", f"ns{cell:03}",
        spec={
            "placementRefs": [{"name": f"p{number}"}],
            "manifestWorkTemplate": {"workload": {"manifests": [settings_map]}},
        },
    )  # fmt: skip


def ocm(cells: int) -> Files:
    """Open Cluster Management's."""
    files: dict[str, Body] = {"reconciler.yaml": settings()}
    for cell in range(cells):
        for number in (0, 1):
            files[f"clusters/{cell}-{number}.yaml"] = managed(cell, number)
            files[f"scores/{cell}-{number}.yaml"] = score(cell, number, 1)
        version, name = f"{OCM_GROUP}/v1beta2", f"s{cell:03}"
        files[f"sets/{cell}.yaml"] = named("ManagedClusterSet", version, name, spec={})
        files[f"bindings/{cell}.yaml"] = named(
            "ManagedClusterSetBinding", version, name, f"ns{cell:03}", spec={"clusterSet": name}
        )
        for number in range(PER_CELL):
            files[f"placements/{cell}/{number}.yaml"] = hub_placement(cell, number)
            files[f"works/{cell}/{number}.yaml"] = replica_set(cell, number)
    return files


def hub_report() -> Body:
    """A cluster says that it has its ConfigMap."""
    return named("ConfigMap", "v1", "c3", "ns001", data={"v": "1"})


def hub_taint() -> Body:
    """What keeps a cluster from being chosen anew."""
    return {"key": "k", "value": "v", "effect": "NoSelectIfNew"}


OPEN_CLUSTER_MANAGEMENT = CellFleet(
    ocm,
    {
        "replica set": {"works/1/1.yaml": replica_set(1, 1, "2")},
        "placement": {"placements/1/1.yaml": hub_placement(1, 1, wanted=2)},
        "label": {"clusters/1-0.yaml": managed(1, 0, z="1")},
        "taint": {"clusters/1-0.yaml": managed(1, 0, hub_taint(), z="1")},
        "resources": {"clusters/1-1.yaml": managed(1, 1, cpu="4")},
        "score": {"scores/1-1.yaml": score(1, 1, 9)},
        "rebalancer": {
            "r.yaml": rebalancer("r", target(f"{OCM_GROUP}/v1beta1", "Placement", "p1", "ns001"))
        },
        "report": {"feedback/m001-0/c.yaml": hub_report()},
    },
)
