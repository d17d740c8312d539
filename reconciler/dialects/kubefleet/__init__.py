"""KubeFleet: placements select resources and clusters, and roll the ones out to the others.

What is decided: for each placement a policy snapshot, resource snapshots, a binding for each of its
clusters, and which snapshot each binding has reached.

From what: placements and the resources that they select (inputs); member clusters; what clusters
report or is assumed of their silence; the snapshots and bindings of the last pass, with what people
did to them undone but for an edit of a decision (`drift_repair.py`).

In which order, for one placement (`plan.py`, `placement_cycle.py`):

1. Resources are selected and stripped of what only their own cluster knows; a new selection makes a
   new group of resource snapshots, a new policy a new policy snapshot.
2. Evictions that were not judged yet are; a binding that is evicted is gone (`eviction.py`).
3. The scheduler runs if the policy is new, the number of clusters differs, or a cluster is gone:
   PickAll, PickN or PickFixed, with affinity, taints and topology; upstream's cycles until nothing
   more is picked, in one go.
4. The rollout binds scheduled bindings and lifts bound ones to the latest snapshot, no faster than
   maxUnavailable and maxSurge allow.
   A placement whose strategy is External is rolled out by staged update runs instead, stage by
   stage (`updaterun/`).
5. 3 and 4 repeat until nothing changes; then the status is told, cluster by cluster.

A placement is of the whole fleet or of one namespace; both are decided by the same code under other
kinds (`api/names.py`). One of a namespace selects there only, and goes where the namespace is.

In which states a binding is: Scheduled, Bound, Unscheduled (its cluster is to lose the resources),
deleted.

Rooms and files answer to upstream's packages: `api/` to apis/placement, pkg/webhook and
pkg/utils/validator, `scheduler/` to pkg/scheduler, `snapshots/` to pkg/controllers/placement,
`rollout/` to pkg/controllers/rollout, `updaterun/` to pkg/controllers/updaterun, `eviction.py` to
pkg/controllers/clusterresourceplacementeviction, `snapshots/overrides.py` to pkg/utils/overrider,
`workgenerator/` to pkg/controllers/workgenerator, `view/` to the placement's status and
pkg/utils/condition.

Beside the decision stands what it puts onto clusters (`workgenerator/`): the resources of the
snapshot that each binding has reached, as the overrides leave them for its cluster.
"""
