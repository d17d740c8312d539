"""The applied-placement annotation: the placement as Go writes it, and what has changed since."""

import json
from collections.abc import Mapping
from functools import lru_cache

from reconciler.dialects.karmada.api.gojson import explain_json_error, go_json
from reconciler.dialects.karmada.api.placement import (
    AffinityTerm,
    ClusterAffinity,
    Placement,
    ReplicaScheduling,
    SpreadConstraint,
    WorkloadAffinity,
    decode_placement,
)
from reconciler.errors import UserError
from reconciler.model.labels import LabelSelector, Requirement
from reconciler.model.taints import Toleration

APPLIED_PLACEMENT = "policy.karmada.io/applied-placement"

Json = Mapping[str, object]


def applied_placement(placement: Placement) -> str:
    """Return the placement as Go marshals it: fields in struct order, empty ones left out.

    Source: karmada@f8fdd02 pkg/scheduler/scheduler.go `patchScheduleResultForResourceBinding`, and
    the `json` tags of pkg/apis/policy/v1alpha1/propagation_types.go.

    >>> applied_placement(Placement(cluster_affinity=ClusterAffinity(cluster_names=("a",))))
    '{"clusterAffinity":{"clusterNames":["a"]}}'
    """
    affinity, scheduling = placement.cluster_affinity, placement.replica_scheduling
    workloads = placement.workload_affinity
    body: Json = {
        **_some("clusterAffinity", None if affinity is None else _affinity(affinity)),
        **_many("clusterAffinities", [_term(term) for term in placement.cluster_affinities or ()]),
        **_many("clusterTolerations", list(map(_toleration, placement.cluster_tolerations or ()))),
        **_many("spreadConstraints", list(map(_constraint, placement.spread_constraints or ()))),
        **_some("replicaScheduling", None if scheduling is None else _scheduling(scheduling)),
        **_some("workloadAffinity", None if workloads is None else _workloads(workloads)),
    }
    return go_json(body)


def placement_changed(placement: Placement, applied: str, *, observed_affinity: str) -> bool:
    """Return whether the placement differs from the applied one in a way that must be scheduled.

    An empty annotation always does; one that cannot be read never does. Of several affinity groups
    only the observed one counts, as long as nothing else differs.

    Args:
        placement: What the binding asks for.
        applied: Text of the annotation, `""` if absent.
        observed_affinity: Name of the group that was scheduled last, `""` if none.

    Source: karmada@f8fdd02 pkg/scheduler/helper.go `placementChanged`.
    """
    if not applied:
        return True
    try:
        before = read_applied(applied)
    except UserError:
        return False
    if placement == before:
        return False
    if (
        placement.cluster_affinity != before.cluster_affinity
        or placement.cluster_tolerations != before.cluster_tolerations
        or placement.spread_constraints != before.spread_constraints
        or placement.replica_scheduling != before.replica_scheduling
    ):
        return True
    if not observed_affinity:
        return True
    now_term, then_term = placement.term(observed_affinity), before.term(observed_affinity)
    return now_term is None or then_term is None or now_term != then_term


@lru_cache(maxsize=1024)  # many bindings share a few policies
def read_applied(text: str) -> Placement:
    """Return the placement that an annotation holds.

    Raises:
        UserError: The text is not JSON, or not that of a placement.
    """
    try:
        body = json.loads(text, parse_constant=_refuse)
    except json.JSONDecodeError as error:
        raise UserError(explain_json_error(text, error), field=APPLIED_PLACEMENT) from None
    except ValueError:
        why = "NaN and Infinity are none, and no number is that long"
        raise UserError(f"must be JSON: {why}", field=APPLIED_PLACEMENT) from None
    if body is None:
        return Placement()
    if not isinstance(body, Mapping):
        raise UserError("must be a JSON object", field=APPLIED_PLACEMENT)
    return decode_placement(body)


def is_readable(applied: str) -> bool:
    """Return whether an annotation, `""` for none, is that of a placement."""
    try:
        if applied:
            read_applied(applied)
    except UserError:
        return False
    return True


def _refuse(name: str) -> object:
    raise ValueError(f"{name} is not JSON")


def _some(key: str, value: object) -> Json:
    """A pointer: left out when nil, else written even if empty."""
    return {} if value is None else {key: value}


def _many(key: str, value: object) -> Json:
    """A string, number, list or map with `omitempty`: left out when empty."""
    return {key: value} if value else {}


def _affinity(affinity: ClusterAffinity) -> Json:
    labels = affinity.label_selector
    selector = _requirements(affinity.field_selector) if affinity.has_field_selector else None
    return {
        **_some("labelSelector", None if labels is None else _label_selector(labels)),
        **_some("fieldSelector", selector),
        **_many("clusterNames", affinity.cluster_names),
        **_many("exclude", affinity.exclude),
    }


def _label_selector(selector: LabelSelector) -> Json:
    return {
        **_many("matchLabels", dict(selector.match_labels or ())),
        **_requirements(selector.match_expressions),
    }


def _requirements(requirements: tuple[Requirement, ...] | None) -> Json:
    return _many(
        "matchExpressions",
        [
            {"key": item.key, "operator": item.operator, **_many("values", item.values)}
            for item in requirements or ()
        ],
    )


def _term(term: AffinityTerm) -> Json:
    overflow = [
        {"affinityName": group.affinity_name, **_affinity(group.affinity)}
        for group in term.overflow or ()
    ]
    return {
        "affinityName": term.affinity_name,
        **_affinity(term.affinity),
        **_many("overflowAffinities", overflow),
    }


def _toleration(toleration: Toleration) -> Json:
    return {
        **_many("key", toleration.key),
        **_many("operator", toleration.operator),
        **_many("value", toleration.value),
        **_many("effect", toleration.effect),
        **_some("tolerationSeconds", toleration.toleration_seconds),
    }


def _constraint(constraint: SpreadConstraint) -> Json:
    return {
        **_many("spreadByField", constraint.spread_by_field),
        **_many("spreadByLabel", constraint.spread_by_label),
        **_many("maxGroups", constraint.max_groups),
        **_many("minGroups", constraint.min_groups),
    }


def _scheduling(scheduling: ReplicaScheduling) -> Json:
    weights = scheduling.weights
    preference: Json | None = None
    if weights is not None:
        rules = [
            {"targetCluster": _affinity(rule.target), "weight": rule.weight}
            for rule in weights.static_weights or ()
        ]
        preference = {
            **_many("staticWeightList", rules),
            **_many("dynamicWeight", weights.dynamic_weight),
        }
    return {
        **_many("replicaSchedulingType", scheduling.type),
        **_many("replicaDivisionPreference", scheduling.preference),
        **_some("weightPreference", preference),
    }


def _workloads(workloads: WorkloadAffinity) -> Json:
    keys = {"affinity": workloads.affinity_key, "antiAffinity": workloads.anti_affinity_key}
    return {name: {"groupByLabelKey": key} for name, key in keys.items() if key is not None}
