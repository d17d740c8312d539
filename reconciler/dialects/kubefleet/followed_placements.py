"""The placements of a world and their outputs, followed from one world to the next."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from reconciler.dialects.kubefleet.api.kinds import OWNED, PLACEMENTS
from reconciler.dialects.kubefleet.api.names import GROUP
from reconciler.dialects.kubefleet.drift_repair import owner_of
from reconciler.model.body import Body
from reconciler.model.fields import mapping
from reconciler.model.identity import ObjectKey
from reconciler.model.versioned import differing_keys
from reconciler.model.world import Manifest, World


@dataclass(slots=True, eq=False)
class FollowedPlacements:
    """Those of the world that was followed last; it is changed in place.

    Attributes:
        there: The placements; one that is being deleted is none any more.
        left: Outputs by the placement that they belong to, its status excepted, each by key.
        gone: The keys that have outputs or a status, and are no placement.
    """

    there: dict[ObjectKey, Manifest] = field(default_factory=dict)
    left: dict[ObjectKey, dict[ObjectKey, Body]] = field(default_factory=dict)
    gone: set[ObjectKey] = field(default_factory=set)
    _inputs: Mapping[ObjectKey, Manifest] = field(default_factory=dict)
    _outputs: Mapping[ObjectKey, Manifest] = field(default_factory=dict)
    _owners: dict[ObjectKey, ObjectKey] = field(default_factory=dict)

    def follow(self, world: World) -> set[ObjectKey]:
        """Go on to a world, and return the placements of which a file may be another."""
        touched = set()
        for key in differing_keys(world.inputs, self._inputs):
            if key.group == GROUP and key.kind in PLACEMENTS:
                self._take(key, world.inputs.get(key))
                touched.add(key)
        for key in differing_keys(world.outputs, self._outputs):
            if key.group == GROUP and key.kind in PLACEMENTS:
                touched.add(key)
            elif key.group == GROUP and key.kind in OWNED:
                touched |= self._put(key, world.outputs.get(key))
        self._inputs, self._outputs = world.inputs, world.outputs
        for key in touched:
            if key not in self.there and (key in self.left or key in world.outputs):
                self.gone.add(key)
            else:
                self.gone.discard(key)
        return touched

    def placement_of(self, key: ObjectKey) -> ObjectKey:
        """Return the placement that an output belongs to; any other object is told as it is."""
        return self._owners.get(key, key)

    def _take(self, key: ObjectKey, manifest: Manifest | None) -> None:
        """Take the manifest of a placement, `None` if there is none any more."""
        if manifest is None or mapping(manifest.body, "metadata").get("deletionTimestamp"):
            self.there.pop(key, None)
        else:
            self.there[key] = manifest

    def _put(self, key: ObjectKey, output: Manifest | None) -> set[ObjectKey]:
        """Take an output, and return the placements that had it, or have it now."""
        owners = set()
        before = self._owners.pop(key, None)
        if before is not None:
            owners.add(before)
            del self.left[before][key]
            if not self.left[before]:
                del self.left[before]
        if output is not None:
            owner = self._owners[key] = owner_of(key, output.body)
            owners.add(owner)
            self.left[owner] = dict(sorted({**self.left.get(owner, {}), key: output.body}.items()))
        return owners
