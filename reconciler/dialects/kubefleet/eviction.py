"""The evictions from one placement in a pass: each is judged once, and its status file says how.

They come before the scheduler, on bindings with all that is known of their clusters by then. One
after the other, as if a day were between them: what the first takes away is not available to the
next. An eviction is invalid or blocked, or a binding is deleted; that is gone at once, and the
scheduler may choose its cluster again.

Source: kubefleet@e160c1c pkg/controllers/clusterresourceplacementeviction/controller.go
`Reconcile`, `validateEviction`, `executeEviction`, `isEvictionAllowed`.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime

from reconciler.dialects.kubefleet.api.binding import Binding
from reconciler.dialects.kubefleet.api.names import (
    BOUND,
    PLACEMENT_GROUP,
    PREVIOUS_STATE,
    UNSCHEDULED,
    placement_key,
)
from reconciler.dialects.kubefleet.api.override_admission import decode_request
from reconciler.dialects.kubefleet.api.placement import (
    PICK_ALL,
    PICK_FIXED,
    Placement,
    decode_placement,
    share_of,
)
from reconciler.dialects.kubefleet.rollout.availability import AvailabilityReports, observe
from reconciler.dialects.kubefleet.rollout.rollout import can_be_ready, is_available
from reconciler.manifests.admission import Admitted, admit
from reconciler.manifests.paths import is_frozen
from reconciler.model.body import Body
from reconciler.model.cluster import Condition, set_condition
from reconciler.model.fields import bodies, mapping, number, text
from reconciler.model.identity import ObjectKey
from reconciler.model.moments import earliest, stamp
from reconciler.model.records import dataclass, field
from reconciler.model.world import Fault, Manifest, World


@dataclass(frozen=True, slots=True, kw_only=True)
class Evictions:
    """Those that name one placement.

    Attributes:
        manifests: The evictions, by key.
        statuses: Their status files, as far as they have one.
        budget: That of the placement's name, `None` if there is none.
        waiting: Whether they wait, since the budget cannot be read.
    """

    manifests: tuple[Manifest, ...] = ()
    statuses: Mapping[ObjectKey, Body] = field(default_factory=dict)
    budget: Manifest | None = None
    waiting: bool = False

    @property
    def bodies(self) -> tuple[Body, ...]:
        """All that a judgement depends on, but for the status files."""
        budget = () if self.budget is None else (self.budget.body,)
        return (*(one.body for one in self.manifests), *budget)


NO_EVICTIONS = Evictions()


@dataclass(frozen=True, slots=True, kw_only=True)
class Evicted:
    """What evictions leave.

    Attributes:
        bindings: The bindings that stay, by name, as they were.
        files: Status files of the evictions.
        by: Name of the first eviction that deleted a binding, `""` if none did.
        faults: Of evictions that are not what they were.
        until: When time alone could have changed a judgement, `None` if never.
    """

    bindings: Mapping[str, Binding]
    files: Mapping[ObjectKey, Body]
    by: str = ""
    faults: tuple[Fault, ...] = ()
    until: datetime | None = None


def evictions_in(world: World) -> dict[ObjectKey, Evictions]:
    """Return the evictions of a world by the placement that they name.

    One whose status file cannot be read is left out: it may have been executed.
    """
    evictions: dict[ObjectKey, list[Manifest]] = {}
    for manifest in world.of_kind(PLACEMENT_GROUP, EVICTION):
        name = decode_request(manifest.body).placement
        if not is_frozen(world, manifest.key):
            evictions.setdefault(placement_key("", name), []).append(manifest)
    return {key: _evictions(key, manifests, world) for key, manifests in evictions.items()}


def _evictions(key: ObjectKey, manifests: list[Manifest], world: World) -> Evictions:
    budget = ObjectKey(PLACEMENT_GROUP, BUDGET, "", key.name)
    written = ((one.key, world.outputs.get(one.key)) for one in manifests)
    return Evictions(
        manifests=tuple(manifests),
        statuses={name: status.body for name, status in written if status is not None},
        budget=world.inputs.get(budget),
        waiting=str(budget) in world.in_doubt,
    )


def without_placement(
    by_placement: Mapping[ObjectKey, Evictions],
    placements: Collection[ObjectKey],
    world: World,
    now: datetime,
) -> Evicted:
    """Judge the evictions whose placement is not there, or is leaving.

    They wait as they are where it cannot be read.
    """
    files: dict[ObjectKey, Body] = {}
    faults: list[Fault] = []
    for key, evictions in by_placement.items():
        if key in placements:
            continue
        if str(key) in world.in_doubt:
            files |= evictions.statuses
            continue
        leaving = world.inputs.get(key)
        placement = None if leaving is None else decode_placement(leaving.body)
        outcome = evict(evictions, placement, {}, now, AvailabilityReports())
        files |= outcome.files
        faults += outcome.faults
    return Evicted(bindings={}, files=files, faults=tuple(faults))


def evict(
    evictions: Evictions,
    placement: Placement | None,
    bindings: Mapping[str, Binding],
    now: datetime,
    reports: AvailabilityReports,
) -> Evicted:
    """Judge what was not judged yet.

    Args:
        evictions: Of one placement.
        placement: The one that they name, `None` if there is none.
        bindings: Its bindings, by name.
        now: Aware UTC.
        reports: What clusters report.
    """
    if evictions.waiting:
        return Evicted(bindings=bindings, files=evictions.statuses)
    observed = {name: observe(binding, now, reports) for name, binding in bindings.items()}
    seen = {name: binding for name, (binding, _) in observed.items()}
    budget = None if evictions.budget is None else mapping(evictions.budget.body, "spec")
    files: dict[ObjectKey, Body] = {}
    by, judged, changed = "", False, list[Fault]()
    for eviction, admitted, metadata in _in_order(evictions, now):
        spec, present = mapping(eviction.body, "spec"), evictions.statuses.get(eviction.key, {})
        if admitted.generation > 1:
            changed.append(_changed(eviction))
            files[eviction.key] = present
            continue
        conditions: Sequence[Body] = bodies(mapping(present, "status"), "conditions")
        if not is_over(conditions, admitted.generation):
            judged = True
            verdict = judge(spec, admitted.generation, placement, tuple(seen.values()), budget)
            for condition in verdict.conditions:
                conditions = set_condition(conditions, condition, at=stamp(now))
            if verdict.deleted is not None:
                by = by or eviction.key.name
                gone = seen[verdict.deleted]
                seen[verdict.deleted] = gone._replace(deleting=True, conditions=())
        files[eviction.key] = {
            "apiVersion": eviction.body["apiVersion"],
            "kind": EVICTION,
            "metadata": metadata,
            "status": {"conditions": list(conditions)},
        }
    return Evicted(
        bindings={name: one for name, one in bindings.items() if not seen[name].deleting},
        files=files,
        by=by,
        faults=tuple(changed),
        until=earliest(*(until for _, until in observed.values())) if judged else None,
    )


def _in_order(evictions: Evictions, now: datetime) -> Iterable[tuple[Manifest, Admitted, Body]]:
    """Return the evictions, those seen first before others, with their admission."""
    ordered = []
    for manifest in evictions.manifests:
        status = evictions.statuses.get(manifest.key)
        record = None if status is None else mapping(status, "metadata")
        ordered.append(
            (manifest, *admit(manifest.key, mapping(manifest.body, "spec"), record, now))
        )
    return sorted(ordered, key=lambda entry: (entry[1].created_at, entry[0].key))


def _changed(eviction: Manifest) -> Fault:
    """Return the fault of an eviction whose spec changed, which upstream's CEL rules refuse."""
    return Fault(
        path=eviction.origin.path,
        line=0,
        column=0,
        field="/spec",
        rule="eviction-immutable",
        message="`placementName` and `clusterName` must stay what they were",
        expected="what they were, or an eviction of another name",
        subject=str(eviction.key),
    )


