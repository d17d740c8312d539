"""Who takes over an object of an export, and why some are left where they are.

It depends on what a user wants. Of a live object only what counts becomes a file: no field that a
server makes, in one order. What changes all the time stays as the file has it: amounts that changed
little, and heartbeats. The nodes and pods of a cluster become the room of that cluster.
"""

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from datetime import datetime

from reconciler.core.dialects import DIALECTS, dialect_of
from reconciler.delivery.carriage import MARK_NAMES
from reconciler.dialects.importer import Adopted, AgentReport, ImportedKind, Importer, Propagated
from reconciler.errors import UsageError
from reconciler.imports.export import LiveObject
from reconciler.manifests.identity import is_built_in
from reconciler.manifests.paths import folder_of, plural_of
from reconciler.manifests.secrets import without_secrets
from reconciler.model.body import Body
from reconciler.model.fields import bodies, mapping, mappings_of, text
from reconciler.model.health import judged_spec
from reconciler.model.identity import ObjectKey
from reconciler.model.kinds import Kind, KnownKinds
from reconciler.model.quantity import parse_quantity
from reconciler.model.records import dataclass, replace
from reconciler.model.settings import settings_in
from reconciler.model.world import World
from reconciler.multicluster.cluster_profile import CLUSTER_PROFILE
from reconciler.rebalance.surge import STEP
from reconciler.staging.staged_delivery import CONTENT


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What a person wants of an export.

    Attributes:
        cluster: The cluster that it is an export of, `""` for that of a control plane.
        in_place: Whether what the cluster says of itself goes into its file, not into a report.
        workloads: Kinds and resources of workloads that become files, in lower case.
        propagated: What becomes a file since it is meant for clusters, `None` if that is no reason.
        reserved: The namespaces that a control plane has for itself.
        tolerance_percent: How little a change of an amount does not count.
        adopt: Whether decisions become state.
        listed: Kinds of which the export has every object that there is.
    """

    cluster: str = ""
    in_place: bool = False
    workloads: frozenset[str] = frozenset()
    propagated: Propagated | None = None
    reserved: frozenset[str] = frozenset()
    tolerance_percent: int = 5
    adopt: bool = False
    listed: frozenset[Kind] = frozenset()


IMPORTERS: Mapping[str, Importer] = {dialect.cluster[0]: dialect.importer() for dialect in DIALECTS}
SERVER_MADE = tuple(name for importer in IMPORTERS.values() for name in importer.server_made)

NEUTRAL: Mapping[Kind, ImportedKind] = {
    CLUSTER_PROFILE: ImportedKind(
        folder="clusters",
        status=("accessProviders", "conditions", "properties", "version"),
        heartbeats=("status.properties.*.lastObservedTime",),
    )
}
"""Kinds of no API that schedules here."""

NAMESPACE: Kind = ("", "Namespace")
SECRET: Kind = ("", "Secret")

BUILT_IN = "every API server has it by itself"
RESERVED = "its namespace is the control plane's own"
NOISE = (BUILT_IN, RESERVED)
"""Why an object is none of anybody's business; there are hundreds, so they are told together."""
PLAIN_SECRET = "a Secret in plain must not come into Git; encrypt it first"  # noqa: S105


def agent_report_of(key: ObjectKey) -> AgentReport | None:
    """Return how an agent's report is kept, `None` for all other kinds."""
    importer = importer_of(key)
    return None if importer is None else importer.reports.get((key.group, key.kind))


def importer_of(key: ObjectKey) -> Importer | None:
    """Return what takes over the objects of an API, `None` for workloads."""
    dialect = dialect_of(key.group)
    return None if dialect is None else IMPORTERS[dialect.cluster[0]]


def imported_kind(key: ObjectKey) -> ImportedKind | None:
    """Return how objects of a kind are kept that are no workloads, `None` for all others."""
    importer = importer_of(key)
    return NEUTRAL.get(key[:2]) if importer is None else importer.kinds.get(key[:2])


