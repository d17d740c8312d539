"""Policy snapshots: a new one for each new policy, the present one updated with what was decided.

The hash of a policy is of its JSON as Go encodes the struct, without the number of clusters.
Decisions have upstream's texts, as policy snapshots and bindings hold them.
"""

import base64
import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from operator import attrgetter

from reconciler.dialects.kubefleet.api.binding import Binding
from reconciler.dialects.kubefleet.api.member import AFFINITY, TOPOLOGY, RankedCluster, timeless
from reconciler.dialects.kubefleet.api.names import (
    API_VERSION,
    CRP_GENERATION,
    IS_LATEST,
    NUMBER_OF_CLUSTERS,
    PARENT,
    POLICY_INDEX,
    SCHEDULED_CONDITION,
    UnexpectedBehavior,
    as_count,
    go_json,
    hash_of,
)
from reconciler.dialects.kubefleet.api.placement import PICK_N, Policy, decode_policy, go_policy
from reconciler.dialects.kubefleet.api.snapshots import (
    NOTHING,
    ClusterDecision,
    Owner,
    PolicySnapshotStatus,
    SnapshotRevisions,
    annotations_of,
    decode_policy_spec,
    decode_policy_status,
    encode_policy_spec,
    encode_score,
    index_of,
    is_latest,
    marked,
    new_decision,
    owned,
    relabelled,
    reworded,
    scored_decision,
)
from reconciler.model import fields
from reconciler.model.body import Body
from reconciler.model.cluster import Condition, set_condition
from reconciler.model.records import dataclass, replace


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
    decided = {decision.cluster: decision for decision in before.decided}
    decisions = []
    for decision in after.decisions:
        same = decided.get(decision.cluster)
        decisions.append(same if same is not None and _tells_the_same(same, decision) else decision)
    unmoved = same_decisions(before.decided, decisions)
    rest = [status._replace(decisions=None) for status in (before, after)]
    return before if unmoved and rest[0] == rest[1] else after._replace(decisions=tuple(decisions))


def _tells_the_same(earlier: ClusterDecision, decision: ClusterDecision) -> bool:
    """Return whether two decisions differ in elapsed time at most."""
    return earlier == decision or without_minutes(earlier) == without_minutes(decision)


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


FIRST = -1


def snapshot_policy(
    owner: Owner,
    policy: Body | None,
    snapshots: Iterable[Body],
    limit: int,
    *,
    implied: bool = False,
) -> SnapshotRevisions:
    """Return the policy snapshots of a placement as its policy wants them.

    A policy that differs in more than its number gets a new snapshot, going back to an earlier one
    included, and the oldest make room. Otherwise the present snapshot is updated: its label, the
    placement's generation, and PickN's number, all in metadata; its spec goes stale.

    Args:
        owner: The placement.
        policy: Its `spec.policy` with defaults applied, `None` if there is none.
        snapshots: All policy snapshots, in whatever order.
        limit: How many may exist, one or more.
        implied: Whether nobody wrote the policy, see `equal_policies`.

    Source: kubefleet@e160c1c pkg/controllers/placement/controller.go
    `getOrCreateSchedulingPolicySnapshot`.
    """
    present = SnapshotRevisions(snapshots=owned(snapshots, owner))
    policies = equal_policies(policy, implied=implied)
    try:
        name, index = _latest(present)
        if name and decode_policy_spec(present.snapshots[name]).policy_hash in policies:
            return _refresh(present, name, owner, policy)
    except UnexpectedBehavior as error:
        return replace(present, error=error)
    retired = _retire(present, name)
    try:
        pruned = _prune(retired, limit)
    except UnexpectedBehavior as error:
        return replace(retired, error=error)
    fresh = _new(owner, policy, index + 1)
    name = f"{owner.name}-{index + 1}"
    return replace(
        pruned,
        snapshots={**pruned.snapshots, name: fresh},
        latest=name,
    )


def encoded_hash(policy: Body | None) -> str:
    """Return a policy's hash as it stands in a snapshot: the hex text, as bytes, in base64."""
    return base64.b64encode(policy_hash(policy).encode()).decode()


def equal_policies(policy: Body | None, *, implied: bool) -> dict[str, Body | None]:
    """Return the policies that the snapshot in force may hold, by their encoded hash.

    On a hub without webhooks nobody fills in what was not written, so a snapshot of it holds no
    policy, which decides as the implied one does.

    Args:
        policy: `spec.policy` with defaults applied, `None` if there is none.
        implied: Whether nobody wrote it.
    """
    held = (policy, None) if implied else (policy,)
    return {encoded_hash(one): one for one in held}


