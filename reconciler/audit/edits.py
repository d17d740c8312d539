"""What-if: pure changes of a world, each from World to World.

An edited object moves to a file of its own in this world, so that its neighbours stay as they are.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from reconciler.audit.kinds import CLUSTERS, KARMADA, KUBEFLEET, OCM
from reconciler.errors import UsageError
from reconciler.manifests.emitter import encode
from reconciler.manifests.names import shown
from reconciler.manifests.paths import blob_id
from reconciler.model.fields import bodies, mapping, text
from reconciler.model.identity import ObjectKey, Origin
from reconciler.model.moments import format_moment
from reconciler.model.world import Body, Manifest, World

FOLDER = "simulated"
REBALANCER = ObjectKey("apps.karmada.io", "WorkloadRebalancer", "", "simulated")

CORDONS: Mapping[tuple[str, str], Body] = {
    # karmada@f8fdd02 pkg/apis/cluster/v1alpha1/well_known_constants.go TaintClusterUnscheduler
    KARMADA: {"key": "cluster.karmada.io/unschedulable", "effect": "NoSchedule"},
    OCM: {"key": "reconciler.dev/cordoned", "value": "simulated", "effect": "NoSelect"},
    # kubefleet@e160c1c tools/fleet/cmd/common/common.go CordonTaint
    KUBEFLEET: {"key": "cordon-key", "value": "cordon-value", "effect": "NoSchedule"},
}
READY = {KARMADA: "Ready", OCM: "ManagedClusterConditionAvailable"}

UNREACHED = "the cluster cannot be reached"

Edit = Callable[[World], World]


@dataclass(frozen=True, slots=True)
class Named:
    """An edit, and what it is in words."""

    words: str
    edit: Edit


def apply_edits(world: World, edits: Iterable[Named]) -> World:
    """Apply edits one after the other."""
    for named in edits:
        world = named.edit(world)
    return world


def clusters_named(world: World, name: str) -> tuple[ObjectKey, ...]:
    """Return the clusters of this name in all APIs; `kind/name` narrows it to one.

    Raises:
        UsageError: There is none.
    """
    kind, _, short = name.rpartition("/")
    found = [
        key
        for key in sorted(world.inputs)
        if (key.group, key.kind) in CLUSTERS
        and key.name == short
        and kind.lower().removesuffix("s") in ("", key.kind.lower())
    ]
    if not found:
        known = sorted({key.name for key in world.inputs if (key.group, key.kind) in CLUSTERS})
        listed = ", ".join(known[:20]) or "none at all"
        raise UsageError(f"there is no cluster {shown(name)}; known here: {listed}")
    return tuple(found)


def fail(keys: Sequence[ObjectKey], at: datetime) -> Edit:
    """Let clusters be unreachable from a moment on.

    A Karmada Cluster's Ready and an OCM ManagedCluster's Available become Unknown, a KubeFleet
    MemberCluster's agent falls silent and unhealthy.
    """

    def edit(world: World) -> World:
        return _edited(world, keys, lambda key, body: _failed(key, body, at))

    return edit


def cordon(keys: Sequence[ObjectKey]) -> Edit:
    """Let clusters take nothing new: the taint that each API's own tool puts."""

    def tainted(key: ObjectKey, body: Body) -> Body:
        spec = mapping(body, "spec")
        taints = [*bodies(spec, "taints"), CORDONS[key.group, key.kind]]
        return {**body, "spec": {**spec, "taints": taints}}

    return lambda world: _edited(world, keys, tainted)


def remove(keys: Sequence[ObjectKey]) -> Edit:
    """Take objects away."""

    def edit(world: World) -> World:
        gone = set(keys)
        kept = {key: manifest for key, manifest in world.inputs.items() if key not in gone}
        return replace(world, inputs=kept)

    return edit


def add(manifests: Sequence[tuple[ObjectKey, Body]]) -> Edit:
    """Put objects in, in the place of those of the same identity."""

    def edit(world: World) -> World:
        return put(world, dict(manifests))

    return edit


