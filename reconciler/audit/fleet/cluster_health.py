"""Clusters as scheduling finds them: their taints, and which of them are down."""

from collections.abc import Iterable, Mapping

from reconciler.core.dialects import dialect_of
from reconciler.model.body import Body
from reconciler.model.fields import mapping, text
from reconciler.model.identity import ClusterName, ObjectKey
from reconciler.model.known_kinds import Kind
from reconciler.model.settings import Settings
from reconciler.model.world import World

Down = Mapping[ClusterName, str]
"""Clusters that are unwell, with what is wrong."""


def with_taints(world: World, settings: Settings, kind: Kind, body: Body) -> Body:
    """Return an object to be shown; a cluster with all taints that scheduling uses.

    Args:
        world: That has it.
        settings: Of the repository.
        kind: Its group and kind.
        body: As people wrote it.
    """
    dialect = dialect_of(kind[0])
    if dialect is None or dialect.cluster != kind:
        return body
    key = ObjectKey(*kind, "", text(mapping(body, "metadata"), "name"))
    record = world.outputs.get(key)
    taints = dialect.view().taints_of(body, settings, None if record is None else record.body)
    return {**body, "spec": {**mapping(body, "spec"), "taints": list(taints)}}


def clusters_down(world: World, groups: Iterable[str]) -> Mapping[str, Down]:
    """Return the clusters that say that they are unwell, each with what is wrong, by group.

    Args:
        world: Whose clusters.
        groups: API groups of what was decided; one without an API of ours has no clusters.
    """
    return {group: _down(world, group) for group in sorted(set(groups))}


def _down(world: World, group: str) -> Down:
    """Return the clusters of one API that are unwell."""
    dialect = dialect_of(group)
    if dialect is None:
        return {}
    view = dialect.view()
    reports = {
        ClusterName(cluster.key.name): view.report_of(mapping(cluster.body, "status")).down
        for cluster in world.of_kind(*dialect.cluster)
    }
    return {name: down for name, down in reports.items() if down}
