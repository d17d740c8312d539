"""Karmada's part of a pass: policies claim workloads, then each binding is decided.

A pass admits the clusters, as they are and as they were at the last pass, and drafts the bindings.
A round decides only those that a change concerns, or that must be looked at all the same. They take
room of clusters in their order. What is remembered between rounds and passes only saves work.
"""

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from datetime import datetime
from functools import partial
from operator import attrgetter

from reconciler.dialects.contract import CapacityRules, Plan, RescheduleTrigger
from reconciler.dialects.inventory import (
    AdmittedCluster,
    ClusterInventory,
    CopyReports,
    CopyTable,
    Earlier,
    InventoryCache,
    ReportedObjects,
    take_inventory,
    views_before,
)
from reconciler.dialects.karmada.api.binding import BINDINGS, named_otherwise
from reconciler.dialects.karmada.api.binding_spec import (
    Targets,
    copies_in,
    decode_requests,
    decode_resource,
    decode_spec,
    requests_of,
    takes_the_same,
)
from reconciler.dialects.karmada.api.cluster import (
    MemberCluster,
    Members,
    amount_of,
    decode_summary,
    members_of,
    used_in,
)
from reconciler.dialects.karmada.api.cluster_taints import (
    TAINT_POLICY,
    TaintPolicy,
    admit_cluster,
    decode_departed,
    decode_taint_policy,
)
from reconciler.dialects.karmada.api.names import (
    CLUSTER,
    decode_failover,
    enforces_quotas,
    propagates_empty,
    unschedulable_after,
)
from reconciler.dialects.karmada.causes import with_causes
from reconciler.dialects.karmada.decide import Surroundings, decide
from reconciler.dialects.karmada.detector.binding_draft import Draft, binding_key
from reconciler.dialects.karmada.detector.detect import (
    ClaimMemory,
    Claims,
    attach,
    claim_workloads,
    needed_bindings,
)
from reconciler.dialects.karmada.detector.propagation import (
    DetectorOptions,
    decode_detector_options,
)
from reconciler.dialects.karmada.quotas import QuotaMemory, QuotaRound, open_quotas
from reconciler.dialects.karmada.scheduler.reschedule import (
    MOVING_TO,
    batched_bindings,
    complaint_in,
    is_reschedulable,
)
from reconciler.dialects.karmada.scheduler.room import ProtectedFleet
from reconciler.dialects.karmada.view.binding_file import is_edited
from reconciler.dialects.karmada.view.rebalance_target import held_since, standing_of, target_of
from reconciler.dialects.karmada.view.record import policy_of, workload_of
from reconciler.dialects.object_pass import (
    CreatedParts,
    Failed,
    FaultPlace,
    ObjectPass,
    Part,
    attempt,
    has_news,
    place_of,
)
from reconciler.dialects.reads import Followed, Question, Reads, ReadTable
from reconciler.dialects.scores import FollowedScores, score_question, scores_before
from reconciler.errors import UserError
from reconciler.manifests.admission import digest
from reconciler.manifests.paths import output_path
from reconciler.model.body import Body
from reconciler.model.decision import Cause, CauseKind, Decision, Explain
from reconciler.model.fields import bodies, mapping, mapping_or_none, number_or_none
from reconciler.model.identity import ObjectKey
from reconciler.model.quantity import decode_resources
from reconciler.model.records import dataclass, field, replace
from reconciler.model.remembered import AnswerCache, CacheKey, KeyedCache, forget, same
from reconciler.model.settings import Settings
from reconciler.model.world import Fault, Manifest, World
from reconciler.projection.project import projected_from
from reconciler.rebalance.target import Reference, Target, TargetSelection, selects
from reconciler.rebalance.workload_rebalancer import MovedInParts
from reconciler.schedule.apportion import breaks_ties_descending
from reconciler.schedule.capacity import (
    NOTHING_PLACED,
    ClusterDemand,
    Ledger,
    Order,
    Placed,
    ReportedRoom,
    demand_of_replicas,
    order_of,
)
from reconciler.schedule.fleet import remember


