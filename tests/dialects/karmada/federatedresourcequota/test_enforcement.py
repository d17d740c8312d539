"""Quotas in passes: what is refused keeps what it had, and goes on once there is room."""

import pytest

from reconciler.core.changes import Outcome
from reconciler.model.body import Body
from reconciler.model.decision import CauseKind
from reconciler.model.fields import bodies, mapping
from tests.builders import (
    cluster,
    configuration,
    deployment,
    divided,
    policy,
    quota,
    rebalancer,
    taint,
)
from tests.stories import Story, story

FILE = "status/federatedresourcequotas.policy.karmada.io/default/quota.yaml"
DENIED = 'admission webhook "resourcebinding.karmada.io" denied the request: '


def enforced(*bodies: Body) -> Story:
    """A repository with one cluster, where quotas refuse."""
    on = configuration(karmada={"federatedQuotaEnforcement": True})
    return story(cluster("a"), policy(placement={"replicaScheduling": divided()}), on, *bodies)


def scheduled(told: Story, name: str) -> tuple[object, ...]:
    """Status, reason and message of a binding's Scheduled condition."""
    found = mapping(told.binding(f"{name}-deployment"), "status")["conditions"]
    assert isinstance(found, list)
    one = next(each for each in found if each["type"] == "Scheduled")
    return one["status"], one["reason"], one["message"]


def used(told: Story) -> object:
    """What the status of the quota says is used."""
    return mapping(told.output(FILE), "status").get("overallUsed")


def exceeded(total: str, limit: str, resource: str = "cpu") -> str:
    """What is told of a quota that has no room."""
    return (
        f"{DENIED}FederatedResourceQuota(default/quota) exceeded for resource {resource}: "
        f"requested sum {total}, limit {limit}."
    )


def test_the_second_in_order_of_keys_is_refused_and_goes_on_once_the_quota_is_raised() -> None:
    """The sum that is told is what all would use together."""
    told = enforced(quota(overall={"cpu": "3"}), deployment("a", cpu="1"), deployment("b", cpu="1"))
    told.run(0)
    assert [{"a": 2}, {}] == [told.placed("a-deployment"), told.placed("b-deployment")]
    assert ("False", "QuotaExceeded", exceeded("4", "3")) == scheduled(told, "b")
    assert {"cpu": "2"} == used(told)

    told.put(quota(overall={"cpu": "4"}))
    outcome = told.run(60)

    assert {"a": 2} == told.placed("b-deployment")
    assert [CauseKind.QUOTA_CHANGED] == [one.cause.kind for one in outcome.decisions]
    assert "True" == scheduled(told, "b")[0]
    assert {"cpu": "4"} == used(told)


def test_without_the_setting_nothing_is_refused() -> None:
    """What is used is what clusters report, here nothing."""
    told = story(
        cluster("a"), policy(placement={"replicaScheduling": divided()}), deployment(cpu="1")
    )
    told.put(quota(overall={"cpu": "1"})).run(0)

    assert {"a": 2} == told.placed("web-deployment")
    assert {"overall": {"cpu": "1"}} == told.output(FILE)["status"]


def test_a_scaling_that_exceeds_keeps_the_replicas_that_there_were() -> None:
    """The workload asks for more, the binding says so, and stays where it is."""
    told = enforced(quota(overall={"cpu": "2"}), deployment(cpu="1"))
    told.run(0)

    told.put(deployment(replicas=3, cpu="1"))
    outcome = told.run(60)

    assert {"a": 2} == told.placed("web-deployment")
    assert ("False", "QuotaExceeded", exceeded("3", "2")) == scheduled(told, "web")
    assert [(CauseKind.REPLICAS_CHANGED, exceeded("3", "2"))] == [
        (one.cause.kind, one.problem) for one in outcome.decisions
    ]
    assert 3 == mapping(told.binding("web-deployment"), "spec")["replicas"]


