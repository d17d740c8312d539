"""The file of a binding as a round leaves it: metadata, spec and status.

It also words failover: what becomes of the copy on a cluster that is left, what the new one gets,
and the fault of a workload that stays on a failing cluster since its state cannot be taken along.
"""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from functools import lru_cache

from reconciler.dialects.karmada.api.binding import (
    Binding,
    BindingMetadata,
    BindingStatus,
    encode_manifest,
    says_the_same,
)
from reconciler.dialects.karmada.api.binding_spec import (
    BindingSpec,
    EvictionTask,
    ObjectReference,
    encode_spec,
)
from reconciler.dialects.karmada.api.placement import APPLIED_PLACEMENT
from reconciler.dialects.karmada.binding.works import carried_state, merged_targets
from reconciler.dialects.karmada.detector.binding_draft import Draft
from reconciler.dialects.karmada.eviction import Eviction, Failing
from reconciler.dialects.karmada.scheduler.schedule import ScheduleReason, ScheduleVerdict
from reconciler.dialects.karmada.view.aggregated_status import PLACED_AT, Feedback, with_feedback
from reconciler.manifests.admission import digest
from reconciler.model.body import Body
from reconciler.model.cluster import set_condition
from reconciler.model.decision import Placed
from reconciler.model.identity import ClusterName, ObjectKey, uid_of
from reconciler.model.moments import format_moment, stamp
from reconciler.model.world import Fault

DECISION_DIGEST = "reconciler.dev/decision-digest"


def binding_file(
    draft: Draft,
    spec: BindingSpec,
    status: BindingStatus,
    binding: Binding,
    verdict: ScheduleVerdict | None,
    feedback: Feedback,
    now: datetime,
    *,
    notes: Mapping[str, str],
) -> Body:
    """Return the whole file of a binding.

    `status` is that of the last pass; `notes` are annotations, left out where empty.
    """
    written = encode_spec(spec)
    recorded = draft.metadata.generation
    generation = recorded if says_the_same(draft.present, written) and recorded else recorded + 1
    annotations = {PLACED_AT: feedback.placed_at, **notes}
    annotations = {name: value for name, value in annotations.items() if value}
    metadata = _metadata(draft, verdict, annotations, generation, now)
    status = _status(status, binding, verdict, feedback, generation, now)
    return encode_manifest(metadata, written, status, draft.owners)


def _metadata(
    draft: Draft,
    verdict: ScheduleVerdict | None,
    notes: Mapping[str, str],
    generation: int,
    now: datetime,
) -> BindingMetadata:
    """Return the metadata of a binding."""
    annotations = dict(draft.annotations)
    applied = draft.metadata.note(APPLIED_PLACEMENT)
    if applied:
        annotations[APPLIED_PLACEMENT] = applied
    if verdict is not None and verdict.applied is not None:
        annotations[APPLIED_PLACEMENT] = verdict.applied
    return BindingMetadata(
        namespace=draft.key.namespace,
        name=draft.key.name,
        uid=uid_of(draft.key),
        generation=generation,
        creation_timestamp=draft.metadata.creation_timestamp or stamp(now),
        annotations={**annotations, **notes},
        labels=draft.labels,
    )


def _status(
    status: BindingStatus,
    binding: Binding,
    verdict: ScheduleVerdict | None,
    feedback: Feedback,
    generation: int,
    now: datetime,
) -> BindingStatus:
    """Return the status of a binding.

    Consuming a rebalancer's trigger must be seen in lastScheduledTime, so there it is no stamp.
    """
    if verdict is not None:
        if verdict.error is None and verdict.trigger is not ScheduleReason.DELETING:
            status = status._replace(observed_generation=generation)
        if verdict.observed_affinity:
            status = status._replace(observed_affinity=verdict.observed_affinity)
        if verdict.scheduled:
            moment = format_moment(now) if binding.reschedule_required else stamp(now)
            status = status._replace(last_scheduled_time=moment)
        if verdict.condition is not None:
            present = status.conditions or ()
            conditions = set_condition(present, verdict.condition, at=stamp(now))
            status = status._replace(conditions=conditions)
    return with_feedback(status, feedback, now)


def digest_of(clusters: Placed, resource: ObjectReference) -> str:
    """Return the digest by which a later pass sees that a person edited the decision.

    Args:
        clusters: Where the workload is.
        resource: The workload; a uid that it brought from a hub counts, since ties go by it.
    """
    brought = resource.uid if resource.uid != uid_of(resource.key) else ""
    return _digest_of(clusters, brought)


@lru_cache(maxsize=1024)  # many bindings are on the same clusters, and most stay there
def _digest_of(clusters: Placed, uid: str) -> str:
    return digest([*([name, replicas] for name, replicas in clusters), *([uid] if uid else [])])


def is_edited(metadata: BindingMetadata, before: Placed, resource: ObjectReference) -> bool:
    """Return whether the decision of a file is not what the last pass wrote.

    Args:
        metadata: Of the file, empty where there is none.
        before: The clusters in it, by name.
        resource: The workload in it.
    """
    written = metadata.note(DECISION_DIGEST)
    return bool(written) and written != digest_of(before, resource)


PathOf = Callable[[ObjectKey], str]


def unpreserved_faults(
    draft: Draft, path_of: PathOf, eviction: Eviction | None, failing: Failing
) -> Iterator[Fault]:
    """Yield a fault for each cluster that is not left, and one for the application's failover.

    Args:
        draft: The binding.
        path_of: Returns where its file stands.
        eviction: What taints make of it, `None` if no cluster of its has any.
        failing: Where it is unhealthy.
    """
    for decision in () if eviction is None else eviction.decisions:
        if decision.unpreserved:
            yield _fault(draft, path_of, "cluster", decision.unpreserved)
    if failing.unpreserved:
        yield _fault(draft, path_of, "application", failing.unpreserved)


def _fault(draft: Draft, path_of: PathOf, behavior: str, why: str) -> Fault:
    """Return the fault at the binding's file, which holds the rules of its policy."""
    field = f"/spec/failover/{behavior}/statePreservation"
    policy = "its policy" if draft.policy is None else str(draft.policy.key)
    return Fault(
        path=path_of(draft.key),
        line=0,
        column=0,
        field=field,
        rule="failover-state",
        message=f"{draft.subject} stays where it fails, or its state would be lost: {why}",
        expected=f"rules in {field} of {policy} that find label values in the status",
        subject=str(draft.key),
    )


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
    parts = []
    for name, reason in reasons.items():
        copy = _copy(tasks[name]) if name in tasks else ""
        parts.append(f"{name}: {reason}{f'; its copy {copy}' if copy else ''}")
    labels = labels_text(carried_state(spec, merged_targets(spec)))
    return f"{', '.join(parts)}{f'; the new copy gets {labels}' if labels else ''}"


def labels_text(labels: Mapping[str, str]) -> str:
    """Return labels as kubectl shows them."""
    return ",".join(f"{name}={value}" for name, value in sorted(labels.items()))


def _copy(task: EvictionTask) -> str:
    """Return how a copy goes that does not wait for another one to be healthy."""
    if task.directly:
        return "goes at once"
    if task.kept:
        return "stays until another cluster has taken its place"
    return "stays until a person lifts `suppressDeletion`" if task.suppress_deletion else ""
