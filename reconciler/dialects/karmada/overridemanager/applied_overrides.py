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
    for field in fields:
        value = change.get(field)
        if field in {"json", "yaml"} and value:
            told[field] = [_change(one, _IN_TEXT, "plaintext") for one in bodies(change, field)]
        elif field == "predicate":
            predicate = mapping_or_none(change, field)
            if predicate is not None:
                told[field] = {"path": predicate.get("path") or ""}
        elif field in _ALWAYS:
            told[field] = value or ""
        elif field == "value" and of == "plaintext":
            told[field] = value
        elif field == "value" and of in _MAPS:
            told[field] = dict(sorted(mapping(change, field).items()))
        elif value:
            told[field] = value
    return told
