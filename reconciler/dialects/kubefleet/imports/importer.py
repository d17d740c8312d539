"""Which objects of a KubeFleet hub become files, and what of them counts."""

from reconciler.dialects.importer import ImportedKind, Importer
from reconciler.dialects.kubefleet.api.groups import CLUSTER
from reconciler.dialects.kubefleet.api.kinds import OWNED, SCOPES
from reconciler.dialects.kubefleet.api.names import GROUP
from reconciler.dialects.kubefleet.eviction.judgement import BUDGET, EVICTION
from reconciler.dialects.kubefleet.imports.adopt import adopt
from reconciler.dialects.kubefleet.imports.propagated import is_reserved, propagated_in
from reconciler.dialects.kubefleet.imports.switch import SWITCH
from reconciler.dialects.kubefleet.imports.works import WORK_REPORT
from reconciler.dialects.kubefleet.rollout.work_table import WORK
from reconciler.dialects.kubefleet.snapshots.propagated_resources import ENVELOPES

ONCE = (EVICTION, *(kind for scope in SCOPES for kind in (scope.run, scope.approval_request)))
IMPORTER = Importer(
    kinds={
        CLUSTER: ImportedKind(
            folder="clusters",
            status=("agentStatus", "conditions", "namespaces", "properties", "resourceUsage"),
            heartbeats=(
                "status.agentStatus.*.lastReceivedHeartbeat",
                "status.properties.*.observationTime",
                "status.resourceUsage.observationTime",
            ),
            measured=(
                "status.properties.*",
                "status.resourceUsage.allocatable",
                "status.resourceUsage.available",
                "status.resourceUsage.capacity",
            ),
        ),
        **{
            (GROUP, kind): ImportedKind(folder="placements")
            for kind in ("ClusterResourcePlacement", "ResourcePlacement")
        },
        **{
            (GROUP, kind): ImportedKind(folder="policies")
            for kind in (
                BUDGET,
                "ClusterResourceOverride",
                "ResourceOverride",
                *(scope.update_strategy for scope in SCOPES),
            )
        },
        **{kind: ImportedKind(folder="workloads") for kind in ENVELOPES},
    },
    server_made=("kubernetes-fleet.io/",),
    adopt=adopt,
    once=frozenset((GROUP, kind) for kind in ONCE),
    reports={(GROUP, WORK): WORK_REPORT},
    propagated=propagated_in,
    is_reserved=is_reserved,
    live=tuple((GROUP, kind) for kind in sorted(OWNED)),
    switch=SWITCH,
)
