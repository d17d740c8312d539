"""OCM's part of a pass: each placement is decided in turn, and sees those before it."""

from collections.abc import Collection, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial

from reconciler.dialects.contract import Plan, RescheduleTrigger
from reconciler.dialects.object_pass import Failed, attempt, place_of, traces_of
from reconciler.dialects.ocm.api.hub import HubInventory, take_inventory
from reconciler.dialects.ocm.api.placement import GROUP
from reconciler.dialects.ocm.api.settings import decode_resync
from reconciler.dialects.ocm.decide import PlacementOutcome, Surroundings, decide, keep
from reconciler.dialects.ocm.decisions.placement_decisions import DecisionsSoFar, decided_by
from reconciler.dialects.ocm.decisions.placement_draft import Draft, draft_of, is_left_alone
from reconciler.dialects.ocm.decisions.placement_record import decisions_in
from reconciler.dialects.ocm.memory import OcmMemory
from reconciler.dialects.ocm.scheduler.weights import is_balanced
from reconciler.dialects.ocm.view.decision_record import placed, undecided
from reconciler.dialects.ocm.view.explanation import explain
from reconciler.model.decision import Cause, CauseKind, Decision
from reconciler.model.explanation import Explain
from reconciler.model.identity import ObjectKey, group_of
from reconciler.model.keyed_cache import UnchangedUntil
from reconciler.model.labels import labels_of
from reconciler.model.moments import earliest
from reconciler.model.settings import Settings
from reconciler.model.stamps import keep_present
from reconciler.model.world import Body, Manifest, World
from reconciler.rebalance.target import Reference, Target, TargetSelection, selects

KIND = "Placement"


@dataclass(frozen=True, slots=True, kw_only=True)
class Placements:
    """OCM before it decides: the hub, and every placement with its files so far."""

    world: World
    settings: Settings
    now: datetime
    inventory: HubInventory
    drafts: Mapping[ObjectKey, Draft]
    memory: OcmMemory
    failed: Mapping[ObjectKey, Failed]
    """The placements that cannot be decoded, by key; their files stay."""

    def target(self, reference: Reference, /) -> Target | None:
        """Return the placement that a rebalancer refers to, in whichever version.

        One that is faulty, held, frozen, being deleted or switched off waits.
        """
        if (group_of(reference.api_version), reference.kind) != (GROUP, KIND):
            return None
        key = ObjectKey(GROUP, KIND, reference.namespace, reference.name)
        faulty = str(key) in _faulty(self.world)
        draft = self.drafts.get(key)
        if draft is None:
            return Target(key, waiting=True) if faulty or key in self.failed else None
        idle = draft.placement.deleting or bool(draft.placement.disabled)
        return Target(key, waiting=faulty or draft.frozen or idle)

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
        self, triggers: Mapping[ObjectKey, RescheduleTrigger], asked: Container[ObjectKey], /
    ) -> Plan:
        """Decide every placement, in order of namespace and name, as upstream's one worker does.

        Balance counts the decisions of those before it as they are now, of those after it as they
        were. One that cannot be decided keeps its files and is reported. A trigger is the key of a
        placement; it is explained under that key, and under those of its decisions.
        """
        resync = decode_resync(self.settings)
        around = Surroundings(hub=self.inventory.hub, resync=resync, now=self.now)
        owners = [(key.namespace, key.name) for key in self.drafts]
        known = decisions_in(self.world.outputs, owners, self.memory.decisions).values()
        standing = self.memory.standing.recall(None, tuple(known), partial(decided_by, known))
        outcomes: dict[ObjectKey, PlacementOutcome] = {}
        lost = self.inventory.failed
        failed = [*lost.values(), *self.failed.values()]
        for key, draft in self.drafts.items():
            own = standing.own(draft.placement)
            if draft.frozen:
                outcomes[key] = keep(draft, own, "one of its files cannot be read")
                continue
            if lost and any(name in lost for item in own for name in item.clusters):
                outcomes[key] = keep(draft, own, "one of its clusters cannot be read")
                continue
            demand = triggers.get(key)
            cache_key = (draft, self.inventory.hub, self.settings, *self._others(draft, standing))
            fresh = demand is not None or any(name in asked for name in (key, *draft.decisions))
            rest = None if fresh else self.memory.rests.find(key, cache_key)
            if rest is not None and rest[0].holds(self.now):
                outcomes[key] = rest[1]
                continue
            work = partial(self._decided, draft, demand, standing, around)
            refused = partial(undecided, draft.manifest)
            outcome = attempt(work, place_of(draft.manifest), refused)
            if isinstance(outcome, Failed):
                failed.append(outcome)
                outcome = keep(draft, own, outcome.message)
            elif demand is None and _is_unchanged(draft, outcome):
                rested = (UnchangedUntil(self.now, outcome.until), replace(outcome, verdict=None))
                self.memory.rests.keep(key, cache_key, rested)
            outcomes[key] = outcome
            if outcome.objects != own:
                standing = standing.replaced(draft.placement, outcome.objects)
        return self._told(outcomes, failed, triggers, asked)

    def _decided(
        self,
        draft: Draft,
        demand: RescheduleTrigger | None,
        standing: DecisionsSoFar,
        around: Surroundings,
    ) -> PlacementOutcome:
        """Decide one placement, with the present files in place of those that say the same."""
        return self._with_present(decide(draft, demand, standing, around))

    def _told(
        self,
        outcomes: Mapping[ObjectKey, PlacementOutcome],
        failed: Collection[Failed],
        triggers: Mapping[ObjectKey, RescheduleTrigger],
        asked: Container[ObjectKey],
    ) -> Plan:
        """Return the plan that the outcomes of all placements make."""
        outputs: dict[ObjectKey, Body] = dict(self.inventory.records)
        for key in self.failed:
            outputs |= self._left(key)
        for outcome in outcomes.values():
            outputs |= outcome.bodies
        decisions = [item.decision for item in outcomes.values() if item.decision is not None]
        decisions += self._removed()
        return Plan(
            outputs=outputs,
            decisions=tuple(sorted(decisions, key=lambda decision: decision.key)),
            edited=tuple(sorted(key for item in outcomes.values() for key in item.edited)),
            faults=tuple(
                sorted(
                    (
                        *(one.fault for one in failed),
                        *(fault for item in outcomes.values() for fault in item.faults),
                    )
                )
            ),
            rescheduled=frozenset(
                key for key in triggers if key in outcomes and outcomes[key].verdict is not None
            ),
            traces=traces_of(failed),
            until=earliest(*(item.until for item in outcomes.values())),
            explanations=dict(self._explained(outcomes, triggers, asked)),
        )

    def _left(self, key: ObjectKey) -> dict[ObjectKey, Body]:
        """Return the files of a placement as they are."""
        outputs = self.world.outputs
        found = decisions_in(outputs, [(key.namespace, key.name)], self.memory.decisions)
        own = [k for k, item in found.items() if item.owner == (key.namespace, key.name)]
        return {name: outputs[name].body for name in (*own, key) if name in outputs}

    def _others(self, draft: Draft, standing: DecisionsSoFar) -> tuple[object, ...]:
        """Return the decisions of all if a placement looks at those of others, else nothing."""
        placement = draft.placement
        counts = self.memory.balanced.recall(
            draft.manifest.key, (placement,), partial(is_balanced, placement)
        )
        return (standing,) if counts else ()

    def _with_present(self, outcome: PlacementOutcome) -> PlacementOutcome:
        """Return an outcome with the present files in place of those that say the same."""
        bodies = {
            key: keep_present(body, output.body)
            if (output := self.world.outputs.get(key)) is not None
            else body
            for key, body in outcome.bodies.items()
        }
        return replace(outcome, bodies=bodies)

    def _explained(
        self,
        outcomes: Mapping[ObjectKey, PlacementOutcome],
        triggers: Mapping[ObjectKey, RescheduleTrigger],
        asked: Container[ObjectKey],
    ) -> Iterator[tuple[ObjectKey, Explain]]:
        """Yield what explains each placement that was asked about, by any of its files."""
        members = self.inventory.hub.members
        for owner, outcome in outcomes.items():
            draft = self.drafts[owner]
            account = partial(explain, draft, outcome, triggers.get(owner), members, self.now)
            keys = (key for key in {owner, *draft.decisions, *outcome.bodies} if key in asked)
            yield from ((key, account) for key in sorted(keys))

    def _removed(self) -> list[Decision]:
        """Return the decisions on placements whose manifest is gone; their files go with them."""
        gone = [
            key
            for key in sorted(k for k in self.world.outputs if k.kind == KIND)
            if key.group == GROUP and key not in self.drafts and key not in self.failed
        ]
        if not gone:
            return []
        owners = [(key.namespace, key.name) for key in gone]
        found = decisions_in(self.world.outputs, owners, self.memory.decisions)
        return [
            Decision(
                key=key,
                subject=f"{key.namespace}/{key.name}",
                cause=Cause(CauseKind.REMOVED),
                before=placed(
                    tuple(o for o in found.values() if o.owner == (key.namespace, key.name))
                ),
                after=(),
                removed=True,
            )
            for key in gone
        ]


