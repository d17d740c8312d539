"""Placement, its status, its PlacementDecisions and its scores, as files have them.

A Placement is decoded with the defaults that the CRD applies. The spelling of the 2021 proposal
(`v1alpha1`, `BuildIn`, `buildIn`, `name`) is read as today's. The status counts the clusters and
names the decision groups; a PlacementDecision lists the clusters of one group. An
AddOnPlacementScore is one object for a cluster, in the namespace of its name. A setting says how
soon scores alone may move a placement.

The API groups of Open Cluster Management and its clusters are defined here; no other file with
rules spells them.

Source: open-cluster-management.io/api cluster/v1alpha1 types_addonplacementscore.go.
"""

from collections.abc import Iterator
from datetime import timedelta

from reconciler.dialects.scores import SCORES
from reconciler.dialects.view import Scores, Scoring
from reconciler.manifests.admission import SUSPEND, is_suspended
from reconciler.manifests.edits.fields import AppendItem, Item, SetField, Step
from reconciler.model import fields
from reconciler.model.body import Body
from reconciler.model.cluster import Toleration
from reconciler.model.fields import bodies, mapping, number, strings, text
from reconciler.model.identity import ClusterName, ObjectKey
from reconciler.model.kinds import Kind
from reconciler.model.labels import LabelSelector, decode_label_selector, decode_requirements
from reconciler.model.moments import span
from reconciler.model.records import dataclass
from reconciler.model.settings import Settings


@dataclass(frozen=True, slots=True)
class StatusGroup:
    """A decision group: its index, its name, its PlacementDecisions, how many clusters it has."""

    index: int
    name: str
    objects: tuple[str, ...]
    count: int


@dataclass(frozen=True, slots=True)
class DecidedStatus:
    """What a status file says of a placement.

    Attributes:
        selected: How many clusters it has.
        groups: Its decision groups, in order.
        conditions: As they are written.
    """

    selected: int = 0
    groups: tuple[StatusGroup, ...] = ()
    conditions: tuple[Body, ...] = ()


def decode_status(body: Body | None) -> DecidedStatus:
    """Return the status that a file holds; what is not there counts as none."""
    status = mapping(body or {}, "status")
    return DecidedStatus(
        selected=number(status, "numberOfSelectedClusters"),
        groups=tuple(
            StatusGroup(
                number(one, "decisionGroupIndex"),
                text(one, "decisionGroupName"),
                strings(one, "decisions"),
                number(one, "clusterCount"),
            )
            for one in bodies(status, "decisionGroups")
        ),
        conditions=bodies(status, "conditions"),
    )


def encode_status(status: DecidedStatus) -> Body:
    """Return a status as a file has it.

    Source: ocm@00f84c3 pkg/placement/controllers/scheduling/scheduling_controller.go
    `updateStatus`.
    """
    return {
        "numberOfSelectedClusters": status.selected,
        "decisionGroups": [
            {
                "decisionGroupIndex": one.index,
                "decisionGroupName": one.name,
                "decisions": list(one.objects),
                "clusterCount": one.count,
            }
            for one in status.groups
        ],
        "conditions": list(status.conditions),
    }


def live_status(body: Body) -> Body:
    """Return what of the status of a live placement is ours to keep, as it is written there."""
    status = mapping(body, "status")
    live_fields = ("numberOfSelectedClusters", "decisionGroups", "conditions")
    return {name: status[name] for name in live_fields if name in status}


LIST, UNTIL = ("status", "scores"), ("status", "validUntil")


def score_key(cluster: str, name: str) -> ObjectKey:
    """Return the object that has the scores of a cluster."""
    return ObjectKey(*SCORES, cluster, name)


def encode_scores(key: ObjectKey, scores: Scores, until: str | None) -> Body:
    """Return a new object; `until` is a moment in RFC 3339, `None` for no end."""
    limit = {} if until is None else {"validUntil": until}
    return {
        "apiVersion": f"{key.group}/v1alpha1",
        "kind": key.kind,
        "metadata": {"name": key.name, "namespace": key.namespace},
        "status": {**limit, "scores": [_item(*one) for one in scores.items()]},
    }


