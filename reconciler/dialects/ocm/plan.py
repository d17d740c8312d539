"""OCM's part of a pass: each placement is decided in turn, and sees those before it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial

from reconciler.dialects.cluster_inventory import ClusterInventory, take_inventory
from reconciler.dialects.contract import Plan, RescheduleTrigger
from reconciler.dialects.object_boundary import Failed, FaultPlace, attempt, place_of
from reconciler.dialects.object_pass import ObjectPass, Part
from reconciler.dialects.ocm.api.clusters import ManagedCluster
from reconciler.dialects.ocm.api.earlier_hub import HubBefore, hub_before
from reconciler.dialects.ocm.api.hub import CLUSTER, admit_cluster, hub_of
from reconciler.dialects.ocm.api.placement import GROUP
from reconciler.dialects.ocm.api.settings import decode_resync
from reconciler.dialects.ocm.causes import PlacementInTurn, with_causes
from reconciler.dialects.ocm.decide import PlacementOutcome, Surroundings, decide, keep
from reconciler.dialects.ocm.decisions.placement_decisions import (
    DecisionObject,
    DecisionsSoFar,
    decided_by,
)
from reconciler.dialects.ocm.decisions.placement_draft import Draft, draft_of, is_left_alone
from reconciler.dialects.ocm.decisions.placement_record import decisions_in
from reconciler.dialects.ocm.decisions.sync import Hub
from reconciler.dialects.ocm.manifestworkreplicaset.set_decision import SetSurroundings
from reconciler.dialects.ocm.manifestworkreplicaset.set_pass import removed_sets, replica_sets
from reconciler.dialects.ocm.memory import OcmMemory
from reconciler.dialects.ocm.scheduler.weights import is_balanced
from reconciler.dialects.ocm.view.decision_record import record_removal, undecided
from reconciler.dialects.ocm.view.explanation import explain
from reconciler.errors import UserError
from reconciler.manifests.places import doubt_about, fault_place, with_place
from reconciler.model.body import Body
from reconciler.model.decision import Decision
from reconciler.model.explanation import Explain
from reconciler.model.identity import ObjectKey, group_of
from reconciler.model.keyed_cache import CacheKey, UnchangedUntil
from reconciler.model.labels import labels_of
from reconciler.model.settings import Settings
from reconciler.model.world import Fault, Manifest, World
from reconciler.rebalance.target import Reference, Target, TargetSelection, selects

KIND = "Placement"


@dataclass(frozen=True, slots=True, kw_only=True)
class Placements:
    """OCM before it decides: the hub, and every placement with its files so far."""

    world: World
    settings: Settings
    now: datetime
    inventory: ClusterInventory[ManagedCluster]
    hub: Hub
    drafts: Mapping[ObjectKey, Draft]
    memory: OcmMemory
    failed: Mapping[ObjectKey, Failed]  # what cannot be decoded keeps its files
    earlier: HubBefore

    def target(self, reference: Reference, /) -> Target | None:
        """Return the placement that a rebalancer refers to, in whichever version.

        One that is faulty, held, frozen, being deleted or switched off waits.
        """
        if (group_of(reference.api_version), reference.kind) != (GROUP, KIND):
            return None
        key = ObjectKey(GROUP, KIND, reference.namespace, reference.name)
        draft, why = self.drafts.get(key), doubt_about(self.world, key)
        if draft is not None:
            return Target(key, waits_for=why or with_place(self.world, key, draft.idle))
        if not why and key in self.failed:
            why = f"it cannot be decided ({fault_place(self.failed[key].fault)})"
        return Target(key, waits_for=why) if why else None

    def select(self, selection: TargetSelection, /) -> Iterable[Reference]:
        """Yield the placements that a description means; Karmada's policies claim none."""
        if selection.policy is not None:
            return
        for key, draft in self.drafts.items():
            body = draft.manifest.body
            reference = Reference(str(body["apiVersion"]), KIND, key.namespace, key.name)
            if selects(selection, reference, labels_of(body)):
                yield reference

    def plan(
        self,
        triggers: Mapping[ObjectKey, RescheduleTrigger],
        asked: frozenset[ObjectKey],
        held: Mapping[ObjectKey, str],
        /,
    ) -> Plan:
        """Decide every placement, in order of namespace and name, as upstream's one worker does.

        Balance counts the decisions of those before it as they are now, of those after it as they
        were.
        """
        decided = ObjectPass(
            triggers=triggers,
            asked=asked,
            waiting=held,
            outputs=dict(self.inventory.records),
            failed=[*self.inventory.failed.values(), *self.failed.values()],
            decisions=[*self._removed(), *removed_sets(self.world)],
        )
        for key in self.failed:
            decided.outputs |= self._left(key)
        decided.run(self.drafts, PlacementsInTurn.of(self))
        sets = replica_sets(self.world, decided.outputs, self._around_sets())
        decided.run(sets.sets, sets)
        return decided.plan()

    def _around_sets(self) -> SetSurroundings:
        """Return what the sets of ManifestWorks look at."""
        return SetSurroundings(
            feedback=self.world.feedback,
            assume_after_seconds=self.settings.assume_after_seconds,
            scopes=self.world.known.scopes,
            now=self.now,
        )

    def _left(self, key: ObjectKey) -> dict[ObjectKey, Body]:
        """Return the files of a placement as they are."""
        outputs = self.world.outputs
        found = decisions_in(self.world, [(key.namespace, key.name)], self.memory.decisions)
        own = [k for k, item in found.items() if item.owner == (key.namespace, key.name)]
        return {name: outputs[name].body for name in (*own, key) if name in outputs}

    def _removed(self) -> list[Decision]:
        """Return the decisions on placements whose manifest is gone; their files go with them."""
        gone = [
            key
            for key in (one.key for one in self.world.outputs_of([(GROUP, KIND)]))
            if key not in self.drafts and key not in self.failed
        ]
        if not gone:
            return []
        owners = [(key.namespace, key.name) for key in gone]
        found = decisions_in(self.world, owners, self.memory.decisions)
        return [record_removal(key, found.values()) for key in gone]