def reported_room(cluster: Body) -> ReportedRoom | None:
    """Return what a cluster's summary of resources leaves."""
    summary = mapping_or_none(mapping(cluster, "status"), "resourceSummary")
    if summary is None:
        return None
    projected = bool(projected_from(cluster))
    rooms = decode_summary(summary, projected=projected).rooms
    free = {name: amount_of(name, units) for name, units in rooms.items()}
    return ReportedRoom(free, used_in(summary), digest(summary))


def placed_by_binding(world: World, holder: ObjectKey) -> Placed:
    """Return what a binding has on its clusters."""
    output = world.outputs.get(holder)
    if output is None:
        return NOTHING_PLACED
    body = output.body
    return demands_of(decode_resource(body).key, copies_in(body), decode_requests(body))


CAPACITY = CapacityRules(
    turn=order_of(2**63, ObjectKey("", "", "", "")),  # no binding has a greater priority
    placing=frozenset(BINDINGS),
    holder=attrgetter("key"),
    placed=placed_by_binding,
    reported=reported_room,
)


ANY_CLUSTER: Question = ("any",)
WHOLE_FLEET = frozenset({ANY_CLUSTER})


@dataclass(slots=True)
class BindingChanges:
    """What bindings are decided from, as the last round had it; it is changed in place."""

    _under: CacheKey = ()
    _fleet: tuple[MemberCluster, ...] = ()
    _clusters: Followed[str, MemberCluster] = field(default_factory=Followed)
    _drafts: Followed[ObjectKey, Draft] = field(default_factory=Followed)
    _reports: ReportedObjects = field(default_factory=ReportedObjects)

    def own(
        self, under: CacheKey, drafts: Mapping[ObjectKey, Draft], copies: CopyReports
    ) -> set[ObjectKey]:
        """Go on to another round, and return the bindings of which something differs.

        Args:
            under: What all of them depend on.
            drafts: Every binding as it is wanted.
            copies: What member clusters report.
        """
        keys = {binding_key(workload) for workload in self._reports.follow(copies)}
        keys.update(self._drafts.keys(drafts))
        if not same(self._under, under):
            self._under = under
            keys |= drafts.keys()
        return keys

    def clusters(self, fleet: tuple[MemberCluster, ...]) -> Iterator[Question]:
        """Go on to another fleet, and yield the clusters that changed, came or went."""
        if fleet is self._fleet:
            return
        self._fleet = fleet
        changed = self._clusters.keys({str(view.cluster.name): view for view in fleet})
        yield from changed
        if changed:
            yield ANY_CLUSTER


@dataclass(slots=True, eq=False)
class AlikeBindings:
    """New bindings that a round decided, for others that ask the same and have other names."""

    _decided: dict[Hashable, tuple[Draft, Part]] = field(default_factory=dict)

    def decide(self, draft: Draft, decide: Callable[[], Part]) -> Part:
        """Decide a new binding of a policy, or have it say what one does that is alike.

        Whether that may be said of others is known where it is known what it is `again`.

        Raises:
            UserError: Something in the binding cannot be read.
        """
        question = draft.question(breaks_ties_descending)
        first, part = remember(self._decided, question, lambda: (draft, decide()))
        again, decision, news = part.again, part.decision, part.edited or has_news(part)
        if first is draft or again is None or decision is None or news or not draft.asks_as(first):
            return part if first is draft else decide()
        body = named_otherwise(part.outputs[first.key], draft.key, draft.resource, draft.owners)
        outputs: Mapping[ObjectKey, Body] = {draft.key: body}
        sources = (workload_of(draft), *policy_of(draft))
        cause = replace(decision.cause, sources=sources)
        return part._replace(
            outputs=outputs,
            decision=replace(decision, key=draft.key, subject=draft.subject, cause=cause),
            explain=lambda: decide().explained(),
            again=again._replace(outputs=outputs),
        )


