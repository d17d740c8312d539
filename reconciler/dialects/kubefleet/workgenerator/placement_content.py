"""What the resource snapshots of one placement hold, and which overrides concern that."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

from reconciler.dialects.kubefleet.api.binding import resource_snapshot_of
from reconciler.dialects.kubefleet.api.kinds import BINDINGS, RESOURCE_SNAPSHOTS, subject_of
from reconciler.dialects.kubefleet.api.resource_snapshot import SnapshotEntry, decode_resources
from reconciler.dialects.kubefleet.overrider.matching import overrides_of_placement
from reconciler.dialects.kubefleet.overrider.override import Override, OverrideTarget
from reconciler.dialects.kubefleet.overrider.override_reads import ANY_OVERRIDE, overrides_read
from reconciler.dialects.kubefleet.overrider.override_table import Overrides
from reconciler.dialects.kubefleet.workgenerator.envelopes import is_envelope, targets_of
from reconciler.dialects.kubefleet.workgenerator.snapshot_content import content_at
from reconciler.dialects.kubefleet.workgenerator.snapshot_group import snapshot_group
from reconciler.dialects.read_index import Question
from reconciler.errors import UserError
from reconciler.model.body import Body
from reconciler.model.identity import ObjectKey
from reconciler.model.world import World


@dataclass(slots=True, eq=False)
class PlacementContent:
    """What the snapshots of one placement hold, read once for all its clusters.

    Attributes:
        world: Where it is read from.
        owner: The placement.
        snapshots: Its resource snapshots.
        fleet_overrides: All overrides.
    """

    world: World
    owner: ObjectKey
    snapshots: Sequence[Body]
    fleet_overrides: Overrides
    _contents: dict[tuple[ObjectKey, str], Body] = field(default_factory=dict)
    _overrides: dict[str, list[Override]] = field(default_factory=dict)
    _held: dict[str, Sequence[OverrideTarget]] = field(default_factory=dict)

    def is_namespaced(self, target: OverrideTarget) -> bool:
        """Return whether an object is of a namespaced kind; one of no known kind says it itself."""
        return self.world.known.scopes.get((target.group, target.kind), bool(target.namespace))

    def content(self, entry: SnapshotEntry) -> Body:
        """Return the object that an entry of a snapshot stands for."""
        name = entry.key, entry.hash
        if name not in self._contents:
            self._contents[name] = content_at(self.world, entry)
        return self._contents[name]

    def overrides(self, master: str) -> list[Override]:
        """Return the overrides that concern what a snapshot holds."""
        if not self.fleet_overrides:
            return []
        if master not in self._overrides:
            self._overrides[master] = overrides_of_placement(
                self.fleet_overrides,
                subject_of(self.owner),
                self._targets(master),
                self.is_namespaced,
            )
        return self._overrides[master]

    def asked(self, masters: Iterable[str]) -> Iterator[Question]:
        """Yield what is asked of overrides for what some snapshots hold."""
        for master in set(masters):
            try:
                for target in self._targets(master):
                    own = self.is_namespaced(target)
                    yield from overrides_read(target, namespaced=own)
            except UserError:
                continue  # the placement is told of, and is looked at again by itself

    def holds(self, master: str) -> bool:
        """Return whether a snapshot is there, with all that belong to it."""
        try:
            return bool(snapshot_group(master, self.snapshots))
        except UserError:
            return False

    def sources(self) -> Iterator[ObjectKey]:
        """Yield what any snapshot holds, and what is in its envelopes."""
        for entry in _entries(self.snapshots):
            yield entry.key
            if is_envelope(entry.body):
                for one in self._unpacked(entry):
                    yield ObjectKey(one.group, one.kind, one.namespace, one.name)

    def _unpacked(self, envelope: SnapshotEntry) -> list[OverrideTarget]:
        """Return what is in an envelope, as far as it can be read."""
        try:
            return list(targets_of(self.content(envelope), self.is_namespaced))
        except UserError:
            return []

    def _targets(self, master: str) -> Sequence[OverrideTarget]:
        """Return what a snapshot and those that belong to it hold, as overrides name it."""
        if master not in self._held:
            entries = _entries(snapshot_group(master, self.snapshots))
            unpacked = (targets_of(self.content(e), self.is_namespaced) for e in entries)
            self._held[master] = tuple(chain.from_iterable(unpacked))
        return self._held[master]


def overrides_asked(
    world: World, owner: ObjectKey, outputs: Mapping[ObjectKey, Body], overrides: Overrides
) -> Iterator[Question]:
    """Yield what a placement asks of overrides, for the resources that its bindings are on.

    Args:
        world: Where content is read from.
        owner: The placement.
        outputs: Its files.
        overrides: All overrides; where there are none, only whether one comes is asked.
    """
    yield ANY_OVERRIDE
    if not overrides:
        return
    snapshots, masters = [], set()
    for key, body in outputs.items():
        if key.kind in BINDINGS:
            masters.add(resource_snapshot_of(body))
        elif key.kind in RESOURCE_SNAPSHOTS:
            snapshots.append(body)
    yield from PlacementContent(world, owner, snapshots, overrides).asked(masters - {""})


def _entries(snapshots: Iterable[Body]) -> Iterator[SnapshotEntry]:
    return chain.from_iterable(map(decode_resources, snapshots))
