"""Where a binding's workload goes: its own clusters, and those of the bindings that require it."""

from reconciler.dialects.karmada.api.clusters import TargetCluster
from reconciler.dialects.karmada.api.work.binding_spec import BindingSpec
from reconciler.model.identity import ClusterName


def merged_targets(binding: BindingSpec) -> tuple[TargetCluster, ...]:
    """Return the clusters of a binding with their replicas, in upstream's order.

    A cluster that several snapshots name has the replicas of the first.

    Source: karmada@f8fdd02 pkg/controllers/binding/common.go `mergeTargetClusters`.
    """
    found: dict[ClusterName, TargetCluster] = {one.name: one for one in binding.clusters}
    for snapshot in binding.required_by:
        for target in snapshot.clusters:
            found.setdefault(target.name, target)
    return tuple(found.values())


def kept_clusters(binding: BindingSpec) -> frozenset[ClusterName]:
    """Return where what is there may stay: the targets, and what is left gracefully.

    Source: karmada@f8fdd02 pkg/util/helper/binding.go `FindOrphanWorks`,
    `ObtainBindingSpecExistingClusters`.
    """
    names = {task.from_cluster for task in binding.tasks if not task.directly}
    for clusters in (binding.clusters, *(one.clusters for one in binding.required_by)):
        names.update(target.name for target in clusters)
    return frozenset(names)


def leaving_targets(binding: BindingSpec) -> tuple[TargetCluster, ...]:
    """Return the clusters that are left gracefully, with what the eviction says they had.

    Unlike upstream, where their Works are there already: a transport may be new here, and what no
    file says nobody would delete in the end.
    """
    return tuple(
        TargetCluster(task.from_cluster, (task.replicas or binding.replicas or 0))
        for task in binding.tasks
        if not task.directly
    )
