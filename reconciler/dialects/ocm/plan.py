"""OCM's part of a pass: each placement is decided in turn, and sees those before it."""

from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial

from reconciler.dialects.cluster_inventory import ClusterInventory, take_inventory
from reconciler.dialects.contract import Plan, RescheduleTrigger
from reconciler.dialects.object_pass import ObjectPass
from reconciler.dialects.ocm import reads
from reconciler.dialects.ocm.api.clusters import ManagedCluster
from reconciler.dialects.ocm.api.earlier_hub import HubBefore, hub_before
from reconciler.dialects.ocm.api.groups import CLUSTER
from reconciler.dialects.ocm.api.hub import admit_cluster, hub_of
from reconciler.dialects.ocm.api.placement import GROUP
from reconciler.dialects.ocm.api.placement_decision import decode_decision
from reconciler.dialects.ocm.api.settings import decode_resync
from reconciler.dialects.ocm.decide import Surroundings
from reconciler.dialects.ocm.decisions.placement_draft import Draft
from reconciler.dialects.ocm.decisions.sync import Hub
from reconciler.dialects.ocm.drafts import Drafts
from reconciler.dialects.ocm.followed import PLACEMENT
from reconciler.dialects.ocm.manifestworkreplicaset.set_decision import SetSurroundings
from reconciler.dialects.ocm.memory import OcmMemory
from reconciler.dialects.ocm.placements_in_turn import PlacementsInTurn
from reconciler.dialects.ocm.sets_in_turn import SetsInTurn, removed_sets
from reconciler.dialects.ocm.view.decision_record import record_removal
from reconciler.dialects.ocm.view.rebalance_target import fresh_place, standing_of
from reconciler.dialects.visits import Visits
from reconciler.manifests.places import doubt_about, fault_place, with_place
from reconciler.model.body import Body
from reconciler.model.decision import Decision
from reconciler.model.identity import ObjectKey, group_of
from reconciler.model.keyed_cache import same
from reconciler.model.labels import labels_of
from reconciler.model.settings import Settings
from reconciler.model.world import World
from reconciler.rebalance.target import (
    FreshPlace,
    Reference,
    Standing,
    Target,
    TargetSelection,
    exchanged_by,
    selects,
)
from reconciler.schedule.capacity.ledger import Ledger


@dataclass(frozen=True, slots=True, kw_only=True)
class Placements:
    """OCM before it decides: the hub, and every placement that may move with its files so far.

    Attributes:
        world: As the round found it.
        settings: Of the repository.
        now: Moment of the pass.
        inventory: The clusters.
        hub: What placements are decided from, beside the decisions.
        earlier: What of it is not as it was.
        affected: The placements to look at.
        drafts: These, with their files so far.
        affected_sets: The sets of ManifestWorks to look at, beside those of such placements.
        memory: Of earlier rounds.
        ledger: What is reserved of clusters, `None` where no room is protected.
    """

    world: World
    settings: Settings
    now: datetime
    inventory: ClusterInventory[ManagedCluster]
    hub: Hub
    earlier: HubBefore
    affected: AbstractSet[ObjectKey]
    drafts: Drafts
    affected_sets: AbstractSet[ObjectKey]
    memory: OcmMemory
    ledger: Ledger | None = None

    def within(self, ledger: Ledger) -> "Placements":
        """Return the same where room is protected: sets add to what is reserved."""
        return replace(self, ledger=ledger)

    def target(self, reference: Reference, /) -> Target | None:
        """Return the placement that a rebalancer refers to, in whichever version.

        One that is faulty, held, frozen, being deleted or switched off waits.
        """
        if (group_of(reference.api_version), reference.kind) != (GROUP, PLACEMENT):
            return None
        key = ObjectKey(GROUP, PLACEMENT, reference.namespace, reference.name)
        draft, why = self.drafts.find(key), doubt_about(self.world, key)
        if draft is not None:
            return Target(
                key,
                waits_for=why or with_place(self.world, key, draft.idle),
                moves=partial(exchanged_by, partial(self._afresh, draft)),
                afresh=partial(self._afresh, draft),
            )
        failed = self.drafts.failed.get(key)
        if not why and failed is not None:
            why = f"it cannot be decided ({fault_place(failed.fault)})"
        return Target(key, waits_for=why) if why else None

    def select(self, selection: TargetSelection, /) -> Iterable[Reference]:
        """Yield the placements that a description means; each is its own policy."""
        for key, manifest in sorted(self.memory.followed.there.items()):
            if selection.policy not in (None, key):
                continue
            body = manifest.body
            reference = Reference(str(body["apiVersion"]), PLACEMENT, key.namespace, key.name)
            standing = partial(self._standing, key)
            if key in self.drafts.failed:
                continue
            if selects(selection, reference, labels_of(body), standing):
                yield reference

    def _standing(self, key: ObjectKey) -> Standing:
        """Return where a placement is, as the last pass left it."""
        status = self.world.outputs.get(key)
        left = self.memory.followed.left.get(key, {})
        return standing_of(None if status is None else status.body, left)

    def _afresh(self, draft: Draft) -> FreshPlace | None:
        """Return where a schedule afresh would put a placement, as others stand before."""
        return fresh_place(draft, self.hub, self.memory.standing, self.now)

    def plan(
        self,
        triggers: Mapping[ObjectKey, RescheduleTrigger],
        asked: frozenset[ObjectKey],
        held: Mapping[ObjectKey, str],
        /,
    ) -> Plan:
        """Decide what may move, in order of namespace and name, as upstream's one worker does.

        Balance counts the decisions of those before it as they are now, of those after it as they
        were.
        """
        decided = ObjectPass(
            triggers=triggers,
            asked=asked,
            waiting=held,
            outputs=dict(self.inventory.records),
            failed=[*self.inventory.failed.values(), *self.drafts.failed.values()],
            decisions=[*self._removed(), *removed_sets(self.memory.followed_sets, self.world)],
            gone=set(self._gone()),
        )
        followed = self.memory.followed
        named = {followed.owner(key) for key in (*triggers, *asked)} & followed.there.keys()
        visits = Visits((self.affected | named) - self.drafts.failed.keys())
        around = Surroundings(hub=self.hub, resync=decode_resync(self.settings), now=self.now)
        in_turn = PlacementsInTurn(
            drafts=self.drafts,
            around=around,
            lost=self.inventory.failed.keys(),
            earlier=self.earlier,
            visits=visits,
        )
        decided.look_at(visits, in_turn, self.memory.parts)
        self._decide_sets(decided)
        return decided.plan()

    def _decide_sets(self, decided: ObjectPass) -> None:
        """Decide the sets that may move, those of placements that moved among them."""
        followed, parts = self.memory.followed_sets, self.memory.set_parts
        moved = (key for key in decided.files if not self._stays(key, decided.files[key]))
        wakened = {one for key in moved for one in parts.asking(reads.decided(key))}
        parts.unsettle(wakened)
        looked_at = Visits((self.affected_sets | wakened | decided.asked) & followed.there.keys())
        around = SetSurroundings(
            feedback=self.world.feedback,
            silence=self.settings.silence,
            scopes=self.world.known.scopes,
            now=self.now,
        )
        sets = SetsInTurn(
            world=self.world,
            around=around,
            memory=self.memory,
            decided=decided.files,
            ledger=self.ledger,
        )
        decided.look_at(looked_at, sets, parts)

    def _stays(self, key: ObjectKey, files: Mapping[ObjectKey, Body]) -> bool:
        """Return whether a placement is left with the files that it had."""
        present = self.memory.followed.files(key)
        return files.keys() == present.keys() and same((*files.values(),), (*present.values(),))

    def _gone(self) -> Iterator[ObjectKey]:
        """Yield the outputs of clusters, placements and sets that are not there."""
        yield from self.inventory.gone
        for followed in (self.memory.followed, self.memory.followed_sets):
            for key in followed.gone:
                yield from followed.files(key)

    def _removed(self) -> Iterator[Decision]:
        """Yield the decisions on placements whose manifest is gone; their files go with them."""
        followed = self.memory.followed
        for key in sorted(followed.gone):
            if key in self.world.outputs:
                decisions = map(decode_decision, followed.left.get(key, {}).values())
                yield record_removal(key, decisions)


