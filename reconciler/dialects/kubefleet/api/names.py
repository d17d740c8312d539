"""Labels, annotations, finalizers and words by which KubeFleet's objects know each other.

Source: kubefleet@e160c1c apis/placement/v1beta1/commons.go, and beside it binding_types.go,
policysnapshot_types.go, resourcesnapshot_types.go.
"""

from reconciler.dialects.kubefleet.api.groups import PLACEMENT_GROUP
from reconciler.model.known_kinds import Kind

GROUP = PLACEMENT_GROUP
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
