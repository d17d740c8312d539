"""What a MemberCluster reports, and what it looks like cordoned and unreachable."""

from reconciler.dialects.cluster_report import (
    UNREACHED,
    ClusterReport,
    reported_status,
    reported_trouble,
    simulated_condition,
)
from reconciler.dialects.kubefleet.api.names import MEMBER_AGENT
from reconciler.model.body import Body
from reconciler.model.fields import bodies, mapping, text
from reconciler.model.resources import readable_resources

CORDON: Body = {"key": "cordon-key", "value": "cordon-value", "effect": "NoSchedule"}
"""Source: kubefleet@e160c1c tools/fleet/cmd/common/common.go CordonTaint."""

TAINT_EFFECTS = ("NoSchedule",)
"""Source: kubefleet@e160c1c apis/cluster/v1beta1/membercluster_types.go `Taint.Effect`."""


def report_of(status: Body) -> ClusterReport:
    """Return what a cluster reports; the health of its agent stands for its own.

    Source: kubefleet@e160c1c reports `available`.
    """
    conditions = [
        condition
        for agent in bodies(status, "agentStatus")
        if text(agent, "type") == MEMBER_AGENT
        for condition in bodies(agent, "conditions")
    ]
    usage = mapping(status, "resourceUsage")
    return ClusterReport(
        ready=reported_status(conditions, "Healthy"),
        capacity=readable_resources(mapping(usage, "allocatable")),
        free=readable_resources(mapping(usage, "available")),
        down=reported_trouble(conditions, "Healthy"),
    )


def unreachable(cluster: Body, moment: str) -> Body:
    """Return a cluster whose agent is silent and unhealthy since a moment."""
    status = mapping(cluster, "status")
    agent = {
        "type": MEMBER_AGENT,
        "conditions": [
            simulated_condition("Joined", "True", "it had joined", moment),
            simulated_condition("Healthy", "False", UNREACHED, moment),
        ],
        "lastReceivedHeartbeat": moment,
    }
    others = [one for one in bodies(status, "agentStatus") if text(one, "type") != MEMBER_AGENT]
    return {**cluster, "status": {**status, "agentStatus": [agent, *others]}}
