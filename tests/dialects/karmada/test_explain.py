"""Why a binding is where it is: every cluster, every filter, every step."""

from reconciler.core.reconcile import reconcile
from reconciler.model.decision import Explanation, ScorePart
from reconciler.model.identity import ObjectKey
from tests.builders import (
    DYNAMIC,
    Body,
    after,
    cluster,
    cluster_status,
    configmap,
    deployment,
    groups,
    policy,
    selector,
    taint,
)
from tests.stories import Story, story

WEB = ObjectKey("work.karmada.io", "ResourceBinding", "default", "web-deployment")
WEIGHED: Body = {"replicaScheduling": DYNAMIC}


def explained(told: Story, key: ObjectKey = WEB) -> Explanation:
    """What the next pass says of a binding."""
    outcome = reconcile(told.world(), after(60), asked=frozenset({key}))
    return outcome.explanations[key]()


def fleet() -> Story:
    """Three clusters with room for 4, 2 and none, one of them tainted."""
    rooms = {"a": 4, "b": 2}
    told = story(*(cluster(name, status=cluster_status(pods=n)) for name, n in rooms.items()))
    told.put(cluster("c", taints=[taint()], status=cluster_status(pods=9)))
    return told.put(deployment(replicas=3), policy(placement=WEIGHED))


def test_a_first_scheduling_is_told_step_by_step() -> None:
    """Filters, scores, ranks, room, division."""
    found = explained(fleet())
    a, b, c = found.clusters

    assert "3 replicas, divided by available replicas" == found.question
    assert "Binding has been scheduled successfully. (placementChanged)" == found.result
    assert (
        "2 of 3 clusters pass the filters.",
        "All 2 are selected: no spread constraint limits them.",
        "3 replicas are divided on top of what is there, room for 6; weights: a=4, b=2.",
    ) == found.steps
    assert (1, 2, None) == (a.rank, b.rank, c.rank)
    assert (2, 1, None) == (a.replicas, b.replicas, c.replicas)
    assert (ScorePart("ClusterAffinity", 0), ScorePart("ClusterLocality", 0)) == a.scores
    assert "takes 4 more" == a.note
    [verdict] = c.verdicts
    assert (
        "TaintToleration",
        "cluster(s) had untolerated taint {spot:NoSchedule}",
        "lose the taint spot:NoSchedule, or be tolerated (placement.clusterTolerations)",
    ) == (verdict.plugin, verdict.reason, verdict.remedy)


def test_a_declared_cluster_takes_any_number() -> None:
    """Upstream's stand-in, as many as are wanted, would read as if that were all its room."""
    told = story(cluster("a"), cluster("b", status=cluster_status(pods=2)))
    found = explained(told.put(deployment(replicas=3), policy(placement=WEIGHED)))

    assert ["no capacity limit", "takes 2 more"] == [answer.note for answer in found.clusters]


def test_inertia_is_explained_as_if_the_scheduler_looked() -> None:
    """Nothing triggers, yet the answer is there, and the decision stays."""
    told = fleet()
    told.run()
    found = explained(told)

    assert "Nothing triggers scheduling; it would end as below" == found.result
    assert "What is there adds up, nothing is divided." == found.steps[-1]
    assert [2, 1, None] == [answer.replicas for answer in found.clusters]


def test_a_cluster_is_told_all_that_is_against_it() -> None:
    """Not only the first filter."""
    told = fleet().put(policy(placement={**WEIGHED, "clusterAffinity": {"clusterNames": ["a"]}}))
    found = explained(told)

    assert ["TaintToleration", "ClusterAffinity"] == [v.plugin for v in found.clusters[2].verdicts]


def test_groups_are_told_one_after_the_other() -> None:
    """Why the first group failed, and that the second did not."""
    told = fleet().put(policy(placement=groups(["c"], ["a"], replicaScheduling=DYNAMIC)))
    found = explained(told)

    assert (
        "Group g0: 0 of 3 clusters pass the filters.",
        "Group g1: 1 of 3 clusters pass the filters.",
    ) == tuple(step for step in found.steps if "pass the filters" in step)
    assert [True, False, False] == [answer.picked for answer in found.clusters]


def test_a_leaving_cluster_has_a_reason_too() -> None:
    """Upstream does not even ask it."""
    told = fleet().put(cluster("b", status=cluster_status(pods=2), leaving=True))

    assert ["cluster(s) being deleted, or without a file"] == [
        verdict.reason for verdict in explained(told).clusters[1].verdicts
    ]


def test_what_has_no_replicas_says_so() -> None:
    """One copy on each."""
    told = fleet().put(configmap(), policy("q", selectors=[selector("ConfigMap")], placement={}))
    found = explained(
        told, ObjectKey("work.karmada.io", "ResourceBinding", "default", "settings-configmap")
    )

    assert "one copy on each cluster that fits" == found.question
    assert [None, None, None] == [answer.replicas for answer in found.clusters]
    assert [True, True, False] == [answer.picked for answer in found.clusters]


def test_the_outcome_never_depends_on_who_asks() -> None:
    """Changes, decisions, faults and timers are the same."""
    world = fleet().world()
    told, asked = reconcile(world, after(1)), reconcile(world, after(1), asked=frozenset({WEB}))

    assert (told.changes, told.decisions, told.faults, told.recheck_at) == (
        asked.changes,
        asked.decisions,
        asked.faults,
        asked.recheck_at,
    )
    assert {} == told.explanations
