"""Nodes and pods of a cluster, told as the room of that cluster."""

from collections.abc import Sequence

from reconciler.core.dialects import DIALECTS
from reconciler.errors import UsageError
from reconciler.imports.export import LiveObject
from reconciler.model.identity import ObjectKey
from reconciler.model.world import World

NODE, POD = ("", "Node"), ("", "Pod")


def with_rooms(live: Sequence[LiveObject], world: World, cluster: str) -> tuple[LiveObject, ...]:
    """Return an export in which the nodes and pods of a cluster have become its room.

    Args:
        live: The export.
        world: The repository, whose cluster is meant if the export has none.
        cluster: Name of the cluster; `""` leaves the export as it is.

    Raises:
        UsageError: There are nodes, and no cluster that could have their room.
    """
    nodes = [one.body for one in live if (one.key.group, one.key.kind) == NODE]
    pods = [one.body for one in live if (one.key.group, one.key.kind) == POD]
    if not cluster or not nodes:
        return tuple(live)
    rest = [one for one in live if (one.key.group, one.key.kind) not in (NODE, POD)]
    for dialect in DIALECTS:
        measure = dialect.importer().with_nodes
        key = ObjectKey(*dialect.cluster, "", cluster)
        exported = next((one.body for one in rest if one.key == key), None)
        present = world.inputs.get(key)
        body = exported or (None if present is None else present.body)
        if measure is None or body is None:
            continue
        measured = measure(body, nodes, pods)
        if measured is None:
            raise UsageError(
                f"{key.kind} {cluster} has no status, so it has room for everything; import it "
                "from its control plane first, then its nodes count"
            )
        return (*(one for one in rest if one.key != key), LiveObject(key, measured))
    kinds = ", ".join(sorted(d.cluster[1] for d in DIALECTS if d.importer().with_nodes))
    raise UsageError(f'there is no {kinds} "{cluster}" that could have the room of these nodes')