@dataclass(slots=True, kw_only=True)
class DraftedBindings:
    """Bindings, as the loop over objects asks for them.

    Attributes:
        drafts: As policies and attached bindings want them.
        parts: Those of bindings that a round leaves as they are.
        claims: What made the drafts.
        around: All else that a decision reads.
        quotas: What is used of each, by those decided so far.
        ledger: What is reserved in clusters, `None` where room is not protected.
        lost: Clusters that cannot be read.
        created: Those that the round before created, as they are unless something else differs.
        alike: Those that this round decided first, of others that ask the same.
    """

    drafts: Mapping[ObjectKey, Draft]
    parts: ReadTable[Part]
    claims: Claims
    around: Surroundings
    quotas: QuotaRound
    ledger: Ledger | None
    lost: Mapping[str, object]
    created: CreatedParts
    alike: AlikeBindings = field(default_factory=AlikeBindings)

    def present(self, key: ObjectKey, /) -> Mapping[ObjectKey, Body]:
        """Return the file of a binding, if it has one."""
        present = self.drafts[key].present
        return {} if present is None else {key: present}

    def held(self, key: ObjectKey, /) -> str:
        """Return that one of its clusters cannot be decoded, `""` if all can."""
        named = self.drafts[key].spec.named
        is_lost = bool(self.lost) and not self.lost.keys().isdisjoint(named)
        return "one of its clusters cannot be read" if is_lost else ""

    def decide(self, key: ObjectKey, demand: RescheduleTrigger | None, /) -> Part:
        """Decide a binding."""
        draft = self.drafts[key]
        part = None
        if demand is None:
            part = self.created.find(key, self.present(key), draft.policy)
        if part is None:
            work = partial(decide, draft, demand, self.around)
            is_new = draft.present is None and draft.policy is not None and demand is None
            shares = is_new and not self.around.copies  # what clusters report is each one's own
            part = self.alike.decide(draft, work) if shares else work()
            part = with_causes(part, draft, demand, self.around)
            self.created.note(key, part, draft.policy)
        self.quotas.take(draft, part.outputs)
        if self.ledger is not None:
            take(self.ledger, draft, part.outputs)
        return part

    def remember(self, key: ObjectKey, part: Part, /) -> None:
        """Remember a part that leaves its binding as it is."""
        draft = self.drafts[key]
        reads = self.claims.names_of(key) if part.local else WHOLE_FLEET
        reads |= self.quotas.reads(draft, part.outputs)
        reads |= {*map(score_question, part.scored)}
        if draft.metadata.note(MOVING_TO):
            reads |= {BATCHES}
        if self.ledger is not None:
            reads |= room_reads(draft, part.outputs)
        self.parts.settle(key, part, reads, part.until)

    def explain_kept(self, _key: ObjectKey, _reason: str, /) -> Explain | None:
        """Return nothing: a binding that stays is explained by its file."""
        return None

    def place(self, key: ObjectKey, /) -> FaultPlace:
        """Return the file of a binding."""
        return FaultPlace(self.around.path_of(key), str(key))

    def fault(self, key: ObjectKey, error: UserError, /) -> Fault:
        """Return what a decoder found as a fault at the binding's file."""
        place = self.place(key)
        return Fault(
            path=place.path,
            line=0,
            column=0,
            field=error.field,
            rule="binding-unreadable",
            message=f"the binding of {self.drafts[key].subject} cannot be decided: {error.message}",
            expected="the file as the last pass wrote it (git checkout), or no file",
            subject=place.subject,
        )


@dataclass(slots=True, eq=False)
class KarmadaMemory:
    """Tables by what they answer.

    Attributes:
        clusters: Cluster as its controllers leave it.
        departed: Stand-in for a cluster without a file, by name.
        members: The clusters and these, and the same indexed, under one name.
        options: What the configuration says of detection, under one name.
        taint_policies: What puts taints on clusters, under one name.
        quotas: What limits namespaces, and what is used of that.
        claims: What each workload came to.
        copies: What clusters report.
        parts: The parts that leave bindings as they are, with what they were decided from.
        changes: What that was.
        scores: What add-ons report of clusters.
        weighed: The clusters with these scores, under one name.
        reserved: What the last round found reserved of clusters.
        batched: The bindings that the last round found moved in batches.
        created: The bindings that the last round created.
        targets: Every binding as rebalancers saw it last.
        moving: The workloads that are moved in batches.
        moved: The bindings of these, under one name.
    """

    clusters: InventoryCache[MemberCluster] = field(default_factory=InventoryCache)
    departed: KeyedCache[str, MemberCluster] = field(default_factory=KeyedCache)
    members: AnswerCache[None, tuple[CacheKey, Members]] = field(default_factory=AnswerCache)
    options: AnswerCache[None, DetectorOptions] = field(default_factory=AnswerCache)
    taint_policies: AnswerCache[None, tuple[TaintPolicy, ...]] = field(default_factory=AnswerCache)
    quotas: QuotaMemory = field(default_factory=QuotaMemory)
    claims: ClaimMemory = field(default_factory=ClaimMemory)
    copies: CopyTable = field(default_factory=CopyTable)
    parts: ReadTable[Part] = field(default_factory=partial(ReadTable, tells=has_news))
    changes: BindingChanges = field(default_factory=BindingChanges)
    scores: FollowedScores = field(default_factory=FollowedScores)
    weighed: AnswerCache[None, Members] = field(default_factory=AnswerCache)
    reserved: CacheKey = ()
    batched: frozenset[ObjectKey] | None = None
    created: CreatedParts = field(default_factory=CreatedParts)
    targets: Followed[ObjectKey, Draft] = field(default_factory=Followed)
    moving: MovedInParts = field(default_factory=MovedInParts)
    moved: AnswerCache[None, frozenset[ObjectKey] | None] = field(default_factory=AnswerCache)

    def forget(self) -> None:
        """Drop what the last two passes did not ask for."""
        forget(self)
        self.claims.forget()
        self.quotas.forget()


