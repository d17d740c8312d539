"""What KubeFleet's API server and mutating webhook make of a placement before it is read."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from reconciler.dialects.kubefleet.api.policy import DEFAULT_MAX_SKEW, PICK_ALL
from reconciler.model.body import Body
from reconciler.model.fields import mapping, mapping_or_none, text

ROLLING_UPDATE = "RollingUpdate"
SERVER_SIDE_APPLY = "ServerSideApply"
DEFAULT_HISTORY = 10  # defaulter/placement.go DefaultRevisionHistoryLimitValue
DEFAULT_SHARE = "25%"  # defaulter/placement.go DefaultMaxUnavailableValue, DefaultMaxSurgeValue
DEFAULT_PERIOD_SECONDS = 60  # defaulter/placement.go DefaultUnavailablePeriodSeconds


@dataclass(frozen=True, slots=True, kw_only=True)
class _Type:
    """A type of the API: an object, or the items of a list.

    Attributes:
        defaults: What the CRD fills in where a field is missing.
        zeros: What Go writes where a field is missing, since it always writes the field.
        written: Other fields that Go writes though they are empty.
        parts: Types of its fields; any other field that is a mapping holds data of users.
    """

    defaults: Body = field(default_factory=dict)
    zeros: Body = field(default_factory=dict)
    written: frozenset[str] = frozenset()
    parts: Mapping[str, "_Type"] = field(default_factory=dict)


_LABELS = _Type(parts={"matchExpressions": _Type(zeros={"key": "", "operator": ""})})
_PROPERTIES = _Type(
    written=frozenset({"matchExpressions"}),
    parts={"matchExpressions": _Type(written=frozenset({"name", "operator", "values"}))},
)
_TERM = _Type(
    parts={
        "labelSelector": _LABELS,
        "propertySelector": _PROPERTIES,
        "propertySorter": _Type(written=frozenset({"name", "sortOrder"})),
    }
)
_CLUSTER_AFFINITY = _Type(
    parts={
        "requiredDuringSchedulingIgnoredDuringExecution": _Type(
            written=frozenset({"clusterSelectorTerms"}), parts={"clusterSelectorTerms": _TERM}
        ),
        "preferredDuringSchedulingIgnoredDuringExecution": _Type(
            zeros={"weight": 0, "preference": {}}, parts={"preference": _TERM}
        ),
    }
)
_POLICY = _Type(
    defaults={"placementType": PICK_ALL},
    parts={
        "affinity": _Type(parts={"clusterAffinity": _CLUSTER_AFFINITY}),
        "topologySpreadConstraints": _Type(
            defaults={"maxSkew": DEFAULT_MAX_SKEW, "whenUnsatisfiable": "DoNotSchedule"},
            zeros={"topologyKey": ""},
        ),
        "tolerations": _Type(defaults={"operator": "Equal"}),
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
    told = {name: one for name, one in body.items() if one is not None}
    return {
        name: _each(one, kind.parts[name], _defaulted) if name in kind.parts else one
        for name, one in {**kind.defaults, **told}.items()
    }


def _rewritten(body: Body, kind: _Type) -> dict[str, object]:
    """Return an object as Go writes it after reading it."""
    kept = {
        name: one
        for name, one in body.items()
        if name in kind.written or name in kind.zeros or not _is_empty(one, name in kind.parts)
    }
    return {
        name: _each(one, kind.parts[name], _rewritten) if name in kind.parts else one
        for name, one in {**kind.zeros, **kept}.items()
    }


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
