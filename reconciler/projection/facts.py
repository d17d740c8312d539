"""What can be said of a cluster, whatever its API: the facts that the tables of APIs share.

An API is a table: for each fact that it can tell, where it stands in a manifest. A direction is two
tables laid side by side: what both have is carried over, what the target lacks is lost.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Generic, NamedTuple, TypeVar

from reconciler.model.body import Body
from reconciler.model.known_kinds import Kind

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
