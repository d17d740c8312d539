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
OCM_GROUP = "cluster.open-cluster-management.io"
OCM_WORK = "work.open-cluster-management.io"
OCM = (
    DEPLOYMENT,
    Resource(OCM_GROUP, "v1", "ManagedCluster", "managedclusters", namespaced=False),
    Resource(OCM_GROUP, "v1beta2", "ManagedClusterSet", "managedclustersets", namespaced=False),
    Resource(OCM_GROUP, "v1beta2", "ManagedClusterSetBinding", "managedclustersetbindings"),
    Resource(OCM_GROUP, "v1beta1", "Placement", "placements"),
    Resource(OCM_GROUP, "v1beta1", "PlacementDecision", "placementdecisions"),
    Resource(OCM_WORK, "v1", "ManifestWork", "manifestworks"),
    Resource(OCM_WORK, "v1alpha1", "ManifestWorkReplicaSet", "manifestworkreplicasets"),
)
OCM_MEMBER = (
    DEPLOYMENT,
    Resource(OCM_WORK, "v1", "AppliedManifestWork", "appliedmanifestworks", namespaced=False),
)
FLEET = "placement.kubernetes-fleet.io"
WHOLE = (
    "ClusterResourceBinding",
    "ClusterResourcePlacement",
    "ClusterResourceSnapshot",
    "ClusterSchedulingPolicySnapshot",
)
CLUSTERS = "cluster.kubernetes-fleet.io"
KUBEFLEET = (
    DEPLOYMENT,
    Resource(CLUSTERS, "v1beta1", "MemberCluster", "memberclusters", namespaced=False),
    Resource(FLEET, "v1beta1", "Work", "works"),
    *(Resource(FLEET, "v1beta1", kind, f"{kind.lower()}s", namespaced=False) for kind in WHOLE),
)
KUBEFLEET_MEMBER = (
    DEPLOYMENT,
    Resource(FLEET, "v1beta1", "AppliedWork", "appliedworks", namespaced=False),
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
