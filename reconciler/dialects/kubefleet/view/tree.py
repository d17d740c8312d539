"""What hangs on a placement: snapshots, bindings, clusters, and the runs that roll it out."""

from collections.abc import Iterator

from reconciler.dialects.kubefleet.api.binding import resource_snapshot_of, state_of, target_of
from reconciler.dialects.kubefleet.api.groups import STRATEGIES
from reconciler.dialects.kubefleet.api.kinds import PLACEMENTS, kinds_in
from reconciler.dialects.kubefleet.api.names import (
    GROUP,
    IS_LATEST,
    PARENT,
)
from reconciler.dialects.kubefleet.api.updates.update_run import decode_run, readable_run_status
from reconciler.dialects.kubefleet.view.placed import owner_of, placement_of
from reconciler.dialects.kubefleet.view.run_progress import run_sentence
from reconciler.dialects.tree_node import TreeNode, condition_facts, node_of, status_in
from reconciler.model.fields import mapping, text
from reconciler.model.identity import ObjectKey
from reconciler.model.world import Manifest, World


def tree_of(world: World, key: ObjectKey) -> TreeNode:
    """Return the snapshots of a placement, with the bindings that use them and their clusters.

    Of a run it is how far that is, of a strategy the runs that follow it. What else there is has no
    conditions that anybody judged.
    """
    if key[:2] in STRATEGIES:
        return node_of(key, children=tuple(_following(world, key)))
    if key.kind == kinds_in(key.namespace).run:
        return _run(world, key) or node_of(key)
    placed = key.kind in PLACEMENTS
    facts = condition_facts(status_in(world, key), prefix=key.kind, good={}) if placed else {}
    return node_of(key, facts, (*_snapshots(world, key), *_runs(world, key)))


def _following(world: World, key: ObjectKey) -> Iterator[TreeNode]:
    """Yield the runs whose stages a strategy says, and how far each is."""
    for one in world.of_kind(GROUP, kinds_in(key.namespace).run):
        named = decode_run(one.body, one.key.namespace).strategy == key.name
        if named and one.key.namespace == key.namespace and (node := _run(world, one.key)):
            yield node


def _runs(world: World, key: ObjectKey) -> Iterator[TreeNode]:
    """Yield the staged update runs that roll a placement out, and how far each is."""
    for one in world.of_kind(GROUP, kinds_in(key.namespace).run):
        if placement_of(world, one.key) == key and (node := _run(world, one.key)):
            yield node


def _run(world: World, key: ObjectKey) -> TreeNode | None:
    """Return how far a run is, `None` if nobody wrote it."""
    written, own = world.inputs.get(key), world.outputs.get(key)
    if written is None:
        return None
    status = readable_run_status(None if own is None else own.body)
    return node_of(key, {"run": run_sentence(decode_run(written.body, key.namespace), status)})


def _snapshots(world: World, key: ObjectKey) -> Iterator[TreeNode]:
    """Yield the latest policy, then each snapshot of resources with the bindings that use it."""
    kinds = kinds_in(key.namespace)
    bindings = [
        manifest
        for found, manifest in sorted(world.outputs.items())
        if found.kind == kinds.binding and owner_of(found, manifest.body) == key
    ]
    for child, manifest in sorted(world.outputs.items()):
        labels = mapping(mapping(manifest.body, "metadata"), "labels")
        is_own = (child.group, child.namespace) == (GROUP, key.namespace)
        if not is_own or text(labels, PARENT) != key.name:
            continue
        latest = text(labels, IS_LATEST) == "true"
        if child.kind == kinds.policy_snapshot and latest:
            yield node_of(child, {"latest": "true"})
        if child.kind == kinds.resource_snapshot:
            users = tuple(_fleet_binding(b) for b in bindings if _snapshot_of(b) == child.name)
            if users or latest:
                yield node_of(child, {"latest": str(latest).lower()}, users)
    for binding in bindings:
        name = _snapshot_of(binding)
        snapshot = ObjectKey(GROUP, kinds.resource_snapshot, key.namespace, name)
        if snapshot not in world.outputs:
            yield _fleet_binding(binding)


def _snapshot_of(binding: Manifest) -> str:
    return resource_snapshot_of(binding.body)


def _fleet_binding(manifest: Manifest) -> TreeNode:
    """Return a binding of KubeFleet with its cluster."""
    body, status = manifest.body, mapping(manifest.body, "status")
    facts = {"state": state_of(body), **condition_facts(status, good={})}
    return node_of(manifest.key, facts, (TreeNode(None, target_of(body)),))
