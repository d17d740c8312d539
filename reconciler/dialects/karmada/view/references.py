"""What policies, override policies and quotas refer to, and what of it leads nowhere.

The workloads of a repository are indexed once, as selectors find them. Reported are selectors and
names of clusters that find nothing, policies between which only a name decides, which people rarely
mean, and state rules that preserve nothing; of custom kinds also scripts, which are not executed,
and replicas that cannot be found. The usage of quotas is read from their status files.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice

from reconciler.dialects.karmada.api.binding_spec import DIRECTLY, preserving
from reconciler.dialects.karmada.api.cluster_taints import TAINT_POLICY
from reconciler.dialects.karmada.api.names import (
    CONFIG_GROUP,
    POLICY_GROUP,
    SCHEDULING_GROUP,
    STATE_PRESERVATION,
    Failover,
    decode_failover,
    enforces_quotas,
)
from reconciler.dialects.karmada.api.placement import is_divided
from reconciler.dialects.karmada.api.policy import (
    CLUSTER_WIDE,
    NAMESPACED,
    Implicit,
    Policy,
    ResourceSelector,
    Template,
    decode_policy,
    decode_selector,
    template_of,
)
from reconciler.dialects.karmada.api.quota import (
    QUOTA,
    decode_assigned,
    decode_quota,
    decode_quota_status,
    is_enforced,
)
from reconciler.dialects.karmada.api.work import asked_by_policy
from reconciler.dialects.karmada.api.workload import (
    CustomKinds,
    Uncountable,
    VersionedKind,
    is_interpreted,
    replicas_of,
    spelled,
)
from reconciler.dialects.karmada.binding.works import asked_by_workload
from reconciler.dialects.karmada.detector.binding_draft import binding_key, dependencies_of
from reconciler.dialects.karmada.detector.policies import COUNTED, OVERRIDES
from reconciler.dialects.karmada.detector.propagation import Propagation, decode_detector_options
from reconciler.dialects.karmada.eviction import unreadable_path
from reconciler.dialects.karmada.overridemanager.overrides import decode_override_policy
from reconciler.dialects.karmada.view.cluster_references import (
    KnownClusters,
    doubts_of_affinity,
    doubts_of_clusters,
    doubts_of_name,
    known_clusters,
)
from reconciler.dialects.karmada.view.record import doubts_of_weight
from reconciler.dialects.renderer import Instructed
from reconciler.dialects.scores import extended_scores
from reconciler.dialects.view import LimitedResource, QuotaUsage
from reconciler.manifests.identity import KUBERNETES, PRIORITIES, is_built_in
from reconciler.manifests.paths import output_path
from reconciler.manifests.references import (
    Brought,
    Dangling,
    Known,
    OverrideResult,
    is_slip,
    proposal,
)
from reconciler.manifests.schemas.violations import pointer_of
from reconciler.manifests.selectors import LabelIndex, Labelled, doubts_of_selector, selector_at
from reconciler.manifests.text.raw import MAX_VIOLATIONS
from reconciler.model.body import Body
from reconciler.model.fields import at, bodies, mapping, mapping_or_none, strings, text
from reconciler.model.identity import ObjectKey, group_of
from reconciler.model.labels import LabelSelector
from reconciler.model.quantity import Quantity, parse_quantity
from reconciler.model.records import dataclass
from reconciler.model.settings import settings_in
from reconciler.model.text import enumerated, shown
from reconciler.model.world import Manifest, World

CUSTOMIZATION = "ResourceInterpreterCustomization"
COUNTS = ("replicas", "parallelism")
"""Fields of a spec by which a kind shows that it has replicas."""


def scripts(known: Known, custom: CustomKinds) -> Iterator[Dangling]:
    """Yield each ResourceInterpreterCustomization, which is read as far as it names a kind.

    Not one whose kind has a row of the repository's own: then somebody has thought of it.
    """
    for manifest in known.of_kind(CONFIG_GROUP, CUSTOMIZATION):
        named = _target(manifest)
        if named is not None and custom.is_configured(*named):
            continue
        field, message, expected = "/kind", "its scripts are never executed", "no such manifest"
        if named is not None and _counts(manifest):
            field = "/spec/customizations/replicaResource"
            message = f"its script is never executed; {_found(named, custom)}"
            expected = _row(named)
        yield Dangling(manifest.key, field, "interpreter-script", message, expected)


def scripted_kinds(known: Known) -> frozenset[VersionedKind]:
    """Return the kinds of which a script of the repository says where their replicas are."""
    manifests = known.of_kind(CONFIG_GROUP, CUSTOMIZATION)
    named = (_target(manifest) for manifest in manifests if _counts(manifest))
    return frozenset(kind for kind in named if kind is not None)


def uncountable(
    by_kind: Mapping[tuple[str, str], Mapping[str, tuple[Template, ...]]], custom: CustomKinds
) -> Iterator[Dangling]:
    """Yield the workloads whose replicas are no number where their kind has them."""
    for kind, row in custom.rows.items():
        for templates in by_kind.get(kind, {}).values():
            for template in templates:
                try:
                    replicas_of(row, template.body)
                except Uncountable as error:
                    yield Dangling(
                        template.key, error.field, "workload-replicas", error.message, COUNTED
                    )


def undivided(
    policy: Policy,
    position: int,
    template: Template,
    custom: CustomKinds,
    scripted: frozenset[VersionedKind],
) -> Iterator[Dangling]:
    """Yield a policy that divides a workload whose replicas cannot be found."""
    named = VersionedKind(template.api_version, template.key.kind)
    if (
        template.key[:2] in KUBERNETES
        or is_interpreted(*named, custom)
        or not (named in scripted or _looks_replicated(template.body))
    ):
        return
    yield Dangling(
        policy.key,
        f"/spec/resourceSelectors/{position}",
        "policy-kind-undivided",
        f"{_found(named, custom)}, so {shown(template.key.name)} goes whole to each cluster",
        _row(named),
    )


def _looks_replicated(body: Body) -> bool:
    """Return whether a workload has a number where many kinds have their replicas."""
    return any(isinstance(at(body, "spec").get(field), int) for field in COUNTS)


def _target(customization: Manifest) -> VersionedKind | None:
    """Return the kind that a customization is for, `None` if it names none; no schema judged it."""
    target = at(customization.body, "spec", "target")
    api_version, kind = target.get("apiVersion"), target.get("kind")
    if not (isinstance(api_version, str) and isinstance(kind, str) and api_version and kind):
        return None
    return VersionedKind(api_version, kind)


def _counts(customization: Manifest) -> bool:
    """Return whether a script says where the replicas are."""
    return "replicaResource" in at(customization.body, "spec", "customizations")


def _found(named: VersionedKind, custom: CustomKinds) -> str:
    """Return where the replicas of a kind are found."""
    row, kind = custom.row(*named), shown(named.kind)
    if row is not None:
        return f"the replicas of a {kind} are at {spelled(row.replicas)}"
    if is_interpreted(*named, custom):
        return f"a {kind} is read as upstream reads it without the script"
    return f"it is not known where a {kind} has its replicas"


def _row(named: VersionedKind) -> str:
    """Return the row that a kind needs, or that says something else of it."""
    return (
        "where it is not so, a row under spec.karmada.interpreters of reconciler.yaml:"
        f" {{apiVersion: {shown(named.api_version)}, kind: {shown(named.kind)},"
        " specReplicasPath: .spec.replicas,"
        " podTemplatePath: .spec.template}"
    )


@dataclass(frozen=True, slots=True)
class OfKind:
    """The workloads of one API version and kind, by name and by label.

    Attributes:
        by_name: Name to all of that name.
        by_place: Namespace to those in it by their labels; `""` to all of them.
    """

    by_name: Mapping[str, tuple[Template, ...]]
    by_place: Mapping[str, LabelIndex[Template]]

    def candidates(self, policy: ObjectKey, selector: ResourceSelector) -> Iterable[Template]:
        """Return what has the name, or the labels, of a selector; its namespace is to be asked.

        As `closeness` judges: a name makes the labels irrelevant.
        """
        if selector.name:
            return self.by_name.get(selector.name, ())
        return self.at(policy.namespace or selector.namespace, selector.labels)

    def at(self, place: str, labels: LabelSelector | None) -> Iterable[Template]:
        """Return what a label selector selects in a namespace; `""` is anywhere."""
        templates = self.by_place.get(place)
        return () if templates is None else templates.selected(labels)


@dataclass(frozen=True, slots=True)
class Templates:
    """The workloads by API version and kind, and among those by name and label."""

    by_kind: Mapping[tuple[str, str], OfKind]

    @property
    def by_name(self) -> Mapping[tuple[str, str], Mapping[str, tuple[Template, ...]]]:
        """The workloads by API version and kind, and among those by name."""
        return {kind: index.by_name for kind, index in self.by_kind.items()}

    def matching(self, policy: ObjectKey, selector: ResourceSelector) -> Iterator[Template]:
        """Yield what one selector of a policy, or of an override policy, selects."""
        of_kind = self.by_kind.get((selector.api_version, selector.kind))
        for template in () if of_kind is None else of_kind.candidates(policy, selector):
            namespace = template.key.namespace
            if policy.namespace in ("", namespace) and selector.namespace in ("", namespace):
                yield template

    def elsewhere(self, selector: ResourceSelector) -> Iterator[Template]:
        """Yield what a selector would select in any namespace."""
        of_kind = self.by_kind.get((selector.api_version, selector.kind))
        if of_kind is None:
            return
        templates = of_kind.by_name.get(selector.name, ()) if selector.name else None
        yield from of_kind.at("", selector.labels) if templates is None else templates

    def names(self, policy: ObjectKey, selector: ResourceSelector) -> frozenset[str]:
        """Return the names of all of a kind in the namespace of a policy."""
        of_kind = self.by_kind.get((selector.api_version, selector.kind))
        templates = (
            () if of_kind is None else of_kind.at(policy.namespace or selector.namespace, None)
        )
        return frozenset(one.key.name for one in templates)

    def beside(self, policy: ObjectKey, selector: ResourceSelector) -> Labelled | None:
        """Return all of a kind that a policy could select by labels, `None` if there is nothing."""
        of_kind = self.by_kind.get((selector.api_version, selector.kind))
        if of_kind is None:
            return None
        labels = [one.labels for one in of_kind.at(policy.namespace or selector.namespace, None)]
        return Labelled.of(selector.kind, labels) if labels else None


def index_templates(known: Known) -> Templates:
    """Index the workloads."""
    templates: dict[tuple[str, str], dict[str, list[Template]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for key, manifest in known.world.inputs.items():
        if key.group not in known.world.known.groups:
            template = template_of(manifest)
            templates[template.api_version, key.kind][key.name].append(template)
    return Templates({kind: _indexed(by_name) for kind, by_name in templates.items()})


MOST_OVERRIDDEN = 20  # ours: of workloads alike the first few say what is wrong with a change


def results_of_overrides(known: Known) -> Iterator[OverrideResult]:
    """Yield what overrides make of workloads, of each policy the first few."""
    templates = index_templates(known)
    manifests = (one for kind in OVERRIDES for one in known.of_kind(*kind))
    for policy in map(decode_override_policy, manifests):
        matches = (templates.matching(policy.key, selector) for selector in policy.selectors)
        for template in islice(chain.from_iterable(matches), MOST_OVERRIDDEN):
            yield from policy.results(template)


def _indexed(by_name: Mapping[str, Sequence[Template]]) -> OfKind:
    """Index the workloads of a kind."""
    by_place: dict[str, list[tuple[Mapping[str, str], Template]]] = defaultdict(list)
    for template in (one for templates in by_name.values() for one in templates):
        for place in {"", template.key.namespace}:
            by_place[place].append((template.labels, template))
    return OfKind(
        {name: tuple(templates) for name, templates in by_name.items()},
        {place: LabelIndex(templates) for place, templates in by_place.items()},
    )


MOST_NAMED = 5
AMOUNT = {True: "has", False: "have"}


def dangling_in_karmada(known: Known) -> Iterator[Dangling]:
    """Yield the references of policies that lead nowhere."""
    templates = index_templates(known)
    settings = settings_in(known.world)
    options, failover = decode_detector_options(settings), decode_failover(settings)
    scripted = scripted_kinds(known)
    yield from scripts(known, options.custom_kinds)
    yield from uncountable(templates.by_name, options.custom_kinds)
    meant, scores = known_clusters(known), extended_scores(known)
    classes = known.names(SCHEDULING_GROUP, "PriorityClass") | PRIORITIES.keys()
    every: list[Policy] = []
    for kind in (NAMESPACED, CLUSTER_WIDE):
        policies = [decode_policy(one, known.keys) for one in known.of_kind(POLICY_GROUP, kind)]
        every += policies
        for policy in policies:
            yield from _selected_by_policy(policy, known, templates)
            yield from _propagated(policy, templates, options.propagation)
            yield from _divided(policy, templates, options.custom_kinds, scripted)
            yield from islice(doubts_of_clusters(policy, meant), MAX_VIOLATIONS)
            yield from _overrides(policy)
            yield from _priority_class(policy, classes)
            yield from _spread(policy)
            yield from _placing_at_once(policy, templates, known)
            yield from preserved_in_vain(policy, failover)
            if scores is not None:
                yield from doubts_of_weight(known.world.inputs[policy.key], scores)
        yield from overlapping(policies, templates)
    yield from _differing_for_dependents(every, templates, known)
    yield from dangling_in_overrides(known, templates, meant)
    for manifest in known.of_kind(*TAINT_POLICY):
        targets = mapping(mapping(manifest.body, "spec"), "targetClusters")
        yield from doubts_of_affinity(manifest.key, targets, "/spec/targetClusters", meant)
    yield from dangling_in_quotas(known, meant)
    yield from idle_limits(known)


def _differing_for_dependents(
    policies: Sequence[Policy], templates: Templates, known: Known
) -> Iterator[Dangling]:
    """Yield a policy whose workloads need an object that those of another one need otherwise.

    Such an object has no policy of its own; where its copies may be overwritten for one, or
    outlive it, they are for all.

    Source: karmada@f8fdd02 pkg/dependenciesdistributor/dependencies_distributor.go
    `createOrUpdateAttachedBinding`.
    """
    following = [one for one in policies if one.copied.propagate_deps and not one.deleting]
    if len({_wished_of_dependents(one) for one in following}) < 2:
        return
    claimed = {one.object for one in brought_by_policies(known)}
    first: dict[ObjectKey, Policy] = {}
    named: set[ObjectKey] = set()
    for policy in following:
        for need in sorted(_needs_of(policy, templates, known) - claimed):
            other = first.setdefault(need, policy)
            differ = _wished_of_dependents(other) != _wished_of_dependents(policy)
            if differ and policy.key not in named:
                named.add(policy.key)
                yield Dangling(
                    policy.key,
                    "/spec",
                    "policy-dependents-differ",
                    f"{need} is needed by workloads of this policy and of {other.key}, which "
                    "differ in `conflictResolution` or `preserveResourcesOnDeletion`: Overwrite "
                    "and true count for both",
                    "the same values in both policies, or a policy for the object itself",
                )


def _wished_of_dependents(policy: Policy) -> tuple[str, bool]:
    """Return what a policy asks of what its workloads need."""
    asked = policy.copied
    return asked.conflict_resolution or "Abort", bool(asked.preserve_resources_on_deletion)


def _needs_of(policy: Policy, templates: Templates, known: Known) -> set[ObjectKey]:
    """Return what the workloads need that a policy selects, and that is there."""
    needs: set[ObjectKey] = set()
    for selector in policy.selectors:
        for template in templates.matching(policy.key, selector):
            body = known.world.inputs[template.key].body
            needs.update(dependencies_of(template.key, text(body, "apiVersion"), body))
    return needs & known.world.inputs.keys()


def _selected_by_policy(policy: Policy, known: Known, templates: Templates) -> Iterator[Dangling]:
    """Yield the policy if it selects nothing, else the names in it that name nothing."""
    empty = [
        position
        for position, selector in enumerate(policy.selectors)
        if not any(True for _ in templates.matching(policy.key, selector))
        and (group_of(selector.api_version), selector.kind) not in known.unclear
        and not _names_built_in(policy, selector)
    ]
    rule, expected = "policy-selects-nothing", "workloads that it selects, or no such selector"
    unkinded = list(_without_kind(policy, rule))
    yield from unkinded
    if unkinded:
        return
    near = (templates.elsewhere(policy.selectors[position]) for position in empty)
    astray = any(is_slip(one.key.namespace, policy.key.namespace) for one in chain(*near))
    by_labels = () if astray else empty  # then the namespace is wrong, not a label
    doubts = [one for at in by_labels for one in _by_labels(policy, at, known, templates)]
    yield from doubts
    if len(empty) == len(policy.selectors) and not doubts:
        yield _selects_nothing(policy, templates, rule, expected)
        return
    for position in empty:
        selector = policy.selectors[position]
        if selector.name:
            at = f"/spec/resourceSelectors/{position}/name"
            message = f"no {selector.kind} {shown(selector.name)} is there to be selected"
            yield Dangling(policy.key, at, rule, message, expected)


def _placing_at_once(policy: Policy, templates: Templates, known: Known) -> Iterator[Dangling]:
    """Yield that a Lazy policy, which claims nothing yet, places what is there when it comes.

    Upstream's detector would wait for an edit of a workload that came before its policy.
    """
    if not policy.lazy:
        return
    matching = (templates.matching(policy.key, selector) for selector in policy.selectors)
    selected = sorted({one.key for matches in matching for one in matches})
    root, present = known.world.output_root, known.world.present
    if not selected or any(output_path(root, binding_key(one)) in present for one in selected):
        return
    names = enumerated((f"{one.kind} {one.name}" for one in selected), MOST_NAMED)
    count = f"{len(selected)} workload{'s' if len(selected) != 1 else ''}"
    yield Dangling(
        policy.key,
        "/spec/activationPreference",
        "policy-lazy-places",
        f"the policy is Lazy, and places {count} at once that {AMOUNT[len(selected) == 1]} no "
        f"binding yet: {names}",
        "no activationPreference, if that is meant; else the policy before its workloads",
    )


def _names_built_in(policy: Policy, selector: ResourceSelector) -> bool:
    """Return whether a selector names what every cluster has without a manifest."""
    group, place = group_of(selector.api_version), selector.namespace or policy.key.namespace
    return is_built_in(ObjectKey(group, selector.kind, place, selector.name))


def _by_labels(
    policy: Policy, position: int, known: Known, templates: Templates
) -> Iterator[Dangling]:
    """Yield which label of a selector no workload has."""
    selector = policy.selectors[position]
    written = bodies(mapping(known.world.inputs[policy.key].body, "spec"), "resourceSelectors")
    among = templates.beside(policy.key, selector)
    if not selector.name and selector.labels is not None and among is not None:
        labels, at = selector_at(written[position], f"/spec/resourceSelectors/{position}")
        yield from doubts_of_selector(policy.key, labels, at, among, "policy-selects-nothing")


def _selects_nothing(policy: Policy, templates: Templates, rule: str, expected: str) -> Dangling:
    """Return that a policy selects nothing, and where what it means stands, if it does."""
    message, namespace = "the policy selects no workload of this repository", policy.key.namespace
    near = (one for selector in policy.selectors for one in templates.elsewhere(selector))
    other = next(near, None) if namespace else None
    if other is not None:
        named = f"{other.key.kind} {other.key.name}"
        message = f"the policy selects no workload of its own namespace {shown(namespace)}"
        expected = f"namespace: {other.key.namespace}, where {named} is"
        if is_slip(other.key.namespace, namespace):
            expected = f"{named} in {namespace}; it is in {shown(other.key.namespace)}"
    return Dangling(policy.key, "/spec/resourceSelectors", rule, message, expected)


def _without_kind(policy: Policy, rule: str) -> Iterator[Dangling]:
    """Yield the selectors that lack what every selector needs; Karmada's webhook takes them."""
    for position, selector in enumerate(policy.selectors):
        for field, value in (("apiVersion", selector.api_version), ("kind", selector.kind)):
            if not value:
                at = f"/spec/resourceSelectors/{position}/{field}"
                message = f"without `{field}` the selector selects nothing"
                yield Dangling(policy.key, at, rule, message, f"the {field} of the workloads")


