"""A Namespace rendered: it goes to every cluster by itself."""

from collections.abc import Iterator

from reconciler.dialects.karmada.api.work.hub_marks import NO_MARKS
from reconciler.dialects.karmada.binding.prune import pruned
from reconciler.dialects.karmada.binding.render import Rendering
from reconciler.dialects.karmada.binding.work_marks import (
    OPEN_ID,
    at_cluster,
    marked,
    marked_at,
    name_of,
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
    members, identified = rendering.members, rendering.identified
    labels = OPEN_ID if identified else {}
    overrides = Overrides(rendering.overrides, members)
    for position, cluster in enumerate(members.fleet.names):
        try:
            found = overrides.apply(namespace, position)
        except UserError as error:
            yield NotRendered(cluster, error.message)
            continue
        manifest = with_managed_lists(pruned(marked(found.manifest, labels, {})))
        work = work_of(found.manifest, labels, applied_annotations(found) or None)
        name = name_of(found.manifest)
        work_id = NO_MARKS.work_id(cluster, name) if identified else None
        yield ClusterWork(
            cluster=cluster,
            carrier=at_cluster(work, cluster, work_id),
            fill=fill_work,
            manifests={key: marked_at(manifest, cluster, work_id)},
        )
