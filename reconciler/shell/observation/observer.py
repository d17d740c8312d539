"""One cluster, observed: it is probed, and looked into while it is ready.

What is seen of it are live objects as an import takes them, so a report says the same whether it
was exported or observed.

Of two observers of one cluster that see it differently, whoever is answered is right: one whose
failure another contradicts says nothing more of it until it is answered itself.
"""

import asyncio
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Protocol

from reconciler.errors import UserError
from reconciler.imports.export import LiveObject
from reconciler.imports.importers import NODE, POD, importer_of
from reconciler.imports.observed import (
    ObservedCluster,
    Probe,
    ProbedHealth,
    judge,
    reported_health,
    scores_in,
    tells_room,
    with_observed,
)
from reconciler.model.body import Body
from reconciler.model.fields import at, mappings_of
from reconciler.model.identity import ObjectKey
from reconciler.model.kinds import Kind
from reconciler.model.records import dataclass, field
from reconciler.shell.observation.kube_api import ApiError, Discovered, KubeApi, ObjectCache, Wait

DISCOVERED_ANEW = timedelta(minutes=5)


class ObservedFrom(Protocol):
    """What is known of one cluster, from outside, from within, or by silence."""

    @property
    def name(self) -> str:
        """Of the cluster."""
        ...

    @property
    def probe(self) -> Probe | None:
        """What the last probe came to, `None` of one that is not probed."""
        ...

    @property
    def listed(self) -> frozenset[Kind]:
        """The kinds of which every object is known."""
        ...

    @property
    def state(self) -> str:
        """What the last look came to, in a word, `""` where there is nothing to be told."""
        ...

    @property
    def token(self) -> object:
        """What differs where something differs that a report may say."""
        ...

    async def look(
        self, clusters: Mapping[Kind, Body], workloads: Collection[Kind], now: datetime
    ) -> None:
        """Look once more, given as what it is declared, and of which kinds it is to report."""
        ...

    def note_reported(self) -> None:
        """Note that everything that is seen was reported."""
        ...

    def problems(self) -> Iterator[str]:
        """Yield what people must know."""
        ...

    def live(self, clusters: Mapping[Kind, Body]) -> Iterator[LiveObject]:
        """Yield what is there, as an export has it."""
        ...