@dataclass(frozen=True, slots=True)
class Ocm:
    """OCM's part of all passes of one repository."""

    memory: OcmMemory = field(default_factory=OcmMemory)

    def prepare(self, world: World, settings: Settings, now: datetime, /) -> Placements:
        """Take the inventory, and tell what may move."""
        memory, declared = self.memory, settings.declared_clusters
        touched = memory.followed.follow(world)
        own_sets = memory.followed_sets.follow(world)
        admit = partial(admit_cluster, declared=declared, now=now)
        inventory = take_inventory(world, CLUSTER, memory.clusters, admit, under=(declared,))
        objects = memory.objects.follow(world)
        hub = hub_of(list(inventory.views.values()), memory.objects, memory)
        changed = tuple(reads.changed_hub(memory.members, hub.members, objects))
        memory.members = hub.members
        reported = memory.feedback.keys(world.feedback)
        drafts = Drafts(world=world, memory=memory)
        drafts.draw(touched)
        if _follow_decisions(touched, drafts):
            changed = (*changed, reads.DECISIONS)
        own = set(touched)
        if memory.is_otherwise((settings, world.known, world.frozen, inventory.failed)):
            own |= memory.followed.there.keys()
            own_sets |= memory.followed_sets.there.keys()
        affected = memory.parts.affected(changed, own, now)
        questions = (*map(reads.reports, reported), *map(reads.decided, touched))
        affected_sets = memory.set_parts.affected(questions, own_sets, now)
        for followed, parts, keys in (
            (memory.followed, memory.parts, affected),
            (memory.followed_sets, memory.set_parts, affected_sets),
        ):
            parts.drop_all(keys - followed.there.keys())
        drafts.draw(affected)
        return Placements(
            world=world,
            settings=settings,
            now=now,
            inventory=inventory,
            hub=hub,
            earlier=hub_before(world, hub, inventory, admit),
            affected=affected & memory.followed.there.keys(),
            drafts=drafts,
            affected_sets=affected_sets,
            memory=memory,
        )

    def forget(self) -> None:
        """Drop what the last two passes did not ask for."""
        self.memory.forget()


def _follow_decisions(touched: AbstractSet[ObjectKey], drafts: Drafts) -> bool:
    """Let all decisions be those of the files, and return whether who counts them looks again.

    Those of what cannot be decoded do not count. What the last round decided those before it did
    not see.
    """
    memory = drafts.memory
    moved, memory.decided = memory.decided, set()
    differ = bool(moved)
    for key in touched | moved:
        left = memory.followed.left.get(key, {}) if key in memory.followed.there else {}
        objects = () if key in drafts.failed else tuple(map(decode_decision, left.values()))
        differ |= memory.standing.put((key.namespace, key.name), objects)
    return differ