@dataclass(slots=True, kw_only=True)
class PlacementsInTurn:
    """The placements, as the loop over objects asks for them; each sees those before it."""

    before: Placements
    around: Surroundings
    standing: DecisionsSoFar

    @classmethod
    def of(cls, before: Placements) -> "PlacementsInTurn":
        """Return the placements with all decisions as the round found them."""
        resync, memory = decode_resync(before.settings), before.memory
        around = Surroundings(hub=before.hub, resync=resync, now=before.now)
        owners = [(key.namespace, key.name) for key in before.drafts]
        known = decisions_in(before.world, owners, memory.decisions).values()
        standing = memory.standing.recall(None, tuple(known), partial(decided_by, known))
        return cls(before=before, around=around, standing=standing)

    def present(self, key: ObjectKey, /) -> Mapping[ObjectKey, Body]:
        """Return the decisions of a placement, and its status file."""
        return self.before.drafts[key].files

    def held(self, key: ObjectKey, /) -> str:
        """Return which of its files or clusters cannot be read, `""` if all can."""
        draft, lost = self.before.drafts[key], self.before.inventory.failed
        if draft.frozen:
            return "one of its files cannot be read"
        is_lost = lost and any(name in lost for item in self._own(key) for name in item.clusters)
        return "one of its clusters cannot be read" if is_lost else ""

    def remembered(self, key: ObjectKey, /) -> Part | None:
        """Return the part of a placement that would be left as it is, `None` if unknown."""
        rest = self.before.memory.rests.find(key, self._cache_key(key))
        return rest[1] if rest is not None and rest[0].holds(self.before.now) else None

    def decide(self, key: ObjectKey, demand: RescheduleTrigger | None, /) -> Part:
        """Decide a placement, and count its decisions from now on."""
        draft, standing = self.before.drafts[key], self.standing
        outcome = decide(draft, demand, standing, self.around)
        self._count(draft, outcome)
        part = Part(
            outputs=outcome.bodies,
            decision=outcome.decision,
            edited=outcome.edited,
            faults=outcome.faults,
            rescheduled=demand is not None and outcome.verdict is not None,
            until=outcome.until,
            waits=outcome.waits,
            explain=self._explain(draft, outcome, demand),
        )
        question = PlacementInTurn(draft, demand, standing, self.around)
        return with_causes(part, question, self.before.world.earlier.get(key), self.before.earlier)

    def remember(self, key: ObjectKey, part: Part, /) -> None:
        """Remember a part that leaves its placement as it is."""
        rest = UnchangedUntil(self.before.now, part.until)
        self.before.memory.rests.keep(key, self._cache_key(key), (rest, part))

    def explain_kept(self, key: ObjectKey, reason: str, /) -> Explain | None:
        """Return what explains that a placement stays as it is."""
        draft = self.before.drafts[key]
        return self._explain(draft, keep(draft, self._own(key), reason), None)

    def place(self, key: ObjectKey, /) -> FaultPlace:
        """Return the file of a placement."""
        return place_of(self.before.drafts[key].manifest)

    def fault(self, key: ObjectKey, error: UserError, /) -> Fault:
        """Return the fault of a placement that cannot be decided."""
        return undecided(self.before.drafts[key].manifest, error)

    def _own(self, key: ObjectKey) -> tuple[DecisionObject, ...]:
        return self.standing.own(self.before.drafts[key].placement)

    def _count(self, draft: Draft, outcome: PlacementOutcome) -> None:
        """Put what a placement decided in place of what it had."""
        if outcome.objects != self.standing.own(draft.placement):
            self.standing = self.standing.replaced(draft.placement, outcome.objects)

    def _explain(
        self, draft: Draft, outcome: PlacementOutcome, demand: RescheduleTrigger | None
    ) -> Explain:
        return partial(explain, draft, outcome, demand, self.before.hub.members, self.before.now)

    def _cache_key(self, key: ObjectKey) -> CacheKey:
        """Return what the part of a placement depends on: all decisions where it looks at them."""
        before, draft = self.before, self.before.drafts[key]
        placement = draft.placement
        counts = before.memory.balanced.recall(key, (placement,), partial(is_balanced, placement))
        return (draft, before.hub, before.settings, *((self.standing,) if counts else ()))


