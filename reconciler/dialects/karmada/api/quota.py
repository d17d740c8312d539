"""FederatedResourceQuota: what the workloads of a namespace may ask for over all clusters.

The file has what the validating webhook refuses, the decoded quota with its static assignments, and
the status file with what is used.
"""

from collections.abc import Iterator, Mapping

from reconciler.dialects.karmada.api.cluster_admission import MAX_NAME
from reconciler.dialects.karmada.api.names import POLICY_GROUP
from reconciler.manifests.schemas.violations import Violation, pointer_of
from reconciler.model.body import Body
from reconciler.model.fields import at, bodies, mapping, text
from reconciler.model.identity import ClusterName, ObjectKey, uid_of
from reconciler.model.kinds import Kind
from reconciler.model.labels import is_label_key
from reconciler.model.quantity import (
    NANOS,
    Quantity,
    Resources,
    canonical_text,
    decode_resources,
    parse_quantity,
    readable_resources,
)
from reconciler.model.records import dataclass
from reconciler.model.text import LONGEST_LABEL, is_label, shown
from reconciler.model.world import Manifest
from reconciler.schedule.pods import is_extended

COUNTED = frozenset(
    {
        "configmaps",
        "persistentvolumeclaims",
        "pods",
        "replicationcontrollers",
        "resourcequotas",
        "secrets",
        "services",
        "services.loadbalancers",
        "services.nodeports",
    }
)
"""Source: karmada@f8fdd02 pkg/util/lifted/corev1helpers.go `integerResources`."""
MEASURED = frozenset({"cpu", "memory", "ephemeral-storage", "requests.storage"})
STANDARD = (
    COUNTED
    | MEASURED
    | {f"{side}.{name}" for side in ("limits", "requests") for name in MEASURED if "." not in name}
)
"""Source: karmada@f8fdd02 pkg/util/lifted/corev1helpers.go `standardQuotaResources`."""
SIDES = ("limits.", "requests.")
HUGE_PAGES = ("hugepages-", "requests.hugepages-")


def refuse_quota(body: Body) -> tuple[Violation, ...]:
    """Return what is wrong with a quota that its schema accepts.

    Its status is not looked at: a pass writes it.

    Source: karmada@f8fdd02 pkg/webhook/federatedresourcequota/validating.go
    `validateFederatedResourceQuota`.
    """
    spec = mapping(body, "spec")
    overall, assignments = mapping(spec, "overall"), bodies(spec, "staticAssignments")
    at = "/spec/staticAssignments"
    return (
        *_name(text(mapping(body, "metadata"), "name")),
        *_resources(overall, "/spec/overall"),
        *(one for n, part in enumerate(assignments) for one in _assignment(part, f"{at}/{n}")),
        *_sums(overall, assignments),
        *(
            one
            for n, part in enumerate(assignments)
            for one in _unlimited(mapping(part, "hard"), overall, f"{at}/{n}/hard")
        ),
    )


def _name(name: str) -> Iterator[Violation]:
    """The name is the value of a label on what clusters get."""
    if len(name) > LONGEST_LABEL:
        yield Violation(
            "/metadata/name",
            "quota-name",
            f"the name {shown(name)} must fit into a label",
            f"at most {LONGEST_LABEL} characters",
        )


def _assignment(body: Body, at: str) -> Iterator[Violation]:
    name = text(body, "clusterName")
    if not is_label(name) or len(name) > MAX_NAME:
        yield Violation(
            f"{at}/clusterName",
            "quota-cluster",
            f"the name {shown(name)} must be one that a cluster can have",
            f"lower-case letters, digits and '-', at most {MAX_NAME} characters",
        )
    yield from _resources(mapping(body, "hard"), f"{at}/hard")


def _resources(amounts: Body, at: str) -> Iterator[Violation]:
    """Each resource is one that a quota can limit, and each amount one that there can be.

    Source: karmada@f8fdd02 pkg/util/lifted/validateresourcequota.go
    `ValidateResourceQuotaResourceName`, `ValidateResourceQuantityValue`.
    """
    for name, amount in sorted(_decode_amounts(amounts).items()):
        where = f"{at}{pointer_of([name])}"
        if not _is_limitable(name):
            yield Violation(
                where,
                "quota-resource",
                f"the resource {shown(name)} must be one that a quota can limit",
                "cpu, memory, requests.storage, pods, or a name with a domain",
            )
        if amount < 0 or (_is_counted(name) and amount % NANOS):
            kind = "a whole number" if _is_counted(name) else "an amount"
            yield Violation(
                where,
                "quota-amount",
                f"the limit of {shown(name)} must be {kind}, and not negative",
                "10" if _is_counted(name) else "10, 500m or 2Gi",
            )


