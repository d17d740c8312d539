"""Overrides of a manifest on a cluster: cluster-scoped policies first, then those of its namespace.

Override policies are decoded and indexed by where they count: which manifests they mean, on which
clusters, in which order. Annotations record the policies that changed a manifest.
"""

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple, cast

from reconciler.dialects.karmada.api.cluster import Members
from reconciler.dialects.karmada.api.names import go_json
from reconciler.dialects.karmada.api.placement import ClusterAffinity, decode_affinity
from reconciler.dialects.karmada.api.policy import (
    Implicit,
    ResourceSelector,
    Template,
    closeness,
    decode_selector,
)
from reconciler.dialects.karmada.overridemanager.overriders import (
    command_patches,
    field_patches,
    image_patches,
    label_patches,
    text_changed,
)
from reconciler.errors import UserError
from reconciler.manifests.json_patch import patch_in_place
from reconciler.manifests.references import OverrideResult
from reconciler.model.body import Body
from reconciler.model.fields import at, bodies, mapping, mapping_or_none, text
from reconciler.model.identity import ObjectKey, group_of
from reconciler.model.labels import labels_of
from reconciler.model.records import dataclass, field
from reconciler.model.remembered import Same
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

    def results(self, template: Template) -> Iterator[OverrideResult]:
        """Yield what each rule makes of a workload by itself, or why it cannot change it."""
        for position, rule in enumerate(self.rules):
            result: Body | str
            try:
                result = _with_overriders(template.body, rule.overriders)
            except UserError as error:
                result = error.message
            pointer = f"/spec/overrideRules/{position}/overriders"
            yield OverrideResult(self.key, pointer, template.key, result)


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
    policies_of = {namespace: tuple(policies) for namespace, policies in by_namespace.items()}
    return OverridePolicies(tuple(cluster_wide), policies_of)


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


CLUSTER_OVERRIDES = "policy.karmada.io/applied-cluster-overrides"
OVERRIDES = "policy.karmada.io/applied-overrides"

_FIELDS = {
    "plaintext": ("path", "operator", "value"),
    "imageOverrider": ("predicate", "component", "operator", "value"),
    "commandOverrider": ("containerName", "operator", "value"),
    "argsOverrider": ("containerName", "operator", "value"),
    "labelsOverrider": ("operator", "value"),
    "annotationsOverrider": ("operator", "value"),
    "fieldOverrider": ("fieldPath", "json", "yaml"),
}
_MAPS = {"labelsOverrider", "annotationsOverrider"}
_IN_TEXT = ("subPath", "operator", "value")
_ALWAYS = {"path", "operator", "component", "containerName", "fieldPath", "subPath"}


class AppliedOverride(NamedTuple):
    """One rule that applied, by the name of its policy."""

    policy: str
    overriders: Body


def applied_text(applied: Sequence[AppliedOverride]) -> str:
    """Return the rules as Go writes them, sorted by the names of their policies.

    Source: karmada@f8fdd02 pkg/util/overridemanager/overridemanager.go `AppliedOverrides`, and the
    `json` tags of pkg/apis/policy/v1alpha1/override_types.go.
    """
    ordered = sorted(applied, key=lambda one: one.policy)
    return go_json(
        [{"policyName": one.policy, "overriders": _overriders(one.overriders)} for one in ordered]
    )


def _overriders(overriders: Body) -> Body:
    return {
        name: [_change(one, fields, name) for one in bodies(overriders, name)]
        for name, fields in _FIELDS.items()
        if overriders.get(name)
    }


def _change(change: Body, fields: Sequence[str], of: str) -> Body:
    """Return a change with its fields in the order of upstream's struct."""
    patch: dict[str, object] = {}
    for name in fields:
        value = change.get(name)
        if name in {"json", "yaml"} and value:
            patch[name] = [_change(one, _IN_TEXT, "plaintext") for one in bodies(change, name)]
        elif name == "predicate":
            predicate = mapping_or_none(change, name)
            if predicate is not None:
                patch[name] = {"path": predicate.get("path") or ""}
        elif name in _ALWAYS:
            patch[name] = value or ""
        elif name == "value" and of == "plaintext":
            patch[name] = value
        elif name == "value" and of in _MAPS:
            patch[name] = dict(sorted(mapping(change, name).items()))
        elif value:
            patch[name] = value
    return patch


MOST_CHARACTERS = 1_572_864
"""Ours: as many as an object may have at all, by etcd's default of `--max-request-bytes`."""
Change = Callable[[Body, Sequence[Body]], Body]
"""Returns a manifest, which it may change in place, as a list of changes leaves it."""


@dataclass(frozen=True, slots=True)
class Overridden:
    """A manifest as its overrides leave it, and the rules that applied, in their order."""

    manifest: Body
    cluster_wide: tuple[PolicyRule, ...] = ()
    namespaced: tuple[PolicyRule, ...] = ()


