"""Overrides of a manifest on a cluster: first the cluster-scoped policies, then those beside it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from reconciler.dialects.karmada.api.clusters import Members
from reconciler.dialects.karmada.overridemanager.applied_overrides import (
    CLUSTER_OVERRIDES,
    OVERRIDES,
    AppliedOverride,
    applied_text,
)
from reconciler.dialects.karmada.overridemanager.command_overrider import command_patches
from reconciler.dialects.karmada.overridemanager.field_overrider import field_patches
from reconciler.dialects.karmada.overridemanager.image_overrider import image_patches
from reconciler.dialects.karmada.overridemanager.label_overrider import label_patches
from reconciler.dialects.karmada.overridemanager.override_policy import (
    OverridePolicies,
    OverridePolicy,
    PolicyRule,
    rules_for,
)
from reconciler.errors import UserError
from reconciler.manifests.json_patch import apply_patch
from reconciler.model.content import at
from reconciler.model.fields import bodies, text
from reconciler.model.same import Same
from reconciler.model.world import Body

CHANGES: Mapping[str, Callable[[Body, Body], list[Body]]] = {
    "imageOverrider": image_patches,
    "commandOverrider": lambda manifest, change: command_patches(manifest, "command", change),
    "argsOverrider": lambda manifest, change: command_patches(manifest, "args", change),
    "labelsOverrider": lambda manifest, change: label_patches(manifest, "labels", change),
    "annotationsOverrider": lambda manifest, change: label_patches(manifest, "annotations", change),
    "fieldOverrider": field_patches,
}
"""What a change of each list stands for, in the order of the lists; plaintext comes last."""


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
        found = self._steps[key]
        if isinstance(found, UserError):
            raise found
        return found


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
    for name, patches_of in CHANGES.items():
        for change in bodies(overriders, name):
            manifest = _patched(manifest, patches_of(manifest, change))
    plain = [
        {"op": text(one, "operator"), "path": text(one, "path"), "value": one.get("value")}
        for one in bodies(overriders, "plaintext")
    ]
    return _patched(manifest, plain)


def _patched(manifest: Body, patches: Sequence[Body]) -> Body:
    if not patches:
        return manifest
    found = apply_patch(manifest, patches)
    if not isinstance(found, Mapping) or not text(cast("Body", found), "kind"):
        raise UserError("the patch leaves no object with a kind")
    return found
