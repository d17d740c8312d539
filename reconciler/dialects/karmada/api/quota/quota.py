"""FederatedResourceQuota: what the workloads of a namespace may ask for over all clusters."""

from collections.abc import Mapping
from dataclasses import dataclass

from reconciler.dialects.karmada.api.groups import POLICY_GROUP
from reconciler.model.body import Body
from reconciler.model.fields import bodies, mapping, text
from reconciler.model.identity import ClusterName, ObjectKey
from reconciler.model.known_kinds import Kind
from reconciler.model.quantity import canonical_text
from reconciler.model.resources import Resources, decode_resources
from reconciler.model.world import Manifest

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
    for one in bodies(spec, "staticAssignments"):
        name = ClusterName(text(one, "clusterName"))
        assignments.setdefault(name, limits_of(mapping(one, "hard")))
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