@dataclass(slots=True, eq=False)
class ClusterObserver:
    """What is known of one cluster.

    Attributes:
        name: Of the cluster.
        api: Its API server.
        wait: How its caches wait.
        probe: What the last probe came to, `None` before the first.
        health: How it is, by the kinds of clusters that it is declared as.
        contradicted: The kinds as which somebody else reported it well while we said otherwise.
        score_points: By how much a score has to differ to be reported anew, `None` for no scores.
    """

    name: str
    api: KubeApi
    wait: Wait = asyncio.sleep
    probe: Probe | None = None
    health: dict[Kind, ProbedHealth] = field(default_factory=dict)
    contradicted: set[Kind] = field(default_factory=set)
    score_points: int | None = None
    _scored: dict[ObjectKey, Body] = field(default_factory=dict)
    _said: dict[Kind, ProbedHealth] = field(default_factory=dict)
    _discovered: Discovered | None = None
    _discovered_at: datetime | None = None
    _problem: str = ""
    _caches: dict[Kind, tuple[ObjectCache, "asyncio.Task[None]"]] = field(default_factory=dict)

    async def look(
        self, clusters: Mapping[Kind, Body], workloads: Collection[Kind], now: datetime
    ) -> None:
        """Probe the cluster, and go on to follow what is in it.

        Args:
            clusters: As what it is declared, with the status that was reported last.
            workloads: Kinds of which the cluster is to report.
            now: The moment.
        """
        self.probe = await self.api.probe()
        for kind, body in clusters.items():
            importer = importer_of(ObjectKey(*kind, "", self.name))
            rules = None if importer is None else importer.probed
            if rules is not None:
                reported = reported_health(body, kind)
                self._hear(kind, reported)
                before = self.health.get(kind) or reported
                heard = Probe.REFUSED if kind in self.contradicted else self.probe
                judged = judge(before, heard, rules, body, now)
                if judged is not None:
                    self.health[kind] = judged
        if self.probe is Probe.WELL:
            await self._discover(now)
            self._follow((NODE, POD, *workloads))

    def _hear(self, kind: Kind, reported: ProbedHealth | None) -> None:
        """Yield to whoever reported the cluster well after we had said that it is not."""
        if self.probe is Probe.WELL:
            self.contradicted.discard(kind)
            return
        said = self._said.get(kind)
        if said is not None and not said.is_well and reported is not None and reported.is_well:
            self.contradicted.add(kind)
            self.health[kind] = self._said[kind] = reported

    def note_reported(self) -> None:
        """Note that everything that is seen was reported."""
        self._said = dict(self.health)

    async def stand_by(self) -> None:
        """Probe the cluster, to know whether we could observe it; judge and follow nothing.

        Whoever observes it after that begins with what was reported last, as a new process does.
        """
        self.probe = await self.api.probe()
        for _, task in self._caches.values():
            task.cancel()
        self._caches.clear()
        self.health.clear()
        self.contradicted.clear()
        self._said.clear()
        self._discovered = self._discovered_at = None

    async def _discover(self, now: datetime) -> None:
        at_last = self._discovered_at
        if at_last is not None and now < at_last + DISCOVERED_ANEW:
            return
        try:
            self._discovered = await self.api.discover()
            self._discovered_at, self._problem = now, ""
        except ApiError as error:
            self._problem = f"it cannot be asked what it serves: {error}"

    def _follow(self, kinds: Iterable[Kind]) -> None:
        """Have a cache for each of these kinds that is served, and no other one."""
        served = {} if self._discovered is None else self._discovered.resources
        wanted = {kind: served[kind] for kind in kinds if kind in served}
        for kind in self._caches.keys() - wanted.keys():
            self._caches.pop(kind)[1].cancel()
        for kind, resource in wanted.items():
            if kind not in self._caches:
                kept = _of_pod if kind == POD else _of_object
                cache = ObjectCache(self.api, resource.path, wait=self.wait, kept=kept)
                self._caches[kind] = cache, asyncio.create_task(cache.follow())

    async def synced(self) -> None:
        """Wait until everything that is followed is there."""
        for cache, _ in [*self._caches.values()]:
            await cache.synced.wait()

    @property
    def token(self) -> object:
        """What differs where something differs that a report may say."""
        changes = {
            kind: (one.changes, one.synced.is_set()) for kind, (one, _) in self._caches.items()
        }
        return self.health, changes, self._discovered

    @property
    def state(self) -> str:
        """To what the last probe came."""
        return "" if self.probe is None else self.probe.name.lower()

    @property
    def listed(self) -> frozenset[Kind]:
        """The kinds of which every object is known."""
        return frozenset(kind for kind, (cache, _) in self._caches.items() if cache.synced.is_set())

    def problems(self) -> Iterator[str]:
        """Yield what keeps us from seeing the cluster, which says nothing of the cluster."""
        if self.probe is Probe.REFUSED:
            yield f"{self.name}: {Probe.REFUSED}, so nothing is known of its health"
        if self.contradicted:
            yield f"{self.name}: it does not answer us, but another observer, which says it is well"
        if self._problem:
            yield f"{self.name}: {self._problem}"
        for cache, _ in self._caches.values():
            if cache.problem is not None and cache.problem.code:
                yield f"{self.name}: {cache.path}: {cache.problem}"

    def live(self, clusters: Mapping[Kind, Body]) -> Iterator[LiveObject]:
        """Yield what is there, as an export has it: the cluster itself, and all that is followed.

        Args:
            clusters: As what it is declared, with the status that was reported last.
        """
        for kind, body in clusters.items():
            health = self.health.get(kind)
            if health is None:
                continue
            seen = self._seen() if health.is_well else None
            if seen is not None or not health.is_well or tells_room(body, kind):
                try:
                    observed = with_observed(body, kind, health.verdict, seen)
                except (UserError, ValueError):  # a server may say anything of its nodes
                    self._problem = "what it says of its nodes and pods cannot be read"
                    continue
                yield LiveObject(ObjectKey(*kind, "", self.name), observed)
        yield from self._scores()
        for kind in sorted(self.listed - {NODE}):
            for body in self._objects(kind):
                metadata = at(body, "metadata")
                named = str(metadata.get("namespace") or ""), str(metadata.get("name"))
                yield LiveObject(ObjectKey(*kind, *named), body)

    def _scores(self) -> Iterator[LiveObject]:
        """Yield what the cluster has left as scores, each as it was while it differs little."""
        seen = self._seen()
        well = next((one for one in self.health.values() if one.is_well), None)
        if self.score_points is None or seen is None or well is None:
            return
        try:
            scored = dict(scores_in(self.name, well.verdict, seen))
        except (UserError, ValueError):  # it is told where its room is counted
            return
        for key, body in scored.items():
            known = self._scored.get(key)
            if known is None or _most_apart(known, body) >= self.score_points:
                self._scored[key] = body
            yield LiveObject(key, self._scored[key])

    def _seen(self) -> ObservedCluster | None:
        discovered = self._discovered
        if discovered is None or not {NODE, POD} <= self.listed or self.probe is not Probe.WELL:
            return None
        return ObservedCluster(
            version=discovered.version,
            apis=discovered.apis,
            nodes=self._objects(NODE),
            pods=self._objects(POD),
        )

    def _objects(self, kind: Kind) -> list[Body]:
        return self._caches[kind][0].objects

    async def close(self) -> None:
        """End what follows the cluster, and close its connections."""
        tasks = [task for _, task in self._caches.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self.api.close()


def _most_apart(known: Body, fresh: Body) -> int:
    """Return by how much the scores of two reports differ at most."""
    values = [
        {one.get("name"): one.get("value") for one in mappings_of(at(body, "status").get("scores"))}
        for body in (known, fresh)
    ]
    pairs = ((values[0].get(name), value) for name, value in values[1].items())
    return max(
        (abs(was - now) for was, now in pairs if isinstance(was, int) and isinstance(now, int)),
        default=0,
    )


def _of_object(body: Body) -> Body:
    """Return an object without what changes with every write and says nothing."""
    metadata = {
        name: value
        for name, value in at(body, "metadata").items()
        if name not in ("managedFields", "resourceVersion")
    }
    return {**body, "metadata": metadata}


POD_METADATA = ("name", "namespace", "uid", "labels", "ownerReferences", "deletionTimestamp")
POD_SPEC = ("nodeName", "overhead", "resources")
CONTAINER = ("name", "resources", "restartPolicy")


def _of_pod(body: Body) -> Body:
    """Return what of a pod says how much it takes, whose it is, and whether it was scheduled."""
    spec, status = at(body, "spec"), at(body, "status")
    containers = {
        name: [_part(one, CONTAINER) for one in mappings_of(spec.get(name))]
        for name in ("containers", "initContainers")
        if name in spec
    }
    conditions = mappings_of(status.get("conditions"))
    return {
        **_part(body, ("apiVersion", "kind")),
        "metadata": _part(at(body, "metadata"), POD_METADATA),
        "spec": {**_part(spec, POD_SPEC), **containers},
        "status": {
            **_part(status, ("phase",)),
            "conditions": [one for one in conditions if one.get("type") == "PodScheduled"],
        },
    }


def _part(body: Body, names: Iterable[str]) -> dict[str, object]:
    return {name: body[name] for name in names if name in body}
