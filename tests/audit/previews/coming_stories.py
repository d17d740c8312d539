"""Repositories in which something is coming, one for each thing that may come."""

from reconciler.model.moments import format_moment
from tests.builders import (
    DYNAMIC,
    Body,
    after,
    cluster,
    cluster_status,
    configuration,
    deployment,
    groups,
    policy,
    rebalancer,
    schedule_trigger,
    taint,
    target,
)
from tests.dialects.karmada.eviction.test_failing import placed, report, says
from tests.dialects.ocm import worlds as ocm
from tests.stories import Story, story

NEVER = configuration(feedback={"assumeAfterSeconds": None})
WELL = cluster_status()


def at(seconds: int) -> str:
    """A moment after NOW, as people read it."""
    return format_moment(after(seconds))


def on_two(replicas: int, *more: Body) -> Story:
    """Web divided by room on a and b, both well."""
    found = policy(placement={"replicaScheduling": DYNAMIC})
    told = story(cluster("a", status=WELL), cluster("b", status=WELL), *more)
    told.put(deployment(replicas=replicas), found, NEVER)
    told.run(0)
    return told


def not_ready(ready: str = "False") -> Story:
    """Two of web's four replicas are on a cluster that is not well since 10 seconds."""
    told = on_two(4).put(cluster("a", status=cluster_status(ready, since=after(10))))
    told.run(20)
    return told


def tainted() -> Story:
    """A cluster has a taint that web tolerates for a minute."""
    tolerated = {"key": "spot", "operator": "Exists", "tolerationSeconds": 60}
    placement = {"replicaScheduling": DYNAMIC, "clusterTolerations": [tolerated]}
    told = on_two(4).put(policy(placement=placement))
    told.run(5)
    told.put(cluster("a", status=WELL, taints=[taint("spot", "NoExecute")]))
    told.run(20)
    return told


def unhealthy() -> Story:
    """Web is unhealthy on a since 100 seconds, which its policy bears for a minute."""
    told = says(placed(), report(0))
    told.run(100)
    return told


def evicted() -> Story:
    """Web left a, which keeps its copy while b does not say that it is healthy."""
    told = not_ready()
    told.run(310)
    return told


def scored(*, seconds: int = 20) -> Story:
    """A placement follows scores, and these changed since its decision."""
    chooses = ocm.placement(numberOfClusters=1, prioritizerPolicy=ocm.BY_SCORE)
    told = story(ocm.cluster("a"), ocm.cluster("b"), ocm.cluster_set(), ocm.binding(), chooses)
    told.put(ocm.score("a", 50), ocm.score("b", 10))
    told.run(0)
    told.put(ocm.score("b", 90))
    told.run(seconds)
    return told


def tolerated() -> Story:
    """A placement tolerates a taint of its cluster for a minute."""
    bears = {"key": "spot", "operator": "Exists", "tolerationSeconds": 60}
    chooses = ocm.placement(numberOfClusters=1, tolerations=[bears])
    told = story(ocm.cluster("a"), ocm.cluster("b"), ocm.cluster_set(), ocm.binding(), chooses)
    told.run(0)
    told.put(ocm.cluster("a", {"key": "spot", "effect": "NoSelect", "timeAdded": at(10)}))
    told.run(20)
    return told


def expiring() -> Story:
    """A score that counts runs out at 400 seconds."""
    chooses = ocm.placement(numberOfClusters=1, prioritizerPolicy=ocm.BY_SCORE)
    told = story(ocm.cluster("a"), ocm.cluster("b"), ocm.cluster_set(), ocm.binding(), chooses)
    told.put(ocm.score("a", 50, validUntil=at(400)), ocm.score("b", 10))
    told.run(0)
    return told


def moved_away(replicas: int) -> Story:
    """Web is on b, since a was tainted; it is clean again."""
    placement = groups(["a"], ["b"], replicaScheduling=DYNAMIC)
    told = story(cluster("a", taints=[taint()], status=WELL), cluster("b", status=WELL))
    told.put(deployment(replicas=replicas), policy(placement=placement), NEVER)
    told.run(0)
    told.put(cluster("a", status=WELL))
    told.run(1)
    return told


def batched() -> Story:
    """A rebalancer has moved 2 of 6 replicas, and goes on every 30 seconds."""
    told = moved_away(6).put(rebalancer(limits={"maxMoves": 2, "intervalSeconds": 30}))
    told.run(10)
    return told


def scheduled() -> Story:
    """A rebalancer runs at five past twelve."""
    told = moved_away(2).put(rebalancer(schedule="5 12 * * *"))
    told.run(10)
    return told


def finished(ttl: int = 900) -> Story:
    """A rebalancer is done and goes after a quarter of an hour."""
    told = moved_away(2).put(rebalancer(ttl=ttl))
    told.run(10)
    return told


def triggered() -> Story:
    """A trigger goes after an hour, as its proposal says."""
    told = moved_away(2).put(schedule_trigger("demo", target()))
    told.run(10)
    return told
