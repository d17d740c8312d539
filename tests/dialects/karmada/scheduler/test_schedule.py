"""Scheduling where upstream's vectors do not go: scores, room, overflow, and why it is so."""

from collections.abc import Mapping

import pytest

from reconciler.core.reconcile import reconcile
from reconciler.dialects.karmada.api.binding import decode_binding
from reconciler.dialects.karmada.api.cluster import Members, decode_cluster, members_of
from reconciler.dialects.karmada.scheduler.plugins import PROFILE
from reconciler.dialects.karmada.scheduler.room import estimates
from reconciler.dialects.karmada.scheduler.schedule import ScheduleVerdict, schedule
from reconciler.model.decision import CauseKind, Explanation, ScorePart
from reconciler.model.identity import ObjectKey
from reconciler.model.moments import parse_moment
from reconciler.model.quantity import parse_quantity
from reconciler.model.world import Fault
from reconciler.schedule.framework import positions_of
from tests.builders import (
    BY_SCORE,
    DYNAMIC,
    Body,
    after,
    cluster,
    cluster_status,
    configmap,
    configuration,
    deployment,
    divided,
    groups,
    path_of,
    policy,
    rebalancer,
    selector,
    taint,
    text_of,
)
from tests.dialects.ocm.worlds import score
from tests.dialects.recorded_reads import Changes, after_the_change, overlook
from tests.stories import Story, story

NOW = parse_moment("2026-11-20T12:00:00Z")
DYNAMIC_STRATEGY = {
    "replicaSchedulingType": "Divided",
    "replicaDivisionPreference": "Weighted",
    "weightPreference": {"dynamicWeight": "AvailableReplicas"},
}
SPOT = {"key": "spot", "effect": "NoSchedule"}


def fleet(*, declared: bool = True, **taints: Mapping[str, str] | None) -> Members:
    """Clusters without a status, by name, each with at most one taint."""
    return members_of(
        decode_cluster(
            {"metadata": {"name": name}, "spec": {"taints": [taint] if taint else []}},
            declared=declared,
        )
        for name, taint in taints.items()
    )


def place(members: Members, *, replicas: int = 5, **spec: object) -> ScheduleVerdict:
    """The verdict on a new Deployment."""
    body = {
        "metadata": {"name": "web-deployment", "namespace": "default", "generation": 1},
        "spec": {
            "resource": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
            "replicas": replicas,
            "placement": {"replicaScheduling": DYNAMIC_STRATEGY},
            **spec,
        },
    }
    return schedule(decode_binding(body), members, NOW)


def test_declared_clusters_have_every_api_and_room_for_all() -> None:
    """A manifest without a status is a promise."""
    assert (("a", 3), ("b", 2)) == place(fleet(a=None, b=None)).clusters


def test_undeclared_clusters_are_judged_like_upstream() -> None:
    """Without a status there is no API, so nothing fits."""
    verdict = place(fleet(declared=False, a=None, b=None))

    assert verdict.error is not None
    assert "0/2 clusters are available: 2 cluster(s) did not have the API resource." == str(
        verdict.error.message
    )
    assert () == verdict.clusters


def test_every_cluster_is_feasible_or_rejected_for_one_reason() -> None:
    """The record of an attempt covers the fleet without overlap."""
    attempt = place(fleet(a=None, b=SPOT, c=None)).attempts[0]

    assert [0, 2] == positions_of(attempt.feasible)
    assert [("TaintToleration", [1], "cluster(s) had untolerated taint {spot:NoSchedule}")] == [
        (item.plugin, positions_of(item.clusters), str(item.reason)) for item in attempt.rejections
    ]


def test_division_keeps_its_steps() -> None:
    """What was asked for, and what there was room for."""
    division = place(fleet(a=None, b=None)).attempts[0].division

    assert division is not None
    assert [("ScaleUp", 5, 10, [0, 1])] == [
        (str(step.mode), step.target, step.room, list(step.parties)) for step in division.steps
    ]