def _propagated(
    policy: Policy, templates: Templates, propagation: Propagation
) -> Iterator[Dangling]:
    """Yield a policy whose every workload is one that is never propagated."""
    never = ""
    for selector in policy.selectors:
        for template in templates.matching(policy.key, selector):
            if propagation.allows(template):
                return
            never = never or str(template.key)
    if never:
        yield Dangling(
            policy.key,
            "/spec/resourceSelectors",
            "policy-never-propagated",
            f"all that the policy selects is never propagated, such as {never}",
            "workloads of other namespaces and APIs, or spec.karmada.skippedPropagatingNamespaces",
        )


def _divided(
    policy: Policy, templates: Templates, custom: CustomKinds, scripted: frozenset[VersionedKind]
) -> Iterator[Dangling]:
    """Yield each selector of a policy that divides what it cannot; once, however many there are."""
    for position, selector in enumerate(
        policy.selectors if is_divided(policy.copied.placement) else ()
    ):
        divided = (
            dangling
            for template in templates.matching(policy.key, selector)
            for dangling in undivided(policy, position, template, custom, scripted)
        )
        yield from islice(divided, 1)


def _overrides(policy: Policy) -> Iterator[Dangling]:
    """Yield override policies that a policy waits for."""
    listed = strings(policy.spec, "dependentOverrides")
    for position, name in enumerate(listed):
        if name in policy.waits_for:
            yield Dangling(
                policy.key,
                f"/spec/dependentOverrides/{position}",
                "policy-override-missing",
                f"the policy waits for the override policy {shown(name)}, which is not there",
                "the override policy, or no such dependency",
            )


