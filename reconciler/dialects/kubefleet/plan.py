"""KubeFleet's part of a pass: each placement by itself, from its snapshots to its status."""

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial

from reconciler.dialects.contract import Plan, RescheduleTrigger
from reconciler.dialects.kubefleet.api.clusters import Members, decode_member, members_of
from reconciler.dialects.kubefleet.api.immutable_fields import policy_in_force, refuse_change
from reconciler.dialects.kubefleet.api.names import (
    BINDING,
    GROUP,
    PLACEMENT,
    POLICY_SNAPSHOT,
    RESOURCE_SNAPSHOT,
)
from reconciler.dialects.kubefleet.api.placement import Placement, decode_placement
from reconciler.dialects.kubefleet.drift_repair import WantedFiles, owner_of, repair_drift
from reconciler.dialects.kubefleet.memory import KubeFleetMemory
from reconciler.dialects.kubefleet.placement_cycle import converge
from reconciler.dialects.kubefleet.rollout.availability_reports import (
    AvailabilityReports,
    keys_of,
    reports_on,
)
from reconciler.dialects.kubefleet.snapshots.resource_selection import SelectedResources as Selected
from reconciler.dialects.kubefleet.snapshots.resource_selection import select_resources
from reconciler.dialects.kubefleet.snapshots.revision import Owner
from reconciler.dialects.kubefleet.view.binding_rendering import targets_in
from reconciler.dialects.kubefleet.view.decision_record import (
    decisions_on,
    known_problem,
    record_removal,
    unsettled,
)
from reconciler.dialects.kubefleet.view.explanation import asked_of, explain, explain_failure
from reconciler.dialects.kubefleet.view.files import files_of
from reconciler.dialects.kubefleet.view.status import placement_file
from reconciler.dialects.object_pass import Failed, attempt, place_of, traces_of
from reconciler.manifests.admission import admit
from reconciler.manifests.paths import is_frozen, output_path
from reconciler.manifests.suspension import SUSPEND, is_suspended
from reconciler.model.decision import Decision
from reconciler.model.explanation import Explain
from reconciler.model.fields import mapping
from reconciler.model.identity import ObjectKey, group_of, uid_of
from reconciler.model.keyed_cache import UnchangedUntil
from reconciler.model.labels import labels_of
from reconciler.model.moments import earliest
from reconciler.model.settings import Settings
from reconciler.model.stamps import keep_present
from reconciler.model.world import Body, Manifest, World
from reconciler.rebalance.target import Reference, Target, TargetSelection, selects

