"""The status file of a FederatedResourceQuota."""

from collections.abc import Mapping
from dataclasses import dataclass

from reconciler.dialects.karmada.api.quota.quota import Limits, limits_of
from reconciler.model.body import Body
from reconciler.model.content import at
from reconciler.model.fields import bodies, mapping, text
from reconciler.model.identity import ClusterName, ObjectKey, uid_of
from reconciler.model.resources import readable_resources


@dataclass(frozen=True, slots=True)
class ClusterQuotaStatus:
    """What one cluster reports of its ResourceQuota: limits and what is used, as texts.

    Source: karmada@f8fdd02 pkg/apis/policy/v1alpha1/federatedresourcequota_types.go
    `ClusterQuotaStatus`.
    """

    cluster: ClusterName
    hard: Limits
    used: Limits


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaStatus:
    """The status of a quota: limits, what is used of them, and where, as texts.

    Source: karmada@f8fdd02 pkg/apis/policy/v1alpha1/federatedresourcequota_types.go
    `FederatedResourceQuotaStatus`.
    """

    overall: Limits
    used: Limits
    clusters: tuple[ClusterQuotaStatus, ...] = ()


def reported_quota(cluster: ClusterName, report: Body) -> ClusterQuotaStatus | None:
    """Return what a cluster reports of its ResourceQuota, `None` where that cannot be read."""
    status = at(report, "status")
    hard, used = (at(status, name) for name in ("hard", "used"))
    if any(part and readable_resources(part) is None for part in (hard, used)):
        return None
    return ClusterQuotaStatus(cluster, limits_of(hard), limits_of(used)) if status else None


def encode_quota_status(key: ObjectKey, api_version: str, status: QuotaStatus) -> Body:
    """Return the status file of a quota; what is empty is absent."""
    written: dict[str, object] = {
        "overall": dict(status.overall),
        "overallUsed": dict(status.used),
        "aggregatedStatus": [
            {"clusterName": one.cluster, **_amounts(hard=one.hard, used=one.used)}
            for one in status.clusters
        ],
    }
    return {
        "apiVersion": api_version,
        "kind": key.kind,
        "metadata": {"name": key.name, "namespace": key.namespace, "uid": uid_of(key)},
        "status": {name: value for name, value in written.items() if value},
    }


def decode_quota_status(manifest: Body) -> QuotaStatus:
    """Return the status that a manifest holds.

    Raises:
        UserError: A field has the wrong type.
    """
    status = mapping(manifest, "status")
    return QuotaStatus(
        overall=limits_of(mapping(status, "overall")),
        used=limits_of(mapping(status, "overallUsed")),
        clusters=tuple(
            ClusterQuotaStatus(
                ClusterName(text(one, "clusterName")),
                limits_of(mapping(one, "hard")),
                limits_of(mapping(one, "used")),
            )
            for one in bodies(status, "aggregatedStatus")
        ),
    )


def _amounts(**amounts: Mapping[str, str]) -> Body:
    return {name: dict(one) for name, one in amounts.items() if one}
