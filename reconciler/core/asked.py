"""Questions about a few objects, answered by the very same pass over only what they read.

No rule is written here: `reconcile` gets the part of the world that the API of each object names,
the rebalancers and triggers that may demand something of it, and what every object reads: clusters
and the like, the configuration, records of passes. This shared part is kept from question to
question, so that what a pass makes of it is remembered; the part of an object is a branch off it.
Where others may have a say, such as a rebalancer that is not done moving its targets in batches,
the answer is that, and the whole pass has to be asked.

A question about all objects asks only those that may move in a world that follows a settled one.
Settled means that passes change nothing, however much time goes by. Whatever reads nothing that
differs since then stays so, and a pass over what the others read says what the whole pass says. The
passes of the next moments are foreseen as if nothing but time went by.
"""

from collections.abc import Hashable, Iterable, Iterator, Mapping
from datetime import datetime
from functools import partial

from reconciler.core.changes import Outcome
from reconciler.core.dialects import DIALECTS, PLACED, dialect_of
from reconciler.core.inputs.world import inventories_in
from reconciler.core.ledger import shares_room
from reconciler.core.losses import LOSS_BRAKED
from reconciler.core.reconcile import Memo, reconcile
from reconciler.core.rounds import next_world
from reconciler.core.safety import REBALANCED, REMOVAL_BRAKED, is_removed
from reconciler.core.stated import (
    StatedObjects,
    links_in,
    shared_kinds,
    statements,
)
from reconciler.dialects.contract import DependsOnOthers
from reconciler.dialects.object_pass import attempt, place_of
from reconciler.dialects.reads import FollowedIndex
from reconciler.manifests.admission import admit
from reconciler.manifests.paths import ALONE, FAULTS, RECORD, SAFETY
from reconciler.model.body import Body
from reconciler.model.decision import Decision, Explanation
from reconciler.model.fields import at, mapping, mappings_of, without
from reconciler.model.identity import ObjectKey
from reconciler.model.kinds import Kind
from reconciler.model.records import dataclass, field, replace
from reconciler.model.remembered import Versioned, branched, differing_keys
from reconciler.model.settings import CONFIGURATION, settings_in
from reconciler.model.world import Kinds, Manifest, World
from reconciler.rebalance.rebalancer_files import decode_rebalancer
from reconciler.rebalance.target import REBALANCER, TRIGGER
from reconciler.rebalance.workload_rebalancer import is_at_work


def moving_in_batches(world: World, now: datetime) -> ObjectKey | None:
    """Return the first rebalancer that may move some of its targets now, and others later."""
    for manifest in world.of_kind(*REBALANCER):
        limits = at(manifest.body, "spec", "limits")
        if any(limits.get(one) is not None for one in ("maxMoves", "makeBeforeBreak")):
            asked = partial(_is_at_work, world, manifest, now)
            if attempt(asked, partial(place_of, manifest)):  # one that fails is looked at, too
                return manifest.key
    return None


def _is_at_work(world: World, manifest: Manifest, now: datetime) -> bool:
    present = world.outputs.get(manifest.key)
    record = None if present is None else mapping(present.body, "metadata")
    status: Body = {} if present is None else mapping(present.body, "status")
    spec = mapping(manifest.body, "spec")
    admitted, _ = admit(manifest.key, spec, record, now)
    return is_at_work(decode_rebalancer(spec, status, admitted), now)


DESCRIBED = "described"


def _ways(key: ObjectKey, manifest: Manifest) -> Iterator[Hashable]:
    """Yield what a rebalancer or a trigger names; its policies may claim anything."""
    if key[:2] not in (REBALANCER, TRIGGER):
        return
    spec = at(manifest.body, "spec")
    if spec.get("selector") is not None or spec.get("targetRefPolicy"):
        yield DESCRIBED
    for section in ("workloads", "targetRefResource"):
        for element in mappings_of(spec.get(section)):
            yield element.get("kind"), element.get("name")


@dataclass(slots=True, eq=False)
class RebalancerIndex:
    """Rebalancers and triggers by what they may mean; it follows worlds."""

    _index: FollowedIndex[Hashable, Manifest] = field(default_factory=lambda: FollowedIndex(_ways))

    def follow(self, world: World) -> None:
        """Go on to another world."""
        self._index.follow(world.inputs)

    def concerning(self, keys: Iterable[ObjectKey]) -> frozenset[ObjectKey]:
        """Return those that may mean one of some objects."""
        concerned = set(self._index.of(DESCRIBED))
        for key in keys:
            concerned |= self._index.of((key.kind, key.name))
        return frozenset(concerned)


RECORDS = (RECORD, FAULTS, SAFETY)
UNDECIDED = (("spec", "delivery"), ("spec", "decisions"))
"""What the configuration says of what follows from decisions."""


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
        inputs |= {one.key: one for one in inventories_in(world)}
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
        """Return the configuration without what no decision depends on."""
        if self._configuration is None or self._configuration[0] is not manifest:
            body = manifest.body
            for path in UNDECIDED:
                body = without(body, path)
            self._configuration = manifest, replace(manifest, held=body)
        return self._configuration[1]


