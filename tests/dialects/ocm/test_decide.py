"""Placements in whole passes: when they are decided anew, in which groups, and why."""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.core.changes import Outcome
from reconciler.core.dialects import KINDS
from reconciler.core.inputs.admissions import ADMISSIONS
from reconciler.core.inputs.validation import Rules, validate_file
from reconciler.core.reconcile import reconcile
from reconciler.dialects.ocm import plan
from reconciler.dialects.ocm.api.cluster import Members, decode_cluster, members_of
from reconciler.dialects.ocm.api.placement import GROUP_INDEX_LABEL, decode_placement
from reconciler.dialects.ocm.decide import PlacementOutcome, decide
from reconciler.dialects.ocm.placement_files import Draft
from reconciler.dialects.ocm.scheduler.schedule import group, group_length
from reconciler.errors import Misconfigured
from reconciler.manifests.text.reader import read
from reconciler.model.body import Body
from reconciler.model.decision import (
    Cause,
    CauseKind,
    ClusterAnswer,
    ClusterVerdict,
    Explanation,
    ScorePart,
)
from reconciler.model.identity import ClusterName, ObjectKey
from tests.builders import path_of, rebalancer, text
from tests.dialects.ocm.worlds import (
    BY_SCORE,
    GROUP,
    at,
    binding,
    chosen,
    cluster,
    cluster_set,
    placement,
    run,
    score,
    world,
)
from tests.manifests.shipped_schemas import schemas
from tests.stories import Story, applied, story

HUB = (cluster_set(), binding(), placement(numberOfClusters=1, prioritizerPolicy=BY_SCORE))
TAINT = {"key": "down", "effect": "NoSelect"}


def test_first_decision_is_written_with_its_status() -> None:
    """One decision object and the placement's status file, nothing for the cluster."""
    documents = [*HUB, cluster("a"), cluster("b"), score("a", 1), score("b", 9)]
    files, outcome = run(documents, {}, at(0))

    assert ["b"] == chosen(files)
    assert [
        f"status/placementdecisions.{GROUP}/ns1/p-decision-1.yaml",
        f"status/placements.{GROUP}/ns1/p.yaml",
        "status/reconciler.yaml",
    ] == sorted(files)
    assert [CauseKind.CREATED] == [decision.cause.kind for decision in outcome.decisions]


UNSTEADY: Body = {
    "mode": "Exact",
    "configurations": [
        {"scoreCoordinate": {"type": "BuiltIn", "builtIn": "Steady"}, "weight": -1},
    ],
}
TOLERATES: Body = {"tolerations": [{"key": "down", "operator": "Exists", "tolerationSeconds": 60}]}
CREATED = [
    pytest.param({}, 1, id="all"),
    pytest.param({"numberOfClusters": 2}, 1, id="as-many-as-there-are"),
    pytest.param({"numberOfClusters": 3}, 1, id="fewer-than-wanted"),
    pytest.param({"numberOfClusters": 1, "prioritizerPolicy": BY_SCORE}, 1, id="by-score"),
    pytest.param(TOLERATES, 1, id="tolerates"),
    pytest.param({"numberOfClusters": 0}, 3, id="none"),
    pytest.param({"numberOfClusters": 1}, 3, id="others-count"),
    pytest.param({"numberOfClusters": 1, "prioritizerPolicy": UNSTEADY}, 16, id="oscillates"),
]


