"""What each decision is about, as outputs say it: an object of people, and the policy of that."""

from typing import NamedTuple, Self

from reconciler.audit.fleet.placed import named
from reconciler.core.dialects import dialect_of
from reconciler.model.identity import ObjectKey
from reconciler.model.world import World


class DecidedObject(NamedTuple):
    """Of one decision the object that people mean by it, and the policy that claims that."""

    person: ObjectKey
    policy: ObjectKey | None


class DecidedObjects:
    """What decisions are about; each is read once, and serves the worlds that follow."""

    __slots__ = ("_known", "_world")

    def __init__(self, world: World) -> None:
        """Begin with nothing read."""
        self._world = world
        self._known: dict[ObjectKey, DecidedObject] = {}

    def followed(self, world: World, changed: frozenset[ObjectKey]) -> Self:
        """Return those of another world, where `changed` are decisions that may differ."""
        found = type(self)(world)
        found._known = {key: one for key, one in self._known.items() if key not in changed}  # noqa: SLF001  # of its own class
        return found

    def of(self, key: ObjectKey) -> DecidedObject:
        """Return what a decision is about: of a binding its workload, else what has its key."""
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = _read(self._world, key)
        return found


def _read(world: World, key: ObjectKey) -> DecidedObject:
    dialect, output = dialect_of(key.group), world.outputs.get(key)
    policy = None
    if dialect is not None and output is not None:
        policy = dialect.view().policy_of(output.body)
    return DecidedObject(named(world, key), policy)
