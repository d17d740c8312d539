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


EXTERNAL: Body = {"type": "External"}
RUN = "ClusterStagedUpdateRun"
REQUEST = "ClusterApprovalRequest"
APPROVAL: Body = {"type": "Approval"}


def waits(time: str) -> Body:
    """A task that waits."""
    return {"type": "TimedWait", "waitTime": time}


def stage(name: str, **more: object) -> Body:
    """A stage of the clusters that have its name in the label `stage`."""
    return {"name": name, "labelSelector": {"matchLabels": {"stage": name}}, **more}


def strategy(*stages: Body, name: str = "careful") -> Body:
    """A strategy."""
    return {
        "apiVersion": f"{GROUP}/v1beta1",
        "kind": "ClusterStagedUpdateStrategy",
        "metadata": metadata(name),
        "spec": {"stages": list(stages)},
    }


def run(state: str = "Run", *, name: str = "first", **spec: object) -> Body:
    """A run of web."""
    return {
        "apiVersion": f"{GROUP}/v1beta1",
        "kind": RUN,
        "metadata": metadata(name),
        "spec": {
            "placementName": "web",
            "stagedRolloutStrategyName": "careful",
            "state": state,
            **spec,
        },
    }


def staged(*stages: Body, **clusters: str) -> Story:
    """A repository with a placement that waits for runs; clusters with their stages."""
    members = [member(name, labels={"stage": where}) for name, where in clusters.items()]
    return story(*members, placement(strategy=EXTERNAL), deployment(), strategy(*stages))


def status(told: Story, name: str = "first") -> Mapping[str, object]:
    """The status of a run."""
    path = f"status/clusterstagedupdateruns.{GROUP}/{name}.yaml"
    return cast(Mapping[str, object], told.output(path)["status"])


def uid(told: Story, name: str = "first") -> str:
    """The uid of a run."""
    body = told.output(f"status/clusterstagedupdateruns.{GROUP}/{name}.yaml")
    return str(cast(Body, body["metadata"])["uid"])


def conditions(told: Story, name: str = "first") -> dict[str, tuple[str, str]]:
    """Type to status and reason of the conditions of a run."""
    found = cast(Sequence[Mapping[str, str]], status(told, name)["conditions"])
    return {one["type"]: (one["status"], one["reason"]) for one in found}


def requests(told: Story) -> dict[str, list[str]]:
    """Name of each request to the types of its conditions."""
    found: dict[str, list[str]] = {}
    for body in files(told, "clusterapprovalrequests"):
        told_of = cast(Sequence[Mapping[str, str]], cast(Body, body["status"])["conditions"])
        found[str(cast(Body, body["metadata"])["name"])] = [one["type"] for one in told_of]
    return found


def approval(told: Story, request: str, where: str, *, of: str = "", generation: int = 1) -> Body:
    """What a person merges to approve a request; `of` is the uid of the run that it names."""
    owner = {"apiVersion": f"{GROUP}/v1beta1", "kind": RUN, "name": "first"}
    return {
        "apiVersion": f"{GROUP}/v1beta1",
        "kind": REQUEST,
        "metadata": {
            **metadata(request),
            "ownerReferences": [{**owner, "uid": of or uid(told)}],
        },
        "spec": {"parentStageRollout": "first", "targetStage": where},
        "status": {
            "conditions": [
                {
                    "type": "Approved",
                    "status": "True",
                    "reason": "Approved",
                    "message": "looks good",
                    "observedGeneration": generation,
                    "lastTransitionTime": "2026-11-20T12:00:00Z",
                }
            ]
        },
    }
