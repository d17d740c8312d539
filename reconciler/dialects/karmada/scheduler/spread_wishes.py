"""How bindings want to be spread, by the placement that stands in them."""

from collections.abc import Callable, Mapping
from functools import partial

from reconciler.dialects.karmada.api.groups import CLUSTER
from reconciler.dialects.karmada.api.placement import SpreadConstraint, decode_spread
from reconciler.dialects.karmada.api.work.binding_spec import placement_in
from reconciler.dialects.placement_wishes import SpreadWish, SpreadWishes
from reconciler.model.body import Body
from reconciler.model.fields import mapping, strings, text
from reconciler.model.identity import ObjectKey
from reconciler.model.labels import labels_of
from reconciler.model.world import World


def _zone(cluster: Body) -> str:
    spec = mapping(cluster, "spec")
    return next(iter(strings(spec, "zones")), "") or text(spec, "zone")


def _labelled(label: str, cluster: Body) -> str:
    return labels_of(cluster).get(label, "")


FIELDS: Mapping[str, Callable[[Body], str]] = {
    "cluster": lambda cluster: text(mapping(cluster, "metadata"), "name"),
    "provider": lambda cluster: text(mapping(cluster, "spec"), "provider"),
    "region": lambda cluster: text(mapping(cluster, "spec"), "region"),
    "zone": _zone,
}
"""`spreadByField` to what it says of a cluster; one in several zones counts by the first."""


def spread_wishes(world: World) -> SpreadWishes:
    """Return what says how bindings want to be spread over the clusters of a world."""
    clusters = {one.key.name: one.body for one in world.of_kind(*CLUSTER)}
    known: dict[tuple[str, str], dict[str, str]] = {}

    def domains(constraint: SpreadConstraint) -> dict[str, str]:
        field, label = constraint.spread_by_field, constraint.spread_by_label
        if (field, label) not in known:
            read = FIELDS.get(field, partial(_labelled, label))
            found = ((name, read(body)) for name, body in clusters.items())
            known[field, label] = {name: value for name, value in found if value}
        return known[field, label]

    def of_binding(key: ObjectKey) -> tuple[SpreadWish, ...]:
        binding = world.outputs.get(key)
        placement = None if binding is None else placement_in(binding.body)
        return tuple(
            SpreadWish(
                name=one.spread_by_field or one.spread_by_label,
                domain_of=domains(one),
                least=one.min_groups,
                most=one.max_groups or None,
            )
            for one in decode_spread(placement or {}) or ()
        )

    return of_binding
