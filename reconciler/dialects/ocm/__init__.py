"""Open Cluster Management: Placements choose clusters, PlacementDecisions list them.

What is decided: for each Placement the clusters, in groups of at most 100 an object.

From what: placements, cluster sets and their bindings, scores of add-ons (inputs); the hub as its
controllers leave it, taints dated and cluster claims read (`hub.py`); the decisions so far, its
own (Steady, NoSelectIfNew) and those of all other placements (Balance).

In which order (`plan.py`): by namespace and name, as upstream's one worker does, since each
placement sees the decisions of those before it. For one placement (`decide.py`):

1. The sets that are bound in its namespace offer clusters (`api/cluster.py`).
2. Filters: Predicate (labels, claims, CEL), TaintToleration.
3. Prioritizers score what is left, by weight; the best are chosen, ties by the lesser name.
4. Decision groups divide them, and the record of the placement keeps a digest of what the run saw.

When: if the digest differs, a moment that it depends on has passed, or a rebalancer asks. Scores
alone take effect at most once a resync period, counted from the last change of the decisions.

In which states a placement is: never run; satisfied, or short of clusters; misconfigured, which
empties its decisions as upstream has it; held, with a new choice due when the period ends.

Sets of ManifestWorks come after the placements of their namespace, in the same round: by its
strategy each set (`rollout.py`) brings clusters its template (`manifestworkreplicaset/`), which
delivery renders.

Rooms and files answer to upstream's packages: `api/` to sdk-go pkg/apis/cluster and the hub's
registration controllers, `scheduler/` to pkg/placement/plugins and
controllers/scheduling/schedule.go, `cel/` to sdk-go pkg/cel, `placement_files.py` to
controllers/scheduling/scheduling_controller.go, `view/` to its conditions, events and the debugger,
`rollout.py` to sdk-go pkg/apis/cluster/v1alpha1, `manifestworkreplicaset/` to
pkg/work/hub/controllers/manifestworkreplicasetcontroller.
"""
