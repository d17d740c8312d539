"""Karmada: policies claim workloads, bindings are scheduled, taints and failures evict.

What is decided: for each workload that a policy claims a binding, which names its clusters and how
many replicas each has.

From what: policies, workloads, overrides and priority classes (inputs); clusters with what their
controllers would have made of their conditions (`api/cluster_taints.py`); reports of clusters;
the binding as the last pass left it, which is the previous assignment.

In which order, for one round of a pass (`plan.py`):

1. The detector matches policies to workloads: a policy that is gone releases, one of higher
   priority preempts where that is on, then each workload elects. What is claimed becomes a draft of
   its binding: the workload and policy as they are now beside what was decided before.
2. Rebalancers and triggers ask for a schedule afresh; the round hands them in.
3. Each draft is decided by itself (`decide.py`): the taint manager and application failover turn
   clusters into eviction tasks; the first reason of `scheduler/schedule.py` has it scheduled
   (filter, rank, select, divide, one affinity group after another); a limited rebalance goes only a
   part of the way; a quota that is enforced may refuse what it comes to, in the order of keys;
   reports are gathered, and eviction tasks end that have nothing to wait for.
4. Bindings of dependencies follow the bindings that need them.

In which states a binding is: not scheduled yet; scheduled; being evicted from a cluster, by a task
of `spec.gracefulEvictionTasks`; moving in batches, by an annotation; failed, by its condition.

Rooms and files answer to upstream's packages: `api/` to pkg/apis and pkg/webhook, `detector/` to
pkg/detector and pkg/dependenciesdistributor, `scheduler/` to pkg/scheduler, `quotas.py` to
pkg/controllers/federatedresourcequota and pkg/webhook/resourcebinding, `eviction.py` to
pkg/controllers/{cluster,gracefuleviction,applicationfailover}, `view/` to pkg/controllers/{binding,
status} and pkg/events.
"""
