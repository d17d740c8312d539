"""What of a Karmada control plane is meant for clusters: what its policies and bindings name."""

from collections.abc import Mapping

from reconciler.dialects.importer import Propagated
from reconciler.dialects.karmada.api.binding import workload_key
from reconciler.dialects.karmada.api.groups import SCHEDULING_GROUP
from reconciler.dialects.karmada.api.policies import (
    CLUSTER_WIDE,
    GROUP,
    NAMESPACED,
    priority_class_of,
)
from reconciler.dialects.karmada.api.work.binding_metadata import BINDING, CLUSTER_BINDING
from reconciler.dialects.karmada.detector.binding_draft import GROUP as BINDINGS
from reconciler.dialects.karmada.detector.propagation import BY_DEFAULT
from reconciler.model.body import Body
from reconciler.model.fields import bodies, mapping, text
from reconciler.model.identity import ObjectKey, group_of


def propagated_in(live: Mapping[ObjectKey, Body]) -> Propagated:
    """Return the kinds that policies select and bindings are of, and the PriorityClasses named.

    Bindings are asked, too, since one of a dependency is of a kind that no policy need name.
    """
    kinds, objects = set(), set()
    for key, body in live.items():
        if key[:2] in ((BINDINGS, BINDING), (BINDINGS, CLUSTER_BINDING)):
            kinds.add(workload_key(body)[:2])
        elif key[:2] in ((GROUP, NAMESPACED), (GROUP, CLUSTER_WIDE)):
            spec = mapping(body, "spec")
            for one in bodies(spec, "resourceSelectors"):
                kinds.add((group_of(text(one, "apiVersion")), text(one, "kind")))
            name = priority_class_of(spec)
            if name:
                objects.add(ObjectKey(SCHEDULING_GROUP, "PriorityClass", "", name))
    return Propagated(kinds=frozenset(kinds), objects=frozenset(objects))


def is_reserved(namespace: str) -> bool:
    """Return whether nothing of a namespace is ever propagated, as Karmada is set by default."""
    return not BY_DEFAULT.has_namespace(namespace)