def adopted_by_all(world: World, live: Mapping[ObjectKey, Body], now: datetime) -> Adopted:
    """Return the live decisions of all APIs as state of ours."""
    outputs: dict[ObjectKey, Body] = {}
    left: dict[ObjectKey, str] = {}
    lacking: dict[ObjectKey, ObjectKey] = {}
    missing: dict[ObjectKey, ObjectKey] = {}
    contents: dict[ObjectKey, tuple[str, str]] = {}
    for importer in IMPORTERS.values():
        adopted = importer.adopt(world, live, now)
        outputs |= adopted.outputs
        left |= adopted.left
        lacking |= adopted.lacking
        missing |= adopted.missing
        contents |= adopted.contents
    return Adopted(outputs=outputs, left=left, lacking=lacking, missing=missing, contents=contents)


def why_skipped(one: LiveObject, wanted: Wanted, known: KnownKinds) -> str:
    """Return why an object becomes no file, `""` if it is a workload that is wanted.

    Args:
        one: The object.
        wanted: What a person wants of the export.
        known: All kinds that are known.
    """
    key, importer = one.key, importer_of(one.key)
    if importer is not None and (key.group, key.kind) in importer.live:
        return "a decision; --adopt makes it state"
    once = known.removable | (importer.once if importer is not None else frozenset())
    if (key.group, key.kind) in once:
        return "it would run once more; it belongs to the control plane that ran it"
    if key.group in known.groups:
        return "nothing reads it here"
    if (key.group, key.kind) in (NODE, POD):
        return "what a cluster has; --cluster says of which"
    return (
        why_noise(key, wanted.reserved)
        or is_made_by_others(key, one.body)
        or why_secret(one.body)
        or why_unwanted(key, wanted)
    )


def why_noise(key: ObjectKey, reserved: frozenset[str]) -> str:
    """Return why an object is a control plane's own, `""` if it may be anybody's.

    Args:
        key: The object.
        reserved: The namespaces that the control plane has for itself.
    """
    if is_built_in(key):
        return BUILT_IN
    own = key.namespace in reserved or (key[:2] == NAMESPACE and key.name in reserved)
    return RESERVED if own else ""


def why_secret(body: Body) -> str:
    """Return why an object must not come into Git as it is, `""` if no Secret is in it."""
    return PLAIN_SECRET if without_secrets(body) is not body else ""


def why_unwanted(key: ObjectKey, wanted: Wanted) -> str:
    """Return why nobody wants a workload, `""` if somebody does."""
    propagated = wanted.propagated
    if wanted.workloads & names_of(key):
        return ""
    if propagated is None:
        return "a workload; --workloads takes it"
    if key[:2] in propagated.kinds or key in propagated.objects:
        return ""
    return "no policy, placement or decision names its kind; --workloads takes it"


