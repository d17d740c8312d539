"""KubeFleet's part of a pass: each placement by itself, from its snapshots to its status."""

from collections.abc import Container, Mapping
from dataclasses import dataclass
from datetime import datetime

from reconciler.dialects.base import Dialect, Plan, Trigger
from reconciler.dialects.kubefleet.binding import decode_binding, encode_binding
from reconciler.dialects.kubefleet.clusters import Members, decode_member, members_of
from reconciler.dialects.kubefleet.names import (
    BINDING,
    GROUP,
    PARENT,
    PLACEMENT,
    POLICY_SNAPSHOT,
    RESOURCE_SNAPSHOT,
)
from reconciler.dialects.kubefleet.placement import decode_placement
from reconciler.dialects.kubefleet.revision import Owner, labels_of
from reconciler.dialects.kubefleet.select import select_resources
from reconciler.dialects.kubefleet.settle import Present, Settled, selected_targets, settle
from reconciler.dialects.kubefleet.status import placement_file, scheduled_condition
from reconciler.errors import UserError
from reconciler.manifests.admission import admit
from reconciler.manifests.paths import is_frozen, output_path
from reconciler.model.decision import Cause, CauseKind, Decision, Placed
from reconciler.model.fields import bodies, mapping, text
from reconciler.model.identity import ClusterName, ObjectKey, uid_of
from reconciler.model.moments import earliest
from reconciler.model.settings import Settings
from reconciler.model.world import Body, Fault, Manifest, World
from reconciler.rebalance.target import Reference, Target

