"""Health of a workload as its cluster reports it."""

from collections.abc import Callable, Mapping
from enum import StrEnum

from reconciler.model.body import Body


class Health(StrEnum):
    """What a report says; `UNKNOWN` where a kind has no notion of health."""

    HEALTHY = "Healthy"
    UNHEALTHY = "Unhealthy"
    UNKNOWN = "Unknown"


def health_of(report: Body) -> Health:
    """Judge a report of one copy: the object as its cluster holds it, `metadata` and `status`.

    Without a `spec` the wanted replicas are not known, so only what the status says itself counts.

    Source: karmada@f8fdd02 pkg/resourceinterpreter/default/native/healthy.go
    `getAllDefaultHealthInterpreter`.
    """
    judge = _JUDGES.get((str(report.get("apiVersion")), str(report.get("kind"))))
    if judge is None:
        return Health.UNKNOWN
    return Health.HEALTHY if judge(report) else Health.UNHEALTHY


def _is_deployment_healthy(report: Body) -> bool:
    spec, status = _part(report, "spec"), _part(report, "status")
    if not _is_observed(report):
        return False
    if _count(status, "updatedReplicas") < _count(spec, "replicas"):
        return False
    return _count(status, "availableReplicas") >= _count(status, "updatedReplicas")


def _is_stateful_set_healthy(report: Body) -> bool:
    """A partitioned update is complete once the pods above the partition are updated."""
    spec, status = _part(report, "spec"), _part(report, "status")
    wanted = _count(spec, "replicas")
    partition = _count(_part(_part(spec, "updateStrategy"), "rollingUpdate"), "partition")
    if not _is_observed(report) or _count(status, "updatedReplicas") < wanted - partition:
        return False
    available = _count(status, "availableReplicas")
    return available >= wanted and available >= _count(status, "updatedReplicas")


def _is_replica_set_healthy(report: Body) -> bool:
    available = _count(_part(report, "status"), "availableReplicas")
    return _is_observed(report) and available >= _count(_part(report, "spec"), "replicas")


def _is_daemon_set_healthy(report: Body) -> bool:
    status = _part(report, "status")
    updated = _count(status, "updatedNumberScheduled")
    if not _is_observed(report) or updated < _count(status, "desiredNumberScheduled"):
        return False
    return _count(status, "numberAvailable") >= updated


def _is_service_healthy(report: Body) -> bool:
    return _part(report, "spec").get("type") != "LoadBalancer" or _has_ingress(report)


def _has_ingress(report: Body) -> bool:
    found = _part(_part(report, "status"), "loadBalancer").get("ingress")
    entries = found if isinstance(found, list) else []
    return any(isinstance(e, Mapping) and (e.get("hostname") or e.get("ip")) for e in entries)


def _is_claim_bound(report: Body) -> bool:
    return _part(report, "status").get("phase") == "Bound"


def _is_pod_healthy(report: Body) -> bool:
    status = _part(report, "status")
    if status.get("phase") == "Succeeded":
        return True
    found = status.get("conditions")
    conditions = found if isinstance(found, list) else []
    told = (c for c in conditions if isinstance(c, Mapping) and c.get("type") == "Ready")
    ready = next(told, {}).get("status") == "True"  # of two the first one counts, as upstream
    return status.get("phase") == "Running" and ready


def _is_budget_healthy(report: Body) -> bool:
    status = _part(report, "status")
    return _count(status, "currentHealthy") >= _count(status, "desiredHealthy")


_JUDGES: Mapping[tuple[str, str], Callable[[Body], bool]] = {
    ("apps/v1", "Deployment"): _is_deployment_healthy,
    ("apps/v1", "StatefulSet"): _is_stateful_set_healthy,
    ("apps/v1", "ReplicaSet"): _is_replica_set_healthy,
    ("apps/v1", "DaemonSet"): _is_daemon_set_healthy,
    ("v1", "Service"): _is_service_healthy,
    ("networking.k8s.io/v1", "Ingress"): _has_ingress,
    ("v1", "PersistentVolumeClaim"): _is_claim_bound,
    ("v1", "Pod"): _is_pod_healthy,
    ("policy/v1", "PodDisruptionBudget"): _is_budget_healthy,
}


def _is_observed(report: Body) -> bool:
    """Return whether the status speaks of the present generation."""
    generation = _count(_part(report, "metadata"), "generation")
    return _count(_part(report, "status"), "observedGeneration") == generation


def _part(body: Body, field: str) -> Body:
    """Return a mapping, an empty one for anything else: reports are not validated."""
    value = body.get(field)
    return value if isinstance(value, Mapping) else {}


def _count(body: Body, field: str) -> int:
    """Return a whole number, 0 for anything else."""
    value = body.get(field)
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
