"""A quota rendered: the ResourceQuotas that its static assignments ask for."""

from collections.abc import Iterable, Iterator

from reconciler.dialects.karmada.api.quota.quota import Quota, resource_quota
from reconciler.dialects.karmada.api.work.hub_marks import NO_MARKS
from reconciler.dialects.karmada.binding.work_marks import (
    OPEN_ID,
    at_cluster,
    marked,
    marked_at,
    name_of,
    with_managed_lists,
    work_of,
)
from reconciler.dialects.renderer import ClusterWork
from reconciler.dialects.work_spec import fill_work
from reconciler.model.identity import ClusterName

NAMESPACE, NAME = (f"federatedresourcequota.karmada.io/{part}" for part in ("namespace", "name"))
"""Source: karmada@f8fdd02 pkg/util/constants.go `FederatedResourceQuotaNamespaceLabel`,
`FederatedResourceQuotaNameLabel`.
"""


def assigned(quota: Quota, fleet: Iterable[ClusterName]) -> list[ClusterName]:
    """Return the clusters that get a ResourceQuota of a quota, by name: those that there are.

    Source: karmada@f8fdd02 `FederatedResourceQuotaSpec.staticAssignments`: clusters that are not
    listed have none.
    """
    return sorted(quota.assignments.keys() & set(fleet))


def render_quota(quota: Quota, fleet: Iterable[ClusterName]) -> Iterator[ClusterWork]:
    """Yield what each cluster gets of a quota; overrides do not change it.

    Source: karmada@f8fdd02 pkg/controllers/federatedresourcequota
    federated_resource_quota_sync_controller.go `buildWorks`.
    """
    labels = {**OPEN_ID, NAMESPACE: quota.key.namespace, NAME: quota.key.name}
    for cluster in assigned(quota, fleet):
        body = resource_quota(quota, cluster)
        name = name_of(body)
        work_id = NO_MARKS.work_id(cluster, name)
        manifest = with_managed_lists(marked(body, OPEN_ID, {}))
        yield ClusterWork(
            cluster=cluster,
            carrier=at_cluster(work_of(body, labels, None), cluster, work_id),
            fill=fill_work,
            manifests={quota.copy: marked_at(manifest, cluster, work_id)},
        )
