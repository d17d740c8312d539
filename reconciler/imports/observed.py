"""What is seen of a cluster from outside: how it is by its probes, and its status in words of APIs.

A probe asks whether the API server is ready. Its answer is not the verdict: each API says for how
long probes have to say otherwise before a cluster counts as another one, so a slow answer moves
nothing. A verdict begins with what was reported last, be it by another process: whoever observes
starts where the last one ended. Who is refused (401, 403) has seen nothing of the cluster.

What nodes and pods are there is counted by the API that knows how, and projected for the others by
the tables by which their policies read it. While a cluster is not ready it is not looked at: what
was reported of its room stays.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from types import MappingProxyType
from typing import TypeVar

from reconciler.core.dialects import DIALECTS
from reconciler.dialects.importer import ProbeRules, ProbeVerdict
from reconciler.model.body import Body
from reconciler.model.fields import at, mappings_of
from reconciler.model.identity import ObjectKey
from reconciler.model.kinds import Kind
from reconciler.model.moments import format_moment
from reconciler.model.records import dataclass, replace
from reconciler.projection.project import (
    APIS,
    READINESS,
    ROOM,
    VERSION,
    ClusterReadiness,
    Fact,
    FactRow,
    Language,
    project,
)


class Probe(StrEnum):
    """What a probe came to."""

    WELL = "it says that it is ready"
    UNHEALTHY = "it answers, and not that it is ready"
    FAILING = "it answers with an error"
    UNREACHABLE = "it does not answer"
    REFUSED = "it refuses us"


OK, NOT_FOUND, REFUSALS = 200, 404, frozenset({401, 403})


def probe_of(code: int | None) -> Probe:
    """Return what an answer of a health endpoint means, `None` for no answer.

    >>> probe_of(200).name, probe_of(500).name, probe_of(403).name, probe_of(None).name
    ('WELL', 'FAILING', 'REFUSED', 'UNREACHABLE')
    """
    if code is None:
        return Probe.UNREACHABLE
    if code == OK:
        return Probe.WELL
    if code in REFUSALS:
        return Probe.REFUSED
    return Probe.UNHEALTHY if OK < code < 300 else Probe.FAILING


@dataclass(frozen=True, slots=True)
class ProbedHealth:
    """How a cluster is.

    Attributes:
        verdict: What counts.
        otherwise: Since when probes say the contrary without a break, `None` if they do not.
    """

    verdict: ClusterReadiness
    otherwise: datetime | None = None

    @property
    def is_well(self) -> bool:
        """Whether it counts as ready."""
        return self.verdict.status == "True"


def judge(
    before: ProbedHealth | None, probe: Probe, rules: ProbeRules, cluster: Body, now: datetime
) -> ProbedHealth | None:
    """Return how a cluster is after another probe, `None` as long as nothing is known of it.

    Args:
        before: How it was, by what was reported last; `None` of one that was never reported.
        probe: What it came to.
        rules: Those of the cluster's API.
        cluster: Its manifest.
        now: The moment of the probe.

    Source: karmada@f8fdd02 pkg/controllers/status/cluster_condition_cache.go
    `thresholdAdjustedReadyCondition`. Unlike upstream: a process that begins waits, too, where
    something was reported before.
    """
    if probe is Probe.REFUSED:
        return before
    said = _said(probe, rules)
    if before is None:
        return ProbedHealth(dated(said, now))
    if before.is_well == (said.status == "True"):
        kept = before.verdict
        same = (kept.status, kept.reason) == (said.status, said.reason)
        since = kept.since if kept.status == said.status else ""
        return replace(before, verdict=kept if same else dated(said, now, since), otherwise=None)
    otherwise = before.otherwise or now
    if now < otherwise + timedelta(seconds=said.seconds(cluster)):
        return replace(before, otherwise=otherwise)
    return ProbedHealth(dated(said, now))


def _said(probe: Probe, rules: ProbeRules) -> ProbeVerdict:
    match probe:
        case Probe.WELL:
            return rules.well
        case Probe.UNHEALTHY:
            return rules.unhealthy
        case Probe.FAILING:
            return rules.failing
        case _:
            return rules.unreachable


def dated(said: ProbeVerdict, now: datetime, since: str = "") -> ClusterReadiness:
    """Return a verdict that holds from a moment on, now unless another one is given."""
    return ClusterReadiness(said.status, since or format_moment(now), said.reason, said.message)


def _language_of(kind: Kind) -> Language:
    """Return how the API of a kind of clusters speaks.

    Raises:
        ValueError: No API that schedules has such clusters.
    """
    for dialect in DIALECTS:
        language = dialect.clusters()
        if dialect.cluster == kind and language is not None:
            return language
    raise ValueError(f"{kind[1]} is no kind of clusters")


V = TypeVar("V")


def _row(language: Language, fact: Fact[V]) -> FactRow[V]:
    return next(row for row in language.rows if row.fact is fact)


def _part(language: Language, fact: Fact[V], value: V) -> Body:
    """Return the part of a manifest that says a fact, nothing where an API cannot."""
    write = _row(language, fact).write
    return {} if write is None else write(value)


def reported_health(cluster: Body, kind: Kind) -> ProbedHealth | None:
    """Return how a cluster is by its status, `None` if that says nothing of it."""
    readiness = _row(_language_of(kind), READINESS).read(cluster)
    return None if readiness is None else ProbedHealth(readiness)


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedCluster:
    """What is seen within a cluster that is ready.

    Attributes:
        version: Of Kubernetes.
        apis: `groupVersion` and `resources` (`name`, `kind`) of each version that it serves.
        nodes: All of them.
        pods: All of them.
    """

    version: str
    apis: tuple[Body, ...]
    nodes: Sequence[Body]
    pods: Sequence[Body]


def tells_room(cluster: Body, kind: Kind) -> bool:
    """Return whether a cluster says what there is in it.

    One that says that it is well, and not what it has, would be taken for one that has nothing.
    """
    return _row(_language_of(kind), ROOM).read(cluster) is not None


def with_observed(
    cluster: Body, kind: Kind, verdict: ClusterReadiness, seen: ObservedCluster | None
) -> Body:
    """Return a cluster with the status that follows from what is seen.

    Args:
        cluster: Its manifest, with the status that was reported last.
        kind: Of clusters.
        verdict: How it is.
        seen: What is there; `None` leaves what was reported of that.
    """
    own = _language_of(kind)
    if seen is None:
        fresh = at(_part(own, READINESS, verdict), "status")
    else:
        fresh = at(_seen_as(cluster, own, verdict, seen), "status")
    return {**cluster, "status": _renewed(at(cluster, "status"), fresh)}


def scores_in(
    name: str, verdict: ClusterReadiness, seen: ObservedCluster
) -> Iterator[tuple[ObjectKey, Body]]:
    """Yield the objects by which a cluster says what it has left, as scores.

    Args:
        name: Of the cluster.
        verdict: How it is.
        seen: What is there.
    """
    counted, language = _counted(name, verdict, seen)
    room = _row(language, ROOM).read(counted)
    for dialect in DIALECTS:
        scored = dialect.importer().scored
        if scored is not None and room is not None:
            yield scored(name, room.available or {})


def _seen_as(
    cluster: Body, own: Language, verdict: ClusterReadiness, seen: ObservedCluster
) -> Body:
    """Return a cluster of an API as one that counts nodes and pods has it."""
    name, spec = str(at(cluster, "metadata").get("name")), at(cluster, "spec")
    counted, language = _counted(name, verdict, seen, {own.kind: spec})
    return counted if language is own else project(counted, language, own)


def _counted(
    name: str,
    verdict: ClusterReadiness,
    seen: ObservedCluster,
    specs: Mapping[Kind, Body] = MappingProxyType({}),
) -> tuple[Body, Language]:
    """Return a cluster in the words of the API that counts nodes and pods, and these words.

    Args:
        name: Of the cluster.
        verdict: How it is.
        seen: What is there.
        specs: What people ask of it, by kind of clusters: how its nodes are to be counted.
    """
    for dialect in DIALECTS:
        count, language = dialect.importer().with_nodes, dialect.clusters()
        if count is None or language is None:
            continue
        body: Body = {"metadata": {"name": name}, "spec": specs.get(language.kind, {})}
        for part in (
            _part(language, READINESS, verdict),
            _part(language, APIS, seen.apis),
            _part(language, VERSION, seen.version),
        ):
            body = _renewed(body, part)
        return count(body, seen.nodes, seen.pods) or body, language
    raise ValueError("no API counts what nodes have")


def _renewed(present: Body, fresh: Body) -> Body:
    """Return a mapping with what is new of another; typed and named items are renewed one by one.

    A condition that says what it said keeps its moment.
    """
    renewed = dict(present)
    for name, value in fresh.items():
        known = present.get(name)
        if isinstance(value, Mapping) and isinstance(known, Mapping):
            renewed[name] = _renewed(known, value)
        elif isinstance(value, list) and isinstance(known, list) and name in LISTS:
            renewed[name] = _joined(mappings_of(known), mappings_of(value), LISTS[name])
        else:
            renewed[name] = value
    return renewed


LISTS = {"agentStatus": "type", "clusterClaims": "name", "conditions": "type"}
"""Lists of a status to which others add, and by what their items are known."""


def _joined(present: Iterable[Body], fresh: Iterable[Body], key: str) -> list[Body]:
    joined = {str(document.get(key)): document for document in present}
    for document in fresh:
        known = joined.get(str(document.get(key)), {})
        renewed = {**document} if key == "name" else dict(_renewed(known, document))
        if "lastTransitionTime" in known and known.get("status") == document.get("status"):
            renewed["lastTransitionTime"] = known["lastTransitionTime"]
        joined[str(document.get(key))] = renewed
    return list(joined.values())
