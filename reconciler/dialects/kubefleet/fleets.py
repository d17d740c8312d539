"""The placements of a round: what rebalancers and the loop over objects ask of them."""

from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

from reconciler.dialects.cluster_inventory import (
    ClusterInventory,
    Earlier,
)
from reconciler.dialects.contract import Plan, RescheduleTrigger
from reconciler.dialects.copy_reports import CopyReports
from reconciler.dialects.kubefleet import reads
from reconciler.dialects.kubefleet.api.clusters import Member, Members
from reconciler.dialects.kubefleet.api.kinds import placement_key
from reconciler.dialects.kubefleet.api.names import GROUP
from reconciler.dialects.kubefleet.api.placement import Placement, decode_placement
from reconciler.dialects.kubefleet.causes import DemandedPlacement, FleetBefore, with_causes
from reconciler.dialects.kubefleet.decide import PlacementFiles, decide
from reconciler.dialects.kubefleet.eviction.evictions import (
    NO_EVICTIONS,
    Evictions,
    without_placement,
)
from reconciler.dialects.kubefleet.eviction.judgement import EVICTION
from reconciler.dialects.kubefleet.memory import KubeFleetMemory
from reconciler.dialects.kubefleet.overrider.override_table import Overrides
from reconciler.dialects.kubefleet.protected_placements import ProtectedPlacements, Selection
from reconciler.dialects.kubefleet.rollout.availability_reports import keys_of
from reconciler.dialects.kubefleet.scheduler.failure import UnexpectedBehavior
from reconciler.dialects.kubefleet.snapshots.resource_selection import SelectedResources as Selected
from reconciler.dialects.kubefleet.snapshots.selection_table import PlacementQuestion
from reconciler.dialects.kubefleet.updaterun import run_cycle
from reconciler.dialects.kubefleet.updaterun.ignored_approvals import approvals_without_run
from reconciler.dialects.kubefleet.updaterun.update_runs import (
    NO_RUNS,
    UpdateRuns,
    stray_files,
)
from reconciler.dialects.kubefleet.view.binding_rendering import targets_in
from reconciler.dialects.kubefleet.view.decision_record import (
    removals,
    unsettled,
)
from reconciler.dialects.kubefleet.view.explanation import explain_failure
from reconciler.dialects.kubefleet.view.files import is_unreadable
from reconciler.dialects.kubefleet.view.rebalance_target import (
    fresh_place,
    present_place,
    standing_of,
)
from reconciler.dialects.kubefleet.workgenerator.overriding import PlacementOverriding
from reconciler.dialects.kubefleet.workgenerator.placement_content import overrides_asked
from reconciler.dialects.object_boundary import FaultPlace, place_of
from reconciler.dialects.object_pass import ObjectPass, Part
from reconciler.dialects.scores.reports import Reports, score_question
from reconciler.dialects.visits import Visits
from reconciler.errors import UserError
from reconciler.manifests.places import doubt_about, with_place
from reconciler.manifests.suspension import SUSPEND, is_suspended
from reconciler.model.body import Body
from reconciler.model.explanation import Explain
from reconciler.model.identity import ObjectKey, group_of
from reconciler.model.keyed_cache import same
from reconciler.model.labels import labels_of
from reconciler.model.settings import Settings
from reconciler.model.world import Fault, Manifest, World
from reconciler.rebalance.target import (
    Reference,
    Target,
    TargetSelection,
    exchanged_by,
    selects,
)
from reconciler.schedule.capacity.ledger import Ledger


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleets:
    """KubeFleet before it plans: the placements, and what earlier passes left of each.

    `affected` are the placements to look at. `copies` are what clusters report. `evictions` are
    those by the placement that they name, and so are `runs`. `overrides` are all of them.
    `clusters_before` are those of the last pass, `None` if they are the same, and so are
    `scores_before`. `protected` is `None` where no room is protected.
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
        if why:
            return Target(key, waits_for=why)
        if key not in self.placements:
            return None
        left = self.left.get(key, {})
        afresh = partial(fresh_place, left, self.members, self.now)
        moves, present = partial(exchanged_by, afresh), partial(present_place, left)
        return Target(key, moves=moves, afresh=afresh, present=present)

    def select(self, selection: TargetSelection, /) -> Iterable[Reference]:
        """Yield the placements that a description means; each is its own policy."""
        for key, manifest in sorted(self.placements.items()):
            if selection.policy not in (None, key):
                continue
            version = str(manifest.body["apiVersion"])
            reference = Reference(version, key.kind, key.namespace, key.name)
            own = self.world.outputs.get(key)
            body, left = None if own is None else own.body, self.left.get(key, {})
            standing = partial(standing_of, body, left)
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
        idle = run_cycle.without_placement(self.runs, self.placements, self.world, self.now)
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
        for manifest in self.world.outputs_of_kind((GROUP, EVICTION)):
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
        return self._idle(key)

    def remembered(self, key: ObjectKey, /) -> Part | None:
        """Return the part of a placement that is at rest, `None` if it is not."""
        return self.memory.parts.find(key)

    def remember(self, key: ObjectKey, part: Part, /) -> None:
        """Let a placement rest, with what it was decided from."""
        found = self._selected(key)
        if isinstance(found, UserError):
            return  # it is asked again, as what others select may mend it
        read = frozenset(
            (
                *map(reads.reports, keys_of(found.resources)),
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
        manifest, evictions = self.placements[key], self.evictions.get(key, NO_EVICTIONS)
        runs = self.runs.get(key, NO_RUNS)
        question = DemandedPlacement(
            manifest, self._placement(key), demand, self.members, evictions, runs
        )
        own = self.world.outputs.get(key)
        files = PlacementFiles(
            left=self.left.get(key, {}),
            own=None if own is None else own.body,
            selection=self._selected(key),
            works=tuple(self.memory.works.found(key).values()),
            copies=self.copies,
            overriding=partial(PlacementOverriding, self.world, key, self.overrides),
            silence=self.settings.silence,
            rules=self.world.rules,
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

    def _idle(self, key: ObjectKey) -> str:
        """Return why a placement stays as it is whatever happens, `""` if it does not."""
        if is_unreadable(self.world, key):
            return "what stands in its outputs cannot be read"
        manifest = self.placements.get(key)
        suspended = manifest is not None and is_suspended(manifest.body)
        return f"{SUSPEND} is true" if suspended else ""
