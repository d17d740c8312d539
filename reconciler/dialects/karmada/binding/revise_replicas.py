"""The replicas and completions that a cluster gets in place of the workload's own."""

from collections.abc import Mapping, Sequence

from reconciler.dialects.karmada.api.clusters import TargetCluster
from reconciler.dialects.karmada.api.custom_kinds import CustomKinds
from reconciler.dialects.karmada.api.placement import is_divided
from reconciler.dialects.karmada.api.work.binding_spec import BindingSpec
from reconciler.errors import UserError
from reconciler.model.body import Body
from reconciler.model.content import at, with_value
from reconciler.model.fields import text
from reconciler.model.identity import ClusterName
from reconciler.schedule.apportion import apportion, breaks_ties_descending

REPLICAS = {
    ("apps/v1", "Deployment"): ("spec", "replicas"),
    ("apps/v1", "ReplicaSet"): ("spec", "replicas"),
    ("apps/v1", "StatefulSet"): ("spec", "replicas"),
    ("batch/v1", "Job"): ("spec", "parallelism"),
}
"""Where the kinds that are interpreted without a row have their replicas.

Source: karmada@f8fdd02 pkg/resourceinterpreter/default/native/revisereplica.go
`getAllDefaultReviseReplicaInterpreter`.
"""


def replicas_path(manifest: Body, custom_kinds: CustomKinds) -> tuple[str, ...] | None:
    """Return where a manifest has its replicas, `None` if nobody knows."""
    kind = text(manifest, "apiVersion"), text(manifest, "kind")
    row = custom_kinds.row(*kind)
    return REPLICAS.get(kind) if row is None else row.replicas


def revised(manifest: Body, replicas: int, custom_kinds: CustomKinds) -> Body:
    """Return a manifest with the replicas of a cluster.

    Of the kinds interpreted without a row, an absent field stays absent, and one that is there must
    be a whole number. A row writes them whatever is there, as a script does, into an object that is
    there.

    Raises:
        UserError: There is something else than a whole number, or than an object that holds it.

    Source: karmada@f8fdd02 pkg/util/helper/unstructured.go `ApplyReplica`; the `replicaRevision` of
    pkg/resourceinterpreter/default/thirdparty/resourcecustomizations.
    """
    path = replicas_path(manifest, custom_kinds)
    if path is None:
        return manifest
    if custom_kinds.row(text(manifest, "apiVersion"), text(manifest, "kind")) is not None:
        return with_value(manifest, path, replicas) if _is_held(manifest, path) else manifest
    if path[-1] not in at(manifest, *path[:-1]):
        return manifest
    _whole_number(manifest, path)
    return with_value(manifest, path, replicas)


def _is_held(manifest: Body, path: Sequence[str]) -> bool:
    """Return whether the object is there that a path ends in."""
    value: object = manifest
    for depth, name in enumerate(path):
        if not isinstance(value, Mapping):
            if value is None:
                return False
            raise UserError(f"`{'.'.join(path[:depth])}` must be a mapping")
        value = value.get(name)
    return True


def completions_by_cluster(
    manifest: Body, binding: BindingSpec, targets: Sequence[TargetCluster]
) -> dict[ClusterName, int]:
    """Return how many completions of a Job each cluster gets; empty where they are not divided.

    They are divided like the replicas, by the Webster method.

    Raises:
        UserError: The completions are no whole number.

    Source: karmada@f8fdd02 pkg/controllers/binding/common.go `needReviseJobCompletions`,
    `divideReplicasByJobCompletions`.
    """
    path = ("spec", "completions")
    divided = manifest.get("kind") == "Job" and (binding.replicas or 0) > 0
    if (
        not divided
        or not is_divided(binding.placement)
        or "completions" not in at(manifest, "spec")
    ):
        return {}
    completions = _whole_number(manifest, path)
    weights = {target.name: target.replicas for target in targets}
    if not any(weights.values()):
        return {}
    uid = at(manifest, "metadata").get("uid")
    descending = breaks_ties_descending(uid if isinstance(uid, str) else "")
    return apportion(completions, weights, descending=descending)


def _whole_number(manifest: Body, path: Sequence[str]) -> int:
    value = at(manifest, *path[:-1]).get(path[-1])
    if isinstance(value, bool) or not isinstance(value, int):
        raise UserError(f"`{'.'.join(path)}` must be a whole number, it is {value!r}")
    return value
