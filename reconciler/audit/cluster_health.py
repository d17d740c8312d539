"""Clusters as scheduling finds them: their taints, and which of them are down."""

from collections.abc import Mapping

from reconciler.core.dialects import dialect_of
from reconciler.model.fields import mapping
from reconciler.model.identity import ClusterName
from reconciler.model.known_kinds import Kind
from reconciler.model.settings import settings_in
from reconciler.model.world import Body, World


def with_taints(world: World, kind: Kind, body: Body) -> Body:
    """Return an object to be shown; a cluster with all taints that scheduling uses.

    Args:
        world: Whose settings count.
        kind: Its group and kind.
        body: As people wrote it.
    """
    dialect = dialect_of(kind[0])
    if dialect is None or dialect.cluster != kind:
        return body
    taints = dialect.view().taints_of(body, settings_in(world))
    return {**body, "spec": {**mapping(body, "spec"), "taints": list(taints)}}


def clusters_down(world: World, group: str) -> Mapping[ClusterName, str]:
    """Return the clusters of an API that say that they are unwell, each with what is wrong.

    Args:
        world: Whose clusters.
        group: Of any kind of the API.
    """
    dialect = dialect_of(group)
    if dialect is None:
        return {}
    view = dialect.view()
    reports = {
        ClusterName(cluster.key.name): view.report_of(mapping(cluster.body, "status")).down
        for cluster in world.of_kind(*dialect.cluster)
    }
    return {name: down for name, down in reports.items() if down}
