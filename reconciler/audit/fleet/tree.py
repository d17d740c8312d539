"""What hangs on a policy or a placement, down to the clusters, with the copies and manifests there.

What a decision renders for clusters comes from the same functions that delivery calls.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime

from reconciler.audit.fleet.assumed_outputs import as_of
from reconciler.audit.fleet.copies import CopiesOf, DeliveredCopy, Elsewhere
from reconciler.core.dialects import DIALECTS, decision_on, dialect_of
from reconciler.delivery.refusals import without_refused
from reconciler.delivery.settings import decode_delivery
from reconciler.dialects.renderer import Rendered
from reconciler.dialects.view import TreeNode, node_of
from reconciler.model.identity import ObjectKey
from reconciler.model.records import dataclass
from reconciler.model.settings import settings_in
from reconciler.model.world import World
from reconciler.staging.staged_delivery import STAGED_DELIVERY, readable_staged_record
from reconciler.staging.view import progress_facts

Here = Mapping[str, DeliveredCopy]
"""Cluster to the copy there."""


@dataclass(frozen=True, slots=True)
class CopyTree:
    """A node of a tree, and of a cluster at its end the copy there, `None` if there is none."""

    node: TreeNode
    copy: DeliveredCopy | None
    children: tuple["CopyTree", ...]

    def all(self) -> Iterator["CopyTree"]:
        """Yield the tree and all that is below it."""
        yield self
        for child in self.children:
            yield from child.all()

    def keys(self) -> Iterator[ObjectKey]:
        """Yield the objects of the tree."""
        return (one.node.key for one in self.all() if one.node.key is not None)


def tree_of(world: World, key: ObjectKey, elsewhere: Elsewhere, now: datetime) -> CopyTree:
    """Return what hangs on an object as its API has it, each level sorted.

    Args:
        world: That is asked about.
        key: Of the object.
        elsewhere: What is delivered on other branches.
        now: Moment of the question, aware UTC.
    """
    shown = as_of(world, now)
    root = _staged(shown, key) if key[:2] == STAGED_DELIVERY else _hanging(shown, key)
    return _with_copies(root, CopiesOf(world, now, elsewhere), {})


def _hanging(world: World, key: ObjectKey) -> TreeNode:
    dialect = dialect_of(key.group)
    return node_of(key) if dialect is None else dialect.view().world.tree(world, key)


def _staged(world: World, key: ObjectKey) -> TreeNode:
    """Return a staged delivery with how far its run is, and the decisions on what it stages."""
    output = world.outputs.get(key)
    body = {} if output is None else output.body
    decisions = map(decision_on, readable_staged_record(body).objects)
    below = (_hanging(world, one) for one in decisions if one is not None)
    return node_of(key, progress_facts(body), tuple(below))


def _with_copies(node: TreeNode, copies: CopiesOf, above: Here) -> CopyTree:
    """Return a node with the copies of the last decision above its clusters."""
    if node.key is None:
        return CopyTree(node, above.get(node.name), ())
    here = {str(one.status.cluster): one for one in copies(node.key)} or above
    return CopyTree(node, None, tuple(_with_copies(one, copies, here) for one in node.children))


@dataclass(frozen=True, slots=True)
class RenderedDecision:
    """What a decision puts onto clusters, and the decision."""

    key: ObjectKey
    rendered: Rendered


def rendered_in(world: World, key: ObjectKey | None = None) -> Iterator[RenderedDecision]:
    """Yield what the decisions of a world put onto clusters, those of one object or all, sorted.

    Whether anything is delivered does not matter; what delivery would refuse is told as not
    rendered.
    """
    settings = settings_in(world)
    delivery = decode_delivery(settings)
    for dialect in DIALECTS:
        renderer = dialect.renderers().of(world, settings)
        for owner in sorted(renderer.owners() if key is None else (key,)):
            rendered = renderer.render(owner)
            if rendered is not None:
                allowed, _ = without_refused(rendered, delivery, world.known)
                yield RenderedDecision(owner, allowed)