@dataclass(frozen=True, slots=True, kw_only=True)
class Bindings:
    """Karmada before triggers: the fleet, and every binding as it is wanted."""

    world: World
    inventory: ClusterInventory[MemberCluster]
    claims: Claims
    around: Surroundings
    quotas: QuotaRound
    settings: Settings
    memory: KarmadaMemory
    ledger: Ledger | None = None

    def within(self, ledger: Ledger) -> "Bindings":
        """Return the same where room is protected."""
        rooms = ProtectedFleet(self.around.members, ledger)
        return replace(self, ledger=ledger, around=replace(self.around, rooms=rooms))

    def target(self, reference: Reference, /) -> Target | None:
        """Return the binding that a rebalancer refers to by its workload.

        Source: karmada@f8fdd02 pkg/controllers/workloadrebalancer/workloadrebalancer_controller.go
        `triggerReschedule`: kind, namespace and name decide, the API version does not.
        """
        workload = reference.key
        key, draft = binding_key(workload), self.claims.drafts.get(binding_key(workload))
        why = held_since(workload, key, self.world, self.claims, self.inventory)
        if why:
            return Target(key, waits_for=why)
        return None if draft is None else target_of(draft, self.around, self.world, workload)

    def changed_targets(self) -> AbstractSet[ObjectKey] | None:
        """Return the bindings with another draft, and those that are kept whatever happens."""
        changed = self.memory.targets.keys(self.claims.drafts)
        if self.inventory.failed or self.claims.waiting or self.world.frozen:
            return None  # what cannot be read may hold up any of them
        return self.claims.kept.keys() | changed

    def select(self, selection: TargetSelection, /) -> Iterable[Reference]:
        """Yield the workloads that a description means, of those that can be rebalanced.

        One that no policy claims any more is meant where its binding has a placement.
        """
        for draft in self.claims.drafts.values():
            policy = None if draft.policy is None else draft.policy.key
            if selection.policy not in (None, policy):
                continue
            if policy is None and not is_reschedulable(draft):
                continue
            reference = Reference(
                draft.resource.api_version,
                draft.resource.kind,
                draft.resource.namespace,
                draft.resource.name,
            )
            standing = partial(standing_of, draft)
            if selects(selection, reference, draft.workload_labels, standing):
                yield reference

    def plan(
        self,
        triggers: Mapping[ObjectKey, RescheduleTrigger],
        asked: frozenset[ObjectKey],
        held: Mapping[ObjectKey, str],
        /,
    ) -> Plan:
        """Decide the bindings that may move: those that need others first, then what they need."""
        claims, parts, ledger = self.claims, self.memory.parts, self.ledger
        gone = {*claims.gone, *self.inventory.gone}
        decided = self._pass(triggers, asked, held, gone)
        affected = self._affected()
        needed = needed_bindings(claims, self.world, self.memory.claims, decided.failed)
        named = {*triggers, *asked} & claims.drafts.keys()
        looked = affected | named
        contended = self.quotas.contended((*looked, *needed))
        looked |= {key for question in contended for key in parts.asking(question)}
        parts.unsettle({*looked, *needed} - affected)  # nothing that was remembered of them holds
        own = sorted(looked - needed.keys())  # the order in which quotas are filled
        around, world = self.around, self.world
        under = (world.inputs, world.feedback, self.settings, around.members, around.now)
        self.memory.created = self.memory.created.next(under)
        bindings = DraftedBindings(
            drafts=claims.drafts,
            parts=parts,
            claims=claims,
            around=around,
            quotas=self.quotas,
            ledger=ledger,
            lost=self.inventory.failed,
            created=self.memory.created,
        )
        decided.run(own if ledger is None else in_turn(own, claims.drafts, ledger), bindings)
        looked_at = set(own)
        if needed:
            standing = partial(_standing, decided.outputs, parts)
            present = partial(_present, self.world)
            attached = attach(claims, needed, standing, present, self.memory.claims)
            always = replace(bindings, drafts=attached, created=CreatedParts())
            decided.run(attached, always)
            gone |= needed.keys() - attached.keys()
            looked_at |= needed.keys()
            parts.unsettle(needed)  # others need them, so they are always looked at
        decided.close(parts, looked_at)
        files, left = self.quotas.files(self.around.copies, self.around.members.fleet.names)
        decided.outputs |= files
        gone.update(left)
        return decided.plan()

    def _pass(
        self,
        triggers: Mapping[ObjectKey, RescheduleTrigger],
        asked: frozenset[ObjectKey],
        held: Mapping[ObjectKey, str],
        gone: set[ObjectKey],
    ) -> ObjectPass:
        """Return what is known before any binding is decided."""
        claims = self.claims
        return ObjectPass(
            triggers=triggers,
            asked=asked,
            waiting=held,
            outputs=dict(self.inventory.records),
            failed=[*self.inventory.failed.values(), *claims.failed],
            faults=list(claims.faults),
            decisions=[
                _removed(key, manifest, never=key in claims.never)
                for key, manifest in claims.gone.items()
            ],
            gone=gone,
        )

    def _affected(self) -> set[ObjectKey]:
        """Begin a round, and return the bindings that something concerns."""
        memory, around, drafts = self.memory, self.around, self.claims.drafts
        changed = [
            *memory.changes.clusters(around.members.views),
            *self.quotas.changed(),
            *memory.scores.changed(),
            *self._room_changed(),
        ]
        own = memory.changes.own((self.settings,), drafts, around.copies)
        own |= self._moving_otherwise()
        affected = memory.parts.affected(changed, own, around.now)
        memory.parts.drop_all(affected - drafts.keys())
        return affected & drafts.keys()

    def _moving_otherwise(self) -> AbstractSet[ObjectKey]:
        """Return the bindings that are moved in batches by now, or are not any more."""
        before, self.memory.batched = self.memory.batched, self.around.batched
        if before == self.around.batched:
            return frozenset()
        if before is None or self.around.batched is None:
            return self.memory.parts.asking(BATCHES)
        return before ^ self.around.batched

    def _room_changed(self) -> Iterator[Question]:
        """Yield what those ask who wait for room, if something else is reserved now."""
        ledgers = () if self.ledger is None else self.ledger.found
        before, self.memory.reserved = self.memory.reserved, ledgers
        if not same(before, ledgers):
            yield ROOM


