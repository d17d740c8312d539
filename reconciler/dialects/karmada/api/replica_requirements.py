"""What one replica of a workload requires: the resources and the nodes of its pod.

Content that is not as Kubernetes would have it counts as absent: it is the member cluster's to
judge.
"""

from collections.abc import Mapping
from typing import NamedTuple

from reconciler.dialects.karmada.api.custom_kinds import MOST_REPLICAS
from reconciler.dialects.karmada.api.node_claim import node_claim_of
from reconciler.model.body import Body
from reconciler.model.quantity import Quantity
from reconciler.schedule.capacity.pod_requests import canonical_amount, pod_request


class ReplicaRequirements(NamedTuple):
    """Replicas of a workload and the `replicaRequirements` of each, `None` if there are none."""

    replicas: int
    requirements: Body | None


def pod_requirements(pod: Body) -> Body | None:
    """Return what one pod requires, `None` if nothing."""
    return requirements_of(pod, pod_request(pod))


def requirements_of(pod: Body, request: Mapping[str, Quantity]) -> Body | None:
    """Return what one replica requires, `None` if nothing.

    Args:
        pod: Says on which nodes.
        request: Of resources, by name.

    Source: karmada@f8fdd02 pkg/util/helper/binding.go `GenerateReplicaRequirements`.
    """
    requirements: dict[str, object] = {}
    claim = node_claim_of(pod)
    if claim:
        requirements["nodeClaim"] = claim
    wanted = {
        name: canonical_amount(name, request[name]) for name in sorted(request) if request[name] > 0
    }
    if wanted:
        requirements["resourceRequest"] = wanted
    return requirements or None


def count_of(value: object) -> int:
    """Return a number of replicas; what no API server would admit counts 0."""
    if isinstance(value, bool) or not isinstance(value, int):
        return 0
    return value if 0 <= value <= MOST_REPLICAS else 0
