"""Placement: where a policy wants its resources, decoded as Go decodes it.

`None` stands for an absent list or object, which Go tells from an empty one: two placements are
equal here exactly when Go's `reflect.DeepEqual` says so of the decoded structs.

The applied-placement annotation of a binding is the placement as Go writes it. Comparing it with
the present one shows what has changed since the last scheduling.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from reconciler.dialects.karmada.api.names import explain_json_error, go_json
from reconciler.dialects.scores import ScoreName
from reconciler.errors import UserError
from reconciler.model import fields
from reconciler.model.body import Body
from reconciler.model.cluster import Toleration, decode_toleration
from reconciler.model.labels import (
    LabelSelector,
    Requirement,
    decode_label_selector,
    decode_requirements,
)

DUPLICATED = "Duplicated"
DIVIDED = "Divided"
AGGREGATED = "Aggregated"
WEIGHTED = "Weighted"
BY_SCORE = "AddOnScore/"
WEIGHT = ("replicaScheduling", "weightPreference", "dynamicWeight")
WEIGHT_POINTER = f"/spec/placement/{'/'.join(WEIGHT)}"
"""Where a policy says by what clusters weigh."""


class ClusterAffinity(NamedTuple):
    """A set of clusters: everything named must hold, what is not named does not matter."""

    label_selector: LabelSelector | None = None
    field_selector: tuple[Requirement, ...] | None = None
    has_field_selector: bool = False
    cluster_names: tuple[str, ...] | None = None
    exclude: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedAffinity:
    """An overflow group: clusters that join when those before them have no room."""

    affinity_name: str
    affinity: ClusterAffinity


class AffinityTerm(NamedTuple):
    """One of several groups that are tried in order, with the groups it may overflow into."""

    affinity_name: str
    affinity: ClusterAffinity
    overflow: tuple[NamedAffinity, ...] | None = None

    @property
    def tiers(self) -> tuple[ClusterAffinity, ...]:
        """The primary group, then the overflow groups in order."""
        return (self.affinity, *(group.affinity for group in self.overflow or ()))


@dataclass(frozen=True, slots=True, kw_only=True)
class SpreadConstraint:
    """How many groups of clusters to take; 0 where the file gives no number."""

    spread_by_field: str = ""
    spread_by_label: str = ""
    max_groups: int = 0
    min_groups: int = 0


@dataclass(frozen=True, slots=True)
class StaticWeight:
    """A weight for each cluster of a set."""

    target: ClusterAffinity
    weight: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightPreference:
    """Weights by rule, or by a factor that is measured, which wins."""

    static_weights: tuple[StaticWeight, ...] | None = None
    dynamic_weight: str = ""

    @property
    def score(self) -> ScoreName | None:
        """The score by which clusters weigh, `None` if they do not weigh by one."""
        return score_in(self.dynamic_weight)


class ReplicaScheduling(NamedTuple):
    """How replicas are divided; `""` where the file names nothing."""

    type: str = ""
    preference: str = ""
    weights: WeightPreference | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadAffinity:
    """Grouping of workloads by the value of a label; upstream's feature gate for it is off."""

    affinity_key: str | None = None
    anti_affinity_key: str | None = None


class Placement(NamedTuple):
    """All that a policy says about where its resources go."""

    cluster_affinity: ClusterAffinity | None = None
    cluster_affinities: tuple[AffinityTerm, ...] | None = None
    cluster_tolerations: tuple[Toleration, ...] | None = None
    spread_constraints: tuple[SpreadConstraint, ...] | None = None
    replica_scheduling: ReplicaScheduling | None = None
    workload_affinity: WorkloadAffinity | None = None

    @property
    def weighing_score(self) -> ScoreName | None:
        """The score by which replicas are divided, `None` if they are divided otherwise."""
        scheduling = self.replica_scheduling
        weighted = scheduling is not None and (scheduling.type, scheduling.preference) == (
            DIVIDED,
            WEIGHTED,
        )
        weights = None if scheduling is None else scheduling.weights
        return weights.score if weighted and weights is not None else None

    @property
    def duplicated(self) -> bool:
        """Whether each cluster gets all replicas: so when nothing is said about replicas."""
        scheduling = self.replica_scheduling
        return scheduling is None or scheduling.type == DUPLICATED

    def term(self, name: str) -> AffinityTerm | None:
        """Return the first affinity term of this name, `None` if there is none."""
        terms = self.cluster_affinities or ()
        return next((term for term in terms if term.affinity_name == name), None)


def replica_scheduling(placement: Body | None) -> Body:
    """Return what a placement says of replicas, as written; nothing else is decoded."""
    return fields.mapping(placement or {}, "replicaScheduling")


def is_divided(placement: Body | None) -> bool:
    """Return whether a placement says that replicas are divided among clusters."""
    return fields.text(replica_scheduling(placement), "replicaSchedulingType") == DIVIDED


def score_in(dynamic_weight: str) -> ScoreName | None:
    """Return the score that a dynamic weight names, `None` if it is one of upstream's.

    Unlike upstream: `AddOnScore/<resource>/<score>` takes that score of each cluster as its weight,
    where the configuration says `scores.extend: true`; a hub refuses it.

    >>> score_in("AddOnScore/usage/cpu"), score_in("AvailableReplicas")
    (ScoreName(resource='usage', score='cpu'), None)
    """
    if not dynamic_weight.startswith(BY_SCORE):
        return None
    return ScoreName(*dynamic_weight.removeprefix(BY_SCORE).split("/", 1))


def dynamic_weight(placement: Body) -> str:
    """Return the dynamic weight of a placement as it is written, `""` for none."""
    above, weights, name = WEIGHT
    return fields.text(fields.mapping(fields.mapping(placement, above), weights), name)


