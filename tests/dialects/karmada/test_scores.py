"""Replicas divided by scores that add-ons report, where the configuration allows it."""

from collections.abc import Mapping

import pytest

from reconciler.core.reconcile import reconcile
from reconciler.model.decision import CauseKind, Explanation
from reconciler.model.identity import ObjectKey
from reconciler.model.world import Fault
from tests.builders import (
    BY_SCORE,
    Body,
    after,
    cluster,
    configuration,
    deployment,
    path_of,
    policy,
    rebalancer,
    text_of,
)
from tests.dialects.ocm.worlds import score
from tests.dialects.recorded_reads import Changes, after_the_change, overlook
from tests.stories import Story, story

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