def names_of(key: ObjectKey) -> frozenset[str]:
    """Return by which words a kind is asked for, as kubectl has them; short names are not known."""
    words = {key.kind.lower(), plural_of(key.kind), folder_of(key.group, key.kind), "all"}
    return frozenset(words)


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

    And the marks by which tools do not prune it, for a file may go once they are there, and the
    step of a move that its copy belongs to.
    """
    metadata = mapping(body, "metadata")
    metadata_told = {name: metadata[name] for name in REPORTED if name in metadata}
    marks = {
        name: value
        for name, value in sorted(mapping(metadata, "annotations").items())
        if name in (*MARK_NAMES, CONTENT, STEP)
    }
    if marks:
        metadata_told["annotations"] = marks
    report = {"apiVersion": body["apiVersion"], "kind": body["kind"], "metadata": metadata_told}
    spec = judged_spec(body)
    report |= {"spec": spec} if spec else {}
    report |= {UNSCHEDULABLE: body[UNSCHEDULABLE]} if UNSCHEDULABLE in body else {}
    return {**report, LAST: _in_order(mapping(body, LAST))}


UNSCHEDULABLE = "unschedulable"
"""Field of a report beside the status: since when how many replicas could not be scheduled."""
OF_PODS = frozenset((("apps", "Deployment"), ("apps", "ReplicaSet"), ("apps", "StatefulSet")))
REPLICA_SET = ("apps", "ReplicaSet")
REVISION = "deployment.kubernetes.io/revision"
HASH = "controller-revision-hash"


def with_scheduling(
    live: Sequence[LiveObject], world: World, cluster: str, listed: Container[Kind]
) -> tuple[LiveObject, ...]:
    """Return an export in which workloads say how many of their pods cannot be scheduled.

    Args:
        live: The export.
        world: The repository, whose options say whether that is asked.
        cluster: Name of the cluster; `""` leaves the export as it is.
        listed: The kinds of which the export has every object that there is.
    """
    has_pods = POD in listed or any(one.key[:2] == POD for one in live)
    if not cluster or not has_pods or not asks_for_scheduling(world):
        return tuple(live)
    return tuple(
        replace(one, body=with_unschedulable(one.key, one.body, live))
        for one in live
        if one.key[:2] != REPLICA_SET or one.key in world.inputs
    )


def asks_for_scheduling(world: World) -> bool:
    """Return whether any API asks how many pods of a workload cannot be scheduled."""
    settings = settings_in(world)
    return any(dialect.importer().asks_for_scheduling(settings) for dialect in DIALECTS)


def with_unschedulable(key: ObjectKey, body: Body, live: Iterable[LiveObject]) -> Body:
    """Return a workload with what its pods say of their scheduling.

    Its pods are found by their owners, and those of an earlier template are on their way out.

    Args:
        key: Of the workload.
        body: As its cluster holds it.
        live: All that was exported of the cluster, its pods among it.
    """
    if key[:2] not in OF_PODS:
        return body
    owners = {text(mapping(body, "metadata"), "uid")}
    if key.kind == "Deployment":
        sets = (live_object.body for live_object in live if live_object.key[:2] == REPLICA_SET)
        owners = {
            text(mapping(live_object, "metadata"), "uid")
            for live_object in sets
            if _owner(live_object) in owners
            and _note(live_object, REVISION) == _note(body, REVISION)
        }
    revision = text(mapping(body, LAST), "updateRevision")
    since: Counter[str] = Counter()
    for live_object in live:
        if live_object.key[:2] == POD and _owner(live_object.body) in owners:
            label = text(mapping(mapping(live_object.body, "metadata"), "labels"), HASH)
            if key.kind != "StatefulSet" or not revision or label == revision:
                since.update(_unschedulable_since(live_object.body))
    listed = [{"since": moment, "replicas": since[moment]} for moment in sorted(since)]
    return {**body, UNSCHEDULABLE: listed}


def _owner(body: Body) -> str:
    """Return the uid of the controller of an object, `""` if it has none."""
    for reference in bodies(mapping(body, "metadata"), "ownerReferences"):
        if reference.get("controller") is True:
            return text(reference, "uid")
    return ""


def _note(body: Body, name: str) -> str:
    return text(mapping(mapping(body, "metadata"), "annotations"), name)


def _unschedulable_since(pod: Body) -> Iterator[str]:
    """Yield since when a pod could not be scheduled, nothing if it was, or is going."""
    if mapping(pod, "metadata").get("deletionTimestamp") is not None:
        return
    for condition in bodies(mapping(pod, LAST), "conditions"):
        said = (text(condition, "type"), text(condition, "status"), text(condition, "reason"))
        if said == ("PodScheduled", "False", "Unschedulable"):
            yield text(condition, "lastTransitionTime")


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


def steady(fresh: Body, present: Body, paths: Iterable[str], percent: int) -> Body:
    """Return a body in which amounts that differ by little from the present ones are these.

    The present ones are those of the file, so many small changes add up until they count.

    Args:
        fresh: What is measured now.
        present: What the file says.
        paths: Dotted paths of mappings to amounts, or of lists of such; `*` is each key of a
            mapping.
        percent: How much of the present amount is little.
    """
    for path in paths:
        fresh = _steady(fresh, present, path.split("."), percent)
    return fresh


def _steady(fresh: Body, present: Body, path: Sequence[str], percent: int) -> Body:
    """Return a mapping with the amounts below a path kept."""
    kept = dict(fresh)
    if not path:
        for name, amount in fresh.items():
            if is_near(amount, present.get(name), percent):
                kept[name] = present[name]
        return kept
    head, *rest = path
    for name in list(fresh) if head == "*" else [head]:
        below, known = fresh.get(name), present.get(name)
        if isinstance(below, Mapping) and isinstance(known, Mapping):
            kept[name] = _steady(below, known, rest, percent)
        elif isinstance(below, list) and len(mappings_of(known)) == len(below):
            pairs = zip(mappings_of(below), mappings_of(known), strict=True)
            kept[name] = [_steady(one, other, rest, percent) for one, other in pairs]
    return kept


def is_near(amount: object, known: object, percent: int) -> bool:
    """Return whether an amount differs from a known one by so many percent of it at most.

    >>> is_near("98", "100", 5), is_near("94", "100", 5), is_near("1", "0", 5)
    (True, False, False)
    """
    now, before = _amount(amount), _amount(known)
    if now is None or before is None:
        return False
    return abs(now - before) * 100 <= abs(before) * percent


def _amount(value: object) -> int | None:
    """Return an amount as a number, `None` if it is none."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        return None
    try:
        return parse_quantity(value)
    except ValueError:
        return None