EVICTION, BUDGET = "ClusterResourcePlacementEviction", "ClusterResourcePlacementDisruptionBudget"
VALID, EXECUTED = "Valid", "Executed"


@dataclass(frozen=True, slots=True)
class Judgement:
    """What an eviction's status says then, and the binding that goes, `None` if none does."""

    conditions: tuple[Condition, ...]
    deleted: str | None = None


@dataclass(frozen=True, slots=True)
class _Answer:
    """Whether an eviction is executed, why, and whether a binding goes by it."""

    executed: bool
    why: str
    deletes: bool = False


_MISSING = "Failed to find ClusterResourcePlacement targeted by eviction"
_LEAVING = "Found deleting ClusterResourcePlacement targeted by eviction"
_FIXED = "Found ClusterResourcePlacement with PickFixed placement type targeted by eviction"
_MANY = "Found more than one scheduler decision for placement in cluster targeted by eviction"
_NONE = "Failed to find scheduler decision for placement in cluster targeted by eviction"

_GOING = _Answer(
    executed=True,
    why="Eviction is allowed, resources propagated by placement is currently being removed from "
    "cluster targeted by eviction",
)
_UNPLACED = _Answer(
    executed=False,
    why="Eviction is blocked, placement has not propagated resources to target cluster yet",
)
_FAILED = _Answer(executed=True, why="Eviction is allowed, placement has failed", deletes=True)
_FREE = _Answer(executed=True, why=f"Eviction is allowed, no {BUDGET} specified", deletes=True)
_MISCONFIGURED = _Answer(
    executed=False,
    why=f"Eviction is blocked by misconfigured {BUDGET}, either MaxUnavailable is specified or "
    "MinAvailable is specified as a percentage for PickAll ClusterResourcePlacement",
)


