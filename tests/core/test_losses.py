"""The brake by effect: what an edit would take stays where it is, and all else goes on."""

from collections.abc import Callable
from typing import cast

import pytest

from reconciler.core.changes import Outcome
from reconciler.core.losses import LOSS_BRAKED
from reconciler.core.reconcile import Memo, reconcile
from reconciler.model.moments import format_moment
from reconciler.model.world import Fault
from tests.builders import (
    NOW,
    Body,
    cluster,
    cluster_policy,
    cluster_status,
    configmap,
    configuration,
    deployment,
    divided,
    rebalancer,
    selector,
    taint,
    target,
)
from tests.dialects.kubefleet.fleet import member, pick, targets
from tests.dialects.kubefleet.fleet import placement as fleet_placement
from tests.dialects.ocm.worlds import binding, cluster_set
from tests.dialects.ocm.worlds import cluster as hub_cluster
from tests.dialects.ocm.worlds import placement as hub_placement
from tests.stories import Story, story

NAMES = [f"w{number}" for number in range(10)]
TIER = {"tier": "production"}


def labelled(value: str) -> Body:
    """A policy for the clusters of a tier, each workload on one of them."""
    affinity = {"labelSelector": {"matchLabels": {"tier": value}}}
    division = divided("Aggregated")
    return cluster_policy(placement={"clusterAffinity": affinity, "replicaScheduling": division})


def placed(count: int = 10) -> Story:
    """So many workloads of two replicas on clusters of production."""
    status = cluster_status(since=NOW)
    told = story(*(cluster(name, labels=TIER, status=status) for name in "ab"))
    told.put(labelled("production"), *(deployment(name) for name in NAMES[:count]))
    told.put(configuration(feedback={"assumeAfterSeconds": None}), path="reconciler.yaml")
    told.run(0)
    return told


def replicas(told: Story, count: int = 10) -> set[int]:
    """How many replicas the workloads have, each number once."""
    return {sum(told.placed(f"{name}-deployment").values()) for name in NAMES[:count]}


def braked(outcome: Outcome) -> Fault:
    """The one fault of a pass, which is that of the brake."""
    [fault] = outcome.faults
    assert fault.rule == LOSS_BRAKED
    return fault


def test_a_typo_in_a_policy_takes_nothing() -> None:
    """Every workload stays where it is; the message says by which edit, and in which file."""
    told = placed().put(labelled("productoin"))
    outcome = told.run()

    fault = braked(outcome)
    assert () == outcome.decisions
    assert {2} == replicas(told)
    assert ("clusterpropagationpolicy/cp.yaml", 1) == (fault.path, fault.line)
    assert fault.message == (
        "the edit of ClusterPropagationPolicy cp would take 20 replicas and place them nowhere "
        "else, so 10 placements stay as they were before it: default/w0, default/w1, default/w2 "
        "and 7 more"
    )
    assert (fault.allow,) == outcome.allow


def test_it_stays_held_in_silence() -> None:
    """Told once; later passes change nothing, with a memory and without."""
    told = placed().put(labelled("productoin"))
    told.run(100)

    memo = Memo()
    assert () == told.run(200).changes
    assert [(), ()] == [reconcile(told.world(), told.now, memo=memo).changes for _ in "ab"]


def test_work_of_a_cluster_that_dies_comes_up_by_the_old_placement() -> None:
    """Eviction and failover go on while the edit is held."""
    told = placed().put(labelled("productoin"))
    told.run(100)
    home = next(iter(told.placed("w0-deployment")))
    told.put(cluster(home, labels=TIER, taints=[taint(effect="NoExecute")]))
    outcome = told.run(200)

    [other] = {"a", "b"} - {home}
    assert {other: 2} == told.placed("w0-deployment")
    assert braked(outcome)
    assert () == told.run(300).decisions


def test_it_stays_held_however_the_fleet_grows() -> None:
    """What is new makes the share smaller, and releases nothing."""
    told = placed(3).put(labelled("productoin"))
    told.run(100)
    told.put(cluster_policy("other", placement={}, selectors=[selector("ConfigMap")]))
    told.put(*(configmap(f"c{number}") for number in range(20)))
    told.run(200)

    assert LOSS_BRAKED in [fault.rule for fault in told.put(configmap("one-more")).run(300).faults]
    assert {2} == replicas(told, 3)


