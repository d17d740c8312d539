"""What bindings use of quotas: by itself, and of a namespace in sum."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from reconciler.dialects.followed_index import Followed
from reconciler.dialects.karmada.api.work.binding_metadata import BINDING
from reconciler.dialects.karmada.api.work.binding_spec import (
    BindingSpec,
    decode_spec,
    requests_of,
)
from reconciler.dialects.karmada.detector.binding_draft import GROUP
from reconciler.errors import UserError
from reconciler.model.body import Body
from reconciler.model.identity import ObjectKey
from reconciler.model.quantity import Quantity
from reconciler.model.resources import Resources, decode_resources
from reconciler.model.world import Manifest, World

KIND = (GROUP, BINDING)
"""Bindings without a namespace are in no quota."""


def usage_of(spec: BindingSpec) -> Resources:
    """Return what a binding uses: what one replica asks for, times its replicas on all clusters.

    Components are not counted, as without the gate MultiplePodTemplatesScheduling.

    Raises:
        UserError: A request is no quantity.

    Source: karmada@f8fdd02 pkg/webhook/resourcebinding/validating.go `calculateResourceUsage`.
    """
    replicas = sum(count for _, count in spec.clusters)
    if not replicas:
        return {}
    requests = decode_resources(requests_of(spec)).items()
    return {name: Quantity(amount * replicas) for name, amount in requests if amount}


def usage_in(binding: Body) -> Resources:
    """Return what the binding of a file uses, nothing where a person made it unreadable."""
    try:
        return usage_of(decode_spec(binding))
    except UserError:
        return {}


def moved(total: Resources, before: Resources, now: Resources) -> Resources:
    """Return a sum in which one part is another now; what comes to nothing is left out."""
    found = dict(total)
    for name in {*before, *now}:
        found[name] = Quantity(found.get(name, 0) + now.get(name, 0) - before.get(name, 0))
    return {name: amount for name, amount in found.items() if amount}


@dataclass(slots=True, eq=False)
class UsageTable:
    """What the bindings of some namespaces use; it is changed in place, and costs what differs."""

    _outputs: Followed[ObjectKey, Manifest] = field(default_factory=Followed)
    _parts: dict[str, dict[ObjectKey, Resources]] = field(default_factory=dict)
    _totals: dict[str, Resources] = field(default_factory=dict)

    def follow(self, world: World, namespaces: Collection[str]) -> Mapping[str, Resources]:
        """Go on to another world, and return what each of some namespaces uses.

        The sum of a namespace is the very same while none of its bindings uses anything else.
        """
        differing = self._outputs.follow(world.outputs)
        for namespace in self._parts.keys() - namespaces:
            del self._parts[namespace], self._totals[namespace]
        new = {one for one in namespaces if one not in self._parts}
        for entry in differing:
            if entry.key[:2] == KIND and entry.key.namespace in self._parts:
                self._put(entry.key, entry.now)
        if new:
            self._add(new, world.outputs_of_kind(KIND))
        return dict(self._totals)

    def _add(self, namespaces: Collection[str], bindings: Iterable[Manifest]) -> None:
        for namespace in namespaces:
            self._parts[namespace], self._totals[namespace] = {}, {}
        for one in bindings:
            if one.key.namespace in namespaces:
                self._put(one.key, one)

    def _put(self, key: ObjectKey, binding: Manifest | None) -> None:
        parts = self._parts[key.namespace]
        before = parts.pop(key, {})
        now = {} if binding is None else usage_in(binding.body)
        if now:
            parts[key] = now
        if now != before:
            self._totals[key.namespace] = moved(self._totals[key.namespace], before, now)
