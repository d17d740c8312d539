"""KubeFleet's manifests for tests: the dullest defaults."""

from collections.abc import Mapping, Sequence
from typing import cast

from reconciler.audit.fleet.assumed_outputs import as_of
from reconciler.model.identity import ObjectKey
from tests.builders import Body, configmap, deployment, metadata
from tests.stories import Story, story

GROUP = "placement.kubernetes-fleet.io"
PLACEMENT = "ClusterResourcePlacement"
BINDINGS = f"status/clusterresourcebindings.{GROUP}"
PLACEMENTS = f"status/clusterresourceplacements.{GROUP}"
POLICIES = f"status/clusterschedulingpolicysnapshots.{GROUP}"
RESOURCES = f"status/clusterresourcesnapshots.{GROUP}"
EAST = {"region": "east"}


def member(
    name: str,
    *,
    labels: Mapping[str, str] | None = None,
    taints: Sequence[Body] = (),
    status: Body | None = None,
    leaving: bool = False,
) -> Body:
    """A declared MemberCluster; with `leaving` it is being deleted."""
    deleted = "2026-11-20T00:00:00Z" if leaving else ""
    return {
        "apiVersion": "cluster.kubernetes-fleet.io/v1beta1",
        "kind": "MemberCluster",
        "metadata": metadata(name, labels=labels, deletionTimestamp=deleted),
        "spec": {
            "identity": {"kind": "User", "name": name},
            **({"taints": list(taints)} if taints else {}),
        },
        **({} if status is None else {"status": status}),
    }


def placement(
    policy: Body | None = None, *, name: str = "web", strategy: Body | None = None
) -> Body:
    """A placement of the namespace `default` and what is in it."""
    selector = {"group": "", "version": "v1", "kind": "Namespace", "name": "default"}
    return {
        "apiVersion": f"{GROUP}/v1beta1",
        "kind": PLACEMENT,
        "metadata": metadata(name),
        "spec": {
            "resourceSelectors": [selector],
            **({} if policy is None else {"policy": policy}),
            **({} if strategy is None else {"strategy": strategy}),
        },
    }


def pick(number: int, **more: object) -> Body:
    """PickN."""
    return {"placementType": "PickN", "numberOfClusters": number, **more}


def fixed(*names: str) -> Body:
    """PickFixed."""
    return {"placementType": "PickFixed", "clusterNames": list(names)}


def files(story: Story, plural: str) -> list[Body]:
    """The outputs of a kind, by name."""
    folder = f"status/{plural}.{GROUP}/"
    return [story.output(path) for path in sorted(story.outputs) if path.startswith(folder)]


def specs_of(story: Story) -> list[Mapping[str, str]]:
    """Specs of all bindings, by name."""
    return [cast(Mapping[str, str], body["spec"]) for body in bindings(story)]


def states(story: Story) -> dict[str, str]:
    """Cluster to state of its binding."""
    return {spec["targetCluster"]: spec["state"] for spec in specs_of(story)}


def targets(story: Story) -> list[str]:
    """Clusters of all bindings, ascending."""
    return sorted(spec["targetCluster"] for spec in specs_of(story))


def bindings(story: Story) -> list[Body]:
    """All bindings."""
    return files(story, "clusterresourcebindings")


def path_of_binding(story: Story, cluster: str) -> str:
    """The file of the binding that is of this cluster."""
    paths = [path for path in sorted(story.outputs) if path.startswith(BINDINGS)]
    return next(p for p in paths if f"targetCluster: {cluster}\n" in story.files[p])


def status_of(story: Story, name: str = "web") -> Mapping[str, object]:
    """The status of a placement as it is at the moment of the story."""
    body = as_of(story.world(), story.now).outputs[ObjectKey(GROUP, PLACEMENT, "", name)].body
    return cast(Mapping[str, object], body["status"])


def condition(story: Story, kind: str) -> Mapping[str, object]:
    """A condition of the placement, its prefix left out."""
    found = cast(Sequence[Mapping[str, object]], status_of(story)["conditions"])
    return next(item for item in found if item["type"] == f"ClusterResourcePlacement{kind}")


def eviction(cluster: str, *, name: str = "once", placement_name: str = "web") -> Body:
    """An eviction."""
    return {
        "apiVersion": f"{GROUP}/v1beta1",
        "kind": f"{PLACEMENT}Eviction",
        "metadata": metadata(name),
        "spec": {"placementName": placement_name, "clusterName": cluster},
    }


def budget(limits: Body, name: str = "web") -> Body:
    """The budget of the placement of this name."""
    return {
        "apiVersion": f"{GROUP}/v1beta1",
        "kind": f"{PLACEMENT}DisruptionBudget",
        "metadata": metadata(name),
        "spec": limits,
    }


def namespaced_placement(
    policy: Body | None = None, *, name: str = "web", namespace: str = "default", **spec: object
) -> Body:
    """A ResourcePlacement of all Deployments and ConfigMaps of its namespace."""
    selectors = [
        {"group": "apps", "version": "v1", "kind": "Deployment"},
        {"group": "", "version": "v1", "kind": "ConfigMap"},
    ]
    return {
        "apiVersion": f"{GROUP}/v1beta1",
        "kind": "ResourcePlacement",
        "metadata": metadata(name, namespace=namespace),
        "spec": {
            "resourceSelectors": selectors,
            **({} if policy is None else {"policy": policy}),
            **spec,
        },
    }


def placed(*placements: Body) -> Story:
    """Two clusters, something in two namespaces, and what a pass made of it."""
    contents = (deployment(), configmap(), deployment(namespace="shop"))
    told = story(member("a"), member("b", labels=EAST), *contents, *placements)
    told.run(0)
    return told


def clusters_of(told: Story, namespace: str) -> list[str]:
    """The clusters of all ResourceBindings in a namespace."""
    folder = f"status/resourcebindings.{GROUP}/{namespace}/"
    bodies = [told.output(path) for path in sorted(told.outputs) if path.startswith(folder)]
    return [str(cast(Body, body["spec"])["targetCluster"]) for body in bodies]
