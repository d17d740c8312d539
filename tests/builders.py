"""Manifests and worlds for tests: keyword arguments, the dullest defaults."""

import json
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import cast

from reconciler.core.dialects import KINDS
from reconciler.dialects.karmada.detector.policies import KnownPolicies, Policies
from reconciler.model.identity import ObjectKey, Origin, group_of
from reconciler.model.world import Manifest, World
from reconciler.rebalance.target import Reference, Target, TargetSelection

Body = Mapping[str, object]

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
NOTHING = World(revision="0" * 40, known=KINDS, inputs={}, outputs={})
"""The world of an empty repository."""

NOT_READY = "cluster.karmada.io/not-ready"


def metadata(name: str, namespace: str = "", **more: object) -> dict[str, object]:
    """Metadata; what is empty is left out."""
    scope = {"namespace": namespace} if namespace else {}
    return {"name": name, **scope, **{key: value for key, value in more.items() if value}}


def cluster(
    name: str = "a",
    *,
    labels: Mapping[str, str] | None = None,
    taints: Sequence[Body] = (),
    region: str = "",
    status: Body | None = None,
    leaving: bool = False,
) -> Body:
    """A declared cluster; with `leaving` it is being deleted."""
    spec: dict[str, object] = {"syncMode": "Push"}
    spec |= {"taints": list(taints)} if taints else {}
    spec |= {"region": region} if region else {}
    return {
        "apiVersion": "cluster.karmada.io/v1alpha1",
        "kind": "Cluster",
        "metadata": metadata(
            name, labels=labels, deletionTimestamp="2026-11-20T00:00:00Z" if leaving else ""
        ),
        "spec": spec,
        **({} if status is None else {"status": status}),
    }


def profile(
    name: str = "a",
    *,
    namespace: str = "fleet",
    manager: str = "registry",
    labels: Mapping[str, str] | None = None,
    properties: Mapping[str, str] | None = None,
    **status: object,
) -> Body:
    """A ClusterProfile; a declared one without any property or other status."""
    listed = [{"name": key, "value": value} for key, value in (properties or {}).items()]
    told = {**({"properties": listed} if listed else {}), **status}
    return {
        "apiVersion": "multicluster.x-k8s.io/v1alpha1",
        "kind": "ClusterProfile",
        "metadata": metadata(name, namespace, **({"labels": labels} if labels else {})),
        "spec": {"clusterManager": {"name": manager}},
        **({"status": told} if told else {}),
    }


def cluster_status(
    ready: str = "True", *, since: datetime = NOW, cpu: str = "100", pods: int = 100
) -> Body:
    """A status with a Ready condition, the common APIs, and room."""
    kinds = {"apps/v1": ("Deployment",), "v1": ("ConfigMap",)}
    kinds["rbac.authorization.k8s.io/v1"] = ("ClusterRole",)
    return {
        "conditions": [
            {
                "type": "Ready",
                "status": ready,
                "reason": "Told",
                "message": "",
                "lastTransitionTime": text_of(since),
            }
        ],
        "apiEnablements": [
            {"groupVersion": version, "resources": [{"kind": kind, "name": ""} for kind in found]}
            for version, found in kinds.items()
        ],
        "resourceSummary": {"allocatable": {"cpu": cpu, "memory": "1Ti", "pods": str(pods)}},
    }


def taint(key: str = "spot", effect: str = "NoSchedule", *, at: datetime | None = None) -> Body:
    """A taint, dated if `at` is given."""
    return {"key": key, "effect": effect, **({"timeAdded": text_of(at)} if at else {})}


def selector(kind: str = "Deployment", *, name: str = "", **more: object) -> Body:
    """A resource selector; known kinds get their API version."""
    versions = {"Deployment": "apps/v1", "ClusterRole": "rbac.authorization.k8s.io/v1"}
    named = {"name": name} if name else {}
    return {"apiVersion": versions.get(kind, "v1"), "kind": kind, **named, **more}


def policy(
    name: str = "p",
    *,
    namespace: str = "default",
    selectors: Sequence[Body] = (),
    placement: Body | None = None,
    **spec: object,
) -> Body:
    """A PropagationPolicy for all Deployments; without a namespace a cluster-wide one."""
    kind = "PropagationPolicy" if namespace else "ClusterPropagationPolicy"
    return {
        "apiVersion": "policy.karmada.io/v1alpha1",
        "kind": kind,
        "metadata": metadata(name, namespace),
        "spec": {
            "resourceSelectors": list(selectors) or [selector()],
            **({} if placement is None else {"placement": placement}),
            **spec,
        },
    }


def cluster_policy(name: str = "cp", **rest: object) -> Body:
    """A ClusterPropagationPolicy for all Deployments."""
    return policy(name, namespace="", **rest)  # type: ignore[arg-type]  # passed on as they are


def quota(name: str = "quota", *, namespace: str = "default", **spec: object) -> Body:
    """A FederatedResourceQuota, without any limit unless one is given."""
    return {
        "apiVersion": "policy.karmada.io/v1alpha1",
        "kind": "FederatedResourceQuota",
        "metadata": metadata(name, namespace),
        "spec": {"overall": {}, **spec},
    }


def divided(preference: str = "Weighted", **more: object) -> Body:
    """Replica scheduling that divides."""
    return {
        "replicaSchedulingType": "Divided",
        "replicaDivisionPreference": preference,
        **more,
    }


