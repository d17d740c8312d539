"""What hangs on an object: the nodes that trees of all APIs are made of."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from reconciler.model.availability import ASSUMED
from reconciler.model.body import Body
from reconciler.model.fields import bodies, mapping, text
from reconciler.model.identity import ObjectKey
from reconciler.model.world import World


@dataclass(frozen=True, slots=True)
class TreeNode:
    """An object or a cluster, what is known of it, what is below it.

    Attributes:
        key: Of the object, `None` for a cluster.
        name: Of either.
        replicas: How many a cluster has, 0 where there are none to count.
        facts: What is known of it, by name.
        children: What hangs on it.
    """

    key: ObjectKey | None
    name: str
    replicas: int = 0
    facts: Mapping[str, str] = field(default_factory=dict)
    children: tuple["TreeNode", ...] = ()


def node_of(
    key: ObjectKey, facts: Mapping[str, str] | None = None, children: tuple[TreeNode, ...] = ()
) -> TreeNode:
    """Return the node of an object."""
    return TreeNode(key, key.name, facts=facts or {}, children=children)


def status_in(world: World, key: ObjectKey) -> Body:
    """Return the status that passes wrote for an object, an empty one if there is none."""
    manifest = world.outputs.get(key)
    return {} if manifest is None else mapping(manifest.body, "status")


def condition_facts(status: Body, *, prefix: str = "", good: Mapping[str, str]) -> dict[str, str]:
    """Return each condition, with its reason where it is not as it should be, or only assumed.

    Args:
        status: That has the conditions.
        prefix: What their types begin with, left out.
        good: Type to the value that it should have, if that is not `True`.
    """
    found = {}
    for condition in bodies(status, "conditions"):
        kind, value = text(condition, "type"), text(condition, "status")
        reason = text(condition, "reason")
        fine = value == good.get(kind, "True") and ASSUMED not in reason
        found[kind.removeprefix(prefix)] = value if fine else f"{value} ({reason})"
    return found
