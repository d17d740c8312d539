"""What a placement type does with picked clusters, told as changes to bindings."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from reconciler.dialects.kubefleet.binding import (
    Binding,
    new_binding,
    previous_state,
    reassigned,
    unscheduled,
)
from reconciler.dialects.kubefleet.decisions import picked_decision
from reconciler.dialects.kubefleet.groups import Groups
from reconciler.dialects.kubefleet.rank import Scored
from reconciler.dialects.kubefleet.snapshot import Report, Snapshot
from reconciler.model.identity import ClusterName


@dataclass(frozen=True, slots=True, kw_only=True)
class Pick:
    """What one cycle does after classification.

    Attributes:
        created: New bindings, in the order picked.
        patched: Bindings that the present policy takes over or takes back.
        dropped: Bindings marked Unscheduled.
        report: What to write into the snapshot's status, `None` for nothing.
        requeue: Whether another cycle must follow at once.
    """

    created: tuple[Binding, ...] = ()
    patched: tuple[Binding, ...] = ()
    dropped: tuple[Binding, ...] = ()
    report: Report | None = None
    requeue: bool = False


def cross_reference(
    snapshot: Snapshot, groups: Groups, picked: Sequence[Scored], taken: Mapping[str, Binding]
) -> Pick:
    """Turn picked clusters into bindings: take over, take back, create, drop.

    An obsolete binding of a picked cluster keeps its state, that of another cluster is dropped. An
    unscheduled binding of a picked cluster gets the state back that it had. Two old bindings of one
    picked cluster are both taken.

    Args:
        snapshot: The present policy.
        groups: Bindings by group.
        picked: In the order in which they were picked.
        taken: Bindings that exist, by name.

    Raises:
        UnexpectedBehavior: A state was not remembered, or a name cannot be made.

    Source: kubefleet@e160c1c pkg/scheduler/framework/frameworkutils.go
    `crossReferencePickedClustersAndDeDupBindings`.
    """
    decisions = {scored.name: picked_decision(scored) for scored in picked}
    patched, dropped, known = [], [], set[ClusterName]()
    for binding in groups.obsolete:
        known.add(binding.target)
        decision = decisions.get(binding.target)
        if decision is None:
            dropped.append(unscheduled(binding))
        else:
            patched.append(reassigned(binding, decision, snapshot.name, state=binding.state))
    for binding in groups.unscheduled:
        known.add(binding.target)
        decision = decisions.get(binding.target)
        if decision is not None:
            state = previous_state(binding)
            patched.append(reassigned(binding, decision, snapshot.name, state=state))
    return Pick(
        created=tuple(
            new_binding(snapshot.placement, decision, snapshot.name, taken)
            for name, decision in decisions.items()
            if name not in known
        ),
        patched=tuple(patched),
        dropped=tuple(dropped),
    )