DYNAMIC: Body = divided(weightPreference={"dynamicWeight": "AvailableReplicas"})
BY_SCORE: Body = divided(weightPreference={"dynamicWeight": "AddOnScore/r/s"})


def groups(*names: Sequence[str], **more: object) -> Body:
    """A placement with one affinity group a sequence of cluster names: g0, g1, ..."""
    affinities = [
        {"affinityName": f"g{number}", "clusterNames": list(found)}
        for number, found in enumerate(names)
    ]
    return {"clusterAffinities": affinities, **more}


def deployment(
    name: str = "web",
    *,
    replicas: int = 2,
    namespace: str = "default",
    labels: Mapping[str, str] | None = None,
    cpu: str = "",
) -> Body:
    """A Deployment with one container."""
    resources = {"resources": {"requests": {"cpu": cpu}}} if cpu else {}
    container = {"name": "main", "image": "example.org/web", **resources}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata(name, namespace, labels=labels),
        "spec": {"replicas": replicas, "template": {"spec": {"containers": [container]}}},
    }


def live(body: Body, **status: object) -> Body:
    """A workload as its cluster holds it: observed, in its first generation."""
    own = body["metadata"]
    assert isinstance(own, dict)
    observed = {"observedGeneration": 1, **status}
    return {**body, "metadata": {**own, "generation": 1}, "status": observed}


def configmap(name: str = "settings", *, namespace: str = "default") -> Body:
    """A ConfigMap."""
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata(name, namespace)}


def cluster_role(name: str = "reader") -> Body:
    """A ClusterRole."""
    version = "rbac.authorization.k8s.io/v1"
    return {"apiVersion": version, "kind": "ClusterRole", "metadata": metadata(name)}


def target(kind: str = "Deployment", name: str = "web", namespace: str = "default") -> Body:
    """A workload as a rebalancer names it."""
    version = str(selector(kind)["apiVersion"])
    scope = {"namespace": namespace} if namespace else {}
    return {"apiVersion": version, "kind": kind, "name": name, **scope}


def schedule_trigger(
    name: str = "demo", *targets: Body, policies: Sequence[str] = (), **spec: object
) -> Body:
    """A trigger for these resources, and for these policies of the namespace default."""
    named = [{"name": policy, "namespace": "default"} for policy in policies]
    return {
        "apiVersion": "policy.karmada.io/v1alpha1",
        "kind": "ScheduleTrigger",
        "metadata": metadata(name),
        "spec": {
            **({"targetRefResource": list(targets)} if targets else {}),
            **({"targetRefPolicy": named} if named else {}),
            **spec,
        },
    }


def rebalancer(name: str = "demo", *targets: Body, ttl: int | None = None, **spec: object) -> Body:
    """A rebalancer of default/web, or of the targets given, unless a selector says whom."""
    listed = list(targets) or ([] if "selector" in spec else [target()])
    return {
        "apiVersion": "apps.karmada.io/v1alpha1",
        "kind": "WorkloadRebalancer",
        "metadata": metadata(name),
        "spec": {
            **({"workloads": listed} if listed else {}),
            **spec,
            **({} if ttl is None else {"ttlSecondsAfterFinished": ttl}),
        },
    }


@dataclass(frozen=True)
class FoundBy:
    """The targets of a rebalancer, found by a function; a description means nothing here."""

    find_target: Callable[[Reference], Target | None]
    selected: Sequence[Reference] = ()
    policies: Container[ObjectKey] = ()

    def find(self, reference: Reference, /) -> Target | None:
        """Ask the function."""
        return self.find_target(reference)

    def select(self, _selection: TargetSelection, /) -> Sequence[Reference]:
        """Always the same."""
        return self.selected

    def has_policy(self, key: ObjectKey, /) -> bool:
        """Whether it was named."""
        return key in self.policies


def configuration(**spec: object) -> Body:
    """The configuration of a repository."""
    return {
        "apiVersion": "reconciler.dev/v1alpha1",
        "kind": "ReconcilerConfiguration",
        "metadata": metadata("main"),
        "spec": spec,
    }


def manifest(body: Body, path: str = "manifest.yaml") -> Manifest:
    """A body as a manifest, its namespace as written."""
    found = cast(Mapping[str, str], body["metadata"])
    group = group_of(str(body["apiVersion"]))
    key = ObjectKey(group, str(body["kind"]), found.get("namespace", ""), found["name"])
    return Manifest(key, Origin(path), body)


def text(*bodies: Body) -> str:
    """A file that holds these documents; JSON is YAML."""
    return "---\n".join(f"{json.dumps(body)}\n" for body in bodies)


def path_of(body: Body) -> str:
    """Where a test puts an object: kind, namespace and name."""
    if body["kind"] == "ReconcilerConfiguration":
        return "reconciler.yaml"
    found = cast(Mapping[str, str], body["metadata"])
    scope = f"{found['namespace']}/" if "namespace" in found else ""
    return f"{body['kind']}/{scope}{found['name']}.yaml".lower()


def text_of(moment: datetime) -> str:
    """A moment as manifests have it."""
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def after(seconds: int) -> datetime:
    """A moment after NOW."""
    return NOW + timedelta(seconds=seconds)


def policies_among(manifests: Iterable[Manifest]) -> Policies:
    """The policies among manifests, indexed as a pass does."""
    return KnownPolicies().follow({found.key: found for found in manifests})
