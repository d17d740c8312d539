"""Where a binding's workload goes: its own clusters, and those of the bindings that require it."""

from reconciler.dialects.karmada.api.binding import decode_targets
from reconciler.dialects.karmada.api.clusters import TargetCluster
from reconciler.model.body import Body
from reconciler.model.fields import bodies, mapping, text
from reconciler.model.identity import ClusterName


def merged_targets(binding: Body) -> tuple[TargetCluster, ...]:
    """Return the clusters of a binding with their replicas, in upstream's order.

    A cluster that several snapshots name has the replicas of the first.

    Source: karmada@f8fdd02 pkg/controllers/binding/common.go `mergeTargetClusters`.
    """
    spec = mapping(binding, "spec")
    found: dict[ClusterName, TargetCluster] = {one.name: one for one in decode_targets(spec)}
    for snapshot in bodies(spec, "requiredBy"):
        for target in decode_targets(snapshot):
            found.setdefault(target.name, target)
    return tuple(found.values())


def kept_clusters(binding: Body) -> frozenset[ClusterName]:
    """Return where what is there may stay: the targets, and what is left gracefully.

    Source: karmada@f8fdd02 pkg/util/helper/binding.go `FindOrphanWorks`,
    `ObtainBindingSpecExistingClusters`.
    """
    spec = mapping(binding, "spec")
    tasks = bodies(spec, "gracefulEvictionTasks")
    names = {text(one, "fromCluster") for one in tasks if text(one, "purgeMode") != "Directly"}
    for part in (spec, *bodies(spec, "requiredBy")):
        names.update(text(one, "name") for one in bodies(part, "clusters"))
    return frozenset(map(ClusterName, names))
