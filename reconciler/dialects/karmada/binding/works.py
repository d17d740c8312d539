"""A binding or Namespace rendered as upstream renders it into Works: what each cluster gets.

The targets of a binding are its own clusters and those of the bindings that require it; a Namespace
goes to every cluster by itself. Each manifest is revised for its cluster and overridden, and gets
the labels and annotations by which Karmada's agents recognize it and its Work. Upstream's agents
and tools know a manifest by the name of its Work.

After a failover the new copy gets the state of the application, as labels of the last eviction.
Policies and workloads may also ask that something does not happen to copies on clusters.
"""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence

from reconciler.dialects.karmada.api.binding_spec import BindingSpec
from reconciler.dialects.karmada.api.cluster import Members, TargetCluster
from reconciler.dialects.karmada.api.names import execution_namespace
from reconciler.dialects.karmada.api.work import (
    NO_MARKS,
    NOTED_GENERATION,
    HubMarks,
    asked_by_policy,
    encode_dispatch,
    is_suspended_on,
)
from reconciler.dialects.karmada.api.workload import BUILT_IN, CustomKinds
from reconciler.dialects.karmada.binding.replicas import completions_by_cluster, pruned, revised
from reconciler.dialects.karmada.overridemanager.overriders import string_map
from reconciler.dialects.karmada.overridemanager.overrides import (
    Overridden,
    OverridePolicies,
    Overrides,
    applied_annotations,
)
from reconciler.dialects.renderer import (
    NO_INSTRUCTIONS,
    ClusterWork,
    Instruction,
    NotRendered,
    fill_work,
)
from reconciler.errors import UserError
from reconciler.manifests.secrets import has_open_checksum, is_encrypted, is_secret
from reconciler.manifests.text.emitter import Filled
from reconciler.model.body import Body
from reconciler.model.fields import at, text, with_value
from reconciler.model.identity import ClusterName, ObjectKey
from reconciler.model.records import dataclass, field
from reconciler.model.remembered import Same
from reconciler.model.text import built_name
from reconciler.rebalance.surge import STEP
from reconciler.schedule.apportion import fnv1a_32
from reconciler.staging.staged_delivery import CONTENT


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendering:
    """What rendering asks beside the binding and its workload.

    Attributes:
        members: The fleet.
        overrides: The override policies.
        custom_kinds: Where custom kinds keep their replicas.
        identified: Whether Works have permanent ids, and manifests the marks of their claim, which
            upstream adds elsewhere than where it renders.
        keeps_state: Whether labels of an application that fails over follow it (upstream's feature
            gate StatefulFailoverInjection, off by default).
    """

    members: Members
    overrides: OverridePolicies = field(default_factory=OverridePolicies)
    custom_kinds: CustomKinds = BUILT_IN
    identified: bool = True
    keeps_state: bool = False

    @property
    def positions(self) -> Mapping[ClusterName, int]:
        """The place of each cluster in the fleet."""
        return self.members.fleet.position


@dataclass(frozen=True, slots=True)
class RenderedBinding:
    """A binding that is rendered.

    Attributes:
        workload: The key of its workload.
        permanent_id: By which Works name the binding.
        claim: Labels and annotations of the policy that claims it.
        marks: What it keeps of a hub.
        policy: The policy that claims it, as it is written, `None` if there is none.
        version: The version of its workload, `""` where nobody stages that.
    """

    namespace: str
    name: str
    spec: BindingSpec
    workload: ObjectKey
    permanent_id: str
    claim: tuple[Mapping[str, str], Mapping[str, str]] = ({}, {})
    marks: HubMarks = NO_MARKS
    policy: Body | None = None
    version: str = ""


def render_binding(
    binding: RenderedBinding,
    targets: Sequence[TargetCluster],
    template: Body,
    rendering: Rendering,
) -> Iterator[ClusterWork | NotRendered]:
    """Yield what each cluster of a binding gets, or why it gets nothing new.

    Args:
        binding: The binding as it was decided.
        targets: Its clusters, as `merged_targets` has them.
        template: Its workload.
        rendering: All else.

    Source: karmada@f8fdd02 pkg/controllers/binding/common.go `ensureWork`. The clusters of one
    binding fail alone, but where the completions of a Job are no number.
    """
    try:
        completions = completions_by_cluster(template, binding.spec, targets)
    except UserError as error:
        yield from (NotRendered(target.name, error.message) for target in targets)
        return
    if rendering.identified:
        template = claimed(template, *binding.claim)
    state = carried_state(binding.spec, targets) if rendering.keeps_state else {}
    contents = _Contents(binding, template, state, rendering)
    for target in targets:
        position = rendering.positions.get(target.name)
        if position is None:
            missing = f'clusters.cluster.karmada.io "{target.name}" not found'
            yield NotRendered(target.name, missing)
            continue
        try:
            yield contents.work(target, position, completions.get(target.name))
        except UserError as error:
            yield NotRendered(target.name, error.message)


