"""The annotations that tell which override policies changed a manifest."""

from collections.abc import Sequence
from typing import NamedTuple

from reconciler.dialects.karmada.api.gojson import go_json
from reconciler.model.body import Body
from reconciler.model.fields import bodies, mapping, mapping_or_none

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
    told: dict[str, object] = {}
    for name in fields:
        value = change.get(name)
        if name in {"json", "yaml"} and value:
            told[name] = [_change(one, _IN_TEXT, "plaintext") for one in bodies(change, name)]
        elif name == "predicate":
            predicate = mapping_or_none(change, name)
            if predicate is not None:
                told[name] = {"path": predicate.get("path") or ""}
        elif name in _ALWAYS:
            told[name] = value or ""
        elif name == "value" and of == "plaintext":
            told[name] = value
        elif name == "value" and of in _MAPS:
            told[name] = dict(sorted(mapping(change, name).items()))
        elif value:
            told[name] = value
    return told
