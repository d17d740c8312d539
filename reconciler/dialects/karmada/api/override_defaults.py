"""What Karmada's mutating webhook makes of an OverridePolicy; it knows no cluster-scoped one."""

from collections.abc import Mapping

from reconciler.manifests.scope import DEFAULT_NAMESPACE
from reconciler.model.body import Body
from reconciler.model.fields import bodies, mapping, mapping_or_none, text

CHANGES: Mapping[str, Body] = {
    "plaintext": {"path": "", "operator": "", "value": None},
    "imageOverrider": {"component": "", "operator": ""},
    "commandOverrider": {"containerName": "", "operator": ""},
    "argsOverrider": {"containerName": "", "operator": ""},
    "labelsOverrider": {"operator": ""},
    "annotationsOverrider": {"operator": ""},
    "fieldOverrider": {"fieldPath": ""},
}
"""The lists of changes, and what Go writes in their items where a field is absent."""

_IN_TEXT: Body = {"subPath": "", "operator": "", "value": None}


def mutated_override(body: Body) -> Body:
    """Return the spec of an OverridePolicy as the webhook stores it: with the own namespace.

    The webhook reads it into a Go value and writes it again, so empty lists vanish, and texts that
    are absent become empty.

    Source: karmada@f8fdd02 pkg/webhook/overridepolicy/mutating.go `Handle`, and the `json` tags of
    pkg/apis/policy/v1alpha1/override_types.go.
    """
    spec = mapping(body, "spec")
    own = text(mapping(body, "metadata"), "namespace") or DEFAULT_NAMESPACE
    lists = {
        "resourceSelectors": [_selector(one, own) for one in bodies(spec, "resourceSelectors")],
        "overrideRules": [_rule(rule) for rule in bodies(spec, "overrideRules")],
    }
    written: dict[str, object] = {name: found for name, found in lists.items() if found}
    target = mapping_or_none(spec, "targetCluster")
    if target is not None:
        written["targetCluster"] = _target(target)
    return {**written, "overriders": _overriders(mapping(spec, "overriders"))}


def _selector(selector: Body, own: str) -> Body:
    told = {name: one for name, one in selector.items() if one not in (None, "")}
    return {"apiVersion": "", "kind": "", "namespace": own, **told}


def _rule(rule: Body) -> Body:
    target = mapping_or_none(rule, "targetCluster")
    clusters = {} if target is None else {"targetCluster": _target(target)}
    return {**clusters, "overriders": _overriders(mapping(rule, "overriders"))}


def _target(target: Body) -> Body:
    """Return a selector of clusters without empty lists."""
    return {name: one for name, one in target.items() if one not in (None, [])}


def _overriders(overriders: Body) -> Body:
    lists = {
        name: [_change(name, one) for one in bodies(overriders, name)]
        for name in CHANGES
        if name in overriders
    }
    return {name: found for name, found in lists.items() if found}


def _change(name: str, change: Body) -> Body:
    """Return one change as Go writes it."""
    optional = ("value",) if name in ("imageOverrider", "commandOverrider", "argsOverrider") else ()
    told = {
        field: one
        for field, one in change.items()
        if not (field in (*optional, "json", "yaml", "predicate") and one in (None, "", []))
    }
    for field in ("json", "yaml"):
        if field in told and name == "fieldOverrider":
            told[field] = [{**_IN_TEXT, **one} for one in bodies(told, field)]
    predicate = mapping_or_none(told, "predicate")
    if predicate is not None:
        told["predicate"] = {"path": "", **predicate}
    return {**CHANGES[name], **told}
