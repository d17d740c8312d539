"""What hangs on a policy or a placement, down to the clusters, as the files of a world say it."""

from reconciler.core.dialects import dialect_of
from reconciler.dialects.tree_node import TreeNode, node_of
from reconciler.model.identity import ObjectKey
from reconciler.model.world import World


def tree_of(world: World, key: ObjectKey) -> TreeNode:
    """Return what hangs on an object as its API has it, each level sorted."""
    dialect = dialect_of(key.group)
    return node_of(key) if dialect is None else dialect.view().tree(world, key)