def test_present_clusters_score_a_hundred() -> None:
    """ClusterLocality looks at the name alone; ClusterAffinity never scores."""
    members = fleet(a=None, b=None)
    verdict = place(members, clusters=[{"name": "b", "replicas": 0}])
    ranking = verdict.attempts[0].ranking

    assert ranking is not None
    assert [(1, 100), (0, 0)] == [(i, ranking.score(i)) for i in ranking.order]
    assert ["ClusterAffinity", "ClusterLocality"] == list(PROFILE.scores)


def test_binding_without_placement_is_retried() -> None:
    """Upstream never gets there; it reports an error and keeps everything."""
    verdict = place(fleet(a=None), placement=None)

    assert verdict.clusters is None
    assert verdict.error is not None
    assert "the binding has no placement" == verdict.error.message


@pytest.mark.parametrize("replicas", [1, 10**6, 2**31 - 1])
def test_great_numbers_are_divided_at_once(replicas: int) -> None:
    """The work does not grow with the replicas."""
    clusters = place(fleet(a=None, b=None, c=None), replicas=replicas).clusters

    # three unlimited clusters wrap Go's int32 sum: then there is no room, as upstream says
    expected = None if replicas == 2**31 - 1 and clusters is None else replicas
    assert expected == (None if clusters is None else sum(count for _, count in clusters))


ON = configuration(scores={"extend": True})
POLICY = policy(placement={"replicaScheduling": BY_SCORE})
BINDING = ObjectKey("work.karmada.io", "ResourceBinding", "default", "web-deployment")
FIELD = "/spec/placement/replicaScheduling/weightPreference/dynamicWeight"


def scored(values: Mapping[str, int], *, replicas: int = 4) -> Story:
    """Three clusters, some with a score, and a workload that is divided by it."""
    clusters = [cluster(name) for name in "abc"]
    scores = [score(name, value) for name, value in values.items()]
    return story(ON, *clusters, *scores, POLICY, deployment(replicas=replicas))


def placed(values: Mapping[str, int]) -> Story:
    """The same after a pass."""
    told = scored(values)
    told.run(0)
    return told


def explained(told: Story) -> Explanation:
    """Why the workload is where it is."""
    return reconcile(told.world(), told.now, asked=frozenset({BINDING})).explanations[BINDING]()


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        pytest.param({"a": 30, "b": 10, "c": 0}, {"a": 3, "b": 1}, id="by-its-share"),
        pytest.param({"a": -50, "b": 1}, {"b": 4}, id="below-zero-and-missing-are-nothing"),
    ],
)
def test_clusters_weigh_what_their_score_says(
    scores: Mapping[str, int], expected: Mapping[str, int]
) -> None:
    """Nothing where it is not above 0."""
    assert expected == placed(scores).placed()


def test_scores_that_are_all_zero_are_unschedulable() -> None:
    """And told, cluster by cluster."""
    told = scored({"a": 0, "b": -1})
    [decision] = told.run(0).decisions

    problem = "failed to assign replicas: failed to scale up: no cluster has a score r/s above 0"
    assert problem == decision.problem
    assert "Unschedulable" == told.condition("Scheduled")["reason"]
    assert {
        "a": "score r/s is 0",
        "b": "score r/s is -1",
        "c": "score r/s is not reported, counts as 0",
    } == decision.rejected


def test_a_score_counts_until_it_has_run_out() -> None:
    """Its last moment included."""
    last = text_of(after(60))
    for seconds, expected in ((60, {"a": 3, "b": 1}), (61, {"b": 4})):
        told = scored({"b": 10}).put(score("a", 30, validUntil=last))
        told.run(seconds)

        assert expected == told.placed()


def test_a_score_alone_moves_nothing() -> None:
    """Like room for replicas: it counts when something schedules."""
    told = placed({"a": 30, "b": 10})
    told.put(score("a", 0), score("c", 90))

    outcome = told.run(60)
    assert ((), None) == (outcome.changes, outcome.recheck_at)


def test_more_replicas_go_where_the_scores_are_now() -> None:
    """On top of what is there; fewer go by what is there."""
    told = placed({"a": 30, "b": 10})
    told.put(score("a", 0), score("b", 0), score("c", 90), deployment(replicas=6))
    told.run(60)

    assert {"a": 3, "b": 1, "c": 2} == told.placed()
    told.put(deployment(replicas=3))
    told.run(120)
    assert {"a": 1, "b": 1, "c": 1} == told.placed()


