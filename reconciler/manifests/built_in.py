"""What every API server has by itself, so that no manifest needs to say it.

It is known where something refers to it, it is no file of an import, and it goes to clusters only
where a person wrote a manifest of it.
"""

from collections.abc import Mapping

from reconciler.model.identity import ObjectKey
from reconciler.model.known_kinds import Kind

PRIORITIES: Mapping[str, int] = {
    "system-cluster-critical": 2_000_000_000,
    "system-node-critical": 2_000_001_000,
}
"""The PriorityClasses by name; a manifest of that name counts instead.

Source: kubernetes@v1.33 pkg/apis/scheduling/v1/helpers.go `SystemPriorityClasses`.
"""

SYSTEM_NAMESPACE = "kube-"
"""How the names of the namespaces begin that are Kubernetes's own, with all that is in them."""

_RBAC = "rbac.authorization.k8s.io"
_SYSTEM = "system:"
_NAMES: Mapping[Kind, frozenset[str]] = {
    ("", "ConfigMap"): frozenset({"kube-root-ca.crt"}),
    ("", "Namespace"): frozenset({"default"}),
    ("", "ServiceAccount"): frozenset({"default"}),
    (_RBAC, "ClusterRole"): frozenset({"admin", "cluster-admin", "edit", "view"}),
    (_RBAC, "ClusterRoleBinding"): frozenset({"cluster-admin"}),
    ("scheduling.k8s.io", "PriorityClass"): frozenset(PRIORITIES),
}
_BEGINNINGS: Mapping[Kind, str] = {
    ("", "Namespace"): SYSTEM_NAMESPACE,
    (_RBAC, "ClusterRole"): _SYSTEM,
    (_RBAC, "ClusterRoleBinding"): _SYSTEM,
    (_RBAC, "Role"): _SYSTEM,
    (_RBAC, "RoleBinding"): _SYSTEM,
}
_SERVICE = ObjectKey("", "Service", "default", "kubernetes")


def is_built_in(key: ObjectKey) -> bool:
    """Return whether every API server has an object by itself.

    Source: kubernetes@v1.33 plugin/pkg/auth/authorizer/rbac/bootstrappolicy/policy.go
    `ClusterRoles`, `ClusterRoleBindings`; pkg/controlplane/controller/systemnamespaces and
    kubernetesservice; pkg/controller/certificates/rootcacertpublisher and serviceaccount.

    >>> is_built_in(ObjectKey("", "Namespace", "", "kube-system"))
    True
    >>> is_built_in(ObjectKey("", "ServiceAccount", "shop", "builder"))
    False
    """
    kind = key.group, key.kind
    if key.name in _NAMES.get(kind, frozenset()) or key == _SERVICE:
        return True
    beginning = _BEGINNINGS.get(kind)
    return beginning is not None and key.name.startswith(beginning)
