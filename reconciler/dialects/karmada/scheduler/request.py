"""The question that one scheduling attempt asks, decoded once for filters, ranking and division."""

from typing import NamedTuple

from reconciler.dialects.karmada.api.binding import Binding
from reconciler.dialects.karmada.api.clusters import Members
from reconciler.dialects.karmada.api.placement import AffinityTerm, ClusterAffinity, Placement
from reconciler.dialects.karmada.protected_room import BindingRoom
from reconciler.schedule.framework import Mask


class Request(NamedTuple):
    """One binding, tried with one affinity group.

    Attributes:
        affinity_name: That group's name, `""` where there are no groups.
        affinities: The sets of clusters of which one must match; `None` when any cluster will do.
        tiers: The primary group and its overflow groups; empty where nothing overflows.
        targets: The clusters in spec.clusters, with whatever replicas.
        held: Position to replicas of the known clusters in spec.clusters, in their order. A name
            that stands there twice stands here twice.
        evicting: The clusters that an eviction task names.
        room: What is free for it, `None` where no room is protected.
    """

    binding: Binding
    placement: Placement
    affinity_name: str
    affinities: tuple[ClusterAffinity, ...] | None
    tiers: tuple[ClusterAffinity, ...]
    targets: Mask
    held: tuple[tuple[int, int], ...]
    evicting: Mask
    room: BindingRoom | None = None


def request_of(
    binding: Binding,
    placement: Placement,
    term: AffinityTerm | None,
    members: Members,
    room: BindingRoom | None = None,
) -> Request:
    """Return the question of a binding for one affinity group, `None` where there are no groups.

    Source: karmada@f8fdd02 pkg/scheduler/framework/plugins/clusteraffinity/cluster_affinity.go
    `Filter`: clusterAffinity wins over the groups, and only workloads overflow.
    """
    position = members.fleet.position
    tiers = () if term is None or not term.overflow or not binding.is_workload else term.tiers
    affinities: tuple[ClusterAffinity, ...] | None = None
    if placement.cluster_affinity is not None:
        affinities = (placement.cluster_affinity,)
    elif term is not None:
        affinities = tiers or (term.affinity,)
        if binding.between and not tiers:
            affinities += (ClusterAffinity(cluster_names=binding.between),)
    return Request(
        binding=binding,
        placement=placement,
        affinity_name="" if term is None else term.affinity_name,
        affinities=affinities,
        tiers=tiers,
        targets=members.fleet.named([name for name, _ in binding.clusters]),
        held=tuple([(position[name], held) for name, held in binding.clusters if name in position]),
        evicting=members.fleet.named([task.from_cluster for task in binding.tasks]),
        room=room,
    )
