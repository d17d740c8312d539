"""The status of quotas: what is used of them, by decisions or by what clusters report."""

from collections.abc import Iterator, Mapping

from reconciler.dialects.copy_reports import CopyReports
from reconciler.dialects.karmada.api.quota.quota import Limits, Quota
from reconciler.dialects.karmada.api.quota.quota_status import (
    ClusterQuotaStatus,
    QuotaStatus,
    encode_quota_status,
    reported_quota,
)
from reconciler.model.body import Body
from reconciler.model.fields import text
from reconciler.model.identity import ObjectKey
from reconciler.model.quantity import Quantity, canonical_like, parse_quantity
from reconciler.model.resources import Resources
from reconciler.model.stamps import keep_present
from reconciler.model.world import World
from reconciler.schedule.capacity.pod_requests import canonical_amount


def quota_files(
    world: World,
    quotas: tuple[Quota, ...],
    used: Mapping[str, Resources] | None,
    copies: CopyReports,
    clusters: tuple[str, ...],
) -> Mapping[ObjectKey, Body]:
    """Return the status file of each quota.

    Args:
        world: That has them.
        quotas: All, sorted.
        used: Namespace to what its bindings use, `None` where quotas are not enforced.
        copies: What clusters report.
        clusters: All there are.
    """
    found: dict[ObjectKey, Body] = {}
    for quota in quotas:
        reported = tuple(_reported(quota, copies, clusters))
        status = QuotaStatus(
            overall=quota.limits,
            used=_sum_of(reported) if used is None else _used_of(quota, used),
            clusters=reported,
        )
        key, present = quota.key, world.outputs.get(quota.key)
        body = encode_quota_status(key, text(world.inputs[key].body, "apiVersion"), status)
        found[key] = keep_present(body, None if present is None else present.body)
    return found


def _reported(
    quota: Quota, copies: CopyReports, clusters: tuple[str, ...]
) -> Iterator[ClusterQuotaStatus]:
    """Yield what the clusters report that have a ResourceQuota of it, by name.

    Source: karmada@f8fdd02 pkg/controllers/federatedresourcequota
    federated_resource_quota_status_controller.go `aggregatedStatusFormWorks`.
    """
    there = set(clusters)
    for cluster in sorted(quota.assignments):
        report = copies.of(quota.copy, cluster) if cluster in there else None
        found = (
            None if report is None or not report.applied else reported_quota(cluster, report.body)
        )
        if found is not None:
            yield found


def _sum_of(reported: tuple[ClusterQuotaStatus, ...]) -> Limits:
    """Return what clusters use together, each sum in the format of the first cluster's amount.

    Source: karmada@f8fdd02 pkg/controllers/federatedresourcequota
    federated_resource_quota_status_controller.go `calculateUsed`.
    """
    sums: dict[str, tuple[Quantity, str]] = {}
    for one in reported:
        for name, amount in one.used.items():
            so_far, like = sums.get(name, (Quantity(0), amount))
            sums[name] = Quantity(so_far + parse_quantity(amount)), like
    return {name: canonical_like(*sums[name]) for name in sorted(sums)}


def _used_of(quota: Quota, used: Mapping[str, Resources]) -> Limits:
    """Return what bindings use of what a quota limits.

    Source: karmada@f8fdd02 pkg/controllers/federatedresourcequota
    federated_resource_quota_enforcement_controller.go `calculateUsedWithResourceBinding`,
    `filterResourceListByOverall`.
    """
    found = used.get(quota.key.namespace, {})
    return {
        name: canonical_amount(name, found[name]) for name in sorted(quota.overall) if name in found
    }
