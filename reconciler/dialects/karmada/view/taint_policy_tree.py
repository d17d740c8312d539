"""What a ClusterTaintPolicy concerns: clusters, and which of its taints each of them has."""

from collections.abc import Iterator

from reconciler.dialects.karmada.api.admitted_cluster import taints_of
from reconciler.dialects.karmada.api.clusters import decode_cluster, members_of
from reconciler.dialects.karmada.api.groups import CLUSTER
from reconciler.dialects.karmada.taints.by_policy import TaintPolicy, decode_taint_policy
from reconciler.dialects.tree_node import TreeNode, node_of
from reconciler.errors import UserError
from reconciler.model.body import Body
from reconciler.model.fields import text
from reconciler.model.identity import ObjectKey
from reconciler.model.settings import Settings, settings_in
from reconciler.model.world import Manifest, World

NONE = "none"


def taint_policy_tree(world: World, key: ObjectKey) -> TreeNode:
    """Return the clusters that a policy is for, each with those of its taints that it has now."""
    written = world.inputs.get(key)
    if written is None:
        return node_of(key)
    policy, settings = decode_taint_policy(written.body), settings_in(world)
    clusters = (
        _cluster(one, policy, world, settings)
        for one in sorted(world.of_kind(*CLUSTER), key=lambda one: one.key)
        if _targets(policy, one.body, settings)
    )
    return node_of(key, children=tuple(clusters))


def _targets(policy: TaintPolicy, body: Body, settings: Settings) -> bool:
    """Return whether a policy is for a cluster; for none that cannot be read."""
    if policy.target is None:
        return True
    try:
        alone = members_of((decode_cluster(body, declared=settings.declared_clusters),))
    except UserError:
        return False
    return bool(alone.matching(policy.target))


def _cluster(one: Manifest, policy: TaintPolicy, world: World, settings: Settings) -> TreeNode:
    """Return a cluster with the taints of a policy that it has."""
    record = world.outputs.get(one.key)
    present = taints_of(one.body, settings, None if record is None else record.body)
    told = ", ".join(_told(policy, present)) or NONE
    return TreeNode(None, one.key.name, facts={"taints": told})


def _told(policy: TaintPolicy, present: tuple[Body, ...]) -> Iterator[str]:
    """Yield the taints of a policy that are there, by key and effect, with their moments."""
    for taint in policy.taints:
        key, effect = text(taint, "key"), text(taint, "effect")
        for one in present:
            if (text(one, "key"), text(one, "effect")) == (key, effect):
                added = text(one, "timeAdded")
                yield f"{key}:{effect}{f' since {added}' if added else ''}"
