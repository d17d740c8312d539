"""The ledger of a round: what is reserved of each cluster, and what objects add to it in turn.

All reservations that the round found count for everyone; what is added counts for those that come
after it. Objects are asked in the order of `Order`, over all APIs: so whoever comes first has what
is left. What an object has there itself never stands in its own way.

Beside it stands what is placed on each cluster, by the decisions themselves. A cluster never has
more left than the whole amount less that, whatever it reports as used and however long ago
reservations ended: a report that never changes cannot contain what was placed since.
"""

from collections.abc import Callable, Iterator, Mapping, MutableMapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from datetime import datetime

from reconciler.model.identity import ObjectKey
from reconciler.model.quantity import Quantity
from reconciler.model.resources import Resources
from reconciler.schedule.capacity.reservation import (
    NO_DEMAND,
    ClusterDemand,
    Reservation,
    beyond,
    greatest,
    plus,
)

Order = tuple[int, ObjectKey]
"""The place of an object among those that add: its priority negated, then its key."""

Held = Mapping[ObjectKey, Reservation]
"""The reservations of one cluster, by who holds them."""

NOTHING_HELD: Held = {}

Placed = Mapping[str, ClusterDemand]
"""Cluster to what an object has there."""

NOTHING_PLACED: Placed = {}


def order_of(priority: int, key: ObjectKey) -> Order:
    """Return the place of an object: the greater priority first, then group, kind and names."""
    return -priority, key


def total_of(held: Held) -> Resources:
    """Return what some reservations take together."""
    found: dict[str, Quantity] = {}
    for one in held.values():
        for name, amount in one.resources.items():
            found[name] = Quantity(found.get(name, 0) + amount)
    return found


def nobody_before(_order: Order) -> None:
    """Let nobody else come first."""


