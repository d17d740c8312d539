"""The clusters of a pass as one indexed set; every question about them is answered by a mask."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from reconciler.model.cluster import Cluster
from reconciler.model.identity import ClusterName
from reconciler.model.labels import (
    COMPARING,
    NONE_OF,
    ONE_OF,
    LabelSelector,
    Requirement,
    holds,
    is_wellformed,
)
from reconciler.model.taints import Taint
from reconciler.schedule.framework import NO_CLUSTERS, Mask, mask_of

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


@dataclass(slots=True, kw_only=True, eq=False)
class Fleet:
    """All clusters of one kind, ascending by name; made once a pass and shared by its requests.

    An index, no value: it remembers what selectors select.

    Attributes:
        clusters: Ascending by name, deleting ones included; bit i of a mask is clusters[i].
        names: Their names, in the same order.
        position: Name to bit.
        all: Everyone.
        deleting: Those with a deletionTimestamp.
        by_label: Label key to value to clusters.
        by_taints: List of taints in file order to clusters; those without a taint are left out.
    """

    clusters: tuple[Cluster, ...]
    names: tuple[ClusterName, ...]
    position: Mapping[ClusterName, int]
    all: Mask
    deleting: Mask
    by_label: Mapping[str, Mapping[str, Mask]]
    by_taints: Mapping[tuple[Taint, ...], Mask]
    _selected: dict[LabelSelector, Mask] = field(default_factory=dict, repr=False)

    def named(self, names: Iterable[str]) -> Mask:
        """Return the clusters of these names; names of no cluster are left out."""
        known = (self.position.get(ClusterName(name)) for name in names)
        return mask_of(position for position in known if position is not None)

    def select(self, selector: LabelSelector) -> Mask:
        """Return the clusters whose labels satisfy the selector, none if it is malformed."""
        return remember(self._selected, selector, lambda: self._select(selector))

    def _select(self, selector: LabelSelector) -> Mask:
        requirements = selector.requirements
        if not all(map(is_wellformed, requirements)):
            return NO_CLUSTERS
        chosen = self.all
        for requirement in requirements:
            chosen = Mask(chosen & select_indexed(requirement, self.by_label, self.all))
        return chosen


def fleet_of(clusters: Iterable[Cluster]) -> Fleet:
    """Return the fleet of these clusters, in whatever order they come; names are unique."""
    ordered = tuple(sorted(clusters, key=lambda cluster: cluster.name))
    return Fleet(
        clusters=ordered,
        names=tuple(cluster.name for cluster in ordered),
        position={cluster.name: position for position, cluster in enumerate(ordered)},
        all=Mask((1 << len(ordered)) - 1),
        deleting=mask_of(i for i, cluster in enumerate(ordered) if cluster.deleting),
        by_label=index_labels([cluster.labels for cluster in ordered]),
        by_taints=group_by([cluster.taints for cluster in ordered], skip=()),
    )


def group_by(keys: Iterable[K], *, skip: K) -> dict[K, Mask]:
    """Return the clusters by their key, in the order of first appearance; `skip` is left out."""
    positions: dict[K, list[int]] = {}
    for position, key in enumerate(keys):
        if key != skip:
            positions.setdefault(key, []).append(position)
    return {key: mask_of(found) for key, found in positions.items()}


def index_labels(labels: Iterable[Mapping[str, str]]) -> dict[str, dict[str, Mask]]:
    """Return the inverted index of label sets: key to value to clusters."""
    positions: dict[str, dict[str, list[int]]] = {}
    for position, pairs in enumerate(labels):
        for key, value in pairs.items():
            positions.setdefault(key, {}).setdefault(value, []).append(position)
    return {
        key: {value: mask_of(found) for value, found in by_value.items()}
        for key, by_value in positions.items()
    }


def select_indexed(
    requirement: Requirement, by_label: Mapping[str, Mapping[str, Mask]], everyone: Mask
) -> Mask:
    """Return the clusters for which a well-formed requirement holds, by the inverted index."""
    by_value = by_label.get(requirement.key, {})
    if requirement.operator in ONE_OF | NONE_OF:
        found = _union(by_value.get(value, NO_CLUSTERS) for value in requirement.values or ())
        return found if requirement.operator in ONE_OF else Mask(everyone & ~found)
    if requirement.operator in COMPARING:
        return _union(
            mask for value, mask in by_value.items() if holds(requirement, {requirement.key: value})
        )
    having = _union(by_value.values())
    return having if requirement.operator == "Exists" else Mask(everyone & ~having)


def _union(masks: Iterable[Mask]) -> Mask:
    union = 0
    for mask in masks:
        union |= mask
    return Mask(union)
