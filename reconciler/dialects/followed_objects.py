"""The objects of one API and the outputs that are theirs, followed from one world to the next."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

from reconciler.model.body import Body
from reconciler.model.identity import ObjectKey
from reconciler.model.known_kinds import Kind
from reconciler.model.versioned import differing_keys
from reconciler.model.world import Manifest, World


@dataclass(frozen=True, slots=True, kw_only=True)
class Ownership:
    """Which objects are followed, and which outputs are theirs.

    Attributes:
        kinds: Of the objects, and of their status files.
        owned: The kinds of their other outputs.
        owner_of: Returns the object that such an output belongs to; one that cannot be there where
            that cannot be told.
        is_there: Whether an object that is written counts.
    """

    kinds: Collection[Kind]
    owned: Collection[Kind] = ()
    owner_of: Callable[[ObjectKey, Body], ObjectKey] = lambda key, _: key
    is_there: Callable[[Manifest], bool] = lambda _: True


@dataclass(slots=True, eq=False)
class FollowedObjects:
    """Those of the world that was followed last; it is changed in place.

    Attributes:
        by: Which they are.
        there: The objects.
        left: Outputs by the object that they belong to, its status excepted, each by key.
        gone: The keys that have outputs or a status, and are no such object.
    """

    by: Ownership
    there: dict[ObjectKey, Manifest] = field(default_factory=dict)
    left: dict[ObjectKey, dict[ObjectKey, Body]] = field(default_factory=dict)
    gone: set[ObjectKey] = field(default_factory=set)
    _inputs: Mapping[ObjectKey, Manifest] = field(default_factory=dict)
    _outputs: Mapping[ObjectKey, Manifest] = field(default_factory=dict)
    _owners: dict[ObjectKey, ObjectKey] = field(default_factory=dict)

    def follow(self, world: World) -> set[ObjectKey]:
        """Go on to a world, and return the objects of which a file may be another."""
        touched = set()
        for key in differing_keys(world.inputs, self._inputs):
            if key[:2] in self.by.kinds:
                self._take(key, world.inputs.get(key))
                touched.add(key)
        for key in differing_keys(world.outputs, self._outputs):
            if key[:2] in self.by.kinds:
                touched.add(key)
            elif key[:2] in self.by.owned:
                touched |= self._put(key, world.outputs.get(key))
        self._inputs, self._outputs = world.inputs, world.outputs
        for key in touched:
            if key not in self.there and (key in self.left or key in world.outputs):
                self.gone.add(key)
            else:
                self.gone.discard(key)
        return touched

    def owner(self, key: ObjectKey) -> ObjectKey:
        """Return the object that an output belongs to; any other one is told as it is."""
        return self._owners.get(key, key)

    def files(self, key: ObjectKey) -> dict[ObjectKey, Body]:
        """Return the outputs of an object, its status last."""
        status = self._outputs.get(key)
        return {**self.left.get(key, {}), **({} if status is None else {key: status.body})}

    def _take(self, key: ObjectKey, manifest: Manifest | None) -> None:
        """Take an object as it is written, `None` if it is not any more."""
        if manifest is None or not self.by.is_there(manifest):
            self.there.pop(key, None)
        else:
            self.there[key] = manifest

    def _put(self, key: ObjectKey, output: Manifest | None) -> set[ObjectKey]:
        """Take an output, and return the objects that had it, or have it now."""
        owners = set()
        before = self._owners.pop(key, None)
        if before is not None:
            owners.add(before)
            rest = ((one, body) for one, body in self.left[before].items() if one != key)
            self._set(before, dict(rest))
        if output is not None:
            owner = self._owners[key] = self.by.owner_of(key, output.body)
            owners.add(owner)
            self._set(owner, dict(sorted({**self.left.get(owner, {}), key: output.body}.items())))
        return owners

    def _set(self, owner: ObjectKey, files: dict[ObjectKey, Body]) -> None:
        """Take other outputs for those of an object; what was told of them stays as it was."""
        if files:
            self.left[owner] = files
        else:
            del self.left[owner]
