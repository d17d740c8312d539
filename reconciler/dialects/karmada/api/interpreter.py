"""What a workload asks for, by its kind: Kubernetes' own kinds, and custom ones that have a row.

Any other kind has no replicas.
"""

from collections.abc import Callable, Mapping

from reconciler.dialects.karmada.api.custom_kinds import (
    BUILT_IN,
    CustomKind,
    CustomKinds,
    VersionedKind,
    replicas_of,
)
from reconciler.dialects.karmada.api.flink_deployment import API_VERSION as FLINK
from reconciler.dialects.karmada.api.flink_deployment import KIND as FLINK_DEPLOYMENT
from reconciler.dialects.karmada.api.flink_deployment import flink_demand
from reconciler.dialects.karmada.api.replica_requirements import (
    ReplicaRequirements,
    count_of,
    pod_requirements,
)
from reconciler.model.body import Body
from reconciler.model.content import at


def demand_of(
    api_version: str, kind: str, body: Body, custom: CustomKinds = BUILT_IN
) -> ReplicaRequirements | None:
    """Return what a workload asks for, `None` if its kind has no replicas.

    Raises:
        Uncountable: The row of its kind finds something else than a number of pods.

    Source: karmada@f8fdd02 pkg/resourceinterpreter/default/native/replica.go
    `getAllDefaultReplicaInterpreter`; customizations are asked before it, as in
    pkg/resourceinterpreter/interpreter.go `GetReplicas`.
    """
    row = custom.row(api_version, kind)
    if row is not None:
        return _by_row(row, body)
    interpreter = _NATIVE.get(VersionedKind(api_version, kind))
    return interpreter(body) if interpreter is not None else None


def is_interpreted(api_version: str, kind: str, custom: CustomKinds = BUILT_IN) -> bool:
    """Return whether it is known where a kind keeps its replicas."""
    return custom.row(api_version, kind) is not None or VersionedKind(api_version, kind) in _NATIVE


def _by_row(row: CustomKind, body: Body) -> ReplicaRequirements:
    """Return what a workload of a custom kind asks for."""
    template = {} if row.template is None else at(body, *row.template)
    return ReplicaRequirements(replicas_of(row, body), pod_requirements(at(template, "spec")))


def _scaled(body: Body) -> ReplicaRequirements:
    """Deployment, StatefulSet and ReplicaSet: `spec.replicas`, which counts 0 if unset."""
    return ReplicaRequirements(count_of(at(body, "spec").get("replicas")), _template(body))


def _job(body: Body) -> ReplicaRequirements:
    """Job: the parallelism, but no more than the completions."""
    spec = at(body, "spec")
    replicas = count_of(spec.get("parallelism"))
    if spec.get("completions") is not None:
        replicas = min(replicas, count_of(spec.get("completions")))
    return ReplicaRequirements(replicas, _template(body))


def _pod(body: Body) -> ReplicaRequirements:
    """Pod: one."""
    return ReplicaRequirements(1, pod_requirements(at(body, "spec")))


def _template(body: Body) -> Body | None:
    """Return the requirements of a pod template."""
    return pod_requirements(at(body, "spec", "template", "spec"))


_NATIVE: Mapping[VersionedKind, Callable[[Body], ReplicaRequirements]] = {
    VersionedKind("apps/v1", "Deployment"): _scaled,
    VersionedKind("apps/v1", "ReplicaSet"): _scaled,
    VersionedKind("apps/v1", "StatefulSet"): _scaled,
    VersionedKind("batch/v1", "Job"): _job,
    VersionedKind("v1", "Pod"): _pod,
    VersionedKind(FLINK, FLINK_DEPLOYMENT): flink_demand,
}
