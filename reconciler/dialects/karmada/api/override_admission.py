"""What Karmada's validating webhooks refuse in override policies of both scopes."""

from collections.abc import Iterator

from reconciler.dialects.karmada.api.cluster_metadata import MOST_ANNOTATIONS
from reconciler.dialects.karmada.api.override_defaults import mutated_override
from reconciler.dialects.karmada.api.selector_admission import (
    refuse_field_selector,
    refuse_selector_namespaces,
)
from reconciler.manifests.schemas.violations import Violation
from reconciler.model.body import Body
from reconciler.model.fields import bodies, mapping, text
from reconciler.model.labels import is_label_key, is_label_value
from reconciler.model.message_text import shown

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
        *(one for position, rule in enumerate(rules) for one in _rule(rule, position)),
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


def _rule(rule: Body, position: int) -> Iterator[Violation]:
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