@dataclass(slots=True, eq=False)
class Overrides:
    """The overrides of one manifest on many clusters, of which those alike are applied once."""

    policies: OverridePolicies
    members: Members
    _rules: dict[tuple[tuple[OverridePolicy, ...], Same], tuple[PolicyRule, ...]] = field(
        default_factory=dict
    )
    _steps: dict[tuple[Same, tuple[PolicyRule, ...]], Body | UserError] = field(
        default_factory=dict
    )

    def apply(self, manifest: Body, position: int) -> Overridden:
        """Apply all override policies that concern a manifest on a cluster.

        All policies of a scope are matched before the first of them is applied; those of a
        namespace are those of the namespace that the cluster-scoped ones leave.

        Args:
            manifest: The manifest, its replicas revised already.
            position: Of the cluster in the fleet.

        Returns:
            The very same manifest where a cluster before got the same.

        Raises:
            UserError: A change does not apply.

        Source: karmada@f8fdd02 pkg/util/overridemanager/overridemanager.go `ApplyOverridePolicies`.
        """
        wide = self._at(self.policies.cluster_wide, manifest, position)
        changed = self._with(manifest, wide)
        namespace = at(changed, "metadata").get("namespace") if self.policies.by_namespace else None
        local = self.policies.of(namespace) if isinstance(namespace, str) else ()
        beside = self._at(local, changed, position)
        return Overridden(self._with(changed, beside), wide, beside)

    def _at(
        self, policies: tuple[OverridePolicy, ...], manifest: Body, position: int
    ) -> tuple[PolicyRule, ...]:
        """Return the rules that concern a manifest on a cluster, in order."""
        if not policies:
            return ()
        key = (policies, Same(manifest))
        if key not in self._rules:
            self._rules[key] = tuple(rules_for(policies, manifest))
        rules = self._rules[key]
        return tuple(one for one in rules if one[1].concerns(self.members, position))

    def _with(self, manifest: Body, rules: tuple[PolicyRule, ...]) -> Body:
        """Return a manifest as rules leave it."""
        if not rules:
            return manifest
        key = (Same(manifest), rules)
        if key not in self._steps:
            try:
                self._steps[key] = _with_rules(manifest, rules)
            except UserError as error:
                self._steps[key] = error
        step = self._steps[key]
        if isinstance(step, UserError):
            raise step
        return step


def applied_annotations(found: Overridden) -> dict[str, str]:
    """Return the annotations that tell which policies changed a manifest, none if none did."""
    applied = {CLUSTER_OVERRIDES: found.cluster_wide, OVERRIDES: found.namespaced}
    return {name: applied_text(_told(rules)) for name, rules in applied.items() if rules}


def _told(rules: Iterable[PolicyRule]) -> tuple[AppliedOverride, ...]:
    return tuple(AppliedOverride(policy.key.name, rule.overriders) for policy, rule in rules)


def _with_rules(manifest: Body, rules: Iterable[PolicyRule]) -> Body:
    for policy, rule in rules:
        try:
            manifest = _with_overriders(manifest, rule.overriders)
        except UserError as error:
            raise UserError(f"{policy.key.kind} {policy.key.name}: {error.message}") from None
    return manifest


def _with_overriders(manifest: Body, overriders: Body) -> Body:
    """Return a manifest as one rule leaves it: each change in its turn, those of plaintext at once.

    Source: karmada@f8fdd02 pkg/util/overridemanager/overridemanager.go `applyPolicyOverriders`.
    """
    changed = copy.deepcopy(manifest)
    for name, change in CHANGES.items():
        changed = change(changed, bodies(overriders, name))
    return changed


def _patched(manifest: Body, patches: Sequence[Body]) -> Body:
    """Return a manifest, which is changed in place, as patches leave it."""
    if not patches:
        return manifest
    patched = patch_in_place(manifest, patches)
    if not isinstance(patched, Mapping) or not text(cast("Body", patched), "kind"):
        raise UserError("the patch leaves no object with a kind")
    return patched


def _one_by_one(patches_of: Callable[[Body, Body], list[Body]]) -> Change:
    """Return what applies changes that each look at what those before have left."""

    def change(manifest: Body, changes: Sequence[Body]) -> Body:
        for one in changes:
            manifest = _patched(manifest, patches_of(manifest, one))
        return manifest

    return change


def _in_texts(manifest: Body, changes: Sequence[Body]) -> Body:
    """Return a manifest with texts in it changed; each change reads and writes the whole text."""
    size = 0
    for change in changes:
        size += len(text_changed(manifest, change))
        if size > MOST_CHARACTERS:
            raise UserError(
                f"fieldOverriders change texts of more than {MOST_CHARACTERS} characters together; "
                "put all changes of one text into one fieldOverrider"
            )
        manifest = _patched(manifest, field_patches(manifest, change))
    return manifest


def _at_once(patches_of: Callable[[Body, Sequence[Body]], list[Body]]) -> Change:
    """Return what applies changes whose patches can be told beforehand."""
    return lambda manifest, changes: _patched(manifest, patches_of(manifest, changes))


def _plaintext(_manifest: Body, changes: Sequence[Body]) -> list[Body]:
    """Return the JSON patch that plaintext overriders are."""
    return [
        {"op": text(one, "operator"), "path": text(one, "path"), "value": one.get("value")}
        for one in changes
    ]


CHANGES: Mapping[str, Change] = {
    "imageOverrider": _one_by_one(image_patches),
    "commandOverrider": _at_once(partial(command_patches, "command")),
    "argsOverrider": _at_once(partial(command_patches, "args")),
    "labelsOverrider": _at_once(partial(label_patches, "labels")),
    "annotationsOverrider": _at_once(partial(label_patches, "annotations")),
    "fieldOverrider": _in_texts,
    "plaintext": _at_once(_plaintext),
}
"""What applies each list of changes, in the order of the lists."""
