"""KubeFleet's part of a pass: each placement by itself, from its snapshots to its status."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial

from reconciler.dialects.cluster_inventory import (
    ClusterInventory,
    Earlier,
    clusters_before,
    take_inventory,
)
from reconciler.dialects.contract import Plan, RescheduleTrigger
from reconciler.dialects.copy_reports import CopyReports
from reconciler.dialects.kubefleet.api.clusters import Member, Members, admit_cluster, members_of
from reconciler.dialects.kubefleet.api.immutable_fields import refuse_edit, with_kept_fields
from reconciler.dialects.kubefleet.api.kinds import OWNED, PLACEMENTS, placement_key
from reconciler.dialects.kubefleet.api.names import GROUP
from reconciler.dialects.kubefleet.api.placement import Placement, decode_placement
from reconciler.dialects.kubefleet.causes import DemandedPlacement, with_causes
from reconciler.dialects.kubefleet.drift_repair import WantedFiles, owner_of, repair_drift
from reconciler.dialects.kubefleet.eviction.evictions import (
    NO_EVICTIONS,
    Evictions,
    evict,
    evictions_in,
    without_placement,
)
from reconciler.dialects.kubefleet.memory import KubeFleetMemory
from reconciler.dialects.kubefleet.placement_cycle import converge
from reconciler.dialects.kubefleet.rollout.availability_reports import (
    AvailabilityReports,
    keys_of,
    works_by_cluster,
)
from reconciler.dialects.kubefleet.scheduler.failure import UnexpectedBehavior
from reconciler.dialects.kubefleet.snapshots.resource_selection import SelectedResources as Selected
from reconciler.dialects.kubefleet.snapshots.revision import Owner
from reconciler.dialects.kubefleet.snapshots.selection_table import PlacementQuestion
from reconciler.dialects.kubefleet.view.binding_rendering import targets_in
from reconciler.dialects.kubefleet.view.decision_record import (
    decision_on,
    known_problem,
    removals,
    unsettled,
)
from reconciler.dialects.kubefleet.view.explanation import asked_of, explain, explain_failure
from reconciler.dialects.kubefleet.view.files import files_of, is_unreadable
from reconciler.dialects.kubefleet.view.status import placement_file, refused_file
from reconciler.dialects.object_boundary import FaultPlace, place_of
from reconciler.dialects.object_pass import ObjectPass, Part
from reconciler.errors import UserError
from reconciler.manifests.admission import admit
from reconciler.manifests.places import doubt_about, with_place
from reconciler.manifests.suspension import SUSPEND, is_suspended
from reconciler.model.body import Body
from reconciler.model.explanation import Explain
from reconciler.model.fields import mapping
from reconciler.model.identity import ObjectKey, group_of, uid_of
from reconciler.model.keyed_cache import CacheKey, UnchangedUntil
from reconciler.model.labels import labels_of
from reconciler.model.moments import earliest
from reconciler.model.settings import Settings
from reconciler.model.world import Fault, Manifest, World
from reconciler.rebalance.target import Reference, Target, TargetSelection, selects

CLUSTER = ("cluster.kubernetes-fleet.io", "MemberCluster")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleets:
    """KubeFleet before it plans: the placements, and what earlier passes left of each.

    `copies` are what clusters report. `evictions` are those by the placement that they name.
    `clusters_before` are those of the last pass, `None` if they are the same.
    """

    world: World
    settings: Settings
    now: datetime
    inventory: ClusterInventory[Member]
    members: Members
    placements: Mapping[ObjectKey, Manifest]
    left: Mapping[ObjectKey, Mapping[ObjectKey, Body]]
    copies: CopyReports
    evictions: Mapping[ObjectKey, Evictions]
    memory: KubeFleetMemory
    clusters_before: Earlier[Members] | None

    def target(self, reference: Reference, /) -> Target | None:
        """Return the placement that a rebalancer refers to."""
        key = placement_key(reference.namespace, reference.name)
        if (group_of(reference.api_version), reference.kind) != (key.group, key.kind):
            return None
        why = doubt_about(self.world, key) or with_place(self.world, key, self._idle(key))
        return Target(key, waits_for=why) if why or key in self.placements else None

    def select(self, selection: TargetSelection, /) -> Iterable[Reference]:
        """Yield the placements that a description means; Karmada's policies claim none."""
        if selection.policy is not None:
            return
        for key, manifest in sorted(self.placements.items()):
            version = str(manifest.body["apiVersion"])
            reference = Reference(version, key.kind, key.namespace, key.name)
            if selects(selection, reference, labels_of(manifest.body)):
                yield reference

    def plan(
        self,
        triggers: Mapping[ObjectKey, RescheduleTrigger],
        asked: frozenset[ObjectKey],
        held: Mapping[ObjectKey, str],
        /,
    ) -> Plan:
        """Decide every placement."""
        stray = without_placement(self.evictions, self.placements, self.world, self.now)
        decided = ObjectPass(
            triggers=triggers,
            asked=asked,
            waiting=held,
            outputs=dict(stray.files),
            faults=list(stray.faults),
            failed=list(self.inventory.failed.values()),
            decisions=list(removals(self.world, self.placements, self.left)),
        )
        self.memory.selections.follow(self.world, self.placements.keys())
        decided.run(sorted(self.placements), self)
        return decided.plan()

    def present(self, key: ObjectKey, /) -> Mapping[ObjectKey, Body]:
        """Return the files of a placement as the round found them."""
        own = self.world.outputs.get(key)
        status = {key: own.body} if own is not None else {}
        evictions = self.evictions.get(key, NO_EVICTIONS)
        return {**self.left.get(key, {}), **status, **evictions.statuses}

    def held(self, key: ObjectKey, /) -> str:
        """Return why a placement stays as it is whatever happens, `""` if it does not."""
        lost = self.inventory.failed
        if lost and not targets_in(self.left.get(key, {})).isdisjoint(lost):
            return "one of its clusters cannot be read"
        return self._idle(key)

    def remembered(self, key: ObjectKey, /) -> Part | None:
        """Return the part of a placement that would be left as it is, `None` if unknown."""
        if isinstance(self._selected(key), UserError):
            return None
        rest = self.memory.rests.find(key, self._cache_key(key))
        return rest[1] if rest is not None and rest[0].holds(self.now) else None

    def remember(self, key: ObjectKey, part: Part, /) -> None:
        """Remember a part that leaves its placement as it is; a refused one is asked again."""
        if isinstance(self._selected(key), UserError):
            return
        rest = UnchangedUntil(self.now, part.until)
        self.memory.rests.keep(key, self._cache_key(key), (rest, part))

    def explain_kept(self, key: ObjectKey, reason: str, /) -> Explain | None:
        """Return what explains that a placement stays as it is."""
        return partial(explain_failure, key, reason)

    def place(self, key: ObjectKey, /) -> FaultPlace:
        """Return the file of a placement."""
        return place_of(self.placements[key])

    def fault(self, key: ObjectKey, error: UserError, /) -> Fault:
        """Return the fault of a placement that cannot be decided."""
        return unsettled(self.placements[key], error)

    def _cache_key(self, key: ObjectKey) -> CacheKey:
        """Return what the part of a placement depends on."""
        body, members = self.placements[key].body, self.members
        fleet = self.memory.fleet.recall(None, members.views, lambda: members.views)
        selection = self.selection(key)
        marks, works = self.memory.marks, self.memory.works.of(key)
        resources = keys_of(selection.resources) if self.copies else ()
        reports = (works, *map(marks.of, resources))
        reports += self.evictions.get(key, NO_EVICTIONS).bodies
        return (body, fleet, self.settings, selection, *reports, *self.present(key).values())

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
        question = DemandedPlacement(
            manifest, self._placement(key), demand, self.members, evictions
        )
        return with_causes(question, self._decided, self.world, self.clusters_before)

    def _selected(self, key: ObjectKey) -> Selected | UserError:
        """Return what a placement selects, or what is wrong with its selectors."""
        try:
            return self.selection(key)
        except UnexpectedBehavior:
            raise
        except UserError as error:
            return error

    def _refused(self, key: ObjectKey, error: UserError) -> Part:
        """Return the part of a placement whose selectors are refused: only its status says so."""
        manifest, present = self.placements[key], self.present(key)
        own = present.get(key, {})
        record = mapping(own, "metadata") or None
        admitted, metadata = admit(key, mapping(manifest.body, "spec"), record, self.now)
        kept = with_kept_fields(metadata, self._placement(key))
        status = mapping(own, "status")
        told = refused_file(manifest, admitted.generation, kept, status, error.message, self.now)
        return Part(outputs={**present, key: told}, faults=(self.fault(key, error),))

    def _decided(self, asked: DemandedPlacement) -> Part:
        """Return what becomes of a placement."""
        manifest, placement, members = asked.manifest, asked.placement, asked.members
        key, demand = manifest.key, asked.demand
        selection = self._selected(key)
        if isinstance(selection, UserError):
            return self._refused(key, selection)
        left = self.left.get(key, {})
        own = self.world.outputs.get(key)
        record = None if own is None else mapping(own.body, "metadata")
        status = {} if own is None else mapping(own.body, "status")
        admitted, metadata = admit(key, mapping(manifest.body, "spec"), record, self.now)
        owner = Owner(key.name, uid_of(key), admitted.generation, key.namespace)
        repaired = repair_drift(
            owner, left, WantedFiles(policy=placement.policy, selection=selection)
        )
        refuse_edit(record or {}, repaired.present.policies, placement)
        reports = AvailabilityReports(
            resources=keys_of(selection.resources),
            copies=self.copies,
            works=works_by_cluster(self.memory.works.of(key)),
            assume_after_seconds=self.settings.assume_after_seconds,
        )
        rebalanced, now, kind = demand is not None, self.now, owner.kinds.binding
        evicted = evict(asked.evictions, placement, repaired.present.bindings, now, reports)
        present = replace(repaired.present, bindings=evicted.bindings)
        converged = converge(
            placement, owner, selection, present, members, now, reports, rebalanced=rebalanced
        )
        outputs = {**files_of(converged, key.namespace, now), **evicted.files}
        version = str(manifest.body["apiVersion"])
        kept = with_kept_fields(metadata, placement)
        outputs[key] = placement_file(
            placement, version, kept, owner.generation, converged, status, now
        )
        return Part(
            outputs=outputs,
            decision=decision_on(
                key,
                left,
                converged,
                members,
                demand,
                known_problem=known_problem(status),
                edited=bool(repaired.edited),
                evicted_by=evicted.by,
            ),
            edited=tuple(ObjectKey(GROUP, kind, key.namespace, name) for name in repaired.edited),
            faults=evicted.faults,
            rescheduled=rebalanced,
            until=earliest(converged.until, evicted.until),
            explain=partial(explain, asked_of(key, converged, members, now)),
        )

    def _idle(self, key: ObjectKey) -> str:
        """Return why a placement stays as it is whatever happens, `""` if it does not."""
        if is_unreadable(self.world, key):
            return "what stands in its outputs cannot be read"
        manifest = self.placements.get(key)
        suspended = manifest is not None and is_suspended(manifest.body)
        return f"{SUSPEND} is true" if suspended else ""