def _sums(overall: Body, assignments: tuple[Body, ...]) -> Iterator[Violation]:
    """What single clusters may use together stays within what all may.

    Source: karmada@f8fdd02 pkg/webhook/federatedresourcequota/validating.go
    `validateOverallAndAssignments`.
    """
    parts = [_decode_amounts(mapping(one, "hard")) for one in assignments]
    for name, limit in sorted(_decode_amounts(overall).items()):
        if limit < sum(part.get(name, 0) for part in parts):
            yield Violation(
                f"/spec/overall{pointer_of([name])}",
                "quota-assigned",
                f"the limit of {shown(name)} must be as much as `staticAssignments` give together",
                "a greater limit, or smaller assignments",
            )


def _unlimited(hard: Body, overall: Body, at: str) -> Iterator[Violation]:
    for name in sorted(hard):
        if name not in overall:
            yield Violation(
                f"{at}{pointer_of([name])}",
                "quota-assigned",
                f"the resource {shown(name)} must have a limit in `overall`, too",
                f"{shown(name)} in /spec/overall, or not here",
            )


def _decode_amounts(body: Body) -> Mapping[str, Quantity]:
    return {name: parse_quantity(str(amount)) for name, amount in body.items()}


def is_enforced(name: str) -> bool:
    """Return whether a limit is ever compared with what workloads ask for.

    What one replica asks for is what its containers request, under the names that they have there:
    no limit of containers, no count of objects, and nothing under a name that begins `requests.`.

    Source: karmada@f8fdd02 pkg/webhook/resourcebinding/validating.go `calculateResourceUsage`.
    """
    return name not in COUNTED and not name.startswith(SIDES)


def _is_limitable(name: str) -> bool:
    if "/" in name:
        return is_label_key(name)
    return name in STANDARD or (name.startswith(HUGE_PAGES) and is_label_key(name))


def _is_counted(name: str) -> bool:
    """Return whether only whole numbers of a resource make sense.

    Source: karmada@f8fdd02 pkg/util/lifted/corev1helpers.go `IsIntegerResourceName`,
    `IsExtendedResourceName`.
    """
    if name in COUNTED:
        return True
    return is_extended(name) and is_label_key(f"requests.{name}")


QUOTA: Kind = (POLICY_GROUP, "FederatedResourceQuota")
RESOURCE_QUOTA: Kind = ("", "ResourceQuota")
"""What clusters enforce of it."""

Limits = Mapping[str, str]
"""Resource to the canonical text of its limit, by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Quota:
    """A quota as its controllers read it.

    Attributes:
        key: Its own.
        overall: What all clusters may have together, by resource.
        limits: The same as texts.
        assignments: What single clusters may have, as texts; the first of several of one counts.

    Source: karmada@f8fdd02 pkg/apis/policy/v1alpha1/federatedresourcequota_types.go
    `FederatedResourceQuotaSpec`, and pkg/controllers/federatedresourcequota
    `extractClusterHardResourceList`.
    """

    key: ObjectKey
    overall: Resources
    limits: Limits
    assignments: Mapping[ClusterName, Limits]

    @property
    def copy(self) -> ObjectKey:
        """The ResourceQuota that it becomes in a cluster."""
        return ObjectKey(*RESOURCE_QUOTA, self.key.namespace, self.key.name)


def decode_quota(manifest: Manifest) -> Quota:
    """Return the quota that a manifest holds.

    Raises:
        UserError: A limit is no quantity.
    """
    spec = mapping(manifest.body, "spec")
    overall = mapping(spec, "overall")
    assignments: dict[ClusterName, Limits] = {}
    for assignment in bodies(spec, "staticAssignments"):
        name = ClusterName(text(assignment, "clusterName"))
        assignments.setdefault(name, limits_of(mapping(assignment, "hard")))
    return Quota(
        key=manifest.key,
        overall=decode_resources(overall),
        limits=limits_of(overall),
        assignments=assignments,
    )


def decode_assigned(spec: Body) -> tuple[str, ...]:
    """Return the clusters that the static assignments of a spec name, in their order."""
    return tuple(text(one, "clusterName") for one in bodies(spec, "staticAssignments"))


def resource_quota(quota: Quota, cluster: ClusterName) -> Body:
    """Return what a cluster enforces of a quota."""
    return {
        "apiVersion": "v1",
        "kind": quota.copy.kind,
        "metadata": {"name": quota.key.name, "namespace": quota.key.namespace},
        "spec": {"hard": dict(quota.assignments[cluster])},
    }


def limits_of(amounts: Body) -> Limits:
    """Return amounts as an API server prints them, by name."""
    return {name: canonical_text(str(amounts[name])) for name in sorted(amounts)}


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
            {"clusterName": one.cluster, **_encode_amounts(hard=one.hard, used=one.used)}
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


def _encode_amounts(**amounts: Mapping[str, str]) -> Body:
    return {name: dict(one) for name, one in amounts.items() if one}