CLUSTER = ("cluster.kubernetes-fleet.io", "MemberCluster")
OWNED = (BINDING, POLICY_SNAPSHOT, RESOURCE_SNAPSHOT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleets:
    """KubeFleet before it plans: the placements, and what earlier passes left of each.

    `waiting` are the objects that are faulty or held, by key.
    """

    world: World
    settings: Settings
    now: datetime
    placements: Mapping[ObjectKey, Manifest]
    left: Mapping[str, Mapping[ObjectKey, Body]]
    waiting: frozenset[str]
    memory: KubeFleetMemory

    def target(self, reference: Reference, /) -> Target | None:
        """Return the placement that a rebalancer refers to."""
        named = (group_of(reference.api_version), reference.kind)
        if named != (GROUP, PLACEMENT) or reference.namespace:
            return None
        key = ObjectKey(GROUP, PLACEMENT, "", reference.name)
        waiting = str(key) in self.waiting or bool(self._idle(key))
        return Target(key, waiting=waiting) if waiting or key in self.placements else None

    def select(self, selection: TargetSelection, /) -> Iterable[Reference]:
        """Yield the placements that a description means; Karmada's policies claim none."""
        if selection.policy is not None:
            return
        for key, manifest in sorted(self.placements.items()):
            reference = Reference(str(manifest.body["apiVersion"]), PLACEMENT, "", key.name)
            if selects(selection, reference, labels_of(manifest.body)):
                yield reference

    def plan(
        self, triggers: Mapping[ObjectKey, RescheduleTrigger], asked: Container[ObjectKey], /
    ) -> Plan:
        """Settle every placement; one that cannot be converged keeps its files and is reported."""
        outputs: dict[ObjectKey, Body] = {}
        explanations: dict[ObjectKey, Explain] = {}
        decisions: list[Decision] = []
        edited: list[ObjectKey] = []
        rescheduled: set[ObjectKey] = set()
        untils: list[datetime | None] = []
        members, lost = self._members()
        failed = list(lost.values())
        for key, manifest in sorted(self.placements.items()):
            if lost and not targets_in(self.left.get(key.name, {})).isdisjoint(lost):
                outputs |= self._kept(key)
                continue
            work = partial(self._decide, key, manifest, members, triggers.get(key), asked)
            planned = attempt(work, place_of(manifest), partial(unsettled, manifest))
            if isinstance(planned, Failed):
                failed.append(planned)
                outputs |= self._kept(key)
                told = partial(explain_failure, key, planned.message)
                explanations |= dict.fromkeys(self._asked_about(key, asked), told)
                continue
            outputs |= planned.outputs
            names = {*self._asked_about(key, asked), *(k for k in planned.outputs if k in asked)}
            if names:
                explanations |= dict.fromkeys(sorted(names), planned.explanations[key])
            decisions += planned.decisions
            edited += planned.edited
            rescheduled |= planned.rescheduled
            untils.append(planned.until)
        decisions += [
            record_removal(key, self.left.get(key.name, {}))
            for key in self.world.outputs
            if key.kind == PLACEMENT and key.group == GROUP and key not in self.placements
        ]
        return Plan(
            outputs=outputs,
            decisions=tuple(sorted(decisions, key=lambda decision: decision.key)),
            edited=tuple(sorted(edited)),
            faults=tuple(sorted(one.fault for one in failed)),
            traces=traces_of(failed),
            rescheduled=frozenset(rescheduled),
            until=earliest(*untils),
            explanations=explanations,
        )

    def _asked_about(self, key: ObjectKey, asked: Container[ObjectKey]) -> list[ObjectKey]:
        """Return which files of a placement somebody asks about."""
        return [name for name in (key, *self.left.get(key.name, {})) if name in asked]

    def _members(self) -> tuple[Members, Mapping[str, Failed]]:
        """Decode the fleet; a cluster that cannot be decoded is reported and left out."""
        views, lost = [], {}
        declared = self.settings.declared_clusters
        for manifest in self.world.of_kind(*CLUSTER):
            key, body = manifest.key, manifest.body
            decode = partial(decode_member, body, declared=declared)
            recall = partial(self.memory.views.recall, key, (body, declared), decode)
            view = attempt(recall, place_of(manifest), partial(unsettled, manifest))
            if isinstance(view, Failed):
                lost[key.name] = view
            else:
                views.append(view)
        return members_of(views, self.now, heartbeats=self.settings.heartbeats), lost

    def _kept(self, key: ObjectKey) -> dict[ObjectKey, Body]:
        """Return the present outputs of a placement."""
        own = self.world.outputs.get(key)
        status = {key: own.body} if own is not None else {}
        return {**self.left.get(key.name, {}), **status}

    def _decide(
        self,
        key: ObjectKey,
        manifest: Manifest,
        members: Members,
        trigger: RescheduleTrigger | None,
        asked: Container[ObjectKey],
    ) -> Plan:
        """Return the part of one placement, from memory if it would be left as it is."""
        kept = self._kept(key)
        if idle := self._idle(key):
            told = partial(explain_failure, key, idle)
            return Plan(outputs=kept, explanations={key: told})
        placement = decode_placement(manifest.body)
        selection = self._selection(manifest, placement)
        fleet = self.memory.fleet.recall(None, members.views, lambda: members.views)
        reports = reports_on(keys_of(selection.resources), self.world.feedback)
        cache_key = (manifest.body, fleet, self.settings, selection, *reports, *kept.values())
        fresh = trigger is not None or self._asked_about(key, asked)
        rest = None if fresh else self.memory.rests.find(key, cache_key)
        if rest is not None and rest[0].holds(self.now):
            return rest[1]
        drawn = self._draw(manifest, placement, selection, members, trigger)
        found = {name: keep_present(body, kept.get(name)) for name, body in drawn.outputs.items()}
        plan = replace(drawn, outputs=found)
        still = found.keys() == kept.keys() and all(found[k] is body for k, body in kept.items())
        if still and trigger is None and not plan.decisions and not plan.edited:
            rested = (UnchangedUntil(self.now, plan.until), replace(plan, explanations={}))
            self.memory.rests.keep(key, cache_key, rested)
        return plan

    def _selection(self, manifest: Manifest, placement: Placement) -> Selected:
        """Return what a placement selects, the same as before if nothing of it differs."""
        known, world = self.memory.selections, self.world
        cache_key = (manifest.body, world.inputs, world.blobs)
        found = known.find(manifest.key, cache_key)
        if found is None:
            before = known.latest(manifest.key)
            drawn = select_resources(
                placement.selectors, world.inputs, world.blobs, world.known.groups
            )
            found = known.keep(manifest.key, cache_key, before if before == drawn else drawn)
        return found

    def _draw(
        self,
        manifest: Manifest,
        placement: Placement,
        selection: Selected,
        members: Members,
        trigger: RescheduleTrigger | None,
    ) -> Plan:
        """Settle one placement."""
        key = manifest.key
        left = self.left.get(key.name, {})
        own = self.world.outputs.get(key)
        record = None if own is None else mapping(own.body, "metadata")
        status = {} if own is None else mapping(own.body, "status")
        admitted, metadata = admit(key, mapping(manifest.body, "spec"), record, self.now)
        owner = Owner(key.name, uid_of(key), admitted.generation)
        repaired = repair_drift(
            owner, left, WantedFiles(policy=placement.policy, selection=selection)
        )
        if repaired.present.policies:
            refuse_change(policy_in_force(repaired.present.policies), placement.policy)
        reports = AvailabilityReports(
            resources=keys_of(selection.resources),
            feedback=self.world.feedback,
            assume_after_seconds=self.settings.assume_after_seconds,
        )
        rebalanced, present, now = trigger is not None, repaired.present, self.now
        converged = converge(
            placement, owner, selection, present, members, now, reports, rebalanced=rebalanced
        )
        outputs = files_of(converged, now)
        outputs[key] = placement_file(placement, metadata, owner.generation, converged, status, now)
        problem, edited = known_problem(status), bool(repaired.edited)
        return Plan(
            outputs=outputs,
            decisions=decisions_on(
                key, left, converged, members, trigger, known_problem=problem, edited=edited
            ),
            edited=tuple(ObjectKey(GROUP, BINDING, "", name) for name in repaired.edited),
            rescheduled=frozenset((key,) if rebalanced else ()),
            until=converged.until,
            explanations={key: partial(explain, asked_of(key, converged, members, self.now))},
        )

    def _idle(self, key: ObjectKey) -> str:
        """Return why a placement stays as it is whatever happens, `""` if it does not."""
        if self._is_unreadable(key):
            return "what stands in its outputs cannot be read"
        manifest = self.placements.get(key)
        suspended = manifest is not None and is_suspended(manifest.body)
        return f"{SUSPEND} is true" if suspended else ""

    def _is_unreadable(self, key: ObjectKey) -> bool:
        """Return whether a file that may belong to a placement cannot be read."""
        if not self.world.frozen or is_frozen(self.world, key):
            return bool(self.world.frozen)
        stems = (
            output_path(self.world.output_root, ObjectKey(GROUP, kind, "", f"{key.name[:26]}-"))
            for kind in OWNED
        )
        prefixes = tuple(stem.removesuffix(".yaml") for stem in stems)
        frozen = self.world.frozen
        return any(path.startswith(prefixes) for path in frozen.paths) or any(
            map(frozen.may_hold, prefixes)
        )


@dataclass(frozen=True, slots=True)
class KubeFleet:
    """KubeFleet's part of all passes of one repository."""

    memory: KubeFleetMemory = field(default_factory=KubeFleetMemory)

    def prepare(self, world: World, settings: Settings, now: datetime, /) -> Fleets:
        """Gather placements, and their outputs by the name of their placement."""
        left: dict[str, dict[ObjectKey, Body]] = {}
        owned = [key for key in world.outputs if key.group == GROUP and key.kind in OWNED]
        for key in sorted(owned):
            body = world.outputs[key].body
            name = self.memory.owners.recall(key, (body,), partial(owner_of, key, body))
            left.setdefault(name, {})[key] = body
        held = {str(key) for entry in world.held for key in entry.keys}
        return Fleets(
            world=world,
            settings=settings,
            now=now,
            placements={
                manifest.key: manifest
                for manifest in world.of_kind(GROUP, PLACEMENT)
                if not mapping(manifest.body, "metadata").get("deletionTimestamp")
            },
            left=left,
            waiting=frozenset(held | {fault.subject for fault in world.faults}),
            memory=self.memory,
        )

    def forget(self) -> None:
        """Drop what the last two passes did not ask for."""
        self.memory.forget()
