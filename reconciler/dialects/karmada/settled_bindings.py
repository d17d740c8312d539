"""The bindings that a round leaves as they are, and which have to be looked at all the same."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import datetime
from heapq import heapify, heappop, heappush

from reconciler.dialects.copy_reports import CopyReports
from reconciler.dialects.karmada.api.clusters import MemberCluster
from reconciler.dialects.karmada.detector.binding_draft import Draft, binding_key
from reconciler.dialects.object_pass import Part
from reconciler.dialects.report_marks import ReportMarks
from reconciler.model.identity import ObjectKey
from reconciler.model.keyed_cache import CacheKey, UnchangedUntil, same
from reconciler.model.versioned import differing

SLACK = 64  # moments of bindings that changed since, beyond those that count


@dataclass(frozen=True, slots=True)
class Settled:
    """A binding that stays: what it was drawn from, for how long that holds, and its part.

    `names` are the clusters that it depends on, `None` if it may be any.
    """

    draft: Draft
    mark: object
    rest: UnchangedUntil
    part: Part
    names: frozenset[str] | None


@dataclass(slots=True)
class SettledBindings:
    """Settled bindings under one configuration; it is changed in place.

    A binding is looked at if its draft or the reports on its workload changed, or a cluster that
    it depends on, if its time has come, or if it was not settled when it was looked at last.
    """

    _found: dict[ObjectKey, Settled] = field(default_factory=dict)
    _under: CacheKey = ()
    _fleet: tuple[MemberCluster, ...] = ()
    _drafts: Mapping[ObjectKey, Draft] = field(default_factory=dict)
    _reports: ReportMarks = field(default_factory=ReportMarks)
    _restless: set[ObjectKey] = field(default_factory=set)
    _due: list[tuple[datetime, ObjectKey]] = field(default_factory=list)
    _telling: dict[ObjectKey, Part] = field(default_factory=dict)
    _moment: datetime | None = None
    _stay: set[ObjectKey] = field(default_factory=set)

    def begin(
        self,
        under: CacheKey,
        fleet: tuple[MemberCluster, ...],
        drafts: Mapping[ObjectKey, Draft],
        copies: CopyReports,
        now: datetime,
    ) -> Collection[ObjectKey]:
        """Begin a round, and return the bindings that it has to look at.

        Args:
            under: What all of them depend on.
            fleet: All clusters.
            drafts: Every binding as it is wanted.
            copies: What member clusters report.
            now: The moment of the round.
        """
        is_next = same(self._under, under) and self._moment is not None and self._moment <= now
        told = differing(drafts, self._drafts) if is_next else None
        by_cluster = self._on_changed(fleet)
        if not same(self._under, under):
            self._found, self._due, self._telling = {}, [], {}
        self._drop(by_cluster)
        reported = {binding_key(workload) for workload in self._reports.follow(copies)}
        self._under, self._drafts, self._moment, self._fleet = under, drafts, now, fleet
        restless, self._restless, self._stay = self._restless, set(), set()
        if told is None:
            self._drop(self._found.keys() - drafts.keys())
            return list(drafts)
        asked = reported | restless | told | by_cluster | set(self._come(now))
        self._drop(asked - drafts.keys())
        return [key for key in sorted(asked) if key in drafts]

    def find(self, key: ObjectKey, draft: Draft, mark: object, now: datetime) -> Part | None:
        """Return the part of a binding that would be left as it is, `None` if unknown."""
        known = self._found.get(key)
        if known is None or known.draft is not draft or known.mark is not mark:
            return None
        if not known.rest.holds(now):
            return None
        self._stay.add(key)
        return known.part

    def mark(self, workload: ObjectKey) -> object:
        """Return what marks the reports on a workload."""
        return self._reports.of(workload)

    def settle(self, key: ObjectKey, settled: Settled) -> None:
        """Take a binding as one that stays as it is."""
        self._drop((key,))
        self._found[key] = settled
        self._stay.add(key)
        part = settled.part
        if part.until is not None:
            heappush(self._due, (part.until, key))
        if part.waits or part.faults:
            self._telling[key] = part

    def end(self, looked_at: AbstractSet[ObjectKey], needed: Iterable[ObjectKey]) -> None:
        """End a round: what does not stay is looked at again in the next one.

        Args:
            looked_at: The bindings of this round.
            needed: Those of them that others need, which are always looked at.
        """
        moving = looked_at - self._stay
        self._drop(moving)
        self._restless.update(moving, needed)

    def part_of(self, key: ObjectKey) -> Part | None:
        """Return the part of a binding that stays, `None` if it does not."""
        known = self._found.get(key)
        return None if known is None else known.part

    def telling(self, but: Collection[ObjectKey]) -> Iterator[Part]:
        """Yield the parts that have something to tell, but for those of some bindings."""
        return (part for key, part in self._telling.items() if key not in but)

    def until(self) -> datetime | None:
        """Return the next moment at which one of them is due, `None` if there is none."""
        if len(self._due) > 2 * len(self._found) + SLACK:
            moments = ((one.part.until, key) for key, one in self._found.items())
            self._due = [(until, key) for until, key in moments if until is not None]
            heapify(self._due)
        while self._due and not self._counts(*self._due[0]):
            heappop(self._due)
        return self._due[0][0] if self._due else None

    def _on_changed(self, fleet: tuple[MemberCluster, ...]) -> set[ObjectKey]:
        """Return the bindings that depend on a cluster that changed, came or went."""
        if fleet is self._fleet:
            return set()
        before, after = (
            {str(view.cluster.name): view for view in one} for one in (self._fleet, fleet)
        )
        changed = {n for n in before.keys() | after.keys() if before.get(n) is not after.get(n)}
        return (
            {
                key
                for key, one in self._found.items()
                if one.names is None or not changed.isdisjoint(one.names)
            }
            if changed
            else set()
        )

    def _come(self, now: datetime) -> Iterator[ObjectKey]:
        """Yield the bindings whose time has come."""
        while self._due and self._due[0][0] <= now:
            moment, key = heappop(self._due)
            if self._counts(moment, key):
                yield key

    def _counts(self, moment: datetime, key: ObjectKey) -> bool:
        """Return whether a binding waits for this moment still."""
        known = self._found.get(key)
        return known is not None and known.part.until == moment

    def _drop(self, keys: Iterable[ObjectKey]) -> None:
        """Forget bindings."""
        for key in keys:
            self._found.pop(key, None)
            self._telling.pop(key, None)