@dataclasses.dataclass(slots=True, eq=False)
class _Contents:
    """What the clusters of one binding get; what several get alike is computed once."""

    binding: RenderedBinding
    template: Body
    state: Mapping[str, str]
    rendering: Rendering
    _revised: dict[tuple[int, int | None], Body] = dataclasses.field(default_factory=dict)
    _alike: dict[object, "_Content"] = dataclasses.field(default_factory=dict)
    _overrides: Overrides = dataclasses.field(init=False)
    _overridden: bool = False
    _dispatch: Body | None = None

    def __post_init__(self) -> None:
        if not self.binding.spec.suspension:
            self._dispatch = encode_dispatch(self.binding.spec, ClusterName(""))
        self._overrides = Overrides(self.rendering.overrides, self.rendering.members)
        self._overridden = self.rendering.overrides.some

    def work(self, target: TargetCluster, position: int, completions: int | None) -> ClusterWork:
        """Return the Work of a cluster."""
        step = self._step(target.name)
        alike: object = (target.replicas, completions, step)
        if self._overridden or alike not in self._alike:
            overridden = self._overrides.apply(self._share(target, completions), position)
            if self._overridden:
                alike = (
                    Same(overridden.manifest),
                    overridden.cluster_wide,
                    overridden.namespaced,
                    step,
                )
            if alike not in self._alike:
                self._alike[alike] = self._content(overridden, step)
        shared = self._alike[alike]
        work = shared.work
        if self._dispatch is None:
            work = {**work, "spec": encode_dispatch(self.binding.spec, target.name)}
        identified = self.rendering.identified
        work_id = self.binding.marks.work_id(target.name, shared.name) if identified else None
        manifest = marked_at(shared.manifest, target.name, work_id)
        workload = self.binding.workload
        asked = shared.asked | asked_on(self.binding.spec, target.name)
        return ClusterWork(
            cluster=target.name,
            carrier=at_cluster(work, target.name, work_id),
            fill=fill_work,
            manifests={workload: manifest},
            asked={workload: asked} if asked else {},
        )

    def _step(self, cluster: ClusterName) -> str:
        """Return the moment of the step whose surge a cluster has, `""` if it has none."""
        surge = self.binding.spec.surge
        return "" if surge is None else surge.step_on(cluster)

    def _share(self, target: TargetCluster, completions: int | None) -> Body:
        """Return the workload with the replicas and completions of a cluster."""
        share = (target.replicas, completions)
        if share not in self._revised:
            content = _revised(
                self.template, self.binding.spec, target, self.rendering.custom_kinds
            )
            if completions is not None:
                content = with_value(content, ("spec", "completions"), completions)
            self._revised[share] = content
        return self._revised[share]

    def _content(self, overridden: Overridden, step: str) -> "_Content":
        """Return what clusters with these overrides get, but for what names the cluster.

        Step and version come after the marks of ours have been left out that a workload may have
        itself.
        """
        binding = self.binding
        labels, named = binding_marks(binding.namespace, binding.name, binding.permanent_id)
        labels = {**labels, **(OPEN_ID if self.rendering.identified else {})}
        named = {**named, CONFLICT: conflict_resolution(overridden.manifest, binding.spec)}
        manifest = marked(overridden.manifest, {**labels, **self.state}, named)
        work = work_of(overridden.manifest, labels, {**named, **applied_annotations(overridden)})
        work = {**work, "spec": self._dispatch or {}}
        asked = asked_of_copies(overridden.manifest, binding.spec, binding.policy)
        marks = {STEP: step} if step else {}
        marks |= {CONTENT: binding.version} if binding.version else {}
        manifest = claimed(pruned(manifest), {}, marks)
        return _Content(with_managed_lists(manifest), work, name_of(overridden.manifest), asked)


@dataclass(frozen=True, slots=True)
class _Content:
    """A manifest and its Work that name no cluster yet, the name of the Work, and what is asked."""

    manifest: Body
    work: Body
    name: str
    asked: frozenset[Instruction]


