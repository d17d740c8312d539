"""KubeFleet's part of a pass: what each round begins with, and which placements may move in it."""

from dataclasses import dataclass, field
from datetime import datetime
from functools import partial

from reconciler.dialects.cluster_inventory import (
    clusters_before,
    take_inventory,
)
from reconciler.dialects.kubefleet import reads
from reconciler.dialects.kubefleet.api.clusters import Member, Members, admit_cluster, members_of
from reconciler.dialects.kubefleet.api.groups import CLUSTER
from reconciler.dialects.kubefleet.eviction.evictions import (
    evictions_in,
)
from reconciler.dialects.kubefleet.fleets import Fleets
from reconciler.dialects.kubefleet.memory import KubeFleetMemory
from reconciler.dialects.kubefleet.overrider.override_table import changed_overrides
from reconciler.dialects.kubefleet.updaterun.update_runs import (
    runs_in,
)
from reconciler.dialects.kubefleet.view.decision_record import (
    unsettled,
)
from reconciler.dialects.scores.reports import scores_before
from reconciler.model.settings import Settings
from reconciler.model.world import WRITES_ASSUMED, World


@dataclass(frozen=True, slots=True)
class KubeFleet:
    """KubeFleet's part of all passes of one repository."""

    memory: KubeFleetMemory = field(default_factory=KubeFleetMemory)

    def prepare(self, world: World, settings: Settings, now: datetime, /) -> Fleets:
        """Gather placements, and tell which of them may move."""
        memory, declared = self.memory, settings.declared_clusters
        touched = memory.followed.follow(world)
        there = memory.followed.there
        memory.selections.follow(world, touched - there.keys())
        copies = memory.copies.follow(world)
        evictions, runs = evictions_in(world), runs_in(world)
        admit = partial(admit_cluster, declared=declared)
        inventory = take_inventory(
            world, CLUSTER, memory.clusters, admit, under=(declared,), fault=unsettled
        )
        scores = memory.scores.follow(world) if settings.extends_scores else None
        fleet_now = memory.members_at(inventory, now, heartbeats=settings.heartbeats)
        members = fleet_now.with_scores(scores)
        overrides = () if world.rules == WRITES_ASSUMED else memory.overrides.of(world)
        changed = {
            *changed_overrides(memory.overrides_before, overrides),
            *map(reads.reports, memory.reported.follow(copies)),
            *reads.changed_clusters(memory.members, members),
            *memory.scores.changed(),
        }
        own = {
            *touched,
            *memory.selections.stale,
            *memory.works.follow(world.feedback),
            *reads.changed_evictions(memory.evictions, evictions),
            *reads.changed_runs(memory.runs, runs),
        }
        memory.evictions, memory.runs, memory.members = evictions, runs, members
        memory.overrides_before = overrides
        if memory.is_otherwise((settings, world.known, world.frozen, inventory.failed)):
            own |= there.keys()
        affected = memory.parts.affected(changed, own, now)
        memory.parts.drop_all(affected - there.keys())

        def fleet(views: list[Member]) -> Members:
            return members_of(views, now, heartbeats=settings.heartbeats).with_scores(scores)

        return Fleets(
            world=world,
            settings=settings,
            now=now,
            inventory=inventory,
            members=members,
            clusters_before=clusters_before(world, CLUSTER, inventory.views, admit, fleet),
            scores_before=None if scores is None else scores_before(world),
            placements=there,
            affected=affected,
            left=memory.followed.left,
            copies=copies,
            evictions=evictions,
            runs=runs,
            overrides=overrides,
            memory=memory,
        )

    def forget(self) -> None:
        """Drop what the last two passes did not ask for."""
        self.memory.forget()
