"""A binding rendered: what each of its clusters gets, as upstream puts it into Works."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from reconciler.dialects.karmada.api.clusters import Members, TargetCluster
from reconciler.dialects.karmada.api.custom_kinds import BUILT_IN, CustomKinds
from reconciler.dialects.karmada.api.work.binding_spec import BindingSpec
from reconciler.dialects.karmada.api.work.hub_marks import NO_MARKS, HubMarks
from reconciler.dialects.karmada.api.work.work_spec import encode_dispatch
from reconciler.dialects.karmada.binding.asked import asked_of_copies, asked_on
from reconciler.dialects.karmada.binding.carried_state import carried_state
from reconciler.dialects.karmada.binding.prune import pruned
from reconciler.dialects.karmada.binding.revise_replicas import completions_by_cluster, revised
from reconciler.dialects.karmada.binding.work_marks import (
    CONFLICT,
    OPEN_ID,
    at_cluster,
    binding_marks,
    claimed,
    conflict_resolution,
    marked,
    marked_at,
    name_of,
    with_managed_lists,
    work_of,
)
from reconciler.dialects.karmada.overridemanager.apply_overrides import (
    Overridden,
    Overrides,
    applied_annotations,
)
from reconciler.dialects.karmada.overridemanager.override_policy import OverridePolicies
from reconciler.dialects.renderer import ClusterWork, Instruction, NotRendered
from reconciler.dialects.work_spec import fill_work
from reconciler.errors import UserError
from reconciler.model.body import Body
from reconciler.model.content import with_value
from reconciler.model.identity import ClusterName, ObjectKey
from reconciler.model.same import Same


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendering:
    """What rendering asks beside the binding and its workload.

    Attributes:
        members: The fleet.
        overrides: The override policies.
        custom_kinds: Where custom kinds keep their replicas.
        identified: Whether Works have permanent ids, and manifests the marks of their claim; older
            rules knew neither.
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
    """

    namespace: str
    name: str
    spec: BindingSpec
    workload: ObjectKey
    permanent_id: str
    claim: tuple[Mapping[str, str], Mapping[str, str]] = ({}, {})
    marks: HubMarks = NO_MARKS
    policy: Body | None = None


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


@dataclass(slots=True, eq=False)
class _Contents:
    """What the clusters of one binding get; what several get alike is computed once."""

    binding: RenderedBinding
    template: Body
    state: Mapping[str, str]
    rendering: Rendering
    _revised: dict[tuple[int, int | None], Body] = field(default_factory=dict)
    _alike: dict[object, "_Content"] = field(default_factory=dict)
    _overrides: Overrides = field(init=False)
    _overridden: bool = False
    _dispatch: Body | None = None

    def __post_init__(self) -> None:
        if not self.binding.spec.suspension:
            self._dispatch = encode_dispatch(self.binding.spec, ClusterName(""))
        self._overrides = Overrides(self.rendering.overrides, self.rendering.members)
        self._overridden = self.rendering.overrides.some

    def work(self, target: TargetCluster, position: int, completions: int | None) -> ClusterWork:
        """Return the Work of a cluster."""
        alike: object = (target.replicas, completions)
        if self._overridden or alike not in self._alike:
            found = self._overrides.apply(self._share(target, completions), position)
            if self._overridden:
                alike = (Same(found.manifest), found.cluster_wide, found.namespaced)
            if alike not in self._alike:
                self._alike[alike] = self._content(found)
        shared = self._alike[alike]
        work = shared.work
        if self._dispatch is None:
            work = {**work, "spec": encode_dispatch(self.binding.spec, target.name)}
        known = self.rendering.identified
        work_id = self.binding.marks.work_id(target.name, shared.name) if known else None
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

    def _content(self, found: Overridden) -> "_Content":
        """Return what clusters with these overrides get, but for what names the cluster."""
        binding = self.binding
        labels, named = binding_marks(binding.namespace, binding.name, binding.permanent_id)
        labels = {**labels, **(OPEN_ID if self.rendering.identified else {})}
        named = {**named, CONFLICT: conflict_resolution(found.manifest, binding.spec)}
        manifest = marked(found.manifest, {**labels, **self.state}, named)
        work = work_of(found.manifest, labels, {**named, **applied_annotations(found)})
        work = {**work, "spec": self._dispatch or {}}
        asked = asked_of_copies(found.manifest, binding.spec, binding.policy)
        return _Content(with_managed_lists(pruned(manifest)), work, name_of(found.manifest), asked)


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
