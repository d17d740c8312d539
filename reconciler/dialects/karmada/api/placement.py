"""Placement: where a policy wants its resources, decoded as Go decodes it.

`None` stands for an absent list or object, which Go tells from an empty one: two placements are
equal here exactly when Go's `reflect.DeepEqual` says so of the decoded structs.

The applied-placement annotation of a binding is the placement as Go writes it. Comparing it with
the present one shows what has changed since the last scheduling.
"""

import json
from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from typing import Any, Generic, NamedTuple, TypeVar

from reconciler.dialects.karmada.api.names import explain_json_error, go_json
from reconciler.dialects.scores import ScoreName
from reconciler.errors import UserError
from reconciler.model import fields
from reconciler.model.body import Body
from reconciler.model.cluster import Toleration
from reconciler.model.labels import (
    LabelSelector,
    Requirement,
)
from reconciler.model.records import dataclass

DUPLICATED = "Duplicated"
DIVIDED = "Divided"
AGGREGATED = "Aggregated"
WEIGHTED = "Weighted"
BY_SCORE = "AddOnScore/"
WEIGHT = ("replicaScheduling", "weightPreference", "dynamicWeight")
WEIGHT_POINTER = f"/spec/placement/{'/'.join(WEIGHT)}"
"""Where a policy says by what clusters weigh."""


class FieldSelector(NamedTuple):
    """Expressions on provider, region and zone of a cluster; all must hold."""

    match_expressions: tuple[Requirement, ...] | None = None


class ClusterAffinity(NamedTuple):
    """A set of clusters: everything named must hold, what is not named does not matter."""

    label_selector: LabelSelector | None = None
    field_selector: FieldSelector | None = None
    cluster_names: tuple[str, ...] | None = None
    exclude: tuple[str, ...] | None = None

    @property
    def field_requirements(self) -> tuple[Requirement, ...]:
        """The expressions on fields, none where no field selector is named."""
        selector = self.field_selector
        return () if selector is None else selector.match_expressions or ()


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


T = TypeVar("T")
Json = Mapping[str, object]


class _Field(NamedTuple):
    """A field of a struct: read from an object, and what of an object is written for a value."""

    read: Callable[[Body], object]
    write: Callable[[Any], Json]


@dataclass(frozen=True, slots=True)
class _Struct(Generic[T]):
    """A struct of Go, each field once: by attribute of ours, in Go's order, with its JSON tag."""

    make: Callable[..., T]
    fields: Mapping[str, _Field]

    def read(self, body: Body) -> T:
        return self.make(**{name: field.read(body) for name, field in self.fields.items()})

    def write(self, value: object) -> Json:
        written: dict[str, object] = {}
        for name, field in self.fields.items():
            written |= field.write(getattr(value, name))
        return written


def _always(name: str, read: Callable[..., object] = fields.text) -> _Field:
    return _Field(partial(read, field=name), lambda value: {name: value})


def _unless_empty(name: str, read: Callable[..., object] = fields.text) -> _Field:
    """A text, number or list with `omitempty`."""
    return _Field(partial(read, field=name), lambda value: {name: value} if value else {})


def _pointer(name: str, struct: _Struct[Any]) -> _Field:
    """A struct behind a pointer: left out when nil, else written even if empty."""

    def read(body: Body) -> object:
        inner = fields.mapping_or_none(body, name)
        return None if inner is None else struct.read(inner)

    return _Field(read, lambda value: {} if value is None else {name: struct.write(value)})


def _items(name: str, struct: _Struct[Any]) -> _Field:
    """A list of structs with `omitempty`."""

    def read(body: Body) -> object:
        items = fields.bodies_or_none(body, name)
        return None if items is None else tuple(map(struct.read, items))

    return _Field(read, lambda value: {name: list(map(struct.write, value))} if value else {})


def _grouping(name: str) -> _Field:
    """The label by which workloads are grouped, behind a pointer."""

    def read(body: Body) -> object:
        inner = fields.mapping_or_none(body, name)
        return None if inner is None else fields.text(inner, "groupByLabelKey")

    return _Field(read, lambda key: {} if key is None else {name: {"groupByLabelKey": key}})