@dataclass(frozen=True, slots=True)
class Ocm:
    """OCM's part of all passes of one repository."""

    memory: OcmMemory = field(default_factory=OcmMemory)

    def prepare(self, world: World, settings: Settings, now: datetime, /) -> Placements:
        """Take the inventory, and gather each placement's files."""
        memory, declared = self.memory, settings.declared_clusters
        admit = partial(admit_cluster, declared=declared, now=now)
        inventory = take_inventory(world, CLUSTER, memory.clusters, admit, under=(declared,))
        manifests = world.of_kind(GROUP, KIND)
        owners = [(manifest.key.namespace, manifest.key.name) for manifest in manifests]
        files: dict[tuple[str, str], dict[ObjectKey, Body]] = {}
        for key, item in decisions_in(world, owners, memory.decisions).items():
            if item.owner is not None:
                files.setdefault(item.owner, {})[key] = world.outputs[key].body
        drafts: dict[ObjectKey, Draft] = {}
        failed: dict[ObjectKey, Failed] = {}
        for manifest, owner in zip(manifests, owners, strict=True):
            draw = partial(_remembered_draft, manifest, world, files.get(owner, {}), memory)
            draft = attempt(draw, partial(place_of, manifest))
            if isinstance(draft, Failed):
                failed[manifest.key] = draft
            else:
                drafts[manifest.key] = draft
        hub = hub_of(world, list(inventory.views.values()), memory)
        return Placements(
            world=world,
            settings=settings,
            now=now,
            inventory=inventory,
            hub=hub,
            earlier=hub_before(world, hub, inventory, admit),
            drafts=drafts,
            memory=memory,
            failed=failed,
        )

    def forget(self) -> None:
        """Drop what the last two passes did not ask for."""
        self.memory.forget()


def _remembered_draft(
    manifest: Manifest, world: World, decisions: Mapping[ObjectKey, Body], memory: OcmMemory
) -> Draft:
    """Return a placement and its files, the same as before if none of them differs."""
    present = world.outputs.get(manifest.key)
    status_file = present.body if present is not None else None
    frozen = is_left_alone(world, manifest.key)
    cache_key = (manifest.body, status_file, frozen, *decisions.values())
    draw = partial(draft_of, manifest, status_file, decisions, frozen=frozen)
    return memory.drafts.recall(manifest.key, cache_key, draw)