def _priority_class(policy: Policy, classes: frozenset[str]) -> Iterator[Dangling]:
    """Yield a PriorityClass that is missing."""
    name = policy.priority_class
    if name and name not in classes:
        yield Dangling(
            policy.key,
            "/spec/schedulePriority/priorityClassName",
            "policy-priority-class",
            f"no PriorityClass is named {shown(name)}, so the policy cannot be applied",
            proposal(name, classes, "PriorityClass"),
        )


def _spread(policy: Policy) -> Iterator[Dangling]:
    """Yield a constraint by which no cluster is chosen: without `maxGroups` there may be none.

    Beside a constraint by region each region gets a cluster all the same.

    Source: karmada@f8fdd02 pkg/scheduler/core/spreadconstraint/select_clusters_by_cluster.go
    `selectBestClustersByCluster`.
    """
    constraints = bodies(policy.copied.placement or {}, "spreadConstraints")
    fields = [text(constraint, "spreadByField") for constraint in constraints]
    if "region" in fields:
        return
    for position, constraint in enumerate(constraints):
        if fields[position] == "cluster" and not constraint.get("maxGroups"):
            yield Dangling(
                policy.key,
                f"/spec/placement/spreadConstraints/{position}",
                "policy-spread-unbounded",
                "a constraint by cluster without `maxGroups` allows none, so nothing is scheduled",
                "maxGroups: the number of clusters at most",
            )