def _standing(
    outputs: Mapping[ObjectKey, Body], parts: ReadTable[Part], key: ObjectKey
) -> Body | None:
    """Return a binding as it stands by now, `None` if there is none."""
    if key in outputs:
        return outputs[key]
    part = parts.find(key)
    return None if part is None else part.outputs.get(key)


def _present(world: World, key: ObjectKey) -> Body | None:
    """Return a binding as the round before left it, `None` if there was none."""
    output = world.outputs.get(key)
    return None if output is None else output.body


@dataclass(frozen=True, slots=True)
class Karmada:
    """Karmada's part of all passes of one repository."""

    memory: KarmadaMemory = field(default_factory=KarmadaMemory)

    def prepare(self, world: World, settings: Settings, now: datetime, /) -> Bindings:
        """Let policies claim workloads, and draft the bindings."""
        failover = decode_failover(settings)
        declared = settings.declared_clusters
        admitted = admit_fleet(world, self.memory, settings, now, failover=failover.enabled)
        inventory = admitted.inventory
        options = settings.options.get("karmada")
        detector = self.memory.options.recall(
            None, (options,), partial(decode_detector_options, settings)
        )
        claims = claim_workloads(world, self.memory.claims, detector)
        lost = inventory.failed.keys()
        draw = partial(
            draw_fleet, inventory.views.values(), lost, claims, self.memory, declared=declared
        )
        met = (inventory, claims.named, declared)
        _, drawn = self.memory.members.recall(None, met, draw)
        scores = self.memory.scores.follow(world)
        weigh = partial(drawn.with_scores, scores)
        members = self.memory.weighed.recall(None, (drawn, scores), weigh)

        def apart(views: list[MemberCluster]) -> Members:
            fleet = draw_fleet(views, lost, claims, KarmadaMemory(), declared=declared)[1]
            return fleet.with_scores(scores)

        moving = self.memory.moving.of(world)
        quotas = open_quotas(world, self.memory.quotas, enforced=enforces_quotas(settings))
        return Bindings(
            world=world,
            inventory=inventory,
            claims=claims,
            quotas=quotas,
            around=Surroundings(
                members=members,
                failover=failover,
                propagate_empty=propagates_empty(settings),
                copies=self.memory.copies.follow(world),
                assume_after_seconds=settings.assume_after_seconds,
                now=now,
                path_of=partial(output_path, world.output_root),
                clusters_before=admitted.before(apart),
                refusal=quotas.refusal,
                refusal_before=quotas.refusal_before(),
                scores_before=scores_before(world),
                batched=self.memory.moved.recall(
                    None, (moving,), partial(batched_bindings, moving)
                ),
                unschedulable_after=unschedulable_after(settings),
            ),
            settings=settings,
            memory=self.memory,
        )

    def forget(self) -> None:
        """Drop what the last two passes did not ask for."""
        self.memory.forget()


