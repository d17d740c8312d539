"""Live bindings as state of ours: the clusters, what they were scheduled by, and when.

Ids that a hub drew at random, and the generation that its API server counted, stand in what it
delivered: they are kept, so that the switch touches no object for them alone.
"""

from collections.abc import Mapping
from datetime import datetime

from reconciler.dialects.importer import Adopted
from reconciler.dialects.karmada.api.applied_placement import APPLIED_PLACEMENT
from reconciler.dialects.karmada.api.binding import workload_key
from reconciler.dialects.karmada.api.policies import template_of
from reconciler.dialects.karmada.api.work.binding_metadata import (
    BINDING,
    CLUSTER_BINDING,
    BindingMetadata,
    decode_metadata,
    encode_manifest,
)
from reconciler.dialects.karmada.api.work.binding_spec import decode_spec, encode_spec
from reconciler.dialects.karmada.api.work.binding_status import (
    BindingStatus,
    decode_status,
)
from reconciler.dialects.karmada.api.work.hub_marks import HubMarks, encode_marks, kept_ids
from reconciler.dialects.karmada.detector.binding_draft import GROUP
from reconciler.dialects.karmada.detector.claim_marks import (
    CLUSTER_POLICY_ID,
    CLUSTER_POLICY_NAME,
    POLICY_ID,
    POLICY_NAME,
    POLICY_NAMESPACE,
    claimant_of,
)
from reconciler.dialects.karmada.imports.live_works import marks_of, works_by_binding
from reconciler.dialects.karmada.view.aggregated_status import PLACED_AT
from reconciler.dialects.karmada.view.binding_rendering import DECISION_DIGEST, digest_of
from reconciler.manifests.annotation_json import write_note
from reconciler.model.body import Body
from reconciler.model.identity import ObjectKey, uid_of
from reconciler.model.labels import is_label_value
from reconciler.model.moments import is_moment
from reconciler.model.world import World

KEPT_ANNOTATIONS = (APPLIED_PLACEMENT, POLICY_NAMESPACE, POLICY_NAME, CLUSTER_POLICY_NAME)


def adopt(world: World, live: Mapping[ObjectKey, Body], _now: datetime) -> Adopted:
    """Return the state of the live bindings whose workload is in the repository.

    A pass schedules a binding whose applied placement or observed generation is another than it
    wants, so both are kept, as is the moment of the last scheduling, which rebalancers are compared
    with, and the uid of the workload, by which ties go. The ids of bindings and policies are kept,
    too, and where the export has its Works, theirs and the generation that they were made from.
    """
    works = works_by_binding(live)
    outputs: dict[ObjectKey, Body] = {}
    left: dict[ObjectKey, str] = {}
    lacking: dict[ObjectKey, ObjectKey] = {}
    for key, body in live.items():
        if key.group != GROUP or key.kind not in (BINDING, CLUSTER_BINDING):
            continue
        workload = workload_key(body)
        if decode_metadata(body).deleting:
            left[key] = "it is being deleted"
        elif workload not in world.inputs:
            lacking[key] = workload
        else:
            template = template_of(world.inputs[workload])
            marks = marks_of(works.get(key, ()), template, decode_spec(body))
            outputs[key] = _binding(key, body, workload, marks)
    return Adopted(outputs=outputs, left=left, lacking=lacking)


def _healthy_since(status: BindingStatus) -> dict[str, str]:
    """Return the clusters that run it well, as chosen at the last scheduling.

    So they are not awaited; of the others nothing is assumed before its time.
    """
    at = status.last_scheduled_time or ""
    items = status.aggregated if is_moment(at) else ()
    return {item.cluster: at for item in items if item.applied and item.health == "Healthy"}


def _binding(key: ObjectKey, body: Body, workload: ObjectKey, marks: HubMarks) -> Body:
    """Return the file of a live binding."""
    metadata, spec, status = decode_metadata(body), decode_spec(body), decode_status(body)
    written = metadata.annotations
    annotations = {name: written[name] for name in KEPT_ANNOTATIONS if name in written}
    resource = spec.resource._replace(
        uid=spec.resource.uid or uid_of(workload), resource_version=""
    )
    annotations[DECISION_DIGEST] = digest_of(spec.placed, resource)
    known = _healthy_since(status)
    if known:
        annotations[PLACED_AT] = write_note(known)
    annotations |= {name: value for name, value in encode_marks(marks).items() if value}
    kept = BindingMetadata(
        namespace=key.namespace,
        name=key.name,
        uid=uid_of(key),
        generation=metadata.generation,
        creation_timestamp=metadata.creation_timestamp,
        annotations=annotations,
        labels={**_claim(metadata), **kept_ids(metadata)},
    )
    return encode_manifest(kept, encode_spec(spec._replace(resource=resource)), status)


def _claim(metadata: BindingMetadata) -> Mapping[str, str]:
    """Return the label of the claim: the id that the hub has, or ours where that is no label."""
    policy = claimant_of(metadata)
    if policy is None:
        return {}
    label = POLICY_ID if policy.namespace else CLUSTER_POLICY_ID
    known = metadata.label(label)
    return {label: known if is_label_value(known) else uid_of(policy)}
