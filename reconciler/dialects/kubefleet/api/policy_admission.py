"""What KubeFleet's webhook and CEL rules refuse in a policy."""

from collections.abc import Iterable, Iterator, Mapping

from reconciler.dialects.kubefleet.api.names import RESOURCE_PROPERTY_PREFIX
from reconciler.dialects.kubefleet.api.policy import (
    PICK_ALL,
    PICK_FIXED,
    PICK_N,
    PREFERRED,
    REQUIRED,
)
from reconciler.manifests.names import is_subdomain
from reconciler.manifests.schemas.violations import Violation
from reconciler.model.body import Body
from reconciler.model.fields import bodies, mapping, mapping_or_none, number_or_none, strings, text
from reconciler.model.labels import is_label_key, is_label_value
from reconciler.model.message_text import shown
from reconciler.model.quantity import Quantity, parse_quantity
from reconciler.model.selectors import decode_label_selector, refusal_of

OPERATORS = ("Gt", "Ge", "Eq", "Ne", "Lt", "Le")
CAPACITIES = ("allocatable", "available", "total")


def refuse_affinity(affinity: Body, at: str, *, picks_all: bool) -> Iterator[Violation]:
    """Yield what is wrong with required and preferred terms.

    Source: kubefleet@e160c1c pkg/utils/validator/placement.go `validateClusterAffinity`.
    """
    terms = bodies(mapping(affinity, REQUIRED), "clusterSelectorTerms")
    for position, term in enumerate(terms):
        yield from _required(term, f"{at}/{REQUIRED}/clusterSelectorTerms/{position}")
    preferred = bodies(affinity, PREFERRED)
    if picks_all and preferred:
        yield Violation(
            f"{at}/{PREFERRED}",
            "placement-preferred-ignored",
            "preferred terms must not be given where `placementType` is PickAll",
            "required terms, or PickN",
        )
        return
    for position, item in enumerate(preferred):
        term = mapping(item, "preference")
        yield from _preferred(term, f"{at}/{PREFERRED}/{position}/preference")


def _required(term: Body, at: str) -> Iterator[Violation]:
    yield from _labels(term, at)
    if mapping_or_none(term, "propertySorter") is not None:
        yield Violation(
            f"{at}/propertySorter",
            "placement-required-sorter",
            "`propertySorter` must not be given in a required term",
            "propertySelector, or a preferred term",
        )
    expressions = bodies(mapping(term, "propertySelector"), "matchExpressions")
    where = f"{at}/propertySelector/matchExpressions"
    for position, item in enumerate(expressions):
        yield from _property(text(item, "name"), f"{where}/{position}/name")
        yield from _comparison(item, f"{where}/{position}")
    for name in dict.fromkeys(text(item, "name") for item in expressions):
        same = [item for item in expressions if text(item, "name") == name]
        if _is_contradiction(same):
            yield Violation(
                where,
                "placement-property-consistent",
                f"the expressions on {shown(name)} must leave a value",
                "expressions that can hold together",
            )


def _preferred(term: Body, at: str) -> Iterator[Violation]:
    yield from _labels(term, at)
    if mapping_or_none(term, "propertySelector") is not None:
        yield Violation(
            f"{at}/propertySelector",
            "placement-preferred-selector",
            "`propertySelector` must not be given in a preferred term",
            "propertySorter, or a required term",
        )
    sorter = mapping_or_none(term, "propertySorter")
    if sorter is not None:
        yield from _property(text(sorter, "name"), f"{at}/propertySorter/name")


def _labels(term: Body, at: str) -> Iterator[Violation]:
    labels = mapping_or_none(term, "labelSelector")
    refusal = "" if labels is None else refusal_of(decode_label_selector(labels))
    if refusal:
        yield Violation(f"{at}/labelSelector", "placement-labels", refusal)


def _property(name: str, at: str) -> Iterator[Violation]:
    """Names of properties are qualified; those of resources name a capacity and a resource.

    Source: kubefleet@e160c1c pkg/utils/validator/placement.go `validateName`.
    """
    if name.startswith(RESOURCE_PROPERTY_PREFIX):
        capacity, dash, _ = name.removeprefix(RESOURCE_PROPERTY_PREFIX).partition("-")
        if not dash or capacity not in CAPACITIES or not is_label_key(name):
            yield Violation(
                at,
                "placement-property-resource",
                f"{shown(name)} must name a capacity and a resource",
                f"{RESOURCE_PROPERTY_PREFIX}<{'|'.join(CAPACITIES)}>-<resource>",
            )
        return
    prefix, *segments = name.split("/")
    head = is_label_key(prefix) or (bool(segments) and is_subdomain(prefix))
    if not head or not all(map(is_label_key, segments)):
        yield Violation(
            at,
            "placement-property-name",
            f"{shown(name)} must be the name of a property",
            "segments of letters, digits, '-', '_' and '.', separated by '/'",
        )


