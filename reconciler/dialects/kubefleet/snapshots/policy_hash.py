"""The hash of a policy: of its JSON as Go encodes the struct, without the number of clusters."""

from collections.abc import Mapping

from reconciler.dialects.kubefleet.api.gojson import go_json, hash_of, sorted_keys
from reconciler.model.body import Body

Shape = Mapping[str, object]
"""Fields of a struct in order: `...` for a plain value, a Shape for a struct or a list of them.

A name that ends in `!` is written even if empty.
"""

_MAP = "map"
_LABEL_SELECTOR: Shape = {
    "matchLabels": _MAP,
    "matchExpressions": {"key!": ..., "operator!": ..., "values": ...},
}
_TERM: Shape = {
    "labelSelector": _LABEL_SELECTOR,
    "propertySelector": {"matchExpressions!": {"name!": ..., "operator!": ..., "values!": ...}},
    "propertySorter": {"name!": ..., "sortOrder!": ...},
}
_POLICY: Shape = {
    "placementType": ...,
    "clusterNames": ...,
    "affinity": {
        "clusterAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"clusterSelectorTerms!": _TERM},
            "preferredDuringSchedulingIgnoredDuringExecution": {
                "weight!": ...,
                "preference!": _TERM,
            },
        }
    },
    "topologySpreadConstraints": {
        "maxSkew": ...,
        "topologyKey!": ...,
        "whenUnsatisfiable": ...,
    },
    "tolerations": {"key": ..., "operator": ..., "value": ..., "effect": ...},
}


def policy_hash(policy: Body | None) -> str:
    """Return the hash of a policy, 64 hex digits; that of no policy differs from PickAll's.

    Args:
        policy: `spec.policy` with its defaults applied, `None` if there is none.

    Source: kubefleet@e160c1c pkg/controllers/placement/controller.go
    `getOrCreateSchedulingPolicySnapshot`; the fields and which of them are left out when empty are
    those of apis/placement/v1beta1/clusterresourceplacement_types.go `PlacementPolicy`.
    """
    return hash_of(go_json(None if policy is None else _struct(policy, _POLICY)))


def _struct(body: Body, shape: Shape) -> dict[str, object]:
    encoded: dict[str, object] = {}
    for written, kind in shape.items():
        name = written.removesuffix("!")
        required = written.endswith("!")
        value = _value(body.get(name), kind)
        if value is None and required and isinstance(kind, Mapping) and kind is _TERM:
            value = {}
        if required or _is_told(value):
            encoded[name] = _zero(name) if value is None else value
    return encoded


def _zero(name: str) -> object:
    """Return what Go writes for a required field that is not set."""
    lists = ("values", "matchExpressions", "clusterSelectorTerms")
    return None if name in lists else 0 if name == "weight" else ""


def _is_told(value: object) -> bool:
    """Return whether an optional field is written: a pointer is if it points at anything at all."""
    return value is not None and value not in ("", [])


def _value(value: object, kind: object) -> object:
    if kind == _MAP:
        return sorted_keys(value) or None
    if isinstance(kind, Mapping) and isinstance(value, Mapping):
        return _struct(value, kind)
    if isinstance(kind, Mapping) and isinstance(value, list | tuple):
        return [_struct(item, kind) for item in value if isinstance(item, Mapping)]
    return value
