"""Karmada's part of a pass: policies claim workloads, then each binding is decided."""

from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial

from reconciler.dialects.contract import Plan, RescheduleTrigger
from reconciler.dialects.karmada.api.cluster_inventory import Inventory, departed, take_inventory
from reconciler.dialects.karmada.api.cluster_reports import reports_of
from reconciler.dialects.karmada.api.clusters import Members, decode_cluster, members_of
from reconciler.dialects.karmada.api.settings import decode_failover, may_preempt
from reconciler.dialects.karmada.decide import (
    DecidedBinding,
    Surroundings,
    decide,
)
from reconciler.dialects.karmada.detector.attached_bindings import attach, needed_bindings
from reconciler.dialects.karmada.detector.binding_draft import (
    BINDING,
    CLUSTER_BINDING,
    GROUP,
    Draft,
    binding_name,
    named_by,
)
from reconciler.dialects.karmada.detector.detect import Claims, claim_workloads
from reconciler.dialects.karmada.memory import KarmadaMemory
from reconciler.dialects.karmada.view.binding_rendering import placed
from reconciler.dialects.karmada.view.rebalance_target import target_of
from reconciler.dialects.object_pass import Failed, FaultPlace, attempt, traces_of
from reconciler.errors import UserError
from reconciler.manifests.paths import is_frozen, output_path
from reconciler.model.decision import Cause, CauseKind, Decision
from reconciler.model.fields import mapping, text
from reconciler.model.identity import ObjectKey, group_of
from reconciler.model.keyed_cache import CacheKey, UnchangedUntil, same
from reconciler.model.moments import earliest
from reconciler.model.settings import Settings
from reconciler.model.stamps import keep_present
from reconciler.model.world import Body, Fault, Manifest, World
from reconciler.rebalance.target import Reference, Target, TargetSelection, selects


@dataclass(frozen=True, slots=True, kw_only=True)
class Bindings:
    """Karmada before triggers: the fleet, and every binding as it is wanted."""

    world: World
    inventory: Inventory
    claims: Claims
    around: Surroundings
    settings: Settings
    memory: KarmadaMemory
    lost: Mapping[str, Failed]
    """The clusters that cannot be decoded, by name: what is on one of them stays as it is."""

    def target(self, reference: Reference, /) -> Target | None:
        """Return the binding that a rebalancer refers to by its workload.

        Source: karmada@f8fdd02 pkg/controllers/workloadrebalancer/workloadrebalancer_controller.go
        `triggerReschedule`: kind, namespace and name decide, the API version does not.
        """
        namespace = reference.namespace
        kind = BINDING if namespace else CLUSTER_BINDING
        key = ObjectKey(GROUP, kind, namespace, binding_name(reference.kind, reference.name))
        group = group_of(reference.api_version)
        workload = ObjectKey(group, reference.kind, namespace, reference.name)
        held = str(workload) in self.claims.waiting or key in self.claims.kept
        waiting = held or is_frozen(self.world, key)
        draft = self.claims.drafts.get(key)
        if draft is None:
            return Target(key, waiting=True) if waiting else None
        waits = waiting or self._is_lost(draft)
        return Target(key, waiting=True) if waits else target_of(draft, self.around)

    def select(self, selection: TargetSelection, /) -> Iterable[Reference]:
        """Yield the claimed workloads that a description means."""
        for draft in self.claims.drafts.values():
            policy = None if draft.policy is None else draft.policy.key
            if policy is None or selection.policy not in (None, policy):
                continue
            reference = Reference(
                text(draft.resource, "apiVersion"),
                text(draft.resource, "kind"),
                text(draft.resource, "namespace"),
                text(draft.resource, "name"),
            )
            if selects(selection, reference, draft.workload_labels):
                yield reference

    def plan(
        self, triggers: Mapping[ObjectKey, RescheduleTrigger], asked: Container[ObjectKey], /
    ) -> Plan:
        """Decide every binding; one that cannot be decided keeps its file and is reported."""
        told = _Told(outputs={**self.inventory.records, **self.claims.kept})
        told.failed += [*self.lost.values(), *self.claims.failed]
        needed = needed_bindings(self.claims, self.world, self.memory, told.failed)
        own = {key: d for key, d in self.claims.drafts.items() if key not in needed}
        self._decide(own, triggers, asked, told)
        if needed:
            attached = attach(self.claims, needed, told.outputs, self.memory)
            self._decide(attached, triggers, asked, told)
        self.memory.rests.trim(told.outputs)
        decided = told.decided.values()
        decisions = [item.decision for item in decided if item.decision is not None]
        decisions += [_removed(key, manifest) for key, manifest in self.claims.gone.items()]
        return Plan(
            outputs=told.outputs,
            decisions=tuple(sorted(decisions, key=lambda decision: decision.key)),
            edited=tuple(sorted(key for key, item in told.decided.items() if item.edited)),
            faults=tuple(sorted((*self.claims.faults, *(one.fault for one in told.failed)))),
            traces=traces_of(told.failed),
            rescheduled=frozenset(key for key, item in told.decided.items() if item.rescheduled),
            until=earliest(*told.untils),
            explanations={key: item.explain for key, item in told.decided.items() if key in asked},
        )

    def _decide(
        self,
        drafts: Mapping[ObjectKey, Draft],
        triggers: Mapping[ObjectKey, RescheduleTrigger],
        asked: Container[ObjectKey],
        told: "_Told",
    ) -> None:
        """Decide bindings, but for the unchanged ones that are not asked about."""
        marks, now = self._marks(), self.around.now
        rests = self.memory.rests.under(self.around.members, self.settings)
        for key, draft in drafts.items():
            demand = triggers.get(key)
            known = rests.get(key) if demand is None and key not in asked else None
            seen = marks(draft) if marks else ()
            if known is not None and known[0] is draft and draft.present:
                rest = known[2]
                if rest.holds(now) and same(known[1], seen):
                    told.outputs[key] = draft.present
                    told.untils.append(rest.until)
                    continue
            if self._is_lost(draft):
                told.keep(draft)
                continue
            place = FaultPlace(output_path(self.world.output_root, key), str(key))
            refused = partial(_undecided, draft, place)
            found = attempt(partial(decide, draft, demand, self.around), place, refused)
            if isinstance(found, Failed):
                told.failed.append(found)
                told.keep(draft)
                continue
            body = told.take(key, draft, found)
            if demand is None and found.decision is None and body is draft.present:
                rests[key] = (draft, seen, UnchangedUntil(now, found.until))

    def _is_lost(self, draft: Draft) -> bool:
        """Return whether a binding names a cluster that cannot be decoded."""
        return bool(self.lost) and not self.lost.keys().isdisjoint(named_by(draft))

    def _marks(self) -> Callable[[Draft], CacheKey] | None:
        """Return what marks the reports of a binding's workload, `None` if there are no reports."""
        marks: dict[ObjectKey, list[object]] = defaultdict(list)
        for key in sorted(self.world.feedback):
            body = self.world.feedback[key].body
            mark = self.memory.reports.recall(key, (body,), object)
            marks[key._replace(reporter="")].append(mark)
        if not marks:
            return None
        return lambda draft: tuple(marks.get(reports_of(draft.spec, {}).workload, ()))


