"""The clusters of a placement by decision group, as a rollout goes through them.

Source: ocm@00f84c3 sdk-go pkg/apis/cluster/v1beta1/placement.go
`PlacementDecisionClustersTracker`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from reconciler.dialects.ocm.rollout.strategy import GroupReference
from reconciler.model.identity import ClusterName


@dataclass(frozen=True, slots=True, order=True)
class GroupKey:
    """A decision group; the name may be empty."""

    name: str = ""
    index: int = 0


UNNAMED_FIRST = GroupKey()


class ClusterGroups:
    """Decision groups with their clusters, each sorted by name."""

    __slots__ = ("_clusters",)

    def __init__(self, groups: Iterable[tuple[GroupKey, Iterable[ClusterName]]]) -> None:
        """Merge what stands under one key."""
        found: dict[GroupKey, set[ClusterName]] = {}
        for key, names in groups:
            found.setdefault(key, set()).update(names)
        self._clusters: Mapping[GroupKey, tuple[ClusterName, ...]] = {
            key: tuple(sorted(found[key])) for key in sorted(found)
        }

    def besides(
        self, indices: Iterable[int] = ()
    ) -> Sequence[tuple[GroupKey, tuple[ClusterName, ...]]]:
        """Return the groups by index, but for some.

        Upstream counts from 0 to the number of its groups: what a gap leaves beyond does not exist.
        """
        by_index = {key.index: key for key in self._clusters}
        left_out = set(indices)
        wanted = (index for index in range(len(by_index)) if index in by_index)
        keys = (by_index[index] for index in wanted if index not in left_out)
        return [(key, self._clusters[key]) for key in keys]

    def named(
        self, references: Iterable[GroupReference]
    ) -> Sequence[tuple[GroupKey, tuple[ClusterName, ...]]]:
        """Return the groups that references name, by index; what they do not find is left out."""
        names = {one.name for one in references if one.name}
        indices = {one.index for one in references if not one.name}
        keys = {key for key in self._clusters if key.name in names or key.index in indices}
        return [(key, self._clusters[key]) for key in sorted(keys, key=lambda key: key.index)]

    def names(self) -> frozenset[ClusterName]:
        """Return the clusters of all groups."""
        return frozenset(name for names in self._clusters.values() for name in names)
