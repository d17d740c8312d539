"""The clusters that policies mean, and there are not: by name, label, field, weight, toleration."""

from collections.abc import Collection, Iterator, Mapping

from reconciler.dialects.karmada.api.cluster import Members, decode_cluster, members_of
from reconciler.dialects.karmada.api.names import CLUSTER_GROUP
from reconciler.dialects.karmada.api.placement import decode_affinity
from reconciler.dialects.karmada.api.policy import Policy
from reconciler.manifests.references import Dangling, Known, proposal
from reconciler.manifests.selectors import (
    Labelled,
    doubts_of_selector,
    doubts_of_tolerations,
    selector_at,
)
from reconciler.model.body import Body
from reconciler.model.cluster import TaintEffect
from reconciler.model.fields import bodies, mapping, mapping_or_none, strings, text
from reconciler.model.identity import ObjectKey
from reconciler.model.records import dataclass, field
from reconciler.model.text import shown
from reconciler.schedule.framework import positions_of

CLUSTER = "Cluster"
EFFECTS = (TaintEffect.NO_SCHEDULE, TaintEffect.PREFER_NO_SCHEDULE, TaintEffect.NO_EXECUTE)
UNKNOWN_CLUSTER_RULE = "policy-cluster-unknown"


@dataclass(slots=True, eq=False)
class KnownClusters:
    """The clusters of a repository.

    Attributes:
        names: Of all, those that cannot be read included.
        labelled: Them by their labels, `None` where not all can be read, or there are none.
        fields: Field of an affinity to the values that clusters have.
    """

    names: frozenset[str]
    labelled: Labelled | None
    fields: Mapping[str, Collection[str]]
    _bodies: tuple[Body, ...]
    _members: list[Members] = field(default_factory=list)

    @property
    def members(self) -> Members:
        """Them as the scheduler asks of them, decoded when that is first needed."""
        if not self._members:
            self._members.append(members_of(map(decode_cluster, self._bodies)))
        return self._members[0]


def known_clusters(known: Known) -> KnownClusters:
    """Return the clusters of a repository."""
    clusters = tuple(one.body for one in known.of_kind(CLUSTER_GROUP, CLUSTER))
    specs = [mapping(body, "spec") for body in clusters]
    fields = {name: {text(spec, name) for spec in specs} - {""} for name in ("provider", "region")}
    return KnownClusters(
        names=known.names(CLUSTER_GROUP, CLUSTER),
        labelled=Labelled.known(known, CLUSTER_GROUP, CLUSTER),
        fields=fields,
        _bodies=clusters,
    )


def doubts_of_clusters(policy: Policy, clusters: KnownClusters) -> Iterator[Dangling]:
    """Yield what a policy means by clusters, and means nothing."""
    placement = policy.copied.placement or {}
    for at, affinity in _affinities(placement):
        yield from doubts_of_affinity(policy.key, affinity, at, clusters)
    tolerations = bodies(placement, "clusterTolerations")
    at = "/spec/placement/clusterTolerations"
    yield from doubts_of_tolerations(policy.key, tolerations, at, EFFECTS)
    yield from _idle_weights(policy.key, placement, clusters)


def doubts_of_affinity(
    key: ObjectKey, affinity: Body, at: str, clusters: KnownClusters
) -> Iterator[Dangling]:
    """Yield names that no cluster has, and labels and fields that none has."""
    for named in ("clusterNames", "exclude"):
        for position, name in enumerate(strings(affinity, named)):
            yield from doubts_of_name(key, name, f"{at}/{named}/{position}", clusters)
    labels, place = selector_at(affinity, at)
    yield from doubts_of_selector(key, labels, place, clusters.labelled, UNKNOWN_CLUSTER_RULE)
    if clusters.labelled is not None:
        yield from _fields(key, affinity, at, clusters)


def doubts_of_name(
    key: ObjectKey, name: str, at: str, clusters: KnownClusters
) -> Iterator[Dangling]:
    """Yield that no cluster has a name."""
    if name not in clusters.names:
        message, right = (
            f"no {CLUSTER} is named {shown(name)}",
            proposal(name, clusters.names, CLUSTER),
        )
        yield Dangling(key, at, UNKNOWN_CLUSTER_RULE, message, right)


def _fields(key: ObjectKey, affinity: Body, at: str, clusters: KnownClusters) -> Iterator[Dangling]:
    """Yield providers and regions that no cluster has."""
    selector = mapping(affinity, "fieldSelector")
    for position, expression in enumerate(bodies(selector, "matchExpressions")):
        name, wanted = text(expression, "key"), strings(expression, "values")
        values = clusters.fields.get(name)
        if values is None or text(expression, "operator") != "In" or set(wanted) & set(values):
            continue
        pointer = f"{at}/fieldSelector/matchExpressions/{position}/values"
        listed = " or ".join(map(shown, wanted))
        message = f"no {CLUSTER} has the {name} {listed}"
        expected = proposal(wanted[0], values, name) if wanted else f"a {name}"
        yield Dangling(key, pointer, UNKNOWN_CLUSTER_RULE, message, expected)


def _idle_weights(key: ObjectKey, placement: Body, clusters: KnownClusters) -> Iterator[Dangling]:
    """Yield weights for clusters that the affinity of the policy leaves out."""
    affinity = mapping_or_none(placement, "clusterAffinity")
    weights = bodies(_preference(placement), "staticWeightList")
    if affinity is None or not weights or clusters.labelled is None:
        return
    members = clusters.members
    chosen = members.matching(decode_affinity(affinity))
    for position, weight in enumerate(weights):
        meant = members.matching(decode_affinity(mapping(weight, "targetCluster")))
        if chosen and meant and not meant & chosen:
            names = ", ".join(members.views[i].cluster.name for i in positions_of(meant)[:3])
            message = f"the weight is for {names}, which the affinity of the policy leaves out"
            pointer = f"{WEIGHTS}/{position}/targetCluster"
            expected = "clusters that the affinity means, or an affinity that means these, too"
            yield Dangling(key, pointer, "policy-weight-idle", message, expected)


WEIGHTS = "/spec/placement/replicaScheduling/weightPreference/staticWeightList"


def _preference(placement: Body) -> Body:
    return mapping(mapping(placement, "replicaScheduling"), "weightPreference")


def _affinities(placement: Body) -> Iterator[tuple[str, Body]]:
    """Yield everything that names clusters, with its JSON pointer."""
    root = "/spec/placement"
    single = mapping_or_none(placement, "clusterAffinity")
    if single is not None:
        yield f"{root}/clusterAffinity", single
    for position, term in enumerate(bodies(placement, "clusterAffinities")):
        at = f"{root}/clusterAffinities/{position}"
        yield at, term
        for number, more in enumerate(bodies(term, "overflowAffinities")):
            yield f"{at}/overflowAffinities/{number}", more
    for position, weight in enumerate(bodies(_preference(placement), "staticWeightList")):
        yield f"{WEIGHTS}/{position}/targetCluster", mapping(weight, "targetCluster")
