"""The columns of each kind in a table; a kind without columns of its own has its name and file."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from reconciler.model.fields import bodies, mapping, number, text
from reconciler.model.moments import parse_moment
from reconciler.model.world import Body

CLUSTER_SET = "cluster.open-cluster-management.io/clusterset"
PLACEMENT = "cluster.open-cluster-management.io/placement"
PARENT = "kubernetes-fleet.io/parent-CRP"


@dataclass(frozen=True, slots=True)
class Row:
    """An object to be shown: its body with status, the file it stands in, and the moment."""

    body: Body
    path: str
    now: datetime


Column = tuple[str, Callable[[Row], str]]
Columns = tuple[Sequence[Column], Sequence[Column]]


def columns_of(group: str, kind: str, *, wide: bool) -> Sequence[Column]:
    """Return the columns after NAMESPACE and NAME."""
    unknown: Columns = ((), (("FILE", lambda row: row.path),))
    from reconciler.core.dialects import KINDS

    known = group in KINDS.groups or (group, kind) in KINDS.scopes
    found = _COLUMNS.get(f"{kind}.{group}") or (_COLUMNS.get(kind) if known else None)
    narrow, more = found or unknown
    return (*narrow, *more) if wide else narrow


def _spec(row: Row) -> Body:
    return mapping(row.body, "spec")


def _status(row: Row) -> Body:
    return mapping(row.body, "status")


def _placed(row: Row) -> str:
    clusters = [
        f"{text(c, 'name')}({number(c, 'replicas')})" if c.get("replicas") else text(c, "name")
        for c in sorted(bodies(_spec(row), "clusters"), key=lambda c: text(c, "name"))
    ]
    return ", ".join(clusters) or "<none>"


def _leaving(row: Row) -> str:
    tasks = bodies(_spec(row), "gracefulEvictionTasks")
    return ", ".join(sorted(text(task, "fromCluster") for task in tasks)) or "<none>"


def _condition(kind: str, field: str) -> Callable[[Row], str]:
    def show(row: Row) -> str:
        for condition in bodies(_status(row), "conditions"):
            if condition.get("type") == kind:
                return text(condition, field) or "<none>"
        return "<none>"

    return show


def _group(row: Row) -> str:
    return text(_status(row), "schedulerObservingAffinityName") or "<none>"


def _policy(row: Row) -> str:
    notes = mapping(mapping(row.body, "metadata"), "annotations")
    local = text(notes, "propagationpolicy.karmada.io/name")
    return local or text(notes, "clusterpropagationpolicy.karmada.io/name") or "<none>"


def _ready(row: Row) -> str:
    return _condition("Ready", "status")(row) if _status(row) else "Declared"


def _taints(row: Row) -> str:
    return (
        ", ".join(
            f"{text(taint, 'key')}:{text(taint, 'effect')}"
            for taint in bodies(_spec(row), "taints")
        )
        or "<none>"
    )


def _zones(row: Row) -> str:
    zones = _spec(row).get("zones")
    return ", ".join(map(str, zones)) if isinstance(zones, list) and zones else "<none>"


def _selects(row: Row) -> str:
    shown = []
    for selector in bodies(_spec(row), "resourceSelectors"):
        name = text(selector, "name")
        shown.append(f"{text(selector, 'kind')}/{name}" if name else text(selector, "kind"))
    return ", ".join(shown)


def _strategy(row: Row) -> str:
    scheduling = mapping(mapping(_spec(row), "placement"), "replicaScheduling")
    if not scheduling:
        return "Duplicated"
    kind = text(scheduling, "replicaSchedulingType") or "Divided"
    preference = text(scheduling, "replicaDivisionPreference") or "Weighted"
    return f"{kind}/{preference}" if kind == "Divided" else kind


def _results(row: Row) -> str:
    observed = bodies(_status(row), "observedWorkloads")
    done = sum(1 for item in observed if item.get("result") == "Successful")
    named = bodies(_spec(row), "workloads")  # besides them a selector may have found others
    return f"{done}/{max(len(observed), len(named))}"


def _failed(row: Row) -> str:
    observed = bodies(_status(row), "observedWorkloads")
    return str(sum(1 for item in observed if item.get("result") == "Failed"))


def _finished(row: Row) -> str:
    return _ago(text(_status(row), "finishTime"), row.now)


def _age(row: Row) -> str:
    return _ago(text(mapping(row.body, "metadata"), "creationTimestamp"), row.now)


def _replicas(row: Row) -> str:
    spec = row.body.get("spec")  # of a workload: anything, for nobody has checked it
    replicas = spec.get("replicas") if isinstance(spec, Mapping) else None
    return str(replicas) if isinstance(replicas, int) else "<none>"


def _selected(row: Row) -> str:
    wanted = _spec(row).get("numberOfClusters")
    found = str(number(_status(row), "numberOfSelectedClusters"))
    return f"{found}/{wanted}" if isinstance(wanted, int) else found


def _decided(row: Row) -> str:
    decisions = bodies(_status(row), "decisions")
    return ", ".join(text(decision, "clusterName") for decision in decisions) or "<none>"


def _label(key: str) -> Callable[[Row], str]:
    def show(row: Row) -> str:
        return text(mapping(mapping(row.body, "metadata"), "labels"), key) or "<none>"

    return show


def _available(row: Row) -> str:
    shown = _condition("ManagedClusterConditionAvailable", "status")
    return shown(row) if _status(row) else "Declared"


def _joined(row: Row) -> str:
    agents = [a for a in bodies(_status(row), "agentStatus") if text(a, "type") == "MemberAgent"]
    conditions = [condition for agent in agents for condition in bodies(agent, "conditions")]
    found = (text(item, "status") for item in conditions if text(item, "type") == "Joined")
    return next(found, "<none>") if _status(row) else "Declared"


def _ago(moment: str, now: datetime) -> str:
    """Return how long ago a moment was, in kubectl's manner; `<none>` if there is none."""
    if not moment:
        return "<none>"
    try:
        return duration(now - parse_moment(moment))
    except ValueError:
        return "<none>"