def instructed_by_karmada(known: Known) -> Iterator[Instructed]:
    """Yield what policies ask, and what the workloads ask that they select."""
    for kind in (CLUSTER_WIDE, NAMESPACED):
        for manifest in known.of_kind(POLICY_GROUP, kind):
            for pointer, instruction in asked_by_policy(manifest.body):
                yield Instructed(manifest.key, pointer, instruction)
    apis = known.world.known.groups
    asking = [
        Instructed(key, pointer, instruction)
        for key, manifest in known.world.inputs.items()
        if key.group not in apis
        for pointer, instruction in asked_by_workload(manifest.body)
    ]
    if asking:
        placed = {one.object for one in brought_by_policies(known)}
        yield from (one for one in asking if one.by in placed)


def dangling_in_overrides(
    known: Known, templates: Templates, clusters: KnownClusters
) -> Iterator[Dangling]:
    """Yield what override policies are for, and is not there: workloads and clusters."""
    for _, kind in OVERRIDES:
        for manifest in known.of_kind(POLICY_GROUP, kind):
            spec = mapping(manifest.body, "spec")
            for position, written in enumerate(bodies(spec, "resourceSelectors")):
                selector = decode_selector(written, manifest.key)
                yield from _selected_by_override(manifest.key, position, selector, known, templates)
            for pointer, target in _targets(spec):
                yield from doubts_of_affinity(manifest.key, target, pointer, clusters)


