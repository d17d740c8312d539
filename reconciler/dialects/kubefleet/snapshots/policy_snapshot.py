"""A policy snapshot, as far as the scheduler reads and writes it."""

from collections.abc import Mapping
from dataclasses import dataclass

from reconciler.dialects.kubefleet.api.names import CRP_GENERATION, NUMBER_OF_CLUSTERS, PARENT
from reconciler.dialects.kubefleet.api.policy import Policy, decode_policy
from reconciler.dialects.kubefleet.scheduler.eligibility import timeless
from reconciler.dialects.kubefleet.scheduler.failure import as_count
from reconciler.dialects.kubefleet.view.decision_texts import same_decisions
from reconciler.model import fields
from reconciler.model.body import Body
from reconciler.model.conditions import Condition, set_condition

SCHEDULED_CONDITION = "Scheduled"


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """A frozen policy and what was decided by it; `status` is as written."""

    name: str
    namespace: str = ""
    placement: str
    generation: int
    annotations: Mapping[str, str]
    policy: Policy
    status: Body

    @property
    def number_of_clusters(self) -> int:
        """How many clusters PickN wants, from the annotation: the spec's number goes stale."""
        return as_count(self.annotations.get(NUMBER_OF_CLUSTERS), NUMBER_OF_CLUSTERS)


@dataclass(frozen=True, slots=True)
class SnapshotReport:
    """What a cycle has to say: decisions in the order of listing, how many are selected."""

    decisions: tuple[Body, ...]
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
        policy=decode_policy(fields.mapping_or_none(fields.mapping(body, "spec"), "policy")),
        status=fields.mapping(body, "status"),
    )


def report_status(snapshot: Snapshot, report: SnapshotReport, *, at: str) -> Body | None:
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
    conditions = fields.bodies(status, "conditions")
    condition = _condition(report, snapshot.generation)
    if (
        generation == fields.number(status, "observedCRPGeneration")
        and same_decisions(fields.bodies(status, "targetClusters"), report.decisions)
        and _says_the_same(conditions, condition)
    ):
        return None
    return {
        **status,
        "observedCRPGeneration": generation,
        "targetClusters": list(report.decisions),
        "conditions": set_condition(conditions, condition, at=at),
    }


def keep_wording(before: Body, after: Body) -> Body:
    """Return a status whose reasons keep the minutes of the moment when they were first told.

    Args:
        before: The status so far.
        after: The status wanted now; where only minutes differ, the one so far is returned.
    """
    known = {
        fields.text(item, "clusterName"): item for item in fields.bodies(before, "targetClusters")
    }
    decisions = []
    for item in fields.bodies(after, "targetClusters"):
        same = known.get(fields.text(item, "clusterName"))
        decisions.append(item if same is None or _timeless(same) != _timeless(item) else same)
    if "targetClusters" not in after:
        return after
    unmoved = same_decisions(fields.bodies(before, "targetClusters"), decisions)
    rest = [{**status, "targetClusters": None} for status in (before, after)]
    return before if unmoved and rest[0] == rest[1] else {**after, "targetClusters": decisions}


def _timeless(decision: Body) -> Body:
    return {**decision, "reason": timeless(fields.text(decision, "reason"))}


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


def _says_the_same(conditions: tuple[Body, ...], condition: Condition) -> bool:
    present = next((item for item in conditions if item.get("type") == condition.type), None)
    return (
        present is not None
        and (present.get("status"), present.get("reason")) == (condition.status, condition.reason)
        and fields.number(present, "observedGeneration") >= (condition.observed_generation or 0)
    )
