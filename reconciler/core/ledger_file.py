"""The file that a cluster has while room of it is reserved: `ClusterLedger`, by the cluster's name.

Clusters of one name in several APIs are one cluster, so they have one file.
"""

from collections.abc import Container, Mapping

from reconciler.errors import UserError
from reconciler.model.body import Body
from reconciler.model.fields import bodies, mapping, strings, text
from reconciler.model.identity import ObjectKey
from reconciler.model.kinds import ApiKind, Kind, Writer
from reconciler.model.moments import format_moment, parse_moment
from reconciler.model.quantity import Resources, parse_quantity
from reconciler.model.records import dataclass, field
from reconciler.model.world import Manifest
from reconciler.schedule.capacity import CopyCount, Held, Reservation, total_of, written_amounts

LEDGER: Kind = ("reconciler.dev", "ClusterLedger")
LEDGER_KIND = ApiKind(group=LEDGER[0], kind=LEDGER[1], writer=Writer.OURS)
API_VERSION = "reconciler.dev/v1alpha1"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterLedger:
    """What is reserved of one cluster.

    Attributes:
        capacity: API to the digest of the capacity that it was seen to report last.
        held: The reservations.
    """

    capacity: Mapping[str, str] = field(default_factory=dict)
    held: Held = field(default_factory=dict)


def ledger_key(cluster: str) -> ObjectKey:
    """Return the key of a cluster's file."""
    return ObjectKey(*LEDGER, "", cluster)


def decode_ledger(body: Body) -> ClusterLedger:
    """Return what a file says.

    Raises:
        UserError: A field has the wrong type.
        ValueError: An object, an amount or a moment is none.
    """
    status = mapping(body, "status")
    capacity = mapping(status, "capacity")
    reservations = map(_reservation, bodies(status, "reservations"))
    return ClusterLedger(
        capacity={api: text(capacity, api) for api in capacity},
        held={one.holder: one for one in reservations},
    )


@dataclass(slots=True, eq=False)
class EncodedReservations:
    """Reservations as they are written; one that is like the last one of its object is shared."""

    _last: dict[ObjectKey, tuple[Reservation, Body]] = field(default_factory=dict)

    def of(self, one: Reservation) -> Body:
        """Return a reservation as it is written."""
        known = self._last.get(one.holder)
        if known is not None and (known[0] is one or known[0] == one):
            return known[1]
        written = _written(one)
        self._last[one.holder] = one, written
        return written


def reserved_in(body: Body) -> Resources:
    """Return what a file says is reserved in all, nothing where a person made it unreadable."""
    try:
        return total_of(decode_ledger(body).held)
    except (UserError, ValueError):
        return {}


def but_of(
    outputs: Mapping[ObjectKey, Manifest],
    written: Mapping[ObjectKey, Body],
    holders: Container[ObjectKey],
) -> dict[ObjectKey, Body | None]:
    """Return the files that are written otherwise where some decisions do not take effect.

    What these hold is as it was; a file that is `None` is not written.

    Args:
        outputs: As the pass found them.
        written: Of its rounds.
        holders: What the decisions are about.
    """
    found: dict[ObjectKey, Body | None] = {}
    for key, body in written.items():
        if key[:2] != LEDGER:
            continue
        wanted = decode_ledger(body)
        if not any(holder in holders for holder in wanted.held):
            continue
        present = decode_ledger(outputs[key].body).held if key in outputs else {}
        held = {one: found for one, found in wanted.held.items() if one not in holders}
        held |= {one: found for one, found in present.items() if one in holders}
        left = ClusterLedger(capacity=wanted.capacity, held=held)
        found[key] = encode_ledger(key.name, left, EncodedReservations()) if held else None
    return found


def encode_ledger(cluster: str, found: ClusterLedger, alike: EncodedReservations) -> Body:
    """Return the file of a cluster, its reservations by the keys of who holds them.

    Args:
        cluster: Its name.
        found: What is reserved of it.
        alike: What was encoded of other clusters; those of one object are mostly alike.
    """
    return {
        "apiVersion": API_VERSION,
        "kind": LEDGER[1],
        "metadata": {"name": cluster},
        "status": {
            "capacity": {api: found.capacity[api] for api in sorted(found.capacity)},
            "reservations": [alike.of(found.held[key]) for key in sorted(found.held)],
        },
    }


def _reservation(body: Body) -> Reservation:
    return Reservation(
        holder=ObjectKey.read(text(body, "object")),
        resources=_amounts(text(body, "resources")),
        covered=_amounts(text(body, "covered")),
        copies=tuple(map(_copy, filter(None, text(body, "copies").split(", ")))),
        since=parse_moment(text(body, "since")),
        awaits=strings(body, "awaits") if "awaits" in body else None,
    )


def _written(one: Reservation) -> Body:
    """Return a reservation in few fields: there may be a hundred thousand of them."""
    written: dict[str, object] = {
        "object": str(one.holder),
        "resources": written_amounts(one.resources),
    }
    if one.covered:
        written["covered"] = written_amounts(one.covered)
    written["copies"] = ", ".join(f"{copy.key} {copy.replicas}" for copy in one.copies)
    written["since"] = format_moment(one.since)
    if one.awaits is not None:
        written["awaits"] = list(one.awaits)
    return written


def _amounts(written: str) -> Resources:
    """Return amounts as they are written: `cpu 500m, pods 2`."""
    parts = (part.split(" ") for part in filter(None, written.split(", ")))
    return {name: parse_quantity(amount) for name, amount in parts}


def _copy(written: str) -> CopyCount:
    """Return a workload with its replicas as they are written."""
    key, _, replicas = written.rpartition(" ")
    return CopyCount(ObjectKey.read(key), int(replicas))
