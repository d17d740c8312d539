"""Where each object of a world is placed, and which user object and policy a decision is about.

Each object is read when it is asked for. What a decision is about is read from the outputs.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple, Self

from reconciler.audit.fleet.placed import named, owner_of
from reconciler.core.dialects import DIALECTS, PLACED, dialect_of
from reconciler.model.decision import Placed
from reconciler.model.identity import ClusterName, ObjectKey
from reconciler.model.remembered import differing_keys
from reconciler.model.world import Manifest, World

Pairs = dict[tuple[str, int], tuple[ClusterName, int]]
"""Each cluster with a number of replicas once: of millions there are few different ones."""


class PlacedObjects(Mapping[ObjectKey, Placed]):
    """Where the objects of a world are that decisions are about, sorted by key.

    What was read is kept, and serves the worlds that follow; so a page of a list costs its rows.
    """

    __slots__ = ("_known", "_pairs", "_written")

    def __init__(self, world: World) -> None:
        """Begin with nothing read."""
        self._written = _written_in(world)
        self._known: dict[ObjectKey, Placed] = {}
        self._pairs: Pairs = {}

    def followed(self, world: World, changed: frozenset[ObjectKey]) -> Self:
        """Return those of another world, where `changed` are the objects that are elsewhere."""
        following = type(self)(world)
        following._known = {key: one for key, one in self._known.items() if key not in changed}  # noqa: SLF001  # of its own class
        following._pairs = self._pairs  # noqa: SLF001  # as above
        return following

    def __getitem__(self, key: ObjectKey) -> Placed:
        if key not in self._known:
            self._known[key] = self._read(self._written[key])
        return self._known[key]

    def __iter__(self) -> Iterator[ObjectKey]:
        return iter(self._written)

    def __len__(self) -> int:
        return len(self._written)

    def __contains__(self, key: object) -> bool:
        return key in self._written

    def _read(self, outputs: list[Manifest]) -> Placed:
        """Return the clusters that some outputs name, ascending by name."""
        dialect = dialect_of(outputs[0].key.group) if outputs else None
        if dialect is None:
            return ()
        view = dialect.view()
        counts: dict[str, int] = {}
        for manifest in outputs:
            counts.update(view.outputs.clusters_in(manifest.body))
        share = self._pairs.setdefault
        return tuple(
            [share(pair, (ClusterName(pair[0]), pair[1])) for pair in sorted(counts.items())]
        )


def changed_owners(now: World, before: World) -> frozenset[ObjectKey]:
    """Return the objects of which two worlds may say that they are on other clusters."""
    owners = set()
    for key in differing_keys(now.outputs, before.outputs):
        if (key.group, key.kind) in PLACED:
            owners.add(key)
        for side in (now, before):
            output = side.outputs.get(key)
            owner = None if output is None else owner_of(key, output.body)
            if owner is not None:
                owners.add(owner)
    return frozenset(owners)


def _written_in(world: World) -> dict[ObjectKey, list[Manifest]]:
    """Return the outputs in which it stands where each object is, sorted by object."""
    manifests: dict[ObjectKey, list[Manifest]] = {}
    for dialect in DIALECTS:
        view = dialect.view()
        for kind in dialect.placed:
            part = dialect.parts.get(kind)
            for manifest in world.outputs_of_kind(kind):
                manifests.setdefault(manifest.key, [] if part else [manifest])
            for manifest in () if part is None else world.outputs_of_kind(part):
                owner = view.outputs.owner_of(manifest.key, manifest.body)
                if owner is not None:
                    manifests.setdefault(owner, []).append(manifest)
    return {key: manifests[key] for key in sorted(manifests)}


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
        following = type(self)(world)
        following._known = {key: one for key, one in self._known.items() if key not in changed}  # noqa: SLF001  # of its own class
        return following

    def of(self, key: ObjectKey) -> DecidedObject:
        """Return what a decision is about: of a binding its workload, else what has its key."""
        decided = self._known.get(key)
        if decided is None:
            decided = self._known[key] = _read(self._world, key)
        return decided


def _read(world: World, key: ObjectKey) -> DecidedObject:
    dialect, output = dialect_of(key.group), world.outputs.get(key)
    policy = None
    if dialect is not None and output is not None:
        policy = dialect.view().outputs.policy_of(output.body)
    return DecidedObject(named(world, key), policy)
