"""Names, labels and annotations of the Works of a binding, by which upstream finds them."""

from collections.abc import Iterable
from hashlib import sha256

from reconciler.dialects.kubefleet.api.binding import Binding
from reconciler.dialects.kubefleet.api.gojson import go_json, hash_of
from reconciler.dialects.kubefleet.api.names import API_VERSION, PARENT
from reconciler.dialects.kubefleet.overrider.matching import snapshots_of, target_of
from reconciler.dialects.kubefleet.overrider.override import Override
from reconciler.model.body import Body

MEMBER_NAMESPACE = "fleet-member-"
PARENT_NAMESPACE = "kubernetes-fleet.io/parent-placement-namespace"
PARENT_BINDING = "kubernetes-fleet.io/parent-resource-binding"
PARENT_INDEX = "kubernetes-fleet.io/parent-resource-snapshot-index"
PARENT_SNAPSHOT = "kubernetes-fleet.io/parent-resource-snapshot-name"
OVERRIDE_HASH = "kubernetes-fleet.io/parent-resource-override-snapshot-hash"
CLUSTER_OVERRIDE_HASH = "kubernetes-fleet.io/parent-cluster-resource-override-snapshot-hash"
ENVELOPE_KIND = "kubernetes-fleet.io/envelope-work"
ENVELOPE_NAME = "kubernetes-fleet.io/envelope-name"
ENVELOPE_NAMESPACE = "kubernetes-fleet.io/envelope-namespace"
TOKEN = 16  # hexadecimal digits of a digest


def work_name(binding: Binding, subindex: str | None) -> str:
    """Return the name of the Work of a snapshot; that of the master has no number.

    Source: kubefleet@e160c1c pkg/controllers/workgenerator/controller.go
    `getWorkNamePrefixFromSnapshotName`.
    """
    scope = f"{binding.namespace}." if binding.namespace else ""
    return f"{scope}{binding.labels.get(PARENT, '')}-{'work' if subindex is None else subindex}"


def envelope_work_name(name: str, envelope: Body) -> str:
    """Return the name of the Work of an envelope, given that of the Work of its snapshot.

    Source: kubefleet@e160c1c pkg/controllers/workgenerator/envelope.go
    `buildNewWorkForEnvelopeCR`.
    """
    own = target_of(envelope)
    digest = sha256(f"{own.kind}/{own.namespace}/{own.name}".encode()).hexdigest()
    return f"{name}-envelope-{digest[:TOKEN]}"


def work_of(
    binding: Binding, name: str, index: str, overrides: Iterable[Override], envelope: Body | None
) -> Body:
    """Return a Work without its manifests.

    Args:
        binding: Of the cluster.
        name: Of the Work.
        index: Of the resource snapshots.
        overrides: Those that are picked for the cluster.
        envelope: Whose content it holds, `None` for what is selected itself.

    Source: kubefleet@e160c1c pkg/controllers/workgenerator/controller.go `generateSnapshotWorkObj`.
    """
    scope = {PARENT_NAMESPACE: binding.namespace} if binding.namespace else {}
    labels = {
        PARENT: binding.labels.get(PARENT, ""),
        **scope,
        PARENT_BINDING: binding.name,
        PARENT_INDEX: index,
        **({} if envelope is None else _envelope_labels(envelope)),
    }
    names, items = snapshots_of(overrides)
    annotations = {
        CLUSTER_OVERRIDE_HASH: hash_of(go_json(names or None)),
        OVERRIDE_HASH: hash_of(go_json(items or None)),
        PARENT_SNAPSHOT: binding.resource_snapshot,
    }
    applied = binding.apply_strategy
    return {
        "apiVersion": API_VERSION,
        "kind": "Work",
        "metadata": {
            "name": name,
            "namespace": f"{MEMBER_NAMESPACE}{binding.target}",
            "labels": labels,
            "annotations": annotations,
        },
        "spec": {"workload": {}, **({} if applied is None else {"applyStrategy": applied})},
    }


def _envelope_labels(envelope: Body) -> dict[str, str]:
    own = target_of(envelope)
    scope = {ENVELOPE_NAMESPACE: own.namespace} if own.namespace else {}
    return {ENVELOPE_KIND: own.kind, ENVELOPE_NAME: own.name, **scope}
