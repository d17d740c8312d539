"""What Karmada's validating webhooks refuse in the selectors of policies of any kind."""

from collections.abc import Iterator

from reconciler.manifests.schemas.violations import Violation
from reconciler.manifests.scope import DEFAULT_NAMESPACE
from reconciler.model.body import Body
from reconciler.model.fields import bodies, mapping, text
from reconciler.model.message_text import shown

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
        for name, known in (("key", FIELD_KEYS), ("operator", FIELD_OPERATORS)):
            if text(expression, name) not in known:
                yield Violation(
                    f"{where}/{name}",
                    f"policy-field-{name}",
                    f"{shown(text(expression, name))} must be one of {', '.join(known)}",
                    ", ".join(known),
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