CLUSTER = ("cluster.kubernetes-fleet.io", "MemberCluster")
OWNED = (BINDING, POLICY_SNAPSHOT, RESOURCE_SNAPSHOT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleets:
    """KubeFleet before it plans: the placements, and what earlier passes left of each."""

    world: World
    settings: Settings
    now: datetime
    placements: Mapping[ObjectKey, Manifest]
    left: Mapping[str, Mapping[ObjectKey, Body]]

    def target(self, _reference: Reference, /) -> Target | None:
        """Return nothing: a placement is not rebalanced by workload."""
        return None

    def plan(self, _triggers: Mapping[ObjectKey, Trigger], _asked: Container[ObjectKey], /) -> Plan:
        """Settle every placement; one that cannot be settled keeps its files and is reported."""
        outputs: dict[ObjectKey, Body] = {}
        decisions: list[Decision] = []
        faults: list[Fault] = []
        untils: list[datetime | None] = []
        members, broken = self._members()
        faults += broken
        for key, manifest in sorted(self.placements.items()):
            try:
                planned = self._settle(key, manifest, members)
            except UserError as error:
                faults.append(_unsettled(manifest, error))
                outputs |= self._kept(key)
                continue
            outputs |= planned.outputs
            decisions += planned.decisions
            untils.append(planned.until)
        decisions += [
            _removed(key, self.left.get(key.name, {}))
            for key in self.world.outputs
            if (key.group, key.kind) == (GROUP, PLACEMENT) and key not in self.placements
        ]
        return Plan(
            outputs=outputs,
            decisions=tuple(sorted(decisions, key=lambda decision: decision.key)),
            faults=tuple(sorted(faults)),
            until=earliest(*untils),
        )

    def _members(self) -> tuple[Members, list[Fault]]:
        """Decode the fleet; a cluster that cannot be decoded is reported and left out."""
        views, faults = [], []
        for key, manifest in sorted(self.world.inputs.items()):
            if (key.group, key.kind) == CLUSTER:
                try:
                    declared = self.settings.declared_clusters
                    views.append(decode_member(manifest.body, declared=declared))
                except (UserError, ValueError) as error:
                    faults.append(_unsettled(manifest, error))
        heartbeats = self.settings.heartbeats
        return members_of(views, self.now, heartbeats=heartbeats), faults

    def _kept(self, key: ObjectKey) -> dict[ObjectKey, Body]:
        """Return the present outputs of a placement."""
        own = self.world.outputs.get(key)
        status = {key: own.body} if own is not None else {}
        return {**self.left.get(key.name, {}), **status}

    def _settle(self, key: ObjectKey, manifest: Manifest, members: Members) -> Plan:
        """Return the part of one placement."""
        if self._is_unreadable(key):
            return Plan(outputs=self._kept(key))
        own = self.world.outputs.get(key)
        record = mapping(own.body, "metadata") if own is not None else None
        status = mapping(own.body, "status") if own is not None else {}
        admitted, metadata = admit(key, mapping(manifest.body, "spec"), record, self.now)
        placement = decode_placement(manifest.body)
        settled = settle(
            placement,
            Owner(key.name, uid_of(key), admitted.generation),
            select_resources(placement.selectors, self.world.inputs, self.world.blobs),
            _present(self.left.get(key.name, {})),
            members,
            self.now,
            assume_after_seconds=self.settings.assume_after_seconds,
        )
        outputs = _outputs(settled)
        outputs[key] = placement_file(metadata, admitted.generation, settled, status, self.now)
        return Plan(
            outputs=outputs,
            decisions=_decisions(key, self.left.get(key.name, {}), settled, members),
            until=settled.until,
        )

    def _is_unreadable(self, key: ObjectKey) -> bool:
        """Tell whether a file that may belong to a placement cannot be read."""
        if is_frozen(self.world, key):
            return True
        stems = (
            output_path(self.world.output_root, ObjectKey(GROUP, kind, "", f"{key.name[:26]}-"))
            for kind in OWNED
        )
        prefixes = tuple(stem.removesuffix(".yaml") for stem in stems)
        return any(path.startswith(prefixes) for path in self.world.frozen)


def prepare(world: World, settings: Settings, now: datetime) -> Fleets:
    """Gather placements, and their outputs by the name of their placement."""
    left: dict[str, dict[ObjectKey, Body]] = {}
    for key, manifest in sorted(world.outputs.items()):
        if key.group == GROUP and key.kind in OWNED:
            owner = labels_of(manifest.body).get(PARENT, "")
            left.setdefault(owner, {})[key] = manifest.body
    return Fleets(
        world=world,
        settings=settings,
        now=now,
        placements={
            key: manifest
            for key, manifest in world.inputs.items()
            if (key.group, key.kind) == (GROUP, PLACEMENT)
            and not mapping(manifest.body, "metadata").get("deletionTimestamp")
        },
        left=left,
    )


def _present(left: Mapping[ObjectKey, Body]) -> Present:
    """Sort what earlier passes left of a placement by kind."""
    bindings = [decode_binding(body) for key, body in left.items() if key.kind == BINDING]
    return Present(
        policies=[body for key, body in left.items() if key.kind == POLICY_SNAPSHOT],
        resources=[body for key, body in left.items() if key.kind == RESOURCE_SNAPSHOT],
        bindings={binding.name: binding for binding in bindings},
    )


def _outputs(settled: Settled) -> dict[ObjectKey, Body]:
    kinds = (
        (POLICY_SNAPSHOT, settled.policies),
        (RESOURCE_SNAPSHOT, settled.resources),
        (BINDING, {name: encode_binding(item) for name, item in settled.bindings.items()}),
    )
    return {
        ObjectKey(GROUP, kind, "", name): body
        for kind, found in kinds
        for name, body in found.items()
    }


def _placed(left: Mapping[ObjectKey, Body]) -> Placed:
    return _as_placed(selected_targets(_present(left).bindings.values()))


def _as_placed(targets: tuple[str, ...]) -> Placed:
    return tuple((ClusterName(name), 0) for name in targets)


def _decisions(
    key: ObjectKey, left: Mapping[ObjectKey, Body], settled: Settled, members: Members
) -> tuple[Decision, ...]:
    """Tell what moved, or why the placement has fewer clusters than it wants."""
    before, after = _placed(left), _as_placed(selected_targets(settled.bindings.values()))
    condition = scheduled_condition(settled)
    problem = text(condition, "message") if condition.get("status") == "False" else ""
    if before == after and not problem:
        return ()
    names = {name for name, _ in before}
    known = {name.name for name in left if name.kind == POLICY_SNAPSHOT}
    if not left:
        kind = CauseKind.CREATED
    elif settled.snapshot.name not in known:
        kind = CauseKind.PLACEMENT_CHANGED
    elif names - set(members.fleet.names):
        kind = CauseKind.CLUSTER_GONE
    else:
        kind = CauseKind.CLUSTERS_CHANGED
    decisions = bodies(settled.snapshot.status, "targetClusters")
    return (
        Decision(
            key=key,
            subject=key.name,
            cause=Cause(kind),
            before=before,
            after=after,
            problem=problem,
            rejected={
                ClusterName(text(item, "clusterName")): text(item, "reason")
                for item in decisions
                if item.get("selected") is not True
            },
        ),
    )


def _removed(key: ObjectKey, left: Mapping[ObjectKey, Body]) -> Decision:
    """Tell that a placement is no more."""
    return Decision(
        key=key,
        subject=key.name,
        cause=Cause(CauseKind.REMOVED),
        before=_placed(left),
        after=(),
        removed=True,
    )


def _unsettled(manifest: Manifest, error: UserError | ValueError) -> Fault:
    """Turn what stopped a placement, or a cluster, into a fault at its file."""
    field = error.field if isinstance(error, UserError) else ""
    message = error.message if isinstance(error, UserError) else str(error)
    return Fault(
        path=manifest.origin.path,
        line=0,
        column=0,
        field=field,
        rule="kubefleet-unexpected",
        message=f"{manifest.key.name} cannot be scheduled: {message}",
        expected="fields that agree with each other, and outputs as the last pass wrote them",
        subject=str(manifest.key),
    )


KUBEFLEET = Dialect(
    name="kubefleet",
    groups=frozenset(("cluster.kubernetes-fleet.io", GROUP)),
    prepare=prepare,
)