@dataclass(frozen=True, slots=True)
class KubeFleet:
    """KubeFleet's part of all passes of one repository."""

    memory: KubeFleetMemory = field(default_factory=KubeFleetMemory)

    def prepare(self, world: World, settings: Settings, now: datetime, /) -> Fleets:
        """Gather placements, and their outputs by their placement."""
        left: dict[ObjectKey, dict[ObjectKey, Body]] = {}
        for manifest in world.outputs_of((GROUP, kind) for kind in sorted(OWNED)):
            key, body = manifest.key, manifest.body
            owner = self.memory.owners.recall(key, (body,), partial(owner_of, key, body))
            left.setdefault(owner, {})[key] = body
        copies = self.memory.copies.follow(world)
        self.memory.marks.follow(copies)
        self.memory.works.follow(world.feedback)
        declared = settings.declared_clusters
        admit = partial(admit_cluster, declared=declared)
        inventory = take_inventory(
            world, CLUSTER, self.memory.clusters, admit, under=(declared,), fault=unsettled
        )
        fleet = partial(members_of, now=now, heartbeats=settings.heartbeats)
        return Fleets(
            world=world,
            settings=settings,
            now=now,
            inventory=inventory,
            members=fleet(list(inventory.views.values())),
            clusters_before=clusters_before(world, CLUSTER, inventory.views, admit, fleet),
            placements={
                manifest.key: manifest
                for kind in sorted(PLACEMENTS)
                for manifest in world.of_kind(GROUP, kind)
                if not mapping(manifest.body, "metadata").get("deletionTimestamp")
            },
            left=left,
            copies=copies,
            evictions=evictions_in(world),
            memory=self.memory,
        )

    def forget(self) -> None:
        """Drop what the last two passes did not ask for."""
        self.memory.forget()