def test_requests_that_exceed_are_kept_out_of_the_binding() -> None:
    """What it asked for before counts until there is room."""
    told = enforced(quota(overall={"cpu": "2"}), deployment(cpu="1"))
    told.run(0)

    told.put(deployment(cpu="2"))
    told.run(60)
    assert ("False", "QuotaExceeded", exceeded("4", "2")) == scheduled(told, "web")
    assert {"cpu": "2"} == used(told)

    told.put(quota(overall={"cpu": "4"}))
    told.run(120)

    assert "True" == scheduled(told, "web")[0]
    assert {"cpu": "4"} == used(told)


def test_what_others_leave_is_taken_in_the_same_pass() -> None:
    """Here the first one goes, which the next round knows of."""
    first, second = deployment("a", cpu="1"), deployment("b", cpu="1")
    told = enforced(quota(overall={"cpu": "2"}), first, second)
    told.run(0)

    told.drop(first)
    outcome = told.run(60)

    assert {"a": 2} == told.placed("b-deployment")
    assert "quota changed (by what others use of it)" in [
        str(one.cause) for one in outcome.decisions if not one.removed
    ]


def test_what_moves_keeps_what_it_uses() -> None:
    """A full quota lets it leave a cluster that goes."""
    told = enforced(quota(overall={"cpu": "2"}), cluster("b"), deployment(cpu="1", replicas=2))
    told.run(0)
    assert {"a": 1, "b": 1} == told.placed("web-deployment")

    told.drop(cluster("a"))
    told.run(60)

    assert {"b": 2} == told.placed("web-deployment")


@pytest.mark.parametrize("overall", [{"memory": "1"}, {"requests.cpu": "1"}, {}], ids=str)
def test_what_a_quota_does_not_limit_is_not_refused(overall: Body) -> None:
    """Resources go by the names in requests."""
    told = enforced(quota(overall=overall), deployment(cpu="1"))
    told.run(0)

    assert {"a": 2} == told.placed("web-deployment")


def test_each_of_several_quotas_has_to_have_room() -> None:
    """The first by name that has none is told."""
    told = enforced(
        quota("quota", overall={"cpu": "1"}),
        quota("other", overall={"cpu": "9"}),
        quota("zero", overall={"cpu": "0"}),
        quota("far", namespace="far", overall={"cpu": "0"}),
        deployment(cpu="1"),
    )
    told.run(0)

    assert ("False", "QuotaExceeded", exceeded("2", "1")) == scheduled(told, "web")


def test_above_a_lowered_quota_nothing_changes_but_what_gets_below_it() -> None:
    """So upstream: also what would use less is refused while the sum stands above the limit."""
    told = enforced(quota(overall={"cpu": "4"}), deployment(replicas=4, cpu="1"))
    told.run(0)
    told.put(quota(overall={"cpu": "2"}), deployment(replicas=3, cpu="1")).run(60)
    assert {"a": 4} == told.placed("web-deployment")

    told.put(deployment(replicas=2, cpu="1")).run(120)

    assert {"a": 2} == told.placed("web-deployment")
    assert "True" == scheduled(told, "web")[0]


def test_the_status_of_a_quota_goes_with_it() -> None:
    """And what it refused goes on."""
    told = enforced(quota(overall={"cpu": "1"}), deployment(cpu="1"))
    told.run(0)
    assert {} == told.placed("web-deployment")

    told.drop(quota())
    told.run(60)

    assert {"a": 2} == told.placed("web-deployment")
    assert FILE not in told.files


def kinds_of(outcome: Outcome) -> list[set[CauseKind]]:
    """What each decision is caused by."""
    return [set(one.cause.kinds) for one in outcome.decisions]


def test_a_quota_is_a_cause_where_it_takes_it() -> None:
    """Fewer replicas fit into the quota as it was, so that it is raised as well is none."""
    told = enforced(quota(overall={"cpu": "3"}), deployment(replicas=4, cpu="1"))
    told.run(0)

    told.put(quota(overall={"cpu": "5"}), deployment(replicas=2, cpu="1"))

    assert [{CauseKind.REPLICAS_CHANGED}] == kinds_of(told.run(60))


