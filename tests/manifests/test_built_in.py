"""What every API server has by itself."""

import pytest

from reconciler.manifests.identity import is_built_in
from reconciler.model.identity import ObjectKey

RBAC = "rbac.authorization.k8s.io"


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        pytest.param(("", "Namespace", "", "default"), True, id="namespace-default"),
        pytest.param(("", "Namespace", "", "kube-node-lease"), True, id="namespace-of-kubernetes"),
        pytest.param(("", "Namespace", "", "shop"), False, id="namespace-of-people"),
        pytest.param(("", "ConfigMap", "shop", "kube-root-ca.crt"), True, id="root-certificates"),
        pytest.param(("", "ConfigMap", "shop", "default"), False, id="config-map-of-people"),
        pytest.param(("", "ServiceAccount", "shop", "default"), True, id="service-account"),
        pytest.param(("", "Service", "default", "kubernetes"), True, id="service"),
        pytest.param(("", "Service", "shop", "kubernetes"), False, id="service-of-people"),
        pytest.param((RBAC, "ClusterRole", "", "system:node"), True, id="system-role"),
        pytest.param((RBAC, "ClusterRole", "", "cluster-admin"), True, id="cluster-admin"),
        pytest.param((RBAC, "ClusterRole", "", "edit"), True, id="edit"),
        pytest.param((RBAC, "ClusterRole", "", "editor"), False, id="role-of-people"),
        pytest.param((RBAC, "ClusterRoleBinding", "", "system:node"), True, id="system-binding"),
        pytest.param((RBAC, "ClusterRoleBinding", "", "edit"), False, id="binding-of-people"),
        pytest.param(("apps", "Deployment", "kube-system", "web"), False, id="workload"),
        pytest.param(
            ("scheduling.k8s.io", "PriorityClass", "", "system-node-critical"), True, id="priority"
        ),
    ],
)
def test_what_every_api_server_has(key: tuple[str, str, str, str], *, expected: bool) -> None:
    """By kind and name."""
    assert expected == is_built_in(ObjectKey(*key))
