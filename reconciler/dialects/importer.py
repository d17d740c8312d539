"""What a live control plane has of an API: what becomes files, which state, how the switch stands.

An importer names the objects that become files, and the decisions that are adopted as state. Of
what an agent reports only what counts is taken, in one order. The switch from a live hub is a list
of steps, each judged as far as the API server of the hub shows it.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from reconciler.model.body import Body
from reconciler.model.fields import at, bodies, mapping, number, number_or_none
from reconciler.model.identity import ObjectKey
from reconciler.model.kinds import Kind
from reconciler.model.records import dataclass, field
from reconciler.model.settings import Settings
from reconciler.model.world import World


class StepState(StrEnum):
    """How a step stands.

    `unseen` can be shown, and was not; `members` is to be looked at in the member clusters.
    """

    DONE = "done"
    OPEN = "open"
    UNSEEN = "unseen"
    MEMBERS = "members"


LEFT_TO_DO = frozenset({StepState.OPEN, StepState.UNSEEN})
"""What keeps a switch from being ready."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SwitchStep:
    """One step.

    Attributes:
        name: One word, the same for each API.
        state: How it stands.
        now: What to do about it, `""` if nothing.
        objects: Those that it is open for, sorted.
        last: Whether it is taken once we deliver.
    """

    name: str
    state: StepState
    now: str = ""
    objects: tuple[ObjectKey, ...] = ()
    last: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveHub:
    """What is seen of a hub.

    Attributes:
        live: Every object of an API that it has.
        deployments: Deployments that run its control plane, and maybe others.
        whole: Whether those of its own API server are all there.
        host: Whether those of the cluster that runs it are all there, where that is another one.
        by_agents: Whether we deliver by the agents of the hub, which then stay.
    """

    live: Mapping[ObjectKey, Body]
    deployments: Mapping[ObjectKey, Body]
    whole: bool = False
    host: bool = False
    by_agents: bool = False

    def of_kind(self, group: str, *kinds: str) -> dict[ObjectKey, Body]:
        """Return the live objects of some kinds, sorted."""
        return {k: self.live[k] for k in sorted(self.live) if k.group == group and k.kind in kinds}

    def has_namespace(self, *names: str) -> bool:
        """Return whether a Deployment stands in one of some namespaces."""
        return any(key.namespace in names for key in self.deployments)


def _no_steps(_hub: LiveHub) -> tuple[SwitchStep, ...]:
    return ()


def _no_keys(_live: Mapping[ObjectKey, Body]) -> Iterable[ObjectKey]:
    return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class HubSwitch:
    """What an API knows of its own hub.

    Attributes:
        steps: Returns the steps on the hub, in the order in which they are taken.
        brings: Returns what its decisions bring to clusters, which the repository has to hold.
        agents: The transport by which its own agents apply what we decide, `""` if there is none.
        following: Kinds whose decisions follow from others, which are compared instead.
    """

    steps: Callable[[LiveHub], tuple[SwitchStep, ...]] = _no_steps
    brings: Callable[[Mapping[ObjectKey, Body]], Iterable[ObjectKey]] = _no_keys
    agents: str = ""
    following: frozenset[Kind] = frozenset()


def running(
    hub: LiveHub, is_one: Callable[[ObjectKey], bool], works: Callable[[Body], bool] | None = None
) -> tuple[ObjectKey, ...]:
    """Return the Deployments of a control plane that are not stopped, sorted.

    One is stopped that wants no replicas and has none left.

    Args:
        hub: The hub.
        is_one: Whether a Deployment is meant.
        works: Returns whether one that runs does what is to be stopped; `None` if it always does.
    """
    return tuple(
        key
        for key, body in sorted(hub.deployments.items())
        if is_one(key) and _has_replicas(body) and (works is None or works(body))
    )


def _has_replicas(body: Body) -> bool:
    wanted = number_or_none(mapping(body, "spec"), "replicas")
    return wanted != 0 or number(mapping(body, "status"), "replicas") > 0


def stopped(name: str, found: Collection[ObjectKey], *, seen: bool, show: str) -> SwitchStep:
    """Return the step that stops some Deployments.

    Args:
        name: Of the step.
        found: Those that run, in the order in which they are stopped.
        seen: Whether one that is not among them does not exist.
        show: How to show them.
    """
    if found:
        now = "stop " + ", then ".join(f"{key.namespace}/{key.name}" for key in found)
        return SwitchStep(name=name, state=StepState.OPEN, now=now, objects=tuple(sorted(found)))
    if not seen:
        return SwitchStep(name=name, state=StepState.UNSEEN, now=show)
    return SwitchStep(name=name, state=StepState.DONE)


