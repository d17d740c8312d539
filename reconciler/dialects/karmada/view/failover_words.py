"""How a workload leaves a cluster, in words: what becomes of its copy, what the new one gets."""

from collections.abc import Mapping

from reconciler.dialects.karmada.api.work.binding_spec import BindingSpec
from reconciler.dialects.karmada.api.work.eviction_task import EvictionTask
from reconciler.dialects.karmada.binding.carried_state import carried_state
from reconciler.dialects.karmada.binding.merged_targets import merged_targets
from reconciler.model.identity import ClusterName


def fate_of(task: EvictionTask) -> dict[str, str]:
    """Return what a tree tells of an eviction beside its reason; nothing of an ordinary one."""
    facts = {"copy": _copy(task)} if _copy(task) else {}
    labels = labels_text(task.preserved_label_state)
    return {**facts, **({"preserved": labels} if labels else {})}


def eviction_text(reasons: Mapping[ClusterName, str], spec: BindingSpec) -> str:
    """Return why clusters are left, what becomes of each copy, and what the new one gets.

    A copy that goes as copies usually do, once another one is healthy, is not told.

    Args:
        reasons: Why, by cluster, in the order to tell.
        spec: Of the binding afterwards.
    """
    tasks = {task.from_cluster: task for task in spec.tasks}
    told = []
    for name, reason in reasons.items():
        copy = _copy(tasks[name]) if name in tasks else ""
        told.append(f"{name}: {reason}{f'; its copy {copy}' if copy else ''}")
    labels = labels_text(carried_state(spec, merged_targets(spec)))
    return f"{', '.join(told)}{f'; the new copy gets {labels}' if labels else ''}"


def labels_text(labels: Mapping[str, str]) -> str:
    """Return labels as kubectl shows them."""
    return ",".join(f"{name}={value}" for name, value in sorted(labels.items()))


def _copy(task: EvictionTask) -> str:
    """Return how a copy goes that does not wait for another one to be healthy."""
    if task.directly:
        return "goes at once"
    return "stays until a person lifts `suppressDeletion`" if task.suppress_deletion else ""