def duration(span: timedelta) -> str:
    """Return a span in its largest fitting unit.

    >>> duration(timedelta(seconds=90)), duration(timedelta(minutes=9)), duration(timedelta(days=3))
    ('90s', '9m', '3d')
    """
    seconds = max(int(span.total_seconds()), 0)
    for limit, size, unit in ((120, 1, "s"), (7200, 60, "m"), (172800, 3600, "h")):
        if seconds < limit:
            return f"{seconds // size}{unit}"
    return f"{seconds // 86400}d"


_BINDING: Columns = (
    (
        ("CLUSTERS", _placed),
        ("LEAVING", _leaving),
        ("SCHEDULED", _condition("Scheduled", "status")),
        ("APPLIED", _condition("FullyApplied", "status")),
        ("AGE", _age),
    ),
    (
        ("GROUP", _group),
        ("POLICY", _policy),
        ("REASON", _condition("Scheduled", "message")),
    ),
)
_POLICY: Columns = (
    (
        ("SELECTS", _selects),
        ("DIVISION", _strategy),
        ("PRIORITY", lambda row: str(number(_spec(row), "priority"))),
    ),
    (("FILE", lambda row: row.path),),
)
_COLUMNS: Mapping[str, Columns] = {
    "Cluster": (
        (
            ("READY", _ready),
            ("REGION", lambda row: text(_spec(row), "region") or "<none>"),
            ("TAINTS", _taints),
        ),
        (
            ("PROVIDER", lambda row: text(_spec(row), "provider") or "<none>"),
            ("ZONES", _zones),
            ("FILE", lambda row: row.path),
        ),
    ),
    "ClusterPropagationPolicy": _POLICY,
    "ClusterResourceBinding": _BINDING,
    "ClusterResourceBinding.placement.kubernetes-fleet.io": (
        (
            ("CLUSTER", lambda row: text(_spec(row), "targetCluster")),
            ("STATE", lambda row: text(_spec(row), "state")),
            ("PLACEMENT", _label(PARENT)),
            ("AGE", _age),
        ),
        (("REASON", lambda row: text(mapping(_spec(row), "clusterDecision"), "reason")),),
    ),
    "ClusterResourcePlacement": (
        (
            ("TYPE", lambda row: text(mapping(_spec(row), "policy"), "placementType") or "PickAll"),
            ("SCHEDULED", _condition("ClusterResourcePlacementScheduled", "status")),
            ("AVAILABLE", _condition("ClusterResourcePlacementAvailable", "status")),
            ("AGE", _age),
        ),
        (("REASON", _condition("ClusterResourcePlacementScheduled", "message")),),
    ),
    "Deployment": ((("REPLICAS", _replicas),), (("FILE", lambda row: row.path),)),
    "ManagedCluster": (
        (("AVAILABLE", _available), ("SET", _label(CLUSTER_SET)), ("TAINTS", _taints)),
        (("FILE", lambda row: row.path),),
    ),
    "MemberCluster": (
        (("JOINED", _joined), ("TAINTS", _taints)),
        (("FILE", lambda row: row.path),),
    ),
    "Placement": (
        (
            ("SELECTED", _selected),
            ("SATISFIED", _condition("PlacementSatisfied", "status")),
            ("AGE", _age),
        ),
        (
            ("REASON", _condition("PlacementSatisfied", "message")),
            ("MISCONFIGURED", _condition("PlacementMisconfigured", "message")),
        ),
    ),
    "PlacementDecision": (
        (("PLACEMENT", _label(PLACEMENT)), ("CLUSTERS", _decided)),
        (("FILE", lambda row: row.path),),
    ),
    "PropagationPolicy": _POLICY,
    "ResourceBinding": _BINDING,
    "ScheduleTrigger": (
        (
            ("PHASE", lambda row: text(mapping(row.body, "status"), "phase")),
            (
                "FAILED",
                lambda row: str(len(bodies(mapping(row.body, "status"), "failedResourceList"))),
            ),
            ("AGE", _age),
        ),
        (("FILE", lambda row: row.path),),
    ),
    "StatefulSet": ((("REPLICAS", _replicas),), (("FILE", lambda row: row.path),)),
    "WorkloadRebalancer": (
        (
            ("SUCCESSFUL", _results),
            ("FAILED", _failed),
            ("FINISHED", _finished),
            ("AGE", _age),
        ),
        (("FILE", lambda row: row.path),),
    ),
}