def _comparison(expression: Body, at: str) -> Iterator[Violation]:
    """Compare with exactly one quantity.

    Source: kubefleet@e160c1c pkg/utils/validator/placement.go `validateOperatorAndValues`.
    """
    operator, values = text(expression, "operator"), strings(expression, "values")
    if operator not in OPERATORS:
        yield Violation(
            f"{at}/operator",
            "placement-property-operator",
            f"the operator {shown(operator)} must be one of {', '.join(OPERATORS)}",
            ", ".join(OPERATORS),
        )
    if len(values) != 1:
        yield Violation(
            f"{at}/values",
            "placement-property-values",
            f"there are {len(values)} values, there must be exactly one",
            "one quantity",
        )
    for position, value in enumerate(values):
        if _quantity(value) is None:
            yield Violation(
                f"{at}/values/{position}",
                "placement-property-quantity",
                f"{shown(value)} must be a quantity",
                "a number with a suffix as Kubernetes has it, such as 4, 500m or 2Gi",
            )


def _quantity(value: str) -> Quantity | None:
    try:
        return parse_quantity(value)
    except ValueError:
        return None


def _is_contradiction(expressions: Iterable[Body]) -> bool:
    """Return whether expressions on one property exclude every value.

    Source: kubefleet@e160c1c pkg/utils/validator/placement.go `validateRequirementsConsistency`.
    """
    bounds: dict[str, list[Quantity]] = {operator: [] for operator in OPERATORS}
    for item in expressions:
        operator, values = text(item, "operator"), strings(item, "values")
        amount = _quantity(values[0]) if len(values) == 1 else None
        if operator in bounds and amount is not None:
            bounds[operator].append(amount)
    exact = bounds["Eq"]
    if exact:
        only = exact[0]
        return (
            any(other != only for other in exact)
            or only in bounds["Ne"]
            or any(only <= other for other in bounds["Gt"])
            or any(only < other for other in bounds["Ge"])
            or any(only >= other for other in bounds["Lt"])
            or any(only > other for other in bounds["Le"])
        )
    strict = [(low, high) for low in bounds["Gt"] for high in (*bounds["Lt"], *bounds["Le"])]
    strict += [(low, high) for low in bounds["Ge"] for high in bounds["Lt"]]
    return any(low >= high for low, high in strict) or any(
        low > high for low in bounds["Ge"] for high in bounds["Le"]
    )


def refuse_tolerations(tolerations: tuple[Body, ...], at: str) -> Iterator[Violation]:
    """Yield what is wrong with tolerations.

    Source: kubefleet@e160c1c pkg/utils/validator/placement.go `validateTolerations`.
    """
    seen = set()
    for position, item in enumerate(tolerations):
        where = f"{at}/{position}"
        key, value, effect = (text(item, name) for name in ("key", "value", "effect"))
        operator = text(item, "operator") or "Equal"
        yield from refuse_toleration(item, where)
        if key and not is_label_key(key):
            message = f"{shown(key)} must be a label key"
            yield Violation(f"{where}/key", "placement-toleration-key", message, "a label key")
        if operator == "Equal" and not is_label_value(value):
            message = f"{shown(value)} must be a label value"
            yield Violation(
                f"{where}/value", "placement-toleration-value", message, "a label value"
            )
        if (key, operator, value, effect) in seen:
            message = "a toleration must be written once"
            yield Violation(where, "placement-toleration-unique", message, "each toleration once")
        seen.add((key, operator, value, effect))


def refuse_toleration(item: Body, where: str) -> Iterator[Violation]:
    """Key and value go with the operator.

    Source: kubefleet@e160c1c apis/placement/v1beta1/clusterresourceplacement_types.go
    `Tolerations`, its CEL rules.
    """
    operator = text(item, "operator") or "Equal"
    if operator == "Equal" and not text(item, "key"):
        message = "`key` must be given where `operator` is Equal"
        yield Violation(where, "placement-toleration-key", message, "a key, or Exists")
    if operator == "Exists" and text(item, "value"):
        message = "`value` must be absent where `operator` is Exists"
        yield Violation(f"{where}/value", "placement-toleration-value", message, "no value")


_ONLY_IN: Mapping[str, tuple[str, ...]] = {
    "clusterNames": (PICK_FIXED,),
    "numberOfClusters": (PICK_N,),
    "affinity": (PICK_ALL, PICK_N),
    "topologySpreadConstraints": (PICK_N,),
    "tolerations": (PICK_ALL, PICK_N),
}
"""Fields of a policy, and the placement types that they may stand beside."""


def refuse_fields_of_others(policy: Body) -> Iterator[Violation]:
    """Each placement type has its fields.

    Source: kubefleet@e160c1c apis/placement/v1beta1/clusterresourceplacement_types.go
    `PlacementPolicy`, its CEL rules.
    """
    kind = text(policy, "placementType")
    for field, types in _ONLY_IN.items():
        if kind not in types and field in policy:
            yield Violation(
                f"/spec/policy/{field}",
                "placement-policy-field",
                f"`{field}` must not be given where `placementType` is {kind}",
                f"{' or '.join(types)}, or no {field}",
            )
    if kind == PICK_N and number_or_none(policy, "numberOfClusters") is None:
        yield Violation(
            "/spec/policy",
            "placement-number",
            "`numberOfClusters` must be given where `placementType` is PickN",
            "0 or more",
        )
