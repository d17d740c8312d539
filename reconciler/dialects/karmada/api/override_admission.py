"""What Karmada's webhooks refuse in override policies of both scopes, and what they fill in.

The mutating webhook knows OverridePolicy only; a ClusterOverridePolicy is stored as it is written.
The rules for selectors apply to policies of any kind.
"""

from collections.abc import Iterator, Mapping

from reconciler.dialects.karmada.api.cluster_admission import MOST_ANNOTATIONS
from reconciler.manifests.identity import DEFAULT_NAMESPACE
from reconciler.manifests.schemas.violations import Violation
from reconciler.model.body import Body
from reconciler.model.fields import bodies, mapping, mapping_or_none, text
from reconciler.model.labels import is_label_key, is_label_value
from reconciler.model.text import shown

COUNTED = (
    "plaintext",
    "imageOverrider",
    "commandOverrider",
    "argsOverrider",
    "labelsOverrider",
    "annotationsOverrider",
)
"""Changes that must not stand beside rules; upstream forgets `fieldOverrider`."""


def refuse_override_policy(body: Body) -> tuple[Violation, ...]:
    """Return what is wrong with an override policy that its schema accepts.

    An OverridePolicy is judged as its mutating webhook leaves it: without empty lists. Changes
    outside of rules, which are deprecated, are not looked at.

    Source: karmada@f8fdd02 pkg/util/validation/validation.go `ValidateOverrideSpec`.
    """
    namespaced = text(body, "kind") == "OverridePolicy"
    spec = mutated_override(body) if namespaced else mapping(body, "spec")
    rules = bodies(spec, "overrideRules")
    return (
        *refuse_field_selector(mapping(spec, "targetCluster"), "/spec/targetCluster"),
        *_exclusive(spec),
        *refuse_selector_namespaces(body, spec),
        *(one for position, rule in enumerate(rules) for one in _check_rule(rule, position)),
    )


def _exclusive(spec: Body) -> Iterator[Violation]:
    """Where there are rules, what they say stands in them."""
    if spec.get("overrideRules") is None:
        return
    changes = mapping(spec, "overriders")
    for name, given in (
        ("targetCluster", spec.get("targetCluster") is not None),
        ("overriders", any(bodies(changes, one) for one in COUNTED)),
    ):
        if given:
            yield Violation(
                f"/spec/{name}",
                "override-exclusive",
                f"`{name}` must not stand beside `overrideRules`",
                f"{name} in each rule",
            )


def _check_rule(rule: Body, position: int) -> Iterator[Violation]:
    """Yield what is wrong with one rule.

    Source: karmada@f8fdd02 pkg/util/validation/validation.go `ValidateOverrideRules`.
    """
    at = f"/spec/overrideRules/{position}"
    yield from refuse_field_selector(mapping(rule, "targetCluster"), f"{at}/targetCluster")
    changes = mapping(rule, "overriders")
    for place, change in enumerate(bodies(changes, "annotationsOverrider")):
        yield from _annotations(change, f"{at}/overriders/annotationsOverrider/{place}/value")
    for place, change in enumerate(bodies(changes, "labelsOverrider")):
        yield from _labels(change, f"{at}/overriders/labelsOverrider/{place}/value")
    for place, change in enumerate(bodies(changes, "imageOverrider")):
        path = text(mapping(change, "predicate"), "path")
        yield from _pointer(path, f"{at}/overriders/imageOverrider/{place}/predicate/path")
    for place, change in enumerate(bodies(changes, "fieldOverrider")):
        yield from _in_text(change, f"{at}/overriders/fieldOverrider/{place}")


def _annotations(change: Body, at: str) -> Iterator[Violation]:
    """Yield keys that no annotation has; the case of letters does not matter.

    Source: apimachinery pkg/api/validation/objectmeta.go `ValidateAnnotations`.
    """
    given = mapping(change, "value")
    for key in given:
        if not is_label_key(key.lower()):
            message = f"{shown(key)} must be the key of an annotation"
            yield Violation(at, "override-annotation", message, "a label key")
    size = sum(len(part.encode()) for key in given for part in (key, text(given, key)))
    if size > MOST_ANNOTATIONS:
        message = f"annotations must have at most {MOST_ANNOTATIONS} bytes, these have {size}"
        yield Violation(at, "override-annotation", message, "shorter values")


def _labels(change: Body, at: str) -> Iterator[Violation]:
    """Yield keys and values that no label has.

    Source: apimachinery pkg/apis/meta/v1/validation/validation.go `ValidateLabels`.
    """
    given = mapping(change, "value")
    for key in given:
        if not is_label_key(key):
            message = f"{shown(key)} must be the key of a label"
            yield Violation(at, "override-label", message, "a label key")
        if not is_label_value(text(given, key)):
            message = f"{shown(text(given, key))} must be the value of a label"
            yield Violation(at, "override-label", message, "a label value")


