"""The state of an application that its new copy gets: labels of the last eviction."""

from collections.abc import Mapping, Sequence

from reconciler.dialects.karmada.api.clusters import TargetCluster
from reconciler.dialects.karmada.api.work.binding_spec import BindingSpec


def carried_state(binding: BindingSpec, targets: Sequence[TargetCluster]) -> Mapping[str, str]:
    """Return the labels that an application takes along to the one cluster that it fails over to.

    Source: karmada@f8fdd02 pkg/controllers/binding/common.go `injectReservedLabelState`.
    """
    if len(targets) != 1 or not binding.tasks:
        return {}
    task = binding.tasks[-1]
    return {} if targets[0].name in task.clusters_before_failover else task.carried_labels
