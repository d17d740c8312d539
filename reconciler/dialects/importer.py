"""What a live control plane has of an API: which of its objects become files, and which state."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from reconciler.dialects.hub_switch import HubSwitch
from reconciler.model.body import Body
from reconciler.model.identity import ObjectKey
from reconciler.model.known_kinds import Kind
from reconciler.model.world import World

FOLDER = ".adopted"
"""Where an import puts what clusters have and the repository has otherwise; no pass reads it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedKind:
    """How the objects of a kind become files. Paths are dotted; `*` stands for every key or item.

    Attributes:
        folder: Where a new file goes.
        status: The fields of the status that count; of most kinds none does.
        dropped: What else does not count.
        heartbeats: Moments that count only where the configuration enforces heartbeats.
        measured: Amounts that change all the time; little changes of them do not count.
    """

    folder: str
    status: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    heartbeats: tuple[str, ...] = ()
    measured: tuple[str, ...] = ()


def _never(_body: Body) -> bool:
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentReport:
    """How what an agent reports becomes a file.

    Attributes:
        counted: Returns what of it counts.
        about: Returns the objects of a repository that it is of; it is kept if one is there.
        heartbeats: Moments that count only where something else changed, as of a kind.
        tells_without_status: Returns whether one without any status is a report, too: that its
            agent did nothing yet.
    """

    counted: Callable[[Body], Body]
    about: Callable[[Body], Iterable[ObjectKey]]
    heartbeats: tuple[str, ...] = ()
    tells_without_status: Callable[[Body], bool] = _never


@dataclass(frozen=True, slots=True, kw_only=True)
class Propagated:
    """What of a control plane is meant for clusters, beside the objects of the API itself.

    Attributes:
        kinds: The kinds that policies, placements and decisions name.
        objects: Single objects that these need.
    """

    kinds: frozenset[Kind] = frozenset()
    objects: frozenset[ObjectKey] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Adopted:
    """Live decisions as state of ours.

    Attributes:
        outputs: What a pass would have left.
        left: Live objects that are not taken over, and why not.
        lacking: Live objects that are not taken over since another object is not in the repository:
            which one.
        missing: What live decisions bring to clusters and the repository has not: whose they are.
        contents: What clusters have and the repository has otherwise, by the output that is of it:
            the path and text of a file that no pass reads as input, so that git keeps its blob.
    """

    outputs: Mapping[ObjectKey, Body] = field(default_factory=dict)
    left: Mapping[ObjectKey, str] = field(default_factory=dict)
    lacking: Mapping[ObjectKey, ObjectKey] = field(default_factory=dict)
    missing: Mapping[ObjectKey, ObjectKey] = field(default_factory=dict)
    contents: Mapping[ObjectKey, tuple[str, str]] = field(default_factory=dict)


def _nothing(_world: World, _live: Mapping[ObjectKey, Body], _now: datetime) -> Adopted:
    return Adopted()


def _none_propagated(_live: Mapping[ObjectKey, Body]) -> Propagated:
    return Propagated()


def _not_reserved(_namespace: str) -> bool:
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Importer:
    """What is taken over of one API.

    Attributes:
        kinds: What becomes a file that people own.
        server_made: Beginnings of the names of labels and annotations that its control plane makes.
        adopt: Returns what of its live decisions becomes state, given the repository with
            everything that was imported, and every live object.
        live: The kinds that `adopt` looks at; one that is among `kinds`, too, has its decision in
            the status, and becomes a file and state.
        once: Kinds whose objects do something once, so they stay where they did it.
        reports: What agents report.
        propagated: Returns what its live objects name to be taken to clusters.
        is_reserved: Returns whether a namespace is its control plane's own, with all that is in it.
        with_nodes: Returns a cluster with the room of its nodes and what its pods take of it,
            `None` if it has no status to hold them; `None` where clusters say it themselves.
        switch: What is to be done on its hub before we take over.
    """

    kinds: Mapping[Kind, ImportedKind]
    server_made: tuple[str, ...] = ()
    adopt: Callable[[World, Mapping[ObjectKey, Body], datetime], Adopted] = _nothing
    live: tuple[Kind, ...] = ()
    once: frozenset[Kind] = frozenset()
    reports: Mapping[Kind, AgentReport] = field(default_factory=dict)
    propagated: Callable[[Mapping[ObjectKey, Body]], Propagated] = _none_propagated
    is_reserved: Callable[[str], bool] = _not_reserved
    with_nodes: Callable[[Body, Sequence[Body], Sequence[Body]], Body | None] | None = None
    switch: HubSwitch = field(default_factory=HubSwitch)


def no_importer() -> Importer:
    """Return what takes over nothing."""
    return Importer(kinds={})
