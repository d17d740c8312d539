"""KubeFleet's part of a pass: what each round begins with, and which placements may move in it.

Placements are followed from one world to the next with the outputs that are theirs; what is
remembered between rounds and passes only saves work. Rebalancers and the loop over objects ask the
same `Fleets` of a round.

A placement takes room in each of its clusters for all the pods that it selects. Where room is
protected, it may ask only for what is left in its turn. What each binding brings to its cluster
follows from its resource snapshot.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from datetime import datetime
from functools import partial

from reconciler.dialects.cluster_steps import SteppedMove, move_in
from reconciler.dialects.contract import CapacityRules, Plan, RescheduleTrigger
from reconciler.dialects.inventory import (
    ClusterInventory,
    CopyReports,
    CopyTable,
    Earlier,
    InventoryCache,
    ReportedObjects,
    clusters_before,
    take_inventory,
)
from reconciler.dialects.kubefleet import reads
from reconciler.dialects.kubefleet.api.binding import resource_snapshot_of, target_of
from reconciler.dialects.kubefleet.api.member import Member, Members, admit_cluster, members_of
from reconciler.dialects.kubefleet.api.names import (
    BINDINGS,
    CLUSTER,
    OWNED,
    PLACEMENT_GROUP,
    PLACEMENTS,
    RESOURCE_SNAPSHOTS,
    UnexpectedBehavior,
    placement_key,
)
from reconciler.dialects.kubefleet.api.placement import Placement, decode_placement
from reconciler.dialects.kubefleet.api.snapshots import decode_entry, is_latest, readable_entries
from reconciler.dialects.kubefleet.decide import (
    DemandedPlacement,
    FleetBefore,
    PlacementFiles,
    decide,
    decide_stopped,
    with_causes,
)
from reconciler.dialects.kubefleet.drift_repair import owner_of
from reconciler.dialects.kubefleet.eviction import (
    EVICTION,
    NO_EVICTIONS,
    Evictions,
    evictions_in,
    without_placement,
)
from reconciler.dialects.kubefleet.make_before_break import (
    steps_left,
    why_not_beside,
)
from reconciler.dialects.kubefleet.rollout.availability import (
    AvailabilityReports,
    keys_of,
    works_by_cluster,
)
from reconciler.dialects.kubefleet.rollout.works import work_table
from reconciler.dialects.kubefleet.scheduler.plugins import PlacementRoom
from reconciler.dialects.kubefleet.snapshots.overrides import (
    Overrides,
    OverrideTable,
    changed_overrides,
)
from reconciler.dialects.kubefleet.snapshots.selection import (
    PlacementQuestion,
    SelectedResources,
    SelectionTable,
)
from reconciler.dialects.kubefleet.snapshots.selection import SelectedResources as Selected
from reconciler.dialects.kubefleet.updaterun import cycle
from reconciler.dialects.kubefleet.updaterun.cycle import approvals_without_run
from reconciler.dialects.kubefleet.updaterun.runs import NO_RUNS, UpdateRuns, runs_in, stray_files
from reconciler.dialects.kubefleet.view.files import is_unreadable, targets_in
from reconciler.dialects.kubefleet.view.record import (
    explain_failure,
    fresh_place,
    present_place,
    removals,
    standing_of,
    unsettled,
)
from reconciler.dialects.kubefleet.workgenerator.content import (
    bindings_of,
    content_at,
    overrides_asked,
    parent_of,
    snapshots_of_group,
)
from reconciler.dialects.kubefleet.workgenerator.content import (
    snapshots_of_placement as snapshots_of,
)
from reconciler.dialects.kubefleet.workgenerator.renderer import PlacementOverriding
from reconciler.dialects.object_pass import FaultPlace, ObjectPass, Part, Visits, has_news, place_of
from reconciler.dialects.reads import FollowedIndex, FollowedObjects, Ownership, ReadTable
from reconciler.dialects.scores import FollowedScores, Reports, score_question, scores_before
from reconciler.errors import UserError
from reconciler.manifests.admission import SUSPEND, digest, is_suspended
from reconciler.manifests.paths import doubt_about, with_place
from reconciler.model.body import Body
from reconciler.model.decision import Explain
from reconciler.model.fields import at, mapping, text
from reconciler.model.identity import ObjectKey, group_of
from reconciler.model.labels import labels_of
from reconciler.model.quantity import Quantity, readable_resources
from reconciler.model.records import dataclass, field, replace
from reconciler.model.remembered import AnswerCache, CacheKey, forget, same
from reconciler.model.settings import Settings
from reconciler.model.world import Fault, Manifest, World
from reconciler.rebalance.target import (
    LAST_MOVE,
    LastMove,
    Reference,
    Target,
    TargetSelection,
    exchanged_by,
    read_last_move,
    selects,
)
from reconciler.rebalance.workload_rebalancer import MovedInParts
from reconciler.schedule.capacity import (
    NO_DEMAND,
    ClusterDemand,
    Ledger,
    ReportedRoom,
    demand_of_manifests,
    order_of,
)


def _is_there(manifest: Manifest) -> bool:
    """Return whether a placement is not being deleted."""
    return not mapping(manifest.body, "metadata").get("deletionTimestamp")


PLACEMENT_FILES = Ownership(
    kinds=frozenset((PLACEMENT_GROUP, kind) for kind in PLACEMENTS),
    owned=frozenset((PLACEMENT_GROUP, kind) for kind in OWNED),
    owner_of=owner_of,
    is_there=_is_there,
)


@dataclass(slots=True, eq=False)
class KubeFleetMemory:
    """Tables by what they answer.

    Attributes:
        clusters: Cluster as the scheduler reads it.
        followed: The placements, and what is left of each.
        members: All clusters, as the last round had them.
        evictions: By the placement that they name, as the last round had them.
        runs: Staged update runs by the placement that they name, as the last round had them.
        overrides: Overrides decoded.
        overrides_before: All of them, as the last round had them.
        placements: Placement decoded.
        selections: What a placement selects.
        copies: What clusters report.
        reported: The objects that they are about.
        works: The Works among them.
        scores: What add-ons report of clusters.
        parts: The parts that leave placements as they are, with what they were decided from.
        reserved: What the last round found reserved of clusters.
        short: The placements that found too little room in this round.
        moving: What limited rebalances are still moving.
        pending: The same as the last round had it.
    """

    clusters: InventoryCache[Member] = field(default_factory=InventoryCache)
    followed: FollowedObjects = field(default_factory=partial(FollowedObjects, PLACEMENT_FILES))
    members: Members | None = None
    evictions: Mapping[ObjectKey, Evictions] = field(default_factory=dict)
    runs: Mapping[ObjectKey, UpdateRuns] = field(default_factory=dict)
    overrides: OverrideTable = field(default_factory=OverrideTable)
    overrides_before: Overrides = ()
    placements: AnswerCache[ObjectKey, Placement] = field(default_factory=AnswerCache)
    selections: SelectionTable = field(default_factory=SelectionTable)
    copies: CopyTable = field(default_factory=CopyTable)
    reported: ReportedObjects = field(default_factory=ReportedObjects)
    works: FollowedIndex[ObjectKey, Manifest] = field(default_factory=work_table)
    scores: FollowedScores = field(default_factory=FollowedScores)
    parts: ReadTable[Part] = field(default_factory=partial(ReadTable, tells=has_news))
    reserved: CacheKey = ()
    short: set[ObjectKey] = field(default_factory=set)
    moving: MovedInParts = field(default_factory=MovedInParts)
    pending: frozenset[ObjectKey] | None = frozenset()
    _inventory: object = None
    _under: CacheKey = ()

    def members_at(
        self, inventory: ClusterInventory[Member], now: datetime, *, heartbeats: bool
    ) -> Members:
        """Return the fleet at a moment, the very same while no cluster and no answer differs."""
        members = self.members
        if (
            members is not None
            and self._inventory is inventory
            and members.stays(now, heartbeats=heartbeats)
        ):
            return members
        self._inventory = inventory
        return members_of(inventory.views.values(), now, heartbeats=heartbeats)

    def is_otherwise(self, under: CacheKey) -> bool:
        """Return whether what all placements depend on differs from the last round."""
        before, self._under = self._under, under
        return before != under

    def forget(self) -> None:
        """Drop what the last two passes did not ask for."""
        forget(self)


AMOUNTS = ("allocatable", "available", "capacity")


def reported_room(cluster: Body) -> ReportedRoom | None:
    """Return what a member reports as available; when it observed that is no part of it."""
    usage = mapping(mapping(cluster, "status"), "resourceUsage")
    free = readable_resources(mapping(usage, "available"))
    if free is None:
        return None
    whole = readable_resources(mapping(usage, "allocatable")) or {}
    used = {name: Quantity(whole[name] - free[name]) for name in free if name in whole}
    return ReportedRoom(free, used, digest([mapping(usage, name) for name in AMOUNTS]))


Selection = SelectedResources | UserError
"""What a placement selects, or what is wrong with its selectors."""


@dataclass(frozen=True, slots=True)
class ProtectedPlacements:
    """The placements of a round where room is protected.

    `ledger` is what is reserved. `left` is what earlier passes left of each placement. `selected`
    answers what one selects.
    """

    world: World
    ledger: Ledger
    left: Mapping[ObjectKey, Mapping[ObjectKey, Body]]
    selected: Callable[[ObjectKey], Selection]

    def room_of(self, key: ObjectKey) -> PlacementRoom:
        """Return what is free for a placement."""
        demand, held = self._demand(key), targets_in(self.left.get(key, {}))
        brought = partial(PlacementDemands(self.world, demand).brought, key.namespace)
        return PlacementRoom(self.ledger, key, demand, held, brought)

    def take(self, key: ObjectKey, part: Part, demand: ClusterDemand) -> None:
        """Reserve what a placement takes as it was decided.

        Where a person edited a decision nobody knows what it was: all clusters are reserved.
        """
        outputs = self.left.get(key, {})
        if any(part.outputs.get(one) is not body for one, body in outputs.items()) or not outputs:
            demands = PlacementDemands(self.world, demand)
            had = {} if part.edited else demands.of(outputs)
            self.ledger.take_all(key, had, demands.of(part.outputs))

    def _demand(self, key: ObjectKey) -> ClusterDemand:
        """Return what a placement selects takes of a cluster."""
        selection = self.selected(key)
        if isinstance(selection, UserError):
            return NO_DEMAND
        inputs = self.world.inputs
        selected = (one for one in keys_of(selection.resources) if one in inputs)
        return demand_of_manifests((one, inputs[one].body) for one in selected)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleets:
    """KubeFleet before it plans: the placements, and what earlier passes left of each.

    `affected` are the placements to look at. `copies` are what clusters report. `evictions` are
    those by the placement that they name, and so are `runs`. `overrides` are all of them.
    `clusters_before` are those of the last pass, `None` if they are the same, and so are
    `scores_before`. `protected` is `None` where no room is protected. `pending` is what limited
    rebalances are still moving, `None` where it may be anything.
    """

    world: World
    settings: Settings
    now: datetime
    inventory: ClusterInventory[Member]
    members: Members
    placements: Mapping[ObjectKey, Manifest]
    affected: AbstractSet[ObjectKey]
    left: Mapping[ObjectKey, Mapping[ObjectKey, Body]]
    copies: CopyReports
    evictions: Mapping[ObjectKey, Evictions]
    runs: Mapping[ObjectKey, UpdateRuns]
    overrides: Overrides
    memory: KubeFleetMemory
    clusters_before: Earlier[Members] | None
    scores_before: Earlier[Reports] | None
    protected: ProtectedPlacements | None = None
    pending: frozenset[ObjectKey] | None = None

    def within(self, ledger: Ledger) -> "Fleets":
        """Return the same where room is protected; who waits for some looks at what is new."""
        memory, parts = self.memory, self.memory.parts
        before, memory.reserved = memory.reserved, ledger.found
        memory.short.clear()
        waiting = set() if same(before, ledger.found) else parts.asking(reads.ROOM)
        parts.unsettle(waiting)
        protected = ProtectedPlacements(self.world, ledger, self.left, self._selected)
        return replace(self, protected=protected, affected=self.affected | waiting)

    def target(self, reference: Reference, /) -> Target | None:
        """Return the placement that a rebalancer refers to."""
        key = placement_key(reference.namespace, reference.name)
        if (group_of(reference.api_version), reference.kind) != (key.group, key.kind):
            return None
        why = doubt_about(self.world, key) or with_place(self.world, key, self._idle(key))
        if why and not self._is_in_step(key):
            return Target(key, waits_for=why)
        if key not in self.placements:
            return None
        outputs = self.left.get(key, {})
        afresh = partial(fresh_place, outputs, self.members, self.now)
        moves, present = partial(exchanged_by, afresh), partial(present_place, outputs)
        move = self._move(key)
        return Target(
            key,
            waits_for=why,
            triggered_at=None if move is None else move.asked_at,
            stepped=True,
            moves=moves,
            afresh=afresh,
            present=present,
            left=partial(self._left, key, move),
            surge=None if move is None else move.surge,
            last_move=self._last_move(key),
            unmakeable=partial(self._unmakeable, key),
        )

    def changed_targets(self) -> AbstractSet[ObjectKey]:
        """Return none: what is left of a goal depends on clusters, so no target is steady."""
        return frozenset()

    def select(self, selection: TargetSelection, /) -> Iterable[Reference]:
        """Yield the placements that a description means; each is its own policy."""
        for key, manifest in sorted(self.placements.items()):
            if selection.policy not in (None, key):
                continue
            version = str(manifest.body["apiVersion"])
            reference = Reference(version, key.kind, key.namespace, key.name)
            own = self.world.outputs.get(key)
            body, outputs = None if own is None else own.body, self.left.get(key, {})
            standing = partial(standing_of, body, outputs)
            if selects(selection, reference, labels_of(manifest.body), standing):
                yield reference

    def plan(
        self,
        triggers: Mapping[ObjectKey, RescheduleTrigger],
        asked: frozenset[ObjectKey],
        held: Mapping[ObjectKey, str],
        /,
    ) -> Plan:
        """Decide the placements that may move, each by itself."""
        followed = self.memory.followed
        stray = without_placement(self.evictions, self.placements, self.world, self.now)
        idle = cycle.without_placement(self.runs, self.placements, self.world, self.now)
        decided = ObjectPass(
            triggers=triggers,
            asked=asked,
            waiting=held,
            outputs={**stray.files, **idle},
            faults=[*stray.faults, *approvals_without_run(self.world)],
            failed=list(self.inventory.failed.values()),
            decisions=list(removals(self.world, followed.gone, self.left)),
            gone=set(self._gone()),
        )
        named = {followed.owner(key) for key in (*triggers, *asked)}
        looked_at = Visits((self.affected | named) & self.placements.keys())
        decided.look_at(looked_at, self, self.memory.parts)
        if self.placements:
            decided.rest((), self.members.until)
        return decided.plan()

    def _gone(self) -> Iterator[ObjectKey]:
        """Yield the outputs of placements and evictions that are not there."""
        for key in self.memory.followed.gone:
            yield from (key, *self.left.get(key, ()))
        for manifest in self.world.outputs_of_kind((PLACEMENT_GROUP, EVICTION)):
            if manifest.key not in self.world.inputs:
                yield manifest.key
        yield from stray_files(self.world)

    def present(self, key: ObjectKey, /) -> Mapping[ObjectKey, Body]:
        """Return the files of a placement as the round found them."""
        own = self.world.outputs.get(key)
        status = {key: own.body} if own is not None else {}
        evictions = self.evictions.get(key, NO_EVICTIONS)
        runs = self.runs.get(key, NO_RUNS)
        return {**self.left.get(key, {}), **status, **evictions.statuses, **runs.statuses}

    def held(self, key: ObjectKey, /) -> str:
        """Return why a placement stays as it is whatever happens, `""` if it does not."""
        lost = self.inventory.failed
        if lost and not targets_in(self.left.get(key, {})).isdisjoint(lost):
            return "one of its clusters cannot be read"
        return "" if self._is_in_step(key) else self._idle(key)

    def remember(self, key: ObjectKey, part: Part, /) -> None:
        """Let a placement rest, with what it was decided from."""
        selection = self._selected(key)
        if isinstance(selection, UserError):
            return  # it is asked again, as what others select may mend it
        read = frozenset(
            (
                *map(reads.reports, keys_of(selection.resources)),
                *reads.clusters_read(self._placement(key), part.outputs),
                *overrides_asked(self.world, key, part.outputs, self.overrides),
                *map(score_question, part.scored),
                *((reads.ROOM,) if key in self.memory.short else ()),
            )
        )
        self.memory.parts.settle(key, part, read, part.until)

    def explain_kept(self, key: ObjectKey, reason: str, /) -> Explain | None:
        """Return what explains that a placement stays as it is."""
        return partial(explain_failure, key, reason)

    def place(self, key: ObjectKey, /) -> FaultPlace:
        """Return the file of a placement."""
        return place_of(self.placements[key])

    def fault(self, key: ObjectKey, error: UserError, /) -> Fault:
        """Return the fault of a placement that cannot be decided."""
        return unsettled(self.placements[key], error)

    def _placement(self, key: ObjectKey) -> Placement:
        """Decode a placement."""
        body = self.placements[key].body
        return self.memory.placements.recall(
            key, (body,), partial(decode_placement, body, key.namespace)
        )

    def selection(self, key: ObjectKey) -> Selected:
        """Return what a placement selects, the same as before if nothing of it differs."""
        question = PlacementQuestion(key, self.placements[key].body, self._placement(key).selectors)
        return self.memory.selections.select(question, self.world)

    def decide(self, key: ObjectKey, demand: RescheduleTrigger | None, /) -> Part:
        """Decide a placement, and tell all that it took."""
        if self._idle(key):
            return decide_stopped(key, self.present(key), self.members, self.now)
        manifest, evictions = self.placements[key], self.evictions.get(key, NO_EVICTIONS)
        runs = self.runs.get(key, NO_RUNS)
        question = DemandedPlacement(
            manifest,
            self._placement(key),
            demand,
            self.members,
            evictions,
            runs,
            withdrawn=demand is None and self._is_withdrawn(key),
        )
        own = self.world.outputs.get(key)
        files = PlacementFiles(
            left=self.left.get(key, {}),
            own=None if own is None else own.body,
            selection=self._selected(key),
            works=tuple(self.memory.works.found(key).values()),
            copies=self.copies,
            overriding=partial(PlacementOverriding, self.world, key, self.overrides),
            assume_after_seconds=self.settings.assume_after_seconds,
            room=None if self.protected is None else self.protected.room_of(key),
        )
        decided = partial(decide, files=files, now=self.now)
        before = FleetBefore(self.clusters_before, self.scores_before)
        part = with_causes(question, decided, self.world, before)
        if self.protected is not None and files.room is not None:
            if files.room.short:
                self.memory.short.add(key)
            self.protected.take(key, part, files.room.demand)
        return part

    def _selected(self, key: ObjectKey) -> Selection:
        """Return what a placement selects, or what is wrong with its selectors."""
        try:
            return self.selection(key)
        except UnexpectedBehavior:
            raise
        except UserError as error:
            return error

    def _move(self, key: ObjectKey) -> SteppedMove | None:
        """Return the move of a placement that is not over, `None` without one."""
        own = self.world.outputs.get(key)
        return None if own is None else move_in(own.body)

    def _last_move(self, key: ObjectKey) -> LastMove | None:
        """Return the last move of a placement that was made with a rest, `None` without one."""
        own = self.world.outputs.get(key)
        notes = {} if own is None else at(own.body, "metadata", "annotations")
        return read_last_move(text(notes, LAST_MOVE))

    def _is_in_step(self, key: ObjectKey) -> bool:
        """Return whether a placement runs beside what it is to leave, and can be read."""
        move = self._move(key)
        return move is not None and move.surge is not None and not is_unreadable(self.world, key)

    def _left(self, key: ObjectKey, move: SteppedMove | None) -> int | None:
        """Return how many clusters of a goal are left, `None` without one that can be reached."""
        if move is None or self._is_withdrawn(key):
            return None
        return steps_left(move, self.left.get(key, {}), self.members, self.now)

    def _unmakeable(self, key: ObjectKey) -> str:
        """Return why a placement cannot be made before it breaks, `""` if it can."""
        selection = self._selected(key)
        if isinstance(selection, UserError):
            return selection.message
        return why_not_beside(self._placement(key), self.left.get(key, {}), self._reports(key))

    def _reports(self, key: ObjectKey) -> AvailabilityReports:
        """Return what clusters say of a placement."""
        selection = self._selected(key)
        selected = () if isinstance(selection, UserError) else keys_of(selection.resources)
        works = works_by_cluster(self.memory.works.found(key).values())
        return AvailabilityReports(resources=selected, copies=self.copies, works=works)

    def _is_withdrawn(self, key: ObjectKey) -> bool:
        """Return whether nobody asks any more for the move of a placement."""
        return self.pending is not None and key not in self.pending

    def _idle(self, key: ObjectKey) -> str:
        """Return why a placement stays as it is whatever happens, `""` if it does not."""
        if is_unreadable(self.world, key):
            return "what stands in its outputs cannot be read"
        manifest = self.placements.get(key)
        suspended = manifest is not None and is_suspended(manifest.body)
        return f"{SUSPEND} is true" if suspended else ""


def _moving_otherwise(
    before: frozenset[ObjectKey] | None,
    now: frozenset[ObjectKey] | None,
    there: AbstractSet[ObjectKey],
) -> AbstractSet[ObjectKey]:
    """Return the placements that limited rebalances began to move, or move no more."""
    if before is None or now is None:
        return frozenset() if before is now else there
    return (before ^ now) & there


@dataclass(frozen=True, slots=True)
class KubeFleet:
    """KubeFleet's part of all passes of one repository."""

    memory: KubeFleetMemory = field(default_factory=KubeFleetMemory)

    def prepare(self, world: World, settings: Settings, now: datetime, /) -> Fleets:
        """Gather placements, and tell which of them may move."""
        memory, declared = self.memory, settings.declared_clusters
        touched = memory.followed.follow(world)
        there = memory.followed.there
        memory.selections.follow(world, touched - there.keys())
        copies = memory.copies.follow(world)
        evictions, runs = evictions_in(world), runs_in(world)
        admit = partial(admit_cluster, declared=declared)
        inventory = take_inventory(
            world, CLUSTER, memory.clusters, admit, under=(declared,), fault=unsettled
        )
        scores = memory.scores.follow(world) if settings.extends_scores else None
        fleet_now = memory.members_at(inventory, now, heartbeats=settings.heartbeats)
        members = fleet_now.with_scores(scores)
        overrides = memory.overrides.of(world)
        changed = {
            *changed_overrides(memory.overrides_before, overrides),
            *map(reads.reports, memory.reported.follow(copies)),
            *reads.changed_clusters(memory.members, members),
            *memory.scores.changed(),
        }
        own = {
            *touched,
            *memory.selections.stale,
            *memory.works.follow(world.feedback),
            *reads.changed_evictions(memory.evictions, evictions),
            *reads.changed_runs(memory.runs, runs),
        }
        memory.evictions, memory.runs, memory.members = evictions, runs, members
        memory.overrides_before = overrides
        if memory.is_otherwise((settings, world.known, world.frozen, inventory.failed)):
            own |= there.keys()
        pending = memory.moving.of(world)
        own |= _moving_otherwise(memory.pending, pending, there.keys())
        memory.pending = pending
        affected = memory.parts.affected(changed, own, now)
        memory.parts.drop_all(affected - there.keys())

        def fleet(views: list[Member]) -> Members:
            return members_of(views, now, heartbeats=settings.heartbeats).with_scores(scores)

        return Fleets(
            world=world,
            settings=settings,
            now=now,
            inventory=inventory,
            members=members,
            clusters_before=clusters_before(world, CLUSTER, inventory.views, admit, fleet),
            scores_before=None if scores is None else scores_before(world),
            placements=there,
            affected=affected,
            left=memory.followed.left,
            copies=copies,
            evictions=evictions,
            runs=runs,
            overrides=overrides,
            memory=memory,
            pending=pending,
        )

    def forget(self) -> None:
        """Drop what the last two passes did not ask for."""
        self.memory.forget()


