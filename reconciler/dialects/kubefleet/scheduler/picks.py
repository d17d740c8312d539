"""What a placement type does with picked clusters, told as changes to bindings."""

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass

from reconciler.dialects.kubefleet.api.binding import (
    Binding,
    binding_names,
    previous_state,
    reassigned,
    renamed,
    unscheduled,
)
from reconciler.dialects.kubefleet.api.cluster_decision import NO_DECISION, ClusterDecision
from reconciler.dialects.kubefleet.api.names import PARENT, SCHEDULED, SCHEDULER_FINALIZER
from reconciler.dialects.kubefleet.scheduler.binding_groups import Groups
from reconciler.dialects.kubefleet.scheduler.ranked_cluster import RankedCluster
from reconciler.dialects.kubefleet.scheduler.request import Request
from reconciler.dialects.kubefleet.snapshots.policy_snapshot import Snapshot, SnapshotReport
from reconciler.dialects.kubefleet.view.decision_texts import picked_decisions
from reconciler.model.identity import ClusterName
from reconciler.schedule.framework import Mask


@dataclass(frozen=True, slots=True, kw_only=True)
class PickRecord:
    """What one cycle looked at and what it chose, kept for whoever asks why.

    Attributes:
        request: What the plugins were asked, or would be; `None` for PickFixed, which asks none.
        feasible: Clusters that passed the filters, `None` if these were not asked.
        picked: In the order picked.
        missing: How many clusters were still wanted, negative if there were too many; `None` if
            as many as fit are wanted.
        limit: How many this cycle could pick, `None` for all.
    """

    request: Request | None = None
    feasible: Mask | None = None
    picked: tuple[RankedCluster, ...] = ()
    missing: int | None = None
    limit: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pick:
    """What one cycle does after classification.

    Attributes:
        created: New bindings, in the order picked.
        patched: Bindings that the present policy takes over or takes back.
        dropped: Bindings marked Unscheduled.
        report: What to write into the snapshot's status, `None` for nothing.
        requeue: Whether another cycle must follow at once.
        record: What it looked at.
    """

    created: tuple[Binding, ...] = ()
    patched: tuple[Binding, ...] = ()
    dropped: tuple[Binding, ...] = ()
    report: SnapshotReport | None = None
    requeue: bool = False
    record: PickRecord | None = None


def cross_reference(
    snapshot: Snapshot,
    groups: Groups,
    picked: Sequence[RankedCluster],
    taken: Mapping[str, Binding],
) -> Pick:
    """Turn picked clusters into bindings: take over, take back, create, drop.

    Args:
        snapshot: The present policy.
        groups: Bindings by group; the obsolete ones are taken over or dropped.
        picked: In the order in which they were picked.
        taken: Bindings that exist, by name.

    Raises:
        UnexpectedBehavior: A state was not remembered, or a name cannot be made.

    Source: kubefleet@e160c1c pkg/scheduler/framework/frameworkutils.go
    `crossReferencePickedClustersAndDeDupBindings`.
    """
    names = [scored.name for scored in picked]
    decisions = dict(zip(names, picked_decisions(picked), strict=True))
    return adopt(snapshot, groups.obsolete, groups.unscheduled, decisions, taken)


def adopt(
    snapshot: Snapshot,
    open_bindings: Iterable[Binding],
    leaving: Iterable[Binding],
    decisions: Mapping[ClusterName, ClusterDecision],
    taken: Mapping[str, Binding],
) -> Pick:
    """Give the decided clusters their bindings.

    An open binding of a decided cluster keeps its state, that of another cluster is dropped. A
    leaving binding of a decided cluster gets the state back that it had. Two old bindings of one
    decided cluster are both taken.

    Args:
        snapshot: The present policy.
        open_bindings: Those that stay only if their cluster is decided.
        leaving: Those marked Unscheduled.
        decisions: By cluster, in the order in which they were picked.
        taken: Bindings that exist, by name.

    Raises:
        UnexpectedBehavior: A state was not remembered, or a name cannot be made.
    """
    patched, dropped, known = [], [], set[ClusterName]()
    for binding in open_bindings:
        known.add(binding.target)
        decision = decisions.get(binding.target)
        if decision is None:
            dropped.append(unscheduled(binding))
        else:
            patched.append(reassigned(binding, decision, snapshot.name, state=binding.state))
    for binding in leaving:
        known.add(binding.target)
        decision = decisions.get(binding.target)
        if decision is not None:
            state = previous_state(binding)
            patched.append(reassigned(binding, decision, snapshot.name, state=state))
    return Pick(
        created=new_bindings(
            snapshot,
            {name: item for name, item in decisions.items() if name not in known}
            if known
            else decisions,
            taken,
        ),
        patched=tuple(patched),
        dropped=tuple(dropped),
    )


def new_bindings(
    snapshot: Snapshot, decisions: Mapping[ClusterName, ClusterDecision], taken: Container[str]
) -> tuple[Binding, ...]:
    """Return fresh bindings for clusters that were picked by the policy of a snapshot.

    Args:
        snapshot: The policy.
        decisions: By cluster, in the order of picking.
        taken: Names of bindings that exist.

    Raises:
        UnexpectedBehavior: No binding can have a name made of these.

    Source: kubefleet@e160c1c pkg/scheduler/framework/frameworkutils.go `generateBinding`.
    """
    name, namespace, labels = snapshot.name, snapshot.namespace, {PARENT: snapshot.placement}
    finalizers = (SCHEDULER_FINALIZER,)
    names = binding_names(snapshot.placement, decisions, taken)
    shared = Binding(
        "", namespace, ClusterName(""), SCHEDULED, name, NO_DECISION, labels, finalizers
    )
    return renamed(shared, names, decisions)
