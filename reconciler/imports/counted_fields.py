"""Of a live object only what counts: no field that a server makes, in one order."""

from collections.abc import Iterable, Mapping, Sequence

from reconciler.delivery.carriage import MARK_NAMES
from reconciler.dialects.importer import ImportedKind
from reconciler.model.body import Body
from reconciler.model.fields import mapping
from reconciler.model.health import judged_spec
from reconciler.model.identity import ObjectKey

METADATA = ("name", "namespace", "labels", "annotations", "deletionTimestamp")
REPORTED = ("name", "namespace", "uid", "generation")
OURS = "reconciler.dev/"
ANNOTATIONS = (
    "kubectl.kubernetes.io/",
    "deployment.kubernetes.io/",
    "control-plane.alpha.kubernetes.io/",
    "pv.kubernetes.io/",
    OURS,
)
"""Beginnings of the names of annotations that tools and controllers of Kubernetes make.

Ours are none of an export: a person wrote them into the file, where they stay.
"""

CONDITION = ("lastTransitionTime", "message", "reason", "status", "type")
FIRST = ("apiVersion", "kind", "metadata", "spec")
LAST = "status"
GIVEN = ("clusterIP", "clusterIPs", "healthCheckNodePort")
"""What an API server gives a Service; of a headless one it says that it is headless."""


def counted_fields(body: Body, kind: ImportedKind | None, server_made: Sequence[str]) -> Body:
    """Return what of an object counts, for a file of its own.

    Args:
        body: The object, live or as it stands in a file.
        kind: How its kind is kept, `None` for workloads: without any status.
        server_made: Beginnings of the names of labels and annotations that do not count.
    """
    kept = {name: body[name] for name in body if name not in ("metadata", LAST)}
    kept["metadata"] = _metadata(body, server_made)
    if kind is not None:
        status = mapping(body, LAST)
        kept[LAST] = {name: status[name] for name in kind.status if name in status}
        for path in kind.dropped:
            kept = _without(kept, path.split("."))
    elif (body.get("apiVersion"), body.get("kind")) == ("v1", "Service"):
        kept["spec"] = _service(mapping(body, "spec"))
    rest = sorted(name for name in kept if name not in FIRST and name != LAST)
    bare = ("spec",) if kind is not None and body.get("spec") == {} else ()  # it may be required
    order = [n for n in (*FIRST, *rest, LAST) if n in bare or kept.get(n) not in (None, {})]
    return {name: _in_order(kept[name]) for name in order}


def report_of(body: Body) -> Body:
    """Return what a cluster reports of a workload: who it is, its status, what its judge reads.

    And the marks by which tools do not prune it, for a file may go once they are there.
    """
    metadata = mapping(body, "metadata")
    told = {name: metadata[name] for name in REPORTED if name in metadata}
    marks = {
        name: value
        for name, value in sorted(mapping(metadata, "annotations").items())
        if name in MARK_NAMES
    }
    if marks:
        told["annotations"] = marks
    found = {"apiVersion": body["apiVersion"], "kind": body["kind"], "metadata": told}
    spec = judged_spec(body)
    return {**found, **({"spec": spec} if spec else {}), LAST: _in_order(mapping(body, LAST))}


def _metadata(body: Body, server_made: Sequence[str]) -> Body:
    """Return name, namespace, and the labels and annotations that people write."""
    metadata = mapping(body, "metadata")
    kept: dict[str, object] = {}
    for name in METADATA:
        value = metadata.get(name)
        if name in ("labels", "annotations"):
            made = (*server_made, *(ANNOTATIONS if name == "annotations" else ()))
            value = {
                k: v for k, v in sorted(mapping(metadata, name).items()) if not k.startswith(made)
            }
        if value:
            kept[name] = value
    return kept


def _in_order(value: object) -> object:
    """Return a value with keys in order, and of conditions what they say."""
    if isinstance(value, Mapping):
        return {
            name: _conditions(value[name]) if name == "conditions" else _in_order(value[name])
            for name in sorted(value, key=lambda name: (name != "name", name))
        }
    return [_in_order(item) for item in value] if isinstance(value, list | tuple) else value


def _conditions(listed: object) -> object:
    """Return conditions by type, without probes and heartbeats."""
    if not isinstance(listed, list | tuple) or not all(isinstance(i, Mapping) for i in listed):
        return _in_order(listed)
    kept = [{name: item[name] for name in CONDITION if name in item} for item in listed]
    return sorted(kept, key=lambda item: str(item.get("type")))


def _without(value: object, path: Sequence[str]) -> dict[str, object]:
    """Return a mapping without the field at a path; `*` is each of its keys or items."""
    if not isinstance(value, Mapping):
        return {}
    head, *rest = path
    names: Iterable[str] = list(value) if head == "*" else [head]
    kept = dict(value)
    for name in names:
        if name not in kept:
            continue
        below = kept[name]
        if not rest:
            del kept[name]
        elif isinstance(below, Mapping):
            kept[name] = _without(below, rest)
        elif rest[0] == "*" and isinstance(below, list | tuple):
            kept[name] = [_without(i, rest[1:]) if isinstance(i, Mapping) else i for i in below]
    return kept


def _service(spec: Body) -> Body:
    """Return the spec of a Service without what an API server gave it."""
    kept = {name: spec[name] for name in spec if name not in GIVEN}
    if spec.get("clusterIP") == "None":
        kept["clusterIP"] = "None"
    return kept


def is_made_by_others(key: ObjectKey, body: Body) -> str:
    """Return why an object is no file of anybody's, `""` if it may be one."""
    owners = mapping(body, "metadata").get("ownerReferences")
    if isinstance(owners, list | tuple) and any(
        isinstance(owner, Mapping) and owner.get("controller") for owner in owners
    ):
        return "another object made it"
    if key.kind in MADE:
        return "Kubernetes makes it"
    return ""


MADE = frozenset({"Endpoints", "EndpointSlice", "Event", "Lease", "Node", "Pod", "ReplicaSet"})
