"""What a WorkloadRebalancer asks for, its status, and its demands joined with those of others.

The status says what became of each workload, and how far the rebalancer is. What all who are
pending demand of one target in one pass becomes a single demand.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from reconciler.manifests.admission import Admitted
from reconciler.model.body import Body
from reconciler.model.fields import (
    bodies,
    mapping,
    mapping_or_none,
    number,
    number_or_none,
    strings,
    text,
)
from reconciler.model.identity import ClusterName, ObjectKey, group_of
from reconciler.model.labels import decode_label_selector
from reconciler.model.moments import format_moment, parse_moment, stamp
from reconciler.model.records import dataclass, field
from reconciler.rebalance.surge import MakeBeforeBreak, join_limits
from reconciler.rebalance.target import Reference, TargetSelection, TargetState

NOT_FOUND = "ReferencedBindingNotFound"
UNDECIDED = "it could not be scheduled; a fault of its own says why"


class WorkloadResult(StrEnum):
    """How a workload's rebalance ended; `PENDING` until it did."""

    SUCCESSFUL = "Successful"
    FAILED = "Failed"
    PENDING = ""


@dataclass(frozen=True, slots=True)
class Observed:
    """One workload of the status.

    `waits_for` is why it is pending, `""` where its batch is; `note` what its result lacks.
    """

    reference: Reference
    result: WorkloadResult = WorkloadResult.PENDING
    reason: str = ""
    waits_for: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """The status as a whole.

    Attributes:
        observed: The workloads, sorted.
        observed_generation: The generation that this speaks of, 0 before the first.
        finish_time: When it finished, `None` if it has not.
        last_due: The moment of its schedule to which the last run belongs, `None` before the first.
        last_run: The moment at which that run began.
        batch_at: When the last batch of limited moves was let go, `None` before the first.
        moved: Replicas moved so far by this run's batches.
        remaining: Replicas that later batches will move, as far as is known.
    """

    observed: tuple[Observed, ...] = ()
    observed_generation: int = 0
    finish_time: datetime | None = None
    last_due: datetime | None = None
    last_run: datetime | None = None
    batch_at: datetime | None = None
    moved: int = 0
    remaining: int = 0


def encode(status: Progress, *, stamped: bool, limited: bool) -> Body:
    """Return the status as a body; empty fields are left out, as upstream's JSON does.

    Args:
        status: What to tell.
        stamped: Whether this pass set the finish time: alone it makes no change.
        limited: Whether moves are limited, so that there is progress to tell.
    """
    body: dict[str, object] = {
        "observedWorkloads": [_encode_item(item) for item in status.observed],
        "observedGeneration": status.observed_generation,
    }
    if status.finish_time is not None:
        finish = status.finish_time
        body["finishTime"] = stamp(finish) if stamped else format_moment(finish)
    if status.last_due is not None and status.last_run is not None:
        body["lastScheduleTime"] = format_moment(status.last_due)
        body["lastRunTime"] = format_moment(status.last_run)
    if limited and status.batch_at is not None:
        body["progress"] = {
            "movedReplicas": status.moved,
            "remainingReplicas": status.remaining,
            "lastBatchTime": format_moment(status.batch_at),
        }
    return body


def decode_status(body: Body) -> Progress:
    """Decode the status that the last pass wrote."""
    progress = mapping(body, "progress")
    return Progress(
        observed=tuple(_decode_item(item) for item in bodies(body, "observedWorkloads")),
        observed_generation=number(body, "observedGeneration"),
        finish_time=_moment(body, "finishTime"),
        last_due=_moment(body, "lastScheduleTime"),
        last_run=_moment(body, "lastRunTime"),
        batch_at=_moment(progress, "lastBatchTime"),
        moved=number(progress, "movedReplicas"),
        remaining=number(progress, "remainingReplicas"),
    )


def pending_in_batches(status: Body) -> Iterator[ObjectKey]:
    """Yield what a rebalancer that goes on over several passes is still moving.

    Read without the rest of a status: every API asks it in every round.
    """
    if text(mapping(status, "progress"), "lastBatchTime"):
        for observed in bodies(status, "observedWorkloads"):
            if not text(observed, "result"):
                yield decode_reference(mapping(observed, "workload")).key


