"""What a pass says of a placement that somebody asks about."""

from collections.abc import Sequence
from datetime import datetime

from reconciler.core.changes import Outcome
from reconciler.core.reconcile import reconcile
from reconciler.model.body import Body
from reconciler.model.decision import ClusterAnswer, ClusterVerdict, Explanation, ScorePart
from reconciler.model.identity import ClusterName, ObjectKey
from tests.dialects.ocm.worlds import (
    BY_SCORE,
    GROUP,
    at,
    binding,
    cluster,
    cluster_set,
    placement,
    run,
    score,
    world,
)

KEY = ObjectKey(GROUP, "Placement", "ns1", "p")
DECISION = ObjectKey(GROUP, "PlacementDecision", "ns1", "p-decision-1")
TAINT = {"key": "down", "effect": "NoSelect"}
HUB = (cluster_set(), binding())
ON_B = {"matchLabels": {"tier": "gold"}}


def asked(
    documents: Sequence[Body],
    files: dict[str, str] | None = None,
    now: datetime | None = None,
    key: ObjectKey = KEY,
) -> Explanation:
    """What is answered."""
    found = reconcile(world(documents, files), now or at(0), asked=frozenset({key}))
    return found.explanations[key]()


def answer(found: Explanation, name: str) -> ClusterAnswer:
    """What is said of one cluster."""
    return next(item for item in found.clusters if item.cluster == name)


def test_every_filter_is_told_of_every_cluster() -> None:
    """Also the second one against it, with what would have to change."""
    predicates = [{"requiredClusterSelector": {"labelSelector": ON_B}}]
    found = asked([*HUB, cluster("a", TAINT), placement(predicates=predicates)])

    assert (
        ClusterVerdict(
            "Predicate",
            "cluster(s) did not match the placement's 1 predicate",
            "match tier=gold: have label tier=gold (it has none)",
        ),
        ClusterVerdict(
            "TaintToleration",
            "cluster(s) had untolerated taint {down:NoSelect}",
            "tolerate down:NoSelect",
        ),
    ) == answer(found, "a").verdicts
    assert "No ManagedCluster matches any of the cluster predicate" == found.result


def test_cluster_outside_of_the_sets_says_so() -> None:
    """No filter turns it away, yet it has a reason."""
    other = {**cluster("z"), "metadata": {"name": "z"}}
    [verdict] = answer(asked([*HUB, cluster("a"), other, placement()]), "z").verdicts

    assert ("ManagedClusterSet", "belong to the ManagedClusterSet s") == (
        verdict.plugin,
        verdict.remedy,
    )


def test_scores_ranks_and_steps() -> None:
    """The parts with their weights, the order of all that fit, and how the choice came about."""
    spec = placement(numberOfClusters=1, prioritizerPolicy={**BY_SCORE, "mode": "Additive"})
    documents = [*HUB, cluster("a"), cluster("b"), cluster("c", TAINT), score("b", 9), spec]
    found = asked(documents)

    assert ClusterAnswer(
        cluster=ClusterName("b"),
        scores=(ScorePart("Balance", 100), ScorePart("Steady", 0), ScorePart("AddOn/r/s", 9)),
        total=109,
        rank=1,
        picked=True,
    ) == answer(found, "b")
    assert (2, False) == (answer(found, "a").rank, answer(found, "a").picked)
    assert "AddOn/r/s is not reported, counts as 0" == answer(found, "a").note
    assert (
        "3 of 3 clusters are offered by ManagedClusterSet s",
        "2 of 3 clusters are feasible",
        "numberOfClusters 1: the best 1 by score, then name",
    ) == found.steps
    assert ("ns1/p", "the best cluster") == (found.subject, found.question)


def test_steps_are_sentences() -> None:
    """One cluster is, and where no set is bound the first step says so."""
    bound = asked([*HUB, cluster("a"), placement()])
    unbound = asked([cluster("a"), placement()])

    assert (
        "1 of 1 cluster is offered by ManagedClusterSet s",
        "1 of 1 cluster is feasible",
    ) == bound.steps[:2]
    assert (
        "no ManagedClusterSet is bound in the placement's namespace, so no cluster is offered"
        == unbound.steps[0]
    )


def test_decision_is_explained_like_its_placement() -> None:
    """Whichever file a person points at."""
    documents = [*HUB, cluster("a"), placement()]

    assert asked(documents) == asked(documents, key=DECISION)


def test_settled_placement_is_explained_as_it_would_be_decided_now() -> None:
    """Nothing made the scheduler look, and Steady counts by now."""
    documents = [*HUB, cluster("a"), placement()]
    files, _ = run(documents, {}, at(0))

    assert ScorePart("Steady", 100) in answer(asked(documents, files, at(9)), "a").scores


def test_waiting_scores_say_when_they_take_effect() -> None:
    """The explanation has the new choice, and from when it holds."""
    hub = [*HUB, cluster("a"), cluster("b")]
    spec = placement(numberOfClusters=1, prioritizerPolicy=BY_SCORE)
    files, _ = run([*hub, spec, score("a", 5), score("b", 1)], {}, at(0))
    found = asked([*hub, spec, score("a", 5), score("b", 8)], files, at(10))

    assert answer(found, "b").picked
    assert "only scores have changed: this takes effect at 2026-11-20T12:05:00Z" == found.steps[-1]


def test_decision_groups_are_steps() -> None:
    """By name and object."""
    strategy = {"groupStrategy": {"clustersPerDecisionGroup": 1}}
    found = asked([*HUB, cluster("a"), cluster("b"), placement(decisionStrategy=strategy)])

    assert (
        "no numberOfClusters: every feasible cluster",
        "decision group 0: 1 cluster in p-decision-1",
        "decision group 1: 1 cluster in p-decision-2",
    ) == found.steps[-3:]


def test_misconfigured_placement_says_what_is_wrong() -> None:
    """Upstream's sentence, and where the run stopped."""
    found = asked([*HUB, cluster("a"), placement(prioritizerPolicy={"mode": "Near"})])

    assert ":incorrect prioritizer policy mode: Near" == found.result
    assert "stopped: :incorrect prioritizer policy mode: Near" == found.steps[-1]


def test_switched_off_placement_is_explained() -> None:
    """Nothing is scheduled, so there is nothing but the reason."""
    switch = {f"{GROUP}/experimental-scheduling-disable": "true"}
    base = placement()
    off = {**base, "metadata": {"name": "p", "namespace": "ns1", "annotations": switch}}

    assert asked([*HUB, cluster("a"), off]).result.startswith("nothing is scheduled, since ")


def test_decisions_do_not_depend_on_who_asks() -> None:
    """Changes, decisions and faults are the same with and without a question."""
    documents = [*HUB, cluster("a"), cluster("b", TAINT), score("b", 9)]
    documents.append(placement(numberOfClusters=2, prioritizerPolicy=BY_SCORE))
    silent = reconcile(world(documents), at(0))
    told = reconcile(world(documents), at(0), asked=frozenset({KEY, DECISION}))

    assert _told(silent) == _told(told)
    assert ({}, {KEY, DECISION}) == (silent.explanations, set(told.explanations))


def _told(outcome: Outcome) -> tuple[object, ...]:
    return outcome.changes, outcome.decisions, outcome.faults, outcome.recheck_at