def with_moments_of(present: Body, fresh: Body, paths: Iterable[str]) -> Body:
    """Return a body with the heartbeats that a file has already; they count for nothing.

    Args:
        present: What the file says.
        fresh: What is reported now.
        paths: Dotted paths of moments; `*` is each key of a mapping, or each item of a list.
    """
    for path in paths:
        kept = _moments(present, fresh, path.split("."))
        fresh = kept if isinstance(kept, Mapping) else fresh
    return fresh


def _moments(present: object, fresh: object, path: Sequence[str]) -> object:
    """Return a value with the moments at a path as they were."""
    if not path:
        return present
    head, *rest = path
    if isinstance(fresh, Mapping) and isinstance(present, Mapping):
        names = fresh.keys() & present.keys() if head == "*" else {head} & present.keys()
        kept = {name: _moments(present[name], fresh.get(name), rest) for name in names}
        return {name: kept.get(name, value) for name, value in fresh.items()}
    if head == "*" and isinstance(fresh, list) and isinstance(present, list):
        known = [*present, *fresh[len(present) :]]
        return [_moments(b, f, rest) for b, f in zip(known, fresh, strict=False)]
    return fresh


NODE, POD = ("", "Node"), ("", "Pod")


def with_rooms(live: Sequence[LiveObject], world: World, cluster: str) -> tuple[LiveObject, ...]:
    """Return an export in which the nodes and pods of a cluster have become its room.

    Args:
        live: The export.
        world: The repository, whose cluster is meant if the export has none.
        cluster: Name of the cluster; `""` leaves the export as it is.

    Raises:
        UsageError: There are nodes, and no cluster that could have their room.
    """
    nodes = [one.body for one in live if (one.key.group, one.key.kind) == NODE]
    pods = [one.body for one in live if (one.key.group, one.key.kind) == POD]
    if not cluster or not nodes:
        return tuple(live)
    rest = [one for one in live if (one.key.group, one.key.kind) not in (NODE, POD)]
    for dialect in DIALECTS:
        measure = dialect.importer().with_nodes
        key = ObjectKey(*dialect.cluster, "", cluster)
        exported = next((one.body for one in rest if one.key == key), None)
        present = world.inputs.get(key)
        body = exported or (None if present is None else present.body)
        if measure is None or body is None:
            continue
        measured = measure(body, nodes, pods)
        if measured is None:
            raise UsageError(
                f"{key.kind} {cluster} has no status, so it has room for everything; import it "
                "from its control plane first, then its nodes count"
            )
        return (*(one for one in rest if one.key != key), LiveObject(key, measured))
    kinds = ", ".join(sorted(d.cluster[1] for d in DIALECTS if d.importer().with_nodes))
    raise UsageError(f'there is no {kinds} "{cluster}" that could have the room of these nodes')
