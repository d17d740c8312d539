"""The kinds of KubeFleet's placements: those of the whole fleet, and those of one namespace.

Both scopes are one API with two names for everything; what differs is here, and in the rules that
ask for the namespace.

Source: kubefleet@e160c1c apis/placement/v1beta1, `PlacementObj`, `BindingObj`,
`PolicySnapshotObj`, `ResourceSnapshotObj` and what implements them.
"""

from dataclasses import dataclass

from reconciler.dialects.kubefleet.api.names import GROUP
from reconciler.model.identity import ObjectKey


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacementKinds:
    """The kinds of one scope.

    Attributes:
        placement: What people write.
        binding: One cluster of a placement.
        policy_snapshot: A frozen policy, and what was decided by it.
        resource_snapshot: Frozen resources, or a part of them.
        run: Rolls a placement out, where that waits for it.
        update_strategy: In which stages.
        approval_request: That a person lets a stage begin, or end.
    """

    placement: str
    binding: str
    policy_snapshot: str
    resource_snapshot: str
    run: str
    update_strategy: str
    approval_request: str

    @property
    def owned(self) -> tuple[str, ...]:
        """The kinds that a pass writes for a placement."""
        return self.binding, self.policy_snapshot, self.resource_snapshot


CLUSTER_SCOPED = PlacementKinds(
    placement="ClusterResourcePlacement",
    binding="ClusterResourceBinding",
    policy_snapshot="ClusterSchedulingPolicySnapshot",
    resource_snapshot="ClusterResourceSnapshot",
    run="ClusterStagedUpdateRun",
    update_strategy="ClusterStagedUpdateStrategy",
    approval_request="ClusterApprovalRequest",
)
NAMESPACED = PlacementKinds(
    placement="ResourcePlacement",
    binding="ResourceBinding",
    policy_snapshot="SchedulingPolicySnapshot",
    resource_snapshot="ResourceSnapshot",
    run="StagedUpdateRun",
    update_strategy="StagedUpdateStrategy",
    approval_request="ApprovalRequest",
)
SCOPES = (CLUSTER_SCOPED, NAMESPACED)

PLACEMENTS = frozenset(kinds.placement for kinds in SCOPES)
BINDINGS = frozenset(kinds.binding for kinds in SCOPES)
POLICY_SNAPSHOTS = frozenset(kinds.policy_snapshot for kinds in SCOPES)
RESOURCE_SNAPSHOTS = frozenset(kinds.resource_snapshot for kinds in SCOPES)
OWNED = BINDINGS | POLICY_SNAPSHOTS | RESOURCE_SNAPSHOTS


def kinds_in(namespace: str) -> PlacementKinds:
    """Return the kinds of the objects that stand in a namespace, `""` for in none.

    >>> kinds_in("").binding, kinds_in("shop").binding
    ('ClusterResourceBinding', 'ResourceBinding')
    """
    return NAMESPACED if namespace else CLUSTER_SCOPED


def placement_key(namespace: str, name: str) -> ObjectKey:
    """Return the key of a placement."""
    return ObjectKey(GROUP, kinds_in(namespace).placement, namespace, name)


def is_placement(key: ObjectKey) -> bool:
    """Return whether an object is a placement of either scope."""
    return key.group == GROUP and key.kind in PLACEMENTS


def subject_of(key: ObjectKey) -> str:
    """Return how a placement is called in texts, which is also upstream's key of it.

    >>> subject_of(placement_key("", "web")), subject_of(placement_key("shop", "web"))
    ('web', 'shop/web')
    """
    return f"{key.namespace}/{key.name}" if key.namespace else key.name


def named_in(namespace: str, name: str) -> dict[str, str]:
    """Return the identity in the metadata of an object; a cluster-scoped one has no namespace."""
    return {"name": name, **({"namespace": namespace} if namespace else {})}