@dataclass(slots=True, eq=False)
class Ledger:
    """What is reserved in one round; it is changed in place.

    Attributes:
        now: Moment of the round.
        limited: The clusters whose capacity any API knows; nothing is reserved of others.
        held: Cluster to its reservations.
        totals: Cluster to what these take together.
        used: API to what each cluster reports there as used; see `ReportedRoom`.
        standing: What each object has on its clusters by the decisions so far.
        placed: Cluster to what all objects have there by the decisions so far.
        log: The clusters of which something was added, in turn; whoever derives numbers from the
            totals reads on where it stopped.
        before: Has those decided whose turn is before a place in the order.
        found: What the round found reserved; the very same objects while none of it differs.
    """

    now: datetime
    limited: AbstractSet[str] = frozenset()
    held: dict[str, Held] = field(default_factory=dict)
    totals: dict[str, Resources] = field(default_factory=dict)
    used: Mapping[str, Mapping[str, Resources]] = field(default_factory=dict)
    standing: MutableMapping[ObjectKey, Placed] = field(default_factory=dict)
    placed: dict[str, Resources] = field(default_factory=dict)
    log: list[str] = field(default_factory=list)
    before: Callable[[Order], None] = nobody_before
    found: tuple[object, ...] = ()
    _own: dict[str, dict[ObjectKey, Reservation]] = field(default_factory=dict)
    _latest: tuple[ClusterDemand, Reservation] | None = None

    def own(self, holder: ObjectKey) -> Iterator[tuple[str, Reservation]]:
        """Yield the reservations of one object, with their clusters."""
        for cluster, held in self.held.items():
            if holder in held:
                yield cluster, held[holder]

    def total(self, api: str, cluster: str) -> Resources:
        """Return what of a cluster's reported room is not there for anybody.

        Args:
            api: Whose report of the cluster it is.
            cluster: Its name.
        """
        return self._at_least(api, cluster, self.totals.get(cluster, {}))

    def taken(self, api: str, holder: ObjectKey, cluster: str, has: Resources) -> Resources:
        """Return what of a cluster's reported room is not there for more of an object.

        What the object once had there and gave up is there for it, as long as it is reserved.

        Args:
            api: Whose report of the cluster it is.
            holder: Who asks.
            cluster: Its name.
            has: What it has there.
        """
        total = self.totals.get(cluster, {})
        own = self.held.get(cluster, NOTHING_HELD).get(holder)
        given_up = {} if own is None else beyond(own.most, has)
        left = plus(total, {name: Quantity(-amount) for name, amount in given_up.items()})
        return self._at_least(api, cluster, left)

    def unseen(self, api: str, cluster: str) -> Resources:
        """Return what is placed on a cluster beyond what its report has as used."""
        placed, used = self.placed.get(cluster), self.used.get(api, {}).get(cluster)
        if not placed or used is None:
            return {}
        return beyond({name: placed[name] for name in placed if name in used}, used)

    @property
    def counted(self) -> AbstractSet[str]:
        """The clusters of which something is taken."""
        return self.totals.keys() | self.placed.keys()

    def _at_least(self, api: str, cluster: str, taken: Resources) -> Resources:
        unseen = self.unseen(api, cluster)
        return greatest(taken, unseen) if unseen else taken

    def take(self, holder: ObjectKey, cluster: str, had: ClusterDemand, has: ClusterDemand) -> None:
        """Go on with what an object has on a cluster as it was decided.

        What it gives up stays reserved: nothing says yet that it is gone.

        Args:
            holder: What was decided about.
            cluster: Its name.
            had: What it took there before.
            has: What it takes now.
        """
        if cluster not in self.limited:
            return
        own = self.held.get(cluster, NOTHING_HELD).get(holder)
        if own is None and had is NO_DEMAND:  # the usual case, and faster
            if has.resources:
                self._put(cluster, self._first(holder, has))
            return
        if beyond(has.resources, had.resources):
            covered, most = (
                (had.resources, had.resources) if own is None else (own.covered, own.most)
            )
            wanted = beyond(greatest(most, has.resources), covered)
            self._put(cluster, self._made(holder, wanted, covered, has))
        elif own is not None and has.copies not in ((), own.copies):
            self._put(cluster, replace(own, copies=has.copies))

    def take_all(
        self,
        holder: ObjectKey,
        had: Mapping[str, ClusterDemand],
        has: Mapping[str, ClusterDemand],
    ) -> None:
        """Go on with an object as it was decided, on all clusters that it was or is on."""
        self._place(holder, has)
        for cluster in sorted({*had, *has} if had else has):
            self.take(holder, cluster, had.get(cluster, NO_DEMAND), has.get(cluster, NO_DEMAND))

    def _place(self, holder: ObjectKey, has: Placed) -> None:
        """Count an object where it is now, and where it stood until the next round.

        Those that rest are not asked in this round, so nobody may get ahead of them by what is
        given up in it: from the next round on all who wait are asked, in turn.
        """
        stood = self.standing.get(holder, NOTHING_PLACED)
        self.standing[holder] = has
        for cluster in sorted({*stood, *has} & self.limited):
            before = stood.get(cluster, NO_DEMAND).resources
            now = has.get(cluster, NO_DEMAND).resources
            more = beyond(now, before)
            if more:
                self.placed[cluster] = plus(self.placed.get(cluster, {}), more)
                self.log.append(cluster)

    @property
    def touched(self) -> AbstractSet[str]:
        """The clusters of which something was added."""
        return self._own.keys()

    def _first(self, holder: ObjectKey, has: ClusterDemand) -> Reservation:
        """Return the reservation of what had nothing there, the same for clusters alike."""
        if self._latest is None or self._latest[0] is not has or self._latest[1].holder != holder:
            self._latest = has, self._made(holder, has.resources, {}, has)
        return self._latest[1]

    def _made(
        self, holder: ObjectKey, wanted: Resources, covered: Resources, has: ClusterDemand
    ) -> Reservation:
        return Reservation(
            holder=holder, resources=wanted, covered=covered, copies=has.copies, since=self.now
        )

    def _put(self, cluster: str, made: Reservation) -> None:
        """Take a reservation in place of the one that its holder had."""
        own = self._own.get(cluster)
        if own is None:  # what the round found is not its own
            own = self._own[cluster] = dict(self.held.get(cluster, NOTHING_HELD))
            self.held[cluster] = own
        known = own.get(made.holder)
        own[made.holder] = made
        total = plus(self.totals.get(cluster, {}), made.resources)
        if known is not None:
            total = beyond(total, known.resources)
        self.totals[cluster] = total
        self.log.append(cluster)