def test_scale_and_new_workloads_go_on() -> None:
    """What is scaled keeps the old placement; what is new follows the edit."""
    told = placed().put(labelled("productoin"))
    told.run(100)
    told.put(deployment("w0", replicas=5), deployment("new"))
    told.run(200)

    assert 5 == sum(told.placed("w0-deployment").values())
    assert {} == told.placed("new-deployment")


@pytest.mark.parametrize("as_list", [False, True])
def test_the_digest_lets_the_edit_through(*, as_list: bool) -> None:
    """Alone, or in a list with others."""
    told = placed().put(labelled("productoin"))
    allow = braked(told.run(100)).allow
    allowed = [f"sha256:{'0' * 64}", allow] if as_list else allow
    settings = configuration(feedback={"assumeAfterSeconds": None}, safety={"allow": allowed})
    told.put(settings, path="reconciler.yaml")
    outcome = told.run(200)

    assert () == outcome.faults
    assert {} == told.placed("w0-deployment")
    assert "status/faults.yaml" not in told.files
    assert () == told.run(300).changes


def test_mending_the_edit_ends_it() -> None:
    """Nothing moves, and nothing is kept any more."""
    told = placed().put(labelled("productoin"))
    told.run(100)
    outcome = told.put(labelled("production")).run(200)

    assert ((), ()) == (outcome.faults, outcome.decisions)
    assert "status/faults.yaml" not in told.files


def test_what_was_held_is_decided_afresh_by_another_edit() -> None:
    """An edit that leaves them a place is followed at once."""
    told = placed().put(labelled("productoin"))
    told.run(100)
    told.put(cluster("c", labels={"tier": "staging"}, status=cluster_status()), labelled("staging"))
    outcome = told.run(200)

    assert () == outcome.faults
    assert {"c": 2} == told.placed("w0-deployment")


def test_labels_of_clusters_count() -> None:
    """A label that a person takes away; the status and the taints of the file count as they are."""
    everywhere = {"clusterAffinity": {"labelSelector": {"matchLabels": TIER}}}
    told = placed().put(cluster_policy(placement=everywhere))
    told.run(50)
    told.put(*(cluster(name, status=cluster_status()) for name in "ab"))
    fault = braked(told.run(100))

    assert {"a": 2, "b": 2} == told.placed("w0-deployment")
    assert fault.message.startswith("the edit of Cluster a, Cluster b would take 40 replicas ")

    told.put(cluster("a", taints=[taint(effect="NoExecute")], status=cluster_status()))
    told.run(200)
    assert {"b": 2} == told.placed("w0-deployment")


@pytest.mark.parametrize(
    "take",
    [
        pytest.param(
            lambda told: told.put(
                *(cluster(n, labels=TIER, taints=[taint(effect="NoExecute")]) for n in "ab")
            ),
            id="taints",
        ),
        pytest.param(
            lambda told: told.put(*(deployment(name, replicas=1) for name in NAMES)), id="scale"
        ),
        pytest.param(
            lambda told: told.put(
                cluster("c", labels={"tier": "staging"}, status=cluster_status()),
                labelled("staging"),
            ),
            id="moves",
        ),
        pytest.param(
            lambda told: told.put(*(cluster(n, labels=TIER, leaving=True) for n in "ab")),
            id="leaving",
        ),
    ],
)
def test_what_no_edit_of_placing_takes_is_no_loss(take: Callable[[Story], object]) -> None:
    """Taints, a workload's own replicas, moves and clusters that leave are decided as ever."""
    told = placed()
    take(told)

    assert LOSS_BRAKED not in [fault.rule for fault in told.run(100).faults]


def test_what_a_failure_alone_would_have_taken_is_not_counted() -> None:
    """An edit that comes in the night of a failure is not blamed for it."""
    told = placed()
    evicting = [taint(effect="NoExecute")]
    told.put(*(cluster(name, labels=TIER, taints=evicting) for name in "ab"), labelled("other"))

    assert LOSS_BRAKED not in [fault.rule for fault in told.run(100).faults]


