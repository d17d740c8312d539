"""A policy snapshot, as far as the scheduler reads and writes it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from reconciler.dialects.kubefleet.api.cluster_decision import ClusterDecision, reworded
from reconciler.dialects.kubefleet.api.names import (
    CRP_GENERATION,
    NUMBER_OF_CLUSTERS,
    PARENT,
    SCHEDULED_CONDITION,
)
from reconciler.dialects.kubefleet.api.policy import Policy, decode_policy
from reconciler.dialects.kubefleet.api.policy_snapshot import (
    PolicySnapshotStatus,
    decode_policy_spec,
    decode_policy_status,
)
from reconciler.dialects.kubefleet.scheduler.eligibility import timeless
from reconciler.dialects.kubefleet.scheduler.failure import as_count
from reconciler.dialects.kubefleet.view.decision_texts import same_decisions
from reconciler.model import fields
from reconciler.model.body import Body
from reconciler.model.conditions import Condition, set_condition


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """A frozen policy and what was decided by it."""

    name: str
    namespace: str = ""
    placement: str
    generation: int
    annotations: Mapping[str, str]
    policy: Policy
    status: PolicySnapshotStatus

    @property
    def number_of_clusters(self) -> int:
        """How many clusters PickN wants, from the annotation: the spec's number goes stale."""
        return as_count(self.annotations.get(NUMBER_OF_CLUSTERS), NUMBER_OF_CLUSTERS)


@dataclass(frozen=True, slots=True)
class SnapshotReport:
    """What a cycle has to say: decisions in the order of listing, how many are selected."""

    decisions: tuple[ClusterDecision, ...]
    count: int
    fulfilled: bool


def decode_snapshot(body: Body) -> Snapshot:
    """Return a policy snapshot from its manifest.

    Raises:
        UserError: A field has the wrong type.
    """
    metadata = fields.mapping(body, "metadata")
    return Snapshot(
        name=fields.text(metadata, "name"),
        namespace=fields.text(metadata, "namespace"),
        placement=fields.text(fields.mapping(metadata, "labels"), PARENT),
        generation=fields.number(metadata, "generation"),
        annotations=dict(fields.pairs_or_none(metadata, "annotations") or ()),
        policy=decode_policy(decode_policy_spec(body).policy),
        status=decode_policy_status(body),
    )


def report_status(
    snapshot: Snapshot, report: SnapshotReport, *, at: str
) -> PolicySnapshotStatus | None:
    """Return the status of a policy snapshot after a cycle, `None` if the present one stays.

    It stays if the placement's generation is the one observed, the decisions are the same in
    whatever order, and the condition says the same; a stale message alone is not corrected.

    Args:
        snapshot: Whose; its status is the present one.
        report: What the cycle found.
        at: Text of the present moment.

    Raises:
        UnexpectedBehavior: The annotation that names the placement's generation is missing or not a
            number.

    Source: kubefleet@e160c1c pkg/scheduler/framework/framework.go
    `updatePolicySnapshotStatusFromBindings`, and pkg/utils/condition `EqualCondition`.
    """
    generation = as_count(snapshot.annotations.get(CRP_GENERATION), CRP_GENERATION)
    status = snapshot.status
    conditions = status.conditions or ()
    condition = _condition(report, snapshot.generation)
    if (
        generation == (status.observed_generation or 0)
        and same_decisions(status.decided, report.decisions)
        and _says_the_same(conditions, condition)
    ):
        return None
    return status._replace(
        observed_generation=generation,
        decisions=report.decisions,
        conditions=tuple(set_condition(conditions, condition, at=at)),
    )


def keep_wording(before: PolicySnapshotStatus, after: PolicySnapshotStatus) -> PolicySnapshotStatus:
    """Return a status whose reasons keep the minutes of the moment when they were first told.

    Args:
        before: The status so far.
        after: The status wanted now; where only minutes differ, the one so far is returned.
    """
    if after.decisions is None:
        return after
    known = {decision.cluster: decision for decision in before.decided}
    decisions = []
    for decision in after.decisions:
        same = known.get(decision.cluster)
        decisions.append(same if same is not None and _tells_the_same(same, decision) else decision)
    unmoved = same_decisions(before.decided, decisions)
    rest = [status._replace(decisions=None) for status in (before, after)]
    return before if unmoved and rest[0] == rest[1] else after._replace(decisions=tuple(decisions))


def _tells_the_same(known: ClusterDecision, decision: ClusterDecision) -> bool:
    """Return whether two decisions differ in elapsed time at most."""
    return known == decision or without_minutes(known) == without_minutes(decision)


def without_minutes(decision: ClusterDecision) -> ClusterDecision:
    """Return a decision whose reason tells no elapsed time."""
    return reworded(decision, timeless(decision.reason))


def _condition(report: SnapshotReport, generation: int) -> Condition:
    if report.fulfilled:
        status, reason = "True", "SchedulingPolicyFulfilled"
        message = (
            "found all cluster needed as specified by the scheduling policy, "
            f"found {report.count} cluster(s)"
        )
    else:
        status, reason = "False", "SchedulingPolicyUnfulfilled"
        message = (
            "could not find all clusters needed as specified by the scheduling policy, "
            f"found {report.count} cluster(s) instead"
        )
    return Condition(SCHEDULED_CONDITION, status, reason, message, generation)


def _says_the_same(conditions: Sequence[Body], condition: Condition) -> bool:
    present = next((item for item in conditions if item.get("type") == condition.type), None)
    return (
        present is not None
        and (present.get("status"), present.get("reason")) == (condition.status, condition.reason)
        and fields.number(present, "observedGeneration") >= (condition.observed_generation or 0)
    )
