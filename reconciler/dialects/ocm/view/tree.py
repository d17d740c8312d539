"""What hangs on a placement, or on a set of ManifestWorks: its parts and their clusters."""

from reconciler.dialects.ocm.api.placement_decision import GROUP_NAME_LABEL, decode_decision
from reconciler.dialects.ocm.manifestworkreplicaset.replica_set import KIND as REPLICA_SET
from reconciler.dialects.ocm.manifestworkreplicaset.replica_set import WORK
from reconciler.dialects.ocm.manifestworkreplicaset.set_record import decode_record
from reconciler.dialects.ocm.view.placed import owner_of
from reconciler.dialects.tree_node import TreeNode, condition_facts, node_of, status_in
from reconciler.model.fields import mapping, text
from reconciler.model.identity import ObjectKey
from reconciler.model.world import Manifest, World


def tree_of(world: World, key: ObjectKey) -> TreeNode:
    """Return the decisions of a placement, or the works of a set, with their clusters."""
    if key.kind == REPLICA_SET:
        return _set(world, key)
    facts = condition_facts(status_in(world, key), good={"PlacementMisconfigured": "False"})
    children = tuple(
        _decision(manifest)
        for found, manifest in sorted(world.outputs.items())
        if owner_of(found, manifest.body) == key
    )
    return node_of(key, facts, children)


def _set(world: World, key: ObjectKey) -> TreeNode:
    """Return the ManifestWorks of a set, each with its cluster."""
    output = world.outputs.get(key)
    record = decode_record(None if output is None else output.body)
    children = tuple(
        node_of(
            ObjectKey(key.group, WORK, one.cluster, one.name(key)),
            {"placement": one.placement, "template": one.template},
            (TreeNode(None, one.cluster),),
        )
        for one in record.works
    )
    return node_of(key, condition_facts(status_in(world, key), good={}), children)


def _decision(manifest: Manifest) -> TreeNode:
    """Return a PlacementDecision with its clusters."""
    labels = mapping(mapping(manifest.body, "metadata"), "labels")
    group = text(labels, GROUP_NAME_LABEL)
    facts = {"group": group} if group else {}
    clusters = tuple(TreeNode(None, name) for name in decode_decision(manifest.body).clusters)
    return node_of(manifest.key, facts, clusters)