@pytest.mark.parametrize(
    ("count", "limit", "held"),
    [
        pytest.param(2, 50, False, id="two-say-nothing"),
        pytest.param(3, 50, True, id="all-of-three"),
        pytest.param(10, 99, True, id="all-of-ten"),
        pytest.param(10, 100, False, id="off"),
    ],
)
def test_the_limit(count: int, limit: int, *, held: bool) -> None:
    """All of three and more are too many; a limit of 100 percent turns the brake off."""
    told = placed(count)
    settings = configuration(safety={"maxLostPercent": limit})
    told.put(labelled("productoin")).put(settings, path="reconciler.yaml")
    outcome = told.run(100)

    assert held == (LOSS_BRAKED in [fault.rule for fault in outcome.faults])


def test_half_of_ten_is_allowed() -> None:
    """Five of ten are within the limit; six are not."""
    for lost, held in ((5, False), (6, True)):
        affinity = {"labelSelector": {"matchLabels": TIER}}
        told = story(*(cluster(name, labels=TIER) for name in "ab"))
        policies = [
            cluster_policy(
                name,
                placement={"clusterAffinity": affinity, "replicaScheduling": divided("Aggregated")},
                selectors=[{"apiVersion": "apps/v1", "kind": "Deployment", "name": name}],
            )
            for name in NAMES
        ]
        told.put(*policies, *map(deployment, NAMES))
        told.run(0)
        for policy in policies[:lost]:
            wrong = {"labelSelector": {"matchLabels": {"tier": "x"}}}
            spec = cast("dict[str, object]", policy["spec"])
            told.put({**policy, "spec": {**spec, "placement": {"clusterAffinity": wrong}}})
        outcome = told.run(100)

        assert held == (LOSS_BRAKED in [fault.rule for fault in outcome.faults]), lost


def test_a_rebalance_of_what_is_held_waits() -> None:
    """It would be recorded as done, and its result is not kept."""
    told = placed(3).put(labelled("productoin"))
    told.run(100)
    told.put(rebalancer("demo", target(name="w0")))
    told.run(200)

    assert "loss-braked" in str(told.rebalancer("demo"))
    assert {2} == replicas(told, 3)


def test_placements_of_open_cluster_management_are_kept() -> None:
    """A placement that selects nothing any more keeps its decisions, and replaces a lost one."""
    told = story(cluster_set(), binding(), *map(hub_cluster, "abc"))
    told.put(*(hub_placement(name, numberOfClusters=2) for name in ("p", "q", "r")))
    told.run(0)
    nothing = [{"requiredClusterSelector": {"labelSelector": {"matchLabels": {"no": "where"}}}}]
    told.put(*(hub_placement(n, numberOfClusters=2, predicates=nothing) for n in ("p", "q", "r")))
    told.run(100)
    path = "status/placementdecisions.cluster.open-cluster-management.io/ns1/p-decision-1.yaml"
    chosen = decisions(told, path)

    assert 2 == len(chosen)

    gone = {"key": "cluster.open-cluster-management.io/unreachable", "effect": "NoSelect"}
    told.put(hub_cluster(chosen[0], {**gone, "timeAdded": format_moment(NOW)}))
    told.run(200)

    assert sorted({"a", "b", "c"} - {chosen[0]}) == decisions(told, path)
    assert () == told.run(300).changes


def decisions(told: Story, path: str) -> list[str]:
    """The clusters of a PlacementDecision."""
    status = cast(Body, told.output(path)["status"])
    return sorted(one["clusterName"] for one in cast("list[dict[str, str]]", status["decisions"]))


def test_placements_of_kubefleet_are_kept() -> None:
    """The policy counts; what is selected goes on as edited."""
    told = story(member("a"), member("b"), deployment())
    names = ("p", "q", "r")
    told.put(*(fleet_placement(pick(1), name=name) for name in names))
    told.run(0)
    before = targets(told)
    terms = [{"labelSelector": {"matchLabels": {"no": "where"}}}]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"clusterSelectorTerms": terms}}
    wrong = pick(1, affinity={"clusterAffinity": required})
    told.put(*(fleet_placement(wrong, name=name) for name in names))
    outcome = told.run(100)

    assert LOSS_BRAKED in [fault.rule for fault in outcome.faults] or before == targets(told)
