"""The draft of a binding: what a policy wants of a workload, beside what was decided before.

A label and annotations mark the policy that claims the binding. Dependencies are the Secrets,
ConfigMaps and other objects that the pods of a workload mention.

Source: karmada@f8fdd02 pkg/detector/claim.go; the claim stands on the binding here, since a
person's file is never rewritten. What is delivered has it, as upstream's template does.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from reconciler.dialects.karmada.api.binding import (
    BINDING,
    CLUSTER_BINDING,
    BindingMetadata,
    BindingStatus,
    decode_marks,
    decode_metadata,
    decode_status,
)
from reconciler.dialects.karmada.api.binding_spec import (
    NO_REFERENCE,
    BindingSnapshot,
    BindingSpec,
    ObjectReference,
    decode_spec,
    encode_priority,
    with_scheduling,
)
from reconciler.dialects.karmada.api.names import INGRESS, POLICY_GROUP, WORK_GROUP
from reconciler.dialects.karmada.api.placement import Placement, decode_placement
from reconciler.dialects.karmada.api.policy import NAMESPACED, Policy, Template
from reconciler.dialects.karmada.api.work import kept_ids
from reconciler.dialects.karmada.api.workload import (
    BUILT_IN,
    CustomKinds,
    ReplicaRequirements,
    demand_of,
)
from reconciler.errors import UserError
from reconciler.model.body import Body
from reconciler.model.fields import at, mappings_of
from reconciler.model.identity import ObjectKey, uid_of
from reconciler.model.labels import is_label_value
from reconciler.model.remembered import Same
from reconciler.model.text import built_name

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

    def question(self, breaks_ties: Callable[[str], bool]) -> tuple[object, ...]:
        """Return what of a new binding decides where it goes, as a key.

        Args:
            breaks_ties: What the uid says of ties.
        """
        spec, resource = self.spec, self.resource
        ties = breaks_ties(resource.uid)
        return Same(self.policy), resource[:3], spec.replicas, str(spec.requirements), ties

    def asks_as(self, other: "Draft") -> bool:
        """Return whether one with an equal question differs in nothing but names and uids."""
        wanted = self.spec._replace(resource=other.resource), self.labels, self.annotations
        return wanted == (other.spec, other.labels, other.annotations)


def draft_binding(
    template: Template,
    policy: Policy | None,
    present: Body | None,
    priority_classes: Mapping[str, int],
    custom_kinds: CustomKinds = BUILT_IN,
    before: Draft | None = None,
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
        before: What came of the very same when the binding's file was another one, `None` if that
            is not known.

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
        recorded = metadata.note(TEMPLATE_DIGEST)
        annotations[TEMPLATE_DIGEST] = recorded if template.is_at(recorded) else template.digest
    if policy is not None and not (policy.lazy and _is_unchanged(template, stood, metadata)):
        if before is None or policy.lazy:
            demand = demand_of(template.api_version, template.key.kind, template.body, custom_kinds)
            spec = claimed_spec(reference, demand, policy, spec, priority_classes)
        else:
            spec = _decided_as(before.spec, spec)._replace(resource=reference)
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
    recorded = metadata.note(TEMPLATE_DIGEST)
    return not recorded or template.is_at(recorded)


@lru_cache(maxsize=1 << 14)  # asked of each workload nine times in a first pass
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
    return ObjectKey(WORK_GROUP, kind, template.namespace, name)


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
    wanted = policy.copied._replace(
        resource=resource,
        placement={} if policy.copied.placement is None else policy.copied.placement,
        replicas=None if demand is None else demand.replicas or None,
        requirements=None if demand is None else demand.requirements,
        priority=_priority(policy.priority_class, priority_classes),
    )
    return _decided_as(wanted, stood)


def _decided_as(wanted: BindingSpec, stood: BindingSpec) -> BindingSpec:
    """Return what is wanted with all that was decided on."""
    return wanted._replace(
        clusters=stood.clusters,
        tasks=stood.tasks,
        required_by=stood.required_by,
        reschedule_triggered_at=stood.reschedule_triggered_at,
        reschedule=stood.reschedule,
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


POLICY_NAMESPACE = "propagationpolicy.karmada.io/namespace"
POLICY_NAME = "propagationpolicy.karmada.io/name"
POLICY_ID = "propagationpolicy.karmada.io/permanent-id"
CLUSTER_POLICY_NAME = "clusterpropagationpolicy.karmada.io/name"
CLUSTER_POLICY_ID = "clusterpropagationpolicy.karmada.io/permanent-id"


def claimant(binding: Body | None) -> ObjectKey | None:
    """Return the policy that a binding belongs to, `None` if to none."""
    return None if binding is None else claimant_of(decode_marks(binding))


def claimant_of(metadata: BindingMetadata) -> ObjectKey | None:
    """Return the policy that a binding of this metadata belongs to, `None` if to none."""
    namespace, name = metadata.note(POLICY_NAMESPACE), metadata.note(POLICY_NAME)
    if namespace and name and metadata.label(POLICY_ID):
        return ObjectKey(POLICY_GROUP, NAMESPACED, namespace, name)
    name = metadata.note(CLUSTER_POLICY_NAME)
    if name and metadata.label(CLUSTER_POLICY_ID):
        return ObjectKey(POLICY_GROUP, "ClusterPropagationPolicy", "", name)
    return None


def claim_labels(policy: Policy | None, metadata: BindingMetadata) -> dict[str, str]:
    """Return the labels that a claim puts on a binding.

    A policy that claimed it before keeps the id that it has there, which may be one of a hub.

    Args:
        policy: Who claims it.
        metadata: Of the binding as it stood.
    """
    if policy is None:
        return {}
    label = POLICY_ID if policy.key.kind == NAMESPACED else CLUSTER_POLICY_ID
    recorded = metadata.label(label) if claimant_of(metadata) == policy.key else ""
    return {label: recorded if recorded and is_label_value(recorded) else uid_of(policy.key)}


def claim_annotations(policy: Policy | None) -> dict[str, str]:
    """Return the annotations that a claim puts on a binding."""
    if policy is None:
        return {}
    if policy.key.kind == NAMESPACED:
        return {POLICY_NAMESPACE: policy.key.namespace, POLICY_NAME: policy.key.name}
    return {CLUSTER_POLICY_NAME: policy.key.name}


def claim_of(metadata: BindingMetadata) -> tuple[Mapping[str, str], Mapping[str, str]]:
    """Return the labels and annotations by which a binding says who claims it.

    Source: karmada@f8fdd02 pkg/detector/claim.go `AddPPClaimMetadata`, `AddCPPClaimMetadata`; they
    put both onto the template.
    """
    labels = {name: metadata.label(name) for name in (POLICY_ID, CLUSTER_POLICY_ID)}
    notes = (POLICY_NAMESPACE, POLICY_NAME, CLUSTER_POLICY_NAME)
    annotations = {name: metadata.note(name) for name in notes}
    return (
        {name: value for name, value in labels.items() if value},
        {name: value for name, value in annotations.items() if value},
    )


SECRET = "Secret"  # noqa: S105  # a kind, no secret
CONFIG_MAP = "ConfigMap"
CLAIM = "PersistentVolumeClaim"
SERVICE_ACCOUNT = "ServiceAccount"

VOLUME_SECRETS: Mapping[str, tuple[str, ...]] = {
    "azureFile": ("secretName",),
    "cephfs": ("secretRef", "name"),
    "cinder": ("secretRef", "name"),
    "csi": ("nodePublishSecretRef", "name"),
    "flexVolume": ("secretRef", "name"),
    "iscsi": ("secretRef", "name"),
    "rbd": ("secretRef", "name"),
    "scaleIO": ("secretRef", "name"),
    "secret": ("secretName",),
    "storageos": ("secretRef", "name"),
}
"""Kind of volume to the field that names its Secret."""


def dependencies_of(workload: ObjectKey, api_version: str, body: Body) -> tuple[ObjectKey, ...]:
    """Return the objects that a workload's pods refer to, in its own namespace, sorted.

    Content that is not as Kubernetes would have it is passed over, as it is for replicas.

    Source: karmada@f8fdd02 pkg/resourceinterpreter/default/native/dependencies.go
    `getAllDefaultDependenciesInterpreter`, pkg/util/helper/dependency.go
    `GetDependenciesFromPodTemplate`.
    """
    find = _FINDERS.get((api_version, workload.kind))
    if find is None:
        return ()
    keys = {ObjectKey("", kind, workload.namespace, name) for kind, name in find(body) if name}
    return tuple(sorted(keys))


def _of_template(body: Body) -> Iterator[tuple[str, str]]:
    return _of_pod_spec(at(body, "spec", "template", "spec"))


def _of_stateful_set(body: Body) -> Iterator[tuple[str, str]]:
    """Leave out the claims that the set makes itself from its templates."""
    own = {
        _text(at(item, "metadata"), "name")
        for item in mappings_of(at(body, "spec").get("volumeClaimTemplates"))
    }
    return ((kind, name) for kind, name in _of_template(body) if kind != CLAIM or name not in own)


def _of_cron_job(body: Body) -> Iterator[tuple[str, str]]:
    return _of_pod_spec(at(body, "spec", "jobTemplate", "spec", "template", "spec"))


def _of_pod(body: Body) -> Iterator[tuple[str, str]]:
    return _of_pod_spec(at(body, "spec"))


def _of_ingress(body: Body) -> Iterator[tuple[str, str]]:
    return (
        (SECRET, _text(entry, "secretName")) for entry in mappings_of(at(body, "spec").get("tls"))
    )


_FINDERS: Mapping[tuple[str, str], Callable[[Body], Iterable[tuple[str, str]]]] = {
    ("apps/v1", "Deployment"): _of_template,
    ("apps/v1", "DaemonSet"): _of_template,
    ("apps/v1", "StatefulSet"): _of_stateful_set,
    ("batch/v1", "CronJob"): _of_cron_job,
    ("batch/v1", "Job"): _of_template,
    INGRESS: _of_ingress,
    ("v1", "Pod"): _of_pod,
}


def _of_pod_spec(pod: Body) -> Iterator[tuple[str, str]]:
    """Yield kind and name of all that a pod refers to; a name may be empty."""
    for secret in mappings_of(pod.get("imagePullSecrets")):
        yield SECRET, _text(secret, "name")
    account = _text(pod, "serviceAccountName")
    if account != "default":
        yield SERVICE_ACCOUNT, account
    for field in ("initContainers", "containers", "ephemeralContainers"):
        for container in mappings_of(pod.get(field)):
            yield from _of_container(container)
    for volume in mappings_of(pod.get("volumes")):
        yield from _of_volume(volume)


def _of_container(container: Body) -> Iterator[tuple[str, str]]:
    for variable in mappings_of(container.get("env")):
        yield SECRET, _text(at(variable, "valueFrom", "secretKeyRef"), "name")
        yield CONFIG_MAP, _text(at(variable, "valueFrom", "configMapKeyRef"), "name")
    for source in mappings_of(container.get("envFrom")):
        yield SECRET, _text(at(source, "secretRef"), "name")
        yield CONFIG_MAP, _text(at(source, "configMapRef"), "name")


def _of_volume(volume: Body) -> Iterator[tuple[str, str]]:
    for kind, path in VOLUME_SECRETS.items():
        yield SECRET, _text(at(volume, kind, *path[:-1]), path[-1])
    yield CONFIG_MAP, _text(at(volume, "configMap"), "name")
    yield CLAIM, _text(at(volume, "persistentVolumeClaim"), "claimName")
    for source in mappings_of(at(volume, "projected").get("sources")):
        yield SECRET, _text(at(source, "secret"), "name")
        yield CONFIG_MAP, _text(at(source, "configMap"), "name")


def _text(body: Body, field: str) -> str:
    """Return a text, `""` for anything else."""
    value = body.get(field)
    return value if isinstance(value, str) else ""
