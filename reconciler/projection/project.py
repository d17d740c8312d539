"""A cluster manifest of one API as a cluster manifest of another, by the tables of both.

An API is a table: for each fact that can be said of a cluster, where it stands in a manifest. A
direction is two tables laid side by side: what both have is carried over, what the target lacks is
lost. Parts of manifests that tables of several APIs read and write alike are here.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any, Generic, NamedTuple, TypeVar

from reconciler.model import fields
from reconciler.model.body import Body
from reconciler.model.kinds import Kind
from reconciler.model.records import dataclass, field

V = TypeVar("V")


@dataclass(frozen=True, slots=True, eq=False)
class Fact(Generic[V]):
    """Something that can be said of a cluster; `name` is what people call it."""

    name: str


class Force(StrEnum):
    """What a taint does to those that do not tolerate it."""

    NEW = "keeps new ones away"
    PREFER = "is avoided where there is another"
    OUT = "drives out what is there, too"


class SharedTaint(NamedTuple):
    """A taint of any API; `added_at` is as it is written, `""` where nothing is."""

    key: str
    value: str
    force: Force
    added_at: str


class ClusterReadiness(NamedTuple):
    """Whether a cluster is well: `True`, `False` or `Unknown`, since when and why.

    `since` is in RFC 3339, and each of the last three `""` where nothing is said.
    """

    status: str
    since: str
    reason: str
    message: str


Amounts = Mapping[str, str]
"""Resource to quantity, as it is written."""


class Room(NamedTuple):
    """What a cluster can give away; `None` of what is not said.

    `capacity` is all that it has, `allocatable` what workloads may have of it, `available` what is
    left of that.
    """

    capacity: Amounts | None
    allocatable: Amounts
    available: Amounts | None


APIS: Fact[tuple[Body, ...]] = Fact("API enablements")
CLAIMS: Fact[Mapping[str, str]] = Fact("claims and properties")
CLUSTER_SET: Fact[str] = Fact("cluster set")
LABELS: Fact[Mapping[str, str]] = Fact("labels")
LEAVING: Fact[str] = Fact("deletion")
NODES: Fact[int] = Fact("number of nodes")
PROVIDER: Fact[str] = Fact("provider")
READINESS: Fact[ClusterReadiness] = Fact("readiness")
REGION: Fact[str] = Fact("region")
ROOM: Fact[Room] = Fact("capacity")
TAINTS: Fact[tuple[SharedTaint, ...]] = Fact("taints")
VERSION: Fact[str] = Fact("version of Kubernetes")
ZONES: Fact[tuple[str, ...]] = Fact("zones")

EVERY_API: tuple[Body, ...] = ({"groupVersion": "*", "resources": [{"kind": "*"}]},)
"""Said for a cluster whose own API cannot say what it serves: that counts as a promise."""

BEGINNING = "1970-01-01T00:00:00Z"
"""Stands where an API wants a moment and the other one has none."""


@dataclass(frozen=True, slots=True)
class FactRow(Generic[V]):
    """How an API says one fact.

    Attributes:
        fact: What is said.
        place: Where it stands, as documentation has it.
        read: Returns it of a manifest, `None` where nothing is said.
        write: Returns the part of a manifest that says it, `None` if the API cannot.
        note: What is special about it, a sentence; `""` if nothing is.
    """

    fact: Fact[V]
    place: str
    read: Callable[[Body], V | None]
    write: Callable[[V], Body] | None
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Language:
    """How an API speaks of clusters.

    Attributes:
        name: Of the API, as people have it.
        kind: Of its clusters.
        api_version: Which its manifests have.
        bare: What each manifest has to have besides.
        well: The part of a manifest that says that a cluster is well, for one that is declared and
            has to have a status for what else is said of it; empty where none has.
        rows: What it can say; of two that say the same field the later one counts.
        alone: What no other API can say, with where it stands.
    """

    name: str
    kind: Kind
    api_version: str
    bare: Body
    well: Body = field(default_factory=dict)
    rows: tuple[FactRow[Any], ...]  # read and write of a row agree; rows differ in what they say
    alone: tuple[tuple[str, str], ...] = ()


PROJECTED_FROM = "reconciler.dev/projected-from"
"""Annotation of a projected manifest that names the kind of the one that a person wrote."""


def project(body: Body, source: Language, target: Language, *, declared: bool = True) -> Body:
    """Return a cluster as another API has it.

    What is written without any status is a declaration in the one API as in the other.

    Args:
        body: A valid manifest of the source.
        source: The API that it is of.
        target: The API to speak.
        declared: Whether a manifest without any status counts as a cluster that is well; if not,
            the other one has no status, either.

    Raises:
        UserError: A field has the wrong type.
        ValueError: A quantity cannot be read.

    Source: ours; the tables name what they read and write.
    """
    name = fields.text(fields.mapping(body, "metadata"), "name")
    group, kind = source.kind
    metadata = {"name": name, "annotations": {PROJECTED_FROM: f"{kind}.{group}"}}
    projected = _merged({"metadata": metadata}, target.bare)
    for _, read, write in direction(source, target):
        value = read.read(body)
        if value is not None and write.write is not None:
            projected = _merged(projected, write.write(value))
    if "status" in projected and not fields.mapping(body, "status"):
        if declared:
            projected = _merged(projected, target.well)
        else:
            del projected["status"]
    return {"apiVersion": target.api_version, "kind": target.kind[1], **projected}


def projected_from(body: Body) -> str:
    """Return the kind and group of which a manifest was projected, `""` if a person wrote it."""
    annotations = fields.mapping(fields.mapping(body, "metadata"), "annotations")
    return fields.text(annotations, PROJECTED_FROM)


Shared = tuple[Fact[Any], FactRow[Any], FactRow[Any]]
"""A fact, and how the source and the target say it."""


def direction(source: Language, target: Language) -> Sequence[Shared]:
    """Return what is carried from one API to another, in the order of the target's table."""
    readers = {row.fact: row for row in source.rows}
    return [
        (row.fact, readers[row.fact], row)
        for row in target.rows
        if row.fact in readers and row.write is not None
    ]


