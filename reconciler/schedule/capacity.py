"""Room in clusters: what is reserved of each, what objects add in turn, and what is left.

All reservations that the round found count for everyone; what is added counts for those that come
after it. Objects are asked in the order of `Order`, over all APIs: so whoever comes first has what
is left. What an object has there itself never stands in its own way.

Beside it stands what is placed on each cluster, by the decisions themselves. A cluster never has
more left than the whole amount less that, whatever it reports as used and however long ago
reservations ended: a report that never changes cannot contain what was placed since.

A reservation is what an object takes of a cluster, and what of that no report of the cluster can
contain yet. A manifest that a cluster gets as it stands takes the pods that Kubernetes' own kinds
say; a DaemonSet has as many as there are nodes, which nobody knows here. `reconciler.yaml` says
whether room is reserved, and for how long.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
from collections.abc import Set as AbstractSet
from datetime import datetime, timedelta
from typing import NamedTuple

from reconciler.model.body import Body
from reconciler.model.fields import at, count_of, number_or_none
from reconciler.model.identity import ObjectKey, group_of
from reconciler.model.moments import span
from reconciler.model.quantity import NANOS, Quantity, Resources
from reconciler.model.records import dataclass, field, replace
from reconciler.model.settings import Settings
from reconciler.schedule.pods import canonical_amount, pod_request

PODS = "pods"


class CopyCount(NamedTuple):
    """A workload and how many replicas of it a cluster gets; its report is to show as many."""

    key: ObjectKey
    replicas: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterDemand:
    """What one object takes of one cluster.

    Attributes:
        resources: Of all its replicas there, pods among them.
        copies: Its workloads there that have replicas.
    """

    resources: Resources
    copies: tuple[CopyCount, ...] = ()


NO_DEMAND = ClusterDemand(resources={})


@dataclass(frozen=True, slots=True, kw_only=True)
class Reservation:
    """Room of one cluster that was given to an object, until the cluster's capacity contains it.

    Attributes:
        holder: What the decision is about.
        resources: What is reserved.
        covered: What the object had there before; the reported capacity contains that already.
        copies: What its reports are to show.
        since: The last pass that added to it, or that saw these reports first.
        awaits: The APIs whose capacity of the cluster was not seen otherwise since the reports
            show all copies, sorted; `None` while they do not show them.
    """

    holder: ObjectKey
    resources: Resources
    covered: Resources
    copies: tuple[CopyCount, ...]
    since: datetime
    awaits: tuple[str, ...] | None = None

    @property
    def most(self) -> Resources:
        """What the object had there at most since the reservation stands."""
        return plus(self.covered, self.resources)


def demand_of_replicas(workload: ObjectKey, replicas: int, request: Resources) -> ClusterDemand:
    """Return what some replicas of a workload take.

    Args:
        workload: Whose they are.
        replicas: How many, 0 or more.
        request: What one of them asks for; the pod itself comes on top.
    """
    if not replicas:
        return NO_DEMAND
    return ClusterDemand(
        resources=times(with_pod(request), replicas), copies=(CopyCount(workload, replicas),)
    )


def with_pod(request: Resources) -> Resources:
    """Return what one replica takes: what it asks for, and a pod."""
    return {**{name: amount for name, amount in request.items() if amount}, PODS: Quantity(NANOS)}


def times(amounts: Resources, count: int) -> Resources:
    """Return amounts so many times.

    >>> times({"cpu": 2}, 3)
    {'cpu': 6}
    """
    return {name: Quantity(amount * count) for name, amount in amounts.items()}


def plus(one: Resources, other: Resources) -> Resources:
    """Return the sum of amounts.

    >>> plus({"cpu": 2}, {"cpu": 1, "pods": 1})
    {'cpu': 3, 'pods': 1}
    """
    if not one or not other:
        return one or other
    total = dict(one)
    for name, amount in other.items():
        total[name] = Quantity(total.get(name, 0) + amount)
    return total


def beyond(one: Resources, other: Resources) -> dict[str, Quantity]:
    """Return by how much amounts exceed others, only what is above 0.

    >>> beyond({"cpu": 3, "pods": 1}, {"cpu": 1, "pods": 2})
    {'cpu': 2}
    """
    differences = {name: Quantity(amount - other.get(name, 0)) for name, amount in one.items()}
    return {name: amount for name, amount in differences.items() if amount > 0}


def greatest(one: Resources, other: Resources) -> Resources:
    """Return of each resource the greater amount.

    >>> greatest({"cpu": 3}, {"cpu": 1, "pods": 2})
    {'cpu': 3, 'pods': 2}
    """
    return {
        name: max(one.get(name, Quantity(0)), other.get(name, Quantity(0)))
        for name in {**one, **other}
    }


def written_amounts(amounts: Mapping[str, Quantity]) -> str:
    """Return amounts as people read them, by name.

    >>> written_amounts({"memory": 2**30 * 10**9, "cpu": 15 * 10**8})
    'cpu 1500m, memory 1Gi'
    """
    return ", ".join(f"{name} {canonical_amount(name, amounts[name])}" for name in sorted(amounts))


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
    total: dict[str, Quantity] = {}
    for reservation in held.values():
        for name, amount in reservation.resources.items():
            total[name] = Quantity(total.get(name, 0) + amount)
    return total


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
        replaced = own.get(made.holder)
        own[made.holder] = made
        total = plus(self.totals.get(cluster, {}), made.resources)
        if replaced is not None:
            total = beyond(total, replaced.resources)
        self.totals[cluster] = total
        self.log.append(cluster)


SECTION = "capacity"
RESERVATION_SECONDS = 600  # ours: ten reports of a cluster that reports every minute


@dataclass(frozen=True, slots=True)
class Protection:
    """Whether room is reserved, and for how long at most where no report ends that."""

    on: bool
    bound: timedelta


def decode_protection(settings: Settings) -> Protection:
    """Return what the configuration says; nothing is reserved unless it says so."""
    seconds = number_or_none(settings.options.get(SECTION, {}), "reservationSeconds")
    return Protection(
        on=protects(settings),
        bound=span(seconds=RESERVATION_SECONDS if seconds is None else seconds),
    )


def protects(settings: Settings) -> bool:
    """Return whether what clusters cannot hold is refused."""
    return settings.options.get(SECTION, {}).get("protect") is True


@dataclass(frozen=True, slots=True)
class ReportedRoom:
    """What is left in a cluster by its status.

    Attributes:
        free: What is left by what the cluster reports.
        used: What the report has as used of each resource that it says the whole amount of. What is
            placed and not contained in it takes of what is left, however old the report is.
        digest: Differs where a report says otherwise; a heartbeat is not another report of room.
    """

    free: Resources
    used: Resources
    digest: str


Pods = tuple[int, Body]
"""How many, and the spec of one."""


def demand_of_manifests(manifests: Iterable[tuple[ObjectKey, Body]]) -> ClusterDemand:
    """Return what some objects take of each cluster that gets them."""
    resources: Resources = {}
    copies: list[CopyCount] = []
    for key, body in manifests:
        demand = demand_of_manifest(key, body)
        resources = plus(resources, demand.resources)
        copies += demand.copies
    return ClusterDemand(resources=resources, copies=tuple(copies))


def demand_of_manifest(key: ObjectKey, body: Body) -> ClusterDemand:
    """Return what one object takes of a cluster that gets it, nothing if it has no pods."""
    kind = group_of(str(body.get("apiVersion") or "")), key.kind
    pods = _PODS.get(kind)
    if pods is None:
        return NO_DEMAND
    count, pod = pods(body)
    return demand_of_replicas(key, count, pod_request(pod))


def _scaled(body: Body) -> Pods:
    """Deployment, ReplicaSet and StatefulSet: one if nothing is said."""
    return count_of(at(body, "spec").get("replicas"), 1), at(body, "spec", "template", "spec")


def _job(body: Body) -> Pods:
    """Job: as many at once, but no more than are to complete."""
    spec = at(body, "spec")
    count = count_of(spec.get("parallelism"), 1)
    return min(count, count_of(spec.get("completions"), count)), at(spec, "template", "spec")


_PODS: Mapping[tuple[str, str], Callable[[Body], Pods]] = {
    ("apps", "Deployment"): _scaled,
    ("apps", "ReplicaSet"): _scaled,
    ("apps", "StatefulSet"): _scaled,
    ("batch", "Job"): _job,
    ("", "Pod"): lambda body: (1, at(body, "spec")),
}