def _revised(
    template: Body, binding: BindingSpec, target: TargetCluster, custom_kinds: CustomKinds
) -> Body:
    """Return a workload with the replicas of a cluster; one without replicas as it is."""
    return revised(template, target.replicas, custom_kinds) if binding.is_workload else template


def render_namespace(
    namespace: Body, key: ObjectKey, rendering: Rendering
) -> Iterator[ClusterWork | NotRendered]:
    """Yield what each cluster of the fleet gets of a Namespace, or why it gets nothing new.

    Source: karmada@f8fdd02 pkg/controllers/namespace/namespace_sync_controller.go `buildWorks`.
    """
    members, identified = rendering.members, rendering.identified
    labels = OPEN_ID if identified else {}
    overrides = Overrides(rendering.overrides, members)
    for position, cluster in enumerate(members.fleet.names):
        try:
            overridden = overrides.apply(namespace, position)
        except UserError as error:
            yield NotRendered(cluster, error.message)
            continue
        manifest = with_managed_lists(pruned(marked(overridden.manifest, labels, {})))
        work = work_of(overridden.manifest, labels, applied_annotations(overridden) or None)
        name = name_of(overridden.manifest)
        work_id = NO_MARKS.work_id(cluster, name) if identified else None
        yield ClusterWork(
            cluster=cluster,
            carrier=at_cluster(work, cluster, work_id),
            fill=fill_work,
            manifests={key: marked_at(manifest, cluster, work_id)},
        )


API_VERSION = "work.karmada.io/v1alpha1"
CONFLICT = "work.karmada.io/conflict-resolution"
FINALIZER = "karmada.io/execution-controller"
MANAGED = "karmada.io/managed"
MANAGED_ANNOTATIONS = "resourcetemplate.karmada.io/managed-annotations"
MANAGED_LABELS = "resourcetemplate.karmada.io/managed-labels"
UID = "resourcetemplate.karmada.io/uid"
WORK_NAME = "work.karmada.io/name"
WORK_NAMESPACE = "work.karmada.io/namespace"
WORK_ID = "work.karmada.io/permanent-id"
OPEN_ID: Mapping[str, str] = {WORK_ID: ""}
"""The label by which a Work and its manifest are known; the webhook of Works gives it upstream."""
ID_AT = ("metadata", "labels", WORK_ID)
NAMED_AT = ("metadata", "annotations", WORK_NAMESPACE)
"""Where a manifest names its cluster."""
WORK_NAMED_AT = ("metadata", "namespace")
"""Where a Work does."""

Texts = Mapping[str, str]


def binding_marks(namespace: str, name: str, permanent_id: str) -> tuple[Texts, Texts]:
    """Return the labels and annotations by which a manifest names its binding.

    Source: karmada@f8fdd02 pkg/controllers/binding/common.go `mergeLabel`, `mergeAnnotations`.
    """
    if namespace:
        prefix = "resourcebinding.karmada.io"
        named = {f"{prefix}/namespace": namespace, f"{prefix}/name": name}
    else:
        prefix = "clusterresourcebinding.karmada.io"
        named = {f"{prefix}/name": name}
    return {f"{prefix}/permanent-id": permanent_id}, named


def conflict_resolution(manifest: Body, binding: BindingSpec) -> str:
    """Return what happens where a cluster has an object of that name already.

    Source: karmada@f8fdd02 pkg/controllers/binding/common.go `mergeConflictResolution`.
    """
    wished = (string_map(at(manifest, "metadata").get("annotations")) or {}).get(CONFLICT)
    if wished in {"abort", "overwrite"}:
        return str(wished)
    return "overwrite" if binding.conflict_resolution == "Overwrite" else "abort"


def claimed(template: Body, labels: Texts, annotations: Texts) -> Body:
    """Return a workload with the labels and annotations of the policy that claims it.

    So overrides meet them, as they do upstream.

    Source: karmada@f8fdd02 pkg/detector/claim.go `AddPPClaimMetadata`, `AddCPPClaimMetadata`.
    """
    metadata = template.get("metadata", {})
    if not isinstance(metadata, Mapping) or not (labels or annotations):
        return template
    own = {**(string_map(metadata.get("labels")) or {}), **labels}
    notes = {**(string_map(metadata.get("annotations")) or {}), **annotations}
    return {**template, "metadata": {**metadata, "labels": own, "annotations": notes}}


