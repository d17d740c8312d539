"""Placement: what a person asks for, decoded with the defaults that the CRD applies.

The spelling of the 2021 proposal (`v1alpha1`, `BuildIn`, `buildIn`, `name`) is read as today's.
"""

from dataclasses import dataclass

from reconciler.dialects.ocm.api.groups import CLUSTER_GROUP
from reconciler.manifests.suspension import SUSPEND, is_suspended
from reconciler.model import fields
from reconciler.model.body import Body
from reconciler.model.labels import LabelSelector
from reconciler.model.selectors import decode_label_selector, decode_requirements
from reconciler.model.taints import Toleration

GROUP = CLUSTER_GROUP
PROPOSED = f"{GROUP}/v1alpha1"
DISABLED = f"{GROUP}/experimental-scheduling-disable"
BUILT_IN = "BuiltIn"
ADDITIVE = "Additive"
EXACT = "Exact"


@dataclass(frozen=True, slots=True)
class ClusterSelector:
    """Clusters by labels, claims and CEL expressions; all must hold, an empty one always does."""

    labels: LabelSelector
    claims: LabelSelector
    cel: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AddOnScore:
    """Where the score of an add-on is found: the AddOnPlacementScore, and the item in it."""

    resource_name: str
    score_name: str


@dataclass(frozen=True, slots=True)
class Coordinate:
    """Which score is meant. `add_on` is `None` where the file has none."""

    type: str
    built_in: str = ""
    add_on: AddOnScore | None = None


@dataclass(frozen=True, slots=True)
class Configuration:
    """A score with its weight; a coordinate of `None` is upstream's to refuse."""

    coordinate: Coordinate | None
    weight: int