def _targets(spec: Body) -> Iterator[tuple[str, Body]]:
    """Yield what names clusters, with its JSON pointer."""
    for position, rule in enumerate(bodies(spec, "overrideRules")):
        target = mapping_or_none(rule, "targetCluster")
        if target is not None:
            yield f"/spec/overrideRules/{position}/targetCluster", target
    target = mapping_or_none(spec, "targetCluster")
    if target is not None:
        yield "/spec/targetCluster", target


def _selected_by_override(
    key: ObjectKey, position: int, selector: ResourceSelector, known: Known, templates: Templates
) -> Iterator[Dangling]:
    """Yield a selector that selects no workload."""
    kind = (group_of(selector.api_version), selector.kind)
    matches = any(True for _ in templates.matching(key, selector))
    if matches or kind in known.unclear or not selector.kind:
        return
    at = f"/spec/resourceSelectors/{position}"
    if selector.name:
        names = templates.names(key, selector)
        message = f"no {selector.kind} {shown(selector.name)} is there to be changed"
        expected = proposal(selector.name, names, selector.kind)
        yield Dangling(key, f"{at}/name", "override-selects-nothing", message, expected)
        return
    message = f"the selector finds no {selector.kind} of this repository"
    yield Dangling(key, at, "override-selects-nothing", message, "workloads that are there")


