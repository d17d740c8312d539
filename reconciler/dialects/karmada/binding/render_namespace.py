"""A Namespace rendered: it goes to every cluster by itself."""

from collections.abc import Iterator

from reconciler.dialects.karmada.binding.prune import pruned
from reconciler.dialects.karmada.binding.render import Rendering
from reconciler.dialects.karmada.binding.work_marks import (
    at_cluster,
    marked,
    marked_at,
    with_managed_lists,
    work_of,
)
from reconciler.dialects.karmada.overridemanager.apply_overrides import (
    Overrides,
    applied_annotations,
)
from reconciler.dialects.renderer import ClusterWork, NotRendered
from reconciler.dialects.work_spec import fill_work
from reconciler.errors import UserError
from reconciler.model.body import Body
from reconciler.model.identity import ObjectKey


def render_namespace(
    namespace: Body, key: ObjectKey, rendering: Rendering
) -> Iterator[ClusterWork | NotRendered]:
    """Yield what each cluster of the fleet gets of a Namespace, or why it gets nothing new.

    Source: karmada@f8fdd02 pkg/controllers/namespace/namespace_sync_controller.go `buildWorks`.
    """
    members = rendering.members
    overrides = Overrides(rendering.overrides, members)
    for position, cluster in enumerate(members.fleet.names):
        try:
            found = overrides.apply(namespace, position)
        except UserError as error:
            yield NotRendered(cluster, error.message)
            continue
        manifest = with_managed_lists(pruned(marked(found.manifest, {}, {})))
        work = work_of(found.manifest, None, applied_annotations(found) or None)
        yield ClusterWork(
            cluster=cluster,
            carrier=at_cluster(work, cluster),
            fill=fill_work,
            manifests={key: marked_at(manifest, cluster)},
        )
