"""Override policies: which manifests they mean, on which clusters, and in which order they come."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from reconciler.dialects.karmada.api.clusters import Members
from reconciler.dialects.karmada.api.placement import ClusterAffinity, decode_affinity
from reconciler.dialects.karmada.api.policies import (
    Implicit,
    ResourceSelector,
    Template,
    closeness,
    decode_selector,
)
from reconciler.model.body import Body
from reconciler.model.content import at
from reconciler.model.fields import bodies, mapping, mapping_or_none, text
from reconciler.model.identity import ObjectKey, group_of
from reconciler.model.labels import labels_of
from reconciler.model.world import Manifest


@dataclass(frozen=True, slots=True, eq=False)
class OverrideRule:
    """Changes for some clusters, `None` for all."""

    target: ClusterAffinity | None
    overriders: Body

    def concerns(self, members: Members, position: int) -> bool:
        """Return whether the rule is for a cluster.

        Source: karmada@f8fdd02 pkg/util/overridemanager/overridemanager.go
        `getOverridersFromOverridePolicies`.
        """
        return self.target is None or bool(members.matching(self.target) >> position & 1)


@dataclass(frozen=True, slots=True, eq=False)
class OverridePolicy:
    """Rules for the manifests that any of the selectors means; without selectors, for all."""

    key: ObjectKey
    selectors: tuple[ResourceSelector, ...]
    rules: tuple[OverrideRule, ...]

    def priority(self, manifest: Template) -> Implicit:
        """Return how closely the policy means a manifest."""
        if not self.selectors:
            return Implicit.ALL
        return max(closeness(selector, manifest) for selector in self.selectors)


@dataclass(frozen=True, slots=True)
class OverridePolicies:
    """The override policies of a repository: cluster-scoped ones, and the others by namespace."""

    cluster_wide: tuple[OverridePolicy, ...] = ()
    by_namespace: Mapping[str, tuple[OverridePolicy, ...]] | None = None

    @property
    def some(self) -> bool:
        """Whether there is any."""
        return bool(self.cluster_wide or self.by_namespace)

    def of(self, namespace: str) -> tuple[OverridePolicy, ...]:
        """Return the policies of a namespace; what has none has none of them."""
        return (self.by_namespace or {}).get(namespace, ()) if namespace else ()


def index_overrides(policies: Iterable[OverridePolicy]) -> OverridePolicies:
    """Return override policies by where they count."""
    cluster_wide: list[OverridePolicy] = []
    by_namespace: dict[str, list[OverridePolicy]] = {}
    for policy in policies:
        namespace = policy.key.namespace
        (by_namespace.setdefault(namespace, []) if namespace else cluster_wide).append(policy)
    found = {namespace: tuple(policies) for namespace, policies in by_namespace.items()}
    return OverridePolicies(tuple(cluster_wide), found)


def decode_override_policy(manifest: Manifest) -> OverridePolicy:
    """Return an override policy.

    Without any rule the deprecated pair of the spec is the only one.

    Source: karmada@f8fdd02 pkg/util/overridemanager/overridemanager.go
    `getOverridersFromOverridePolicies`.
    """
    spec = mapping(manifest.body, "spec")
    written = bodies(spec, "overrideRules") or (spec,)
    return OverridePolicy(
        key=manifest.key,
        selectors=tuple(
            decode_selector(one, manifest.key) for one in bodies(spec, "resourceSelectors")
        ),
        rules=tuple(_rule(rule) for rule in written),
    )


def _rule(rule: Body) -> OverrideRule:
    target = mapping_or_none(rule, "targetCluster")
    affinity = None if target is None else decode_affinity(target)
    return OverrideRule(affinity, mapping(rule, "overriders"))


PolicyRule = tuple[OverridePolicy, OverrideRule]
"""A rule, and the policy that it is of."""


def rules_for(policies: Iterable[OverridePolicy], manifest: Body) -> Iterator[PolicyRule]:
    """Yield the rules that concern a manifest on any cluster, in the order in which they apply.

    The closer a policy means the manifest, the later it comes; then by name.

    Source: karmada@f8fdd02 pkg/util/overridemanager/overridemanager.go
    `getOverridersFromOverridePolicies`.
    """
    seen = _as_template(manifest)
    priorities = {policy: policy.priority(seen) for policy in policies}
    for policy in sorted(priorities, key=lambda one: (priorities[one], one.key.name)):
        if priorities[policy] is not Implicit.NO_MATCH:
            yield from ((policy, rule) for rule in policy.rules)


def _as_template(manifest: Body) -> Template:
    """Return a manifest as selectors see it."""
    metadata, version = at(manifest, "metadata"), text(manifest, "apiVersion")
    named = (str(metadata.get(field) or "") for field in ("namespace", "name"))
    key = ObjectKey(group_of(version), text(manifest, "kind"), *named)
    return Template(key, version, labels_of(manifest), manifest)