class RecordedWorkload(NamedTuple):
    """One workload of a record, as written: its result is whatever stands there."""

    reference: Reference
    result: str
    reason: str
    waits_for: str


class RebalancerRecord(NamedTuple):
    """What a rebalancer's record says, as written, for whoever shows it.

    Attributes:
        workloads: In order of the record.
        finish_time: When it finished, `""` if it has not.
        last_run: When its last run began, `""` without a schedule.
        remaining: Replicas that later batches will move.
    """

    workloads: tuple[RecordedWorkload, ...]
    finish_time: str
    last_run: str
    remaining: int


def decode_record(manifest: Body) -> RebalancerRecord:
    """Return what a rebalancer's status file says, or what its manifest shows of it."""
    status = mapping(manifest, "status")
    return RebalancerRecord(
        workloads=tuple(map(_recorded, bodies(status, "observedWorkloads"))),
        finish_time=text(status, "finishTime"),
        last_run=text(status, "lastRunTime"),
        remaining=number(mapping(status, "progress"), "remainingReplicas"),
    )


def waits_in(body: Body) -> Iterator[tuple[Reference, str]]:
    """Yield what a rebalancer's record says that is waited for, with the reason."""
    for workload in decode_record(body).workloads:
        if workload.waits_for:
            yield workload.reference, workload.waits_for


def failures_in(body: Body) -> Iterator[tuple[Reference, str]]:
    """Yield what a rebalancer's record says that failed, with the reason."""
    for workload in decode_record(body).workloads:
        if workload.result == WorkloadResult.FAILED:
            yield workload.reference, workload.reason


def _moment(body: Body, field: str) -> datetime | None:
    written = text(body, field)
    return parse_moment(written) if written else None


def _encode_item(item: Observed) -> Body:
    body: dict[str, object] = {"workload": encode_reference(item.reference)}
    if item.result is not WorkloadResult.PENDING:
        body["result"] = str(item.result)
    if item.reason:
        body["reason"] = item.reason
    if item.waits_for:
        body["waitsFor"] = item.waits_for
    if item.note:
        body["note"] = item.note
    return body


def _recorded(body: Body) -> RecordedWorkload:
    return RecordedWorkload(
        decode_reference(mapping(body, "workload")),
        text(body, "result"),
        text(body, "reason"),
        text(body, "waitsFor"),
    )


def _decode_item(body: Body) -> Observed:
    return Observed(
        decode_reference(mapping(body, "workload")),
        WorkloadResult(text(body, "result")),
        text(body, "reason"),
        text(body, "waitsFor"),
        text(body, "note"),
    )


def encode_reference(reference: Reference) -> dict[str, object]:
    """Return a reference as a body; a cluster-scoped one names no namespace."""
    body: dict[str, object] = {
        "apiVersion": reference.api_version,
        "kind": reference.kind,
        "name": reference.name,
    }
    if reference.namespace:
        body["namespace"] = reference.namespace
    return body


def decode_reference(body: Body) -> Reference:
    """Decode one reference."""
    return Reference(
        text(body, "apiVersion"), text(body, "kind"), text(body, "namespace"), text(body, "name")
    )