def marked(manifest: Body, labels: Texts, annotations: Texts) -> Body:
    """Return a manifest with what names its Work, beside labels and annotations of its binding.

    What names the cluster and the Work there is left open; `marked_at` fills it in.

    Where the metadata is no mapping, nothing can be written.

    Source: karmada@f8fdd02 pkg/controllers/binding/common.go `ensureWork`, pkg/util/helper/work.go
    `CreateOrUpdateWork`.
    """
    metadata = manifest.get("metadata", {})
    if not isinstance(metadata, Mapping):
        return manifest
    generation = metadata.get("generation")
    counted = isinstance(generation, int) and generation > 0
    notes = {
        **(string_map(metadata.get("annotations")) or {}),
        **annotations,
        **({NOTED_GENERATION: str(generation)} if counted else {}),
        UID: _text(metadata, "uid"),
        WORK_NAME: name_of(manifest),
        WORK_NAMESPACE: "",
    }
    own = {**(string_map(metadata.get("labels")) or {}), **labels, MANAGED: "true"}
    return {**manifest, "metadata": {**metadata, "labels": own, "annotations": notes}}


def marked_at(manifest: Body, cluster: ClusterName, work_id: str | None) -> Body:
    """Return a manifest with the name of the cluster that it is for, and the id of its Work.

    Without an id, `None`, it has no label of that name either.
    """
    if not isinstance(manifest.get("metadata"), Mapping):
        return manifest
    return _filled(manifest, NAMED_AT, cluster, work_id)


def with_managed_lists(manifest: Body) -> Body:
    """Return a manifest that lists its labels and annotations, so that those that go are known.

    Source: karmada@f8fdd02 pkg/util/annotation.go `RecordManagedAnnotations`, label.go
    `RecordManagedLabels`.
    """
    metadata = manifest.get("metadata")
    if not isinstance(metadata, Mapping):
        return manifest
    annotations, labels = at(metadata, "annotations"), at(metadata, "labels")
    names = sorted({*annotations, MANAGED_ANNOTATIONS, MANAGED_LABELS})
    notes = {
        **annotations,
        MANAGED_ANNOTATIONS: ",".join(names),
        MANAGED_LABELS: ",".join(sorted(labels)),
    }
    return {**manifest, "metadata": {**metadata, "annotations": notes}}


def name_of(manifest: Body) -> str:
    """Return the name of the Work that carries a manifest."""
    metadata = at(manifest, "metadata")
    return work_name(text(manifest, "kind"), _text(metadata, "namespace"), _text(metadata, "name"))


def work_of(manifest: Body, labels: Texts, annotations: Texts | None) -> Body:
    """Return a Work without its manifests, of no cluster yet.

    Source: karmada@f8fdd02 pkg/util/helper/work.go `CreateOrUpdateWork`.
    """
    return {
        "apiVersion": API_VERSION,
        "kind": "Work",
        "metadata": {
            "name": name_of(manifest),
            "namespace": "",
            "labels": labels or None,
            "annotations": annotations,
            "finalizers": [FINALIZER],
        },
        "spec": {},
    }


def at_cluster(work: Body, cluster: ClusterName, work_id: str | None) -> Body:
    """Return a Work in the namespace of a cluster, with its permanent id if it has one."""
    return _filled(work, WORK_NAMED_AT, cluster, work_id)


def _filled(body: Body, place: tuple[str, ...], cluster: ClusterName, work_id: str | None) -> Body:
    space = execution_namespace(cluster)
    if work_id is None:
        return Filled(body, (place,), (space,))
    return Filled(body, (place, ID_AT), (space, work_id))


def _text(body: Body, field: str) -> str:
    value = body.get(field)
    return value if isinstance(value, str) else ""


_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"


def work_name(kind: str, namespace: str, name: str) -> str:
    """Return the name of the Work of a manifest.

    Source: karmada@f8fdd02 pkg/util/names/names.go `GenerateWorkName`.

    >>> work_name("Deployment", "default", "web")
    'web-7b7cc5b9ff'
    """
    plain = name.lower().replace(":", ".")
    hashed = f"{namespace}-{plain}-{kind}" if namespace else f"{plain}-{kind}"
    digits = str(fnv1a_32(hashed.lower()))
    token = "".join(_ALPHABET[ord(digit) % len(_ALPHABET)] for digit in digits)
    candidate = f"{plain}-{token}"
    # Unlike upstream: a name that its API server would refuse is mended, if there is one at all.
    return built_name(candidate, f"{kind} {namespace}/{name}") if name else candidate


