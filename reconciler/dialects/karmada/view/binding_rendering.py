"""The file of a binding: metadata, spec and status as a round leaves them."""

from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache

from reconciler.dialects.karmada.api.applied_placement import APPLIED_PLACEMENT
from reconciler.dialects.karmada.api.binding import Binding
from reconciler.dialects.karmada.detector.binding_draft import API_VERSION, Draft
from reconciler.dialects.karmada.scheduler.schedule_result import ScheduleVerdict
from reconciler.dialects.karmada.scheduler.triggers import ScheduleReason
from reconciler.dialects.karmada.view.aggregated_status import PLACED_AT, Feedback, with_feedback
from reconciler.manifests.admission import digest
from reconciler.model.body import Body
from reconciler.model.conditions import set_condition
from reconciler.model.decision import Placed
from reconciler.model.fields import bodies, mapping, number, text
from reconciler.model.identity import ClusterName, uid_of
from reconciler.model.moments import format_moment, stamp

DECISION_DIGEST = "reconciler.dev/decision-digest"


def binding_file(
    draft: Draft,
    spec: Body,
    after: Placed,
    binding: Binding,
    verdict: ScheduleVerdict | None,
    feedback: Feedback,
    now: datetime,
    *,
    notes: Mapping[str, str],
) -> Body:
    """Return the whole file of a binding.

    `after` are the clusters of the spec by name; `notes` are annotations, left out where empty.
    """
    present = draft.present
    known = number(draft.metadata, "generation")
    same = present is not None and mapping(present, "spec") == spec
    generation = known if same and known else known + 1
    kept = {PLACED_AT: feedback.placed_at, **notes}
    kept = {name: value for name, value in kept.items() if value}
    kept[DECISION_DIGEST] = digest_of(after)
    return {
        "apiVersion": API_VERSION,
        "kind": draft.key.kind,
        "metadata": _metadata(draft, verdict, kept, generation, now),
        "spec": spec,
        "status": _status(draft, binding, verdict, feedback, generation, now),
    }


def _metadata(
    draft: Draft,
    verdict: ScheduleVerdict | None,
    notes: Mapping[str, str],
    generation: int,
    now: datetime,
) -> Body:
    """Return the metadata of a binding."""
    annotations = dict(draft.annotations)
    applied = text(mapping(draft.metadata, "annotations"), APPLIED_PLACEMENT)
    if applied:
        annotations[APPLIED_PLACEMENT] = applied
    if verdict is not None and verdict.applied is not None:
        annotations[APPLIED_PLACEMENT] = verdict.applied
    annotations |= notes
    metadata: dict[str, object] = {"name": draft.key.name}
    if draft.key.namespace:
        metadata["namespace"] = draft.key.namespace
    metadata |= {
        "uid": uid_of(draft.key),
        "creationTimestamp": text(draft.metadata, "creationTimestamp") or stamp(now),
        "generation": generation,
        "annotations": {name: annotations[name] for name in sorted(annotations)},
    }
    if draft.labels:
        metadata["labels"] = dict(draft.labels)
    metadata["ownerReferences"] = draft.owners
    return metadata


def _status(
    draft: Draft,
    binding: Binding,
    verdict: ScheduleVerdict | None,
    feedback: Feedback,
    generation: int,
    now: datetime,
) -> Body:
    """Return the status of a binding.

    Consuming a rebalancer's trigger must be seen in lastScheduledTime, so there it is no stamp.
    """
    status = dict(draft.status)
    if verdict is not None:
        if verdict.error is None and verdict.trigger is not ScheduleReason.DELETING:
            status["schedulerObservedGeneration"] = generation
        if verdict.observed_affinity:
            status["schedulerObservingAffinityName"] = verdict.observed_affinity
        if verdict.scheduled:
            moment = format_moment(now) if binding.reschedule_required else stamp(now)
            status["lastScheduledTime"] = moment
        if verdict.condition is not None:
            conditions = bodies(status, "conditions")
            status["conditions"] = set_condition(conditions, verdict.condition, at=stamp(now))
    status = dict(with_feedback(status, feedback, now))
    order = (
        "schedulerObservedGeneration",
        "schedulerObservingAffinityName",
        "lastScheduledTime",
        "conditions",
        "aggregatedStatus",
    )
    return {name: status[name] for name in order if name in status}


@lru_cache(maxsize=1024)  # many bindings are on the same clusters, and most stay there
def digest_of(clusters: Placed) -> str:
    """Return the digest by which a later pass sees that a person edited the clusters."""
    return digest([[name, replicas] for name, replicas in clusters])


def is_edited(present: Body, before: Placed) -> bool:
    """Return whether the clusters of a file, by name, differ from what the last pass wrote."""
    written = text(mapping(mapping(present, "metadata"), "annotations"), DECISION_DIGEST)
    return bool(written) and written != digest_of(before)


def placed(spec: Body) -> Placed:
    """Return the clusters of a binding's spec with their replicas, by name."""
    return tuple(
        sorted(
            (ClusterName(text(cluster, "name")), number(cluster, "replicas"))
            for cluster in bodies(spec, "clusters")
        )
    )
