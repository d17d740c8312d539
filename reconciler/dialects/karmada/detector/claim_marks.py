"""The marks by which a binding says which policy claims it: a label, and annotations.

Source: karmada@f8fdd02 pkg/detector/claim.go; the claim stands on the binding here, since a
person's file is never rewritten.
"""

from reconciler.dialects.karmada.api.groups import POLICY_GROUP
from reconciler.dialects.karmada.api.policies import NAMESPACED, Policy
from reconciler.dialects.karmada.api.work.binding_metadata import decode_metadata
from reconciler.model.body import Body
from reconciler.model.identity import ObjectKey, uid_of

POLICY_NAMESPACE = "propagationpolicy.karmada.io/namespace"
POLICY_NAME = "propagationpolicy.karmada.io/name"
POLICY_ID = "propagationpolicy.karmada.io/permanent-id"
CLUSTER_POLICY_NAME = "clusterpropagationpolicy.karmada.io/name"
CLUSTER_POLICY_ID = "clusterpropagationpolicy.karmada.io/permanent-id"


def claimant(binding: Body | None) -> ObjectKey | None:
    """Return the policy that a binding belongs to, `None` if to none."""
    if binding is None:
        return None
    metadata = decode_metadata(binding)
    namespace, name = metadata.note(POLICY_NAMESPACE), metadata.note(POLICY_NAME)
    if namespace and name and metadata.label(POLICY_ID):
        return ObjectKey(POLICY_GROUP, NAMESPACED, namespace, name)
    name = metadata.note(CLUSTER_POLICY_NAME)
    if name and metadata.label(CLUSTER_POLICY_ID):
        return ObjectKey(POLICY_GROUP, "ClusterPropagationPolicy", "", name)
    return None


def claim_labels(policy: Policy | None) -> dict[str, str]:
    """Return the labels that a claim puts on a binding."""
    if policy is None:
        return {}
    label = POLICY_ID if policy.key.kind == NAMESPACED else CLUSTER_POLICY_ID
    return {label: uid_of(policy.key)}


def claim_annotations(policy: Policy | None) -> dict[str, str]:
    """Return the annotations that a claim puts on a binding."""
    if policy is None:
        return {}
    if policy.key.kind == NAMESPACED:
        return {POLICY_NAMESPACE: policy.key.namespace, POLICY_NAME: policy.key.name}
    return {CLUSTER_POLICY_NAME: policy.key.name}
