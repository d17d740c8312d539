"""The file of a binding: metadata, spec and status as a round leaves them."""

from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache

from reconciler.dialects.karmada.api.applied_placement import APPLIED_PLACEMENT
from reconciler.dialects.karmada.api.binding import Binding
from reconciler.dialects.karmada.api.work.binding_spec import BindingSpec, encode_spec
from reconciler.dialects.karmada.api.work.binding_status import BindingStatus, encode_status
from reconciler.dialects.karmada.detector.binding_draft import API_VERSION, Draft
from reconciler.dialects.karmada.scheduler.schedule_result import ScheduleVerdict
from reconciler.dialects.karmada.scheduler.triggers import ScheduleReason
from reconciler.dialects.karmada.view.aggregated_status import PLACED_AT, Feedback, with_feedback
from reconciler.manifests.admission import digest
from reconciler.model.body import Body
from reconciler.model.conditions import set_condition
from reconciler.model.decision import Placed
from reconciler.model.fields import mapping, number, text
from reconciler.model.identity import uid_of
from reconciler.model.moments import format_moment, stamp

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
    present, written = draft.present, encode_spec(spec)
    known = number(draft.metadata, "generation")
    same = present is not None and mapping(present, "spec") == written
    generation = known if same and known else known + 1
    kept = {PLACED_AT: feedback.placed_at, **notes}
    kept = {name: value for name, value in kept.items() if value}
    return {
        "apiVersion": API_VERSION,
        "kind": draft.key.kind,
        "metadata": _metadata(draft, verdict, kept, generation, now),
        "spec": written,
        "status": encode_status(_status(status, binding, verdict, feedback, generation, now)),
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
            known = status.conditions or ()
            conditions = set_condition(known, verdict.condition, at=stamp(now))
            status = status._replace(conditions=conditions)
    return with_feedback(status, feedback, now)


@lru_cache(maxsize=1024)  # many bindings are on the same clusters, and most stay there
def digest_of(clusters: Placed) -> str:
    """Return the digest by which a later pass sees that a person edited the clusters."""
    return digest([[name, replicas] for name, replicas in clusters])


def is_edited(present: Body, before: Placed) -> bool:
    """Return whether the clusters of a file, by name, differ from what the last pass wrote."""
    written = text(mapping(mapping(present, "metadata"), "annotations"), DECISION_DIGEST)
    return bool(written) and written != digest_of(before)
