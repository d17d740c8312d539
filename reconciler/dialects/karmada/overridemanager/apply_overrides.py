"""Overrides of a manifest on a cluster: first the cluster-scoped policies, then those beside it."""

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import cast

from reconciler.dialects.karmada.api.clusters import Members
from reconciler.dialects.karmada.overridemanager.applied_overrides import (
    CLUSTER_OVERRIDES,
    OVERRIDES,
    AppliedOverride,
    applied_text,
)
from reconciler.dialects.karmada.overridemanager.command_overrider import command_patches
from reconciler.dialects.karmada.overridemanager.field_overrider import field_patches, text_changed
from reconciler.dialects.karmada.overridemanager.image_overrider import image_patches
from reconciler.dialects.karmada.overridemanager.label_overrider import label_patches
from reconciler.dialects.karmada.overridemanager.override_policy import (
    OverridePolicies,
    OverridePolicy,
    PolicyRule,
    rules_for,
)
from reconciler.errors import UserError
from reconciler.manifests.json_patch import patch_in_place
from reconciler.model.body import Body
from reconciler.model.content import at
from reconciler.model.fields import bodies, text
from reconciler.model.same import Same

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
    found = copy.deepcopy(manifest)
    for name, change in CHANGES.items():
        found = change(found, bodies(overriders, name))
    return found


def _patched(manifest: Body, patches: Sequence[Body]) -> Body:
    """Return a manifest, which is changed in place, as patches leave it."""
    if not patches:
        return manifest
    found = patch_in_place(manifest, patches)
    if not isinstance(found, Mapping) or not text(cast("Body", found), "kind"):
        raise UserError("the patch leaves no object with a kind")
    return found


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
    for one in changes:
        size += len(text_changed(manifest, one))
        if size > MOST_CHARACTERS:
            raise UserError(
                f"fieldOverriders change texts of more than {MOST_CHARACTERS} characters together; "
                "put all changes of one text into one fieldOverrider"
            )
        manifest = _patched(manifest, field_patches(manifest, one))
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
