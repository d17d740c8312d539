"""What sets of ManifestWorks put onto clusters.

A cluster that still has an earlier template keeps what is there until its turn comes; the status
file of the set says which template that is. Of a set that was adopted it says where that template
stands, so that a transport that has nothing there yet gets what its cluster has.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial

from reconciler.dialects.ocm.api.groups import CLUSTER
from reconciler.dialects.ocm.manifestworkreplicaset.asked import asked_of_objects, orphans
from reconciler.dialects.ocm.manifestworkreplicaset.replica_set import (
    GROUP,
    KIND,
    WORK,
    ReplicaSet,
    decode_replica_set,
    defaulted_spec,
    manifests_of,
)
from reconciler.dialects.ocm.manifestworkreplicaset.set_record import (
    TEMPLATE,
    SetRecord,
    WorkRecord,
    clusters_of,
    decode_record,
    template_id,
)
from reconciler.dialects.renderer import Affected, ClusterWork, NotRendered, Reach, Rendered
from reconciler.dialects.work_spec import fill_work
from reconciler.model.body import Body
from reconciler.model.enumeration import enumerated
from reconciler.model.fields import mapping, text
from reconciler.model.identity import ClusterName, ObjectKey
from reconciler.model.keyed_cache import AnswerCache, forget
from reconciler.model.settings import Settings
from reconciler.model.versioned import differing_keys
from reconciler.model.world import Manifest, World

API_VERSION = f"{GROUP}/v1"
NAMED = 3  # clusters and placements that are named in a sentence


@dataclass(frozen=True, slots=True)
class OcmRenderer:
    """The sets of one world; `names` are those of the clusters, sorted."""

    world: World
    names: tuple[ClusterName, ...]

    def owners(self) -> Iterable[ObjectKey]:
        """Return the sets that passes have looked at."""
        return (one.key for one in self.world.outputs_of_kind((GROUP, KIND)))

    def clusters(self) -> tuple[ClusterName, ...]:
        """Return the names of the ManagedClusters."""
        return self.names

    def render(self, owner: ObjectKey, /) -> Rendered | None:
        """Render a set for each cluster that has its present template."""
        output, manifest = self.world.outputs.get(owner), self.world.inputs.get(owner)
        if output is None:
            return None
        record = decode_record(output.body)
        placed = tuple((name, None) for name, _ in clusters_of(record))
        if manifest is None:
            why = f"{owner} is not in the repository any more"
            failed = tuple(NotRendered(name, why) for name, _ in placed)
            return Rendered(path=output.origin.path, failed=failed, placed=placed)
        metadata = {**mapping(manifest.body, "metadata"), "namespace": owner.namespace}
        wanted = decode_replica_set({**manifest.body, "metadata": metadata})
        present = template_id(wanted.template)
        return Rendered(
            path=manifest.origin.path,
            works=tuple(
                _work(owner, wanted, one, record) for one in record.works if one.template == present
            ),
            leaving=tuple(self._earlier(owner, wanted, record, present)),
            kept=frozenset(one.cluster for one in record.works if one.template != present),
            placed=placed,
            warnings=tuple(_in_several(owner, record)),
        )

    def _earlier(
        self, owner: ObjectKey, wanted: ReplicaSet, record: SetRecord, present: str
    ) -> Iterator[ClusterWork]:
        """Yield what clusters have of templates that came from a hub, as far as it can be read."""
        for one in record.works:
            blob = record.contents.get(one.template, "")
            found = self.world.past.get(blob, ()) if one.template != present else ()
            templates = (mapping(manifest.body, "spec") for manifest in found)
            template = next((t for t in templates if template_id(t) == one.template), None)
            if template is not None:
                yield _work(owner, replace(wanted, template=template), one, record)

    def reach(self, owner: ObjectKey, /) -> Reach:
        """Return the objects of the templates that clusters have."""
        output = self.world.outputs.get(owner)
        if output is None:
            return {}
        record = decode_record(output.body)
        found: dict[ClusterName, tuple[ObjectKey, ...]] = {}
        for one in record.works:
            found[one.cluster] = (*found.get(one.cluster, ()), *record.sources(one.template))
        return found

    def bringers(self, source: ObjectKey, /) -> Iterable[ObjectKey]:
        """Return the sets with an object in a template that a cluster has."""
        for one in self.world.outputs_of_kind((GROUP, KIND)):
            templates = decode_record(one.body).templates or {}
            if any(source in sources for sources in templates.values()):
                yield one.key

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
        found: dict[ClusterName, tuple[ObjectKey, ...]] = {}
        for one in record.works:
            had = record.sources(one.template) if one.template != present else ()
            asked = had if everything else tuple(source for source in had if source in meant)
            if asked:
                found[one.cluster] = (*found.get(one.cluster, ()), *asked)
        return found


def _in_several(owner: ObjectKey, record: SetRecord) -> Iterator[str]:
    """Yield that clusters are in several placements of a set, whose strategies overtake another.

    Such a cluster has a work for each, as upstream has it.
    """
    placements: dict[ClusterName, list[str]] = {}
    for one in record.works:
        placements.setdefault(one.cluster, []).append(one.placement)
    found = {name: each for name, each in placements.items() if len(each) > 1}
    if found:
        named = enumerated(sorted({one for each in found.values() for one in each}), NAMED)
        yield (
            f"{owner} goes to {enumerated(sorted(found), NAMED)} by several of its placements "
            f"({named}): whichever rolls out first there does not wait for the others"
        )


def _work(owner: ObjectKey, wanted: ReplicaSet, work: WorkRecord, record: SetRecord) -> ClusterWork:
    """Return what one cluster gets.

    Source: ocm@00f84c3 pkg/work/hub/controllers/manifestworkreplicasetcontroller
    `CreateManifestWork`; the annotation is ours.
    """
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
            "annotations": {TEMPLATE: work.template},
        },
        "spec": {**wanted.template, "workload": workload},
    }
    sources = record.sources(work.template)
    manifests = dict(zip(sources, manifests_of(wanted.template), strict=True))
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

    def of(self, world: World, _settings: Settings, /) -> OcmRenderer:
        """Return the renderer of a world."""
        clusters = world.of_kind(*CLUSTER)
        names = self.names.recall(None, (clusters,), partial(_names, clusters))
        forget(self)
        return OcmRenderer(world, names)

    def affected(self, before: World, now: World, /) -> Affected:
        """Return the sets that changed, or of which a pass changed what they have where."""
        inputs, outputs = (
            differing_keys(now.inputs, before.inputs),
            differing_keys(now.outputs, before.outputs),
        )
        return Affected({*_sets(inputs), *_sets(outputs)})


def _names(clusters: Iterable[Manifest]) -> tuple[ClusterName, ...]:
    return tuple(ClusterName(one.key.name) for one in clusters)


def past_blobs(world: World) -> Iterator[tuple[str, str]]:
    """Yield the git blobs of templates that clusters have from a hub, each with a path for it."""
    for one in world.outputs_of_kind((GROUP, KIND)):
        for blob in decode_record(one.body).contents.values():
            yield blob, f"{blob}.yaml"


def _sets(keys: Iterable[ObjectKey]) -> Iterator[ObjectKey]:
    return (key for key in keys if key[:2] == (GROUP, KIND))
