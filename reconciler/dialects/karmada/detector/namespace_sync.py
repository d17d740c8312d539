"""Which namespaces go to every cluster by themselves, before anything is propagated into them."""

from reconciler.dialects.karmada.detector.propagation import Propagation
from reconciler.model.body import Body
from reconciler.model.fields import mapping

SKIP = "namespace.karmada.io/skip-auto-propagation"
DEFAULT = "default"


def is_synced(namespace: Body, propagation: Propagation) -> bool:
    """Return whether a Namespace goes to every cluster, ready or not, tainted or not.

    Not those that every cluster has (`default`), that Karmada reserves, that are skipped or being
    deleted, or that a label says stay here.

    Source: karmada@f8fdd02 pkg/controllers/namespace/namespace_sync_controller.go `Reconcile`,
    `namespaceShouldBeSynced`.
    """
    metadata = mapping(namespace, "metadata")
    name, labels = str(metadata.get("name", "")), mapping(metadata, "labels")
    if metadata.get("deletionTimestamp") or str(labels.get(SKIP, "")).lower() == "true":
        return False
    return name != DEFAULT and propagation.has_namespace(name)
