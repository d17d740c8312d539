"""The marks by which a binding says which policy claims it: a label, and annotations.

Source: karmada@f8fdd02 pkg/detector/claim.go; the claim stands on the binding here, since a
person's file is never rewritten. What is delivered has it, as upstream's template does.
"""

from collections.abc import Mapping

from reconciler.dialects.karmada.api.groups import POLICY_GROUP
from reconciler.dialects.karmada.api.policies import NAMESPACED, Policy
from reconciler.dialects.karmada.api.work.binding_metadata import BindingMetadata, decode_marks
from reconciler.model.body import Body
from reconciler.model.identity import ObjectKey, uid_of
from reconciler.model.labels import is_label_value

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
    known = metadata.label(label) if claimant_of(metadata) == policy.key else ""
    return {label: known if known and is_label_value(known) else uid_of(policy.key)}


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