def carried_state(binding: BindingSpec, targets: Sequence[TargetCluster]) -> Mapping[str, str]:
    """Return the labels that an application takes along to the one cluster that it fails over to.

    Source: karmada@f8fdd02 pkg/controllers/binding/common.go `injectReservedLabelState`.
    """
    if len(targets) != 1 or not binding.tasks:
        return {}
    task = binding.tasks[-1]
    return {} if targets[0].name in task.clusters_before_failover else task.carried_labels


def merged_targets(binding: BindingSpec) -> tuple[TargetCluster, ...]:
    """Return what each cluster of a binding is to have, in upstream's order.

    A cluster that several snapshots name has the replicas of the first.

    Source: karmada@f8fdd02 pkg/controllers/binding/common.go `mergeTargetClusters`.
    """
    targets: dict[ClusterName, TargetCluster] = {one.name: one for one in binding.copies}
    for snapshot in binding.required_by:
        for target in snapshot.clusters:
            targets.setdefault(target.name, target)
    return tuple(targets.values())


def kept_clusters(binding: BindingSpec) -> frozenset[ClusterName]:
    """Return where what is there may stay: the targets, and what is left gracefully.

    Source: karmada@f8fdd02 pkg/util/helper/binding.go `FindOrphanWorks`,
    `ObtainBindingSpecExistingClusters`.
    """
    names = {task.from_cluster for task in binding.tasks if not task.directly}
    for clusters in (binding.copies, *(one.clusters for one in binding.required_by)):
        names.update(target.name for target in clusters)
    return frozenset(names)


def leaving_targets(binding: BindingSpec) -> tuple[TargetCluster, ...]:
    """Return the clusters that are left gracefully, with what the eviction says they had.

    Unlike upstream, where their Works are there already: a transport may be new here, and what no
    file says nobody would delete in the end.
    """
    return tuple(
        TargetCluster(task.from_cluster, (task.replicas or binding.replicas or 0))
        for task in binding.tasks
        if not task.directly
    )


RETAIN = Instruction.REPLICAS_RETAINED.value


def asked_by_workload(manifest: Body) -> Iterator[tuple[str, Instruction]]:
    """Yield what a workload itself asks, each with its JSON pointer.

    Unlike upstream: replicas are retained of every kind that has `spec.replicas`, where its agents
    know some kinds only.

    Source: karmada@f8fdd02 pkg/resourceinterpreter/default/native/retain.go
    `retainWorkloadReplicas`; pkg/controllers/binding/common.go `mergeConflictResolution`.
    """
    metadata = at(manifest, "metadata")
    labels, annotations = metadata.get("labels"), metadata.get("annotations")
    if (string_map(labels) or {}).get(RETAIN) == "true" and "replicas" in at(manifest, "spec"):
        pointer = "/metadata/labels/resourcetemplate.karmada.io~1retain-replicas"
        yield pointer, Instruction.REPLICAS_RETAINED
    if (string_map(annotations) or {}).get(CONFLICT) == "abort":
        yield "/metadata/annotations/work.karmada.io~1conflict-resolution", Instruction.ABORTS
    if is_secret(manifest) and is_encrypted(manifest) and has_open_checksum(manifest):
        yield "/sops/mac", Instruction.CHECKSUM


def asked_of_copies(
    manifest: Body, binding: BindingSpec, policy: Body | None
) -> frozenset[Instruction]:
    """Return what is asked of the copies of a workload, but for what is asked of one cluster.

    Args:
        manifest: The workload, overrides applied.
        binding: Its binding.
        policy: The policy that claims it, as it is written, `None` if there is none.
    """
    instructions = {instruction for _, instruction in asked_by_workload(manifest)}
    if binding.preserve_resources_on_deletion:
        instructions.add(Instruction.PRESERVED)
    written = () if policy is None else asked_by_policy(policy)
    if any(one is Instruction.ABORTS for _, one in written):
        instructions.add(Instruction.ABORTS)
    return frozenset(instructions)


def asked_on(binding: BindingSpec, cluster: ClusterName) -> frozenset[Instruction]:
    """Return what is asked of one cluster alone."""
    if binding.suspension and is_suspended_on(binding.suspension, cluster):
        return frozenset({Instruction.SUSPENDED})
    return NO_INSTRUCTIONS
