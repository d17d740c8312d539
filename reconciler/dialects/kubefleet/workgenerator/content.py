"""What the resource snapshots of one placement hold, and the files of it that a pass left.

Snapshots name the git blob of each object, and no content; the content is read from there. An
envelope holds objects that a cluster gets and that do nothing in the repository itself. The
overrides that concern the content are found with it. Bindings and snapshots are found by their
names among all outputs.

A Namespace goes along where a placement of a namespace has something and none brings it. Unlike
upstream, where such a namespace must be on the cluster before. One that a placement of the whole
fleet selects comes with that one.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from operator import attrgetter

from reconciler.dialects.kubefleet.api.binding import (
    PLACEMENT_PART,
    Binding,
    decode_binding,
    resource_snapshot_of,
)
from reconciler.dialects.kubefleet.api.names import (
    API_VERSION,
    BINDINGS,
    BOUND,
    CLUSTER_SCOPED,
    NAMESPACE,
    NAMESPACED,
    PARENT,
    PLACEMENT_GROUP,
    RESOURCE_SNAPSHOTS,
    RUNS,
    UNSCHEDULED,
    VERSIONS,
    go_json,
    hash_of,
    kinds_in,
    named_in,
    placement_key,
    sorted_keys,
    subject_of,
)
from reconciler.dialects.kubefleet.api.placement import abandons, asked_by_strategy
from reconciler.dialects.kubefleet.api.snapshots import (
    SnapshotEntry,
    decode_entry,
    decode_resources,
    labels_of,
    readable_entries,
)
from reconciler.dialects.kubefleet.rollout.availability import ROLLED_OUT
from reconciler.dialects.kubefleet.rollout.works import MEMBER_NAMESPACE
from reconciler.dialects.kubefleet.snapshots.overrides import (
    ANY_OVERRIDE,
    SHOWN,
    IsNamespaced,
    MemberLabels,
    Override,
    Overrides,
    OverrideTarget,
    OverrideVersions,
    PastContent,
    overrides_of_cluster,
    overrides_of_placement,
    overrides_read,
    target_of,
)
from reconciler.dialects.kubefleet.snapshots.resource_snapshots import group_index as index_of
from reconciler.dialects.kubefleet.snapshots.resource_snapshots import snapshot_group, strip
from reconciler.dialects.kubefleet.snapshots.selection import (
    ENVELOPES,
    content_of,
)
from reconciler.dialects.reads import Question
from reconciler.dialects.renderer import Instruction
from reconciler.errors import UserError
from reconciler.manifests.admission import without_ours
from reconciler.model.body import Body
from reconciler.model.fields import at, mapping_of, text
from reconciler.model.identity import ClusterName, ObjectKey, group_of
from reconciler.model.records import dataclass, field
from reconciler.model.world import Manifest, World


def is_envelope(manifest: Body) -> bool:
    """Return whether an object is an envelope."""
    return (group_of(text(manifest, "apiVersion")), text(manifest, "kind")) in ENVELOPES


def contents(envelope: Body) -> list[Body]:
    """Return the objects in an envelope, sorted by their JSON, the greatest first.

    Whether an object has a namespace counts, not the scope of its kind.

    Raises:
        UserError: One of them has a namespace and must not, has none, or has another one.

    Source: kubefleet@e160c1c pkg/controllers/workgenerator/envelope.go
    `extractManifestsFromEnvelopeCR`; the sentences about an envelope of a namespace are those of
    the same function in kubefleet@2ef5748, and no vector of e160c1c holds them.
    """
    own = target_of(envelope)
    sources: list[Body] = []
    for name, value in sorted(at(envelope, "data").items()):
        manifest = mapping_of(value)
        target = target_of(manifest)
        named = f"{name} ({_reference(target)})"
        if not own.namespace and target.namespace:
            wrong = f"a namespaced object {named} has been wrapped in a cluster resource envelope"
            raise UserError(f"{wrong} {own.name}")
        if own.namespace and not target.namespace:
            wrong = f"a cluster scope object {named} has been wrapped in a resource envelope"
            raise UserError(f"{wrong} {_reference(own)}")
        if target.namespace != own.namespace:
            wrong = f"a namespaced object {named} in has been wrapped in a resource envelope"
            raise UserError(f"{wrong} from another namespace ({_reference(own)})")
        sources.append(manifest)
    return sorted(sources, key=lambda one: go_json(sorted_keys(one)), reverse=True)


def _reference(target: OverrideTarget) -> str:
    return f"{target.namespace}/{target.name}" if target.namespace else target.name


def targets_of(manifest: Body, is_namespaced: IsNamespaced) -> Iterator[OverrideTarget]:
    """Yield what overrides can change of an object: itself, or what is in an envelope.

    Of an envelope in a namespace that is the Namespace, too.

    Source: kubefleet@e160c1c pkg/utils/overrider/overrider.go `collectAllOverrideTargets`.
    """
    own = target_of(manifest)
    if not is_envelope(manifest):
        yield own
        return
    if own.namespace:
        yield OverrideTarget("", "v1", "Namespace", "", own.namespace)
    for value in at(manifest, "data").values():
        target = target_of(mapping_of(value))
        fits = target.namespace == own.namespace or not own.namespace
        if is_namespaced(target) == bool(own.namespace) and fits:
            yield target


@dataclass(slots=True, eq=False)
class PlacementContent:
    """What the snapshots of one placement hold, read once for all its clusters.

    Attributes:
        world: Where it is read from.
        owner: The placement.
        snapshots: Its resource snapshots.
        fleet_overrides: All overrides.
    """

    world: World
    owner: ObjectKey
    snapshots: Sequence[Body]
    fleet_overrides: Overrides
    _contents: dict[tuple[ObjectKey, str], Body] = field(default_factory=dict)
    _overrides: dict[str, list[Override]] = field(default_factory=dict)
    _held: dict[str, Sequence[OverrideTarget]] = field(default_factory=dict)

    def is_namespaced(self, target: OverrideTarget) -> bool:
        """Return whether an object is of a namespaced kind; one of no known kind says it itself."""
        return self.world.known.scopes.get((target.group, target.kind), bool(target.namespace))

    def content(self, entry: SnapshotEntry) -> Body:
        """Return the object that an entry of a snapshot stands for."""
        name = entry.key, entry.hash
        if name not in self._contents:
            self._contents[name] = content_at(self.world, entry)
        return self._contents[name]

    def overrides(self, master: str) -> list[Override]:
        """Return the overrides that concern what a snapshot holds."""
        if not self.fleet_overrides:
            return []
        if master not in self._overrides:
            self._overrides[master] = overrides_of_placement(
                self.fleet_overrides,
                subject_of(self.owner),
                self._targets(master),
                self.is_namespaced,
            )
        return self._overrides[master]

    def asked(self, masters: Iterable[str]) -> Iterator[Question]:
        """Yield what is asked of overrides for what some snapshots hold."""
        for master in set(masters):
            try:
                for target in self._targets(master):
                    own = self.is_namespaced(target)
                    yield from overrides_read(target, namespaced=own)
            except UserError:
                continue  # the placement is told of, and is looked at again by itself

    def holds(self, master: str) -> bool:
        """Return whether a snapshot is there, with all that belong to it."""
        try:
            return bool(snapshot_group(master, self.snapshots))
        except UserError:
            return False

    def sources(self) -> Iterator[ObjectKey]:
        """Yield what any snapshot holds, and what is in its envelopes."""
        for entry in _entries(self.snapshots):
            yield entry.key
            if is_envelope(entry.body):
                for source in self._unpacked(entry):
                    yield ObjectKey(source.group, source.kind, source.namespace, source.name)

    def _unpacked(self, envelope: SnapshotEntry) -> list[OverrideTarget]:
        """Return what is in an envelope, as far as it can be read."""
        try:
            return list(targets_of(self.content(envelope), self.is_namespaced))
        except UserError:
            return []

    def _targets(self, master: str) -> Sequence[OverrideTarget]:
        """Return what a snapshot and those that belong to it hold, as overrides name it."""
        if master not in self._held:
            entries = _entries(snapshot_group(master, self.snapshots))
            unpacked = (targets_of(self.content(e), self.is_namespaced) for e in entries)
            self._held[master] = tuple(chain.from_iterable(unpacked))
        return self._held[master]


def overrides_asked(
    world: World, owner: ObjectKey, outputs: Mapping[ObjectKey, Body], overrides: Overrides
) -> Iterator[Question]:
    """Yield what a placement asks of overrides, for the resources that its bindings are on.

    Args:
        world: Where content is read from.
        owner: The placement.
        outputs: Its files.
        overrides: All overrides; where there are none, only whether one comes is asked.
    """
    yield ANY_OVERRIDE
    if not overrides:
        return
    snapshots, masters = [], set()
    for key, body in outputs.items():
        if key.kind in BINDINGS:
            masters.add(resource_snapshot_of(body))
        elif key.kind in RESOURCE_SNAPSHOTS:
            snapshots.append(body)
    yield from PlacementContent(world, owner, snapshots, overrides).asked(masters - {""})


def overrides_behind(
    content: PlacementContent, binding: Binding, member: MemberLabels | None
) -> list[ObjectKey]:
    """Return the overrides that differ from those that runs brought to a cluster, sorted.

    None where they cannot be told: then delivery, or the next run, says why.

    Args:
        content: Of a placement that runs roll out.
        binding: One of its bindings; only one that is bound has any.
        member: Its cluster, `None` if that is gone.
    """
    has_any = binding.state == BOUND and (binding.overrides or content.fleet_overrides)
    if member is None or not has_any:
        return []
    try:
        now = overrides_of_cluster(content.overrides(binding.resource_snapshot), member)
    except UserError:
        return []
    versions = OverrideVersions(str(binding.annotations.get(VERSIONS, "")))
    return versions.behind(content.world, binding.overrides, now)


def _entries(snapshots: Iterable[Body]) -> Iterator[SnapshotEntry]:
    return chain.from_iterable(map(decode_resources, snapshots))


def content_at(world: World, entry: SnapshotEntry) -> Body:
    """Return the object that an entry of a snapshot stands for, as it was then.

    Raises:
        PastContent: It is another one by now, and what it was cannot be read.
    """
    versions = _present(world, entry) or _past(world, entry)
    if versions is None:
        raise PastContent(
            f"{entry.key} is held on an earlier version{_blob_named(entry)}, "
            "which is not in this repository"
        )
    return stored(versions, ours=_is_older(versions, entry))


def _is_older(manifest: Manifest, entry: SnapshotEntry) -> bool:
    """Return whether a snapshot by rules before 4 holds an object with annotations for us."""
    if without_ours(manifest.body) is manifest.body:
        return False
    return hash_of(content_of(manifest.body, ours=True)) == entry.hash


def _blob_named(entry: SnapshotEntry) -> str:
    return f" (git blob {entry.blob[:SHOWN]})" if entry.blob else ""


def stored(manifest: Manifest, *, ours: bool = False) -> Body:
    """Return what of an object goes to clusters, with its namespace.

    With `ours` as a snapshot by rules before 4 holds it. Its keys are sorted, since a snapshot
    stays the same in whatever order a person writes them.
    """
    body, key = strip(manifest.body, ours=ours), manifest.key
    identity = named_in(key.namespace, key.name)
    return mapping_of(sorted_keys({**body, "metadata": {**at(body, "metadata"), **identity}}))


def _present(world: World, entry: SnapshotEntry) -> Manifest | None:
    """Return the object as it stands in the repository, if that is what the snapshot holds."""
    manifest = world.inputs.get(entry.key)
    if manifest is None:
        return None
    same = world.blobs.get(manifest.origin.path) == entry.blob
    place = manifest.origin.index, manifest.origin.pointer
    if same and place == (entry.document, entry.pointer):
        return manifest
    if hash_of(content_of(manifest.body)) == entry.hash or _is_older(manifest, entry):
        return manifest
    return None


def _past(world: World, entry: SnapshotEntry) -> Manifest | None:
    """Return the object as it stood in a version of its file."""
    place = entry.document, entry.pointer
    for manifest in world.past.get(entry.blob, ()):
        if manifest.key == entry.key and (manifest.origin.index, manifest.origin.pointer) == place:
            return manifest
    return None


def past_blobs(world: World) -> Iterator[tuple[str, str]]:
    """Yield the git blobs from which clusters still have objects that are others by now.

    Each comes with a path under which to read it: that of the object now, if there is one.
    """
    seen: set[tuple[str, str, str]] = set()
    for kind in sorted(BINDINGS):
        for binding in world.outputs_of_kind((PLACEMENT_GROUP, kind)):
            annotations = at(binding.body, "metadata", "annotations")
            yield from OverrideVersions(str(annotations.get(VERSIONS, ""))).blobs(world)
            for name in _snapshots(binding.body):
                snapshot = (binding.key.namespace, kind, name)
                if name and snapshot not in seen:
                    seen.add(snapshot)
                    yield from _needed(world, binding.key.namespace, name)
    for run_kind in sorted(RUNS):
        for run in world.outputs_of_kind(run_kind):
            annotations = at(run.body, "metadata", "annotations")
            yield from OverrideVersions(str(annotations.get(VERSIONS, ""))).blobs(world)


def _snapshots(binding: Body) -> tuple[str, str]:
    """Return the snapshots that a binding may be on: what it says, and what a pass has seen."""
    seen = at(binding, "metadata", "annotations").get(ROLLED_OUT)
    return resource_snapshot_of(binding), str(seen or "")


def _needed(world: World, namespace: str, master: str) -> Iterator[tuple[str, str]]:
    """Yield what a group of snapshots needs; an entry that a person made unreadable is none."""
    with suppress(UserError):  # the placement is a fault in the pass
        for snapshot in snapshots_of_group(world, namespace, master):
            for entry in readable_entries(snapshot):
                with suppress(UserError):
                    yield from _blob_of(world, decode_entry(entry))


def _blob_of(world: World, entry: SnapshotEntry) -> Iterator[tuple[str, str]]:
    """Yield the blob of an entry, if it is not the object as it stands."""
    blob = entry.blob
    if blob and _present(world, entry) is None:
        manifest = world.inputs.get(entry.key)
        yield blob, f"{blob}.yaml" if manifest is None else manifest.origin.path


Along = Mapping[ClusterName, frozenset[Instruction]]
"""The clusters of a Namespace, each with what is asked of it there."""
OF_NAMESPACES = frozenset({Instruction.REPORT_DIFF, Instruction.TAKE_OVER})
LEFT = (BOUND, UNSCHEDULED)


def namespace_key(name: str) -> ObjectKey:
    """Return the key of a Namespace."""
    return ObjectKey(*NAMESPACE, "", name)


def namespaces_along(world: World) -> dict[ObjectKey, Along]:
    """Return the Namespaces that go along, each with its clusters, sorted.

    What all placements ask that have something in it there is asked of the Namespace, too: where
    none of them may apply anything, nor may it be applied. It outlives them if one of them is to be
    outlived, for what is in it would go with it.
    """
    wanted: dict[str, dict[ClusterName, frozenset[Instruction]]] = {}
    for binding in _bindings(world, NAMESPACED.binding):
        clusters = wanted.setdefault(binding.namespace, {})
        asked = asked_by_strategy(
            binding.apply_strategy or {}, abandons=_is_abandoned(world, binding)
        )
        others = clusters.get(binding.target, asked)
        outlived = (asked | others) & {Instruction.ABANDON}
        clusters[binding.target] = (asked & others & OF_NAMESPACES) | outlived
    if not wanted:
        return {}
    held: dict[str, frozenset[str]] = {}
    for binding in _bindings(world, CLUSTER_SCOPED.binding):
        master = binding.resource_snapshot
        if master not in held:
            held[master] = frozenset(_selected(snapshots_of_group(world, "", master)))
        for name in held[master] & wanted.keys():
            wanted[name].pop(binding.target, None)
    clusters_by_namespace = {
        namespace_key(name): dict(sorted(clusters.items()))
        for name, clusters in sorted(wanted.items())
        if clusters
    }
    return {key: clusters for key, clusters in clusters_by_namespace.items() if key in world.inputs}


def _is_abandoned(world: World, binding: Binding) -> bool:
    key = ObjectKey(
        PLACEMENT_GROUP, NAMESPACED.placement, binding.namespace, binding.labels.get(PARENT, "")
    )
    placement = world.inputs.get(key)
    return placement is not None and abandons(placement.body)


def _bindings(world: World, kind: str) -> Iterator[Binding]:
    """Yield the bindings of a kind that have put something onto their cluster."""
    for manifest in world.outputs_of_kind((PLACEMENT_GROUP, kind)):
        binding = decode_binding(manifest.body)
        if binding.state in LEFT and binding.resource_snapshot:
            yield binding


def _selected(snapshots: Iterable[Body]) -> Iterator[str]:
    """Yield the Namespaces that snapshots hold."""
    for key in _entries_of(snapshots):
        if key[:2] == NAMESPACE:
            yield key.name


def _entries_of(snapshots: Iterable[Body]) -> Iterator[ObjectKey]:
    """Yield the objects that snapshots hold."""
    for snapshot in snapshots:
        for entry in decode_resources(snapshot):
            yield entry.key


def namespace_work(name: str, cluster: ClusterName) -> Body:
    """Return the Work that brings a Namespace along, without it."""
    return {
        "apiVersion": API_VERSION,
        "kind": "Work",
        "metadata": {"name": f"namespace.{name}", "namespace": f"{MEMBER_NAMESPACE}{cluster}"},
        "spec": {"workload": {}},
    }


def bindings_of(world: World, placement: ObjectKey) -> list[Binding]:
    """Return the bindings of a placement, by name."""
    return [decode_binding(one.body) for one in binding_outputs(world, placement)]


def binding_outputs(world: World, placement: ObjectKey) -> Iterator[Manifest]:
    """Yield the bindings of a placement as they are written, by name."""
    stem = f"{placement.name[:PLACEMENT_PART]}-"
    return _named(world, kinds_in(placement.namespace).binding, placement, stem)


def snapshots_of_placement(world: World, placement: ObjectKey) -> list[Body]:
    """Return the resource snapshots of a placement, by name."""
    kind = kinds_in(placement.namespace).resource_snapshot
    return [one.body for one in _named(world, kind, placement, f"{placement.name}-")]


def snapshots_of_group(world: World, namespace: str, master: str) -> Iterator[Body]:
    """Yield the snapshots that belong together with a master, itself included."""
    kind = kinds_in(namespace).resource_snapshot
    first = world.outputs.get(ObjectKey(PLACEMENT_GROUP, kind, namespace, master))
    if first is not None:
        placement = placement_key(namespace, labels_of(first.body).get(PARENT, ""))
        for snapshot in snapshots_of_placement(world, placement):
            if index_of(snapshot) == index_of(first.body):
                yield snapshot


def parent_of(output: Manifest) -> ObjectKey:
    """Return the placement that a binding or a snapshot belongs to."""
    return placement_key(output.key.namespace, labels_of(output.body).get(PARENT, ""))


def _named(world: World, kind: str, placement: ObjectKey, stem: str) -> Iterator[Manifest]:
    """Yield the outputs of a kind whose names begin with a stem and whose label says the owner."""
    manifests = world.outputs_of_kind((PLACEMENT_GROUP, kind))
    start = ObjectKey(PLACEMENT_GROUP, kind, placement.namespace, stem)
    begin = bisect_left(manifests, start, key=attrgetter("key"))
    for place in range(begin, len(manifests)):
        manifest = manifests[place]
        if manifest.key.namespace != placement.namespace or not manifest.key.name.startswith(stem):
            return
        if parent_of(manifest) == placement:
            yield manifest