def _latest(present: SnapshotRevisions) -> tuple[str, int]:
    """Return the snapshot labelled latest, else that with the highest index, and its index."""
    labelled = [name for name, body in present.snapshots.items() if is_latest(body)]
    if len(labelled) > 1:
        raise UnexpectedBehavior(f"there are {len(labelled)} active policy snapshots")
    if labelled:
        return labelled[0], index_of(present.snapshots[labelled[0]], POLICY_INDEX)
    ordered = _by_index(present)
    return (ordered[-1][1], ordered[-1][0]) if ordered else ("", FIRST)


def _by_index(present: SnapshotRevisions) -> list[tuple[int, str]]:
    return sorted((index_of(body, POLICY_INDEX), name) for name, body in present.snapshots.items())


def _number(policy: Body | None) -> int | None:
    """Return how many clusters PickN wants, `None` for another type or none given."""
    if policy is None or policy.get("placementType") != PICK_N:
        return None
    return fields.number_or_none(policy, "numberOfClusters")


def _refresh(
    present: SnapshotRevisions, name: str, owner: Owner, policy: Body | None
) -> SnapshotRevisions:
    """Update the present snapshot in place.

    Source: kubefleet@e160c1c pkg/controllers/placement/controller.go `ensureLatestPolicySnapshot`.
    """
    body = present.snapshots[name]
    annotations = annotations_of(body)
    changed: dict[str, str] = {}
    if as_count(annotations.get(CRP_GENERATION), CRP_GENERATION) != owner.generation:
        changed[CRP_GENERATION] = str(owner.generation)
    number = _number(policy)
    if number is not None:
        count = as_count(annotations.get(NUMBER_OF_CLUSTERS), NUMBER_OF_CLUSTERS)
        if count != number:
            changed[NUMBER_OF_CLUSTERS] = str(number)
    if not changed and is_latest(body):
        return replace(present, latest=name)
    updated = relabelled(body, labels={IS_LATEST: "true"}, annotations=changed)
    return replace(
        present,
        snapshots={**present.snapshots, name: updated},
        latest=name,
    )


def _retire(present: SnapshotRevisions, name: str) -> SnapshotRevisions:
    """Take the label from the snapshot that was latest."""
    if not name or not is_latest(present.snapshots[name]):
        return present
    retired = marked(present.snapshots[name], latest=False)
    return replace(present, snapshots={**present.snapshots, name: retired})


def _prune(present: SnapshotRevisions, limit: int) -> SnapshotRevisions:
    """Remove the oldest snapshots until there is room for one more."""
    ordered = _by_index(present)
    surplus = [name for _, name in ordered[: max(len(ordered) - limit + 1, 0)]]
    return replace(
        present,
        snapshots={name: body for name, body in present.snapshots.items() if name not in surplus},
    )


def _new(owner: Owner, policy: Body | None, index: int) -> Body:
    annotations = {CRP_GENERATION: str(owner.generation)}
    number = _number(policy)
    if number is not None:
        annotations[NUMBER_OF_CLUSTERS] = str(number)
    return {
        "apiVersion": API_VERSION,
        "kind": owner.kinds.policy_snapshot,
        "metadata": {
            **owner.identity(f"{owner.name}-{index}"),
            "generation": 1,
            "labels": {PARENT: owner.name, IS_LATEST: "true", POLICY_INDEX: str(index)},
            "annotations": annotations,
            "ownerReferences": [owner.reference],
        },
        "spec": encode_policy_spec(policy, encoded_hash(policy)),
    }


def policy_hash(policy: Body | None) -> str:
    """Return the hash of a policy, 64 hex digits; that of no policy differs from PickAll's.

    Args:
        policy: `spec.policy` with its defaults applied, `None` if there is none.

    Source: kubefleet@e160c1c pkg/controllers/placement/controller.go
    `getOrCreateSchedulingPolicySnapshot`; the fields and which of them are left out when empty are
    those of apis/placement/v1beta1/clusterresourceplacement_types.go `PlacementPolicy`.
    """
    return hash_of(go_json(None if policy is None else go_policy(policy)))


MAX_DECISIONS = 1000  # framework.go clustersDecisionArrayLengthLimitInAPI
MAX_UNSELECTED = 20  # framework.go defaultMaxUnselectedClusterDecisionCount

NotSelected = tuple[str, str]
"""A cluster turned away, and why."""


def picked_decisions(picked: Sequence[RankedCluster]) -> list[ClusterDecision]:
    """Return the decisions for clusters picked by their scores."""
    placed = "Successfully scheduled resources for placement in "
    return _scored(picked, placed, " (", "): picked by scheduling policy", selected=True)


def not_picked_decisions(scored: Sequence[RankedCluster]) -> list[ClusterDecision]:
    """Return the decisions for clusters whose scores were not high enough."""
    return _scored(scored, "Cluster ", " does not score high enough (", ")", selected=False)