def test_a_rebalance_divides_by_the_scores_of_now() -> None:
    """Whatever was there."""
    told = placed({"a": 30, "b": 10})
    told.put(score("a", 0), score("c", 10), rebalancer("demo"))
    [decision] = told.run(60).decisions

    assert {"b": 2, "c": 2} == told.placed()
    assert {CauseKind.REBALANCED, CauseKind.SCORES_CHANGED} == decision.cause.kinds


def test_a_score_that_comes_places_what_was_nowhere() -> None:
    """It is the cause, and its file is named."""
    told = placed({"a": 0})
    told.put(score("b", 1))
    [decision] = told.run(60).decisions

    assert {"b": 4} == told.placed()
    cause = decision.cause
    assert (CauseKind.SCORES_CHANGED, ["b"]) == (
        cause.kind,
        [one.namespace for one in cause.sources],
    )


def test_the_moment_at_which_a_score_runs_out_is_waited_for_by_what_weighs_by_it() -> None:
    """What is nowhere looks again then; what is placed has nothing to wait for."""
    told = scored({})
    told.put(score("a", -5, validUntil=text_of(after(60))))
    told.run(0)

    assert after(61) == told.run(1).recheck_at
    told.put(score("a", 5, validUntil=text_of(after(60))))
    told.run(2)
    assert None is told.run(3).recheck_at


def test_why_tells_the_score_of_each_cluster() -> None:
    """Those that are missing, and those that have run out."""
    told = scored({"a": 30}).put(score("b", 10, validUntil=text_of(after(-1))))
    told.run(0)
    found = explained(told)

    assert "4 replicas, divided by the score r/s" == found.question
    assert {
        "a": "score r/s is 30; no capacity limit, runs 4",
        "b": "score r/s has run out, counts as 0; no capacity limit",
        "c": "score r/s is not reported, counts as 0; no capacity limit",
    } == {one.cluster: one.note for one in found.clusters}


def refusal(told: Story) -> Fault:
    """The one fault of the policy."""
    [fault] = [one for one in told.world().faults if one.path == path_of(POLICY)]
    return fault


def test_without_the_setting_it_is_refused_as_upstream_does() -> None:
    """With its place, and with what would allow it."""
    told = scored({"a": 1}).drop(ON)
    outcome, fault = told.run(0), refusal(told)

    assert ("schema-enum", FIELD) == (fault.rule, fault.field)
    assert (1, 0) < (fault.line, fault.column)
    assert fault.message == (
        f'{FIELD[1:].replace("/", ".")} must be one of its known values, "AddOnScore/r/s" is none.'
    )
    assert "AvailableReplicas, or scores.extend: true in reconciler.yaml." == fault.expected
    assert () == outcome.decisions


def test_what_is_refused_stays_refused_pass_after_pass() -> None:
    """The file of the last pass is no good version, since that was refused, too."""
    told = scored({"a": 1}).drop(ON)
    told.run(0)
    told.put(deployment(replicas=5))
    told.run(60)

    assert () == told.run(61).decisions
    assert [] == [path for path in told.files if "resourcebinding" in path]


def test_a_policy_that_was_allowed_stays_in_force() -> None:
    """As the last good version, when the setting goes; and it goes on once it is back."""
    told = placed({"a": 1})
    told.drop(ON).put(deployment(replicas=6), score("b", 1))
    for seconds in (60, 61):
        told.run(seconds)

        assert ({"a": 5, "b": 1}, "schema-enum") == (told.placed(), refusal(told).rule)
    told.put(ON, deployment(replicas=4))
    told.run(120)
    assert () == told.world().faults
    assert {"a": 3, "b": 1} == told.placed()


def test_an_earlier_version_stands_in_where_it_is_not_allowed() -> None:
    """The edit takes no effect, and the workload stays with the policy that was in force."""
    told = story(cluster("a"), cluster("b"), policy(), deployment())
    told.run(0)
    told.put(POLICY, score("b", 1), deployment(replicas=4))
    told.run(60)

    assert {"a": 4, "b": 4} == told.placed()
    assert "schema-enum" == refusal(told).rule


