"""Health of a workload as its cluster reports it, and what is assumed where a cluster is silent.

A report is what a cluster holds, cut down to what its judge reads. What an API server always fills
in (`spec.replicas`, the type of a Service) is never missing of a live object, so a report without
it says nothing: a Deployment of which nobody knows how many replicas it wants is not healthy
because it has none. A copy whose cluster never reported counts as running once the cluster has been
silent for long enough.
"""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from reconciler.model.body import Body
from reconciler.model.fields import at, with_value
from reconciler.model.identity import group_of
from reconciler.model.moments import add, span
from reconciler.model.records import dataclass


class Health(StrEnum):
    """What a report says; `UNKNOWN` where a kind has no notion of health, or a field is missing."""

    HEALTHY = "Healthy"
    UNHEALTHY = "Unhealthy"
    UNKNOWN = "Unknown"


def health_of(report: Body) -> Health:
    """Judge a report of one copy: the object as its cluster holds it, as far as that is told.

    Source: karmada@f8fdd02 pkg/resourceinterpreter/default/native/healthy.go
    `getAllDefaultHealthInterpreter`.
    """
    judge = _judge_of(report)
    if judge is None or not all(_is_told(report, path) for path in judge.needs):
        return Health.UNKNOWN
    if not judge.is_healthy(report):
        return Health.UNHEALTHY
    # Unlike upstream: there a live object is judged, and what is missing has its default.
    is_told = all(_is_told(report, path) for path in judge.wants)
    return Health.HEALTHY if is_told else Health.UNKNOWN


def has_health(body: Body) -> bool:
    """Return whether a kind has a notion of health, so that a report of it should tell it."""
    return _judge_of(body) is not None


def is_judged(group: str, kind: str) -> bool:
    """Return whether a kind has a notion of health, in any of its versions that is judged.

    >>> is_judged("apps", "Deployment"), is_judged("", "ConfigMap")
    (True, False)
    """
    return (group, kind) in _JUDGED


def judged_spec(body: Body) -> Body:
    """Return of the spec of a live object what its judge reads.

    >>> judged_spec({"apiVersion": "apps/v1", "kind": "ReplicaSet", "spec": {"replicas": 2}})
    {'replicas': 2}
    """
    judge = _judge_of(body)
    paths = () if judge is None else judge.spec_paths()
    spec: Body = {}
    for path in paths:
        if _is_told(body, path):
            spec = with_value(spec, path[1:], _value(body, path))
    return spec


Path = tuple[str, ...]
"""Names of fields, from the outermost in."""


@dataclass(frozen=True, slots=True)
class _Judge:
    """How copies of a kind are judged.

    Attributes:
        is_healthy: Takes what is missing as if nothing more were wanted.
        needs: Fields that a live object always has; without one of them nothing is known.
        wants: Likewise, but what is told may still say that a copy is not healthy.
        reads: Fields of the spec that a live object may lack. Of a status any may be missing.
    """

    is_healthy: Callable[[Body], bool]
    needs: tuple[Path, ...] = ()
    wants: tuple[Path, ...] = ()
    reads: tuple[Path, ...] = ()

    def spec_paths(self) -> Iterator[Path]:
        """Yield the fields of the spec that are read."""
        return (path for path in (*self.needs, *self.wants, *self.reads) if path[0] == "spec")


def _judge_of(body: Body) -> _Judge | None:
    return _JUDGES.get((str(body.get("apiVersion")), str(body.get("kind"))))


def _is_deployment_healthy(report: Body) -> bool:
    spec, status = at(report, "spec"), at(report, "status")
    if not _is_observed(report):
        return False
    if _count(status, "updatedReplicas") < _count(spec, "replicas"):
        return False
    return _count(status, "availableReplicas") >= _count(status, "updatedReplicas")


def _is_stateful_set_healthy(report: Body) -> bool:
    """A partitioned update is complete once the pods above the partition are updated."""
    spec, status = at(report, "spec"), at(report, "status")
    wanted = _count(spec, "replicas")
    partition = _count(at(spec, "updateStrategy", "rollingUpdate"), "partition")
    if not _is_observed(report) or _count(status, "updatedReplicas") < wanted - partition:
        return False
    available = _count(status, "availableReplicas")
    return available >= wanted and available >= _count(status, "updatedReplicas")


def _is_replica_set_healthy(report: Body) -> bool:
    available = _count(at(report, "status"), "availableReplicas")
    return _is_observed(report) and available >= _count(at(report, "spec"), "replicas")


