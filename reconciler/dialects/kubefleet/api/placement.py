"""A placement of either scope: its policy with defaults, its strategy, its limits.

The API server and the mutating webhook of KubeFleet fill in a placement before it is read. Its
policy says which clusters it wants, and is decoded from its snapshot; its strategy says how fast
changes may reach the clusters, how they are applied there, and what must not happen to objects on
clusters.

Unlike upstream: `score.reconciler.dev/<resource>.<score>` in a `propertySorter` sorts by that score
of each cluster, where the configuration says `scores.extend: true`. Such names mean nothing to a
hub; elsewhere it is a property that no cluster has.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping

from reconciler.dialects.kubefleet.api.names import PARENT, RESOURCE_HASH, as_integer, sorted_keys
from reconciler.dialects.kubefleet.api.snapshots import annotations_of, is_latest, labels_of
from reconciler.dialects.renderer import Instruction
from reconciler.dialects.scores import ScoreName
from reconciler.model import fields
from reconciler.model.body import Body
from reconciler.model.cluster import Toleration, decode_toleration
from reconciler.model.fields import bodies, flag_or_none, mapping, mapping_or_none, text
from reconciler.model.labels import LabelSelector, decode_label_selector
from reconciler.model.records import dataclass, field

PICK_ALL = "PickAll"
PICK_N = "PickN"
PICK_FIXED = "PickFixed"
DEFAULT_MAX_SKEW = 1  # kubefleet@e160c1c pkg/utils/defaulter/placement.go DefaultMaxSkewValue
SCHEDULE_ANYWAY = "ScheduleAnyway"

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


@dataclass(frozen=True, slots=True)
class PropertyRequirement:
    """An expression on one property; upstream accepts exactly one value."""

    name: str
    operator: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PropertySorter:
    """Rank clusters by a property, `Ascending` or `Descending`."""

    name: str
    sort_order: str


@dataclass(frozen=True, slots=True)
class SelectorTerm:
    """Clusters by labels and properties. `labels` of `None` fits all."""

    labels: LabelSelector | None = None
    properties: tuple[PropertyRequirement, ...] = ()
    sorter: PropertySorter | None = None


@dataclass(frozen=True, slots=True)
class Preference:
    """A term that earns a cluster up to `weight`, which may be negative."""

    weight: int
    term: SelectorTerm


@dataclass(frozen=True, slots=True)
class SpreadConstraint:
    """How evenly clusters are picked over the values of a label; `None` counts as 1."""

    topology_key: str
    max_skew: int | None
    when_unsatisfiable: str

    @property
    def is_soft(self) -> bool:
        """Whether a violation only costs score."""
        return self.when_unsatisfiable == SCHEDULE_ANYWAY


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """What a placement wants; equal policies are equal questions. Absent lists are empty."""

    placement_type: str = PICK_ALL
    cluster_names: tuple[str, ...] = ()
    required: tuple[SelectorTerm, ...] = ()
    preferred: tuple[Preference, ...] = ()
    constraints: tuple[SpreadConstraint, ...] = ()
    tolerations: tuple[Toleration, ...] = ()


def decode_policy(body: Body | None) -> Policy:
    """Return the policy that a snapshot holds; none at all means PickAll.

    Args:
        body: `spec.policy` as it stands in the snapshot, where defaults were applied already.

    Raises:
        UserError: A field has the wrong type.

    Source: kubefleet@e160c1c apis/placement/v1beta1/clusterresourceplacement_types.go
    `PlacementPolicy`.
    """
    if body is None:
        return Policy()
    affinity = fields.mapping(fields.mapping(body, "affinity"), "clusterAffinity")
    terms = fields.bodies(fields.mapping(affinity, REQUIRED), "clusterSelectorTerms")
    return Policy(
        placement_type=fields.text(body, "placementType"),
        cluster_names=fields.strings(body, "clusterNames"),
        required=tuple(map(_term, terms)),
        preferred=tuple(map(_preference, fields.bodies(affinity, PREFERRED))),
        constraints=tuple(map(_constraint, fields.bodies(body, "topologySpreadConstraints"))),
        tolerations=tuple(map(decode_toleration, fields.bodies(body, "tolerations"))),
    )


def _term(body: Body) -> SelectorTerm:
    labels = fields.mapping_or_none(body, "labelSelector")
    expressions = fields.bodies(fields.mapping(body, "propertySelector"), "matchExpressions")
    sorter = fields.mapping_or_none(body, "propertySorter")
    return SelectorTerm(
        labels=None if labels is None else decode_label_selector(labels),
        properties=tuple(
            PropertyRequirement(
                name=fields.text(item, "name"),
                operator=fields.text(item, "operator"),
                values=fields.strings(item, "values"),
            )
            for item in expressions
        ),
        sorter=None
        if sorter is None
        else PropertySorter(fields.text(sorter, "name"), fields.text(sorter, "sortOrder")),
    )


def _preference(body: Body) -> Preference:
    return Preference(fields.number(body, "weight"), _term(fields.mapping(body, "preference")))


def _constraint(body: Body) -> SpreadConstraint:
    return SpreadConstraint(
        topology_key=fields.text(body, "topologyKey"),
        max_skew=fields.number_or_none(body, "maxSkew"),
        when_unsatisfiable=fields.text(body, "whenUnsatisfiable"),
    )


EXTERNAL = "External"
"""The type of a strategy that leaves the rollout to staged update runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutStrategy:
    """Limits of a rolling update; shares are numbers or percentages, as written."""

    type: str
    max_unavailable: int | str
    max_surge: int | str
    period_seconds: int
    apply: Body


