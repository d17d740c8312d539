"""Which resources never leave their own cluster, whatever selects them."""

from collections.abc import Container, Mapping

from reconciler.dialects.kubefleet.api.groups import PLACEMENT_GROUP
from reconciler.errors import UserError
from reconciler.model import fields
from reconciler.model.identity import ObjectKey
from reconciler.model.known_kinds import Kind
from reconciler.model.world import Manifest

ENVELOPES: Mapping[Kind, bool] = {
    (PLACEMENT_GROUP, "ClusterResourceEnvelope"): False,
    (PLACEMENT_GROUP, "ResourceEnvelope"): True,
}
"""Whether each kind of envelope is namespaced."""
RESERVED = ("fleet-", "kube-")

_GROUPS = frozenset({"coordination.k8s.io", "events.k8s.io", "metrics.k8s.io"})
_NETWORKING = "networking.fleet.azure.com"
_KINDS = frozenset(
    {
        ("", "Node"),
        ("", "Pod"),
        (_NETWORKING, "ServiceImport"),
        (_NETWORKING, "TrafficManagerBackend"),
        (_NETWORKING, "TrafficManagerProfile"),
    }
)
_MANAGED_BY = "endpointslice.kubernetes.io/managed-by"


def is_disabled(group: str, kind: str, apis: Container[str]) -> bool:
    """Return whether a kind is never selected; of the scheduling APIs only envelopes are.

    Args:
        group: Of the kind.
        kind: Its name.
        apis: Groups of the scheduling APIs.

    Source: kubefleet@e160c1c pkg/utils/apiresources.go `NewResourceConfig`.

    >>> is_disabled("", "Pod", ()), is_disabled("apps", "Deployment", ())
    (True, False)
    """
    if (group, kind) in ENVELOPES:
        return False
    return group in apis or group in _GROUPS or (group, kind) in _KINDS


def propagates(manifest: Manifest, inputs: Mapping[ObjectKey, Manifest]) -> bool:
    """Return whether an object may leave its cluster, or is made by the cluster itself.

    Source: kubefleet@e160c1c pkg/utils/controller/resource_selector_resolver.go
    `ShouldPropagateObj`; PersistentVolumeClaims go along, since no workload runs on the hub.
    """
    key = manifest.key
    metadata = fields.mapping(manifest.body, "metadata")
    if metadata.get("deletionTimestamp"):
        return False
    match key.group, key.kind:
        case "apps", "ReplicaSet" | "ControllerRevision":
            return not metadata.get("ownerReferences")
        case "", "ConfigMap":
            return key.name != "kube-root-ca.crt"
        case "", "ServiceAccount":
            return key.name != "default"
        case "", "Secret":
            return manifest.body.get("type") != "kubernetes.io/service-account-token"
        case "", "Endpoints":
            return ObjectKey("", "Service", key.namespace, key.name) not in inputs
        case "discovery.k8s.io", "EndpointSlice":
            return _MANAGED_BY not in fields.mapping(metadata, "labels")
    return True


def check_namespace(name: str) -> None:
    """Refuse the namespaces that belong to Kubernetes and to the fleet.

    Unlike upstream: `default` may be placed. An object without a namespace stands there, so it is
    where a small repository has everything.

    Raises:
        UserError: It is reserved.

    Source: kubefleet@e160c1c pkg/utils/common.go `ShouldPropagateNamespace`.
    """
    if name.startswith(RESERVED):
        raise UserError(
            f"the namespace {name} must not be placed, names that begin with "
            f"{' or '.join(RESERVED)} are reserved",
            field="/spec/resourceSelectors",
        )