@dataclass(slots=True, eq=False)
class PlacementDemands:
    """What the bindings of one placement bring to their clusters.

    Attributes:
        world: As the round found it.
        selected: What a cluster has that is on what is selected now.
    """

    world: World
    selected: ClusterDemand
    _known: dict[tuple[str, str], ClusterDemand] = field(default_factory=dict)

    def of(self, files: Mapping[ObjectKey, Body]) -> dict[str, ClusterDemand]:
        """Return what a placement takes of each cluster that a binding among its files is for."""
        return {
            target_of(body): self.brought(key.namespace, resource_snapshot_of(body))
            for key, body in files.items()
            if key.kind in BINDINGS
        }

    def brought(self, namespace: str, snapshot: str) -> ClusterDemand:
        """Return what a binding brings; one that is on no snapshot yet will be on the latest."""
        if not snapshot:
            return self.selected
        if (namespace, snapshot) not in self._known:
            self._known[namespace, snapshot] = self._content(namespace, snapshot)
        return self._known[namespace, snapshot]

    def _content(self, namespace: str, snapshot: str) -> ClusterDemand:
        """Return what a snapshot holds; the present selection for one that is not there any more.

        Raises:
            UserError: It cannot be read, so what it brought is not known.
        """
        groups = [*snapshots_of_group(self.world, namespace, snapshot)]
        return _held_by(self.world, groups) if groups else self.selected


def placed_by(world: World, placement: ObjectKey) -> dict[str, ClusterDemand]:
    """Return what the bindings of a placement bring to their clusters.

    One that is on no snapshot yet will be on the latest, as is one whose snapshot is gone.

    Raises:
        UserError: A snapshot cannot be read.
    """
    latest = [one for one in snapshots_of(world, placement) if is_latest(one)]
    demands = PlacementDemands(world, _held_by(world, latest))
    return {
        one.target: demands.brought(placement.namespace, one.resource_snapshot)
        for one in bindings_of(world, placement)
    }


CAPACITY = CapacityRules(
    turn=order_of(0, ObjectKey(PLACEMENT_GROUP, "", "", "")),
    placing=frozenset((PLACEMENT_GROUP, kind) for kind in BINDINGS | RESOURCE_SNAPSHOTS),
    holder=parent_of,
    placed=placed_by,
    reported=reported_room,
)


def _held_by(world: World, snapshots: Iterable[Body]) -> ClusterDemand:
    entries = [decode_entry(one) for group in snapshots for one in readable_entries(group)]
    return demand_of_manifests((one.key, content_at(world, one)) for one in entries)