def settled(
    name: str,
    left: Iterable[ObjectKey],
    now: str,
    *,
    state: StepState = StepState.OPEN,
    last: bool = False,
) -> SwitchStep:
    """Return the step that is done once nothing is left, and stands so until then."""
    objects = tuple(sorted(left))
    if not objects:
        return SwitchStep(name=name, state=StepState.DONE, last=last)
    return SwitchStep(name=name, state=state, now=now, objects=objects, last=last)


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


def _nothing_adopted(_world: World, _live: Mapping[ObjectKey, Body], _now: datetime) -> Adopted:
    return Adopted()


def _none_propagated(_live: Mapping[ObjectKey, Body]) -> Propagated:
    return Propagated()


def _not_asked(_settings: Settings, /) -> bool:
    return False


def _not_reserved(_namespace: str) -> bool:
    return False


def _at_once(_cluster: Body) -> int:
    return 0


class ProbeVerdict(NamedTuple):
    """What is said of a cluster, and for how many seconds probes have to say so before it counts.

    `status` is `True`, `False` or `Unknown`. `seconds` is asked of the cluster's manifest.
    """

    status: str
    reason: str
    message: str
    seconds: Callable[[Body], int] = _at_once


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeRules:
    """What a cluster is whose API server is probed, in the words of its API.

    Attributes:
        well: It says that it is ready.
        unhealthy: It answers with success, and not that.
        failing: It answers with an error.
        unreachable: It does not answer.
        silent: Whoever observes it from within is not heard any more.
    """

    well: ProbeVerdict
    unhealthy: ProbeVerdict
    failing: ProbeVerdict
    unreachable: ProbeVerdict
    silent: ProbeVerdict


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
        asks_for_scheduling: Returns whether reports are to say, by these settings, how many pods of
            a workload cannot be scheduled.
        probed: What becomes of a cluster that is probed, `None` if it cannot be.
        scored: Returns the object by which a cluster of some name says what it has left of each
            resource, as scores; `None` where no API of its kind says that.
    """

    kinds: Mapping[Kind, ImportedKind]
    server_made: tuple[str, ...] = ()
    adopt: Callable[[World, Mapping[ObjectKey, Body], datetime], Adopted] = _nothing_adopted
    live: tuple[Kind, ...] = ()
    once: frozenset[Kind] = frozenset()
    reports: Mapping[Kind, AgentReport] = field(default_factory=dict)
    propagated: Callable[[Mapping[ObjectKey, Body]], Propagated] = _none_propagated
    is_reserved: Callable[[str], bool] = _not_reserved
    with_nodes: Callable[[Body, Sequence[Body], Sequence[Body]], Body | None] | None = None
    switch: HubSwitch = field(default_factory=HubSwitch)
    asks_for_scheduling: Callable[[Settings], bool] = _not_asked
    probed: ProbeRules | None = None
    scored: Callable[[str, Mapping[str, str]], tuple[ObjectKey, Body]] | None = None


CONDITION = ("lastTransitionTime", "message", "observedGeneration", "reason", "status", "type")


def counted_metadata(body: Body, *, labels: Iterable[str], annotations: Iterable[str]) -> Body:
    """Return who an object is, its generation, and some of its labels and annotations."""
    metadata = mapping(body, "metadata")
    names = ("name", "namespace", "generation", "deletionTimestamp")
    kept = {name: metadata[name] for name in names if metadata.get(name) is not None}
    for part, wanted in (("labels", labels), ("annotations", annotations)):
        present = mapping(metadata, part)
        counted = {name: present[name] for name in sorted(wanted) if name in present}
        if counted:
            kept[part] = counted
    return kept


def counted_conditions(body: Body) -> Sequence[Body]:
    """Return the conditions of a status or of a part of it, by type, without probes."""
    listed = (
        {name: one[name] for name in CONDITION if name in one} for one in bodies(body, "conditions")
    )
    return sorted(listed, key=lambda one: str(one.get("type")))


def counted_manifests(body: Body) -> Sequence[Body]:
    """Return by what the manifests that an object carries are known, and how many replicas."""
    return [_counted(one) for one in bodies(at(body, "spec", "workload"), "manifests")]


def _counted(manifest: Body) -> Body:
    metadata, replicas = at(manifest, "metadata"), at(manifest, "spec").get("replicas")
    own = {name: metadata[name] for name in ("name", "namespace") if name in metadata}
    known = {name: manifest[name] for name in ("apiVersion", "kind") if name in manifest}
    return {
        **known,
        "metadata": own,
        **({} if replicas is None else {"spec": {"replicas": replicas}}),
    }
