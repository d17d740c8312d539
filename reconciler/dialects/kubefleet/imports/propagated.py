"""What of a KubeFleet hub is meant for clusters: what placements select, and snapshots hold."""

from collections.abc import Mapping

from reconciler.dialects.importer import Propagated
from reconciler.dialects.kubefleet.api.kinds import PLACEMENTS, RESOURCE_SNAPSHOTS
from reconciler.dialects.kubefleet.api.names import GROUP
from reconciler.dialects.kubefleet.api.placement_status import selected_kinds
from reconciler.dialects.kubefleet.api.resource_snapshot import readable_entries, resource_key
from reconciler.dialects.kubefleet.snapshots.propagated_resources import RESERVED
from reconciler.dialects.kubefleet.snapshots.resource_selection import kind_of
from reconciler.model.body import Body
from reconciler.model.fields import bodies, mapping
from reconciler.model.identity import ObjectKey


def propagated_in(live: Mapping[ObjectKey, Body]) -> Propagated:
    """Return the kinds that placements name, or bring along with a namespace.

    Selectors seldom name more than namespaces; what is in these stands in the status of the
    placement, and whole in its snapshots.
    """
    kinds = set()
    for key, body in live.items():
        if key.group != GROUP:
            continue
        spec = mapping(body, "spec")
        if key.kind in PLACEMENTS:
            kinds |= {*map(kind_of, bodies(spec, "resourceSelectors")), *selected_kinds(body)}
        elif key.kind in RESOURCE_SNAPSHOTS:
            kinds |= {resource_key(one)[:2] for one in readable_entries(body)}
    return Propagated(kinds=frozenset(kinds))


def is_reserved(namespace: str) -> bool:
    """Return whether a namespace is never placed."""
    return namespace.startswith(RESERVED)