def _there(
    manifests: Mapping[ObjectKey, Manifest], keys: Iterable[ObjectKey]
) -> dict[ObjectKey, Manifest]:
    """Return those of some manifests that are there."""
    manifest_of = ((key, manifests.get(key)) for key in keys)
    return {key: one for key, one in manifest_of if one is not None}


def _next(
    before: Versioned[ObjectKey, Manifest], now: Mapping[ObjectKey, Manifest]
) -> Versioned[ObjectKey, Manifest]:
    """Return a mapping as a version that follows another; the same one where nothing differs."""
    came = {key: one for key, one in now.items() if before.get(key) is not one}
    gone = [key for key in before if key not in now]
    return before.patched(came, gone) if came or gone else before


@dataclass(slots=True, eq=False)
class AskedAlone:
    """Answers for single objects of one repository, world after world.

    Looking into a world for the first time costs what the world holds, each further one what
    differs, and a question what its object reads.

    Attributes:
        memo: What earlier answers found out.
    """

    memo: Memo = field(default_factory=Memo)
    _stated: StatedObjects = field(default_factory=StatedObjects)
    _rebalancers: RebalancerIndex = field(default_factory=RebalancerIndex)
    _shared: SharedPart = field(default_factory=SharedPart)
    _world: World | None = None

    def follow(self, world: World) -> None:
        """Go on to another world; `part` does so by itself."""
        if self._world is world:
            return
        self._world = None
        self._rebalancers.follow(world)
        self._shared.follow(world, shared_kinds())
        self._stated.follow(world)
        self._world = world

    def part(self, world: World, *keys: ObjectKey) -> World | DependsOnOthers:
        """Return the part of a world that objects read, or why that is not all they depend on.

        Args:
            world: All there is.
            keys: What decisions about the objects bear.
        """
        if shares_room(world):
            return DependsOnOthers("room in clusters is shared with all others")
        self.follow(world)
        inputs, outputs = set[ObjectKey](), set[ObjectKey]()
        for key in keys:
            reads = self._stated.read_by(key)
            if isinstance(reads, DependsOnOthers):
                return reads
            inputs |= reads.inputs
            outputs |= reads.outputs
        asking = self._rebalancers.concerning({*keys, *inputs})
        if asking and _is_capped(world):
            return DependsOnOthers("all that is rebalanced within an hour is counted together")
        return self._shared.with_own(world, inputs | asking, outputs | asking)

    def ask(self, world: World, key: ObjectKey, now: datetime) -> Outcome | DependsOnOthers:
        """Return what a pass says of one object, explained; of others it may say anything.

        Args:
            world: All there is.
            key: What decisions about the object bear.
            now: Moment of the pass.
        """
        if world.restoring:
            return DependsOnOthers("objects go back to where an earlier pass had them")
        part = self.part(world, key)
        return part if isinstance(part, DependsOnOthers) else self.ask_of(part, now, key)

    def explain(self, world: World, key: ObjectKey, now: datetime) -> Explanation | None:
        """Return what scheduling says of one object, `None` where others have a say, or nothing.

        Args:
            world: All there is.
            key: What decisions about the object bear.
            now: Moment of the pass.
        """
        outcome = self.ask(world, key, now)
        explain = None if isinstance(outcome, DependsOnOthers) else outcome.explanations.get(key)
        return None if explain is None else explain()

    def ask_of(
        self, part: World, now: datetime, explained: ObjectKey | None = None
    ) -> Outcome | DependsOnOthers:
        """Return what a pass says of the object that a part of a world is of.

        Args:
            part: As `part` returned it, or as a pass over it leaves it.
            now: Moment of the pass.
            explained: The object, if its decision is to be explained.
        """
        moving = moving_in_batches(part, now)
        if moving is not None:
            return DependsOnOthers(f"{moving.kind} {moving.name} moves its targets in batches")
        asked = frozenset() if explained is None else frozenset({explained})
        outcome = reconcile(part, now, asked=asked, memo=self.memo)
        if _is_braked(outcome) or any(is_removed(one, part) for one in outcome.decisions):
            return DependsOnOthers("removals are counted together")
        if part.former and any(one.lost for one in outcome.decisions):
            return DependsOnOthers("what an edit takes is counted together")
        if _is_capped(part) and any(map(_is_counted, outcome.decisions)):
            return DependsOnOthers("all that is rebalanced within an hour is counted together")
        return outcome


def _is_capped(world: World) -> bool:
    """Return whether there is a limit to what is rebalanced within an hour."""
    return settings_in(world).safety.max_rebalanced_replicas_per_hour is not None


def _is_counted(decision: Decision) -> bool:
    """Return whether a decision is one of those that are counted together."""
    return decision.cause.kind in REBALANCED


MOST = 100
"""So many objects are asked together; a whole pass answers for more of them in less time."""

