"""What a ManifestWork says of the objects that it carries, whichever API decided on them."""

from collections.abc import Iterator, Mapping

from reconciler.dialects.ocm.workstatus.status_feedback import WELL_KNOWN
from reconciler.model.body import Body
from reconciler.model.content import at
from reconciler.model.copy_report import CopyReport
from reconciler.model.fields import bodies, mapping, number, text
from reconciler.model.health import Health
from reconciler.model.identity import ObjectKey

JUDGED = frozenset((("apps", "Deployment"), ("apps", "DaemonSet"), ("", "Pod")))
"""Of which kinds the agent's feedback says how healthy they are."""
EARLIER = "The agent has not applied the present generation yet"


def reports_in(work: Body) -> Iterator[tuple[ObjectKey, CopyReport]]:
    """Yield what a ManifestWork says of each of its manifests.

    That an object is available says that it is there; its health follows from the values that
    well-known feedback rules ask for, and is unknown without them.

    Source: ours, of what ocm@00f84c3 pkg/work/spoke reports; nothing upstream reads it this way.
    """
    metadata = mapping(work, "metadata")
    if metadata.get("deletionTimestamp") is not None:
        return
    wanted = _wanted_replicas(work)
    for one in bodies(at(work, "status", "resourceStatus"), "manifests"):
        meta = mapping(one, "resourceMeta")
        kind, namespace, name = (text(meta, field) for field in ("kind", "namespace", "name"))
        key = ObjectKey(text(meta, "group"), kind, namespace, name)
        conditions = {text(c, "type"): c for c in bodies(one, "conditions")}
        told = conditions.get("Applied", {})
        applied = text(told, "status") == "True" and _is_current(told, metadata)
        failed = text(told, "message") if text(told, "status") == "False" else EARLIER
        values = _values(one)
        available = text(conditions.get("Available", {}), "status")
        judged = (
            Health.UNHEALTHY if available == "False" else _health(meta, values, wanted.get(key))
        )
        body = _body(meta, values)
        report = CopyReport(
            body=body,
            applied=applied,
            message="" if applied else failed,
            judged=judged,
            is_judge=(text(meta, "group"), kind) in JUDGED,
        )
        yield key, report


def _is_current(condition: Body, metadata: Body) -> bool:
    """Return whether a condition is about the present generation, as far as that is known."""
    counted = "generation" in metadata and "observedGeneration" in condition
    return not counted or number(condition, "observedGeneration") == number(metadata, "generation")


def _values(manifest: Body) -> dict[str, object]:
    """Return the values of feedback by name."""
    found = {}
    for one in bodies(mapping(manifest, "statusFeedback"), "values"):
        value = mapping(one, "fieldValue")
        found[text(one, "name")] = value.get("integer", value.get("string"))
    return found


def _body(meta: Body, values: Mapping[str, object]) -> Body:
    """Return an object as far as its feedback tells it: numbers, each at upstream's path."""
    group, version = text(meta, "group"), text(meta, "version")
    api_version = f"{group}/{version}" if group else version
    paths = WELL_KNOWN.get((api_version, text(meta, "kind")), {})
    status = {
        path.removeprefix(".status."): values[name]
        for name, path in paths.items()
        if isinstance(values.get(name), int)
    }
    own = {field: meta[field] for field in ("namespace", "name") if meta.get(field)}
    return {
        "apiVersion": api_version,
        "kind": text(meta, "kind"),
        "metadata": own,
        "status": status,
    }


def _health(meta: Body, values: Mapping[str, object], replicas: int | None) -> Health:
    """Return what well-known feedback says of health; a number that is missing is 0, as in Go.

    How many replicas there are says nothing of how many there should be: that the manifest says.
    """
    match text(meta, "group"), text(meta, "kind"):
        case "apps", "Deployment" if "Replicas" in values:
            available = _count(values, "AvailableReplicas")
            healthy = available >= max(_count(values, "Replicas"), replicas or 0)
            if healthy and replicas is None:
                return Health.UNKNOWN
        case "apps", "DaemonSet" if "DesiredNumberScheduled" in values:
            wanted = _count(values, "DesiredNumberScheduled")
            healthy = _count(values, "NumberAvailable") >= wanted
        case "", "Pod" if "PodPhase" in values:
            running = values["PodPhase"] == "Running" and values.get("PodReady") == "True"
            healthy = running or values["PodPhase"] == "Succeeded"
        case _:
            return Health.UNKNOWN
    return Health.HEALTHY if healthy else Health.UNHEALTHY


def _count(values: Mapping[str, object], name: str) -> int:
    value = values.get(name)
    return value if isinstance(value, int) else 0


def _wanted_replicas(work: Body) -> dict[ObjectKey, int]:
    """Return how many replicas the manifests of a work want, by object; 1 where none says."""
    found = {}
    for one in bodies(at(work, "spec", "workload"), "manifests"):
        group, _, _ = str(one.get("apiVersion", "")).rpartition("/")
        metadata, replicas = at(one, "metadata"), at(one, "spec").get("replicas", 1)
        if isinstance(replicas, int):
            namespace, name = str(metadata.get("namespace", "")), str(metadata.get("name", ""))
            found[ObjectKey(group, str(one.get("kind", "")), namespace, name)] = replicas
    return found