def _is_daemon_set_healthy(report: Body) -> bool:
    status = at(report, "status")
    updated = _count(status, "updatedNumberScheduled")
    if not _is_observed(report) or updated < _count(status, "desiredNumberScheduled"):
        return False
    return _count(status, "numberAvailable") >= updated


def _is_service_healthy(report: Body) -> bool:
    return at(report, "spec").get("type") != "LoadBalancer" or _has_ingress(report)


def _has_ingress(report: Body) -> bool:
    ingress = at(report, "status", "loadBalancer").get("ingress")
    entries = ingress if isinstance(ingress, list) else []
    return any(isinstance(e, Mapping) and (e.get("hostname") or e.get("ip")) for e in entries)


def _is_claim_bound(report: Body) -> bool:
    return at(report, "status").get("phase") == "Bound"


def _is_pod_healthy(report: Body) -> bool:
    status = at(report, "status")
    if status.get("phase") == "Succeeded":
        return True
    listed = status.get("conditions")
    conditions = listed if isinstance(listed, list) else []
    readiness = (c for c in conditions if isinstance(c, Mapping) and c.get("type") == "Ready")
    ready = next(readiness, {}).get("status") == "True"  # of two the first one counts, as upstream
    return status.get("phase") == "Running" and ready


def _is_budget_healthy(report: Body) -> bool:
    status = at(report, "status")
    return _count(status, "currentHealthy") >= _count(status, "desiredHealthy")


_GENERATION: Path = ("metadata", "generation")
_REPLICAS: Path = ("spec", "replicas")
_PARTITION: Path = ("spec", "updateStrategy", "rollingUpdate", "partition")
_DESIRED: Path = ("status", "desiredNumberScheduled")
_BUDGET: tuple[Path, ...] = (("status", "currentHealthy"), ("status", "desiredHealthy"))
_JUDGES: Mapping[tuple[str, str], _Judge] = {
    ("apps/v1", "Deployment"): _Judge(_is_deployment_healthy, wants=(_GENERATION, _REPLICAS)),
    ("apps/v1", "StatefulSet"): _Judge(
        _is_stateful_set_healthy, wants=(_GENERATION, _REPLICAS), reads=(_PARTITION,)
    ),
    ("apps/v1", "ReplicaSet"): _Judge(_is_replica_set_healthy, wants=(_GENERATION, _REPLICAS)),
    ("apps/v1", "DaemonSet"): _Judge(_is_daemon_set_healthy, wants=(_GENERATION, _DESIRED)),
    ("v1", "Service"): _Judge(_is_service_healthy, wants=(("spec", "type"),)),
    ("networking.k8s.io/v1", "Ingress"): _Judge(_has_ingress),
    ("v1", "PersistentVolumeClaim"): _Judge(_is_claim_bound),
    ("v1", "Pod"): _Judge(_is_pod_healthy),
    ("policy/v1", "PodDisruptionBudget"): _Judge(_is_budget_healthy, needs=_BUDGET),
}
"""Who judges which kind, and what of an object it reads; reports keep just that."""
_JUDGED = frozenset((group_of(version), kind) for version, kind in _JUDGES)


def _is_observed(report: Body) -> bool:
    """Return whether the status speaks of the present generation, as far as that is told."""
    if not _is_told(report, _GENERATION):
        return True
    generation = _count(at(report, "metadata"), "generation")
    return _count(at(report, "status"), "observedGeneration") == generation


def _count(body: Body, field: str) -> int:
    """Return a whole number, 0 for anything else."""
    value = body.get(field)
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _is_told(body: Body, path: Path) -> bool:
    return _value(body, path) is not None


def _value(body: Body, path: Path) -> object:
    *outer, field = path
    return at(body, *outer).get(field)


ASSUMED = "Assumed"
"""What the reason of each condition has in it that is only assumed to be so."""


class Assumption(NamedTuple):
    """Whether a silent cluster counts as applied, healthy and available.

    `until` is the moment at which it will, `None` if it does already or never will.
    """

    available: bool
    until: datetime | None


def assume(placed_at: datetime, after_seconds: int | None, now: datetime) -> Assumption:
    """Return what is assumed of a cluster that never reported.

    Args:
        placed_at: Moment of the pass that put the workload there.
        after_seconds: How long to wait, zero or more; `None` means never.
        now: Aware UTC.

    Source: ours; without agents in the clusters there may be no reporter.
    """
    if after_seconds is None:
        return Assumption(available=False, until=None)
    moment = add(placed_at, span(seconds=after_seconds))
    if now >= moment:
        return Assumption(available=True, until=None)
    return Assumption(available=False, until=moment)
