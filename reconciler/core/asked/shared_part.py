"""What every object reads of a world: clusters and the like, the configuration, records of passes.

It is kept from question to question, so that what a pass makes of it is remembered; the part of one
object is a branch off it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from reconciler.manifests.paths import FAULTS, RECORD, SAFETY
from reconciler.model.content import without
from reconciler.model.identity import ObjectKey
from reconciler.model.known_kinds import Kind
from reconciler.model.settings import CONFIGURATION
from reconciler.model.versioned import Versioned, branched
from reconciler.model.world import Kinds, Manifest, World

RECORDS = (RECORD, FAULTS, SAFETY)
DELIVERY = ("spec", "delivery")


@dataclass(slots=True, eq=False)
class SharedPart:
    """The shared part of the world that was asked about last; it is changed in place."""

    _inputs: Versioned[ObjectKey, Manifest] = field(default_factory=Versioned)
    _outputs: Versioned[ObjectKey, Manifest] = field(default_factory=Versioned)
    _kinds: Kinds = field(default_factory=Kinds)
    _output_kinds: Kinds = field(default_factory=Kinds)
    _configuration: tuple[Manifest, Manifest] | None = None

    def follow(self, world: World, kinds: Iterable[Kind]) -> None:
        """Go on to another world, of which some kinds are shared."""
        kinds = sorted(kinds)
        inputs = {one.key: one for kind in kinds for one in world.written_of_kind(*kind)}
        inputs |= {one.key: self._undelivered(one) for one in world.of_kind(*CONFIGURATION)}
        outputs = {one.key: one for one in world.outputs_of(kinds)}
        outputs |= {key: world.outputs[key] for key in RECORDS if key in world.outputs}
        self._inputs, self._outputs = _next(self._inputs, inputs), _next(self._outputs, outputs)
        self._kinds.of(self._inputs)
        self._output_kinds.of(self._outputs)

    def with_own(
        self, world: World, inputs: Iterable[ObjectKey], outputs: Iterable[ObjectKey]
    ) -> World:
        """Return a world that has the shared part and, of what others may read, these objects."""
        kept = branched(self._outputs, _there(world.outputs, outputs))
        return replace(
            world,
            inputs=branched(self._inputs, _there(world.inputs, inputs)),
            outputs=kept,
            delivered={},
            obstacles=frozenset(),
            inexact={path: key for path, key in world.inexact.items() if key in kept},
            kinds=self._kinds.next(),
            output_kinds=self._output_kinds.next(),
        )

    def _undelivered(self, manifest: Manifest) -> Manifest:
        """Return the configuration without what it says of delivery, on which nothing depends."""
        if self._configuration is None or self._configuration[0] is not manifest:
            bare = replace(manifest, held=without(manifest.body, DELIVERY))
            self._configuration = manifest, bare
        return self._configuration[1]


def _there(
    manifests: Mapping[ObjectKey, Manifest], keys: Iterable[ObjectKey]
) -> dict[ObjectKey, Manifest]:
    """Return those of some manifests that are there."""
    found = ((key, manifests.get(key)) for key in keys)
    return {key: one for key, one in found if one is not None}


def _next(
    before: Versioned[ObjectKey, Manifest], now: Mapping[ObjectKey, Manifest]
) -> Versioned[ObjectKey, Manifest]:
    """Return a mapping as a version that follows another; the same one where nothing differs."""
    came = {key: one for key, one in now.items() if before.get(key) is not one}
    gone = [key for key in before if key not in now]
    return before.patched(came, gone) if came or gone else before
