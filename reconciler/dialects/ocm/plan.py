"""OCM's part of a pass: each placement is decided in turn and sees those before it, then each set.

The files of a placement are drawn when they are asked for. Sets of ManifestWorks take room of
clusters: what a set carries, on each of its clusters. They are refused nothing, and a
ManagedCluster tells no limit: what it reports as allocatable is there whether it is used or not.
But a cluster of the same name in another API is the same cluster.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime
from functools import partial
from operator import attrgetter

from reconciler.dialects.cluster_steps import SteppedMove, clusters_left, move_in
from reconciler.dialects.contract import CapacityRules, Plan, RescheduleTrigger
from reconciler.dialects.inventory import ClusterInventory, take_inventory
from reconciler.dialects.object_pass import (
    Failed,
    FaultPlace,
    ObjectPass,
    Part,
    Visits,
    attempt,
    place_of,
)
from reconciler.dialects.ocm import reads
from reconciler.dialects.ocm.api.cluster import ManagedCluster
from reconciler.dialects.ocm.api.placement import (
    CLUSTER,
    CLUSTER_GROUP,
    PLACEMENT,
    WORK_GROUP,
    DecisionObject,
    decode_decision,
    decode_resync,
)
from reconciler.dialects.ocm.decide import (
    PlacementInTurn,
    PlacementOutcome,
    Surroundings,
    decide,
    keep,
    with_causes,
)
from reconciler.dialects.ocm.hub import (
    HubBefore,
    OcmMemory,
    admit_cluster,
    hub_before,
    hub_of,
    placement_key,
)
from reconciler.dialects.ocm.manifestworkreplicaset.replica_set import (
    REPLICA_SET,
    ReplicaSet,
    SetRecord,
    clusters_of,
    decode_record,
    standing_set,
    template_id,
)
from reconciler.dialects.ocm.manifestworkreplicaset.reports import has_made, is_reported
from reconciler.dialects.ocm.manifestworkreplicaset.sync import (
    DecidedPlacement,
    SetDecision,
    SetSurroundings,
    carried_by,
    decide_set,
    decided_placement,
    render_set,
    says_assumed,
    take_set,
)
from reconciler.dialects.ocm.placement_files import DECISION, Draft, draft_of, is_left_alone
from reconciler.dialects.ocm.reads import DECISIONS, placement_reads, set_reads
from reconciler.dialects.ocm.scheduler.schedule import DecisionsSoFar, Hub, judge
from reconciler.dialects.ocm.view.answers import EVERY_CLUSTER
from reconciler.dialects.ocm.view.explanation import explain, explain_set, waits_of_set
from reconciler.dialects.ocm.view.record import (
    known_problem,
    placed,
    problem_of,
    record_removal,
    undecided,
)
from reconciler.dialects.reads import FollowedObjects
from reconciler.errors import UserError
from reconciler.manifests.admission import is_suspended
from reconciler.manifests.paths import doubt_about, fault_place, is_frozen, with_place
from reconciler.model.body import Body
from reconciler.model.decision import Cause, CauseKind, Decision, Explain
from reconciler.model.fields import at, text
from reconciler.model.identity import ClusterName, ObjectKey, group_of
from reconciler.model.labels import labels_of
from reconciler.model.records import dataclass, field, replace
from reconciler.model.settings import Settings
from reconciler.model.world import Fault, Manifest, World
from reconciler.rebalance.target import (
    LAST_MOVE,
    FreshPlace,
    LastMove,
    Reference,
    Standing,
    Target,
    TargetSelection,
    TargetState,
    exchanged_by,
    read_last_move,
    selects,
)
from reconciler.schedule.capacity import (
    NOTHING_PLACED,
    Ledger,
    Placed,
    order_of,
)


@dataclass(slots=True, eq=False, kw_only=True)
class Drafts:
    """The placements of a world that was followed; it is filled as it is asked.

    Attributes:
        world: As the round found it.
        memory: Follows placements and their files.
        drawn: Those that were asked for.
        failed: Those of them that cannot be decoded; they keep their files.
    """

    world: World
    memory: OcmMemory
    drawn: dict[ObjectKey, Draft] = field(default_factory=dict)
    failed: dict[ObjectKey, Failed] = field(default_factory=dict)

    def draw(self, keys: Iterable[ObjectKey]) -> None:
        """Draw placements, those of them that are there."""
        for key in keys:
            manifest = self.memory.followed.there.get(key)
            if manifest is not None and key not in self.drawn and key not in self.failed:
                draft = attempt(partial(self._draw, key), partial(place_of, manifest))
                if isinstance(draft, Failed):
                    self.failed[key] = draft
                else:
                    self.drawn[key] = draft

    def find(self, key: ObjectKey) -> Draft | None:
        """Return a placement, `None` if it is not there or cannot be decoded."""
        self.draw([key])
        return self.drawn.get(key)

    def __getitem__(self, key: ObjectKey) -> Draft:
        """Return a placement that is there and can be decoded."""
        if key not in self.drawn:
            self.draw([key])
        return self.drawn[key]

    def _draw(self, key: ObjectKey) -> Draft:
        """Return a placement and its files, the same as before if none of them differs."""
        followed = self.memory.followed
        manifest, decisions = followed.there[key], followed.left.get(key, {})
        present = self.world.outputs.get(key)
        status_file = present.body if present is not None else None
        frozen = is_left_alone(self.world, key)
        cache_key = (manifest.body, status_file, frozen, *decisions.values())
        draw = partial(draft_of, manifest, status_file, decisions, frozen=frozen)
        return self.memory.drafts.recall(key, cache_key, draw)


@dataclass(slots=True, eq=False)
class SetsInUse:
    """The sets of ManifestWorks of a world by the placements that they use, found when asked."""

    world: World
    _found: dict[ObjectKey, list[Manifest]] | None = None

    def of(self, placement: ObjectKey) -> Sequence[Manifest]:
        """Return the sets that use a placement, sorted."""
        if self._found is None:
            self._found = {}
            for manifest in self.world.of_kind(WORK_GROUP, REPLICA_SET):
                for reference in standing_set(manifest).references:
                    owner = placement_key((manifest.key.namespace, reference.name))
                    self._found.setdefault(owner, []).append(manifest)
        return self._found.get(placement, ())


def has_made_all(
    world: World, sets: SetsInUse, placement: ObjectKey, cluster: ClusterName, began_at: datetime
) -> bool:
    """Return whether a cluster reports what a step gave it of every set of a placement.

    Where no set uses it any more, nothing says that it is ready.
    """
    using = sets.of(placement)
    for manifest in using:
        wanted = standing_set(manifest)
        record = _record_of(world, manifest.key)
        template = template_id(wanted.template)
        there = (placement.name, cluster, template)
        works = (w for w in record.works if (w.placement, w.cluster, w.template) == there)
        work = next(works, None)
        sources = record.sources(template)
        if not has_made(manifest.key, wanted, work, sources, world.feedback, began_at):
            return False
    return bool(using)


def why_not_stepped(world: World, draft: Draft, sets: SetsInUse) -> str:
    """Return why a placement cannot be made before it breaks, `""` if it can."""
    key, using = draft.manifest.key, sets.of(draft.manifest.key)
    if draft.placement.number_of_clusters is None:
        return EVERY_CLUSTER
    if not using:
        return "no ManifestWorkReplicaSet uses it, so nothing would report what is ready"
    for manifest in using:
        record = _record_of(world, manifest.key)
        works = [one for one in record.works if one.placement == key.name]
        told = (
            is_reported(manifest.key, one, record.sources(one.template), world.feedback)
            for one in works
        )
        if works and not any(told):
            name = manifest.key.name
            return f"no cluster reports {name}, so nothing could be seen to be ready"
    return ""


def _last_move(draft: Draft) -> LastMove | None:
    """Return the last move of a placement that was made with a rest, `None` without one."""
    return read_last_move(text(at(draft.status_file or {}, "metadata", "annotations"), LAST_MOVE))


def _record_of(world: World, owner: ObjectKey) -> SetRecord:
    output = world.outputs.get(owner)
    return decode_record(None if output is None else output.body)


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
        sets: Which sets of ManifestWorks use a placement.
        pending: What limited rebalances are still moving, `None` where it may be anything.
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
    sets: "SetsInUse"
    ledger: Ledger | None = None
    pending: frozenset[ObjectKey] | None = None

    def within(self, ledger: Ledger) -> "Placements":
        """Return the same where room is protected: sets add to what is reserved."""
        return replace(self, ledger=ledger)

    def target(self, reference: Reference, /) -> Target | None:
        """Return the placement that a rebalancer refers to, in whichever version.

        One that is faulty, held, frozen, being deleted or switched off waits.
        """
        if (group_of(reference.api_version), reference.kind) != (CLUSTER_GROUP, PLACEMENT):
            return None
        key = ObjectKey(CLUSTER_GROUP, PLACEMENT, reference.namespace, reference.name)
        draft, why = self.drafts.find(key), doubt_about(self.world, key)
        if draft is not None:
            move = move_in(draft.status_file)
            return Target(
                key,
                triggered_at=None if move is None else move.asked_at,
                waits_for=why or with_place(self.world, key, draft.idle),
                stepped=True,
                moves=partial(exchanged_by, partial(self._afresh, draft)),
                afresh=partial(self._afresh, draft),
                left=partial(self._left, draft, move),
                surge=None if move is None else move.surge,
                last_move=_last_move(draft),
                unmakeable=partial(why_not_stepped, self.world, draft, self.sets),
            )
        failed = self.drafts.failed.get(key)
        if not why and failed is not None:
            why = f"it cannot be decided ({fault_place(failed.fault)})"
        return Target(key, waits_for=why) if why else None

    def changed_targets(self) -> AbstractSet[ObjectKey]:
        """Return none: what is left of a goal depends on clusters, so no target is steady."""
        return frozenset()

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
        outputs = self.memory.followed.left.get(key, {})
        return _standing_of(None if status is None else status.body, outputs)

    def _left(self, draft: Draft, move: SteppedMove | None) -> int | None:
        """Return how many clusters of a goal are left, `None` without one that can be reached."""
        key, pending = draft.manifest.key, self.pending
        if move is None or (pending is not None and key not in pending):
            return None
        standing, members = self.memory.standing, self.hub.members
        try:
            verdict = judge(draft.placement, self.hub, standing, self.now)
        except UserError:
            return None
        own = standing.own(draft.placement)
        left = clusters_left(move, {name for one in own for name in one.clusters})
        if verdict is None or members.fleet.named(left) & ~verdict.result.feasible:
            return None
        return len(left)

    def _afresh(self, draft: Draft) -> FreshPlace | None:
        """Return where a schedule afresh would put a placement, as others stand before."""
        return _fresh_place(draft, self.hub, self.memory.standing, self.now)

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
        around = Surroundings(
            hub=self.hub,
            resync=decode_resync(self.settings),
            now=self.now,
            has_made=partial(has_made_all, self.world, self.sets),
            pending=self.pending,
        )
        in_turn = PlacementsInTurn(
            drafts=self.drafts,
            around=around,
            lost=self.inventory.failed.keys(),
            earlier=self.earlier,
            visits=visits,
        )
        under = (self.world.inputs, self.settings, self.hub, self.now)
        self.memory.created = self.memory.created.next(under)
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
            assume_after_seconds=self.settings.assume_after_seconds,
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
        return files.keys() == present.keys() and all(files[one] is present[one] for one in files)

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
            sets=SetsInUse(world),
            pending=memory.moving.of(world),
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
        outputs = memory.followed.left.get(key, {}) if key in memory.followed.there else {}
        objects = () if key in drafts.failed else tuple(map(decode_decision, outputs.values()))
        differ |= memory.standing.put((key.namespace, key.name), objects)
    return differ


def placed_by_set(world: World, holder: ObjectKey) -> Placed:
    """Return what a set carries to its clusters, by its present template.

    What an earlier template brought is not known any more.
    """
    wanted, written = world.inputs.get(holder), world.outputs.get(holder)
    if wanted is None or written is None:
        return NOTHING_PLACED
    demand = carried_by(standing_set(wanted), world.known.scopes)
    return dict.fromkeys((one.cluster for one in decode_record(written.body).works), demand)


CAPACITY = CapacityRules(
    turn=order_of(0, ObjectKey(WORK_GROUP, "", "", "")),
    placing=frozenset({(WORK_GROUP, REPLICA_SET)}),
    holder=attrgetter("key"),
    placed=placed_by_set,
    reported=lambda _cluster: None,  # a ManagedCluster does not report what is left
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacementsInTurn:
    """The placements of a round.

    Attributes:
        drafts: As the round found them.
        around: What all of them look at.
        lost: The clusters that cannot be read.
        earlier: What of the hub is not as it was.
        visits: Those to look at; where one moves, those after it that count decisions come, too.
    """

    drafts: Drafts
    around: Surroundings
    lost: AbstractSet[str]
    earlier: HubBefore
    visits: Visits

    @property
    def _memory(self) -> OcmMemory:
        return self.drafts.memory

    def present(self, key: ObjectKey, /) -> Mapping[ObjectKey, Body]:
        """Return the decisions of a placement, and its status file."""
        return self.drafts[key].files

    def held(self, key: ObjectKey, /) -> str:
        """Return which of its files or clusters cannot be read, `""` if all can."""
        if self.drafts[key].frozen:
            return "one of its files cannot be read"
        clusters = {name for item in self._own(key) for name in item.clusters} if self.lost else {}
        is_lost = not self.lost.isdisjoint(clusters)
        return "one of its clusters cannot be read" if is_lost else ""

    def decide(self, key: ObjectKey, demand: RescheduleTrigger | None, /) -> Part:
        """Decide a placement, and count its decisions from now on."""
        draft, standing, created = self.drafts[key], self._memory.standing, self._memory.created
        known = None if demand is not None else created.find(key, draft.files, draft.manifest)
        if known is not None:
            return known  # its decisions were read from its files, and count
        outcome = decide(draft, demand, standing, self.around)
        part = outcome.part._replace(explain=self._explain(draft, outcome, demand))
        question = PlacementInTurn(draft, demand, standing, self.around)
        earlier = self.drafts.world.earlier.get(key)
        caused = with_causes(part, question, earlier, self.earlier)
        created.note(key, caused, draft.manifest)
        self._count(key, outcome)
        return caused

    def remember(self, key: ObjectKey, part: Part, /) -> None:
        """Let a placement rest, with what it was decided from; one with a step does not rest."""
        if move_in(part.outputs.get(key)) is not None:
            return
        read = placement_reads(self.drafts[key].placement, self.around.hub)
        self._memory.parts.settle(key, part, frozenset(read), part.until)

    def explain_kept(self, key: ObjectKey, reason: str, /) -> Explain | None:
        """Return what explains that a placement stays as it is."""
        draft = self.drafts[key]
        return self._explain(draft, keep(draft, self._own(key), reason), None)

    def place(self, key: ObjectKey, /) -> FaultPlace:
        """Return the file of a placement."""
        return place_of(self.drafts[key].manifest)

    def fault(self, key: ObjectKey, error: UserError, /) -> Fault:
        """Return the fault of a placement that cannot be decided."""
        return undecided(self.drafts[key].manifest, error)

    def _own(self, key: ObjectKey) -> tuple[DecisionObject, ...]:
        return self._memory.standing.own(self.drafts[key].placement)

    def _count(self, key: ObjectKey, outcome: PlacementOutcome) -> None:
        """Put what a placement decided in place of what it had; who counts looks again."""
        if outcome.objects == self._own(key):
            return
        memory = self._memory
        memory.standing.put((key.namespace, key.name), outcome.objects)
        memory.decided.add(key)
        later = [one for one in memory.parts.asking(DECISIONS) if one > key]
        memory.parts.unsettle(later)
        self.visits.add(later)

    def _explain(
        self, draft: Draft, outcome: PlacementOutcome, demand: RescheduleTrigger | None
    ) -> Explain:
        return partial(explain, draft, outcome, demand, self.around.hub.members, self.around.now)


ROLLOUT_RULE = "replica-set-rollout"
UNREADABLE_RULE = "replica-set-unreadable"


@dataclass(frozen=True, slots=True, kw_only=True)
class SetsInTurn:
    """The sets of a round.

    Attributes:
        world: As the round found it.
        around: What all of them look at.
        memory: The sets, and placements that are at rest.
        decided: The files of the placements that were looked at, as they are decided now.
        ledger: What is reserved of clusters, `None` where no room is protected.
    """

    world: World
    around: SetSurroundings
    memory: OcmMemory
    decided: Mapping[ObjectKey, Mapping[ObjectKey, Body]]
    ledger: Ledger | None = None

    def present(self, key: ObjectKey, /) -> Mapping[ObjectKey, Body]:
        """Return the status file of a set."""
        return self.memory.followed_sets.files(key)

    def held(self, key: ObjectKey, /) -> str:
        """Return why a set stays as it is, `""` if nothing holds it."""
        if is_frozen(self.world, key):
            return "its status file cannot be read"
        return "it is suspended" if is_suspended(self.memory.followed_sets.there[key].body) else ""

    def decide(self, key: ObjectKey, _demand: RescheduleTrigger | None, /) -> Part:
        """Decide a set.

        Raises:
            UserError: It cannot be decoded.
        """
        manifest, present = self.memory.followed_sets.there[key], self.present(key).get(key)
        wanted, record = self._wanted(key), decode_record(present)
        placements = {
            one.name: decided
            for one in wanted.references
            if (decided := self._placement((key.namespace, one.name))) is not None
        }
        keeps = says_assumed(present)
        found = decide_set(key, wanted, placements, record, self.around, keeps_assumed=keeps)
        if self.ledger is not None:
            take_set(self.ledger, key, wanted, record, found.record, self.around.scopes)
        return Part(
            outputs={key: render_set(manifest, present, found, self.around.now)},
            decision=_decision(key, wanted, record, found, is_new=present is None),
            faults=tuple(_fault(manifest, error) for error in found.outcome.errors),
            until=found.until,
            waits=tuple(waits_of_set(key, found, self.around.now)),
            explain=partial(explain_set, key, wanted, found, placements),
        )

    def _wanted(self, key: ObjectKey) -> ReplicaSet:
        """Return the set."""
        return standing_set(self.memory.followed_sets.there[key])

    def _placement(self, owner: tuple[str, str]) -> DecidedPlacement | None:
        """Return a placement as it is decided now, `None` if it never was."""
        key = placement_key(owner)
        if key not in self.memory.followed.there:
            return None
        files = self.decided.get(key) or self.memory.followed.files(key)
        decisions = (files[one] for one in sorted(files) if one.kind == DECISION)
        return decided_placement(files[key], decisions) if key in files else None

    def remember(self, key: ObjectKey, part: Part, /) -> None:
        """Let a set rest, with what it was decided from."""
        wanted, record = self._wanted(key), decode_record(part.outputs[key])
        placements = [placement_key((key.namespace, one.name)) for one in wanted.references]
        read = set_reads(key, wanted, record, placements)
        self.memory.set_parts.settle(key, part, frozenset(read), part.until)

    def explain_kept(self, _key: ObjectKey, _reason: str, /) -> None:
        """Explain nothing of a set that stays as it is."""

    def place(self, key: ObjectKey, /) -> FaultPlace:
        """Return the file of a set."""
        return place_of(self.memory.followed_sets.there[key])

    def fault(self, key: ObjectKey, error: UserError, /) -> Fault:
        """Return the fault of a set that cannot be read."""
        return _fault(self.memory.followed_sets.there[key], error.message, UNREADABLE_RULE)


def _decision(
    key: ObjectKey, wanted: ReplicaSet, record: SetRecord, decided: SetDecision, *, is_new: bool
) -> Decision | None:
    """Return what moved, `None` if the same clusters have the same."""
    before, after = clusters_of(record), clusters_of(decided.record)
    if before == after and record.works == decided.record.works and not is_new:
        return None
    templates = {one.template for one in decided.record.works} - {
        one.template for one in record.works
    }
    cause = CauseKind.PLACEMENT_CHANGED if templates else CauseKind.CLUSTERS_CHANGED
    return Decision(
        key=key,
        subject=f"{wanted.namespace}/{wanted.name}",
        cause=Cause(CauseKind.CREATED if is_new else cause),
        before=before,
        after=after,
        problem="; ".join(decided.outcome.errors),
    )


def removed_sets(followed: FollowedObjects, world: World) -> list[Decision]:
    """Return the decisions on sets whose manifest is gone; their files go with them."""
    return [
        Decision(
            key=key,
            subject=f"{key.namespace}/{key.name}",
            cause=Cause(CauseKind.REMOVED),
            before=clusters_of(decode_record(world.outputs[key].body)),
            after=(),
            removed=True,
        )
        for key in sorted(followed.gone)
    ]


def _fault(manifest: Manifest, message: str, rule: str = ROLLOUT_RULE) -> Fault:
    return Fault(
        path=manifest.origin.path,
        line=0,
        column=0,
        field="/spec/placementRefs",
        rule=rule,
        message=f"the rollout cannot go on: {message}",
        expected="a strategy that can be followed; what is there stays",
        subject=str(manifest.key),
    )


def _standing_of(status: Body | None, decisions: Mapping[ObjectKey, Body]) -> Standing:
    """Return where a placement is, as the last pass left it.

    Args:
        status: Its status file, `None` without one.
        decisions: Its PlacementDecisions.
    """
    listed = (name for body in decisions.values() for name in decode_decision(body).clusters)
    return Standing(
        clusters=frozenset(map(str, listed)),
        states=frozenset({TargetState.UNSCHEDULABLE} if known_problem(status) else ()),
    )


def _fresh_place(
    draft: Draft, hub: Hub, decided: DecisionsSoFar, now: datetime
) -> FreshPlace | None:
    """Return where a placement would be put afresh, `None` where nothing can be decided.

    Args:
        draft: The placement.
        hub: What it is decided from.
        decided: The decisions of all, as they are.
        now: Moment of the pass.
    """
    try:
        verdict = judge(draft.placement, hub, decided, now, afresh=True)
    except UserError:
        return None
    if verdict is None:
        return None
    return FreshPlace(
        before=placed(decided.own(draft.placement)),
        after=placed(verdict.grouped.objects),
        problem=problem_of(verdict),
    )