@dataclass(frozen=True, slots=True)
class GroupRule:
    """A decision group by selector."""

    name: str
    selector: ClusterSelector


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """All that a placement says.

    Attributes:
        namespace: Where it stands, and its bindings and decisions with it.
        name: Its name.
        deleting: Whether it has a deletionTimestamp.
        disabled: The annotation by which nothing is scheduled, `""` without one.
        cluster_sets: In spec order, duplicates kept; empty means all that are bound.
        number_of_clusters: `None` means all that fit.
        predicates: A cluster must pass one; empty means that all do.
        mode: As written, Additive where nothing is.
        configurations: In spec order.
        tolerations: In spec order.
        group_length: Clusters of a decision group: a number, a text such as `30%`; 0 means all.
        groups: Decision groups by selector, in spec order.
    """

    namespace: str
    name: str
    deleting: bool = False
    disabled: str = ""
    cluster_sets: tuple[str, ...] = ()
    number_of_clusters: int | None = None
    predicates: tuple[ClusterSelector, ...] = ()
    mode: str = ADDITIVE
    configurations: tuple[Configuration, ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    group_length: int | str = 0
    groups: tuple[GroupRule, ...] = ()


def decode_placement(body: Body) -> Placement:
    """Return the placement of a manifest.

    Raises:
        UserError: A field has the wrong type.

    Source: ocm@00f84c3 vendor/open-cluster-management.io/api/cluster/v1beta1/types_placement.go
    `Placement`, with the defaults of its CRD; a default applies where its parent is present.
    """
    metadata, spec = fields.mapping(body, "metadata"), fields.mapping(body, "spec")
    policy = fields.mapping(spec, "prioritizerPolicy")
    proposed = body.get("apiVersion") == PROPOSED
    mode = policy.get("mode")
    strategy = fields.mapping_or_none(fields.mapping(spec, "decisionStrategy"), "groupStrategy")
    return Placement(
        namespace=fields.text(metadata, "namespace"),
        name=fields.text(metadata, "name"),
        deleting=bool(metadata.get("deletionTimestamp")),
        disabled=_disabled(body),
        cluster_sets=fields.strings(spec, "clusterSets"),
        number_of_clusters=fields.number_or_none(spec, "numberOfClusters"),
        predicates=tuple(
            _selector(fields.mapping(item, "requiredClusterSelector"))
            for item in fields.bodies(spec, "predicates")
        ),
        mode=ADDITIVE if mode is None else fields.as_text(mode, "mode"),
        configurations=tuple(
            _configuration(item, proposed=proposed)
            for item in fields.bodies(policy, "configurations")
        ),
        tolerations=tuple(map(_toleration, fields.bodies(spec, "tolerations"))),
        group_length=0 if strategy is None else _length(strategy),
        groups=() if strategy is None else tuple(map(_group, _groups(strategy))),
    )


def _disabled(body: Body) -> str:
    """Return the annotation that switches a placement off: upstream's, or ours for any object."""
    annotations = fields.mapping(fields.mapping(body, "metadata"), "annotations")
    if annotations.get(DISABLED) == "true":
        return DISABLED
    return SUSPEND if is_suspended(body) else ""


def _selector(body: Body) -> ClusterSelector:
    """Decode a cluster selector."""
    return ClusterSelector(
        labels=decode_label_selector(fields.mapping(body, "labelSelector")),
        claims=LabelSelector(
            match_expressions=decode_requirements(fields.mapping(body, "claimSelector"))
        ),
        cel=fields.strings(fields.mapping(body, "celSelector"), "celExpressions"),
    )


def _configuration(body: Body, *, proposed: bool) -> Configuration:
    """Decode a score with its weight."""
    coordinate = fields.mapping_or_none(body, "scoreCoordinate")
    weight = fields.number_or_none(body, "weight")
    if proposed:
        coordinate = _modern(coordinate or {}, fields.text(body, "name"))
    return Configuration(
        coordinate=None if coordinate is None else _coordinate(coordinate),
        weight=1 if weight is None else weight,
    )


def _modern(coordinate: Body, name: str) -> Body:
    """Return a coordinate of the proposal in today's spelling; `name` gives way to buildIn.

    Source: OCM enhancement 32, placement extensible scheduling.
    """
    kind = fields.text(coordinate, "type")
    built_in = fields.text(coordinate, "builtIn") or fields.text(coordinate, "buildIn") or name
    return {
        **coordinate,
        "type": BUILT_IN if kind in ("", "BuildIn") else kind,
        "builtIn": built_in,
    }


def _coordinate(body: Body) -> Coordinate:
    """Decode which score is meant."""
    kind = body.get("type")
    add_on = fields.mapping_or_none(body, "addOn")
    return Coordinate(
        type=BUILT_IN if kind is None else fields.as_text(kind, "type"),
        built_in=fields.text(body, "builtIn"),
        add_on=None
        if add_on is None
        else AddOnScore(fields.text(add_on, "resourceName"), fields.text(add_on, "scoreName")),
    )


def _toleration(body: Body) -> Toleration:
    """Decode a toleration; an operator that is not written is Equal."""
    operator = body.get("operator")
    return Toleration(
        key=fields.text(body, "key"),
        operator="Equal" if operator is None else fields.as_text(operator, "operator"),
        value=fields.text(body, "value"),
        effect=fields.text(body, "effect"),
        toleration_seconds=fields.number_or_none(body, "tolerationSeconds"),
    )


def _length(strategy: Body) -> int | str:
    """Return how long a group may be, as written."""
    length = strategy.get("clustersPerDecisionGroup")
    if length is None:
        return "100%"
    if isinstance(length, str):
        return length
    return fields.number(strategy, "clustersPerDecisionGroup")


def _groups(strategy: Body) -> tuple[Body, ...]:
    """Return the decision groups as written."""
    return fields.bodies(strategy, "decisionGroups")


def _group(body: Body) -> GroupRule:
    """Decode a decision group; upstream reads no CEL there."""
    selector = _selector(fields.mapping(body, "groupClusterSelector"))
    return GroupRule(
        fields.text(body, "groupName"), ClusterSelector(selector.labels, selector.claims)
    )