def scale(key: ObjectKey, replicas: int) -> Edit:
    """Let a workload want so many replicas."""
    field = "parallelism" if key.kind == "Job" else "replicas"

    def scaled(_: ObjectKey, body: Body) -> Body:
        spec = body.get("spec")  # anything, for nobody has checked a workload
        return {**body, "spec": {**(spec if isinstance(spec, Mapping) else {}), field: replicas}}

    return lambda world: _edited(world, (key,), scaled)


def set_field(key: ObjectKey, pointer: str, value: object) -> Edit:
    """Set the field that a JSON pointer names; `None` removes it.

    Raises:
        UsageError: When it is applied: the pointer leads through something that has no fields.
    """
    parts = [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]

    def changed(_: ObjectKey, body: Body) -> Body:
        found = _with(body, parts, value, pointer)
        return found if isinstance(found, Mapping) else body

    return lambda world: _edited(world, (key,), changed)


def rebalance(targets: Sequence[Body]) -> Edit:
    """Demand that workloads are scheduled afresh, by a WorkloadRebalancer.

    Args:
        targets: apiVersion, kind, namespace and name of each.
    """
    body: Body = {
        "apiVersion": "apps.karmada.io/v1alpha1",
        "kind": REBALANCER.kind,
        "metadata": {"name": REBALANCER.name},
        "spec": {"workloads": list(targets)},
    }
    return lambda world: put(world, {REBALANCER: body})


def put(world: World, changed: Mapping[ObjectKey, Body]) -> World:
    """Return the world with objects in the place of those of the same identity."""
    inputs, blobs = dict(world.inputs), dict(world.blobs)
    for key, body in changed.items():
        scope = f"{key.namespace}/" if key.namespace else ""
        path = f"{FOLDER}/{key.kind.lower()}.{key.group or 'core'}/{scope}{key.name}.yaml"
        blobs[path] = blob_id(encode(body).encode(), like=world.revision)
        inputs[key] = Manifest(key, Origin(path), body)
    return replace(world, inputs={key: inputs[key] for key in sorted(inputs)}, blobs=blobs)


def _edited(
    world: World, keys: Iterable[ObjectKey], change: Callable[[ObjectKey, Body], Body]
) -> World:
    """Return the world with some objects changed."""
    return put(world, {key: change(key, world.inputs[key].body) for key in keys})


def _failed(key: ObjectKey, body: Body, at: datetime) -> Body:
    """Return a cluster that cannot be reached any more."""
    status = mapping(body, "status")
    moment = format_moment(at)
    if (key.group, key.kind) == KUBEFLEET:
        agent = {
            "type": "MemberAgent",
            "conditions": [
                _condition("Joined", "True", "it had joined", moment),
                _condition("Healthy", "False", UNREACHED, moment),
            ],
            "lastReceivedHeartbeat": moment,
        }
        others = [a for a in bodies(status, "agentStatus") if text(a, "type") != "MemberAgent"]
        return {**body, "status": {**status, "agentStatus": [agent, *others]}}
    kind = READY[key.group, key.kind]
    condition = _condition(kind, "Unknown", UNREACHED, moment)
    others = [c for c in bodies(status, "conditions") if text(c, "type") != kind]
    return {**body, "status": {**status, "conditions": [condition, *others]}}


def _condition(kind: str, status: str, message: str, moment: str) -> Body:
    """Return a condition as an agent would report it."""
    return {
        "type": kind,
        "status": status,
        "reason": "Simulated",
        "message": message,
        "lastTransitionTime": moment,
    }


def _with(value: object, parts: Sequence[str], new: object, pointer: str) -> object:
    """Return a value with the field below it set."""
    if not parts:
        return new
    head, *rest = parts
    if isinstance(value, list | tuple):
        items = list(value)
        if head == "-":
            return [*items, _with({}, rest, new, pointer)]
        if not head.isdecimal() or int(head) >= len(items):
            raise UsageError(
                f"{shown(pointer)}: there is no item {shown(head)}; there are {len(items)}"
            )
        items[int(head)] = _with(items[int(head)], rest, new, pointer)
        return [item for item in items if item is not None]
    if value is not None and not isinstance(value, Mapping):
        raise UsageError(f"{shown(pointer)} leads through {shown(value)}, which has no fields")
    known = dict(value or {})
    below = _with(known.get(head), rest, new, pointer)
    if below is None:
        known.pop(head, None)
        return known
    return {**known, head: below}