Claim = tuple[Policy, Implicit]


def overlapping(policies: Iterable[Policy], templates: Templates) -> Iterator[Dangling]:
    """Yield each policy that loses a workload to another one of its scope by name alone, once.

    Args:
        policies: All of one scope.
        templates: The workloads.

    Source: karmada@f8fdd02 pkg/detector/policy.go `getHighestPriorityPropagationPolicy`.
    """
    claims: dict[ObjectKey, list[Claim]] = defaultdict(list)
    for policy in policies:
        nearest: dict[ObjectKey, Implicit] = {}
        for selector in () if policy.deleting else policy.selectors:
            near = _near(selector)
            for template in templates.matching(policy.key, selector):
                nearest[template.key] = max(near, nearest.get(template.key, Implicit.NO_MATCH))
        for key, near in nearest.items():
            claims[key].append((policy, near))
    named: set[ObjectKey] = set()
    some_overlap = any(len(claiming) > 1 for claiming in claims.values())
    for key, claiming in sorted(claims.items()) if some_overlap else ():  # most claim alone
        for winner, loser in _by_name(claiming):
            if loser.key not in named:
                named.add(loser.key)
                yield _overlap(key, winner, loser)


def _near(selector: ResourceSelector) -> Implicit:
    """Return how closely a selector names what it selects."""
    if selector.name:
        return Implicit.NAME
    return Implicit.ALL if selector.labels is None else Implicit.LABELS


