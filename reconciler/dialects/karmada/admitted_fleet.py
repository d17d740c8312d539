"""The clusters of a repository as a pass finds them, and as they were at the last one."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from reconciler.dialects.cluster_inventory import (
    AdmittedCluster,
    ClusterInventory,
    Earlier,
    take_inventory,
    views_before,
)
from reconciler.dialects.karmada.api.admitted_cluster import admit_cluster, decode_departed
from reconciler.dialects.karmada.api.clusters import MemberCluster, Members, members_of
from reconciler.dialects.karmada.api.groups import CLUSTER
from reconciler.dialects.karmada.detector.detect import Claims
from reconciler.dialects.karmada.memory import KarmadaMemory
from reconciler.dialects.karmada.taints.by_policy import (
    TAINT_POLICY,
    TaintPolicy,
    decode_taint_policy,
)
from reconciler.dialects.object_boundary import Failed, attempt, place_of
from reconciler.model.keyed_cache import CacheKey, same
from reconciler.model.settings import Settings
from reconciler.model.world import Manifest, World

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
        for one in self.world.of_kind(*CLUSTER):
            work = partial(admit, one, self.world.outputs.get(one.key))
            admitted = attempt(work, partial(place_of, one))
            if not isinstance(admitted, Failed):
                found[one.key.name] = admitted.view
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
        spares=not settings.silence.is_written,
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
