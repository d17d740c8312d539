"""The bindings that a round leaves as they are, and which have to be looked at all the same."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import NamedTuple

from reconciler.dialects.copy_reports import CopyReports, ReportedObjects
from reconciler.dialects.followed_index import Followed
from reconciler.dialects.karmada.api.clusters import MemberCluster
from reconciler.dialects.karmada.detector.binding_draft import Draft, binding_key
from reconciler.dialects.object_pass import Part, has_news
from reconciler.dialects.read_index import Question, Reads
from reconciler.dialects.read_table import ReadTable
from reconciler.model.identity import ObjectKey
from reconciler.model.keyed_cache import CacheKey, same

ANY_CLUSTER: Question = ("any",)
WHOLE_FLEET = frozenset({ANY_CLUSTER})


class Settled(NamedTuple):
    """A binding that stays: what it was drawn from, and its part."""

    draft: Draft
    part: Part


def _has_news(settled: Settled) -> bool:
    return has_news(settled.part)


@dataclass(slots=True)
class SettledBindings:
    """Settled bindings under one configuration; it is changed in place.

    A binding is looked at if its draft or the reports on its workload changed, or a cluster that
    it depends on, if its time has come, or if it was not settled when it was looked at last.
    """

    _table: ReadTable[Settled] = field(default_factory=partial(ReadTable, tells=_has_news))
    _under: CacheKey = ()
    _fleet: tuple[MemberCluster, ...] = ()
    _clusters: Followed[str, MemberCluster] = field(default_factory=Followed)
    _drafts: Followed[ObjectKey, Draft] = field(default_factory=Followed)
    _reports: ReportedObjects = field(default_factory=ReportedObjects)
    _stay: set[ObjectKey] = field(default_factory=set)

    def begin(
        self,
        under: CacheKey,
        fleet: tuple[MemberCluster, ...],
        drafts: Mapping[ObjectKey, Draft],
        copies: CopyReports,
        now: datetime,
        *,
        others: Iterable[Question] = (),
    ) -> Collection[ObjectKey]:
        """Begin a round, and return the bindings that it has to look at.

        Args:
            under: What all of them depend on.
            fleet: All clusters.
            drafts: Every binding as it is wanted.
            copies: What member clusters report.
            now: The moment of the round.
            others: What has another answer beside the fleet.
        """
        own = {binding_key(workload) for workload in self._reports.follow(copies)}
        own.update(self._drafts.keys(drafts))
        if not same(self._under, under):
            own |= drafts.keys()
        asked = self._table.affected([*self._changed(fleet), *others], own, now)
        self._under, self._stay = under, set()
        self._table.drop_all(asked - drafts.keys())
        return [key for key in sorted(asked) if key in drafts]

    def asking(self, questions: Iterable[Question]) -> set[ObjectKey]:
        """Return the bindings that asked something, which are to be looked at now."""
        found = {key for question in questions for key in self._table.asking(question)}
        self._table.unsettle(found)
        return found

    def find(self, key: ObjectKey, draft: Draft) -> Part | None:
        """Return the part of a binding that would be left as it is, `None` if unknown."""
        known = self._table.find(key)
        if known is None or known.draft is not draft:
            return None
        self._stay.add(key)
        return known.part

    def settle(
        self, key: ObjectKey, settled: Settled, names: Reads | None, beside: Reads = frozenset()
    ) -> None:
        """Take a binding as one that stays as it is.

        Args:
            key: Of the binding.
            settled: What it came to.
            names: The clusters that it depends on, `None` if it may be any.
            beside: What it asked beside them.
        """
        reads = (WHOLE_FLEET if names is None else names) | beside
        self._table.settle(key, settled, reads, settled.part.until)
        self._stay.add(key)

    def end(self, looked_at: AbstractSet[ObjectKey], needed: Iterable[ObjectKey]) -> None:
        """End a round: what does not stay is looked at again in the next one.

        Args:
            looked_at: The bindings of this round.
            needed: Those of them that others need, which are always looked at.
        """
        self._table.unsettle({*(looked_at - self._stay), *needed})

    def part_of(self, key: ObjectKey) -> Part | None:
        """Return the part of a binding that stays, `None` if it does not."""
        known = self._table.find(key)
        return None if known is None else known.part

    def telling(self, but: Collection[ObjectKey]) -> Iterator[Part]:
        """Yield the parts that have something to tell, but for those of some bindings."""
        return (settled.part for settled in self._table.telling(but))

    def until(self) -> datetime | None:
        """Return the next moment at which one of them is due, `None` if there is none."""
        return self._table.until()

    def _changed(self, fleet: tuple[MemberCluster, ...]) -> Iterator[Question]:
        """Yield the clusters that changed, came or went."""
        if fleet is self._fleet:
            return
        self._fleet = fleet
        changed = self._clusters.keys({str(view.cluster.name): view for view in fleet})
        yield from changed
        if changed:
            yield ANY_CLUSTER