@dataclass(frozen=True, slots=True)
class Ocm:
    """OCM's part of all passes of one repository."""

    memory: OcmMemory = field(default_factory=OcmMemory)

    def prepare(self, world: World, settings: Settings, now: datetime, /) -> Placements:
        """Take the inventory, and gather each placement's files."""
        memory = self.memory
        manifests = world.of_kind(GROUP, KIND)
        owners = [(manifest.key.namespace, manifest.key.name) for manifest in manifests]
        files: dict[tuple[str, str], dict[ObjectKey, Body]] = {}
        for key, item in decisions_in(world.outputs, owners, memory.decisions).items():
            if item.owner is not None:
                files.setdefault(item.owner, {})[key] = world.outputs[key].body
        drafts: dict[ObjectKey, Draft] = {}
        failed: dict[ObjectKey, Failed] = {}
        for manifest, owner in zip(manifests, owners, strict=True):
            draw = partial(_remembered_draft, manifest, world, files.get(owner, {}), memory)
            draft = attempt(draw, place_of(manifest))
            if isinstance(draft, Failed):
                failed[manifest.key] = draft
            else:
                drafts[manifest.key] = draft
        return Placements(
            world=world,
            settings=settings,
            now=now,
            inventory=take_inventory(world, memory, declared=settings.declared_clusters, now=now),
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


def _is_unchanged(draft: Draft, outcome: PlacementOutcome) -> bool:
    """Return whether a placement is left exactly as it is, with nothing to be told."""
    present = dict(draft.decisions)
    if draft.status_file is not None:
        present[draft.manifest.key] = draft.status_file
    return (
        outcome.decision is None
        and not outcome.edited
        and outcome.bodies.keys() == present.keys()
        and all(outcome.bodies[key] is body for key, body in present.items())
    )


def _faulty(world: World) -> frozenset[str]:
    """Return the objects that are not as they stand in their files, as texts of their keys."""
    held = {str(key) for item in world.held for key in item.keys}
    return frozenset(held | {fault.subject for fault in world.faults})