ALL = DependsOnOthers("what all objects read is another")


@dataclass(frozen=True, slots=True, kw_only=True)
class SettledWorld:
    """A world in which passes change nothing from a moment on.

    Attributes:
        world: As a pass left it, or found it.
        at: The moment, aware UTC.
    """

    world: World
    at: datetime

    def is_still(self, world: World, now: datetime) -> bool:
        """Return whether a world is this very one, at a moment at which nothing moves in it."""
        return world is self.world and now >= self.at


def is_settled_after(outcome: Outcome) -> bool:
    """Return whether nothing is left to do once what a pass decided is written, ever.

    What cannot be placed has been told of; nobody is told again while nothing changes.
    """
    return not (
        outcome.recheck_at
        or outcome.waits
        or _is_braked(outcome)
        or outcome.removals
        or outcome.waiting
        or outcome.overrides
    )


def _is_braked(outcome: Outcome) -> bool:
    """Return whether a brake holds something, which it counted over all objects."""
    return any(fault.rule in (REMOVAL_BRAKED, LOSS_BRAKED) for fault in outcome.faults)


def affected_since(before: World, world: World) -> frozenset[ObjectKey] | DependsOnOthers:
    """Return the objects that read or have anything that differs, or why that may be any of them.

    Args:
        before: A world, such as one in which nothing moves.
        world: Another one of the same repository.
    """
    if _differs_for_all(before, world):
        return ALL
    touched = changed_keys(before.inputs, world.inputs)
    touched |= changed_keys(before.outputs, world.outputs)
    if not touched:
        return frozenset()
    if len(statements()) < len(DIALECTS) or any(key[:2] in _read_by_all() for key in touched):
        return ALL
    keys = set[ObjectKey]()
    for statement in statements().values():
        keys |= links_in(statement, before, world).readers(touched)
        if len(keys) > MOST:
            return DependsOnOthers("more objects than are asked one by one may move")
    return frozenset(keys)


def changed_keys(
    before: Mapping[ObjectKey, Manifest], now: Mapping[ObjectKey, Manifest]
) -> set[ObjectKey]:
    """Return the objects that came, went or say something else."""
    return {key for key in differing_keys(now, before) if before.get(key) != now.get(key)}


def _differs_for_all(before: World, world: World) -> bool:
    """Return whether something differs that any object may look at, beside inputs and outputs."""
    return (
        before.known != world.known
        or before.held != world.held
        or before.frozen != world.frozen
        or before.feedback != world.feedback
        or before.apart != world.apart
        or before.output_root != world.output_root
    )


def _read_by_all() -> frozenset[tuple[str, str]]:
    """Return the kinds of which each one is read by any object, or asks for others."""
    consulted = (kind for statement in statements().values() for kind in statement.consulted)
    own = {key[:2] for key in ALONE if key != RECORD}
    return frozenset({CONFIGURATION, REBALANCER, TRIGGER, *own, *consulted, *shared_kinds()})


def owners_of(world: World, outputs: Iterable[ObjectKey]) -> Iterator[ObjectKey]:
    """Yield the objects that some outputs belong to."""
    for key in outputs:
        output = world.outputs.get(key)
        dialect = dialect_of(key.group)
        if output is not None and dialect is not None:
            owner = None if key[:2] in PLACED else dialect.view().outputs.owner_of(key, output.body)
            yield key if owner is None else owner


MOMENTS = 8
"""So many passes are computed; what waits for a later moment is told as far as it is known."""


Passes = list[tuple[datetime, Outcome]]
"""Passes one after the other, each with its moment."""


def passes_alone(
    world: World, now: datetime, alone: AskedAlone, *keys: ObjectKey
) -> Passes | DependsOnOthers:
    """Return the next passes over what some objects read, as many as are foreseen of a world."""
    part, at = alone.part(world, *keys), now
    if isinstance(part, DependsOnOthers):
        return part
    passes: Passes = []
    for _ in range(MOMENTS):
        outcome = alone.ask_of(part, at)
        if isinstance(outcome, DependsOnOthers):
            return outcome
        passes.append((at, outcome))
        if outcome.recheck_at is None:
            break
        part, at = next_world(part, outcome), max(outcome.recheck_at, at)
    return passes


def passes_since(settled: SettledWorld, now: datetime, *worlds: World) -> list[Passes] | None:
    """Return the next passes in worlds that follow a settled one, over what may move in any.

    Returns:
        `None` where that may be anything, or is more than is asked at once.
    """
    if now < settled.at:
        return None
    alone, keys = AskedAlone(), set[ObjectKey]()
    for world in worlds:
        affected = affected_since(settled.world, world)
        if isinstance(affected, DependsOnOthers):
            return None
        keys |= affected
    answers = [passes_alone(one, now, alone, *sorted(keys)) for one in worlds]
    computed = [passes for passes in answers if not isinstance(passes, DependsOnOthers)]
    return computed if len(computed) == len(worlds) else None