def _by_name(claims: Sequence[Claim]) -> Iterator[tuple[Policy, Policy]]:
    """Yield the winner with each policy that has its priority and selects as closely."""
    winner, near = min(claims, key=lambda one: (-one[0].priority, -one[1], one[0].key.name))
    for policy, close in claims:
        if policy is not winner and (policy.priority, close) == (winner.priority, near):
            yield winner, policy


def _overlap(workload: ObjectKey, winner: Policy, loser: Policy) -> Dangling:
    scope = f"{workload.namespace}/" if workload.namespace else ""
    return Dangling(
        loser.key,
        "/spec/resourceSelectors",
        "policy-overlap",
        f"{workload.kind} {scope}{workload.name} is selected by {winner.key.name}, "
        "too, which takes it: neither has the greater priority nor the closer selector, so the "
        "lesser name decides",
        "another priority, or selectors that do not meet",
    )


def brought_by_policies(known: Known) -> Iterator[Brought]:
    """Yield what policies select, whichever of them takes it in the end."""
    templates = index_templates(known)
    for kind in (NAMESPACED, CLUSTER_WIDE):
        for policy in (
            decode_policy(template, known.keys) for template in known.of_kind(POLICY_GROUP, kind)
        ):
            for position, selector in enumerate(policy.selectors):
                at = f"/spec/resourceSelectors/{position}"
                for template in templates.matching(policy.key, selector):
                    yield Brought(policy.key, at, template.key)


