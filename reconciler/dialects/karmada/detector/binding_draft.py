"""The binding of a workload: what a policy says of a template, kept beside what was decided."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from reconciler.dialects.karmada.api.custom_kinds import BUILT_IN, CustomKinds
from reconciler.dialects.karmada.api.groups import WORK_GROUP
from reconciler.dialects.karmada.api.interpreter import demand_of
from reconciler.dialects.karmada.api.policies import Policy, Template
from reconciler.dialects.karmada.api.replica_requirements import ReplicaRequirements
from reconciler.dialects.karmada.detector.claim_marks import (
    claim_annotations,
    claim_labels,
)
from reconciler.errors import UserError
from reconciler.model.body import Body
from reconciler.model.fields import bodies, mapping, mapping_or_none, text
from reconciler.model.identity import ObjectKey, uid_of

GROUP = WORK_GROUP
API_VERSION = "work.karmada.io/v1alpha2"
BINDING = "ResourceBinding"
CLUSTER_BINDING = "ClusterResourceBinding"

TEMPLATE_DIGEST = "reconciler.dev/template-digest"
"""Annotation, under Lazy policies only: the workload that the binding last followed."""

COPIED = (
    "propagateDeps",
    "schedulerName",
    "failover",
    "conflictResolution",
    "suspension",
    "preserveResourcesOnDeletion",
)
"""Fields that a binding takes from its policy as they are, besides the placement."""

DECIDED = ("clusters", "gracefulEvictionTasks", "requiredBy", "rescheduleTriggeredAt")
"""Fields that decisions write; an update of the template or policy keeps them."""

ORDER = (
    "resource",
    "replicas",
    "replicaRequirements",
    "clusters",
    "placement",
    "gracefulEvictionTasks",
    "requiredBy",
    "rescheduleTriggeredAt",
    "propagateDeps",
    "schedulerName",
    "conflictResolution",
    "failover",
    "schedulePriority",
    "suspension",
    "preserveResourcesOnDeletion",
)
"""Order of the fields in the file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A binding before its round: what its workload and policy want, and how it stood.

    Attributes:
        key: Of the binding.
        subject: The workload as people call it.
        policy: Who claims it; `None` leaves it where it is.
        spec: What is wanted, decisions so far included.
        resource: The reference to its workload.
        workload_labels: Labels of its workload.
        present: The binding's file as the last pass left it, `None` if it is new.
        labels: Of its claim.
        annotations: Of its claim.
        owners: Its ownerReferences.
    """

    key: ObjectKey
    subject: str
    policy: Policy | None
    spec: Body
    resource: Body
    workload_labels: Mapping[str, str]
    present: Body | None
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    owners: Sequence[Body]

    @property
    def metadata(self) -> Body:
        """Metadata as the last pass left it."""
        return mapping(self.present or {}, "metadata")

    @property
    def status(self) -> Body:
        """Status as the last pass left it."""
        return mapping(self.present or {}, "status")


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
    spec = mapping(present or {}, "spec")
    annotations = claim_annotations(policy)
    if policy is not None and policy.lazy:
        annotations[TEMPLATE_DIGEST] = template.digest
    if policy is not None and not (policy.lazy and _is_unchanged(template, present)):
        demand = demand_of(template.api_version, template.key.kind, template.body, custom_kinds)
        spec = claimed_spec(template, demand, policy.spec, spec, priority_classes)
    key = template.key
    suspended = template.suspended or (policy is not None and policy.suspended)
    return Draft(
        key=binding_key(key),
        subject=f"{key.namespace}/{key.name}" if key.namespace else key.name,
        policy=policy,
        spec=_with_suspension(spec, suspended=suspended),
        resource=_resource(template),
        workload_labels=template.labels,
        present=present,
        labels=claim_labels(policy),
        annotations=annotations,
        owners=owner_references(template),
    )


def _is_unchanged(template: Template, present: Body | None) -> bool:
    """Return whether a workload is as it was when its binding last followed it.

    A binding that was under no Lazy policy before cannot know; then the change is the policy's. One
    that is there only since others need its object was never placed by a policy.
    """
    if present is None or "placement" not in mapping(present, "spec"):
        return False
    annotations = mapping(mapping(present, "metadata"), "annotations")
    return text(annotations, TEMPLATE_DIGEST) in ("", template.digest)


def _with_suspension(spec: Body, *, suspended: bool) -> Body:
    """Return a spec whose scheduling is suspended, or is not."""
    present = mapping(spec, "suspension")
    rest = {name: value for name, value in present.items() if name != "scheduling"}
    suspension = {**rest, "scheduling": True} if suspended else rest
    kept = {name: value for name, value in spec.items() if name != "suspension"}
    return ordered({**kept, "suspension": suspension} if suspension else kept)


def binding_name(kind: str, name: str) -> str:
    """Return the name of a workload's binding.

    Source: karmada@f8fdd02 pkg/util/names/names.go `GenerateBindingName`.

    >>> binding_name("ClusterRole", "system:Admin")
    'system.admin-clusterrole'
    """
    return f"{name.replace(':', '.')}-{kind}".lower()


def binding_key(template: ObjectKey) -> ObjectKey:
    """Return the key of a workload's binding."""
    kind = BINDING if template.namespace else CLUSTER_BINDING
    return ObjectKey(GROUP, kind, template.namespace, binding_name(template.kind, template.name))


