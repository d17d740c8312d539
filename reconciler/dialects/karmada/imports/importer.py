"""Which objects of a Karmada control plane become files, and what of them counts."""

from reconciler.dialects.importer import ImportedKind, Importer
from reconciler.dialects.karmada.api.groups import CLUSTER, POLICY_GROUP, WORK_GROUP
from reconciler.dialects.karmada.imports.adopt import adopt
from reconciler.dialects.karmada.imports.nodes import with_nodes
from reconciler.dialects.karmada.imports.propagated import is_reserved, propagated_in
from reconciler.dialects.karmada.imports.switch import SWITCH
from reconciler.dialects.karmada.imports.works import WORK_REPORT

SUMMARY = "status.resourceSummary"

IMPORTER = Importer(
    kinds={
        CLUSTER: ImportedKind(
            folder="clusters",
            status=("apiEnablements", "conditions", "resourceSummary"),
            # How its own control plane reaches a cluster; nothing is decided by it.
            dropped=tuple(
                f"spec.{field}"
                for field in (
                    "id",
                    "impersonatorSecretRef",
                    "insecureSkipTLSVerification",
                    "proxyHeader",
                    "proxyURL",
                    "secretRef",
                )
            ),
            measured=tuple(
                f"{SUMMARY}.{field}" for field in ("allocatable", "allocated", "allocating")
            ),
        ),
        **{
            (POLICY_GROUP, kind): ImportedKind(folder="policies")
            for kind in (
                "ClusterOverridePolicy",
                "ClusterPropagationPolicy",
                "FederatedResourceQuota",
                "OverridePolicy",
                "PropagationPolicy",
            )
        },
    },
    server_made=(
        "propagationpolicy.karmada.io/",
        "clusterpropagationpolicy.karmada.io/",
        "work.karmada.io/",
        "resourcebinding.karmada.io/",
        "resourcetemplate.karmada.io/",
    ),
    adopt=adopt,
    live=((WORK_GROUP, "ClusterResourceBinding"), (WORK_GROUP, "ResourceBinding")),
    reports={(WORK_GROUP, "Work"): WORK_REPORT},
    propagated=propagated_in,
    is_reserved=is_reserved,
    with_nodes=with_nodes,
    switch=SWITCH,
)
