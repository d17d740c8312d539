"""The objects of one API and the outputs that are theirs, followed from one world to the next."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from reconciler.dialects.followed_index import Followed, FollowedIndex
from reconciler.model.body import Body
from reconciler.model.identity import ObjectKey
from reconciler.model.known_kinds import Kind
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
    _inputs: Followed[ObjectKey, Manifest] = field(default_factory=Followed)
    _outputs: FollowedIndex[ObjectKey, Manifest] = field(init=False)

    def __post_init__(self) -> None:
        """Index the outputs by the object that each belongs to."""
        self._outputs = FollowedIndex(self._owners)

    def follow(self, world: World) -> set[ObjectKey]:
        """Go on to a world, and return the objects of which a file may be another."""
        touched = self._outputs.follow(world.outputs)
        for key in touched:
            self._gather(key)
        for key in self._inputs.keys(world.inputs):
            if key[:2] in self.by.kinds:
                self._take(key, world.inputs.get(key))
                touched.add(key)
        for key in touched:
            if key not in self.there and self._outputs.of(key):
                self.gone.add(key)
            else:
                self.gone.discard(key)
        return touched

    def owner(self, key: ObjectKey) -> ObjectKey:
        """Return the object that an output belongs to; any other one is told as it is."""
        output = self._outputs.get(key)
        return key if output is None else next(iter(self._owners(key, output)), key)

    def files(self, key: ObjectKey) -> dict[ObjectKey, Body]:
        """Return the outputs of an object, its status last."""
        status = self._outputs.get(key)
        return {**self.left.get(key, {}), **({} if status is None else {key: status.body})}

    def _owners(self, key: ObjectKey, output: Manifest) -> tuple[ObjectKey, ...]:
        """Return the object that an output belongs to, its status to itself; none for others."""
        if key[:2] in self.by.kinds:
            return (key,)
        return (self.by.owner_of(key, output.body),) if key[:2] in self.by.owned else ()

    def _take(self, key: ObjectKey, manifest: Manifest | None) -> None:
        """Take an object as it is written, `None` if it is not any more."""
        if manifest is None or not self.by.is_there(manifest):
            self.there.pop(key, None)
        else:
            self.there[key] = manifest

    def _gather(self, owner: ObjectKey) -> None:
        """Gather the outputs of an object; what was told of them stays as it was."""
        found = self._outputs.found(owner).items()
        files = {key: output.body for key, output in found if key != owner}
        if files:
            self.left[owner] = files
        else:
            self.left.pop(owner, None)
