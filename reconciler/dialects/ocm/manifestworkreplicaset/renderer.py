"""What sets of ManifestWorks put onto clusters.

A cluster that still has an earlier template keeps what is there until its turn comes; the status
file of the set says which template that is. Of a set that was adopted it says where that template
stands, so that a transport that has nothing there yet gets what its cluster has.

Without a strategy of its own a set gives its template to all clusters at once. A staged delivery
then says which version of it a cluster gets, with the replicas that its objects have by now.

What any API decides can be wrapped into a ManifestWork, which OCM's agents then bring to its
clusters. A template also asks for what must not happen to objects on clusters.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

from reconciler.dialects.ocm.api.placement import CLUSTER, CLUSTER_GROUP, PLACEMENT, WORK_GROUP
from reconciler.dialects.ocm.manifestworkreplicaset.replica_set import (
    REPLICA_SET,
    TEMPLATE,
    WORK,
    ReplicaSet,
    SetRecord,
    WorkRecord,
    clusters_of,
    decode_record,
    defaulted_spec,
    manifests_of,
    sources_of,
    standing_set,
    template_id,
)
from reconciler.dialects.renderer import (
    NO_INSTRUCTIONS,
    UNKNOWN_OBJECTS,
    Affected,
    ClusterWork,
    Instruction,
    Instructions,
    NotRendered,
    PlacedContent,
    Reach,
    Rendered,
    Wraps,
    fill_work,
)
from reconciler.manifests.admission import digest
from reconciler.manifests.paths import plural_of
from reconciler.model.body import Body
from reconciler.model.fields import at, bodies, flag_or_none, mapping, text, with_value
from reconciler.model.identity import ClusterName, ObjectKey, group_of
from reconciler.model.kinds import CopyReport
from reconciler.model.late import late
from reconciler.model.records import dataclass, field, replace
from reconciler.model.remembered import AnswerCache, differing_keys, forget
from reconciler.model.settings import Settings
from reconciler.model.text import enumerated
from reconciler.model.world import Manifest, World
from reconciler.rebalance.surge import STEP, surge_in
from reconciler.staging.staged_delivery import (
    CONTENT,
    STAGED_DELIVERY,
    ContentVersion,
    StagedVersions,
    given_otherwise,
    staged_versions,
    version_in,
)

API_VERSION = f"{WORK_GROUP}/v1"
NAMED = 3  # clusters and placements that are named in a sentence


@dataclass(frozen=True, slots=True)
class OcmRenderer:
    """The sets of one world.

    `names` are those of the clusters, sorted; `staged` returns who has which versions of what.
    """

    world: World
    names: tuple[ClusterName, ...]
    staged: Callable[[], StagedVersions]

    def owners(self) -> Iterable[ObjectKey]:
        """Return the sets that passes have looked at."""
        return (one.key for one in self.world.outputs_of_kind((WORK_GROUP, REPLICA_SET)))

    def clusters(self) -> tuple[ClusterName, ...]:
        """Return the names of the ManagedClusters."""
        return self.names

    def render(self, owner: ObjectKey, /) -> Rendered | None:
        """Render a set for each cluster that has its present template, or a version of it."""
        output, manifest = self.world.outputs.get(owner), self.world.inputs.get(owner)
        if output is None:
            return None
        record = decode_record(output.body)
        placed = tuple((name, None) for name, _ in clusters_of(record))
        if manifest is None:
            why = f"{owner} is not in the repository any more"
            failed = tuple(NotRendered(name, why) for name, _ in placed)
            return Rendered(path=output.origin.path, failed=failed, placed=placed)
        wanted = standing_set(manifest)
        present = template_id(wanted.template)
        brought = self._brought(owner, wanted, record)
        given = [(one, brought(one.cluster)) for one in record.works if one.template == present]
        return Rendered(
            path=manifest.origin.path,
            works=tuple(
                self._of_step(owner, one, _work(owner, template, one))
                for one, template in given
                if isinstance(template, _Brought)
            ),
            failed=tuple(
                NotRendered(one.cluster, template)
                for one, template in given
                if isinstance(template, str)
            ),
            leaving=tuple(self._earlier(owner, wanted, record, present)),
            kept=frozenset(one.cluster for one in record.works if one.template != present),
            placed=placed,
            warnings=tuple(_in_several(owner, record)),
        )

    def _brought(
        self, owner: ObjectKey, wanted: ReplicaSet, record: SetRecord
    ) -> "Callable[[ClusterName], _Brought | str]":
        """Return what says which version of a set a cluster is to have, or why that is not known.

        It is asked of clusters whose work has the present template.
        """
        token, staged = template_id(wanted.template), self.staged().get(owner)
        present = _Brought(wanted, token, record.sources(token))
        if staged is None:
            return lambda _: present
        current = staged.objects[owner].version
        known: dict[ContentVersion, _Brought | str] = {}

        def of(cluster: ClusterName) -> _Brought | str:
            version = staged.version_on(owner, cluster)
            if version not in known:
                is_present = version.is_like(current)
                found = present if is_present else self._at(version, owner, wanted)
                if isinstance(found, _Brought):
                    found = replace(found, mark=version.mark)
                known[version] = found
            return known[version]

        return of

    def _at(
        self, version: ContentVersion, owner: ObjectKey, wanted: ReplicaSet
    ) -> "_Brought | str":
        """Return an earlier version of a set, with the replicas of now."""
        manifest = version_in(self.world, version, owner)
        if manifest is None:
            return f"what it has, of {version.path}, cannot be read any more"
        scopes = self.world.known.scopes
        had = standing_set(manifest).scaled_as(wanted, scopes)
        return _Brought(had, template_id(had.template), sources_of(had.template, scopes))

    def _of_step(self, owner: ObjectKey, work: WorkRecord, made: ClusterWork) -> ClusterWork:
        """Return what a cluster gets, with the moment of the step if that made it."""
        key = ObjectKey(CLUSTER_GROUP, PLACEMENT, owner.namespace, work.placement)
        output = self.world.outputs.get(key)
        surge = None if output is None else surge_in(output.body)
        step = "" if surge is None else surge.step_on(work.cluster)
        if not step:
            return made
        path = ("metadata", "annotations", STEP)
        marked = {key: with_value(body, path, step) for key, body in made.manifests.items()}
        return replace(made, manifests=marked)

    def _earlier(
        self, owner: ObjectKey, wanted: ReplicaSet, record: SetRecord, present: str
    ) -> Iterator[ClusterWork]:
        """Yield what clusters have of templates that came from a hub, as far as it can be read."""
        for work in record.works:
            blob = record.contents.get(work.template, "")
            found = self.world.past.get(blob, ()) if work.template != present else ()
            templates = (mapping(manifest.body, "spec") for manifest in found)
            template = next((t for t in templates if template_id(t) == work.template), None)
            if template is not None:
                sources = record.sources(work.template)
                earlier = _Brought(replace(wanted, template=template), work.template, sources)
                yield _work(owner, earlier, work)

    def reach(self, owner: ObjectKey, /) -> Reach:
        """Return the objects of the templates that clusters have."""
        output, manifest = self.world.outputs.get(owner), self.world.inputs.get(owner)
        if output is None:
            return {}
        record = decode_record(output.body)
        wanted = None if manifest is None else standing_set(manifest)
        present = "" if wanted is None else template_id(wanted.template)
        brought = None if wanted is None else self._brought(owner, wanted, record)
        objects: dict[ClusterName, tuple[ObjectKey, ...]] = {}
        for work in record.works:
            sources = record.sources(work.template)
            if brought is not None and work.template == present:
                version = brought(work.cluster)
                sources = (
                    version.sources
                    if isinstance(version, _Brought)
                    else (*sources, UNKNOWN_OBJECTS)
                )
            objects[work.cluster] = (*objects.get(work.cluster, ()), *sources)
        return objects

    def bringers(self, source: ObjectKey, /) -> Iterable[ObjectKey]:
        """Return the sets with an object in a template that a cluster has."""
        for manifest in self.world.outputs_of_kind((WORK_GROUP, REPLICA_SET)):
            templates = decode_record(manifest.body).templates or {}
            if any(source in sources for sources in templates.values()) or (
                manifest.key in self.staged()
                and any(source in sources for sources in self.reach(manifest.key).values())
            ):
                yield manifest.key

    def content(self, source: ObjectKey, /) -> PlacedContent | None:
        """Return the template of a set, on its clusters; what a set brings stands in the set."""
        output, manifest = self.world.outputs.get(source), self.world.inputs.get(source)
        if source[:2] != (WORK_GROUP, REPLICA_SET) or output is None or manifest is None:
            return None
        wanted, record = standing_set(manifest), decode_record(output.body)
        works = {one.cluster: one for one in reversed(record.works)}
        return PlacedContent(
            clusters=frozenset(works),
            content=lambda: wanted.content,
            copies=partial(_REPORTED, source, wanted, works, self.world.known.scopes),
            rolled_out_by=source if wanted.rolls_out else None,
        )

    def unmarked(self, owner: ObjectKey, /) -> Reach:
        """Return what the present template orphans on clusters that had another one."""
        output, manifest = self.world.outputs.get(owner), self.world.inputs.get(owner)
        if output is None or manifest is None:
            return {}
        record, spec = decode_record(output.body), mapping(manifest.body, "spec")
        template = defaulted_spec(mapping(spec, "manifestWorkTemplate"))
        present = template_id(template)
        everything = text(mapping(template, "deleteOption"), "propagationPolicy") == "Orphan"
        meant = orphans(template, record.sources(present))
        objects: dict[ClusterName, tuple[ObjectKey, ...]] = {}
        for work in record.works:
            had = record.sources(work.template) if work.template != present else ()
            asked = had if everything else tuple(source for source in had if source in meant)
            if asked:
                objects[work.cluster] = (*objects.get(work.cluster, ()), *asked)
        return objects


_REPORTED: Callable[..., Sequence[CopyReport | None]] = late(
    "reconciler.dialects.ocm.manifestworkreplicaset.reports", "reported_copies"
)


def _in_several(owner: ObjectKey, record: SetRecord) -> Iterator[str]:
    """Yield that clusters are in several placements of a set, whose strategies overtake another.

    Such a cluster has a work for each, as upstream has it.
    """
    placements: dict[ClusterName, list[str]] = {}
    for work in record.works:
        placements.setdefault(work.cluster, []).append(work.placement)
    shared = {name: each for name, each in placements.items() if len(each) > 1}
    if shared:
        named = enumerated(sorted({one for each in shared.values() for one in each}), NAMED)
        yield (
            f"{owner} goes to {enumerated(sorted(shared), NAMED)} by several of its placements "
            f"({named}): whichever rolls out first there does not wait for the others"
        )


@dataclass(frozen=True, slots=True)
class _Brought:
    """A set with the template that a cluster has: by what that is known, and what is in it.

    `mark` is what copies bear of a version that is staged, `""` where none is.
    """

    wanted: ReplicaSet
    template: str
    sources: tuple[ObjectKey, ...]
    mark: str = ""


def _work(owner: ObjectKey, brought: _Brought, work: WorkRecord) -> ClusterWork:
    """Return what one cluster gets.

    Source: ocm@00f84c3 pkg/work/hub/controllers/manifestworkreplicasetcontroller
    `CreateManifestWork`; the annotation is ours.
    """
    wanted, sources, mark = brought.wanted, brought.sources, brought.mark
    workload = {
        n: one for n, one in mapping(wanted.template, "workload").items() if n != "manifests"
    }
    carrier: Body = {
        "apiVersion": API_VERSION,
        "kind": WORK,
        "metadata": {
            "name": work.name(owner),
            "namespace": work.cluster,
            "labels": wanted.labels_for(work.placement),
            "annotations": {TEMPLATE: brought.template},
        },
        "spec": {**wanted.template, "workload": workload},
    }
    manifests = dict(zip(sources, manifests_of(wanted.template), strict=True))
    if mark:
        path = ("metadata", "annotations", CONTENT)
        manifests = {key: with_value(body, path, mark) for key, body in manifests.items()}
    return ClusterWork(
        cluster=work.cluster,
        carrier=carrier,
        fill=fill_work,
        manifests=manifests,
        asked=asked_of_objects(wanted.template, sources),
    )


@dataclass(slots=True, eq=False)
class OcmRenderers:
    """The renderers of one world after the other, which share the names of the clusters."""

    names: AnswerCache[None, tuple[ClusterName, ...]] = field(default_factory=AnswerCache)
    staged: AnswerCache[None, StagedVersions] = field(default_factory=AnswerCache)

    def of(self, world: World, _settings: Settings, /) -> OcmRenderer:
        """Return the renderer of a world."""
        clusters = world.of_kind(*CLUSTER)
        names = self.names.recall(None, (clusters,), partial(_names, clusters))
        forget(self)
        records = world.outputs_of_kind(STAGED_DELIVERY)
        return OcmRenderer(world, names, partial(self._staged, records))

    def _staged(self, records: Sequence[Manifest]) -> StagedVersions:
        """Return who has the versions of which object."""
        return self.staged.recall(None, (records,), partial(staged_versions, records))

    def affected(self, before: World, now: World, /) -> Affected:
        """Return the sets that changed, or of which a pass changed what they have where."""
        inputs, outputs = (
            differing_keys(now.inputs, before.inputs),
            differing_keys(now.outputs, before.outputs),
        )
        keys = (*inputs, *outputs, *given_otherwise(before, now))
        return Affected({*_sets(keys), *_stepped(before, now, outputs)})


def _stepped(before: World, now: World, outputs: Iterable[ObjectKey]) -> Iterator[ObjectKey]:
    """Yield the sets of placements of which a step began or ended."""
    moved = {
        key
        for key in outputs
        if key[:2] == (CLUSTER_GROUP, PLACEMENT)
        for one in (before.outputs.get(key), now.outputs.get(key))
        if one is not None and surge_in(one.body) is not None
    }
    for manifest in now.of_kind(WORK_GROUP, REPLICA_SET) if moved else ():
        referred = bodies(mapping(manifest.body, "spec"), "placementRefs")
        owners = (
            ObjectKey(CLUSTER_GROUP, PLACEMENT, manifest.key.namespace, text(one, "name"))
            for one in referred
        )
        if not moved.isdisjoint(owners):
            yield manifest.key


def _names(clusters: Iterable[Manifest]) -> tuple[ClusterName, ...]:
    return tuple(ClusterName(one.key.name) for one in clusters)


def past_blobs(world: World) -> Iterator[tuple[str, str]]:
    """Yield the git blobs of templates that clusters have from a hub, each with a path for it."""
    for manifest in world.outputs_of_kind((WORK_GROUP, REPLICA_SET)):
        for blob in decode_record(manifest.body).contents.values():
            yield blob, f"{blob}.yaml"


def _sets(keys: Iterable[ObjectKey]) -> Iterator[ObjectKey]:
    return (key for key in keys if key[:2] == (WORK_GROUP, REPLICA_SET))


WORK_API_VERSION = f"{WORK_GROUP}/v1"
MANAGED_BY = {"app.kubernetes.io/managed-by": "reconciler"}
LONGEST_STEM = 50  # beside the token, in a name that fits into a label
WELL_KNOWN = (
    ("apps/v1", "DaemonSet"),
    ("apps/v1", "Deployment"),
    ("batch/v1", "Job"),
    ("v1", "Pod"),
)
"""Kinds of which agents know by themselves what to report, if they are asked to."""
WELL_KNOWN_STATUS = [{"type": "WellKnownStatus"}]
BUT_REPLICAS: Body = {
    "type": "ServerSideApply",
    "serverSideApply": {
        "force": True,
        "ignoreFields": [{"condition": "OnSpokePresent", "jsonPaths": [".spec.replicas"]}],
    },
}
"""How agents leave the replicas of an object that is there, and set those of a new one."""
TOKEN = 12  # hexadecimal digits of a digest


def as_manifest_work(owner: ObjectKey, work: ClusterWork) -> Body:
    """Return the ManifestWork that carries a work: its own carrier, if that is one."""
    return work.carried if work.carrier.get("kind") == WORK else _wrapped(owner, work)


WRAPS: Wraps = {"manifestworks": as_manifest_work}
"""By the name of the transport."""


def _wrapped(owner: ObjectKey, work: ClusterWork) -> Body:
    """Return a ManifestWork with the manifests of a Work of another API."""
    carrier = text(at(work.carrier, "metadata"), "name")
    stem = owner.name[:LONGEST_STEM].rstrip("-.")
    token = digest([str(owner), carrier]).removeprefix("sha256:")[:TOKEN]
    return {
        "apiVersion": WORK_API_VERSION,
        "kind": WORK,
        "metadata": {
            "name": f"{stem}-{token}",
            "namespace": work.cluster,
            "labels": MANAGED_BY,
        },
        "spec": _spec(work),
    }


def _spec(work: ClusterWork) -> Body:
    """Return a spec that asks for the state of what has any, so that health can follow from it.

    What other APIs ask of the objects is said in the words of this one, as far as it has any.
    """
    asked = [config for source in work.manifests if (config := _config_of(work, source))]
    configs = {"manifestConfigs": asked} if asked else {}
    preserved = any(Instruction.PRESERVED in one for one in work.asked.values())
    deletion = {"deleteOption": {"propagationPolicy": "Orphan"}} if preserved else {}
    return {**deletion, **configs, "workload": {"manifests": list(work.manifests.values())}}


def _config_of(work: ClusterWork, source: ObjectKey) -> Body:
    """Return how agents deal with an object, empty where nothing is to be said of that."""
    manifest = work.manifests[source]
    feedback = {"feedbackRules": WELL_KNOWN_STATUS} if _kind_of(manifest) in WELL_KNOWN else {}
    retained = Instruction.REPLICAS_RETAINED in work.asked.get(source, NO_INSTRUCTIONS)
    update = {"updateStrategy": BUT_REPLICAS} if retained else {}
    if not feedback and not update:
        return {}
    return {**feedback, "resourceIdentifier": _identifier_of(manifest), **update}


def _kind_of(manifest: Body) -> tuple[str, str]:
    return text(manifest, "apiVersion"), text(manifest, "kind")


def _identifier_of(manifest: Body) -> Body:
    api_version, kind = _kind_of(manifest)
    metadata = at(manifest, "metadata")
    return {
        "group": group_of(api_version),
        "name": text(metadata, "name"),
        "namespace": text(metadata, "namespace"),
        "resource": plural_of(kind),
    }


ORPHANS = frozenset({"Orphan", "SelectivelyOrphan"})
STRATEGIES = {
    "CreateOnly": Instruction.CREATE_ONLY,
    "ReadOnly": Instruction.READ_ONLY,
}
Resource = tuple[str, str, str, str]
"""Group, plural, namespace and name, as a template names an object."""


def asked_by_template(template: Body) -> Iterator[tuple[str, Instruction]]:
    """Yield what a template asks as it is written, each with its JSON pointer in it.

    Source: ocm@00f84c3 open-cluster-management.io/api work/v1/types.go `ManifestWorkSpec`.
    """
    if mapping(template, "executor"):
        yield "/executor", Instruction.EXECUTOR
    if text(mapping(template, "deleteOption"), "propagationPolicy") in ORPHANS:
        yield "/deleteOption/propagationPolicy", Instruction.ORPHAN
    for n, config in enumerate(bodies(template, "manifestConfigs")):
        for pointer, instruction in _asked_by_strategy(mapping(config, "updateStrategy")):
            yield f"/manifestConfigs/{n}/updateStrategy{pointer}", instruction


def _asked_by_strategy(strategy: Body) -> Iterator[tuple[str, Instruction]]:
    kind = text(strategy, "type")
    if kind in STRATEGIES:
        yield "/type", STRATEGIES[kind]
    if kind != "ServerSideApply":
        return
    apply = mapping(strategy, "serverSideApply")
    if bodies(apply, "ignoreFields"):
        yield "/serverSideApply/ignoreFields", Instruction.IGNORED_FIELDS
    if flag_or_none(apply, "force") is not True:
        yield "/type", Instruction.UNFORCED


def asked_of_objects(template: Body, sources: Sequence[ObjectKey]) -> Instructions:
    """Return what is asked of each object of a template, none of those of which nothing is.

    Args:
        template: With its manifests.
        sources: Who these are, in their order.
    """
    instructions: defaultdict[ObjectKey, set[Instruction]] = defaultdict(set)
    named = {
        _resource(manifest): source
        for source, manifest in zip(sources, manifests_of(template), strict=False)
    }
    for config in bodies(template, "manifestConfigs"):
        source = named.get(_identifier(mapping(config, "resourceIdentifier")))
        if source is not None:
            strategy = mapping(config, "updateStrategy")
            instructions[source].update(one for _, one in _asked_by_strategy(strategy))
    for source in orphans(template, sources):
        instructions[source].add(Instruction.ORPHAN)
    if mapping(template, "executor"):
        for source in sources:
            instructions[source].add(Instruction.EXECUTOR)
    return {source: frozenset(asked) for source, asked in instructions.items() if asked}


def orphans(template: Body, sources: Sequence[ObjectKey]) -> tuple[ObjectKey, ...]:
    """Return the objects of a template that are to outlive it."""
    option = mapping(template, "deleteOption")
    policy = text(option, "propagationPolicy")
    if policy not in ORPHANS:
        return ()
    if policy == "Orphan":
        return tuple(sources)
    rules = bodies(mapping(option, "selectivelyOrphans"), "orphaningRules")
    meant = {_identifier(rule) for rule in rules}
    pairs = zip(sources, manifests_of(template), strict=False)
    return tuple(source for source, manifest in pairs if _resource(manifest) in meant)


def _identifier(body: Body) -> Resource:
    return text(body, "group"), text(body, "resource"), text(body, "namespace"), text(body, "name")


def _resource(manifest: Body) -> Resource:
    metadata, kind = at(manifest, "metadata"), text(manifest, "kind")
    group = group_of(text(manifest, "apiVersion"))
    return group, plural_of(kind), text(metadata, "namespace"), text(metadata, "name")