def named_by(draft: Draft) -> frozenset[str]:
    """Return the clusters that a binding names."""
    return frozenset(text(item, "name") for item in bodies(draft.spec, "clusters"))


def claimed_spec(
    template: Template,
    demand: ReplicaRequirements | None,
    policy_spec: Body,
    present: Body,
    priority_classes: Mapping[str, int],
) -> Body:
    """Return the spec of a claimed workload's binding.

    Args:
        template: The workload.
        demand: What it asks for, `None` if its kind has no replicas.
        policy_spec: Its policy's spec after defaults and mutation.
        present: The binding's spec so far, empty if it is new; its decisions are kept.
        priority_classes: Name to value.

    Raises:
        UserError: The policy names a PriorityClass that is not there.

    Source: karmada@f8fdd02 pkg/detector/detector.go `BuildResourceBinding`.
    """
    spec: dict[str, object] = {"resource": _resource(template)}
    if demand is not None:
        if demand.replicas:
            spec["replicas"] = demand.replicas
        if demand.requirements is not None:
            spec["replicaRequirements"] = demand.requirements
    spec["placement"] = mapping(policy_spec, "placement")
    spec |= {name: policy_spec[name] for name in COPIED if policy_spec.get(name) is not None}
    spec |= {name: present[name] for name in DECIDED if present.get(name) is not None}
    if mapping_or_none(policy_spec, "schedulePriority") is not None:
        spec["schedulePriority"] = _priority(
            mapping(policy_spec, "schedulePriority"), priority_classes
        )
    return ordered(spec)


def _priority(wanted: Body, priority_classes: Mapping[str, int]) -> Body:
    """Return the priority of a binding; the order of decisions does not depend on it here.

    Source: karmada@f8fdd02 pkg/detector/detector.go `getSchedulePriority`.
    """
    name = text(wanted, "priorityClassName")
    if name not in priority_classes:
        raise UserError(
            f'priorityclasses.scheduling.k8s.io "{name}" not found',
            field="/spec/schedulePriority/priorityClassName",
        )
    return {"priority": priority_classes[name]}


def ordered(spec: Mapping[str, object]) -> Body:
    """Return a binding's spec in the order of the file."""
    return {name: spec[name] for name in ORDER if name in spec}


def _resource(template: Template) -> Body:
    """Return the reference to the workload.

    Unlike upstream: there is no resourceVersion, which would change with each commit.
    """
    key = template.key
    resource = {"apiVersion": template.api_version, "kind": key.kind}
    if key.namespace:
        resource["namespace"] = key.namespace
    resource["name"] = key.name
    resource["uid"] = uid_of(key)
    return resource


def owner_references(template: Template) -> Sequence[Body]:
    """Return the owner of a binding: its workload."""
    return [
        {
            "apiVersion": template.api_version,
            "kind": template.key.kind,
            "name": template.key.name,
            "uid": uid_of(template.key),
            "controller": True,
            "blockOwnerDeletion": True,
        }
    ]
