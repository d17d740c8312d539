"""What stands on the hub beside its clusters: sets, their bindings, scores; followed by change."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from reconciler.dialects.followed_index import Followed
from reconciler.dialects.ocm.api.cluster_sets import (
    IMPLICIT,
    ClusterSet,
    SetBinding,
    decode_set,
    decode_set_binding,
)
from reconciler.dialects.ocm.api.placement import GROUP
from reconciler.dialects.scores.reports import SCORES, Reports, named, reports_of
from reconciler.model.body import Body
from reconciler.model.fields import mapping
from reconciler.model.identity import ObjectKey
from reconciler.model.versioned import patched
from reconciler.model.world import Manifest, World

SETS = (GROUP, "ManagedClusterSet")
SET_BINDINGS = (GROUP, "ManagedClusterSetBinding")

Bindings = Mapping[str, tuple[SetBinding, ...]]
"""Namespace to the bindings there, sorted."""


@dataclass(slots=True, eq=False)
class HubObjects:
    """Those of the world that was followed last; each mapping is another one where it differs.

    Attributes:
        sets: By name, those that stand on every hub included.
        bindings: By namespace.
        reports: The scores by cluster and name.
    """

    sets: Mapping[str, ClusterSet] = field(default_factory=lambda: dict(IMPLICIT))
    bindings: Bindings = field(default_factory=dict)
    reports: Reports = field(default_factory=dict)
    _inputs: Followed[ObjectKey, Manifest] = field(default_factory=Followed, repr=False)

    def follow(self, world: World) -> list[ObjectKey]:
        """Go on to a world, and return the objects that may be others."""
        keys = self._inputs.keys(world.inputs)
        found = [key for key in keys if key[:2] in (SETS, SET_BINDINGS, SCORES)]
        sets, bindings, reports = (
            [key for key in found if key[:2] == kind] for kind in (SETS, SET_BINDINGS, SCORES)
        )
        if sets:
            self.sets = sets_of(world.of_kind(*SETS))
        if bindings:
            self.bindings = bindings_of(world.of_kind(*SET_BINDINGS))
        if reports:
            came = reports_of(world.inputs[key] for key in reports if key in world.inputs)
            gone = [named(key) for key in reports if key not in world.inputs]
            self.reports = patched(self.reports, came, gone)
        return found


def sets_of(manifests: Iterable[Manifest]) -> dict[str, ClusterSet]:
    """Return the sets by name, with those that stand on every hub."""
    return {**IMPLICIT, **{one.key.name: decode_set(one.body) for one in manifests}}


def bindings_of(manifests: Iterable[Manifest]) -> Bindings:
    """Return the bindings by namespace, given them sorted."""
    found: dict[str, tuple[SetBinding, ...]] = {}
    for one in manifests:
        space = one.key.namespace
        found[space] = (*found.get(space, ()), decode_set_binding(_placed(one)))
    return found


def _placed(manifest: Manifest) -> Body:
    """Return a body with the namespace that it has, written or not."""
    metadata = mapping(manifest.body, "metadata")
    return {**manifest.body, "metadata": {**metadata, "namespace": manifest.key.namespace}}
