"""The columns of clusters, placements, runs, bindings and snapshots."""

from collections.abc import Callable, Iterator
from functools import partial

from reconciler.dialects.kubefleet.api.binding import decode_binding, state_of, target_of
from reconciler.dialects.kubefleet.api.groups import CLUSTER
from reconciler.dialects.kubefleet.api.kinds import SCOPES, PlacementKinds
from reconciler.dialects.kubefleet.api.names import GROUP, MEMBER_AGENT, PARENT
from reconciler.dialects.kubefleet.api.placement_status import decode_placement_status
from reconciler.dialects.kubefleet.api.policy import PICK_ALL
from reconciler.dialects.kubefleet.api.strategy import waits_for_runs
from reconciler.dialects.kubefleet.eviction.judgement import EVICTION
from reconciler.manifests.columns import (
    FILE,
    NONE,
    Columns,
    ColumnTable,
    Row,
    age,
    condition,
    if_reported,
    label,
    or_assumed,
    printed,
    printed_age,
    spec_of,
    status_of,
    taints,
)
from reconciler.model.availability import ASSUMED
from reconciler.model.fields import bodies, mapping, text
from reconciler.model.known_kinds import Kind

USAGE = ".status.resourceUsage"


def _joined(row: Row) -> str:
    """Return what the agent says, or else the condition of the cluster that upstream prints."""
    agents = [a for a in bodies(status_of(row), "agentStatus") if text(a, "type") == MEMBER_AGENT]
    conditions = [condition for agent in agents for condition in bodies(agent, "conditions")]
    found = (text(item, "status") for item in conditions if text(item, "type") == "Joined")
    return next(found, NONE)


def _type(row: Row) -> str:
    return text(mapping(spec_of(row), "policy"), "placementType") or PICK_ALL


def _available(overall: Callable[[Row], str], row: Row) -> str:
    """Return whether a placement is available, and that this is only assumed of a cluster."""
    entries = decode_placement_status(row.body).clusters or ()
    reasons = (text(one, "reason") for entry in entries for one in entry.conditions)
    found = overall(row)
    return ASSUMED if found == "True" and any(ASSUMED in reason for reason in reasons) else found


def _reason(scheduled: Callable[[Row], str], run: str, row: Row) -> str:
    """Return why a placement is scheduled or not, and whether it is rolled out by runs only."""
    found = scheduled(row)
    return f"{found}; rolled out by a {run}" if waits_for_runs(row.body) else found


_SNAPSHOT: Columns = (
    (("GEN", printed(".metadata.generation")), ("PLACEMENT", label(PARENT)), ("AGE", age)),
    (FILE,),
)
_RUN: Columns = (
    (
        ("PLACEMENT", printed(".spec.placementName")),
        ("RESOURCE-SNAPSHOT-INDEX", printed(".spec.resourceSnapshotIndex")),
        ("POLICY-SNAPSHOT-INDEX", printed(".status.policySnapshotIndexUsed")),
        ("INITIALIZED", condition("Initialized")),
        ("PROGRESSING", condition("Progressing")),
        ("SUCCEEDED", condition("Succeeded")),
        ("AGE", age),
    ),
    (
        ("STRATEGY", printed(".spec.stagedRolloutStrategyName")),
        ("REASON", condition("Progressing", "message")),
    ),
)
_STRATEGY: Columns = ((("STAGES", printed(".spec.stages[*].name")),), (FILE,))
_REQUEST: Columns = (
    (
        ("UPDATE-RUN", printed(".spec.parentStageRollout")),
        ("STAGE", printed(".spec.targetStage")),
        ("APPROVED", condition("Approved")),
        ("AGE", age),
    ),
    (("ACCEPTED", condition("ApprovalAccepted")), FILE),
)
_BINDING: Columns = (
    (
        ("CLUSTER", lambda row: target_of(row.body) or NONE),
        ("STATE", lambda row: state_of(row.body) or NONE),
        ("PLACEMENT", label(PARENT)),
        ("WORKSYNCHRONIZED", condition("WorkSynchronized")),
        ("RESOURCESAPPLIED", or_assumed("Applied")),
        ("AGE", age),
    ),
    (
        ("RESOURCEAVAILABLE", or_assumed("Available")),
        ("REASON", lambda row: decode_binding(row.body).decision.reason or NONE),
    ),
)


def _of_scope(kinds: PlacementKinds) -> Iterator[tuple[Kind, Columns]]:
    """Yield the columns of the kinds of one scope."""
    scheduled, synchronized, available = (
        f"{kinds.placement}{stage}" for stage in ("Scheduled", "WorkSynchronized", "Available")
    )
    yield (
        (GROUP, kinds.placement),
        (
            (
                ("GEN", printed(".metadata.generation")),
                ("TYPE", _type),
                ("SCHEDULED", condition(scheduled)),
                ("SCHEDULED-GEN", condition(scheduled, "observedGeneration")),
                ("AVAILABLE", partial(_available, condition(available))),
                ("AVAILABLE-GEN", condition(available, "observedGeneration")),
                ("AGE", age),
            ),
            (
                ("WORK-SYNCHRONIZED", condition(synchronized)),
                ("WORK-SYNCHRONIZED-GEN", condition(synchronized, "observedGeneration")),
                ("REASON", partial(_reason, condition(scheduled, "message"), kinds.run)),
            ),
        ),
    )
    yield (GROUP, kinds.run), _RUN
    yield (GROUP, kinds.update_strategy), _STRATEGY
    yield (GROUP, kinds.approval_request), _REQUEST
    yield (GROUP, kinds.binding), _BINDING
    yield (GROUP, kinds.policy_snapshot), _SNAPSHOT
    yield (GROUP, kinds.resource_snapshot), _SNAPSHOT


COLUMNS: ColumnTable = {
    CLUSTER: (
        (
            ("JOINED", if_reported(_joined)),
            ("AGE", age),
            (
                "MEMBER-AGENT-LAST-SEEN",
                printed_age(
                    f'.status.agentStatus[?(@.type=="{MEMBER_AGENT}")].lastReceivedHeartbeat'
                ),
            ),
            ("NODE-COUNT", printed(r".status.properties.kubernetes-fleet\.io/node-count.value")),
            ("AVAILABLE-CPU", printed(f"{USAGE}.available.cpu")),
            ("AVAILABLE-MEMORY", printed(f"{USAGE}.available.memory")),
            ("TAINTS", taints),
        ),
        (
            ("ALLOCATABLE-CPU", printed(f"{USAGE}.allocatable.cpu")),
            ("ALLOCATABLE-MEMORY", printed(f"{USAGE}.allocatable.memory")),
            FILE,
        ),
    ),
    (GROUP, EVICTION): (
        (("VALID", condition("Valid")), ("EXECUTED", condition("Executed"))),
        (
            ("PLACEMENT", printed(".spec.placementName")),
            ("CLUSTER", printed(".spec.clusterName")),
            ("REASON", condition("Executed", "message")),
        ),
    ),
    **{key: columns for kinds in SCOPES for key, columns in _of_scope(kinds)},
}
"""By kind."""
