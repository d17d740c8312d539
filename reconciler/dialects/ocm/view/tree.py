"""What hangs on a placement: its decisions and their clusters."""

from reconciler.dialects.ocm.decisions.placement_decisions import GROUP_NAME_LABEL
from reconciler.dialects.ocm.view.placed import owner_of
from reconciler.dialects.tree_node import TreeNode, condition_facts, node_of, status_in
from reconciler.model.fields import bodies, mapping, text
from reconciler.model.identity import ObjectKey
from reconciler.model.world import Manifest, World


def tree_of(world: World, key: ObjectKey) -> TreeNode:
    """Return the decisions of a placement, with their clusters."""
    facts = condition_facts(status_in(world, key), good={"PlacementMisconfigured": "False"})
    children = tuple(
        _decision(manifest)
        for found, manifest in sorted(world.outputs.items())
        if owner_of(found, manifest.body) == key
    )
    return node_of(key, facts, children)


def _decision(manifest: Manifest) -> TreeNode:
    """Return a PlacementDecision with its clusters."""
    labels = mapping(mapping(manifest.body, "metadata"), "labels")
    group = text(labels, GROUP_NAME_LABEL)
    facts = {"group": group} if group else {}
    decisions = bodies(mapping(manifest.body, "status"), "decisions")
    clusters = tuple(TreeNode(None, text(item, "clusterName")) for item in decisions)
    return node_of(manifest.key, facts, clusters)
