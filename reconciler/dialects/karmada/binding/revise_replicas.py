"""The replicas and completions that a cluster gets in place of the workload's own."""

from collections.abc import Sequence

from reconciler.dialects.karmada.api.clusters import TargetCluster
from reconciler.dialects.karmada.api.custom_kinds import CustomKinds
from reconciler.dialects.karmada.api.placement import DIVIDED
from reconciler.errors import UserError
from reconciler.model.content import at, with_value
from reconciler.model.fields import mapping, number, text
from reconciler.model.identity import ClusterName
from reconciler.model.world import Body
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
    """Return a manifest with the replicas of a cluster; an absent field stays absent.

    Raises:
        UserError: There is something else than a whole number.

    Source: karmada@f8fdd02 pkg/util/helper/unstructured.go `ApplyReplica`.
    """
    path = replicas_path(manifest, custom_kinds)
    if path is None or path[-1] not in at(manifest, *path[:-1]):
        return manifest
    _whole_number(manifest, path)
    return with_value(manifest, path, replicas)


def completions_by_cluster(
    manifest: Body, binding: Body, targets: Sequence[TargetCluster]
) -> dict[ClusterName, int]:
    """Return how many completions of a Job each cluster gets; empty where they are not divided.

    They are divided like the replicas, by the Webster method.

    Raises:
        UserError: The completions are no whole number.

    Source: karmada@f8fdd02 pkg/controllers/binding/common.go `needReviseJobCompletions`,
    `divideReplicasByJobCompletions`.
    """
    spec, path = mapping(binding, "spec"), ("spec", "completions")
    scheduling = at(spec, "placement", "replicaScheduling").get("replicaSchedulingType")
    divided = manifest.get("kind") == "Job" and number(spec, "replicas") > 0
    if not divided or scheduling != DIVIDED or "completions" not in at(manifest, "spec"):
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
