"""What a run is about: the placement, the policy that chose its clusters, and their bindings."""

from collections.abc import Iterator
from dataclasses import dataclass

from reconciler.dialects.kubefleet.api.binding import Binding
from reconciler.dialects.kubefleet.api.names import (
    NUMBER_OF_CLUSTERS,
    PARENT,
    POLICY_INDEX,
    SCHEDULED_CONDITION,
    UNSCHEDULED,
)
from reconciler.dialects.kubefleet.api.policy import PICK_FIXED, PICK_N
from reconciler.dialects.kubefleet.api.strategy import EXTERNAL
from reconciler.dialects.kubefleet.scheduler.failure import as_integer
from reconciler.dialects.kubefleet.snapshots.policy_snapshot import Snapshot, decode_snapshot
from reconciler.dialects.kubefleet.snapshots.revision import is_latest, labels_of
from reconciler.dialects.kubefleet.updaterun.failure import (
    CLIENT,
    INVALID,
    UNEXPECTED,
    RunAborted,
    RunPostponed,
)
from reconciler.dialects.kubefleet.updaterun.run_draft import RunDraft, RunView
from reconciler.model.body import Body

ANY_NUMBER = -1


@dataclass(frozen=True, slots=True)
class ChosenClusters:
    """The bindings of a placement, in the order of their names.

    Attributes:
        selected: Of the clusters that the latest policy chose.
        removed: Of those that are to lose the resources.
    """

    selected: tuple[Binding, ...]
    removed: tuple[Binding, ...]


def observe_placement(draft: RunDraft) -> None:
    """Record how the placement has its resources applied.

    Raises:
        RunAborted: There is no such placement, or it does not wait for runs.

    Source: kubefleet@e160c1c pkg/controllers/updaterun/initialization.go `validatePlacement`.
    """
    placement = draft.view.placement
    if placement is None:
        raise RunAborted(f"{INVALID}{CLIENT}parent placement not found")
    kind = placement.strategy.type
    if kind != EXTERNAL:
        raise RunAborted(
            f"{INVALID}{CLIENT}parent placement does not have an external rollout strategy, "
            f"current strategy: {kind}"
        )
    draft.status = draft.status._replace(apply_strategy=placement.strategy.apply)


def observe_policy(draft: RunDraft) -> Snapshot:
    """Record which policy snapshot chose the clusters, and how many it wanted; return it.

    Raises:
        RunAborted: There is not exactly one latest snapshot, or it is not scheduled.

    Source: kubefleet@e160c1c pkg/controllers/updaterun/initialization.go
    `determinePolicySnapshot`.
    """
    body = _latest(draft.view)
    snapshot, index = decode_snapshot(body), labels_of(body).get(POLICY_INDEX, "")
    place = f"{draft.view.run.namespace}/{snapshot.name}"
    if not index:
        text = f"policy snapshot `{place}` does not have a policy index label"
        raise RunAborted(f"{INVALID}{UNEXPECTED}{text}")
    draft.status = draft.status._replace(policy_index=index)
    draft.status = draft.status._replace(cluster_count=_wanted(snapshot, place))
    if not _is_scheduled(snapshot):
        raise RunAborted(f"{INVALID}policy snapshot `{snapshot.name}` not fully scheduled yet")
    return snapshot


def _latest(view: RunView) -> Body:
    found = [
        body
        for body in view.policies
        if is_latest(body) and labels_of(body).get(PARENT) == view.run.placement
    ]
    if not found:
        raise RunAborted(f"{INVALID}no latest policy snapshot found for placement {view.place}")
    if len(found) > 1:
        text = f"multiple active policy snapshots found for placement {view.place}"
        raise RunAborted(f"{INVALID}{UNEXPECTED}{text}: got {len(found)}, want 1")
    return found[0]


def _wanted(snapshot: Snapshot, place: str) -> int:
    """Return how many clusters a policy wants, `ANY_NUMBER` for all that fit."""
    policy = snapshot.policy
    if policy.placement_type == PICK_FIXED:
        return len(policy.cluster_names)
    if policy.placement_type != PICK_N:
        return ANY_NUMBER
    written = snapshot.annotations.get(NUMBER_OF_CLUSTERS)
    number = None if written is None else as_integer(written)
    if number is not None and number >= 0:
        return number
    wrong = f"cannot find annotation {NUMBER_OF_CLUSTERS}"
    if written is not None:
        why = "%!w(<nil>)" if number is not None else not_an_integer(written)
        wrong = f"invalid annotation {NUMBER_OF_CLUSTERS}: {written} is not a valid count: {why}"
    text = f"{wrong}: the policy snapshot `{place}` doesn't have valid cluster count annotation"
    raise RunAborted(f"{INVALID.removesuffix(': ')}, {UNEXPECTED}{text}")


def not_an_integer(text: str) -> str:
    """Return what Go says of a text that is no integer.

    >>> not_an_integer("x")
    'strconv.Atoi: parsing "x": invalid syntax'

    Source: Go src/strconv/atoi.go `NumError`.
    """
    digits = text[1:] if text[:1] in ("+", "-") else text
    far = digits.isascii() and digits.isdigit()
    why = "value out of range" if far else "invalid syntax"
    return f'strconv.Atoi: parsing "{text}": {why}'


def _is_scheduled(snapshot: Snapshot) -> bool:
    return any(
        item.get("type") == SCHEDULED_CONDITION
        and item.get("status") == "True"
        and item.get("observedGeneration") == snapshot.generation
        for item in snapshot.status.conditions or ()
    )


def choose_clusters(draft: RunDraft, policy: Snapshot) -> ChosenClusters:
    """Return the bindings of the clusters chosen, and of those to be left; record how many.

    Raises:
        RunAborted: There are none at all, or not as many as the policy wants.
        RunPostponed: The scheduler has not looked at all of them yet.

    Source: kubefleet@e160c1c pkg/controllers/updaterun/initialization.go
    `collectScheduledClusters`.
    """
    ordered = sorted(draft.bindings.values(), key=lambda one: one.name)
    removed = tuple(one for one in ordered if one.state == UNSCHEDULED)
    selected = tuple(_selected(ordered, policy.name))
    if not (selected or removed):
        place = f"{draft.view.run.namespace}/{policy.name}"
        text = "no scheduled or to-be-deleted bindings found for the latest policy snapshot"
        raise RunAborted(f"{INVALID}{text} {place}")
    wanted = draft.status.cluster_count
    if wanted == ANY_NUMBER:
        draft.status = draft.status._replace(cluster_count=len(selected))
    elif wanted != len(selected):
        text = (
            f"the number of selected bindings {len(selected)} is not equal to the observed cluster "
            f"count {wanted}"
        )
        raise RunAborted(f"{INVALID}{UNEXPECTED}{text}")
    return ChosenClusters(selected, removed)


def _selected(ordered: list[Binding], policy: str) -> Iterator[Binding]:
    for one in ordered:
        if one.state == UNSCHEDULED:
            continue
        if one.policy_snapshot != policy:
            raise RunPostponed(
                f"binding `{one.namespace}/{one.name}` with old policy snapshot "
                f"`{one.namespace}/{one.policy_snapshot}` has state {one.state}, we might observe "
                "a transient state, need retry"
            )
        yield one
