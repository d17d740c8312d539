"""The ledger of a round: what is reserved of each cluster, and what objects add to it in turn.

All reservations that the round found count for everyone; what is added counts for those that come
after it. Objects are asked in the order of `Order`, over all APIs: so whoever comes first has what
is left. What an object has there itself never stands in its own way.
"""

from collections.abc import Callable, Iterator, Mapping
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
        log: The clusters of which something was added, in turn; whoever derives numbers from the
            totals reads on where it stopped.
        before: Has those decided whose turn is before a place in the order.
        found: What the round found reserved; the very same objects while none of it differs.
    """

    now: datetime
    limited: AbstractSet[str] = frozenset()
    held: dict[str, Held] = field(default_factory=dict)
    totals: dict[str, Resources] = field(default_factory=dict)
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

    def taken(self, holder: ObjectKey, cluster: str, has: Resources) -> Resources:
        """Return what of a cluster's reported capacity is not there for more of an object.

        What the object once had there and gave up is there for it, as long as it is reserved.

        Args:
            holder: Who asks.
            cluster: Its name.
            has: What it has there.
        """
        total = self.totals.get(cluster, {})
        own = self.held.get(cluster, NOTHING_HELD).get(holder)
        given_up = {} if own is None else beyond(own.most, has)
        return plus(total, {name: Quantity(-amount) for name, amount in given_up.items()})

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
        for cluster in sorted({*had, *has} if had else has):
            self.take(holder, cluster, had.get(cluster, NO_DEMAND), has.get(cluster, NO_DEMAND))

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