def _merged(one: Mapping[str, object], other: Body) -> dict[str, object]:
    """Return two parts of a manifest as one: mappings are merged, lists are joined."""
    joint = dict(one)
    for name, value in other.items():
        present = joint.get(name)
        if isinstance(present, Mapping) and isinstance(value, Mapping):
            joint[name] = _merged(present, value)
        elif isinstance(present, list) and isinstance(value, list):
            joint[name] = [*present, *value]
        else:
            joint[name] = value
    return joint


REGION_LABEL = "topology.kubernetes.io/region"
ZONE_LABEL = "topology.kubernetes.io/zone"


def status_of(body: Body) -> Body:
    """Return the status of a manifest, an empty one if it has none."""
    return fields.mapping(body, "status")


def spec_of(body: Body) -> Body:
    """Return the spec of a manifest, an empty one if it has none."""
    return fields.mapping(body, "spec")


def label_of(body: Body, name: str) -> str:
    """Return a label, `""` if it is not there."""
    return fields.text(fields.mapping(fields.mapping(body, "metadata"), "labels"), name)


def labelled(**labels: str) -> Body:
    """Return the part of a manifest with some labels."""
    return {"metadata": {"labels": labels}}


def _labels(body: Body) -> Mapping[str, str] | None:
    pairs = fields.pairs_or_none(fields.mapping(body, "metadata"), "labels")
    return dict(pairs) if pairs else None


def _deleted_at(body: Body) -> str | None:
    return fields.text(fields.mapping(body, "metadata"), "deletionTimestamp") or None


METADATA: tuple[FactRow[Mapping[str, str]] | FactRow[str], ...] = (
    FactRow(
        LEAVING,
        "metadata.deletionTimestamp",
        _deleted_at,
        lambda at: {"metadata": {"deletionTimestamp": at}},
    ),
    FactRow(LABELS, "metadata.labels", _labels, lambda labels: {"metadata": {"labels": labels}}),
)
"""What all manifests say alike."""


def region_by_label(body: Body) -> str | None:
    """Return the region by the label that Kubernetes has for it."""
    return label_of(body, REGION_LABEL) or None


def zones_by_label(body: Body) -> tuple[str, ...] | None:
    """Return the zone by the label that Kubernetes has for it."""
    zone = label_of(body, ZONE_LABEL)
    return (zone,) if zone else None


def labelled_zone(zones: tuple[str, ...]) -> Body:
    """Return the label of a single zone; a label cannot tell several."""
    return labelled(**{ZONE_LABEL: zones[0]}) if len(zones) == 1 else {}


def read_taints(forces: Mapping[str, Force]) -> Callable[[Body], tuple[SharedTaint, ...] | None]:
    """Return what reads taints, given what each effect does; others are left out."""

    def read(body: Body) -> tuple[SharedTaint, ...] | None:
        taints = tuple(
            SharedTaint(
                fields.text(taint, "key"),
                fields.text(taint, "value"),
                forces[fields.text(taint, "effect")],
                fields.text(taint, "timeAdded"),
            )
            for taint in fields.bodies(spec_of(body), "taints")
            if fields.text(taint, "effect") in forces
        )
        return taints or None

    return read


def write_taints(
    effects: Mapping[Force, str], *, dated: bool
) -> Callable[[tuple[SharedTaint, ...]], Body]:
    """Return what writes taints, given the effect of each force; one without an effect is lost."""

    def written(one: SharedTaint) -> Body:
        body = {"key": one.key, "value": one.value, "effect": effects[one.force]}
        body |= {"timeAdded": one.added_at} if dated else {}
        return {name: value for name, value in body.items() if value}

    def write(taints: tuple[SharedTaint, ...]) -> Body:
        bodies: list[Body] = []
        for one in taints:
            body = written(one) if one.force in effects else None
            if body is not None and body not in bodies:
                bodies.append(body)
        return {"spec": {"taints": bodies}} if bodies else {}

    return write


def condition(kind: str, one: ClusterReadiness) -> Body:
    """Return a condition that says whether a cluster is well."""
    return {
        "type": kind,
        "status": one.status,
        "lastTransitionTime": one.since or BEGINNING,
        "reason": one.reason or "Projected",
        "message": one.message,
    }


def readiness_by(conditions: Iterable[Body], kind: str) -> ClusterReadiness | None:
    """Return whether a cluster is well by a condition, `None` if it is not there."""
    condition_there = next((one for one in conditions if fields.text(one, "type") == kind), None)
    if condition_there is None:
        return None
    parts = (
        fields.text(condition_there, name) for name in ("lastTransitionTime", "reason", "message")
    )
    return ClusterReadiness(fields.text(condition_there, "status"), *parts)


def amounts(body: Body, name: str) -> Amounts | None:
    """Return quantities as they are written, `None` if there are none."""
    quantities = fields.mapping_or_none(body, name)
    return None if quantities is None else {one: str(amount) for one, amount in quantities.items()}
