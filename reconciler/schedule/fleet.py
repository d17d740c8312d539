"""The clusters of a pass as one indexed set; every question about them is answered by a mask.

The index of which clusters have which value under a key is built key by key as questions come.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from operator import lt
from typing import TypeVar

from reconciler.model.cluster import Cluster, Taint
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
from reconciler.model.records import dataclass, field
from reconciler.schedule.framework import NO_CLUSTERS, Mask, mask_of, mask_where

MOST_CODES = 255  # a byte tells so many values from no value
_ZEROS = b"0" * (MOST_CODES + 1)
_ONE = ord("1")


class SetsByValue(Mapping[str, Mask]):
    """The clusters by their value of one key; each set is made when it is asked for.

    Values come in the order of their first appearance.

    >>> sets = SetsByValue(["a", None, "a", "b"])
    >>> dict(sets), sets.having
    ({'a': 5, 'b': 8}, 13)
    """

    __slots__ = ("_codes", "_column", "_having", "_known", "_listed", "_places", "_text")

    def __init__(self, column: Sequence[str | None]) -> None:
        """Read one value for each cluster, ascending by name; `None` where it has none."""
        values = [value for value in dict.fromkeys(column) if value is not None]
        self._column = column
        self._known: dict[str, Mask] = {}
        self._having: Mask | None = None
        self._listed: tuple[tuple[str, Mask], ...] | None = None
        self._codes = {value: code for code, value in enumerate(values, start=1)}
        self._text = b""
        self._places: dict[str | None, list[int]] = {}
        if len(values) <= MOST_CODES:
            coded: dict[str | None, int] = {None: 0}
            coded.update(self._codes)
            self._text = bytes(map(coded.__getitem__, column))[::-1]
        else:
            for position, value in enumerate(column):
                self._places.setdefault(value, []).append(position)

    def __getitem__(self, value: str) -> Mask:
        clusters = self._known.get(value)
        if clusters is None:
            code = self._codes[value]
            if self._places:
                clusters = mask_of(self._places[value])
            else:
                table = b"%b1%b" % (_ZEROS[:code], _ZEROS[code + 1 :])
                clusters = Mask(int(self._text.translate(table), 2))
            self._known[value] = clusters
        return clusters

    def any_of(self, values: Collection[str]) -> Mask:
        """Return the clusters that have one of these values."""
        present = [value for value in values if value in self._codes]
        if len(present) == 1:
            return self[present[0]]
        if self._places:
            return mask_of([position for value in present for position in self._places[value]])
        table = bytearray(_ZEROS)
        for value in present:
            table[self._codes[value]] = _ONE
        return Mask(int(self._text.translate(table) or b"0", 2))

    def listed(self) -> tuple[tuple[str, Mask], ...]:
        """Return every value with its clusters, kept for those who ask for all of them often."""
        if self._listed is None:
            self._listed = tuple([(value, self[value]) for value in self._codes])
        return self._listed

    def __iter__(self) -> Iterator[str]:
        return iter(self._codes)

    def __len__(self) -> int:
        return len(self._codes)

    @property
    def having(self) -> Mask:
        """The clusters that have any value."""
        if self._having is None:
            self._having = mask_where([value is not None for value in self._column])
        return self._having


class InvertedIndex(Mapping[str, SetsByValue]):
    """The sets of clusters by key; a key that no cluster has is not in it.

    >>> index = InvertedIndex([{"env": "prod"}, {}])
    >>> dict(index["env"]), "tier" in index
    ({'prod': 1}, False)
    """

    __slots__ = ("_known", "_pairs")

    def __init__(self, pairs: Sequence[Mapping[str, str]]) -> None:
        """Read the pairs of each cluster, ascending by name, as far as they are asked for."""
        self._pairs = pairs
        self._known: dict[str, SetsByValue] = {}

    def __getitem__(self, key: str) -> SetsByValue:
        sets = self._known.get(key)
        if sets is None:
            sets = SetsByValue(self.column(key))
            if not sets:
                raise KeyError(key)
            self._known[key] = sets
        return sets

    def column(self, key: str) -> list[str | None]:
        """Return the value of each cluster, `None` where it has none."""
        return [pairs.get(key) for pairs in self._pairs]

    def __iter__(self) -> Iterator[str]:
        """Return the keys, in the order of their first appearance."""
        return iter(dict.fromkeys(key for pairs in self._pairs for key in pairs))

    def __len__(self) -> int:
        return len(list(iter(self)))


def select_indexed(
    requirement: Requirement, index: Mapping[str, SetsByValue], everyone: Mask
) -> Mask:
    """Return the clusters for which a well-formed requirement holds, by the inverted index."""
    sets, operator = index.get(requirement.key), requirement.operator
    if sets is None:
        return everyone if operator in NONE_OF or operator == "DoesNotExist" else NO_CLUSTERS
    if operator in ONE_OF or operator in NONE_OF:
        having_any = sets.any_of(frozenset(requirement.values or ()))
        return having_any if operator in ONE_OF else Mask(everyone & ~having_any)
    if operator in COMPARING:
        return sets.any_of([v for v in sets if holds(requirement, {requirement.key: v})])
    return sets.having if operator == "Exists" else Mask(everyone & ~sets.having)


K = TypeVar("K")
V = TypeVar("V")

MEMO_LIMIT = 1024  # ours: distinct questions kept, so that a huge repository cannot fill the memory


def remember(memo: dict[K, V], key: K, answer: Callable[[], V], *, limit: int = MEMO_LIMIT) -> V:
    """Return the remembered answer to a question, or find it and remember it.

    When `limit` answers are known, all are forgotten first.
    """
    answered = memo.get(key)
    if answered is not None:
        return answered
    if len(memo) >= limit:
        memo.clear()
    computed = memo[key] = answer()
    return computed


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
        positions = [find(ClusterName(name)) for name in wanted]
        return mask_of([position for position in positions if position is not None])

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
    return fleet_in_order(ascending(tuple(clusters), lambda cluster: cluster))


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


def group_by(keys: Iterable[K], *, skip: K) -> dict[K, Mask]:
    """Return the clusters by their key, in the order of first appearance; `skip` is left out."""
    positions: dict[K, list[int]] = {}
    for position, key in enumerate(keys):
        if key != skip:
            positions.setdefault(key, []).append(position)
    return {key: mask_of(found) for key, found in positions.items()}
