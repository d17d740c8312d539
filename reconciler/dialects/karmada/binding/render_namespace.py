"""A Namespace rendered: it goes to every cluster by itself."""

from collections.abc import Iterator

from reconciler.dialects.karmada.binding.prune import pruned
from reconciler.dialects.karmada.binding.render import Rendering
from reconciler.dialects.karmada.binding.work_marks import marked, with_managed_lists, work_of
from reconciler.dialects.karmada.overridemanager.apply_overrides import (
    applied_annotations,
    apply_overrides,
)
from reconciler.dialects.renderer import ClusterWork, NotRendered
from reconciler.errors import UserError
from reconciler.model.identity import ObjectKey
from reconciler.model.world import Body


def render_namespace(
    namespace: Body, key: ObjectKey, rendering: Rendering
) -> Iterator[ClusterWork | NotRendered]:
    """Yield what each cluster of the fleet gets of a Namespace, or why it gets nothing new.

    Source: karmada@f8fdd02 pkg/controllers/namespace/namespace_sync_controller.go `buildWorks`.
    """
    members = rendering.members
    for position, cluster in enumerate(members.fleet.names):
        try:
            found = apply_overrides(namespace, rendering.overrides, members, position)
        except UserError as error:
            yield NotRendered(cluster, error.message)
            continue
        manifest = with_managed_lists(pruned(marked(found.manifest, {}, {}, cluster)))
        yield ClusterWork(
            cluster=cluster,
            carrier=work_of(found.manifest, cluster, None, applied_annotations(found) or None, {}),
            manifests={key: manifest},
        )
