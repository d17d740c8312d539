"""What Karmada's webhooks and its registry refuse in a vector's input, rule by rule.

Written from upstream's rules alone and not from ours, so that a vector is left out as refused only
where upstream refuses it, too.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import cast

from tests.builders import Body

POLICIES = ("ClusterPropagationPolicy", "PropagationPolicy")
FIELDS = ("provider", "region", "zone")
OPERATORS = ("In", "NotIn")


def rules_refusing(case: Body) -> list[str]:
    """Return the rules of upstream that refuse an input of a vector, by their ids here."""
    return [rule for rule in RULES if upstream_refuses(rule, case)]


def upstream_refuses(rule: str, case: Body) -> bool:
    """Return whether a rule of upstream, known here by this id, refuses an input of a vector."""
    refuses = RULES.get(rule)
    return refuses is not None and refuses(cast(Body, case["input"]))


def _all(value: object, name: str) -> Iterator[Body]:
    """Yield the mappings that stand under a name, at any depth."""
    for key, one in value.items() if isinstance(value, Mapping) else ():
        if key == name and isinstance(one, Mapping):
            yield one
        yield from _all(one, name)
    for one in value if isinstance(value, list) else ():
        yield from _all(one, name)


def _list(body: object, *path: str) -> Sequence[Body]:
    """Return the list at a path, an empty one where there is none."""
    for name in path:
        body = cast(Body, body).get(name) or {}
    return cast(Sequence[Body], body or ())


def _placements(given: Body) -> Iterator[Body]:
    return _all(given, "placement")


def _terms(given: Body) -> Iterator[Body]:
    for placement in _placements(given):
        yield from _list(placement, "clusterAffinities")


def _expressions(given: Body) -> Iterator[Body]:
    """Yield the expressions on fields of clusters, but for those of static weights."""
    for placement in _placements(given):
        groups = _list(placement, "clusterAffinities")
        inner = [group for term in groups for group in _list(term, "overflowAffinities")]
        for term in (placement.get("clusterAffinity") or {}, *groups, *inner):
            yield from _list(term, "fieldSelector", "matchExpressions")


def _overflowing(given: Body) -> Iterator[tuple[Body, Body]]:
    for placement in _placements(given):
        for term in _list(placement, "clusterAffinities"):
            if term.get("overflowAffinities"):
                yield placement, term


def _divides_by_room(placement: Body) -> bool:
    """pkg/util/validation/validation.go: Aggregated, or Weighted with a dynamic weight."""
    scheduling = cast(Body, placement.get("replicaScheduling") or {})
    if scheduling.get("replicaSchedulingType", "Divided") != "Divided":
        return False
    weights = cast(Body, scheduling.get("weightPreference") or {})
    preference = scheduling.get("replicaDivisionPreference")
    return preference == "Aggregated" or bool(
        preference == "Weighted" and weights.get("dynamicWeight")
    )


def _names_clusters(term: Body) -> bool:
    named = term.get("clusterNames") or term.get("exclude")
    selectors = (term.get(name) for name in ("labelSelector", "fieldSelector"))
    return bool(named) or any(one is not None for one in selectors)


def _fields(placement: Body) -> list[object]:
    """Return the fields that are constrained, after the webhook's default."""
    constraints = _list(placement, "spreadConstraints")
    return [
        one.get("spreadByField") or (None if one.get("spreadByLabel") else "cluster")
        for one in constraints
    ]


def _is_preempting_all(given: Body) -> bool:
    policies = [one for one in _specs(given) if one.get("preemption") == "Always"]
    return any(not one.get("name") for spec in policies for one in _list(spec, "resourceSelectors"))


def _specs(given: Body) -> Iterator[Body]:
    """Yield the specs that select resources."""
    return (spec for spec in _all(given, "spec") if "resourceSelectors" in spec)


def _has_equal_taints(given: Body) -> bool:
    for cluster in _list(given, "clusters"):
        pairs = [(one.get("key"), one.get("effect")) for one in _list(cluster, "spec", "taints")]
        if len(set(pairs)) < len(pairs):
            return True
    return False


def _is_unordered(given: Body) -> bool:
    bounds = (
        (cast(int, one.get("minGroups") or 1), cast(int, one.get("maxGroups") or 0))
        for placement in _placements(given)
        for one in _list(placement, "spreadConstraints")
    )
    return any(0 < high < low for low, high in bounds)


def _repeated(values: Sequence[object]) -> bool:
    return len(set(values)) < len(values)


RULES: Mapping[str, Callable[[Body], bool]] = {
    "cluster-taint-unique": _has_equal_taints,
    "policy-affinity-exclusive": lambda given: any(
        one.get("clusterAffinity") is not None and bool(one.get("clusterAffinities"))
        for one in _placements(given)
    ),
    "policy-affinity-unique": lambda given: any(
        _repeated([term.get("affinityName") for term in _list(one, "clusterAffinities")])
        for one in _placements(given)
    ),
    "policy-field-key": lambda given: any(
        one.get("key") not in FIELDS for one in _expressions(given)
    ),
    "policy-field-operator": lambda given: any(
        one.get("operator") not in OPERATORS for one in _expressions(given)
    ),
    "policy-overflow-division": lambda given: any(
        not _divides_by_room(placement) for placement, _ in _overflowing(given)
    ),
    "policy-overflow-primary": lambda given: any(
        not _names_clusters(term) for _, term in _overflowing(given)
    ),
    "policy-overflow-unique": lambda given: any(
        _repeated([one.get("affinityName") for one in (term, *_list(term, "overflowAffinities"))])
        for term in _terms(given)
    ),
    "policy-preemption-name": _is_preempting_all,
    "policy-spread-bounds": _is_unordered,
    "policy-spread-cluster": lambda given: any(
        any(_fields(one)) and "cluster" not in _fields(one) for one in _placements(given)
    ),
    "policy-spread-unique": lambda given: any(
        _repeated([field for field in _fields(one) if field]) for one in _placements(given)
    ),
    "policy-toleration-operator": lambda given: any(
        one.get("operator") in ("Lt", "Gt")
        for placement in _placements(given)
        for one in _list(placement, "clusterTolerations")
    ),
}
"""Whether upstream refuses an input, by the id that the rule has here.

Source: karmada@f8fdd02 pkg/util/validation/validation.go `ValidatePlacement`,
`ValidateOverflowAffinities`, `ValidateSpreadConstraint`;
pkg/webhook/propagationpolicy/validating.go `Handle`;
pkg/apis/cluster/validation/validation.go `ValidateClusterTaints`.
"""