DEFAULT_INTERVAL_SECONDS = 60  # ours
POLICY_GROUP = "policy.karmada.io"
POLICY, CLUSTER_POLICY = "PropagationPolicy", "ClusterPropagationPolicy"
POLICY_KINDS = ((POLICY_GROUP, POLICY), (POLICY_GROUP, CLUSTER_POLICY))
"""What a rebalancer or a trigger may name for all that it claims."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rebalancer:
    """A rebalancer, decoded.

    Attributes:
        workloads: What it asks for, as written.
        selection: What else it asks for, by description; `None` for nothing.
        schedule: Cron expression in UTC of a recurring rebalance, `None` for one that runs once.
        suspend: Whether the schedule rests.
        max_moves: How many replicas may move in a batch, `None` for all at once.
        interval_seconds: How long a batch waits for the one before.
        wait_for_eviction: Whether a target waits while it is still being evicted from a cluster.
        make_before_break: How replicas may run beside those that they replace, `None` for not.
        preserves: Whether what runs stays where it is.
        rest_seconds: How long what it moved is left alone, `None` for not at all.
        ttl_seconds: How long it stays after it finished, `None` means for ever.
        admitted: When it was first seen, and its generation.
        status: Its status at the last pass.
    """

    workloads: tuple[Reference, ...]
    selection: TargetSelection | None = None
    schedule: str | None = None
    suspend: bool = False
    max_moves: int | None = None
    interval_seconds: int = DEFAULT_INTERVAL_SECONDS
    wait_for_eviction: bool = False
    make_before_break: MakeBeforeBreak | None = None
    preserves: bool = False
    rest_seconds: int | None = None
    ttl_seconds: int | None = None
    admitted: Admitted
    status: Progress = field(default_factory=Progress)

    @property
    def is_limited(self) -> bool:
        """Whether it goes on over several passes."""
        return self.max_moves is not None or self.make_before_break is not None


def decode_rebalancer(spec: Body, status: Body, admitted: Admitted) -> Rebalancer:
    """Decode a validated rebalancer: what it asks for, and its status at the last pass."""
    limits = mapping(spec, "limits")
    interval = number_or_none(limits, "intervalSeconds")
    selector = mapping_or_none(spec, "selector")
    return Rebalancer(
        workloads=tuple(decode_reference(item) for item in bodies(spec, "workloads")),
        selection=None if selector is None else decode_selection(selector),
        schedule=text(spec, "schedule") or None,
        suspend=spec.get("suspend") is True,
        max_moves=number_or_none(limits, "maxMoves"),
        interval_seconds=DEFAULT_INTERVAL_SECONDS if interval is None else interval,
        wait_for_eviction=limits.get("waitForEviction") is True,
        make_before_break=decode_make_before_break(limits, leaving=strings(spec, "leaving")),
        preserves=mapping(spec, "reschedule").get("preserveAvailableReplicas") is True,
        rest_seconds=number_or_none(limits, "restSeconds"),
        ttl_seconds=number_or_none(spec, "ttlSecondsAfterFinished"),
        admitted=admitted,
        status=decode_status(status),
    )


def decode_make_before_break(limits: Body, leaving: Iterable[str] = ()) -> MakeBeforeBreak | None:
    """Decode `makeBeforeBreak` of limits, `None` where it is absent.

    Args:
        limits: Of a rebalancer.
        leaving: The clusters that its targets are to leave.
    """
    written = mapping_or_none(limits, "makeBeforeBreak")
    if written is None:
        return None
    plain = MakeBeforeBreak()
    deadline = number_or_none(written, "deadlineSeconds")
    percent = number_or_none(written, "maxSurgePercent")
    return MakeBeforeBreak(
        deadline_seconds=plain.deadline_seconds if deadline is None else deadline,
        max_surge_percent=plain.max_surge_percent if percent is None else percent,
        settle_seconds=number(written, "settleSeconds"),
        leaving=frozenset(map(ClusterName, leaving)),
    )


def decode_selection(selector: Body) -> TargetSelection:
    """Decode `spec.selector`."""
    labels = mapping_or_none(selector, "labelSelector")
    policy = mapping_or_none(selector, "policy")
    return TargetSelection(
        api_version=text(selector, "apiVersion"),
        kind=text(selector, "kind"),
        namespace=text(selector, "namespace"),
        labels=None if labels is None else decode_label_selector(labels),
        policy=None if policy is None else selected_policy(policy),
        on_cluster=text(selector, "onCluster"),
        state=TargetState(state) if (state := text(selector, "state")) else None,
    )


def selected_policy(reference: Body) -> ObjectKey:
    """Return what a selector names as policy: without a kind, one of Karmada's."""
    kind = text(reference, "kind")
    if not kind:
        return policy_key(reference)
    group = group_of(text(reference, "apiVersion"))
    return ObjectKey(group, kind, text(reference, "namespace"), text(reference, "name"))