def policy_weight(policy: Body) -> str:
    """Return the dynamic weight of a policy as it is written, `""` for none."""
    return dynamic_weight(fields.mapping(fields.mapping(policy, "spec"), "placement"))


def scored_resources(placement: Body | None) -> frozenset[str]:
    """Return the resource whose scores a placement weighs clusters by, empty for none."""
    name = score_in(dynamic_weight(placement or {}))
    return frozenset() if name is None else frozenset((name.resource,))


def affinity_names(placement: Body | None) -> tuple[str, ...]:
    """Return the names of the groups that are tried in order, none where there are no groups."""
    groups = fields.bodies(placement or {}, "clusterAffinities")
    return tuple(fields.text(group, "affinityName") for group in groups)


def decode_placement(body: Body) -> Placement:
    """Return the placement that a mapping holds.

    Raises:
        UserError: A field has the wrong type.

    Source: karmada@f8fdd02 pkg/apis/policy/v1alpha1/propagation_types.go `Placement`.
    """
    affinity = fields.mapping_or_none(body, "clusterAffinity")
    terms = fields.bodies_or_none(body, "clusterAffinities")
    tolerations = fields.bodies_or_none(body, "clusterTolerations")
    scheduling = fields.mapping_or_none(body, "replicaScheduling")
    workloads = fields.mapping_or_none(body, "workloadAffinity")
    return Placement(
        cluster_affinity=None if affinity is None else decode_affinity(affinity),
        cluster_affinities=None if terms is None else tuple(map(_decode_term, terms)),
        cluster_tolerations=None
        if tolerations is None
        else tuple(map(decode_toleration, tolerations)),
        spread_constraints=decode_spread(body),
        replica_scheduling=None if scheduling is None else _decode_scheduling(scheduling),
        workload_affinity=None if workloads is None else _workload_affinity(workloads),
    )


def decode_spread(body: Body) -> tuple[SpreadConstraint, ...] | None:
    """Return the spread constraints of a placement; nothing else is decoded."""
    constraints = fields.bodies_or_none(body, "spreadConstraints")
    return None if constraints is None else tuple(map(_decode_constraint, constraints))


def decode_affinity(body: Body) -> ClusterAffinity:
    """Return a description of clusters.

    Raises:
        UserError: A field has the wrong type.

    Source: karmada@f8fdd02 pkg/apis/policy/v1alpha1/propagation_types.go `ClusterAffinity`.
    """
    labels = fields.mapping_or_none(body, "labelSelector")
    selector = fields.mapping_or_none(body, "fieldSelector")
    return ClusterAffinity(
        label_selector=None if labels is None else decode_label_selector(labels),
        field_selector=None if selector is None else decode_requirements(selector),
        has_field_selector=selector is not None,
        cluster_names=fields.strings_or_none(body, "clusterNames"),
        exclude=fields.strings_or_none(body, "exclude"),
    )


def _decode_term(body: Body) -> AffinityTerm:
    overflow = fields.bodies_or_none(body, "overflowAffinities")
    return AffinityTerm(
        affinity_name=fields.text(body, "affinityName"),
        affinity=decode_affinity(body),
        overflow=None
        if overflow is None
        else tuple(
            NamedAffinity(
                affinity_name=fields.text(group, "affinityName"), affinity=decode_affinity(group)
            )
            for group in overflow
        ),
    )


def _decode_constraint(body: Body) -> SpreadConstraint:
    return SpreadConstraint(
        spread_by_field=fields.text(body, "spreadByField"),
        spread_by_label=fields.text(body, "spreadByLabel"),
        max_groups=fields.number(body, "maxGroups"),
        min_groups=fields.number(body, "minGroups"),
    )


def _decode_scheduling(body: Body) -> ReplicaScheduling:
    weights = fields.mapping_or_none(body, "weightPreference")
    return ReplicaScheduling(
        type=fields.text(body, "replicaSchedulingType"),
        preference=fields.text(body, "replicaDivisionPreference"),
        weights=None if weights is None else _weights(weights),
    )


def _weights(body: Body) -> WeightPreference:
    rules = fields.bodies_or_none(body, "staticWeightList")
    return WeightPreference(
        static_weights=None
        if rules is None
        else tuple(
            StaticWeight(
                decode_affinity(fields.mapping(rule, "targetCluster")),
                fields.number(rule, "weight"),
            )
            for rule in rules
        ),
        dynamic_weight=fields.text(body, "dynamicWeight"),
    )


def _workload_affinity(body: Body) -> WorkloadAffinity:
    affinity = fields.mapping_or_none(body, "affinity")
    anti = fields.mapping_or_none(body, "antiAffinity")
    return WorkloadAffinity(
        affinity_key=None if affinity is None else fields.text(affinity, "groupByLabelKey"),
        anti_affinity_key=None if anti is None else fields.text(anti, "groupByLabelKey"),
    )


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
        **_many(
            "clusterAffinities", [_encode_term(term) for term in placement.cluster_affinities or ()]
        ),
        **_many("clusterTolerations", list(map(_toleration, placement.cluster_tolerations or ()))),
        **_many(
            "spreadConstraints", list(map(_encode_constraint, placement.spread_constraints or ()))
        ),
        **_some(
            "replicaScheduling", None if scheduling is None else _encode_scheduling(scheduling)
        ),
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


def _encode_term(term: AffinityTerm) -> Json:
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


def _encode_constraint(constraint: SpreadConstraint) -> Json:
    return {
        **_many("spreadByField", constraint.spread_by_field),
        **_many("spreadByLabel", constraint.spread_by_label),
        **_many("maxGroups", constraint.max_groups),
        **_many("minGroups", constraint.min_groups),
    }


def _encode_scheduling(scheduling: ReplicaScheduling) -> Json:
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
