"""Groups, kinds, labels, annotations and words by which KubeFleet's objects know each other.

No other file spells the API groups of KubeFleet, or its kinds of clusters and runs.

Source: kubefleet@e160c1c apis/placement/v1beta1/commons.go, and beside it binding_types.go,
policysnapshot_types.go, resourcesnapshot_types.go.

Placements of the whole fleet and those of one namespace are one API with two names for everything;
what differs is here, and in the rules that ask for the namespace.

Source: kubefleet@e160c1c apis/placement/v1beta1, `PlacementObj`, `BindingObj`,
`PolicySnapshotObj`, `ResourceSnapshotObj` and what implements them.

JSON is spelled as Go writes it, since KubeFleet's hashes are taken of such text. What KubeFleet
calls unexpected behaviour is an input that it never retries.
"""

import hashlib
import json
from collections.abc import Mapping

from reconciler.errors import UserError
from reconciler.model.identity import ObjectKey
from reconciler.model.kinds import Kind
from reconciler.model.records import dataclass

CLUSTER_GROUP = "cluster.kubernetes-fleet.io"
PLACEMENT_GROUP = "placement.kubernetes-fleet.io"

CLUSTER: Kind = (CLUSTER_GROUP, "MemberCluster")

RUNS: frozenset[Kind] = frozenset(
    {(PLACEMENT_GROUP, "ClusterStagedUpdateRun"), (PLACEMENT_GROUP, "StagedUpdateRun")}
)
"""Kinds of what rolls a placement out in stages."""
STRATEGIES: frozenset[Kind] = frozenset(
    {(PLACEMENT_GROUP, "ClusterStagedUpdateStrategy"), (PLACEMENT_GROUP, "StagedUpdateStrategy")}
)
"""Kinds of what says in which stages."""


API_VERSION = "placement.kubernetes-fleet.io/v1beta1"

PARENT = "kubernetes-fleet.io/parent-CRP"
IS_LATEST = "kubernetes-fleet.io/is-latest-snapshot"
POLICY_INDEX = "kubernetes-fleet.io/policy-index"
RESOURCE_INDEX = "kubernetes-fleet.io/resource-index"

CRP_GENERATION = "kubernetes-fleet.io/CRP-generation"
NUMBER_OF_CLUSTERS = "kubernetes-fleet.io/number-of-clusters"
PREVIOUS_STATE = "kubernetes-fleet.io/previous-binding-state"
RESOURCE_HASH = "kubernetes-fleet.io/resource-hash"
NUMBER_OF_SNAPSHOTS = "kubernetes-fleet.io/number-of-resource-snapshots"
NUMBER_OF_ENVELOPES = "kubernetes-fleet.io/number-of-enveloped-object"
SUBINDEX = "kubernetes-fleet.io/subindex-of-resource-snapshot"
CANDIDATE_SEEN_AT = "kubernetes-fleet.io/next-resource-snapshot-candidate-detection-time"

SCHEDULER_FINALIZER = "kubernetes-fleet.io/scheduler-crb-cleanup"
RESOURCE_PROPERTY_PREFIX = "resources.kubernetes-fleet.io/"

VERSIONS = "reconciler.dev/overrides"
"""Annotation of a run, and of a binding that one brought up to date, as a note: path and git blob
of each override that it lists, by the name of its snapshot."""
SCHEDULED = "Scheduled"
BOUND = "Bound"
UNSCHEDULED = "Unscheduled"

SCHEDULED_CONDITION = "Scheduled"
AVAILABLE = "Available"
DIFF_REPORTED = "DiffReported"

MEMBER_AGENT = "MemberAgent"
NAMESPACE: Kind = ("", "Namespace")
WITH_SELECTORS = "NamespaceWithResourceSelectors"
NAMESPACE_ACCESSIBLE = "NamespaceAccessible"


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
    return ObjectKey(PLACEMENT_GROUP, kinds_in(namespace).placement, namespace, name)


def is_placement(key: ObjectKey) -> bool:
    """Return whether an object is a placement of either scope."""
    return key.group == PLACEMENT_GROUP and key.kind in PLACEMENTS


def subject_of(key: ObjectKey) -> str:
    """Return how a placement is called in texts, which is also upstream's key of it.

    >>> subject_of(placement_key("", "web")), subject_of(placement_key("shop", "web"))
    ('web', 'shop/web')
    """
    return f"{key.namespace}/{key.name}" if key.namespace else key.name


def named_in(namespace: str, name: str) -> dict[str, str]:
    """Return the identity in the metadata of an object; a cluster-scoped one has no namespace."""
    return {"name": name, **({"namespace": namespace} if namespace else {})}


_ESCAPES = str.maketrans(
    {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
)


def go_json(value: object) -> str:
    r"""Return a decoded value as Go's `json.Marshal` writes it, keys in the order given.

    >>> go_json({"b": "<é>", "a": [1, True, None]})
    '{"b":"\\u003cé\\u003e","a":[1,true,null]}'

    Source: Go src/encoding/json/encode.go `appendString` and indent.go `appendCompact`.
    """
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).translate(_ESCAPES)


def sorted_keys(value: object) -> object:
    """Return a decoded value with the keys of all mappings sorted, as Go writes its maps."""
    if isinstance(value, Mapping):
        return {key: sorted_keys(value[key]) for key in sorted(value)}
    if isinstance(value, list | tuple):
        return [sorted_keys(item) for item in value]
    return value


def hash_of(text: str) -> str:
    """Return the hex digest by which snapshots are compared.

    Source: kubefleet@e160c1c pkg/utils/resource/resource.go `HashOf`.
    """
    return hashlib.sha256(text.encode()).hexdigest()


class UnexpectedBehavior(UserError):
    """The scheduler, a snapshot or the rollout cannot go on until a person edits something.

    Source: kubefleet@e160c1c pkg/utils/controller/controller.go `NewUnexpectedBehaviorError`.
    """


class UpstreamCrash(UnexpectedBehavior):
    """An input past the schema, of which upstream's scheduler crashes; defaults prevent it."""


def as_count(text: str | None, what: str) -> int:
    """Return the number that an annotation or label holds, zero or more.

    Args:
        text: Its value, `None` where it is missing.
        what: Its name, for the message.

    Raises:
        UnexpectedBehavior: It is missing, not an integer, or negative.

    Source: kubefleet@e160c1c pkg/utils/annotations/annotations.go `extractIntegerFrom...`.
    """
    if text is None:
        raise UnexpectedBehavior(f"cannot find annotation {what}")
    number = as_integer(text)
    if number is None or number < 0:
        raise UnexpectedBehavior(f'"{text}" of {what} must be an integer of zero or more')
    return number


def as_integer(text: str) -> int | None:
    """Return the integer that a text names by Go's rules, `None` if it names none.

    >>> as_integer("+7"), as_integer("7.0"), as_integer("1_0")
    (7, None, None)

    Source: Go src/strconv/atoi.go `Atoi`.
    """
    digits = text[1:] if text[:1] in ("+", "-") else text
    if not (digits.isascii() and digits.isdigit()):
        return None
    number = int(text)
    return number if -(2**63) <= number < 2**63 else None


PLACES_BY: Mapping[Kind, tuple[tuple[str, ...], ...]] = {
    CLUSTER: (("metadata", "labels"),),
    (PLACEMENT_GROUP, "ClusterResourcePlacement"): (("spec", "policy"),),
    (PLACEMENT_GROUP, "ResourcePlacement"): (("spec", "policy"),),
}
"""Kind to the fields by which people say where something goes, and by which clusters are chosen."""
