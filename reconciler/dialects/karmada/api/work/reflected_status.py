"""What aggregatedStatus keeps of the status that a cluster reports, kind by kind."""

from collections.abc import Mapping

from reconciler.dialects.karmada.api.groups import INGRESS
from reconciler.dialects.karmada.api.work.hub_marks import NOTED_GENERATION
from reconciler.model.body import Body
from reconciler.model.content import at

Versioned = tuple[str, str]
"""An apiVersion and a kind: as upstream, another version of a kind has no rule of its own."""

SERVICE: Versioned = ("v1", "Service")
COUNTED: frozenset[Versioned] = frozenset(
    (("apps/v1", "Deployment"), ("apps/v1", "DaemonSet"), ("apps/v1", "StatefulSet"))
)
"""Of these the generation of the copy is kept, and the one that its template had on a hub."""
FIELDS: Mapping[Versioned, frozenset[str]] = {
    ("apps/v1", "Deployment"): frozenset(
        (
            "availableReplicas",
            "observedGeneration",
            "readyReplicas",
            "replicas",
            "unavailableReplicas",
            "updatedReplicas",
        )
    ),
    ("apps/v1", "StatefulSet"): frozenset(
        ("availableReplicas", "currentReplicas", "readyReplicas", "replicas", "updatedReplicas")
    ),
    ("apps/v1", "DaemonSet"): frozenset(
        (
            "currentNumberScheduled",
            "desiredNumberScheduled",
            "numberAvailable",
            "numberMisscheduled",
            "numberReady",
            "numberUnavailable",
            "observedGeneration",
            "updatedNumberScheduled",
        )
    ),
    ("batch/v1", "Job"): frozenset(
        ("active", "completionTime", "conditions", "failed", "startTime", "succeeded")
    ),
    SERVICE: frozenset(("loadBalancer",)),
    ("policy/v1", "PodDisruptionBudget"): frozenset(
        ("currentHealthy", "desiredHealthy", "disruptedPods", "disruptionsAllowed", "expectedPods")
    ),
    ("autoscaling/v2", "HorizontalPodAutoscaler"): frozenset(
        ("currentReplicas", "desiredReplicas")
    ),
}
"""The fields that are kept. Source: karmada@f8fdd02 pkg/resourceinterpreter/default/native/
reflectstatus.go `getAllDefaultReflectStatusInterpreter`."""
WHOLE: frozenset[Versioned] = frozenset(
    (
        ("apps/v1", "ReplicaSet"),
        ("batch/v1", "CronJob"),
        INGRESS,
        ("v1", "PersistentVolumeClaim"),
        ("v1", "Pod"),
    )
)
"""Kinds of Kubernetes that are kept whole. Source: the same file, `reflectWholeStatus`."""
GENERATION = "generation"
TEMPLATE_GENERATION = "resourceTemplateGeneration"


def reflected_status(report: Body) -> Body:
    """Return what is kept of the status of a report: the object as its cluster holds it.

    Agents that report through a Work have reflected it already; that stays as it is.

    Unlike upstream: of kinds that Kubernetes does not have, conditions are left out. Their moments
    may change without news, which would make commits without interest.
    """
    status = at(report, "status")
    kind = (str(report.get("apiVersion")), str(report.get("kind")))
    if kind == SERVICE and not _is_balanced(report):
        return {}
    if kind in FIELDS:
        own = FIELDS[kind] | {GENERATION, TEMPLATE_GENERATION} if kind in COUNTED else FIELDS[kind]
        kept = {name: value for name, value in status.items() if name in own}
        return {**(_generations(report) if kind in COUNTED and kept else {}), **kept}
    return {name: one for name, one in status.items() if name != "conditions" or kind in WHOLE}


def keeps_conditions(kind: Versioned) -> bool:
    """Return whether conditions of a kind are kept."""
    return kind in WHOLE or "conditions" in FIELDS.get(kind, ())


def status_without_conditions(report: Body) -> Body:
    """Return what the first rules kept of any kind: everything but conditions."""
    return {name: one for name, one in at(report, "status").items() if name != "conditions"}


def _is_balanced(service: Body) -> bool:
    """Return whether a Service has a load balancer; where its type is not told, one must be there.

    Source: karmada@f8fdd02 pkg/resourceinterpreter/default/native/reflectstatus.go
    `reflectServiceStatus`.
    """
    told = at(service, "spec").get("type")
    return bool(at(service, "status", "loadBalancer")) if told is None else told == "LoadBalancer"


def _generations(report: Body) -> Body:
    """Return the generations of a copy and of its template, as far as they are told."""
    metadata = at(report, "metadata")
    noted = at(metadata, "annotations").get(NOTED_GENERATION)
    told: dict[str, object] = {}
    if isinstance(metadata.get(GENERATION), int):
        told[GENERATION] = metadata[GENERATION]
    if isinstance(noted, str) and noted.isascii() and noted.isdecimal():
        told[TEMPLATE_GENERATION] = int(noted[:18])
    return told