def policy_key(reference: Body) -> ObjectKey:
    """Return the policy that a reference names; without a namespace a cluster-wide one."""
    namespace = text(reference, "namespace")
    kind = POLICY if namespace else CLUSTER_POLICY
    return ObjectKey(POLICY_GROUP, kind, namespace, text(reference, "name"))


@dataclass(frozen=True, slots=True)
class TargetDemand:
    """What is demanded of one target.

    Attributes:
        at: Moment of the trigger.
        budget: How many replicas may move in this pass, `None` for all.
        fresh: Whether it is scheduled afresh; if not, it goes on to the goal of an earlier batch.
        preserves: Whether only replicas that cannot be scheduled where they are may move.
        rest_seconds: How long it is left alone once it has moved, `None` for not at all.
    """

    at: datetime
    budget: int | None = None
    fresh: bool = True
    preserves: bool = False
    rest_seconds: int | None = None


@dataclass(frozen=True, slots=True)
class JoinedDemand:
    """What counts of several demands, and who brings that about, sorted.

    Those that `by` names suffice each, or, where none does, all together. Whoever asks for less is
    not among them. `surge` is how it is made before anything breaks, `None` if nobody asks for it.
    """

    demand: TargetDemand
    by: tuple[str, ...]
    surge: MakeBeforeBreak | None = None


@dataclass(frozen=True, slots=True, order=True)
class OverriddenLimit:
    """A limit that does not hold, since somebody else demands more of the same target.

    Attributes:
        limited: Whose limit it is.
        allowed: How many replicas of the target would have moved in this pass by it.
        by: Who demands more, sorted.
    """

    limited: str
    allowed: int
    by: tuple[str, ...]


def join_demands(
    demands: Mapping[str, TargetDemand], surges: Mapping[str, MakeBeforeBreak] | None = None
) -> JoinedDemand:
    """Return several demands on one target as one; there is at least one of them.

    The latest moment counts; it is scheduled afresh if anybody wants that; without a budget if
    anybody has none, else with the largest. Of several moments the latest says whether what runs
    stays; of several demands of that moment one that divides everything. The longest rest counts.

    Args:
        demands: By the name of who demands.
        surges: How it is to be made before anything breaks, by the name of who wants that; who does
            may have to wait with a demand.
    """
    surges = surges or {}
    surge = join_limits(surges.values())
    budgets = [demand.budget for demand in demands.values() if demand.budget is not None]
    latest = max(demand.at for demand in demands.values())
    rests = [one.rest_seconds for one in demands.values() if one.rest_seconds is not None]
    joined = TargetDemand(
        rest_seconds=max(rests, default=None),
        at=latest,
        budget=None if len(budgets) < len(demands) else max(budgets),
        fresh=any(demand.fresh for demand in demands.values()),
        preserves=all(demand.preserves for demand in demands.values() if demand.at == latest),
    )
    enough = [
        who
        for who, demand in demands.items()
        if (demand.budget, demand.fresh, demand.preserves)
        == (joined.budget, joined.fresh, joined.preserves)
        and surges.get(who) == surge
    ]
    parts = {
        who
        for who, demand in demands.items()
        if demand.budget == joined.budget or (demand.fresh and joined.fresh)
    }
    return JoinedDemand(joined, tuple(sorted(enough or parts | surges.keys())), surge)


def overridden_limits(
    joined: JoinedDemand, allowed: Mapping[str, int]
) -> Iterator[OverriddenLimit]:
    """Yield the limits on a target that do not hold in this pass.

    Args:
        joined: What all demand of the target.
        allowed: By the name of who has a limit, how many replicas it lets go now, where it has more
            to move.
    """
    budget = joined.demand.budget
    for who, count in sorted(allowed.items()):
        if who not in joined.by and (budget is None or budget > count):
            yield OverriddenLimit(who, count, joined.by)