def overflowing() -> Body:
    """A policy that would overflow by scores."""
    terms = [
        {"affinityName": "g", "clusterNames": ["a"], "overflowAffinities": [{"affinityName": "h"}]}
    ]
    return policy(placement={"clusterAffinities": terms, "replicaScheduling": BY_SCORE})


def test_scores_do_not_overflow() -> None:
    """They say nothing of room, so no group is ever full."""
    told = scored({"a": 1}).put(overflowing())

    assert "policy-overflow-division" == refusal(told).rule


def waiting() -> Story:
    """A workload that no score lets anywhere."""
    return scored({"a": 0})


READ: Changes = {"scores": (waiting, lambda told: told.put(score("c", 5)))}


def test_a_changed_score_is_found() -> None:
    """By what a pass remembers as well as by what it looks at anew."""
    warm, cold = after_the_change(READ, "scores")

    assert cold.changes
    assert cold.changes == warm.changes


def test_it_would_be_missed_if_it_were_not_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing else tells of it."""
    overlook("scores", monkeypatch)
    warm, cold = after_the_change(READ, "scores")

    assert cold.changes
    assert () == warm.changes


MOST = 2**63 - 1


def room(*clusters: tuple[str, int], cpu: str) -> tuple[int, ...]:
    """Return the room on clusters with so much cpu and so many pods, by order of name."""
    members = members_of(
        decode_cluster(cluster(f"m{i}", status=cluster_status(cpu=has, pods=pods)))
        for i, (has, pods) in enumerate(clusters)
    )
    return estimates(members, (("cpu", parse_quantity(cpu)),)).column


def test_thousandths_beyond_64_bits_are_exact() -> None:
    """A quotient of what does not fit is the right one, also beside clusters where all fits."""
    most = (str(MOST), MOST)

    assert (MOST * 1000 // (5 * 10**15), 50) == room(most, ("1e15", 50), cpu="5e12")


def test_more_than_an_int32_wraps_as_upstream_does() -> None:
    """The low 32 bits of the room, signed."""
    assert (-1, 100) == room((str(MOST), MOST), ("100", 100), cpu="1m")


def test_equal_rooms_keep_the_order_of_names() -> None:
    """The greatest first."""
    members = members_of(
        decode_cluster(cluster(name, status=cluster_status(pods=pods)))
        for name, pods in (("c", 5), ("a", 5), ("b", 7))
    )

    assert (1, 0, 2) == estimates(members, None).order.positions


def test_a_replica_is_one_pod_of_a_modelled_node_whatever_it_requests() -> None:
    """A request by that name counts in a summary, and for nothing beside models."""
    body = cluster("a", status=cluster_status(cpu="100", pods=1000))
    spec, status = body["spec"], body["status"]
    assert isinstance(spec, dict)
    assert isinstance(status, dict)
    ranges = [{"name": "cpu", "min": "4", "max": "8"}]
    modelled = {**status["resourceSummary"], "allocatableModelings": [{"grade": 1, "count": 3}]}
    models = {"resourceModels": [{"grade": 1, "ranges": ranges}]}
    view = decode_cluster(
        {**body, "spec": {**spec, **models}, "status": {**status, "resourceSummary": modelled}}
    )
    asked = (("cpu", parse_quantity("1")), ("pods", parse_quantity("50")))

    assert (12,) == estimates(members_of([view]), asked).column


OVERFLOWING = {
    "clusterAffinities": [
        {
            "affinityName": "own",
            "clusterNames": ["a"],
            "overflowAffinities": [{"affinityName": "rented", "clusterNames": ["b"]}],
        }
    ],
    "replicaScheduling": divided("Aggregated"),
}


def test_replicas_leave_a_cluster_that_only_overflow_names_when_its_file_goes() -> None:
    """Upstream looks for bindings by the names in their own affinity, and forgets this one."""
    told = story(
        cluster("a", status=cluster_status(pods=2)),
        rented := cluster("b", status=cluster_status(pods=9)),
        deployment(replicas=5),
        policy(placement=OVERFLOWING),
    )
    told.run()
    assert {"a": 2, "b": 3} == told.placed()

    told.put(cluster("a", status=cluster_status(pods=9)))
    del told.files[path_of(rented)]
    told.run()

    assert {"a": 5} == told.placed()


WEIGHED: Body = {"replicaScheduling": DYNAMIC}


def explained_binding(told: Story, key: ObjectKey = BINDING) -> Explanation:
    """What the next pass says of a binding."""
    outcome = reconcile(told.world(), after(60), asked=frozenset({key}))
    return outcome.explanations[key]()


def tainted_fleet() -> Story:
    """Three clusters with room for 4, 2 and none, one of them tainted."""
    rooms = {"a": 4, "b": 2}
    told = story(*(cluster(name, status=cluster_status(pods=n)) for name, n in rooms.items()))
    told.put(cluster("c", taints=[taint()], status=cluster_status(pods=9)))
    return told.put(deployment(replicas=3), policy(placement=WEIGHED))


def test_a_first_scheduling_is_told_step_by_step() -> None:
    """Filters, scores, ranks, room, division."""
    found = explained_binding(tainted_fleet())
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
    found = explained_binding(told.put(deployment(replicas=3), policy(placement=WEIGHED)))

    assert ["no capacity limit", "takes 2 more"] == [answer.note for answer in found.clusters]


def test_inertia_is_explained_as_if_the_scheduler_looked() -> None:
    """Nothing triggers, yet the answer is there, and the decision stays."""
    told = tainted_fleet()
    told.run()
    found = explained_binding(told)

    assert "Nothing triggers scheduling; it would end as below" == found.result
    assert "What is there adds up, nothing is divided." == found.steps[-1]
    assert [2, 1, None] == [answer.replicas for answer in found.clusters]


def test_a_cluster_is_told_all_that_is_against_it() -> None:
    """Not only the first filter."""
    told = tainted_fleet().put(
        policy(placement={**WEIGHED, "clusterAffinity": {"clusterNames": ["a"]}})
    )
    found = explained_binding(told)

    assert ["TaintToleration", "ClusterAffinity"] == [v.plugin for v in found.clusters[2].verdicts]


def test_groups_are_told_one_after_the_other() -> None:
    """Why the first group failed, and that the second did not."""
    told = tainted_fleet().put(policy(placement=groups(["c"], ["a"], replicaScheduling=DYNAMIC)))
    found = explained_binding(told)

    assert (
        "Group g0: 0 of 3 clusters pass the filters.",
        "Group g1: 1 of 3 clusters pass the filters.",
    ) == tuple(step for step in found.steps if "pass the filters" in step)
    assert [True, False, False] == [answer.picked for answer in found.clusters]


def test_a_leaving_cluster_has_a_reason_too() -> None:
    """Upstream does not even ask it."""
    told = tainted_fleet().put(cluster("b", status=cluster_status(pods=2), leaving=True))

    assert ["cluster(s) being deleted, or without a file"] == [
        verdict.reason for verdict in explained_binding(told).clusters[1].verdicts
    ]


def test_what_has_no_replicas_says_so() -> None:
    """One copy on each."""
    told = tainted_fleet().put(
        configmap(), policy("q", selectors=[selector("ConfigMap")], placement={})
    )
    found = explained_binding(
        told, ObjectKey("work.karmada.io", "ResourceBinding", "default", "settings-configmap")
    )

    assert "one copy on each cluster that fits" == found.question
    assert [None, None, None] == [answer.replicas for answer in found.clusters]
    assert [True, True, False] == [answer.picked for answer in found.clusters]


def test_the_outcome_never_depends_on_who_asks() -> None:
    """Changes, decisions, faults and timers are the same."""
    world = tainted_fleet().world()
    told, asked = reconcile(world, after(1)), reconcile(world, after(1), asked=frozenset({BINDING}))

    assert (told.changes, told.decisions, told.faults, told.recheck_at) == (
        asked.changes,
        asked.decisions,
        asked.faults,
        asked.recheck_at,
    )
    assert {} == told.explanations
