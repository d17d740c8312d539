"""The renderers of one world after the other: what changed from the one to the other."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain

from reconciler.dialects.kubefleet.api.groups import CLUSTER_GROUP
from reconciler.dialects.kubefleet.api.kinds import OWNED, PLACEMENTS, is_placement
from reconciler.dialects.kubefleet.api.names import GROUP
from reconciler.dialects.kubefleet.overrider.override import (
    MemberLabels,
    Override,
    decode_override,
)
from reconciler.dialects.kubefleet.workgenerator.namespaces import (
    NAMESPACE,
    namespaces_along,
)
from reconciler.dialects.kubefleet.workgenerator.placement_files import (
    parent_of,
)
from reconciler.dialects.kubefleet.workgenerator.renderer import KubeFleetRenderer
from reconciler.model.fields import mapping
from reconciler.model.identity import ClusterName, ObjectKey
from reconciler.model.keyed_cache import AnswerCache, forget
from reconciler.model.known_kinds import Kind
from reconciler.model.labels import labels_of
from reconciler.model.settings import Settings
from reconciler.model.versioned import differing_keys
from reconciler.model.world import Manifest, World

CLUSTER: Kind = (CLUSTER_GROUP, "MemberCluster")
OVERRIDES: tuple[Kind, ...] = ((GROUP, "ClusterResourceOverride"), (GROUP, "ResourceOverride"))
FIRST_INDEX = 0
"""Of the snapshot of an override; here there is one, since a change applies at once."""


@dataclass(slots=True, eq=False)
class KubeFleetRenderers:
    """The renderers of one world after the other, which share what did not change."""

    found: AnswerCache[None, tuple[Override, ...]] = field(default_factory=AnswerCache)
    lacking: set[ObjectKey] = field(default_factory=set)

    def of(self, world: World, settings: Settings, /) -> KubeFleetRenderer:  # noqa: ARG002
        """Return the renderer of a world."""
        written = tuple(world.of_kind(*kind) for kind in OVERRIDES)
        overrides = self.found.recall(
            None, written, lambda: tuple(_decoded(chain.from_iterable(written)))
        )
        forget(self)
        along = namespaces_along(world)
        return KubeFleetRenderer(world, _members(world), overrides, along, self.lacking)

    def affected(self, before: World, now: World, /) -> Collection[ObjectKey] | None:
        """Return the placements whose files changed, and those that lacked content.

        All of them if an override, a cluster's labels or the scope of a kind changed.
        """
        if any(before.of_kind(*kind) is not now.of_kind(*kind) for kind in OVERRIDES):
            return None
        if before.known != now.known or _members(before) != _members(now):
            return None
        changed = differing_keys(now.inputs, before.inputs)
        namespaces = [key for key in changed if key[:2] == NAMESPACE]
        found = {*filter(is_placement, changed), *namespaces, *self.lacking}
        if any((key in now.inputs) != (key in before.inputs) for key in namespaces):
            placed = now.outputs_of((GROUP, kind) for kind in sorted(PLACEMENTS))
            found.update(one.key for one in placed)  # of which one may be warned now
        return found | _rendered_anew(before, now)


def _rendered_anew(before: World, now: World) -> set[ObjectKey]:
    """Return the placements of which a file changed, and Namespaces that go elsewhere along."""
    found: set[ObjectKey] = set()
    for key in differing_keys(now.outputs, before.outputs):
        if is_placement(key):
            found.add(key)
        elif key.group == GROUP and key.kind in OWNED:
            versions = (before.outputs.get(key), now.outputs.get(key))
            found.update(parent_of(one) for one in versions if one is not None)
    if found:
        then, since = namespaces_along(before), namespaces_along(now)
        found |= {key for key in (*then, *since) if then.get(key) != since.get(key)}
    return found


def _members(world: World) -> dict[str, MemberLabels]:
    """Return the clusters of a world as overrides see them, by name."""
    return {
        one.key.name: MemberLabels(ClusterName(one.key.name), labels_of(one.body))
        for one in world.of_kind(*CLUSTER)
    }


def _decoded(manifests: Iterable[Manifest]) -> Iterator[Override]:
    """Yield the overrides, sorted by namespace and name.

    Unlike upstream: each is as if it had never been another one, and a change of it applies at
    once, while upstream rolls it out like a change of resources.
    """
    for one in manifests:
        snapshot = f"{one.key.name}-{FIRST_INDEX}"
        yield decode_override(one.key, mapping(one.body, "spec"), snapshot)
