"""What the API servers of the stories serve, and how a hub is laid into them."""

from collections.abc import Iterable

from reconciler.model.body import Body
from tests.kube.store import Resource, Store

DEPLOYMENT = Resource("apps", "v1", "Deployment", "deployments")
KARMADA = (
    DEPLOYMENT,
    Resource("cluster.karmada.io", "v1alpha1", "Cluster", "clusters", namespaced=False),
    Resource("policy.karmada.io", "v1alpha1", "PropagationPolicy", "propagationpolicies"),
    Resource("work.karmada.io", "v1alpha2", "ResourceBinding", "resourcebindings"),
    Resource("work.karmada.io", "v1alpha1", "Work", "works"),
)


def filled(name: str, resources: tuple[Resource, ...], bodies: Iterable[Body]) -> Store:
    """Return an API server that has some objects, with the uids that they have."""
    store = Store(name, resources)
    for body in bodies:
        store.write(body, "kubectl")
    return store


def wants_replicas(store: Store, namespace: str, name: str) -> bool:
    """Return whether a Deployment is to run."""
    for one in store.all("Deployment"):
        metadata, spec = one["metadata"], one["spec"]
        assert isinstance(metadata, dict)
        assert isinstance(spec, dict)
        if (metadata["namespace"], metadata["name"]) == (namespace, name):
            return bool(spec.get("replicas", 1))
    return False