def decode_strategy(body: Body) -> RolloutStrategy:
    """Return the strategy of a placement.

    Args:
        body: `spec.strategy` with its defaults.

    Raises:
        UserError: A field has the wrong type.

    Source: kubefleet@e160c1c apis/placement/v1beta1/clusterresourceplacement_types.go
    `RolloutStrategy`.
    """
    rolling = fields.mapping(body, "rollingUpdate")
    return RolloutStrategy(
        type=fields.text(body, "type"),
        max_unavailable=_share(rolling, "maxUnavailable"),
        max_surge=_share(rolling, "maxSurge"),
        period_seconds=fields.number(rolling, "unavailablePeriodSeconds"),
        apply=fields.mapping(body, "applyStrategy"),
    )


def waits_for_runs(placement: Body) -> bool:
    """Return whether a placement is rolled out by runs only, given its manifest."""
    strategy = fields.mapping(fields.mapping(placement, "spec"), "strategy")
    return fields.text(strategy, "type") == EXTERNAL


def _share(body: Body, field: str) -> int | str:
    value = body.get(field)
    return value if isinstance(value, int | str) else DEFAULT_SHARE


def share_of(share: int | str, total: int) -> int:
    """Return a number, or a percentage of the total rounded up; what is neither counts as 0.

    >>> share_of(2, 10), share_of("25%", 10), share_of("many", 10)
    (2, 3, 0)

    Source: k8s.io/apimachinery pkg/util/intstr/intstr.go `GetScaledValueFromIntOrPercent`.
    """
    if isinstance(share, int):
        return share
    percent = as_integer(share.removesuffix("%")) if share.endswith("%") else None
    return 0 if percent is None else -(-percent * total // 100)


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """A placement as its controllers see it.

    Attributes:
        namespace: Where it stands and what it places, `""` for a ClusterResourcePlacement.
        name: Name.
        policy: `spec.policy` as admission leaves it.
        policy_given: Whether a person wrote one.
        strategy: How changes roll out.
        strategy_given: Whether a person wrote one.
        wanted: How many clusters it wants, `None` for as many as fit.
        history: How many snapshots are kept.
        selectors: Which resources it selects, with their defaults.
        reporting_scope: Whether its status is also shown in the namespace that it places.
        deleting: Whether it is being deleted.
    """

    namespace: str
    name: str
    policy: Body
    policy_given: bool
    strategy: RolloutStrategy
    strategy_given: bool
    wanted: int | None
    history: int
    selectors: tuple[Body, ...]
    reporting_scope: str
    deleting: bool

    @property
    def is_external(self) -> bool:
        """Whether staged update runs roll it out, instead of its own strategy."""
        return self.strategy.type == EXTERNAL


def decode_placement(body: Body, namespace: str = "") -> Placement:
    """Return a placement from its manifest, defaults applied.

    Args:
        body: The manifest; the namespace need not stand in it.
        namespace: Its namespace.

    Raises:
        UserError: A field has the wrong type.

    Source: kubefleet@e160c1c apis/placement/v1beta1/clusterresourceplacement_types.go
    `PlacementSpec`.
    """
    metadata, written = fields.mapping(body, "metadata"), fields.mapping(body, "spec")
    spec = mutated(written)
    policy = fields.mapping(spec, "policy")
    return Placement(
        namespace=namespace,
        name=fields.text(metadata, "name"),
        policy=policy,
        policy_given=isinstance(written.get("policy"), Mapping),
        strategy=decode_strategy(fields.mapping(spec, "strategy")),
        strategy_given=isinstance(written.get("strategy"), Mapping),
        wanted=_wanted(policy),
        history=fields.number(spec, "revisionHistoryLimit"),
        selectors=fields.bodies(spec, "resourceSelectors"),
        reporting_scope=fields.text(spec, "statusReportingScope"),
        deleting=bool(metadata.get("deletionTimestamp")),
    )


def _wanted(policy: Body) -> int | None:
    """Return how many clusters a rollout counts on.

    Source: kubefleet@e160c1c pkg/controllers/rollout/controller.go `calculateRealTarget`.
    """
    kind = policy.get("placementType")
    if kind == PICK_ALL:
        return None
    if kind == PICK_FIXED:
        return len(fields.strings(policy, "clusterNames"))
    return fields.number(policy, "numberOfClusters") if kind == PICK_N else 0


def latest_master(snapshots: Iterable[Body], placement: str) -> str | None:
    """Return the name of a placement's latest master among snapshots, `None` if there is none.

    Source: kubefleet@e160c1c pkg/utils/controller/resource_snapshot_resolver.go
    `FetchLatestMasterResourceSnapshot`.
    """
    for body in snapshots:
        owned = labels_of(body).get(PARENT) == placement
        if owned and is_latest(body) and annotations_of(body).get(RESOURCE_HASH):
            return fields.text(fields.mapping(body, "metadata"), "name")
    return None


ROLLING_UPDATE = "RollingUpdate"
SERVER_SIDE_APPLY = "ServerSideApply"
DEFAULT_HISTORY = 10  # defaulter/placement.go DefaultRevisionHistoryLimitValue
DEFAULT_SHARE = "25%"  # defaulter/placement.go DefaultMaxUnavailableValue, DefaultMaxSurgeValue
DEFAULT_PERIOD_SECONDS = 60  # defaulter/placement.go DefaultUnavailablePeriodSeconds


@dataclass(frozen=True, slots=True, kw_only=True)
class _Type:
    """A type of the API: an object, or the items of a list.

    Attributes:
        order: Its fields as the struct of Go has them, where its JSON is hashed.
        defaults: What the CRD fills in where a field is missing.
        zeros: What Go writes where a field is missing, since it always writes the field.
        written: Other fields that Go writes though they are empty.
        parts: Types of its fields; any other field that is a mapping holds data of users.
    """

    order: tuple[str, ...] = ()
    defaults: Body = field(default_factory=dict)
    zeros: Body = field(default_factory=dict)
    written: frozenset[str] = frozenset()
    parts: Mapping[str, "_Type"] = field(default_factory=dict)


_LABELS = _Type(
    order=("matchLabels", "matchExpressions"),
    parts={
        "matchExpressions": _Type(
            order=("key", "operator", "values"), zeros={"key": "", "operator": ""}
        )
    },
)


def _always(*names: str, **parts: _Type) -> _Type:
    """Return a type all of whose fields are written, though they are empty."""
    return _Type(order=names, written=frozenset(names), parts=parts)


_TERM = _Type(
    order=("labelSelector", "propertySelector", "propertySorter"),
    parts={
        "labelSelector": _LABELS,
        "propertySelector": _always(
            "matchExpressions", matchExpressions=_always("name", "operator", "values")
        ),
        "propertySorter": _always("name", "sortOrder"),
    },
)
_CLUSTER_AFFINITY = _Type(
    order=(REQUIRED, PREFERRED),
    parts={
        REQUIRED: _always("clusterSelectorTerms", clusterSelectorTerms=_TERM),
        PREFERRED: _Type(
            order=("weight", "preference"),
            zeros={"weight": 0, "preference": {}},
            parts={"preference": _TERM},
        ),
    },
)
_POLICY = _Type(
    order=(  # without the number of clusters, which a snapshot has in an annotation
        "placementType",
        "clusterNames",
        "affinity",
        "topologySpreadConstraints",
        "tolerations",
    ),
    defaults={"placementType": PICK_ALL},
    parts={
        "affinity": _Type(order=("clusterAffinity",), parts={"clusterAffinity": _CLUSTER_AFFINITY}),
        "topologySpreadConstraints": _Type(
            order=("maxSkew", "topologyKey", "whenUnsatisfiable"),
            defaults={"maxSkew": DEFAULT_MAX_SKEW, "whenUnsatisfiable": "DoNotSchedule"},
            zeros={"topologyKey": ""},
        ),
        "tolerations": _Type(
            order=("key", "operator", "value", "effect"), defaults={"operator": "Equal"}
        ),
    },
)
_STRATEGY = _Type(
    defaults={"type": ROLLING_UPDATE},
    parts={
        "rollingUpdate": _Type(
            defaults={
                "maxUnavailable": DEFAULT_SHARE,
                "maxSurge": DEFAULT_SHARE,
                "unavailablePeriodSeconds": DEFAULT_PERIOD_SECONDS,
            }
        ),
        "applyStrategy": _Type(
            defaults={
                "type": "ClientSideApply",
                "comparisonOption": "PartialComparison",
                "whenToApply": "Always",
                "whenToTakeOver": "Always",
            },
            parts={"serverSideApplyConfig": _Type(zeros={"force": False})},
        ),
        "deleteStrategy": _Type(defaults={"propagationPolicy": "Delete"}),
        "reportBackStrategy": _Type(
            defaults={"type": "Disabled"}, written=frozenset({"destination"})
        ),
    },
)
_SPEC = _Type(
    defaults={
        "revisionHistoryLimit": DEFAULT_HISTORY,
        "statusReportingScope": "ClusterScopeOnly",
    },
    written=frozenset({"resourceSelectors"}),
    parts={
        "resourceSelectors": _Type(
            defaults={"selectionScope": "NamespaceWithResources"},
            zeros={"group": "", "version": "", "kind": ""},
            parts={"labelSelector": _LABELS},
        ),
        "policy": _POLICY,
        "strategy": _STRATEGY,
    },
)


def with_defaults(spec: Body) -> Body:
    """Return a placement's spec with the defaults of its CRD; a default needs its parent.

    Source: kubefleet@e160c1c apis/placement/v1beta1/clusterresourceplacement_types.go, the
    `+kubebuilder:default` markers.
    """
    return _defaulted(spec, _SPEC)


def mutated(spec: Body) -> Body:
    """Return a placement's spec as the mutating webhook leaves it.

    The webhook reads the object into a Go value and writes it again. So empty lists and texts
    vanish, and scalars that are missing get their zero value.

    Args:
        spec: As written, or with defaults.

    Source: kubefleet@e160c1c pkg/utils/defaulter/placement.go `SetPlacementDefaults`, and the
    `json` tags of apis/placement/v1beta1/clusterresourceplacement_types.go.
    """
    written = _rewritten(with_defaults(spec), _SPEC)
    strategy = {"applyStrategy": {}, **_defaulted(mapping(written, "strategy"), _STRATEGY)}
    if strategy["type"] == ROLLING_UPDATE:
        strategy = {"rollingUpdate": {}, **strategy}
    policy = mapping(written, "policy")
    filled = with_defaults({**written, "policy": policy, "strategy": strategy})
    return {**filled, "strategy": _with_apply_config(mapping(filled, "strategy"))}


def _with_apply_config(strategy: Body) -> Body:
    """Return a strategy whose server-side apply says whether it forces.

    Source: kubefleet@e160c1c pkg/utils/defaulter/placement.go `SetDefaultsApplyStrategy`.
    """
    apply = mapping(strategy, "applyStrategy")
    if text(apply, "type") != SERVER_SIDE_APPLY:
        return strategy
    config = mapping_or_none(apply, "serverSideApplyConfig")
    config = {"force": False} if config is None else config
    return {**strategy, "applyStrategy": {**apply, "serverSideApplyConfig": config}}


def _defaulted(body: Body, kind: _Type) -> dict[str, object]:
    """Return an object with the defaults of its type; null is as good as missing."""
    fields_given = {name: one for name, one in body.items() if one is not None}
    return {
        name: _each(one, kind.parts[name], _defaulted) if name in kind.parts else one
        for name, one in {**kind.defaults, **fields_given}.items()
    }


def _rewritten(body: Body, kind: _Type) -> dict[str, object]:
    """Return an object as Go writes it after reading it."""
    fields_given = {
        name: one
        for name, one in body.items()
        if name in kind.written or name in kind.zeros or not _is_empty(one, name in kind.parts)
    }
    return {
        name: _each(one, kind.parts[name], _rewritten) if name in kind.parts else one
        for name, one in {**kind.zeros, **fields_given}.items()
    }


_LISTS = frozenset({"values", "matchExpressions", "clusterSelectorTerms"})
"""Of the fields that Go always writes those that it writes as null."""


def go_policy(policy: Body) -> dict[str, object]:
    """Return a policy as Go marshals it: fields in the order of the struct, most if not empty.

    A pointer counts as told if it points at anything at all.

    Args:
        policy: `spec.policy` with its defaults.
    """
    return _in_order(policy, _POLICY)


def _in_order(body: Body, kind: _Type) -> dict[str, object]:
    ordered: dict[str, object] = {}
    for name in kind.order:
        value = body.get(name)
        if name == "matchLabels":
            value = sorted_keys(value) or None
        elif name in kind.parts:
            value = _each(value, kind.parts[name], _in_order)
        if name in kind.zeros or name in kind.written:
            zero = kind.zeros.get(name, None if name in _LISTS else "")
            ordered[name] = zero if value is None else value
        elif value is not None and value not in ("", []):
            ordered[name] = value
    return ordered


def _each(value: object, kind: _Type, rule: Callable[[Body, _Type], object]) -> object:
    """Apply a rule to an object, or to each item of a list; what is neither stays as it is."""
    if isinstance(value, Mapping):
        return rule(value, kind)
    if isinstance(value, list | tuple):
        return [rule(one, kind) if isinstance(one, Mapping) else one for one in value]
    return value


def _is_empty(value: object, is_part: bool) -> bool:  # noqa: FBT001  # a fact of the field
    """Return whether Go leaves a field out: a pointer to an empty object stays."""
    return value in ("", [], None) or (value == {} and not is_part)


PREFIX = "score.reconciler.dev/"
TERMS = f"/spec/policy/affinity/clusterAffinity/{PREFERRED}"


def score_in(name: str) -> ScoreName | None:
    """Return the score that a property stands for, `None` if it is one of upstream's.

    The score is what follows the last dot: names of resources may have some.

    >>> score_in("score.reconciler.dev/usage.cpu"), score_in("example.com/rank")
    (ScoreName(resource='usage', score='cpu'), None)
    """
    resource, dot, score = name.removeprefix(PREFIX).rpartition(".")
    return ScoreName(resource, score) if dot and name.startswith(PREFIX) else None


def scores_of(policy: Policy) -> frozenset[ScoreName]:
    """Return the scores that a policy ranks clusters by."""
    sorters = (one.term.sorter for one in policy.preferred if policy.placement_type == PICK_N)
    scores = (score_in(sorter.name) for sorter in sorters if sorter is not None)
    return frozenset(one for one in scores if one is not None)


def written_scores(placement: Body) -> Iterator[tuple[str, str, ScoreName]]:
    """Yield where a placement names scores to sort by, how they are written, and which they are."""
    policy = mapping(mapping(placement, "spec"), "policy")
    affinity = mapping(mapping(policy, "affinity"), "clusterAffinity")
    for position, term in enumerate(bodies(affinity, PREFERRED)):
        written = text(mapping(mapping(term, "preference"), "propertySorter"), "name")
        name = score_in(written)
        if name is not None:
            yield f"{TERMS}/{position}/preference/propertySorter/name", written, name


STRATEGY = "/spec/strategy"


def abandons(placement: Body) -> bool:
    """Return whether what is on clusters is to outlive a placement."""
    strategy = mapping(mapping(mapping(placement, "spec"), "strategy"), "deleteStrategy")
    return text(strategy, "propagationPolicy") == "Abandon"


def asked_by_strategy(apply: Body, *, abandons: bool) -> frozenset[Instruction]:
    """Return what is asked of all objects of a placement.

    Args:
        apply: How resources are applied.
        abandons: Whether they are to outlive the placement.
    """
    instructions = {instruction for _, instruction in asked_by_apply(apply)}
    return frozenset({*instructions, Instruction.ABANDON} if abandons else instructions)


def asked_by_apply(apply: Body) -> Iterator[tuple[str, Instruction]]:
    """Yield what is asked of how resources are applied, each with its JSON pointer below that.

    Source: kubefleet@e160c1c apis/placement/v1/clusterresourceplacement_types.go `ApplyStrategy`.
    """
    kind = text(apply, "type")
    if kind == "ReportDiff":
        yield "/type", Instruction.REPORT_DIFF
    elif kind == "ServerSideApply" and not _is_forced(apply):
        yield "/type", Instruction.UNFORCED
    if text(apply, "whenToTakeOver") in {"Never", "IfNoDiff"}:
        yield "/whenToTakeOver", Instruction.TAKE_OVER
    if text(apply, "whenToApply") == "IfNotDrifted":
        yield "/whenToApply", Instruction.DRIFTED


def _is_forced(apply: Body) -> bool:
    return flag_or_none(mapping(apply, "serverSideApplyConfig"), "force") is True


def asked_by_placement(placement: Body) -> Iterator[tuple[str, Instruction]]:
    """Yield what a placement asks as it is written, each with its JSON pointer."""
    strategy = mapping(mapping(placement, "spec"), "strategy")
    for pointer, instruction in asked_by_apply(mapping(strategy, "applyStrategy")):
        yield f"{STRATEGY}/applyStrategy{pointer}", instruction
    if abandons(placement):
        yield f"{STRATEGY}/deleteStrategy/propagationPolicy", Instruction.ABANDON