def _scored(
    clusters: Sequence[RankedCluster], head: str, middle: str, end: str, *, selected: bool
) -> list[ClusterDecision]:
    """Return one decision a cluster; what tells the scores is shared by those that share them."""
    decisions: list[ClusterDecision] = []
    last: Mapping[str, int] | None = None
    tail, score = "", NOTHING
    quoted = _all_quoted([scored.name for scored in clusters])
    for (cluster, scores), name in zip(clusters, quoted, strict=True):
        if scores is not last:
            last = scores
            affinity, topology = scores.get(AFFINITY, 0), scores.get(TOPOLOGY, 0)
            shown = f"affinity score: {affinity}, topology spread score: {topology}"
            tail, score = f"{middle}{shown}{end}", encode_score(affinity, topology)
        reason = f"{head}{name}{tail}"
        decisions.append(scored_decision(cluster, reason, score, selected=selected))
    return decisions


def filtered_decision(name: str, reason: str) -> ClusterDecision:
    """Return the decision for a cluster that a filter turned away."""
    return new_decision(name, f"ClusterUnschedulable, {reason}", selected=False)


def fixed_decision(name: str) -> ClusterDecision:
    """Return the decision for a cluster that the policy names."""
    placed = f"Successfully scheduled resources for placement in {_quoted(name)}"
    return new_decision(name, f"{placed}: picked by scheduling policy", selected=True)


def invalid_decision(name: str, reason: str) -> ClusterDecision:
    """Return the decision for a cluster that the policy names and that cannot receive resources."""
    refused = f"Cluster {_quoted(name)} is not eligible for resource placement yet: {reason}"
    return new_decision(name, refused, selected=False)


def missing_decision(name: str) -> ClusterDecision:
    """Return the decision for a name that no cluster has."""
    return new_decision(name, f"Specified cluster {_quoted(name)} is not found", selected=False)


def list_decisions(
    existing: Iterable[Sequence[Binding]],
    not_picked: Iterable[RankedCluster] = (),
    filtered: Sequence[NotSelected] = (),
) -> tuple[ClusterDecision, ...]:
    """Return the decisions that a policy snapshot shows.

    First those of the selected bindings as recorded, at most 1000; then clusters not picked and
    clusters turned away, at most 20 together. A cluster listed already is not listed again, but one
    that was turned away uses up one of the 20 places all the same.

    Args:
        existing: Groups of selected bindings, in the order of listing.
        not_picked: Best first; asked only as far as there is room.
        filtered: Ascending by name.

    Source: kubefleet@e160c1c pkg/scheduler/framework/frameworkutils.go
    `newSchedulingDecisionsFromBindings`.
    """
    decisions: list[ClusterDecision] = []
    seen = set[str]()
    room, unselected = MAX_DECISIONS, MAX_UNSELECTED
    for group in existing:
        taken = group[: max(room, 0)]
        decisions += map(attrgetter("decision"), taken)
        seen.update(map(attrgetter("target"), taken))
        room -= len(group)
        if room <= 0:
            break
    unseen = (scored for scored in not_picked if scored.name not in seen)
    left_out = tuple(islice(unseen, max(min(room, unselected), 0)))
    decisions += not_picked_decisions(left_out)
    room, unselected = room - len(left_out), unselected - len(left_out)
    for name, reason in filtered[: max(min(unselected, room), 0)]:
        if name not in seen:
            decisions.append(filtered_decision(name, reason))
    return tuple(decisions)


def same_decisions(present: Sequence[ClusterDecision], desired: Sequence[ClusterDecision]) -> bool:
    """Return whether two lists hold the same decisions, in whatever order.

    Source: kubefleet@e160c1c pkg/scheduler/framework/frameworkutils.go `equalDecisions`.
    """
    if len(present) != len(desired):
        return False
    by_cluster = {decision.cluster: _content(decision) for decision in desired}
    return all(by_cluster.get(decision.cluster) == _content(decision) for decision in present)


def recorded_score(decision: ClusterDecision) -> tuple[int, int, int]:
    """Return how a recorded decision ranks: none before any score, then topology, then affinity.

    Source: kubefleet@e160c1c pkg/scheduler/framework/frameworkutils.go `sortByClusterScoreAndName`.
    """
    score = decision.score
    return (0, 0, 0) if score is None else (1, *score)


def _content(decision: ClusterDecision) -> tuple[bool, tuple[int, int, int], str]:
    return decision.selected, recorded_score(decision), decision.reason


def _quoted(name: str) -> str:
    return f'"{name}"' if _is_plain(name) else json.dumps(name, ensure_ascii=False)


def _all_quoted(names: Sequence[str]) -> list[str]:
    if _is_plain("".join(names)):
        return [f'"{name}"' for name in names]
    return [*map(_quoted, names)]


def _is_plain(text: str) -> bool:
    return text.isascii() and text.replace("-", "").replace(".", "").isalnum()
