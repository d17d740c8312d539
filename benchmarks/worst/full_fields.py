"""Fleets in which one field is as full as a file may be, small but for that."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from tests.builders import (
    Body,
    cluster,
    configmap,
    deployment,
    metadata,
    policy,
    rebalancer,
    selector,
    target,
)
from tests.dialects.kubefleet.fleet import GROUP, member
from tests.dialects.kubefleet.fleet import placement as fleet_placement
from tests.dialects.ocm.worlds import placement as ocm_placement

T = TypeVar("T")

FILE_BYTES = 1_000_000
MOST_ITEMS = 90_000  # a document has 100,000 values at most
CLUSTERS = 20
WHY_WEB = "why deployment/web"
WHY_PLACEMENT = "why placement.cluster.open-cluster-management.io/p -n ns1"
RENDER = "render deployment/web"


@dataclass(frozen=True)
class WorstField:
    """A fleet, and the questions that read the field, beside `validate` and a pass."""

    bodies: Sequence[Body]
    asks: Sequence[str] = ()


def filled(item: Callable[[int], T]) -> list[T]:
    """Return as many items as a file holds."""
    size, found = 0, list[T]()
    for i in range(MOST_ITEMS):
        one = item(i)
        size += len(json.dumps(one)) + 2
        if size > FILE_BYTES - 5000:
            break
        found.append(one)
    return found


def karmada(*bodies: Body, asks: Sequence[str] = (WHY_WEB,)) -> WorstField:
    """A fleet of Karmada with these objects; a policy of its own if there is none."""
    others = [cluster(f"c{i}", labels={"k1": "v1"}) for i in range(CLUSTERS)]
    policies = [] if any(one["kind"] == "PropagationPolicy" for one in bodies) else [policy()]
    return WorstField([*others, *policies, *bodies, deployment()], asks)


def kubefleet() -> WorstField:
    """A fleet of KubeFleet with an override of many patches."""
    patches = filled(
        lambda _: {"op": "add", "path": "/spec/template/spec/containers/0", "value": {}}
    )
    override = {
        "apiVersion": f"{GROUP}/v1beta1",
        "kind": "ResourceOverride",
        "metadata": metadata("o", "default"),
        "spec": {
            "resourceSelectors": [
                {"group": "apps", "version": "v1", "kind": "Deployment", "name": "web"}
            ],
            "policy": {
                "overrideRules": [
                    {
                        "clusterSelector": {"clusterSelectorTerms": []},
                        "jsonPatchOverrides": patches,
                    }
                ]
            },
        },
    }
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata("default")}
    members = [member(f"c{i}") for i in range(CLUSTERS)]
    bodies = [*members, fleet_placement(), namespace, override, deployment()]
    return WorstField(bodies, ("render crp/web",))


def ocm(*bodies: Body) -> WorstField:
    """A fleet of OCM with these objects."""
    group = "cluster.open-cluster-management.io"
    clusters = [
        {
            "apiVersion": f"{group}/v1",
            "kind": "ManagedCluster",
            "metadata": metadata(f"c{i}", labels={f"{group}/clusterset": "s"}),
            "spec": {"hubAcceptsClient": True},
        }
        for i in range(CLUSTERS)
    ]
    sets = [
        {
            "apiVersion": f"{group}/v1beta2",
            "kind": "ManagedClusterSet",
            "metadata": metadata("s"),
            "spec": {},
        },
        {
            "apiVersion": f"{group}/v1beta2",
            "kind": "ManagedClusterSetBinding",
            "metadata": metadata("s", "ns1"),
            "spec": {"clusterSet": "s"},
        },
    ]
    return WorstField([*clusters, *sets, *bodies], (WHY_PLACEMENT,))


def overrides(operation: Callable[[int], tuple[str, str, object]]) -> Body:
    """An OverridePolicy with as many operations as fit."""

    def one(i: int) -> Body:
        operator, path, value = operation(i)
        return {"path": path, "operator": operator, "value": value}

    return changes("plaintext", one)


def changes(overrider: str, one: Callable[[int], Body]) -> Body:
    """An OverridePolicy with as many changes of one sort as fit."""
    return {
        "apiVersion": "policy.karmada.io/v1alpha1",
        "kind": "OverridePolicy",
        "metadata": metadata("o", "default"),
        "spec": {
            "resourceSelectors": [selector()],
            "overrideRules": [{"overriders": {overrider: filled(one)}}],
        },
    }


def affinity(**fields: object) -> Body:
    """A policy with such a cluster affinity."""
    return policy(placement={"clusterAffinity": fields})


def any_of(values: Sequence[object]) -> Body:
    """A requirement."""
    return {"key": "k1", "operator": "In", "values": values}


def in_text(most: int) -> WorstField:
    """A ConfigMap with a text of YAML, and at most so many overriders that change it."""
    document = "".join(f"key{i}:\n  a: value {i}\n  b: [1, 2]\n" for i in range(FILE_BYTES // 40))
    added = {"subPath": "/x", "operator": "add", "value": "y"}
    overriders = filled(lambda _: {"fieldPath": "/data/text", "yaml": [added]})[:most]
    override = {
        "apiVersion": "policy.karmada.io/v1alpha1",
        "kind": "OverridePolicy",
        "metadata": metadata("o", "default"),
        "spec": {
            "resourceSelectors": [selector("ConfigMap")],
            "overrideRules": [{"overriders": {"fieldOverrider": overriders}}],
        },
    }
    settings = {**configmap(), "data": {"text": document}}
    bodies = (override, settings, policy(selectors=[selector("ConfigMap")]))
    return karmada(*bodies, asks=("render configmap/settings",))


def weights() -> Body:
    """Static weights by many names."""
    listed = filled(lambda i: {"targetCluster": {"clusterNames": [f"c{i}"]}, "weight": 1 + i % 9})
    return {
        "replicaSchedulingType": "Divided",
        "replicaDivisionPreference": "Weighted",
        "weightPreference": {"staticWeightList": listed},
    }


def models() -> list[object]:
    """Models of a cluster, each above the one before."""
    return filled(
        lambda i: {
            "grade": i,
            "ranges": [{"name": "cpu", "min": str(i), "max": str(i + 1)}],
        }
    )


def cron(minutes: str) -> Body:
    """A rebalancer with such a schedule."""
    return rebalancer("again", target(), schedule=f"{minutes} * * * *")


def cel(*expressions: object) -> Body:
    """A placement with such expressions."""
    selector_of = {"celSelector": {"celExpressions": list(expressions)}}
    return ocm_placement(predicates=[{"requiredClusterSelector": selector_of}])


def loop_in_loop() -> str:
    """An expression that looks at each item for each item."""
    items = f"[{','.join(['1'] * 100_000)}]"
    return f"{items}.all(x, {items}.all(y, x == y))"


def feedback(path: str) -> Body:
    """A ManifestWorkReplicaSet that asks for what such a path leads to."""
    identifier = {"group": "apps", "resource": "deployments", "namespace": "d", "name": "web"}
    rules = [{"type": "JSONPaths", "jsonPaths": [{"name": "n", "path": path}]}]
    return {
        "apiVersion": "work.open-cluster-management.io/v1alpha1",
        "kind": "ManifestWorkReplicaSet",
        "metadata": metadata("set", "ns1"),
        "spec": {
            "placementRefs": [{"name": "p"}],
            "manifestWorkTemplate": {
                "workload": {"manifests": [deployment()]},
                "manifestConfigs": [{"resourceIdentifier": identifier, "feedbackRules": rules}],
            },
        },
    }