@dataclass(slots=True, kw_only=True)
class _Told:
    """What a round decided so far, binding by binding."""

    outputs: dict[ObjectKey, Body]
    decided: dict[ObjectKey, DecidedBinding] = field(default_factory=dict)
    failed: list[Failed] = field(default_factory=list)
    untils: list[datetime | None] = field(default_factory=list)

    def take(self, key: ObjectKey, draft: Draft, found: DecidedBinding) -> Body:
        """Take what was decided, and return the file, the present one if it stays."""
        self.decided[key] = found
        self.untils.append(found.until)
        self.outputs[key] = keep_present(found.body, draft.present)
        return self.outputs[key]

    def keep(self, draft: Draft) -> None:
        """Leave a binding as it is."""
        if draft.present is not None:
            self.outputs[draft.key] = draft.present


@dataclass(frozen=True, slots=True)
class Karmada:
    """Karmada's part of all passes of one repository."""

    memory: KarmadaMemory = field(default_factory=KarmadaMemory)

    def prepare(self, world: World, settings: Settings, now: datetime, /) -> Bindings:
        """Let policies claim workloads, and draft the bindings."""
        failover = decode_failover(settings)
        inventory = take_inventory(world, self.memory, failover=failover.enabled, now=now)
        claims = claim_workloads(world, self.memory, preempting=may_preempt(settings))
        members, lost = _fleet(inventory, claims, self.memory, declared=settings.declared_clusters)
        return Bindings(
            world=world,
            inventory=inventory,
            claims=claims,
            around=Surroundings(
                members=members,
                failover=failover,
                feedback=world.feedback,
                assume_after_seconds=settings.assume_after_seconds,
                now=now,
            ),
            settings=settings,
            memory=self.memory,
            lost=lost,
        )

    def forget(self) -> None:
        """Drop what the last two passes did not ask for."""
        self.memory.forget()


def _fleet(
    inventory: Inventory, claims: Claims, memory: KarmadaMemory, *, declared: bool
) -> tuple[Members, Mapping[str, Failed]]:
    """Decode the fleet; a cluster without a file counts as leaving while a binding names it.

    Returns:
        The fleet, and the clusters that are left out since they cannot be decoded, by name.
    """
    lost = dict(inventory.failed)
    views = []
    for name, body in inventory.clusters.items():
        decode = partial(decode_cluster, body, declared=declared)
        recall = partial(memory.views.recall, name, (body, declared), decode)
        view = attempt(recall, inventory.places[name])
        if isinstance(view, Failed):
            lost[name] = view
        else:
            views.append(view)
    for name in sorted(claims.named - inventory.clusters.keys() - lost.keys()):
        decode = partial(decode_cluster, departed(name), declared=declared)
        views.append(memory.views.recall(name, (declared,), decode))
    return memory.fleet.recall(None, tuple(views), partial(members_of, views)), lost


def _undecided(draft: Draft, place: FaultPlace, error: UserError) -> Fault:
    """Turn what a decoder found into a fault at the binding's file."""
    return Fault(
        path=place.path,
        line=0,
        column=0,
        field=error.field,
        rule="binding-unreadable",
        message=f"the binding of {draft.subject} cannot be decided: {error.message}",
        expected="the file as the last pass wrote it (git checkout), or no file",
        subject=place.subject,
    )


def _removed(key: ObjectKey, manifest: Manifest) -> Decision:
    """Return the decision on a binding whose workload is gone."""
    resource = mapping(mapping(manifest.body, "spec"), "resource")
    name = text(resource, "name")
    return Decision(
        key=key,
        subject=f"{key.namespace}/{name}" if key.namespace else name,
        cause=Cause(CauseKind.REMOVED),
        before=placed(mapping(manifest.body, "spec")),
        after=(),
        removed=True,
    )