_EXPRESSIONS = _items(
    "matchExpressions",
    _Struct(
        Requirement,
        {
            "key": _always("key"),
            "operator": _always("operator"),
            "values": _unless_empty("values", fields.strings_or_none),
        },
    ),
)
_LABELS = _Field(
    partial(fields.pairs_or_none, field="matchLabels"),
    lambda labels: {"matchLabels": dict(labels)} if labels else {},
)
_AFFINITY = _Struct(
    ClusterAffinity,
    {
        "label_selector": _pointer(
            "labelSelector",
            _Struct(LabelSelector, {"match_labels": _LABELS, "match_expressions": _EXPRESSIONS}),
        ),
        "field_selector": _pointer(
            "fieldSelector", _Struct(FieldSelector, {"match_expressions": _EXPRESSIONS})
        ),
        "cluster_names": _unless_empty("clusterNames", fields.strings_or_none),
        "exclude": _unless_empty("exclude", fields.strings_or_none),
    },
)
_NAMED_AFFINITY = {
    "affinity_name": _always("affinityName"),
    "affinity": _Field(_AFFINITY.read, _AFFINITY.write),  # inline
}
_WEIGHTS = _Struct(
    WeightPreference,
    {
        "static_weights": _items(
            "staticWeightList",
            _Struct(
                StaticWeight,
                {
                    "target": _Field(
                        lambda body: _AFFINITY.read(fields.mapping(body, "targetCluster")),
                        lambda target: {"targetCluster": _AFFINITY.write(target)},
                    ),
                    "weight": _always("weight", fields.number),
                },
            ),
        ),
        "dynamic_weight": _unless_empty("dynamicWeight"),
    },
)
_TOLERATION = _Struct(
    Toleration,
    {
        **{name: _unless_empty(name) for name in ("key", "operator", "value", "effect")},
        "toleration_seconds": _Field(
            partial(fields.number_or_none, field="tolerationSeconds"),
            lambda seconds: {} if seconds is None else {"tolerationSeconds": seconds},
        ),
    },
)
_CONSTRAINT = _Struct(
    SpreadConstraint,
    {
        "spread_by_field": _unless_empty("spreadByField"),
        "spread_by_label": _unless_empty("spreadByLabel"),
        "max_groups": _unless_empty("maxGroups", fields.number),
        "min_groups": _unless_empty("minGroups", fields.number),
    },
)
_PLACEMENT = _Struct(
    Placement,
    {
        "cluster_affinity": _pointer("clusterAffinity", _AFFINITY),
        "cluster_affinities": _items(
            "clusterAffinities",
            _Struct(
                AffinityTerm,
                {
                    **_NAMED_AFFINITY,
                    "overflow": _items(
                        "overflowAffinities", _Struct(NamedAffinity, _NAMED_AFFINITY)
                    ),
                },
            ),
        ),
        "cluster_tolerations": _items("clusterTolerations", _TOLERATION),
        "spread_constraints": _items("spreadConstraints", _CONSTRAINT),
        "replica_scheduling": _pointer(
            "replicaScheduling",
            _Struct(
                ReplicaScheduling,
                {
                    "type": _unless_empty("replicaSchedulingType"),
                    "preference": _unless_empty("replicaDivisionPreference"),
                    "weights": _pointer("weightPreference", _WEIGHTS),
                },
            ),
        ),
        "workload_affinity": _pointer(
            "workloadAffinity",
            _Struct(
                WorkloadAffinity,
                {
                    "affinity_key": _grouping("affinity"),
                    "anti_affinity_key": _grouping("antiAffinity"),
                },
            ),
        ),
    },
)


def decode_placement(body: Body) -> Placement:
    """Return the placement that a mapping holds.

    Raises:
        UserError: A field has the wrong type.

    Source: karmada@f8fdd02 pkg/apis/policy/v1alpha1/propagation_types.go `Placement`.
    """
    return _PLACEMENT.read(body)


def decode_spread(body: Body) -> tuple[SpreadConstraint, ...]:
    """Return the spread constraints of a placement; nothing else is decoded."""
    return tuple(map(_CONSTRAINT.read, fields.bodies(body, "spreadConstraints")))


def decode_affinity(body: Body) -> ClusterAffinity:
    """Return a description of clusters.

    Raises:
        UserError: A field has the wrong type.

    Source: karmada@f8fdd02 pkg/apis/policy/v1alpha1/propagation_types.go `ClusterAffinity`.
    """
    return _AFFINITY.read(body)


APPLIED_PLACEMENT = "policy.karmada.io/applied-placement"


def applied_placement(placement: Placement) -> str:
    """Return the placement as Go marshals it: fields in struct order, empty ones left out.

    Source: karmada@f8fdd02 pkg/scheduler/scheduler.go `patchScheduleResultForResourceBinding`, and
    the `json` tags of pkg/apis/policy/v1alpha1/propagation_types.go.

    >>> applied_placement(Placement(cluster_affinity=ClusterAffinity(cluster_names=("a",))))
    '{"clusterAffinity":{"clusterNames":["a"]}}'
    """
    return go_json(_PLACEMENT.write(placement))


OF_GROUPS = frozenset({"cluster_affinities", "workload_affinity"})
"""Fields that count as far as they concern the observed group."""


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
    differing = {
        name for name in _PLACEMENT.fields if getattr(placement, name) != getattr(before, name)
    }
    if not observed_affinity or not differing <= OF_GROUPS:
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
