"""The file of a binding: metadata, spec and status as a round leaves them."""

from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache

from reconciler.dialects.karmada.api.applied_placement import APPLIED_PLACEMENT
from reconciler.dialects.karmada.api.binding import Binding
from reconciler.dialects.karmada.api.work.binding_metadata import (
    BindingMetadata,
    encode_manifest,
    says_the_same,
)
from reconciler.dialects.karmada.api.work.binding_spec import (
    BindingSpec,
    ObjectReference,
    encode_spec,
)
from reconciler.dialects.karmada.api.work.binding_status import BindingStatus
from reconciler.dialects.karmada.detector.binding_draft import Draft
from reconciler.dialects.karmada.scheduler.schedule_result import ScheduleVerdict
from reconciler.dialects.karmada.scheduler.triggers import ScheduleReason
from reconciler.dialects.karmada.view.aggregated_status import PLACED_AT, Feedback, with_feedback
from reconciler.manifests.admission import digest
from reconciler.model.body import Body
from reconciler.model.conditions import set_condition
from reconciler.model.decision import Placed
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
    written = encode_spec(spec)
    known = draft.metadata.generation
    generation = known if says_the_same(draft.present, written) and known else known + 1
    kept = {PLACED_AT: feedback.placed_at, **notes}
    kept = {name: value for name, value in kept.items() if value}
    metadata = _metadata(draft, verdict, kept, generation, now)
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
            known = status.conditions or ()
            conditions = set_condition(known, verdict.condition, at=stamp(now))
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
