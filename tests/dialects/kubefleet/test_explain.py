"""Why a placement is where it is, for every cluster, made from what scheduling returned."""

from datetime import timedelta

import pytest

from reconciler.core.reconcile import reconcile
from reconciler.dialects.kubefleet.api.names import CLUSTER_SCOPED, GROUP
from reconciler.model.decision import ClusterAnswer, ClusterVerdict, Explanation, ScorePart
from reconciler.model.identity import ObjectKey
from tests.builders import Body, deployment
from tests.dialects.kubefleet.fleet import fixed, member, path_of_binding, pick, placement
from tests.stories import Story, applied, story

PLACEMENT, BINDING = CLUSTER_SCOPED.placement, CLUSTER_SCOPED.binding
POLICY_SNAPSHOT = CLUSTER_SCOPED.policy_snapshot
KEY = ObjectKey(GROUP, PLACEMENT, "", "web")
PROD = {
    "affinity": {
        "clusterAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "clusterSelectorTerms": [{"labelSelector": {"matchLabels": {"env": "prod"}}}]
            },
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": 7, "preference": {"labelSelector": {"matchLabels": {"fast": "yes"}}}}
            ],
        }
    }
}


def explained(told: Story, key: ObjectKey = KEY) -> Explanation:
    """What the next pass explains; the pass is made, too."""
    told.now += timedelta(seconds=1)
    outcome = reconcile(told.world(), told.now, asked=frozenset({key}))
    told.files = applied(told.files, outcome)
    return outcome.explanations[key]()


def prod(name: str, *, fast: str = "no", **more: object) -> Body:
    """A cluster of env prod."""
    return member(name, labels={"env": "prod", "fast": fast}, **more)  # type: ignore[arg-type]


def mixed_story() -> Story:
    """Two of four clusters are wanted; one is tainted and of the wrong env at once."""
    taint = {"key": "old", "value": "yes", "effect": "NoSchedule"}
    told = story(prod("a"), prod("b", fast="yes"), prod("c"), member("d", taints=[taint]))
    return told.put(placement(pick(2, **PROD)), deployment())


def answers(explanation: Explanation) -> dict[str, ClusterAnswer]:
    """Answers by cluster."""
    return {answer.cluster: answer for answer in explanation.clusters}


def test_every_filter_scores_and_ranks_of_every_cluster() -> None:
    """A cluster that two filters turn away has two verdicts, each with its remedy."""
    found = explained(mixed_story())
    by_name = answers(found)

    assert ("web", "the best 2 cluster(s)") == (found.subject, found.question)
    assert "found 2 cluster(s)" in found.result
    assert (
        ClusterVerdict(
            "ClusterAffinity",
            "cluster does not match with any of the required cluster affinity terms",
            "match [env In (prod)]",
        ),
        ClusterVerdict(
            "TaintToleration",
            "taint &{Key:old Value:yes Effect:NoSchedule} cannot be tolerated",
            "tolerate old=yes:NoSchedule",
        ),
    ) == by_name["d"].verdicts
    assert {"a": 3, "b": 1, "c": 2, "d": None} == {n: a.rank for n, a in by_name.items()}
    assert {"b", "c"} == {name for name, answer in by_name.items() if answer.picked}
    assert ScorePart("ClusterAffinity", 7) in by_name["b"].scores
    assert "2 more cluster(s) wanted, 3 pass the filters; picked: b, c." == found.steps[0]


def test_a_placement_that_nothing_made_the_scheduler_look_at_is_explained_all_the_same() -> None:
    """What is placed stays, whatever the filters say; they are told."""
    told = mixed_story()
    explained(told)
    told.put(member("c", labels={"env": "dev"}))
    found = explained(told)
    by_name = answers(found)

    assert found.steps[0].startswith("Nothing made the scheduler look")
    assert by_name["c"].picked
    assert ["ClusterAffinity"] == [verdict.plugin for verdict in by_name["c"].verdicts]
    assert "stays" in by_name["c"].note


def test_topology_is_told_cycle_by_cycle() -> None:
    """One cluster at a time; the ranks are the order of picking."""
    constraint = {"topologySpreadConstraints": [{"topologyKey": "zone", "maxSkew": 1}]}
    clusters = [member(n, labels={"zone": z}) for n, z in ("ax", "bx", "cy", "dy")]
    found = explained(story(*clusters, placement(pick(3, **constraint)), deployment()))
    by_name = answers(found)

    assert "Cycle 1 of 3: 3 more cluster(s) wanted, 1 at a time" in found.steps[0]
    assert {"d": 1, "b": 2, "c": 3} == {n: a.rank for n, a in by_name.items() if a.picked}
    assert ScorePart("TopologySpreadConstraints", 1) in by_name["b"].scores


def test_pick_fixed_tells_names_that_no_cluster_has() -> None:
    """Only names and eligibility count."""
    told = story(member("a"), member("b"), member("c", status={"agentStatus": []}))
    by_name = answers(explained(told.put(placement(fixed("a", "c", "x")), deployment())))

    assert ["a"] == [name for name, answer in by_name.items() if answer.picked]
    assert {"b": "be named", "x": "exist"} == {
        name: by_name[name].verdicts[0].remedy for name in "bx"
    }
    assert "ClusterEligibility" == by_name["c"].verdicts[0].plugin


@pytest.mark.parametrize("kind", [PLACEMENT, POLICY_SNAPSHOT, BINDING])
def test_any_file_of_a_placement_may_be_asked_about(kind: str) -> None:
    """The explanation is that of the placement."""
    told = mixed_story()
    explained(told)
    binding = path_of_binding(told, "b").rpartition("/")[2].removesuffix(".yaml")
    name = {PLACEMENT: "web", POLICY_SNAPSHOT: "web-0", BINDING: binding}[kind]

    assert KEY == explained(told, ObjectKey(GROUP, kind, "", name)).key


def test_asking_changes_no_decision() -> None:
    """The outcome is the same but for the explanations."""
    told = mixed_story()
    for _ in range(3):
        world = told.world()
        plain = reconcile(world, told.now)
        asked = reconcile(world, told.now, asked=frozenset({KEY}))
        asked.explanations[KEY]()

        assert (plain.changes, plain.decisions) == (asked.changes, asked.decisions)
        assert plain.recheck_at == asked.recheck_at
        told.files = applied(told.files, plain)
        told.now += timedelta(seconds=60)


def test_a_placement_that_cannot_be_scheduled_says_why() -> None:
    """There is an explanation all the same."""
    told = story(member("a.b"), placement(), deployment())

    assert "DNS-1123" in explained(told).result
