"""What policies refer to."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from reconciler.dialects.karmada.api.custom_kinds import CustomKinds, VersionedKind
from reconciler.dialects.karmada.api.groups import CLUSTER_GROUP, SCHEDULING_GROUP
from reconciler.dialects.karmada.api.policies import (
    CLUSTER_WIDE,
    GROUP,
    NAMESPACED,
    Policy,
    ResourceSelector,
    Template,
    closeness,
    decode_policy,
    template_of,
)
from reconciler.dialects.karmada.api.work.binding_spec import decode_policy_fields
from reconciler.dialects.karmada.detector.known_policies import BUILT_IN_PRIORITIES
from reconciler.dialects.karmada.detector.options import decode_detector_options
from reconciler.dialects.karmada.detector.propagation import Propagation
from reconciler.dialects.karmada.view.custom_kind_references import (
    divides,
    scripted_kinds,
    scripts,
    uncountable,
    undivided,
)
from reconciler.manifests.label_index import LabelIndex
from reconciler.manifests.names import shown
from reconciler.manifests.references import Dangling, Known, proposal
from reconciler.manifests.text.limits import MAX_VIOLATIONS
from reconciler.model.body import Body
from reconciler.model.fields import bodies, mapping, mapping_or_none, strings, text
from reconciler.model.identity import group_of
from reconciler.model.settings import settings_in
from reconciler.model.world import Manifest

CLUSTER = "Cluster"


def dangling_in_karmada(known: Known) -> Iterator[Dangling]:
    """Yield the references of policies that lead nowhere."""
    templates = _templates(known)
    options = decode_detector_options(settings_in(known.world))
    scripted = scripted_kinds(known)
    yield from scripts(known, options.custom_kinds)
    yield from uncountable(templates.by_name, options.custom_kinds)
    clusters = known.names(CLUSTER_GROUP, CLUSTER)
    classes = known.names(SCHEDULING_GROUP, "PriorityClass") | BUILT_IN_PRIORITIES.keys()
    for kind in (NAMESPACED, CLUSTER_WIDE):
        for manifest in known.of_kind(GROUP, kind):
            policy = decode_policy(manifest, known.keys)
            yield from _selected(policy, known, templates)
            yield from _propagated(policy, templates, options.propagation)
            yield from _divided(policy, templates, options.custom_kinds, scripted)
            yield from islice(_clusters(manifest, clusters), MAX_VIOLATIONS)
            yield from _overrides(policy)
            yield from _priority_class(policy, classes)
            yield from _spread(policy)


@dataclass(frozen=True, slots=True)
class _OfKind:
    """The workloads of one API version and kind, by name and by label.

    Attributes:
        by_name: Name to all of that name.
        by_place: Namespace to those in it by their labels; `""` to all of them.
    """

    by_name: Mapping[str, tuple[Template, ...]]
    by_place: Mapping[str, LabelIndex[Template]]

    def candidates(self, policy: Policy, selector: ResourceSelector) -> Iterable[Template]:
        """Return what a selector of a policy may select; its namespace is still to be asked."""
        if selector.name:
            return self.by_name.get(selector.name, ())
        place = selector.namespace if policy.key.kind == CLUSTER_WIDE else policy.key.namespace
        found = self.by_place.get(place)
        return () if found is None else found.selected(selector.labels)


@dataclass(frozen=True, slots=True)
class Templates:
    """The workloads by API version and kind, and among those by name and label."""

    by_kind: Mapping[tuple[str, str], _OfKind]

    @property
    def by_name(self) -> Mapping[tuple[str, str], Mapping[str, tuple[Template, ...]]]:
        """The workloads by API version and kind, and among those by name."""
        return {kind: found.by_name for kind, found in self.by_kind.items()}

    def matching(self, policy: Policy, selector: ResourceSelector) -> Iterator[Template]:
        """Yield what one selector of a policy selects."""
        of_kind = self.by_kind.get((selector.api_version, selector.kind))
        for template in () if of_kind is None else of_kind.candidates(policy, selector):
            here = policy.key.kind == CLUSTER_WIDE or template.key.namespace == policy.key.namespace
            if here and closeness(selector, template):
                yield template


def _templates(known: Known) -> Templates:
    """Index the workloads."""
    found: dict[tuple[str, str], dict[str, list[Template]]] = defaultdict(lambda: defaultdict(list))
    for key, manifest in known.world.inputs.items():
        if key.group not in known.world.known.groups:
            template = template_of(manifest)
            found[template.api_version, key.kind][key.name].append(template)
    return Templates({kind: _indexed(by_name) for kind, by_name in found.items()})


def _indexed(by_name: Mapping[str, Sequence[Template]]) -> _OfKind:
    """Index the workloads of a kind."""
    by_place: dict[str, list[tuple[Mapping[str, str], Template]]] = defaultdict(list)
    for template in (one for templates in by_name.values() for one in templates):
        for place in {"", template.key.namespace}:
            by_place[place].append((template.labels, template))
    return _OfKind(
        {name: tuple(templates) for name, templates in by_name.items()},
        {place: LabelIndex(templates) for place, templates in by_place.items()},
    )


def _selected(policy: Policy, known: Known, templates: Templates) -> Iterator[Dangling]:
    """Yield the policy if it selects nothing, else the names in it that name nothing."""
    empty = [
        position
        for position, selector in enumerate(policy.selectors)
        if not any(True for _ in templates.matching(policy, selector))
        and (group_of(selector.api_version), selector.kind) not in known.unclear
    ]
    rule, expected = "policy-selects-nothing", "workloads that it selects, or no such selector"
    unkinded = list(_without_kind(policy, rule))
    yield from unkinded
    if unkinded:
        return
    if len(empty) == len(policy.selectors):
        message = "the policy selects no workload of this repository"
        yield Dangling(policy.key, "/spec/resourceSelectors", rule, message, expected)
        return
    for position in empty:
        selector = policy.selectors[position]
        if selector.name:
            at = f"/spec/resourceSelectors/{position}/name"
            message = f"no {selector.kind} {shown(selector.name)} is there to be selected"
            yield Dangling(policy.key, at, rule, message, expected)


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
        for template in templates.matching(policy, selector):
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
    for position, selector in enumerate(policy.selectors if divides(policy) else ()):
        found = (
            dangling
            for template in templates.matching(policy, selector)
            for dangling in undivided(policy, position, template, custom, scripted)
        )
        yield from islice(found, 1)


def _clusters(manifest: Manifest, names: frozenset[str]) -> Iterator[Dangling]:
    """Yield names of clusters that no cluster has."""
    for at, affinity in _affinities(
        decode_policy_fields(mapping(manifest.body, "spec")).placement or {}
    ):
        for field in ("clusterNames", "exclude"):
            for position, name in enumerate(strings(affinity, field)):
                if name not in names:
                    yield Dangling(
                        manifest.key,
                        f"{at}/{field}/{position}",
                        "policy-cluster-unknown",
                        f"no Cluster is named {shown(name)}",
                        proposal(name, names, CLUSTER),
                    )


def _affinities(placement: Body) -> Iterator[tuple[str, Body]]:
    """Yield everything that names clusters, with its JSON pointer."""
    root = "/spec/placement"
    single = mapping_or_none(placement, "clusterAffinity")
    if single is not None:
        yield f"{root}/clusterAffinity", single
    for position, term in enumerate(bodies(placement, "clusterAffinities")):
        at = f"{root}/clusterAffinities/{position}"
        yield at, term
        for number, more in enumerate(bodies(term, "overflowAffinities")):
            yield f"{at}/overflowAffinities/{number}", more
    preference = mapping(mapping(placement, "replicaScheduling"), "weightPreference")
    at = f"{root}/replicaScheduling/weightPreference/staticWeightList"
    for position, weight in enumerate(bodies(preference, "staticWeightList")):
        yield f"{at}/{position}/targetCluster", mapping(weight, "targetCluster")


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