def _removed(key: ObjectKey, manifest: Manifest, *, never: bool) -> Decision:
    """Return the decision on a binding whose workload is gone, or is never propagated."""
    spec = decode_spec(manifest.body)
    name = spec.resource.name
    return Decision(
        key=key,
        subject=f"{key.namespace}/{name}" if key.namespace else name,
        cause=Cause(CauseKind.NEVER_PROPAGATED if never else CauseKind.REMOVED),
        before=spec.placed,
        after=(),
        removed=True,
    )


Admit = Callable[..., AdmittedCluster[MemberCluster]]


@dataclass(frozen=True, slots=True)
class AdmittedFleet:
    """The clusters of a world.

    Attributes:
        world: That has them.
        inventory: They themselves.
        admit: Makes one of its manifest, its status file and the taint policies.
    """

    world: World
    inventory: ClusterInventory[MemberCluster]
    admit: Admit

    def before(self, draw: Callable[[list[MemberCluster]], Members]) -> Earlier[Members] | None:
        """Return the fleet as it was at the last pass, `None` if nothing of it differs."""
        world = self.world
        policies = world.earlier_of([TAINT_POLICY])
        edited = (*world.earlier_of([CLUSTER]), *policies)
        if not edited:
            return None
        written = {one.key: one for one in world.of_kind(*TAINT_POLICY)}
        then = {key: one for key, one in {**written, **policies}.items() if one is not None}
        admit = partial(self.admit, policies=_decoded(tuple(then[key] for key in sorted(then))))
        views = self.inventory.views
        if policies:
            views = dict(self._admitted_by(admit))
        return Earlier(
            edited, lambda: draw(list(views_before(world, CLUSTER, views, admit).values()))
        )

    def _admitted_by(self, admit: Admit) -> "dict[str, MemberCluster]":
        found = {}
        for cluster in self.world.of_kind(*CLUSTER):
            work = partial(admit, cluster, self.world.outputs.get(cluster.key))
            admitted = attempt(work, partial(place_of, cluster))
            if not isinstance(admitted, Failed):
                found[cluster.key.name] = admitted.view
        return found