@pytest.mark.parametrize(("spec", "times"), CREATED)
def test_a_placement_is_decided_once_where_the_next_round_decides_the_same(
    spec: Body, times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else until its own decisions change nothing; tests decide each again, and compare."""
    told = story(cluster_set(), binding(), cluster("a"), cluster("b"), cluster("c", TAINT))
    told.put(placement(**spec), score("a", 1), score("b", 9))  # type: ignore[arg-type]
    decided: list[ObjectKey] = []

    def noted(draft: Draft, *others: Any) -> PlacementOutcome:
        decided.append(draft.manifest.key)
        return decide(draft, *others)

    monkeypatch.setattr(plan, "decide", noted)
    first = reconcile(told.world(), told.now)
    told.files = applied(told.files, first)

    assert times == len(decided)
    assert () == reconcile(told.world(), told.now + timedelta(seconds=1)).changes


def test_nothing_to_do_makes_no_change() -> None:
    """The same world later is left alone."""
    documents = [*HUB, cluster("a"), cluster("b"), score("b", 9)]
    files, _ = run(documents, {}, at(0))

    assert () == run(documents, files, at(0))[1].changes
    assert () == run(documents, files, at(1000))[1].changes


def test_taint_moves_the_decision_at_once() -> None:
    """A cluster that is no longer feasible is left in the same pass, and the cause says why."""
    before = [*HUB, cluster("a"), cluster("b"), score("b", 9)]
    files, _ = run(before, {}, at(0))
    after = [*HUB, cluster("a"), cluster("b", TAINT), score("b", 9)]
    files, outcome = run(after, files, at(1))

    assert ["a"] == chosen(files)
    [decision] = outcome.decisions
    assert CauseKind.EVICTED is decision.cause.kind
    assert "b: cluster(s) had untolerated taint {down:NoSelect}" == decision.cause.detail
    assert f"status/managedclusters.{GROUP}/b.yaml" in files


def test_score_change_waits_for_the_period() -> None:
    """Scores alone move a placement 300 seconds after its last decision, no sooner."""
    before = [*HUB, cluster("a"), cluster("b"), score("a", 1), score("b", 9)]
    files, _ = run(before, {}, at(0))
    after = [*HUB, cluster("a"), cluster("b"), score("a", 10), score("b", 9)]
    _, early = run(after, files, at(299))
    moved, late = run(after, files, at(300))

    assert ((), at(300)) == (early.changes, early.recheck_at)
    assert ["a"] == chosen(moved)
    assert [CauseKind.SCORES_CHANGED] == [decision.cause.kind for decision in late.decisions]


def test_score_change_after_the_period_is_taken_at_once() -> None:
    """The period runs from the last decision, not from the change of the score."""
    files, _ = run([*HUB, cluster("a"), cluster("b"), score("b", 9)], {}, at(0))
    after = [*HUB, cluster("a"), cluster("b"), score("a", 10), score("b", 9)]

    assert ["a"] == chosen(run(after, files, at(5000))[0])


def test_period_of_zero_takes_scores_at_once() -> None:
    """`spec.ocm.resyncSeconds: 0` is upstream's behaviour."""
    settings = {
        "apiVersion": "reconciler.dev/v1alpha1",
        "kind": "ReconcilerConfiguration",
        "metadata": {"name": "reconciler"},
        "spec": {"ocm": {"resyncSeconds": 0}},
    }
    hub = [*HUB, settings, cluster("a"), cluster("b")]
    files, _ = run([*hub, score("b", 9)], {}, at(0))

    assert ["a"] == chosen(run([*hub, score("b", 9), score("a", 10)], files, at(1))[0])


def test_expiry_of_a_score_is_a_change_of_scores() -> None:
    """The pass says when a score runs out; that is told at once, and moves after the period."""
    until = (at(0) + timedelta(seconds=60)).isoformat()
    documents = [*HUB, cluster("a"), cluster("b"), score("a", 1), score("b", 9, validUntil=until)]
    files, outcome = run(documents, {}, at(0))

    assert at(61) == outcome.recheck_at
    assert () == run(documents, files, at(60))[1].changes
    told, outcome = run(documents, files, at(61))
    assert (["score-expired"], at(300)) == ([f.rule for f in outcome.faults], outcome.recheck_at)
    assert ["b"] == chosen(told)
    assert () == run(documents, told, at(299))[1].changes
    assert ["a"] == chosen(run(documents, told, at(300))[0])


def test_end_of_a_toleration_is_foreseen() -> None:
    """A tainted cluster is kept as long as it is tolerated."""
    tolerations = [{"key": "down", "operator": "Exists", "tolerationSeconds": 60}]
    policy = placement(numberOfClusters=1, prioritizerPolicy=BY_SCORE, tolerations=tolerations)
    hub = [cluster_set(), binding(), policy, cluster("a"), score("b", 9)]
    files, _ = run([*hub, cluster("b")], {}, at(0))
    files, outcome = run([*hub, cluster("b", TAINT)], files, at(10))

    assert (["b"], at(70)) == (chosen(files), outcome.recheck_at)
    assert () == run([*hub, cluster("b", TAINT)], files, at(69))[1].changes
    assert ["a"] == chosen(run([*hub, cluster("b", TAINT)], files, at(70))[0])


def test_oscillating_placement_keeps_its_decision() -> None:
    """A negative weight for Steady would move the placement at each look."""
    policy = {"mode": "Exact", "configurations": [_built_in("Steady", -1)]}
    hub = [cluster_set(), binding(), cluster("a"), cluster("b")]
    files, _ = run([*hub, placement(numberOfClusters=1)], {}, at(0))
    wild = [*hub, placement(numberOfClusters=1, prioritizerPolicy=policy)]
    after, outcome = run(wild, files, at(1))

    assert ["a"] == chosen(after)
    assert {"oscillates"} == {fault.rule for fault in outcome.faults}


def test_placements_see_those_before_them() -> None:
    """Two placements of one pass are balanced over two clusters."""
    hub = [cluster_set(), binding(), cluster("a"), cluster("b")]
    documents = [*hub, placement("p", numberOfClusters=1), placement("q", numberOfClusters=1)]
    files, _ = run(documents, {}, at(0))

    assert (["a"], ["b"]) == (chosen(files, "p"), chosen(files, "q"))


def test_edited_decision_counts_as_the_previous_one() -> None:
    """A person's edit is told once; Steady then holds on to it."""
    hub = [cluster_set(), binding(), cluster("a"), cluster("b"), placement(numberOfClusters=1)]
    files, _ = run(hub, {}, at(0))
    path = f"status/placementdecisions.{GROUP}/ns1/p-decision-1.yaml"
    files[path] = files[path].replace("clusterName: a", "clusterName: b")
    files, outcome = run(hub, files, at(1))

    assert (["b"], ["p-decision-1"]) == (chosen(files), [key.name for key in outcome.edited])
    assert () == run(hub, files, at(2))[1].changes


def test_removed_placement_takes_its_files_along() -> None:
    """Nothing is left but the record of the pass."""
    hub = [cluster_set(), binding(), cluster("a")]
    files, _ = run([*hub, placement()], {}, at(0))
    files, outcome = run(hub, files, at(1))

    assert ["status/reconciler.yaml"] == sorted(files)
    assert [True] == [decision.removed for decision in outcome.decisions]


def test_unavailable_cluster_is_left() -> None:
    """The hub taints a cluster whose Available condition is not True."""
    lost = {"conditions": [{"type": "ManagedClusterConditionAvailable", "status": "Unknown"}]}
    hub = [cluster_set(), binding(), cluster("b"), placement(numberOfClusters=1)]
    files, _ = run([*hub, cluster("a")], {}, at(0))

    assert ["a"] == chosen(files)
    assert ["b"] == chosen(run([*hub, cluster("a", status=lost)], files, at(1))[0])


def test_global_set_stands_on_every_hub() -> None:
    """A binding to `global` offers every cluster, without a manifest of the set."""
    files, _ = run([binding("global"), cluster("a"), placement()], {}, at(0))

    assert ["a"] == chosen(files)


def test_every_file_satisfies_its_schema() -> None:
    """What a pass writes, the next one can read."""
    files, _ = run([*HUB, cluster("a"), cluster("b", TAINT), score("b", 9)], {}, at(0))
    rules = Rules(schemas(), ADMISSIONS, KINDS, status_only=True)
    found = [validate_file(path, "", text.encode(), rules) for path, text in files.items()]

    assert [] == [broken.fault for inspection in found for broken in inspection.broken]
    assert len(files) == sum(len(inspection.documents) for inspection in found)


def _built_in(name: str, weight: int) -> dict[str, object]:
    coordinate = {"type": "BuiltIn", "builtIn": name}
    return {"scoreCoordinate": coordinate, "weight": weight}


def test_conditions_keep_their_order() -> None:
    """A status file in which they stand the other way round is written on that way."""
    name = f"status/placements.{GROUP}/ns1/p.yaml"
    documents = [*HUB, cluster("a"), score("a", 1)]
    files, _ = run(documents, {}, at(0))
    body = cast(dict[str, Any], read(files[name].encode(), name).documents[0].body)
    body["status"]["conditions"].reverse()
    turned = [condition["type"] for condition in body["status"]["conditions"]]
    files, _ = run([*HUB, cluster("a", TAINT)], {**files, name: text(body)}, at(1))
    body = cast(dict[str, Any], read(files[name].encode(), name).documents[0].body)

    assert ["PlacementSatisfied", "PlacementMisconfigured"] == turned
    assert turned == [condition["type"] for condition in body["status"]["conditions"]]


@pytest.mark.parametrize(
    ("written", "total", "expected"),
    [
        pytest.param(0, 5, 5, id="no-strategy"),
        pytest.param(3, 5, 3, id="number"),
        pytest.param(9, 5, 5, id="greater-than-the-total"),
        pytest.param(-1, 5, 5, id="negative"),
        pytest.param("30%", 5, 2, id="rounded-up"),
        pytest.param("7%", 100, 8, id="rounded-up-in-floats"),
        pytest.param("0%", 5, 5, id="nothing"),
        pytest.param("NaN%", 5, 5, id="no-number"),
        pytest.param("2e1%", 10, 2, id="exponent"),
    ],
)
def test_length_of_groups(written: int | str, total: int, expected: int) -> None:
    """A number, or a share of the total."""
    assert expected == group_length(written, total)


@pytest.mark.parametrize("written", ["5", "", "%", " 50%", "abc", "1_0%", "1e999%"])
def test_text_that_is_no_percentage(written: str) -> None:
    """Upstream's sentence."""
    with pytest.raises(Misconfigured, match="invalid type: string is not a percentage"):
        group_length(written, 10)


def fleet(count: int) -> Members:
    """So many clusters, every second one labelled `even`."""
    return members_of(
        decode_cluster({"metadata": {"name": f"c{i:04d}", "labels": {"even": str(i % 2 == 0)}}})
        for i in range(count)
    )


def strategy(length: int | str | None, *selectors: object) -> object:
    """A decision strategy with groups by selector, named g0, g1 and so on."""
    groups = [
        {"groupName": f"g{i}", "groupClusterSelector": selector}
        for i, selector in enumerate(selectors)
    ]
    return {"groupStrategy": {"clustersPerDecisionGroup": length, "decisionGroups": groups}}


EVEN = {"labelSelector": {"matchLabels": {"even": "True"}}}
WRONG = {"labelSelector": {"matchExpressions": [{"key": "a", "operator": "Near"}]}}


@given(count=st.integers(0, 250), length=st.integers(0, 130), by_label=st.booleans())
def test_every_cluster_is_listed_once_in_order(count: int, length: int, *, by_label: bool) -> None:
    """Objects partition the choice, hold at most 100, are numbered from 1, and are never none."""
    members = fleet(count)
    rules = [EVEN] if by_label else []
    spec = {"decisionStrategy": strategy(length, *rules)}
    placement = decode_placement({"metadata": {"name": "p"}, "spec": spec})
    found = group(placement, list(reversed(members.fleet.names)), members)
    listed = [name for item in found.objects for name in item.clusters]

    assert sorted(members.fleet.names) == sorted(listed)
    assert [f"p-decision-{i + 1}" for i in range(max(len(found.objects), 1))] == [
        item.name for item in found.objects
    ]
    assert all(len(item.clusters) <= 100 for item in found.objects)
    assert all(list(item.clusters) == sorted(item.clusters) for item in found.objects)
    assert [name for item in found.groups for name in item.objects] == [
        item.name for item in found.objects
    ]


def test_groups_before_a_wrong_selector_stay() -> None:
    """What comes after it is not made, and the problem is told."""
    members = fleet(4)
    spec = {"decisionStrategy": strategy(None, EVEN, WRONG)}
    placement = decode_placement({"metadata": {"name": "p"}, "spec": spec})
    found = group(placement, members.fleet.names, members)

    assert [("c0000", "c0002")] == [item.clusters for item in found.groups]
    assert '"Near" is not a valid label selector operator' == found.problem


def test_choice_of_nothing_is_one_empty_object() -> None:
    """Group 0 without a name, and one object that lists nobody."""
    placement = decode_placement({"metadata": {"name": "p"}})
    [item] = group(placement, [], fleet(0)).objects

    assert ((), "0") == (item.clusters, dict(item.labels)[GROUP_INDEX_LABEL])
    assert list[ClusterName]() == list(item.clusters)


KEY = ObjectKey(GROUP, "Placement", "ns1", "p")
DECISION = ObjectKey(GROUP, "PlacementDecision", "ns1", "p-decision-1")

BARE_HUB = (cluster_set(), binding())
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
    found = asked([*BARE_HUB, cluster("a", TAINT), placement(predicates=predicates)])

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
    [verdict] = answer(asked([*BARE_HUB, cluster("a"), other, placement()]), "z").verdicts

    assert ("ManagedClusterSet", "belong to the ManagedClusterSet s") == (
        verdict.plugin,
        verdict.remedy,
    )


def test_scores_ranks_and_steps() -> None:
    """The parts with their weights, the order of all that fit, and how the choice came about."""
    spec = placement(numberOfClusters=1, prioritizerPolicy={**BY_SCORE, "mode": "Additive"})
    documents = [*BARE_HUB, cluster("a"), cluster("b"), cluster("c", TAINT), score("b", 9), spec]
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
    bound = asked([*BARE_HUB, cluster("a"), placement()])
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
    documents = [*BARE_HUB, cluster("a"), placement()]

    assert asked(documents) == asked(documents, key=DECISION)


def test_settled_placement_is_explained_as_it_would_be_decided_now() -> None:
    """Nothing made the scheduler look, and Steady counts by now."""
    documents = [*BARE_HUB, cluster("a"), placement()]
    files, _ = run(documents, {}, at(0))

    assert ScorePart("Steady", 100) in answer(asked(documents, files, at(9)), "a").scores


def test_waiting_scores_say_when_they_take_effect() -> None:
    """The explanation has the new choice, and from when it holds."""
    hub = [*BARE_HUB, cluster("a"), cluster("b")]
    spec = placement(numberOfClusters=1, prioritizerPolicy=BY_SCORE)
    files, _ = run([*hub, spec, score("a", 5), score("b", 1)], {}, at(0))
    found = asked([*hub, spec, score("a", 5), score("b", 8)], files, at(10))

    assert answer(found, "b").picked
    assert "only scores have changed: this takes effect at 2026-11-20T12:05:00Z" == found.steps[-1]


def test_decision_groups_are_steps() -> None:
    """By name and object."""
    strategy = {"groupStrategy": {"clustersPerDecisionGroup": 1}}
    found = asked([*BARE_HUB, cluster("a"), cluster("b"), placement(decisionStrategy=strategy)])

    assert (
        "no numberOfClusters: every feasible cluster",
        "decision group 0: 1 cluster in p-decision-1",
        "decision group 1: 1 cluster in p-decision-2",
    ) == found.steps[-3:]


def test_misconfigured_placement_says_what_is_wrong() -> None:
    """Upstream's sentence, and where the run stopped."""
    found = asked([*BARE_HUB, cluster("a"), placement(prioritizerPolicy={"mode": "Near"})])

    assert ":incorrect prioritizer policy mode: Near" == found.result
    assert "stopped: :incorrect prioritizer policy mode: Near" == found.steps[-1]


def test_switched_off_placement_is_explained() -> None:
    """Nothing is scheduled, so there is nothing but the reason."""
    switch = {f"{GROUP}/experimental-scheduling-disable": "true"}
    base = placement()
    off = {**base, "metadata": {"name": "p", "namespace": "ns1", "annotations": switch}}

    assert asked([*BARE_HUB, cluster("a"), off]).result.startswith("nothing is scheduled, since ")


def test_decisions_do_not_depend_on_who_asks() -> None:
    """Changes, decisions and faults are the same with and without a question."""
    documents = [*BARE_HUB, cluster("a"), cluster("b", TAINT), score("b", 9)]
    documents.append(placement(numberOfClusters=2, prioritizerPolicy=BY_SCORE))
    silent = reconcile(world(documents), at(0))
    told = reconcile(world(documents), at(0), asked=frozenset({KEY, DECISION}))

    assert _told(silent) == _told(told)
    assert ({}, {KEY, DECISION}) == (silent.explanations, set(told.explanations))


def _told(outcome: Outcome) -> tuple[object, ...]:
    return outcome.changes, outcome.decisions, outcome.faults, outcome.recheck_at


HUB_OF_TWO = (cluster_set(), binding(), cluster("a"), cluster("b"))
DECISION_FILE = f"status/placementdecisions.{GROUP}/ns1/p-decision-1.yaml"
STEADY = {**BY_SCORE, "mode": "Additive"}
FILE = path_of(placement())
DISABLE = f"{GROUP}/experimental-scheduling-disable"
SUSPEND = "reconciler.dev/suspend"


def demand(version: str = "v1beta1", name: str = "p", namespace: str = "ns1") -> Body:
    """A rebalancer of one placement."""
    reference = {"apiVersion": f"{GROUP}/{version}", "kind": "Placement", "name": name}
    return rebalancer("again", {**reference, "namespace": namespace})


def chosen_clusters(told: Story) -> list[str]:
    """The clusters of the placement's first decision."""
    status = cast(Body, told.output(DECISION_FILE)["status"])
    return [item["clusterName"] for item in cast(list[dict[str, str]], status["decisions"])]


def result(told: Story) -> str:
    """How the rebalance of the one workload stands."""
    [workload] = cast(list[dict[str, str]], told.rebalancer("again")["observedWorkloads"])
    return workload.get("result", "")


def waits(told: Story) -> str:
    """What the rebalance of the one workload waits for."""
    [workload] = cast(list[dict[str, str]], told.rebalancer("again")["observedWorkloads"])
    return workload.get("waitsFor", "")


def with_metadata(**metadata: object) -> Body:
    """The placement with more metadata."""
    body = placement()
    return {**body, "metadata": {**cast(Body, body["metadata"]), **metadata}}


def settled_on_a() -> Story:
    """A placement that stays on `a` by Steady though `b` has the better score by now."""
    policy = placement(numberOfClusters=1, prioritizerPolicy=STEADY)
    told = story(*HUB_OF_TWO, policy, score("a", 10), score("b", 0))
    told.run(0)
    told.put(score("b", 50))
    told.run(1000)
    assert ["a"] == chosen_clusters(told)
    return told


@pytest.mark.parametrize("version", ["v1beta1", "v1alpha1"])
def test_rebalance_forgets_the_decision(version: str) -> None:
    """Steady does not hold; the rebalancer is named, and the scores without which it moves nothing.

    A later pass leaves the result.
    """
    told = settled_on_a().put(demand(version))
    [decision] = told.run(1001).decisions

    assert (["b"], "Successful") == (chosen_clusters(told), result(told))
    scores = Cause(CauseKind.SCORES_CHANGED)
    assert Cause(CauseKind.REBALANCED, "WorkloadRebalancer again", (scores,)) == decision.cause
    assert () == told.run().changes


def test_rebalance_does_not_wait_for_the_period() -> None:
    """New scores act at once."""
    policy = placement(numberOfClusters=1, prioritizerPolicy=BY_SCORE)
    told = story(*HUB_OF_TWO, policy, score("a", 10), score("b", 0))
    told.run(0)
    told.put(score("b", 50), demand()).run(1)

    assert ["b"] == chosen_clusters(told)


def test_no_select_if_new_treats_every_cluster_as_new() -> None:
    """The cluster that was spared so far is left."""
    told = story(*HUB_OF_TWO, placement(numberOfClusters=1))
    told.run(0)
    told.put(cluster("a", {"key": "full", "effect": "NoSelectIfNew"})).run(1)
    assert ["a"] == chosen_clusters(told)
    told.put(demand()).run(2)

    assert ["b"] == chosen_clusters(told)


def test_rebalance_that_changes_nothing_is_successful() -> None:
    """The placement's files are left alone."""
    told = story(*HUB_OF_TWO, placement(numberOfClusters=1))
    told.run(0)
    before = dict(told.files)
    told.put(demand())
    outcome = told.run(1)

    assert ([True], "Successful") == ([d.stays for d in outcome.decisions], result(told))
    assert [path for path in before if before[path] != told.files[path]] == [
        "status/reconciler.yaml"
    ]


def test_unknown_placement_is_failed() -> None:
    """It is not there, and never was."""
    told = story(*HUB_OF_TWO, placement(), demand(name="other"))
    told.run(0)

    assert "Failed" == result(told)


def break_file(told: Story) -> None:
    """Break the file of the placement."""
    told.files[FILE] = "kind: Placement\na: [\n"


def break_decision(told: Story) -> None:
    """Break the file of its decisions."""
    told.files[DECISION_FILE] = "<<<<<<< ours\n"


BLOCKED: tuple[tuple[str, Callable[[Story], object], str], ...] = (
    (
        "switched-off",
        lambda told: told.put(with_metadata(annotations={DISABLE: "true"})),
        f"{DISABLE} is true ({FILE}:1)",
    ),
    (
        "suspended",
        lambda told: told.put(with_metadata(annotations={SUSPEND: "true"})),
        f"{SUSPEND} is true ({FILE}:1)",
    ),
    (
        "deleting",
        lambda told: told.put(with_metadata(deletionTimestamp="2026-11-20T12:00:00Z")),
        f"it is being deleted ({FILE}:1)",
    ),
    (
        "faulty",
        lambda told: told.put(placement(numberOfClusters="one")),
        f"it is faulty ({FILE}:1)",
    ),
    ("not-understood", break_file, f"its file cannot be understood ({FILE}:3)"),
    ("frozen", break_decision, f"one of its files cannot be read ({FILE}:1)"),
)


@pytest.mark.parametrize(("act", "why"), [pytest.param(a, w, id=i) for i, a, w in BLOCKED])
def test_a_rebalancer_says_what_a_placement_lacks(act: Callable[[Story], object], why: str) -> None:
    """In its record, with file and line; the result stays open."""
    told = story(*HUB_OF_TWO, placement())
    told.run(0)
    act(told)
    told.put(demand()).run(1)

    assert ("", why) == (result(told), waits(told))


def test_placement_that_is_switched_off_waits() -> None:
    """The rebalance happens when scheduling is on again."""
    switch = {f"{GROUP}/experimental-scheduling-disable": "true"}
    off = {**placement(), "metadata": {"name": "p", "namespace": "ns1", "annotations": switch}}
    told = story(*HUB_OF_TWO, off, demand())
    told.run(0)
    assert "" == result(told)
    told.put(placement()).run(1)

    assert ("Successful", "") == (result(told), waits(told))


def test_faulty_placement_waits() -> None:
    """A file that cannot be read is not rebalanced by its last good version."""
    told = story(*HUB_OF_TWO, placement(numberOfClusters=1))
    told.run(0)
    told.put(placement(numberOfClusters="one"), demand()).run(1)

    assert ("", ["a"]) == (result(told), chosen_clusters(told))


def test_unreadable_decision_keeps_everything() -> None:
    """What stands in it is not known, so the placement neither moves nor is rebalanced."""
    told = settled_on_a()
    told.files[DECISION_FILE] = "<<<<<<< ours\n"
    told.put(demand()).run(1001)

    assert ("<<<<<<< ours\n", "") == (told.files[DECISION_FILE], result(told))
