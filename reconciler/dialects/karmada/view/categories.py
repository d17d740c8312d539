"""The category of kinds that kubectl has of Karmada: `get karmada-io`."""

from collections.abc import Mapping

from reconciler.dialects.karmada.api.groups import CONFIG_GROUP, POLICY_GROUP, WORK_GROUP
from reconciler.model.known_kinds import Kind
from reconciler.rebalance.kinds import TRIGGER

CATEGORIES: Mapping[str, frozenset[Kind]] = {
    "karmada-io": frozenset(
        (group, kind)
        for group, kinds in {
            "autoscaling.karmada.io": ("CronFederatedHPA", "FederatedHPA"),
            CONFIG_GROUP: (
                "ResourceInterpreterCustomization",
                "ResourceInterpreterWebhookConfiguration",
            ),
            "networking.karmada.io": ("MultiClusterIngress", "MultiClusterService"),
            POLICY_GROUP: (
                "ClusterOverridePolicy",
                "ClusterPropagationPolicy",
                "FederatedResourceQuota",
                "OverridePolicy",
                "PropagationPolicy",
                TRIGGER[1],
            ),
            "remedy.karmada.io": ("Remedy",),
            WORK_GROUP: ("ClusterResourceBinding", "ResourceBinding", "Work"),
        }.items()
        for kind in kinds
    )
}
"""Source: karmada@f8fdd02 charts/karmada/_crds/bases `spec.names.categories`; the kinds Cluster,
ClusterTaintPolicy and WorkloadRebalancer are in none; ScheduleTrigger is, in its proposal.
"""
