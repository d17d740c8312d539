"""Karmada's part of a pass: policies claim workloads, then each binding is decided."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial

from reconciler.dialects.cluster_inventory import ClusterInventory
from reconciler.dialects.contract import Plan, RescheduleTrigger
from reconciler.dialects.karmada.admitted_fleet import admit_fleet, draw_fleet
from reconciler.dialects.karmada.api.clusters import MemberCluster, Members
from reconciler.dialects.karmada.api.settings import (
    decode_failover,
    enforces_quotas,
    propagates_empty,
)
from reconciler.dialects.karmada.api.work.binding_spec import decode_spec
from reconciler.dialects.karmada.detector.attached_bindings import attach, needed_bindings
from reconciler.dialects.karmada.detector.binding_draft import binding_key
from reconciler.dialects.karmada.detector.detect import Claims, claim_workloads
from reconciler.dialects.karmada.detector.options import decode_detector_options
from reconciler.dialects.karmada.drafted_bindings import DraftedBindings
from reconciler.dialects.karmada.federatedresourcequota.quota_round import (
    QuotaRound,
    open_quotas,
)
from reconciler.dialects.karmada.memory import KarmadaMemory
from reconciler.dialects.karmada.protected_room import ProtectedFleet
from reconciler.dialects.karmada.reservations import ROOM, in_turn
from reconciler.dialects.karmada.scheduler.batched_moves import BATCHES, batched_bindings
from reconciler.dialects.karmada.scheduler.reschedule_requests import is_reschedulable
from reconciler.dialects.karmada.settled_bindings import SettledBindings
from reconciler.dialects.karmada.surroundings import Surroundings
from reconciler.dialects.karmada.view.rebalance_target import (
    held_since,
    standing_of,
    target_of,
)
from reconciler.dialects.object_pass import ObjectPass
from reconciler.dialects.read_index import Question
from reconciler.dialects.scores.reports import scores_before
from reconciler.manifests.paths import output_path
from reconciler.model.body import Body
from reconciler.model.decision import Cause, CauseKind, Decision
from reconciler.model.identity import ObjectKey
from reconciler.model.keyed_cache import same
from reconciler.model.settings import Settings
from reconciler.model.world import Manifest, World
from reconciler.rebalance.target import Reference, Target, TargetSelection, selects
from reconciler.schedule.capacity.ledger import Ledger


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
        claims, settled, ledger = self.claims, self.memory.settled, self.ledger
        gone = {*claims.gone, *self.inventory.gone}
        decided = self._pass(triggers, asked, held, gone)
        affected = self._affected()
        needed = needed_bindings(claims, self.world, self.memory.claims, decided.failed)
        looked = {*affected, *(key for key in (*triggers, *asked) if key in claims.drafts)}
        looked |= settled.asking(self.quotas.contended((*looked, *needed)))
        own = sorted(looked - needed.keys())  # the order in which quotas are filled
        bindings = DraftedBindings(
            drafts=claims.drafts,
            settled=settled,
            claims=claims,
            around=self.around,
            quotas=self.quotas,
            ledger=ledger,
            lost=self.inventory.failed,
        )
        decided.run(own if ledger is None else in_turn(own, claims.drafts, ledger), bindings)
        looked_at = set(own)
        if needed:
            standing = partial(_standing, decided.outputs, settled)
            present = partial(_present, self.world)
            attached = attach(claims, needed, standing, present, self.memory.claims)
            decided.run(attached, replace(bindings, drafts=attached))
            gone |= needed.keys() - attached.keys()
            looked_at |= needed.keys()
        settled.end(looked_at, needed)
        files, left = self.quotas.files(self.around.copies, self.around.members.fleet.names)
        decided.outputs |= files
        gone.update(left)
        decided.rest(settled.telling(but=looked_at), settled.until())
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

    def _affected(self) -> Collection[ObjectKey]:
        """Begin with what is settled, and return the bindings that something concerns."""
        return self.memory.settled.begin(
            (self.settings,),
            self.around.members.views,
            self.claims.drafts,
            self.around.copies,
            self.around.now,
            others=[
                *self.quotas.changed(),
                *self.memory.scores.changed(),
                *self._room_changed(),
                *self._batches_changed(),
            ],
        )

    def _batches_changed(self) -> Iterator[Question]:
        """Yield what those ask who are moved in batches, if others are by now."""
        before, self.memory.batched = self.memory.batched, self.around.batched
        if before != self.around.batched:
            yield BATCHES

    def _room_changed(self) -> Iterator[Question]:
        """Yield what those ask who wait for room, if something else is reserved now."""
        found = () if self.ledger is None else self.ledger.found
        before, self.memory.reserved = self.memory.reserved, found
        if not same(before, found):
            yield ROOM


def _standing(
    outputs: Mapping[ObjectKey, Body], settled: SettledBindings, key: ObjectKey
) -> Body | None:
    """Return a binding as it stands by now, `None` if there is none."""
    if key in outputs:
        return outputs[key]
    part = settled.part_of(key)
    return None if part is None else part.outputs.get(key)


def _present(world: World, key: ObjectKey) -> Body | None:
    """Return a binding as the round before left it, `None` if there was none."""
    found = world.outputs.get(key)
    return None if found is None else found.body


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
                silence=settings.silence,
                now=now,
                path_of=partial(output_path, world.output_root),
                clusters_before=admitted.before(apart),
                refusal=quotas.refusal,
                refusal_before=quotas.refusal_before(),
                scores_before=scores_before(world),
                batched=batched_bindings(world),
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
