"""One repository of all three APIs, each with an object that a schedule afresh would move."""

from tests.builders import (
    DYNAMIC,
    Body,
    cluster,
    cluster_status,
    configuration,
    deployment,
    groups,
    metadata,
    policy,
    rebalancer,
    taint,
)
from tests.dialects.kubefleet.fleet import GROUP as FLEET
from tests.dialects.kubefleet.fleet import PLACEMENT as FLEET_KIND
from tests.dialects.kubefleet.fleet import member, pick
from tests.dialects.ocm import worlds as ocm
from tests.stories import Story, story

LABELS = {"team": "shop"}
STATUS = cluster_status(pods=100)
WORKLOAD = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "namespace": "default"}
PLACEMENT = {
    "apiVersion": f"{ocm.GROUP}/v1beta1",
    "kind": "Placement",
    "name": "p",
    "namespace": "ns1",
}
FLEET_PLACEMENT = {"apiVersion": f"{FLEET}/v1beta1", "kind": FLEET_KIND, "name": "fleet-web"}
ALL = (WORKLOAD, PLACEMENT, FLEET_PLACEMENT)


def labelled(body: Body) -> Body:
    """An object with the label of its team."""
    found = dict(body["metadata"]) if isinstance(body["metadata"], dict) else {}
    return {**body, "metadata": {**found, "labels": LABELS}}


def begun(replicas: int = 2) -> tuple[Body, ...]:
    """All objects while the cluster that each of them likes best is tainted.

    That is alpha for Karmada and Open Cluster Management, which leave beta for it, and gamma for
    KubeFleet, which takes the greater name of two that are alike, and leaves alpha.
    """
    placement = groups(["alpha"], ["beta"], replicaScheduling=DYNAMIC)
    cordoned = {"key": "full", "value": "", "effect": "NoSelect"}
    namespace = {"group": "", "version": "v1", "kind": "Namespace", "name": "default"}
    at_once = {"rollingUpdate": {"maxUnavailable": "100%", "maxSurge": "100%"}}
    return (
        cluster("alpha", taints=[taint()], status=STATUS),
        cluster("beta", status=STATUS),
        deployment("web", replicas=replicas, labels=LABELS),
        policy(placement=placement),
        ocm.cluster_set(),
        ocm.binding(),
        ocm.cluster("alpha", cordoned),
        ocm.cluster("beta"),
        labelled(ocm.placement(numberOfClusters=1)),
        member("alpha"),
        member("gamma", taints=[{"key": "full", "effect": "NoSchedule"}]),
        {
            "apiVersion": f"{FLEET}/v1beta1",
            "kind": FLEET_KIND,
            "metadata": metadata("fleet-web", labels=LABELS),
            "spec": {
                "resourceSelectors": [namespace],
                "policy": pick(1),
                "strategy": at_once,
            },
        },
    )


def eased() -> tuple[Body, ...]:
    """The clusters that were tainted, clean again: nothing moves by itself."""
    return (cluster("alpha", status=STATUS), ocm.cluster("alpha"), member("gamma"))


def scores(**by_cluster: int) -> tuple[Body, ...]:
    """Scores `r/s` of clusters."""
    return tuple(ocm.score(name, value) for name, value in by_cluster.items())


def settings() -> Body:
    """Settings under which nothing is assumed of clusters that never report."""
    return configuration(feedback={"assumeAfterSeconds": None})


def all_away(replicas: int = 2) -> Story:
    """The repository at rest, with each object on the cluster that it likes less."""
    told = story(*begun(replicas)).put(settings(), path="reconciler.yaml")
    told.run(0)
    told.put(*eased())
    told.run(1)
    return told


def by_team(name: str = "demo", *, limits: Body | None = None) -> Body:
    """A rebalancer of all that has the label."""
    spec = {} if limits is None else {"limits": limits}
    selector = {"labelSelector": {"matchLabels": LABELS}}
    return rebalancer(name, ttl=None, selector=selector, **spec)