def test_what_it_takes_together_is_named_together() -> None:
    """More replicas than before, in a quota that has room for them only now."""
    told = enforced(quota(overall={"cpu": "3"}), deployment(replicas=3, cpu="1"))
    told.run(0)

    told.put(quota(overall={"cpu": "5"}), deployment(replicas=5, cpu="1"))

    assert [{CauseKind.QUOTA_CHANGED, CauseKind.REPLICAS_CHANGED}] == kinds_of(told.run(60))


def test_a_quota_that_comes_with_what_it_refuses_is_named_beside() -> None:
    """Without it the workload were placed."""
    told = enforced(deployment("first"))
    told.run(0)

    told.put(quota(overall={"cpu": "1"}), deployment(cpu="1"))

    assert [{CauseKind.CREATED, CauseKind.QUOTA_CHANGED}] == kinds_of(told.run(60))


def test_a_rebalance_is_judged_as_well() -> None:
    """It was scheduled, so it is done; where there is no room it stays, and is tried again."""
    told = enforced(quota(overall={"cpu": "2"}), cluster("b"), deployment(cpu="1"))
    told.run(0)
    told.put(deployment(replicas=4, cpu="1"), rebalancer()).run(60)
    assert {"a": 1, "b": 1} == told.placed("web-deployment")
    record = told.output("status/workloadrebalancers.apps.karmada.io/demo.yaml")
    [observed] = bodies(mapping(record, "status"), "observedWorkloads")
    assert "Successful" == observed["result"]

    told.put(quota(overall={"cpu": "4"})).run(120)

    assert {"a": 2, "b": 2} == told.placed("web-deployment")


def test_what_leaves_a_failed_cluster_is_not_held_there() -> None:
    """Even above a lowered quota; what it had comes elsewhere."""
    told = enforced(quota(overall={"cpu": "2"}), cluster("b"), deployment(cpu="1"))
    told.run(0)

    gone = cluster("a", taints=[taint(effect="NoExecute")])
    told.put(quota(overall={"cpu": "1"}), gone).run(60)

    assert {"b": 2} == told.placed("web-deployment")


@pytest.mark.parametrize("transport", ["folders", "manifestworks"])
def test_requests_that_exceed_are_not_delivered(transport: str) -> None:
    """What is there stays byte for byte until the quota is raised, and the pass says why."""
    options = configuration(karmada={"federatedQuotaEnforcement": True}, delivery={transport: {}})
    told = enforced(quota(overall={"cpu": "2"}), deployment(cpu="1")).put(options)
    told.run(0)
    roots = ("delivery/", "manifestworks/")
    (path,) = (one for one in told.files if one.startswith(roots) and "web" in one)
    before = told.files[path]

    told.put(deployment(cpu="2"))
    outcome = told.run(60)
    assert before == told.files[path]
    assert [("delivery-not-rendered", True)] == [
        (one.rule, exceeded("4", "2") in one.message) for one in outcome.faults
    ]

    told.put(quota(overall={"cpu": "4"}))
    assert () == told.run(120).faults
    assert before != told.files[path]


def test_a_scaling_that_exceeds_delivers_everything_else() -> None:
    """With the replicas that there were."""
    options = configuration(karmada={"federatedQuotaEnforcement": True}, delivery={"folders": {}})
    told = enforced(quota(overall={"cpu": "2"}), deployment(cpu="1")).put(options)
    told.run(0)

    told.put(deployment(replicas=3, cpu="1", labels={"tier": "front"})).run(60)
    delivered = told.files["delivery/a/default/deployments.apps/web.yaml"]

    assert "  replicas: 2\n" in delivered
    assert "    tier: front\n" in delivered
