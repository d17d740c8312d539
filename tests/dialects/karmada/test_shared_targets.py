"""Entries of duplicated results are shared, whatever clusters were asked for before."""

from collections.abc import Iterable

from reconciler.dialects.karmada.api.cluster import TargetCluster, decode_cluster, members_of
from reconciler.dialects.karmada.scheduler.divide import Division, DivisionStrategy
from reconciler.dialects.karmada.scheduler.schedule import targets_of
from reconciler.schedule.framework import mask_of
from tests.fleet_inputs import cluster

MEMBERS = members_of(decode_cluster(cluster(number)) for number in range(4))


def targets(*positions: int, replicas: int) -> tuple[TargetCluster, ...]:
    """The result of a division that gives all of these clusters the same."""
    shares = [(position, replicas) for position in positions]
    division = Division(DivisionStrategy.DUPLICATED, shares, each=replicas)
    return targets_of(division, MEMBERS, mask_of(positions))


def named(positions: Iterable[int], replicas: int) -> tuple[TargetCluster, ...]:
    """The entries made one by one."""
    return tuple(TargetCluster(MEMBERS.fleet.names[position], replicas) for position in positions)


def test_clusters_asked_for_later_are_added() -> None:
    """A second placement has other clusters and the same number of replicas."""
    found = [*targets(2, 0, replicas=3), *targets(3, 2, 1, replicas=3), *targets(3, replicas=5)]

    assert [*named((2, 0, 3, 2, 1), 3), *named((3,), 5)] == found


def test_two_results_hold_the_same_entry() -> None:
    """Thousands of bindings hold one entry a cluster and number of replicas."""
    (first,), (_, second) = targets(1, replicas=7), targets(2, 1, replicas=7)

    assert first is second