def admit_fleet(
    world: World, memory: KarmadaMemory, settings: Settings, now: datetime, *, failover: bool
) -> AdmittedFleet:
    """Return the clusters of a world as its controllers leave them.

    Unlike upstream: policies come in the order of their names, for a file has no creation time.
    """
    written = world.of_kind(*TAINT_POLICY)
    policies = memory.taint_policies.recall(None, (written,), partial(_decoded, written))
    admit = partial(
        admit_cluster,
        declared=settings.declared_clusters,
        failover=failover,
        now=now,
    )
    under = (settings.declared_clusters, failover, policies)
    asked = partial(admit, policies=policies)
    inventory = take_inventory(world, CLUSTER, memory.clusters, asked, under=under)
    return AdmittedFleet(world, inventory, admit)


def draw_fleet(
    views: Collection[MemberCluster],
    lost: Collection[str],
    claims: Claims,
    memory: KarmadaMemory,
    *,
    declared: bool,
) -> tuple[CacheKey, Members]:
    """Return the fleet; a cluster without a file counts as leaving while a binding names it.

    It is the very same with the clusters that it was drawn from, while these are the same.
    """
    filed = {view.cluster.name for view in views} | set(lost)
    missing = sorted(map(str, claims.named - filed))
    departed = memory.departed.under(declared)
    for name in missing:
        departed.setdefault(name, decode_departed(name, declared=declared))
    drawn_from = (*views, *(departed[name] for name in missing))
    memory.departed.trim(missing)
    known = memory.members.latest(None)
    if known is not None and same(known[0], drawn_from):
        return known
    return drawn_from, members_of(drawn_from)


def _decoded(written: tuple[Manifest, ...]) -> tuple[TaintPolicy, ...]:
    return tuple(decode_taint_policy(one.body) for one in written)


BATCHES: Question = ("batches",)
"""What a binding asks that is moved in batches: whether anything moves it still."""
ROOM: Question = ("room",)
"""What whoever waits for room asks: what is reserved."""


def queue_place_of(draft: Draft) -> Order:
    """Return the place of a binding among all that add: by its schedulePriority, then its key."""
    return order_of(number_or_none(draft.spec.priority or {}, "priority") or 0, draft.key)


def in_turn(
    keys: Iterable[ObjectKey], drafts: Mapping[ObjectKey, Draft], ledger: Ledger
) -> Iterator[ObjectKey]:
    """Yield bindings in their order, each after those of other APIs that come before it."""
    for place in sorted(queue_place_of(drafts[key]) for key in keys):
        ledger.before(place)
        yield place[1]


def demands_of(workload: ObjectKey, clusters: Targets, requests: Body) -> dict[str, ClusterDemand]:
    """Return what a binding takes of each of its clusters.

    Args:
        workload: Whose binding it is.
        clusters: Where it is, with its replicas.
        requests: What one replica asks for, as it is written.

    Raises:
        UserError: A request is no quantity.
    """
    counts = {replicas for _, replicas in clusters}
    if not any(counts):
        return {}
    request = decode_resources(requests)
    alike = {count: demand_of_replicas(workload, count, request) for count in counts}
    return {name: alike[replicas] for name, replicas in clusters}


def take(ledger: Ledger, draft: Draft, outputs: Mapping[ObjectKey, Body]) -> None:
    """Go on with a binding as it was decided.

    Where a person edited its clusters nobody knows which it had: all of them are reserved.

    Raises:
        UserError: A request is no quantity.
    """
    body = outputs.get(draft.key)
    if body is None or body is draft.present:
        return
    present, stood = draft.present, draft.stood
    edited = present is not None and is_edited(draft.metadata, stood.placed, draft.resource)
    if present is not None and not edited and takes_the_same(present, body):
        return
    workload = draft.resource.key
    had = {} if edited else demands_of(workload, stood.copies, requests_of(stood))
    has = demands_of(workload, copies_in(body), decode_requests(body))
    ledger.take_all(draft.key, had, has)


def room_reads(draft: Draft, outputs: Mapping[ObjectKey, Body]) -> Reads:
    """Return what a binding asks of the ledger that stays as it is: something if it waits."""
    body = outputs.get(draft.key)
    waits = body is not None and complaint_in(bodies(mapping(body, "status"), "conditions"))
    return frozenset((ROOM,)) if waits else frozenset()
