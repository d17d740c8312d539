"""What Karmada's bindings, and the Namespaces and quotas beside them, put onto clusters.

Each rendering names what it asks beside the binding and its workload; comparing the answers of two
worlds shows what must be rendered again. Override policies are asked for by namespace and kind:
those of the object's namespace, and those of the whole fleet. A cluster-scoped one may move an
object to where others mean it; then the object depends on all of them.

In a direct purge a workload leaves a cluster at once: its old copy goes before a new one comes.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain

from reconciler.dialects.inventory import CopyReports, CopyTable
from reconciler.dialects.karmada.api.binding import BINDINGS, decode_metadata, decode_status
from reconciler.dialects.karmada.api.binding_spec import BindingSpec, decode_spec, requests_of
from reconciler.dialects.karmada.api.cluster import (
    MemberCluster,
    Members,
    TargetCluster,
    decode_cluster,
    members_of,
)
from reconciler.dialects.karmada.api.cluster_admission import mutated_cluster
from reconciler.dialects.karmada.api.names import CLUSTER, POLICY_GROUP, decode_failover
from reconciler.dialects.karmada.api.placement import is_divided
from reconciler.dialects.karmada.api.policy import CLUSTER_WIDE, NAMESPACED, template_of
from reconciler.dialects.karmada.api.quota import QUOTA, Quota, decode_quota
from reconciler.dialects.karmada.api.work import HubMarks, decode_marks, keeps_objects, permanent_id
from reconciler.dialects.karmada.api.workload import decode_custom_kinds, demand_of
from reconciler.dialects.karmada.binding.replicas import replicas_path
from reconciler.dialects.karmada.binding.works import (
    RenderedBinding,
    Rendering,
    claimed,
    kept_clusters,
    leaving_targets,
    merged_targets,
    render_binding,
    render_namespace,
)
from reconciler.dialects.karmada.detector.binding_draft import binding_key, claim_of, claimant
from reconciler.dialects.karmada.detector.propagation import (
    Propagation,
    decode_propagation,
    is_synced,
)
from reconciler.dialects.karmada.overridemanager.overrides import (
    OverridePolicies,
    OverridePolicy,
    OverrideRule,
    decode_override_policy,
    index_overrides,
    rules_for,
)
from reconciler.dialects.karmada.quotas import assigned, render_quota
from reconciler.dialects.karmada.scheduler.plugins import refused_before
from reconciler.dialects.reads import FLEET, NAMES, Question, Reads
from reconciler.dialects.reads import cluster_named as named
from reconciler.dialects.renderer import (
    Affected,
    ClusterWork,
    NotRendered,
    PlacedContent,
    Reach,
    Rendered,
)
from reconciler.errors import UserError
from reconciler.manifests.admission import without_ours
from reconciler.model.body import Body
from reconciler.model.fields import at, bodies, mapping, text, with_value, without
from reconciler.model.identity import ClusterName, ObjectKey, group_of, uid_of
from reconciler.model.kinds import Kind
from reconciler.model.labels import NAMESPACE_NAME
from reconciler.model.quantity import decode_resources
from reconciler.model.records import dataclass, field, replace
from reconciler.model.remembered import AnswerCache, differing_keys
from reconciler.model.settings import Settings
from reconciler.model.world import Manifest, World
from reconciler.staging.staged_delivery import (
    STAGED_DELIVERY,
    ContentVersion,
    StagedRecord,
    StagedVersions,
    given_otherwise,
    staged_versions,
    version_in,
)

NAMESPACE: Kind = ("", "Namespace")
LEFT_WHOLE = (
    "{subject} is of a kind whose replicas nobody can interpret, so that it is delivered unchanged "
    "to each of its clusters; a row of `karmada.interpreters` would divide it, and `delivery."
    "uninterpreted: refuse` delivers nothing"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class KarmadaRenderer:
    """The bindings, Namespaces and quotas of one world, and what rendering asks beside them.

    `staged` returns who has which versions of what.

    `used` are the namespaces that bindings are in where clusters are those of other APIs, `None`
    where they are Karmada's own.
    """

    world: World
    rendering: Rendering
    propagation: Propagation
    used: frozenset[str] | None = None
    quotas: Mapping[ObjectKey, Quota]
    refuses: bool
    copies: Callable[[], CopyReports]
    staged: Callable[[], StagedVersions]

    def owners(self) -> Iterable[ObjectKey]:
        """Return the bindings, the Namespaces that go to every cluster, and the quotas."""
        yield from (binding.key for binding in self.world.outputs_of(BINDINGS))
        if self.rendering.members.views:
            for namespace in self.world.of_kind(*NAMESPACE):
                if self._synced(namespace.key) is not None:
                    yield namespace.key
        yield from (key for key, quota in self.quotas.items() if quota.assignments)

    def clusters(self) -> tuple[ClusterName, ...]:
        """Return the names of the fleet."""
        return self.rendering.members.fleet.names

    def render(self, owner: ObjectKey, /) -> Rendered | None:
        """Render a binding, a Namespace or a quota for each of its clusters."""
        if owner[:2] == QUOTA:
            return self._quota(owner)
        if owner[:2] == NAMESPACE:
            return self._namespace(owner)
        output = self.world.outputs.get(owner) if owner[:2] in BINDINGS else None
        return None if output is None else self._binding(output)

    def reach(self, owner: ObjectKey, /) -> Reach:
        """Return the workload of a binding or a quota on its clusters, a Namespace on all."""
        if owner in self.quotas:
            quota = self.quotas[owner]
            return dict.fromkeys(assigned(quota, self.clusters()), (quota.copy,))
        if owner[:2] == NAMESPACE:
            synced = self._synced(owner)
            names = self.rendering.members.fleet.names if synced is not None else ()
            return dict.fromkeys(names, (owner,))
        output = self.world.outputs.get(owner) if owner[:2] in BINDINGS else None
        if output is None:
            return {}
        spec = decode_spec(output.body)
        return dict.fromkeys(sorted(kept_clusters(spec)), (spec.resource.key,))

    def bringers(self, source: ObjectKey, /) -> Iterable[ObjectKey]:
        """Return the binding of a workload, a Namespace itself, the quota of a ResourceQuota."""
        keys = {binding_key(source), *((source,) if source[:2] == NAMESPACE else ())}
        keys |= {key for key, quota in self.quotas.items() if quota.copy == source}
        return sorted(keys)

    def content(self, source: ObjectKey, /) -> PlacedContent | None:
        """Return the workload of a binding but for its replicas, on the clusters of the binding."""
        output, template = self.world.outputs.get(binding_key(source)), self.world.find(source)
        if output is None or template is None:
            return None
        path = replicas_path(template.body, self.rendering.custom_kinds)
        return PlacedContent(
            clusters=frozenset(one.name for one in merged_targets(decode_spec(output.body))),
            replicas=path,
            content=partial(_content, template, path),
            overrides=partial(self._meaning, template, output),
        )

    def _meaning(self, template: Manifest, output: Manifest) -> tuple[Manifest, ...]:
        """Return the override policies that mean a workload, sorted by key."""
        overrides, body = self.rendering.overrides, _as_overridden(template, output)
        policies = (*overrides.cluster_wide, *overrides.of(template.key.namespace))
        keys = {policy.key for policy, _ in rules_for(policies, body)}
        return tuple(self.world.inputs[key] for key in sorted(keys))

    def unmarked(self, owner: ObjectKey, /) -> Reach:
        """Return the workload of a binding whose policy asks by now that its copies outlive it."""
        output = self.world.outputs.get(owner) if owner[:2] in BINDINGS else None
        policy = None if output is None else self._policy(output)
        if output is None or policy is None or keeps_objects(output.body):
            return {}
        return self.reach(owner) if keeps_objects(policy) else {}

    def _policy(self, output: Manifest) -> Body | None:
        """Return the policy that claims a binding, as it is written."""
        key = claimant(output.body)
        policy = None if key is None else self.world.inputs.get(key)
        return None if policy is None else policy.body

    def _synced(self, key: ObjectKey) -> Manifest | None:
        """Return a Namespace that goes to every cluster, `None` for another one.

        # Unlike upstream: to clusters of other APIs it goes if Karmada places something in it.
        """
        manifest = self.world.inputs.get(key)
        if manifest is None or (self.used is not None and key.name not in self.used):
            return None
        return manifest if is_synced(manifest.body, self.propagation) else None

    def _namespace(self, key: ObjectKey) -> Rendered | None:
        namespace = self._synced(key)
        if namespace is None or not self.rendering.members.views:
            return None
        body = claimed(_as_stored(namespace, uid_of(key)), {NAMESPACE_NAME: key.name}, {})
        rendered = _rendered(namespace.origin.path, render_namespace(body, key, self.rendering))
        return replace(rendered, reads=namespace_reads(key, body, self.rendering.overrides))

    def _quota(self, key: ObjectKey) -> Rendered | None:
        quota = self.quotas.get(key)
        if quota is None:
            return None
        path = self.world.inputs[key].origin.path
        rendered = _rendered(path, render_quota(quota, self.clusters()))
        return replace(rendered, reads=frozenset(map(named, quota.assignments)))

    def _binding(self, output: Manifest) -> Rendered:
        """Render a binding, and say what that asked."""
        rendered, template = self._rendered_binding(output)
        names = [name for name, _ in rendered.placed]
        names += [one.cluster for one in rendered.leaving]
        if template is None:
            return replace(rendered, reads=frozenset(map(named, names)))
        overrides, body = self.rendering.overrides, _as_overridden(template, output)
        reads = binding_reads(template.key, body, names, overrides)
        policy = claimant(output.body)
        asked = frozenset() if policy is None else frozenset({policy_read(policy)})
        return replace(rendered, reads=reads | asked | rendered.reads)

    def _rendered_binding(self, output: Manifest) -> tuple[Rendered, Manifest | None]:
        spec = decode_spec(output.body)
        key, targets = spec.resource.key, merged_targets(spec)
        placed = tuple((target.name, target.replicas) for target in targets)
        kept = kept_clusters(spec) - {name for name, _ in placed}
        template = self.world.inputs.get(key)
        if template is None:
            why = f"{key} is not in the repository any more"
            failed = tuple(NotRendered(name, why) for name, _ in placed)
            found = Rendered(path=output.origin.path, failed=failed, kept=kept, placed=placed)
            return found, None
        warnings = tuple(self._warnings(template, spec))
        refused = warnings[0] if warnings and self.refuses else self._refused(template, output)
        if refused:
            failed = tuple(NotRendered(name, refused) for name, _ in placed)
            found = Rendered(path=template.origin.path, failed=failed, kept=kept, placed=placed)
            return found, template
        metadata = decode_metadata(output.body)
        marks = decode_marks(metadata)
        binding = RenderedBinding(
            namespace=output.key.namespace,
            name=output.key.name,
            spec=spec,
            workload=key,
            permanent_id=permanent_id(metadata),
            claim=claim_of(metadata),
            marks=marks,
            policy=self._policy(output),
        )
        stored = _as_stored(template, spec.resource.uid, _generation(template, marks))
        works: Iterable[ClusterWork | NotRendered]
        record = self.staged().get(key)
        if record is None:
            works = render_binding(binding, targets, stored, self.rendering)
        else:
            works = self._in_versions(binding, targets, template, record)
        rendered = _rendered(template.origin.path, works, kept, placed, warnings)
        rendered = replace(rendered, leaving=tuple(self._leaving(binding, stored, kept)))
        return held_back(spec, targets, rendered, self.copies), template

    def _in_versions(
        self,
        binding: RenderedBinding,
        targets: Sequence[TargetCluster],
        template: Manifest,
        record: StagedRecord,
    ) -> Iterator[ClusterWork | NotRendered]:
        """Yield what each cluster gets of the version that it is to have, with its share of now."""
        key = template.key
        versions = {target.name: record.version_on(key, target.name) for target in targets}
        rendered: dict[ContentVersion, dict[ClusterName, ClusterWork | NotRendered]] = {}
        for version in dict.fromkeys(versions.values()):
            source: Manifest | None = template
            rendering: Rendering | None = self.rendering
            if not version.is_like(record.objects[key].version):
                source = version_in(self.world, version, key)
                rendering = self._rendering_at(version)
            if source is None or rendering is None:
                why = f"what it has, of {version.path}, cannot be read any more"
                rendered[version] = {one.name: NotRendered(one.name, why) for one in targets}
                continue
            marks = binding.marks
            stored = _as_stored(source, binding.spec.resource.uid, _generation(source, marks))
            own = replace(binding, version=version.mark)
            works = render_binding(own, targets, stored, rendering)
            rendered[version] = {one.cluster: one for one in works}
        for target in targets:
            yield rendered[versions[target.name]][target.name]

    def _rendering_at(self, version: ContentVersion) -> Rendering | None:
        """Return how a version is rendered: by its overrides, `None` if one cannot be read."""
        if version.overrides is None:
            return self.rendering
        overrides = [version_in(self.world, one, one.key) for one in version.overrides]
        policies = [decode_override_policy(one) for one in overrides if one is not None]
        if len(policies) < len(overrides):
            return None
        return replace(self.rendering, overrides=index_overrides(policies))

    def _leaving(
        self, binding: RenderedBinding, stored: Body, kept: frozenset[ClusterName]
    ) -> Iterator[ClusterWork]:
        """Yield what clusters have that are left gracefully, with the replicas that they had.

        How a Job's completions were divided then nobody knows, and they must not change.
        """
        targets = [copy for copy in leaving_targets(binding.spec) if copy.name in kept]
        if not targets or stored.get("kind") == "Job":
            return
        rendering = replace(self.rendering, keeps_state=False)
        for copy in render_binding(binding, targets, stored, rendering):
            if isinstance(copy, ClusterWork):
                yield copy

    def _refused(self, template: Manifest, output: Manifest) -> str:
        """Return why a quota refuses what a workload asks for by now, `""` if none does.

        Unlike upstream: there the binding stays as it was, and the next update of it delivers the
        workload all the same; here what is refused is delivered nowhere.
        """
        refusal = refused_before(decode_status(output.body))
        if not refusal:
            return ""
        body, kinds = template.body, self.rendering.custom_kinds
        demand = demand_of(text(body, "apiVersion"), text(body, "kind"), body, kinds)
        wanted = {} if demand is None else mapping(demand.requirements or {}, "resourceRequest")
        counted = requests_of(decode_spec(output.body))
        return "" if decode_resources(wanted) == decode_resources(counted) else refusal

    def _warnings(self, template: Manifest, binding: BindingSpec) -> Iterator[str]:
        """Yield that a policy divides what goes whole to each cluster."""
        counted = isinstance(at(template.body, "spec").get("replicas"), int)
        has_replicas = replicas_path(template.body, self.rendering.custom_kinds) is not None
        if counted and not has_replicas and is_divided(binding.placement):
            yield LEFT_WHOLE.format(subject=template.key)


def _rendered(
    path: str,
    works: Iterable[ClusterWork | NotRendered],
    kept: frozenset[ClusterName] = frozenset(),
    placed: tuple[tuple[ClusterName, int], ...] = (),
    warnings: tuple[str, ...] = (),
) -> Rendered:
    each = tuple(works)
    return Rendered(
        path=path,
        works=tuple(one for one in each if isinstance(one, ClusterWork)),
        failed=tuple(one for one in each if isinstance(one, NotRendered)),
        kept=kept,
        placed=placed,
        warnings=warnings,
    )


def _content(template: Manifest, replicas: Sequence[str] | None) -> Body:
    """Return what of a workload is its content: all but replicas, status and marks of ours.

    Its namespace is, whether written or not: clusters get it all the same.
    """
    content = without(without_ours(template.body), ("status",))
    if template.key.namespace:
        content = with_value(content, ("metadata", "namespace"), template.key.namespace)
    return content if replicas is None else without(content, replicas)


def _generation(template: Manifest, marks: HubMarks) -> int:
    """Return the generation that a workload had on its hub, 0 once it is another one.

    Unlike upstream: no API server counts on, so that what changed since has none.
    """
    if not marks.generation or not template_of(template).is_at(marks.digest):
        return 0
    return marks.generation


def _as_stored(manifest: Manifest, uid: str, generation: int = 0) -> Body:
    """Return an object as an API server would store it: with its namespace, and this uid."""
    metadata = {**at(manifest.body, "metadata"), "uid": uid}
    if manifest.key.namespace:
        metadata["namespace"] = manifest.key.namespace
    if generation:
        metadata["generation"] = generation
    return {**manifest.body, "metadata": metadata}


def _as_overridden(template: Manifest, output: Manifest) -> Body:
    """Return the workload of a binding as override policies meet it."""
    metadata = decode_metadata(output.body)
    return claimed(_as_stored(template, decode_spec(output.body).resource.uid), *claim_of(metadata))


def _namespaces(world: World) -> frozenset[str]:
    """Return the namespaces that bindings are in."""
    return frozenset(one.key.namespace for one in world.outputs_of(BINDINGS))


@dataclass(slots=True, eq=False)
class KarmadaRenderers:
    """The renderers of one world after the other, which share what did not change."""

    views: AnswerCache[str, MemberCluster | None] = field(default_factory=AnswerCache)
    policies: AnswerCache[ObjectKey, OverridePolicy] = field(default_factory=AnswerCache)
    fleet: AnswerCache[None, Members] = field(default_factory=AnswerCache)
    copies: CopyTable = field(default_factory=CopyTable)
    overrides: AnswerCache[None, OverridePolicies] = field(default_factory=AnswerCache)
    staged: AnswerCache[None, StagedVersions] = field(default_factory=AnswerCache)

    def of(self, world: World, settings: Settings, /) -> KarmadaRenderer:
        """Return the renderer of a world."""
        clusters = world.of_kind(*CLUSTER)
        policies = tuple(world.of_kind(*kind) for kind in OVERRIDES)
        rendering = Rendering(
            members=self.fleet.recall(
                None, (clusters, settings), partial(self._members, clusters, settings)
            ),
            overrides=self.overrides.recall(
                None, policies, partial(self._policies, chain.from_iterable(policies))
            ),
            custom_kinds=decode_custom_kinds(settings),
            keeps_state=decode_failover(settings).state_preservation,
        )
        self.fleet.forget()
        self.overrides.forget()
        return KarmadaRenderer(
            world=world,
            rendering=rendering,
            propagation=decode_propagation(settings),
            used=_namespaces(world) if CLUSTER in world.projected else None,
            quotas={one.key: decode_quota(one) for one in world.of_kind(*QUOTA)},
            copies=partial(self.copies.follow, world),
            staged=partial(self._staged, world),
            refuses=settings.options.get("delivery", {}).get("uninterpreted") == "refuse",
        )

    def affected(self, before: World, now: World, /) -> Affected:
        """Return the bindings that changed, those of workloads that did, and what goes as it is."""
        keys: set[ObjectKey] = set()
        for key in differing_keys(now.inputs, before.inputs):
            keys |= {binding_key(key), *((key,) if key[:2] in (NAMESPACE, QUOTA) else ())}
        outputs = differing_keys(now.outputs, before.outputs)
        for key in outputs:
            if key[:2] in BINDINGS:
                keys |= {key, ObjectKey(*NAMESPACE, "", key.namespace)}
        keys |= set(map(binding_key, given_otherwise(before, now)))
        return Affected(keys, tuple(changed(before, now)))

    def _staged(self, world: World) -> StagedVersions:
        """Return who has the versions of which object."""
        records = world.outputs_of_kind(STAGED_DELIVERY)
        return self.staged.recall(None, (records,), partial(staged_versions, records))

    def _members(self, clusters: Iterable[Manifest], settings: Settings) -> Members:
        """Return the fleet."""
        members = members_of(self._views(clusters, settings))
        self.views.forget()
        return members

    def _policies(self, manifests: Iterable[Manifest]) -> OverridePolicies:
        """Return the override policies."""
        policies = index_overrides(
            self.policies.recall(one.key, (one.body,), partial(decode_override_policy, one))
            for one in manifests
        )
        self.policies.forget()
        return policies

    def _views(self, clusters: Iterable[Manifest], settings: Settings) -> Iterator[MemberCluster]:
        """Yield the clusters that can be read; what is on another one stays as it is."""
        for cluster in clusters:
            read = partial(_view, cluster, declared=settings.declared_clusters)
            view = self.views.recall(cluster.key.name, (cluster.body, settings), read)
            if view is not None:
                yield view


def _view(manifest: Manifest, *, declared: bool) -> MemberCluster | None:
    """Return a cluster as overrides see it, `None` if it cannot be read."""
    try:
        spec = mutated_cluster(mapping(manifest.body, "spec"))
        return decode_cluster({**manifest.body, "spec": spec}, declared=declared)
    except UserError:
        return None


OVERRIDES: tuple[Kind, ...] = (
    (POLICY_GROUP, "ClusterOverridePolicy"),
    (POLICY_GROUP, "OverridePolicy"),
)
POLICIES: tuple[Kind, ...] = ((POLICY_GROUP, CLUSTER_WIDE), (POLICY_GROUP, NAMESPACED))
ALL_OVERRIDES: Question = ("overrides",)
REPORTS: Reads = frozenset({("reports",)})
"""What a binding asks that waits for a cluster to report a copy no longer."""
ELSEWHERE = ("/spec/", "/data/", "/metadata/labels", "/metadata/annotations")
"""Where changes leave an object the kind and the namespace that it has."""


def _meant(namespace: str, kind: Kind) -> Question:
    """Return the question which override policies mean a kind in a namespace, `""` for any."""
    return "overrides", namespace, *kind


def policy_read(policy: ObjectKey) -> Question:
    """Return the question what a policy asks of copies."""
    return "policy", policy.kind, policy.namespace, policy.name


ANY_KIND: Kind = ("", "")


def binding_reads(
    key: ObjectKey, body: Body, clusters: Iterable[ClusterName], overrides: OverridePolicies
) -> Reads:
    """Return what the rendering of a workload asks.

    Args:
        key: Of the workload.
        body: It.
        clusters: Where it goes.
        overrides: All override policies.
    """
    return frozenset((*_overrides_read(key, body, overrides), *map(named, clusters)))


def namespace_reads(key: ObjectKey, body: Body, overrides: OverridePolicies) -> Reads:
    """Return what the rendering of a Namespace asks, which goes to every cluster."""
    chosen = any(rule.target is not None for _, rule in rules_for(overrides.cluster_wide, body))
    fleet = (FLEET,) if chosen else ()
    return frozenset((*_overrides_read(key, body, overrides), NAMES, *fleet))


def _overrides_read(key: ObjectKey, body: Body, overrides: OverridePolicies) -> Iterator[Question]:
    for namespace in {"", key.namespace}:
        yield _meant(namespace, key[:2])
        yield _meant(namespace, ANY_KIND)
    if any(_may_move(rule) for _, rule in rules_for(overrides.cluster_wide, body)):
        yield ALL_OVERRIDES


def _may_move(rule: OverrideRule) -> bool:
    """Return whether a rule may give an object another kind or namespace."""
    plain = (text(one, "path") for one in bodies(rule.overriders, "plaintext"))
    fields = (text(one, "fieldPath") for one in bodies(rule.overriders, "fieldOverrider"))
    return any(not path.startswith(ELSEWHERE) for path in (*plain, *fields))


def changed(before: World, now: World) -> Iterator[Question]:
    """Yield the questions that two worlds answer otherwise."""
    if now.feedback is not before.feedback:
        yield from REPORTS
    for kind in OVERRIDES:
        for manifest in _differing(before, now, kind):
            yield ALL_OVERRIDES
            yield from _means(decode_override_policy(manifest))
    for kind in POLICIES:
        yield from (policy_read(manifest.key) for manifest in _differing(before, now, kind))
    for then, since in _pairs(before, now, CLUSTER):
        if then is None or since is None:
            yield NAMES
        elif _asked(then) == _asked(since):
            continue
        yield FLEET
        yield from (named(manifest.key.name) for manifest in (then, since) if manifest is not None)


def _means(policy: OverridePolicy) -> Iterator[Question]:
    """Yield the questions that an override policy answers."""
    if not policy.selectors:
        yield _meant(policy.key.namespace, ANY_KIND)
    for selector in policy.selectors:
        named_kind = (group_of(selector.api_version), selector.kind) if selector.kind else ANY_KIND
        yield _meant(selector.namespace, named_kind)


def _differing(before: World, now: World, kind: Kind) -> Iterator[Manifest]:
    """Yield the objects of a kind that differ, as they were and as they are."""
    for pair in _pairs(before, now, kind):
        yield from (one for one in pair if one is not None)


def _pairs(
    before: World, now: World, kind: Kind
) -> Iterator[tuple[Manifest | None, Manifest | None]]:
    """Yield the objects of a kind that differ, each as it was and as it is."""
    if before.of_kind(*kind) is now.of_kind(*kind):
        return
    then = {one.key: one for one in before.of_kind(*kind)}
    for since in now.of_kind(*kind):
        was = then.pop(since.key, None)
        if was is not since:
            yield was, since
    yield from ((gone, None) for gone in then.values())


def _asked(cluster: Manifest) -> list[object]:
    """Return what overrides ask of a cluster."""
    spec = at(cluster.body, "spec")
    fields = ("provider", "region", "zones", "zone")
    return [at(cluster.body, "metadata").get("labels"), *(spec.get(one) for one in fields)]


def _purged(binding: BindingSpec) -> frozenset[ClusterName]:
    """Return the clusters that a workload leaves at once, and is not on for others."""
    return frozenset(task.from_cluster for task in binding.tasks if task.directly).difference(
        binding.held_on
    )


def old_copies(binding: BindingSpec, copies: CopyReports) -> tuple[ClusterName, ...]:
    """Return the clusters that a workload leaves at once and that still report it, by name."""
    key = binding.resource.key
    return tuple(name for name in sorted(_purged(binding)) if copies.of(key, name) is not None)


def newcomers(
    binding: BindingSpec, targets: Iterable[TargetCluster], copies: CopyReports
) -> frozenset[ClusterName]:
    """Return the targets that get nothing yet: others still report what they are to lose first.

    Targets that report a copy of their own run beside the old one as before. The wait ends with
    the eviction, at the latest.

    Unlike upstream: there a Work is looked at, which is gone when its finalizer is; here what the
    cluster reports. Upstream updates no copy meanwhile, here those that run are.

    Source: karmada@f8fdd02 pkg/controllers/binding/resource_binding_controller.go
    `checkDirectPurgeOrphanWorks`.
    """
    if not old_copies(binding, copies):
        return frozenset()
    key = binding.resource.key
    return frozenset(target.name for target in targets if copies.of(key, target.name) is None)


def held_back(
    binding: BindingSpec,
    targets: Iterable[TargetCluster],
    rendered: Rendered,
    copies: Callable[[], CopyReports],
) -> Rendered:
    """Return what clusters get of a binding once the newcomers among them are left out.

    Args:
        binding: As it was decided.
        targets: Its clusters.
        rendered: What they get.
        copies: Returns what all clusters report; it is asked only where a purge is direct.
    """
    if not _purged(binding):
        return rendered
    waiting = newcomers(binding, targets, copies())
    return replace(
        rendered,
        works=tuple(one for one in rendered.works if one.cluster not in waiting),
        failed=tuple(one for one in rendered.failed if one.cluster not in waiting),
        kept=rendered.kept | waiting,
        reads=REPORTS,
    )