def score_steps(body: Body, scores: Scores, until: str | None) -> tuple[Step, ...]:
    """Return how an object gets scores; those of other names stay."""
    return tuple(_steps(mapping(body, "status"), scores, until))


def _steps(status: Body, scores: Scores, until: str | None) -> Iterator[Step]:
    earlier = bodies(status, "scores")
    for name, value in scores.items():
        at = next((n for n, one in enumerate(earlier) if text(one, "name") == name), None)
        if at is None:
            yield AppendItem(LIST, _item(name, value))
        elif earlier[at].get("value") != value:
            yield SetField((*LIST, at, "value"), value)
    if until is not None and status.get("validUntil") != until:
        yield SetField(UNTIL, until)


def _item(name: str, value: int) -> Item:
    return {"name": name, "value": value}


SCORING = Scoring(key_of=score_key, manifest=encode_scores, steps=score_steps)


CLUSTER_GROUP = "cluster.open-cluster-management.io"
PLACEMENT = "Placement"
WORK_GROUP = "work.open-cluster-management.io"

CLUSTER: Kind = (CLUSTER_GROUP, "ManagedCluster")


PROPOSED = f"{CLUSTER_GROUP}/v1alpha1"
DISABLED = f"{CLUSTER_GROUP}/experimental-scheduling-disable"
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


PLACEMENT_LABEL = f"{CLUSTER_GROUP}/placement"
GROUP_INDEX_LABEL = f"{CLUSTER_GROUP}/decision-group-index"
GROUP_NAME_LABEL = f"{CLUSTER_GROUP}/decision-group-name"


@dataclass(frozen=True, slots=True)
class DecisionObject:
    """One PlacementDecision: its labels, and its clusters in stored order.

    `leaving` are clusters that are not chosen any more and stay until what replaces them is ready.
    """

    namespace: str
    name: str
    labels: tuple[tuple[str, str], ...]
    clusters: tuple[ClusterName, ...]
    leaving: tuple[ClusterName, ...] = ()

    @property
    def listed(self) -> tuple[ClusterName, ...]:
        """All clusters that it lists."""
        return tuple(sorted((*self.clusters, *self.leaving))) if self.leaving else self.clusters

    @property
    def owner(self) -> tuple[str, str] | None:
        """Namespace and name of the placement that its label names, `None` without the label."""
        name = dict(self.labels).get(PLACEMENT_LABEL)
        return None if name is None else (self.namespace, name)


def decode_decision(body: Body) -> DecisionObject:
    """Return the decision that a manifest holds."""
    metadata, status = fields.mapping(body, "metadata"), fields.mapping(body, "status")
    listed = [
        (ClusterName(fields.text(item, "clusterName")), fields.text(item, "reason") == LEAVING)
        for item in fields.bodies(status, "decisions")
    ]
    return DecisionObject(
        namespace=fields.text(metadata, "namespace"),
        name=fields.text(metadata, "name"),
        labels=fields.pairs_or_none(metadata, "labels") or (),
        clusters=tuple(name for name, leaving in listed if not leaving),
        leaving=tuple(name for name, leaving in listed if leaving),
    )


LEAVING = "Leaving"
"""Reason of a cluster that is not chosen any more, and stays until what replaces it is ready."""


def encode_clusters(decision: DecisionObject) -> Body:
    """Return the status of a decision.

    Source: ocm@00f84c3 pkg/placement/controllers/scheduling/scheduling_controller.go
    `generateDecision`: `reason` is empty and `score` is never filled. Leaving clusters are ours.
    """
    reasons = dict.fromkeys(decision.leaving, LEAVING)
    return {
        "decisions": [
            {"clusterName": name, "reason": reasons.get(name, "")} for name in decision.listed
        ]
    }


RESYNC_SECONDS = 300  # OCM enhancement 32: scores are looked at every five minutes


def decode_resync(settings: Settings) -> timedelta:
    """Return how long after a decision scores alone may cause the next one; zero is at once."""
    seconds = settings.options.get("ocm", {}).get("resyncSeconds", RESYNC_SECONDS)
    return span(seconds=seconds if isinstance(seconds, int) else RESYNC_SECONDS)