STATE_PRESERVATION_RULE = "policy-state-preservation"


def preserved_in_vain(policy: Policy, failover: Failover) -> Iterator[Dangling]:
    """Yield why no label of a policy would be carried on, and the rules that find nothing.

    Source: karmada@f8fdd02 pkg/controllers/binding/common.go `injectReservedLabelState`.
    """
    key = policy.key
    for name, purge_mode, rules in preserving(policy.copied.failover):
        at = f"/spec/failover/{name}"
        if not failover.state_preservation:
            message = f"nothing is preserved while `{STATE_PRESERVATION}` is off in reconciler.yaml"
            expected = f"{STATE_PRESERVATION}: true"
            yield Dangling(
                key, f"{at}/statePreservation", STATE_PRESERVATION_RULE, message, expected
            )
            continue
        if purge_mode != DIRECTLY:
            message = "labels are carried only where the old copy goes before the new one comes"
            yield Dangling(
                key, f"{at}/purgeMode", STATE_PRESERVATION_RULE, message, f"purgeMode: {DIRECTLY}"
            )
        for position, rule in enumerate(rules):
            if why := unreadable_path(rule.json_path):
                where = f"{at}/statePreservation/rules/{position}/jsonPath"
                message = f"{shown(rule.json_path)} {why}, so that nothing would fail over"
                yield Dangling(
                    key, where, STATE_PRESERVATION_RULE, message, "such as {.readyReplicas}"
                )


def quotas_in(world: World) -> Iterator[QuotaUsage]:
    """Yield every quota, by key; of one that no pass has seen yet nothing is used."""
    refuses = enforces_quotas(settings_in(world))
    for manifest in world.of_kind(*QUOTA):
        quota, record = decode_quota(manifest), world.outputs.get(manifest.key)
        used = {} if record is None else decode_quota_status(record.body).used
        resources = tuple(
            LimitedResource(
                name=name,
                used=parse_quantity(used[name]) if name in used else Quantity(0),
                limit=quota.overall[name],
                written=quota.limits[name],
            )
            for name in sorted(quota.overall)
        )
        yield QuotaUsage(key=quota.key, refuses=refuses, resources=resources)


def idle_limits(known: Known) -> Iterator[Dangling]:
    """Yield the limits that refuse nothing where quotas are enforced, and that no cluster has."""
    if not enforces_quotas(settings_in(known.world)):
        return
    for manifest in known.of_kind(*QUOTA):
        quota = decode_quota(manifest)
        assigned = {name for hard in quota.assignments.values() for name in hard}
        for name in sorted(quota.overall.keys() - assigned):
            if not is_enforced(name):
                yield Dangling(
                    manifest.key,
                    f"/spec/overall{pointer_of([name])}",
                    "quota-not-enforced",
                    f"the limit of {shown(name)} refuses nothing, since no replica asks for it",
                    _enforced_instead(name),
                )


def _enforced_instead(name: str) -> str:
    """Return the name that is compared, or what else limits it."""
    plain = name.removeprefix("requests.")
    if plain != name and is_enforced(plain) and plain != "storage":
        return f"{plain}, as containers request it"
    return "a ResourceQuota in each cluster, such as `staticAssignments` gives it"


def dangling_in_quotas(known: Known, clusters: KnownClusters) -> Iterator[Dangling]:
    """Yield the names in static assignments that no cluster has."""
    for manifest in known.of_kind(*QUOTA):
        names = enumerate(decode_assigned(mapping(manifest.body, "spec")))
        missing = (
            one
            for position, name in names
            for one in doubts_of_name(
                manifest.key, name, f"/spec/staticAssignments/{position}/clusterName", clusters
            )
        )
        yield from islice(missing, MAX_VIOLATIONS)