def is_over(conditions: Sequence[Body], generation: int) -> bool:
    """Return whether an eviction was judged: it was invalid, or executed or not.

    One that was blocked is never tried again; a new one is needed.

    Args:
        conditions: Of its status.
        generation: The present one; another generation of what was invalid is judged anew.
    """
    by_type = {text(item, "type"): item for item in reversed(conditions)}
    valid = by_type.get(VALID, {})
    is_invalid = text(valid, "status") == "False"
    return EXECUTED in by_type or (is_invalid and number(valid, "observedGeneration") == generation)


def judge(
    spec: Body,
    generation: int,
    placement: Placement | None,
    bindings: Collection[Binding],
    budget: Body | None,
) -> Judgement:
    """Return what becomes of an eviction that was not judged yet.

    Args:
        spec: Of the eviction.
        generation: Of the eviction.
        placement: The one that it names, `None` if there is none.
        bindings: All of the placement, with what is known of their clusters.
        budget: Spec of the budget of the placement's name, `None` if there is none.
    """
    cluster = text(spec, "clusterName")
    candidates = [binding for binding in bindings if binding.target == cluster]
    problem = _problem(placement, candidates)
    if problem or placement is None:
        return Judgement((_condition(VALID, "False", "Invalid", problem, generation),))
    valid = _condition(VALID, "True", "Valid", "Eviction is valid", generation)
    (target,) = candidates
    answer = _answer(target, placement, bindings, budget)
    status, word = ("True", "Executed") if answer.executed else ("False", "NotExecuted")
    executed = _condition(EXECUTED, status, word, answer.why, generation)
    return Judgement((valid, executed), target.name if answer.deletes else None)


def _condition(kind: str, status: str, word: str, why: str, generation: int) -> Condition:
    return Condition(kind, status, f"{EVICTION}{word}", why, generation)


def _problem(placement: Placement | None, candidates: Sequence[Binding]) -> str:
    """Return why an eviction is invalid, `""` if it is not."""
    if placement is None:
        return _MISSING
    if placement.deleting:
        return _LEAVING
    if placement.policy.get("placementType") == PICK_FIXED:
        return _FIXED
    if len(candidates) > 1:
        return _MANY
    return "" if candidates else _NONE


def _answer(
    target: Binding, placement: Placement, bindings: Collection[Binding], budget: Body | None
) -> _Answer:
    """Return whether the binding of a valid eviction goes; what is first in doubt decides."""
    if target.deleting:
        return _GOING
    was_bound = target.annotations.get(PREVIOUS_STATE) == BOUND
    if target.state != BOUND and not (target.state == UNSCHEDULED and was_bound):
        return _UNPLACED
    if not can_be_ready(target):
        return _FAILED
    return _FREE if budget is None else _within(budget, placement, bindings)


def _within(budget: Body, placement: Placement, bindings: Collection[Binding]) -> _Answer:
    """Return whether a budget allows one binding less.

    Whether the one that goes is available plays no part, and clusters that are wanted and have no
    binding do not count as unavailable.
    """
    most, least = budget.get("maxUnavailable"), budget.get("minAvailable")
    picks_all = placement.policy.get("placementType") == PICK_ALL
    if picks_all and (most is not None or isinstance(least, str)):
        return _MISCONFIGURED
    desired, available = placement.wanted or 0, sum(map(is_available, bindings))
    allowed = 0
    if isinstance(most, int | str):
        allowed = share_of(most, desired) - (len(bindings) - available)
    elif isinstance(least, int | str):
        allowed = available - share_of(least, desired)
    word = "allowed" if allowed > 0 else "blocked"
    counts = f"availablePlacements: {available}, totalPlacements: {len(bindings)}"
    why = f"Eviction is {word} by specified {BUDGET}, {counts}"
    return _Answer(executed=allowed > 0, why=why, deletes=allowed > 0)
