"""The renderers of one world after the other: what changed from the one to the other."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial

from reconciler.dialects.cluster_reads import named
from reconciler.dialects.kubefleet.api.clusters import member_labels
from reconciler.dialects.kubefleet.api.groups import CLUSTER
from reconciler.dialects.kubefleet.api.kinds import OWNED, is_placement
from reconciler.dialects.kubefleet.api.names import GROUP, NAMESPACE
from reconciler.dialects.kubefleet.overrider.override import MemberLabels
from reconciler.dialects.kubefleet.overrider.override_reads import answered_by
from reconciler.dialects.kubefleet.overrider.override_table import (
    OVERRIDES,
    OverrideTable,
    decoded,
)
from reconciler.dialects.kubefleet.workgenerator.namespaces import (
    namespaces_along,
)
from reconciler.dialects.kubefleet.workgenerator.placement_files import (
    parent_of,
)
from reconciler.dialects.kubefleet.workgenerator.renderer import KubeFleetRenderer, MembersByName
from reconciler.dialects.read_index import Question
from reconciler.dialects.renderer import Affected
from reconciler.model.identity import ClusterName, ObjectKey
from reconciler.model.keyed_cache import AnswerCache
from reconciler.model.settings import Settings
from reconciler.model.versioned import differing_keys
from reconciler.model.world import Manifest, World

REMEMBERED = 3
"""Worlds: that a pass leaves, that it found, and that the pass before left."""


@dataclass(slots=True, eq=False)
class KubeFleetRenderers:
    """The renderers of one world after the other, which share what did not change."""

    overrides: OverrideTable = field(default_factory=OverrideTable)
    fleet: AnswerCache[None, MembersByName] = field(default_factory=AnswerCache)
    _lacking: list[tuple[World, set[ObjectKey]]] = field(default_factory=list)

    def of(self, world: World, settings: Settings, /) -> KubeFleetRenderer:  # noqa: ARG002
        """Return the renderer of a world."""
        overrides = self.overrides.of(world)
        clusters = world.of_kind(*CLUSTER)
        fleet = self.fleet.recall(None, (clusters,), partial(_fleet, clusters))
        self.fleet.forget()
        along = namespaces_along(world)
        return KubeFleetRenderer(world, fleet, overrides, along, self._lacking_in(world))

    def _lacking_in(self, world: World) -> set[ObjectKey]:
        """Return the placements that lacked content in a world, to be noted there."""
        found = next((noted for known, noted in self._lacking if known is world), None)
        if found is None:
            found = set()
            self._lacking = [*self._lacking[1 - REMEMBERED :], (world, found)]
        return found

    def affected(self, before: World, now: World, /) -> Affected | None:
        """Return the placements whose files changed, and those that lacked content.

        All of them if the scope of a kind changed.
        """
        if before.known != now.known:
            return None
        changed = differing_keys(now.inputs, before.inputs)
        namespaces = [key for key in changed if key[:2] == NAMESPACE]
        written = frozenset(filter(is_placement, changed))
        found = {*written, *namespaces, *self._lacking_in(before)}
        questions: list[Question] = []
        for key in changed:
            versions = (before.inputs.get(key), now.inputs.get(key))
            questions += _questions(key, [one for one in versions if one is not None])
        return Affected(found | _rendered_anew(before, now, written), questions)


def _questions(key: ObjectKey, versions: list[Manifest]) -> Iterator[Question]:
    """Yield what an input answers otherwise, given it as it was and as it is."""
    if key[:2] in OVERRIDES:
        for one in versions:
            yield from answered_by(decoded(one))
    elif key[:2] == CLUSTER:
        labels = [member_labels(one.body) for one in versions]
        if len(labels) == 1 or labels[0] != labels[1]:
            yield named(key.name)


def _rendered_anew(before: World, now: World, written: Collection[ObjectKey]) -> set[ObjectKey]:
    """Return the placements of which a file changed, and Namespaces that go otherwise along.

    Args:
        before: A world.
        now: A later one.
        written: The placements that people changed.
    """
    found: set[ObjectKey] = set()
    for key in differing_keys(now.outputs, before.outputs):
        if is_placement(key):
            found.add(key)
        elif key.group == GROUP and key.kind in OWNED:
            versions = (before.outputs.get(key), now.outputs.get(key))
            found.update(parent_of(one) for one in versions if one is not None)
    if found or written:
        then, since = namespaces_along(before), namespaces_along(now)
        found |= {key for key in (*then, *since) if then.get(key) != since.get(key)}
    return found


def _fleet(clusters: Iterable[Manifest]) -> MembersByName:
    """Return the clusters of a world as overrides see them."""
    views = ((ClusterName(one.key.name), member_labels(one.body)) for one in clusters)
    return MembersByName({name: MemberLabels(name, labels) for name, labels in views})
