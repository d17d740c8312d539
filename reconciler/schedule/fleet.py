"""The clusters of a pass as one indexed set; every question about them is answered by a mask."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from operator import lt
from typing import TypeVar

from reconciler.model.cluster import Cluster
from reconciler.model.identity import ClusterName
from reconciler.model.labels import LabelSelector, is_wellformed
from reconciler.model.taints import Taint
from reconciler.schedule.framework import NO_CLUSTERS, Mask, mask_of, mask_where
from reconciler.schedule.inverted_index import InvertedIndex, select_indexed

K = TypeVar("K")
V = TypeVar("V")

MEMO_LIMIT = 1024  # ours: distinct questions kept, so that a huge repository cannot fill the memory


def remember(memo: dict[K, V], key: K, answer: Callable[[], V], *, limit: int = MEMO_LIMIT) -> V:
    """Return the remembered answer to a question, or find it and remember it.

    When `limit` answers are known, all are forgotten first.
    """
    known = memo.get(key)
    if known is not None:
        return known
    if len(memo) >= limit:
        memo.clear()
    found = memo[key] = answer()
    return found


@dataclass(kw_only=True, eq=False)
class Fleet:
    """All clusters of one kind, ascending by name; made once a pass and shared by its requests.

    An index, no value: it remembers what selectors select, and each part of it is built when a
    question first needs it.

    Attributes:
        clusters: Ascending by name, deleting ones included; bit i of a mask is clusters[i].
        names: Their names, in the same order.
        all: Everyone.
    """

    clusters: tuple[Cluster, ...]
    names: tuple[ClusterName, ...]
    all: Mask
    _selected: dict[LabelSelector, Mask] = field(default_factory=dict, repr=False)

    @cached_property
    def position(self) -> Mapping[ClusterName, int]:
        """Name to bit."""
        return dict(zip(self.names, range(len(self.names)), strict=True))

    @cached_property
    def deleting(self) -> Mask:
        """Those with a deletionTimestamp."""
        return mask_where([cluster.deleting for cluster in self.clusters])

    @cached_property
    def labels(self) -> InvertedIndex:
        """The labels, key by key as they are asked for."""
        return InvertedIndex([cluster.labels for cluster in self.clusters])

    @property
    def by_label(self) -> Mapping[str, Mapping[str, Mask]]:
        """Label key to value to clusters."""
        return self.labels

    @cached_property
    def by_taints(self) -> Mapping[tuple[Taint, ...], Mask]:
        """List of taints in file order to clusters; those without a taint are left out."""
        return group_by([cluster.taints for cluster in self.clusters], skip=())

    def named(self, names: Iterable[str]) -> Mask:
        """Return the clusters of these names; names of no cluster are left out."""
        wanted = tuple(names)
        if not wanted:
            return NO_CLUSTERS
        find = self.position.get
        known = [find(ClusterName(name)) for name in wanted]
        return mask_of([position for position in known if position is not None])

    def select(self, selector: LabelSelector) -> Mask:
        """Return the clusters whose labels satisfy the selector, none if it is malformed."""
        return remember(self._selected, selector, lambda: self._select(selector))

    def _select(self, selector: LabelSelector) -> Mask:
        requirements = selector.requirements
        if not all(map(is_wellformed, requirements)):
            return NO_CLUSTERS
        chosen = self.all
        for requirement in requirements:
            chosen = Mask(chosen & select_indexed(requirement, self.labels, self.all))
        return chosen


def fleet_of(clusters: Iterable[Cluster]) -> Fleet:
    """Return the fleet of these clusters, in whatever order they come; names are unique."""
    return fleet_in_order(ascending(tuple(clusters), _itself))


def fleet_in_order(clusters: tuple[Cluster, ...]) -> Fleet:
    """Return the fleet of clusters that are ascending by name already."""
    return Fleet(
        clusters=clusters,
        names=tuple([cluster.name for cluster in clusters]),
        all=Mask((1 << len(clusters)) - 1),
    )


def ascending(views: Sequence[V], cluster_of: Callable[[V], Cluster]) -> tuple[V, ...]:
    """Return the views of clusters by name, which they mostly are."""
    names = [cluster.name for cluster in map(cluster_of, views)]
    if all(map(lt, names, islice(names, 1, None))):
        return tuple(views)
    return tuple(map(views.__getitem__, sorted(range(len(names)), key=names.__getitem__)))


def _itself(cluster: Cluster) -> Cluster:
    return cluster


def group_by(keys: Iterable[K], *, skip: K) -> dict[K, Mask]:
    """Return the clusters by their key, in the order of first appearance; `skip` is left out."""
    positions: dict[K, list[int]] = {}
    for position, key in enumerate(keys):
        if key != skip:
            positions.setdefault(key, []).append(position)
    return {key: mask_of(found) for key, found in positions.items()}
