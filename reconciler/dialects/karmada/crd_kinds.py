"""The kinds of the CRDs of Karmada f8fdd02; written by `make schemas`."""

from collections.abc import Mapping

CRD_KINDS: Mapping[str, tuple[str, ...]] = {
    "apps.karmada.io": ("WorkloadRebalancer",),
    "autoscaling.karmada.io": (
        "CronFederatedHPA",
        "FederatedHPA",
    ),
    "config.karmada.io": (
        "ResourceInterpreterCustomization",
        "ResourceInterpreterWebhookConfiguration",
    ),
    "multicluster.x-k8s.io": (
        "ServiceExport",
        "ServiceImport",
    ),
    "networking.karmada.io": (
        "MultiClusterIngress",
        "MultiClusterService",
    ),
    "policy.karmada.io": (
        "ClusterOverridePolicy",
        "ClusterPropagationPolicy",
        "ClusterTaintPolicy",
        "FederatedResourceQuota",
        "OverridePolicy",
        "PropagationPolicy",
    ),
    "remedy.karmada.io": ("Remedy",),
    "work.karmada.io": (
        "ClusterResourceBinding",
        "ResourceBinding",
        "Work",
    ),
}
"""Group to kinds."""
