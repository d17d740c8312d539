"""The clusters of one API, round by round."""

from collections.abc import Mapping
from functools import partial

from reconciler.core.rounds import world_after
from reconciler.dialects.inventory import InventoryCache, take_inventory
from reconciler.dialects.karmada.api.cluster import MemberCluster
from reconciler.dialects.karmada.api.cluster_taints import admit_cluster
from tests.builders import NOW, cluster
from tests.stories import story

CLUSTER = ("cluster.karmada.io", "Cluster")
TAINT: Mapping[str, str] = {"key": "maintenance", "effect": "NoSchedule"}


def test_a_cluster_that_is_drawn_again_to_the_same_is_the_very_same() -> None:
    """Its taint is dated in one round and read in the next: whoever looked at it need not again."""
    world = story(cluster("a", taints=[TAINT]), cluster("b")).world()
    known: InventoryCache[MemberCluster] = InventoryCache()
    admit = partial(admit_cluster, declared=True, failover=False, now=NOW)

    first = take_inventory(world, CLUSTER, known, admit, under=())
    dated = world_after(world, first.records, (), ())
    second = take_inventory(dated, CLUSTER, known, admit, under=())

    assert ["a"] == [key.name for key in first.records]
    assert {} == second.records
    assert all(first.views[name] is view for name, view in second.views.items())
