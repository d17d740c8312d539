"""The binding of a workload: what a policy says of a template, kept beside what was decided."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from reconciler.dialects.karmada.api.custom_kinds import BUILT_IN, CustomKinds
from reconciler.dialects.karmada.api.groups import WORK_GROUP
from reconciler.dialects.karmada.api.interpreter import demand_of
from reconciler.dialects.karmada.api.placement import Placement, decode_placement
from reconciler.dialects.karmada.api.policies import Policy, Template
from reconciler.dialects.karmada.api.replica_requirements import ReplicaRequirements
from reconciler.dialects.karmada.api.work.binding_metadata import (
    BINDING,
    CLUSTER_BINDING,
    BindingMetadata,
    decode_metadata,
)
from reconciler.dialects.karmada.api.work.binding_spec import (
    NO_REFERENCE,
    BindingSnapshot,
    BindingSpec,
    ObjectReference,
    decode_spec,
    encode_priority,
    with_scheduling,
)
from reconciler.dialects.karmada.api.work.binding_status import BindingStatus, decode_status
from reconciler.dialects.karmada.api.work.hub_marks import kept_ids
from reconciler.dialects.karmada.detector.claim_marks import (
    claim_annotations,
    claim_labels,
)
from reconciler.errors import UserError
from reconciler.manifests.names import built_name
from reconciler.model.body import Body
from reconciler.model.identity import ObjectKey, uid_of

GROUP = WORK_GROUP

TEMPLATE_DIGEST = "reconciler.dev/template-digest"
"""Annotation, under Lazy policies only: the workload that the binding last followed."""

NEW, UNNAMED = BindingSpec(resource=NO_REFERENCE), BindingMetadata()
"""What a binding says that is not there yet."""


class Requiring(NamedTuple):
    """What a binding that another one requires takes of that one; `None` where it says nothing.

    Attributes:
        taken: Who it is, and where.
        conflict_resolution: What happens where a cluster has such an object already.
        preserves: Whether the copies outlive it.
    """

    taken: BindingSnapshot
    conflict_resolution: str | None
    preserves: bool | None


class Draft(NamedTuple):
    """A binding before its round: what its workload and policy want, and how it stood.

    Attributes:
        key: Of the binding.
        subject: The workload as people call it.
        policy: Who claims it; `None` leaves it where it is.
        spec: What is wanted, decisions so far included.
        resource: The reference to its workload.
        stood: The spec as the last pass left it, without anything if it is new.
        metadata: As the last pass left it.
        workload_labels: Labels of its workload.
        present: The binding's file as the last pass left it, `None` if it is new.
        labels: Of its claim, and the id that it had on a hub.
        annotations: Of its claim.
        owners: Its ownerReferences.
    """

    key: ObjectKey
    subject: str
    policy: Policy | None
    spec: BindingSpec
    resource: ObjectReference
    stood: BindingSpec
    metadata: BindingMetadata
    workload_labels: Mapping[str, str]
    present: Body | None
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    owners: Sequence[Body]

    def status(self) -> BindingStatus:
        """Decode the status as the last pass left it."""
        return decode_status(self.present or {})

    def placement(self) -> Placement | None:
        """Decode the placement that is wanted; that of a policy was decoded with it.

        Raises:
            UserError: That of a binding that follows no policy has a field of the wrong type.
        """
        wanted, policy = self.spec.placement, self.policy
        if policy is not None and wanted is policy.copied.placement:
            return policy.placement
        return None if wanted is None else decode_placement(wanted)


def draft_binding(
    template: Template,
    policy: Policy | None,
    present: Body | None,
    priority_classes: Mapping[str, int],
    custom_kinds: CustomKinds = BUILT_IN,
) -> Draft:
    """Return the binding of a workload before its round.

    Without a policy the binding keeps its spec and loses its claim. Under a policy with activation
    preference Lazy it keeps its spec until the workload itself changes.

    Args:
        template: The workload.
        policy: The policy that claims it, `None` if there is none.
        present: The binding's file as the last pass left it, `None` if it is new.
        priority_classes: Name to value of the PriorityClasses that there are.
        custom_kinds: Where custom kinds keep their replicas.

    Raises:
        UserError: The policy names a PriorityClass that is not there, or the workload's replicas
            are no number.

    Source: karmada@f8fdd02 pkg/detector/detector.go `ApplyPolicy`, pkg/detector/policy.go
    `HandlePropagationPolicyDeletion`.
    """
    stood = NEW if present is None else decode_spec(present)
    spec = stood._replace(components=()) if stood.components else stood
    annotations, reference = claim_annotations(policy), reference_to(template, stood)
    metadata = UNNAMED if present is None else decode_metadata(present)
    if policy is not None and policy.lazy:
        annotations[TEMPLATE_DIGEST] = template.digest
    if policy is not None and not (policy.lazy and _is_unchanged(template, stood, metadata)):
        demand = demand_of(template.api_version, template.key.kind, template.body, custom_kinds)
        spec = claimed_spec(reference, demand, policy, spec, priority_classes)
    key = template.key
    suspended = template.suspended or (policy is not None and policy.suspended)
    return Draft(
        key=binding_key(key),
        subject=f"{key.namespace}/{key.name}" if key.namespace else key.name,
        policy=policy,
        spec=with_scheduling(spec, suspended=suspended),
        resource=reference,
        stood=stood,
        metadata=metadata,
        workload_labels=template.labels,
        present=present,
        labels={**claim_labels(policy, metadata), **kept_ids(metadata)},
        annotations=annotations,
        owners=owner_references(template, reference.uid),
    )


def _is_unchanged(template: Template, stood: BindingSpec, metadata: BindingMetadata) -> bool:
    """Return whether a workload is as it was when its binding last followed it.

    A binding that was under no Lazy policy before cannot know; then the change is the policy's. One
    that is there only since others need its object was never placed by a policy.
    """
    if stood.placement is None:
        return False
    return metadata.note(TEMPLATE_DIGEST) in ("", template.digest)


def binding_key(template: ObjectKey) -> ObjectKey:
    """Return the key of a workload's binding, which is named after it and its kind.

    Source: karmada@f8fdd02 pkg/util/names/names.go `GenerateBindingName`.

    >>> binding_key(ObjectKey("rbac.authorization.k8s.io", "ClusterRole", "", "system:Admin")).name
    'system.admin-clusterrole'
    """
    kind = BINDING if template.namespace else CLUSTER_BINDING
    wanted = f"{template.name.replace(':', '.')}-{template.kind}".lower()
    # Unlike upstream: a name that its API server would refuse is mended.
    name = built_name(wanted, f"{template.kind}.{template.group} {template.name}")
    return ObjectKey(GROUP, kind, template.namespace, name)


def claimed_spec(
    resource: ObjectReference,
    demand: ReplicaRequirements | None,
    policy: Policy,
    stood: BindingSpec,
    priority_classes: Mapping[str, int],
) -> BindingSpec:
    """Return the spec of a claimed workload's binding.

    Args:
        resource: The reference to the workload.
        demand: What it asks for, `None` if its kind has no replicas.
        policy: Its policy.
        stood: The binding's spec so far, empty if it is new; what was decided is kept.
        priority_classes: Name to value.

    Raises:
        UserError: The policy names a PriorityClass that is not there.

    Source: karmada@f8fdd02 pkg/detector/detector.go `BuildResourceBinding`.
    """
    return policy.copied._replace(
        resource=resource,
        placement={} if policy.copied.placement is None else policy.copied.placement,
        replicas=None if demand is None else demand.replicas or None,
        requirements=None if demand is None else demand.requirements,
        clusters=stood.clusters,
        tasks=stood.tasks,
        required_by=stood.required_by,
        reschedule_triggered_at=stood.reschedule_triggered_at,
        priority=_priority(policy.priority_class, priority_classes),
    )


def _priority(name: str | None, priority_classes: Mapping[str, int]) -> Body | None:
    """Return the priority of a binding; the order of decisions does not depend on it here.

    Source: karmada@f8fdd02 pkg/detector/detector.go `getSchedulePriority`.
    """
    if name is None:
        return None
    if name not in priority_classes:
        raise UserError(
            f'priorityclasses.scheduling.k8s.io "{name}" not found',
            field="/spec/schedulePriority/priorityClassName",
        )
    return encode_priority(priority_classes[name])


def reference_to(template: Template, stood: BindingSpec) -> ObjectReference:
    """Return the reference to the workload; a uid that its binding had on a hub stays with it.

    Unlike upstream: there is no resourceVersion, which would change with each commit. Without a
    hub the uid follows from the identity.

    Args:
        template: The workload.
        stood: The binding's spec so far, empty if it is new.
    """
    key = template.key
    uid = stood.resource.uid if stood.resource.key == key else ""
    return ObjectReference(
        template.api_version, key.kind, key.namespace, key.name, uid or uid_of(key)
    )


def owner_references(template: Template, uid: str) -> Sequence[Body]:
    """Return the owner of a binding: its workload, by its uid."""
    return [
        {
            "apiVersion": template.api_version,
            "kind": template.key.kind,
            "name": template.key.name,
            "uid": uid,
            "controller": True,
            "blockOwnerDeletion": True,
        }
    ]