def _pointer(path: str, at: str) -> Iterator[Violation]:
    """Yield a path that leads nowhere; escapes in it are not looked at."""
    if path and not path.startswith("/"):
        message = f"the path {shown(path)} must begin with /"
        yield Violation(at, "override-pointer", message, shown(f"/{path}"))


def _in_text(change: Body, at: str) -> Iterator[Violation]:
    """A text holds JSON or YAML, and each change has a value unless it removes.

    Source: karmada@f8fdd02 pkg/util/validation/validation.go `validateFieldOverrider`.
    """
    yield from _pointer(text(change, "fieldPath"), f"{at}/fieldPath")
    if bool(bodies(change, "json")) == bool(bodies(change, "yaml")):
        message = "either `json` or `yaml` must be given"
        yield Violation(at, "override-text", message, "what the text holds")
    for name in ("json", "yaml"):
        for place, one in enumerate(bodies(change, name)):
            where = f"{at}/{name}/{place}"
            yield from _pointer(text(one, "subPath"), f"{where}/subPath")
            operator, has = text(one, "operator"), one.get("value") is not None
            if operator in ("add", "replace") and not has:
                message = f"`value` must be given where `operator` is {operator}"
                yield Violation(f"{where}", "override-value", message, "the value to put there")
            if operator == "remove" and has:
                message = "`value` must not be given where `operator` is remove"
                yield Violation(f"{where}/value", "override-value", message, "no value")


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
        "overrideRules": [_default_rule(rule) for rule in bodies(spec, "overrideRules")],
    }
    written: dict[str, object] = {name: entries for name, entries in lists.items() if entries}
    target = mapping_or_none(spec, "targetCluster")
    if target is not None:
        written["targetCluster"] = _target(target)
    return {**written, "overriders": _overriders(mapping(spec, "overriders"))}


def _selector(selector: Body, own: str) -> Body:
    fields = {name: one for name, one in selector.items() if one not in (None, "")}
    return {"apiVersion": "", "kind": "", "namespace": own, **fields}


def _default_rule(rule: Body) -> Body:
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
    return {name: entries for name, entries in lists.items() if entries}


def _change(name: str, change: Body) -> Body:
    """Return one change as Go writes it."""
    optional = ("value",) if name in ("imageOverrider", "commandOverrider", "argsOverrider") else ()
    fields = {
        field: one
        for field, one in change.items()
        if not (field in (*optional, "json", "yaml", "predicate") and one in (None, "", []))
    }
    for field in ("json", "yaml"):
        if field in fields and name == "fieldOverrider":
            fields[field] = [{**_IN_TEXT, **one} for one in bodies(fields, field)]
    predicate = mapping_or_none(fields, "predicate")
    if predicate is not None:
        fields["predicate"] = {"path": "", **predicate}
    return {**CHANGES[name], **fields}


FIELD_KEYS = ("provider", "region", "zone")
FIELD_OPERATORS = ("In", "NotIn")
NAMESPACED = ("OverridePolicy", "PropagationPolicy")


def refuse_field_selector(affinity: Body, at: str) -> Iterator[Violation]:
    """Yield what is wrong with a selector of clusters by their fields, of which they have three.

    Source: karmada@f8fdd02 pkg/util/validation/validation.go `ValidatePolicyFieldSelector`.
    """
    expressions = bodies(mapping(affinity, "fieldSelector"), "matchExpressions")
    for position, expression in enumerate(expressions):
        where = f"{at}/fieldSelector/matchExpressions/{position}"
        for name, allowed in (("key", FIELD_KEYS), ("operator", FIELD_OPERATORS)):
            if text(expression, name) not in allowed:
                yield Violation(
                    f"{where}/{name}",
                    f"policy-field-{name}",
                    f"{shown(text(expression, name))} must be one of {', '.join(allowed)}",
                    ", ".join(allowed),
                )


def refuse_selector_namespaces(body: Body, spec: Body) -> Iterator[Violation]:
    """Yield the selectors of a namespaced policy that name another namespace than its own.

    Source: karmada@f8fdd02 pkg/webhook/propagationpolicy/validating.go `Handle`, and
    pkg/webhook/overridepolicy/validating.go.
    """
    if body.get("kind") not in NAMESPACED:
        return
    own = text(mapping(body, "metadata"), "namespace") or DEFAULT_NAMESPACE
    for position, selector in enumerate(bodies(spec, "resourceSelectors")):
        namespace = text(selector, "namespace")
        if namespace not in ("", own):
            yield Violation(
                f"/spec/resourceSelectors/{position}/namespace",
                "policy-selector-namespace",
                f"the namespace {shown(namespace)} must be the policy's own",
                own,
            )
