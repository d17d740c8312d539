"""Quotas in passes: what is refused keeps what it had, what clusters get, and the laws of it."""

from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reconciler.core.asked import AskedAlone
from reconciler.core.changes import Outcome
from reconciler.core.divided import divide, is_divisible, join_outcomes
from reconciler.core.reconcile import Memo, reconcile
from reconciler.dialects.contract import DependsOnOthers
from reconciler.manifests.text.reader import read
from reconciler.model.body import Body
from reconciler.model.decision import CauseKind
from reconciler.model.fields import bodies, mapping
from reconciler.model.identity import ObjectKey
from tests.builders import (
    cluster,
    configuration,
    deployment,
    divided,
    policy,
    quota,
    rebalancer,
    taint,
    target,
    text,
)
from tests.core.test_law_memo import assert_equal, told_of
from tests.stories import Story, applied, story

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


NAMES = ("a", "b", "c")
EDITS = st.lists(
    st.one_of(
        st.builds(
            lambda name, replicas, cpu, namespace: deployment(
                name, replicas=replicas, cpu=cpu, namespace=namespace
            ),
            st.sampled_from(NAMES),
            st.integers(0, 4),
            st.sampled_from(["500m", "1", ""]),
            st.sampled_from(["default", "default", "far"]),
        ),
        st.builds(
            lambda name, cpu: quota(name, overall={"cpu": cpu}),
            st.sampled_from(["q", "r"]),
            st.sampled_from(["0", "2", "3500m", "8"]),
        ),
        st.builds(lambda n: rebalancer(f"now-{n}", target(name=NAMES[n])), st.integers(0, 2)),
        st.sampled_from(NAMES).map(cluster),
    ),
    min_size=1,
    max_size=4,
)


def beginning() -> Story:
    """Two clusters, a policy of each namespace, and quotas that refuse."""
    return story(
        cluster("a"),
        cluster("b"),
        policy(placement={"replicaScheduling": divided()}),
        policy("far", namespace="far"),
        quota("q", overall={"cpu": "3"}),
    ).put(configuration(karmada={"federatedQuotaEnforcement": True}), path="reconciler.yaml")


def edit(told: Story, bodies: list[Body], dropped: int) -> None:
    """Write what is drawn, and take a file away."""
    told.put(*bodies)
    files = sorted(one for one in told.inputs if one.startswith(("deployment/", "federated")))
    if dropped < len(files):
        del told.files[files[dropped]]


@settings(max_examples=60)
@given(st.lists(st.tuples(EDITS, st.integers(0, 9)), min_size=1, max_size=4))
def test_what_is_remembered_is_no_matter(steps: list[tuple[list[Body], int]]) -> None:
    """And what a pass leaves, the next one leaves."""
    told, memo = beginning(), Memo()
    for edited, dropped in steps:
        edit(told, edited, dropped)
        told.now += timedelta(seconds=1)

        told.files = applied(told.files, assert_equal(told.world(), told.now, memo))

        assert () == reconcile(told.world(), told.now).changes


@settings(max_examples=40)
@given(EDITS, EDITS)
def test_in_pieces_and_alone_it_is_the_same(first: list[Body], second: list[Body]) -> None:
    """A first pass is put together of pieces; a binding that a quota counts is not asked alone."""
    told = beginning().put(
        *(one for one in (*first, *second) if one["kind"] != "WorkloadRebalancer")
    )
    world = told.world()
    whole = reconcile(world, told.now)
    assert is_divisible(world)
    parts = [reconcile(one, told.now) for one in divide(world, 4)]

    assert told_of(whole) == told_of(join_outcomes(world, told.now, parts) or whole)

    alone = AskedAlone()
    for decision in whole.decisions:
        asked = alone.ask(world, decision.key, told.now)
        if decision.key.namespace == "default":
            assert isinstance(asked, DependsOnOthers)
        else:
            assert not isinstance(asked, DependsOnOthers)
            assert [decision] == [one for one in asked.decisions if one.key == decision.key]


def test_a_quota_is_asked_alone_where_nothing_is_enforced() -> None:
    """It reads what clusters report of it, and no binding."""
    told = story(cluster("a"), policy(), deployment(), quota(overall={"cpu": "1"}))
    key = ObjectKey("policy.karmada.io", "FederatedResourceQuota", "default", "quota")
    world = told.world()

    part = AskedAlone().part(world, key)

    assert not isinstance(part, DependsOnOthers)
    path = "status/federatedresourcequotas.policy.karmada.io/default/quota.yaml"
    changes = {one.path: one for one in reconcile(part, told.now).changes}
    assert changes[path] in reconcile(world, told.now).changes


def with_memory(told: Story, memo: Memo) -> None:
    """Run a pass that remembers, held against one that does not."""
    told.now += timedelta(seconds=1)
    told.files = applied(told.files, assert_equal(told.world(), told.now, memo))


def test_what_is_refused_is_looked_at_once_the_quota_alone_is_another() -> None:
    """Nothing else of the binding changes."""
    told, memo = beginning().put(deployment("a", cpu="2")), Memo()
    with_memory(told, memo)
    with_memory(told, memo)
    assert {} == told.placed("a-deployment")

    told.put(quota("q", overall={"cpu": "4"}))
    with_memory(told, memo)

    assert {"a": 1, "b": 1} == told.placed("a-deployment")


def test_what_is_refused_comes_before_what_has_a_greater_key() -> None:
    """What the first one gives back is for the second, not for the third that comes now."""
    told, memo = beginning(), Memo()
    told.put(deployment("a", cpu="1", replicas=3), deployment("b", cpu="1"))
    with_memory(told, memo)
    with_memory(told, memo)
    assert {} == told.placed("b-deployment")

    told.put(deployment("a", cpu="1", replicas=1), deployment("c", cpu="1"))
    with_memory(told, memo)

    assert [{"a": 1, "b": 1}, {}] == [told.placed("b-deployment"), told.placed("c-deployment")]


FOLDERS: Body = {"folders": {}}
ASSIGNED_FILE = "delivery/{}/default/resourcequotas/quota.yaml"


def assignment(name: str, cpu: str) -> Body:
    """What one cluster may use."""
    return {"clusterName": name, "hard": {"cpu": cpu}}


def assigned(*assignments: Body) -> Body:
    """A quota with static assignments."""
    return quota(overall={"cpu": "10"}, staticAssignments=list(assignments))


def delivered(*bodies: Body, delivery: Body = FOLDERS) -> Story:
    """Two clusters, and folders for them."""
    told = story(cluster("a"), cluster("b"), configuration(delivery=delivery), *bodies)
    told.run(0)
    return told


def body_at(told: Story, path: str) -> Body:
    """The body of a delivered file."""
    [document] = read(told.files[path].encode(), path).documents
    return document.body


def report(told: Story, name: str, used: Body, hard: Body) -> None:
    """Have a cluster report its ResourceQuota."""
    body = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "quota", "namespace": "default"},
        "status": {"hard": hard, "used": used},
    }
    told.files[f"feedback/{name}/quota.yaml"] = text(body)


def test_a_cluster_gets_the_resource_quota_that_is_assigned_to_it() -> None:
    """Others get none, nor does one that is not there."""
    told = delivered(assigned(assignment("a", "6"), assignment("gone", "1")))

    found = body_at(told, ASSIGNED_FILE.format("a"))

    assert ("v1", "ResourceQuota") == (found["apiVersion"], found["kind"])
    assert {"hard": {"cpu": "6"}} == found["spec"]
    assert "true" == mapping(mapping(found, "metadata"), "labels")["karmada.io/managed"]
    assert [ASSIGNED_FILE.format("a")] == [
        path for path in told.files if "/resourcequotas/" in path
    ]


def test_it_comes_with_its_cluster_changes_and_goes_with_the_assignment() -> None:
    """A pass that remembers delivers the same as one that does not."""
    told, memo = delivered(assigned(assignment("a", "6"), assignment("c", "4"))), Memo()
    kept = []
    for body in (
        cluster("c"),
        assigned(assignment("a", "5"), assignment("c", "4")),
        assigned(assignment("c", "4")),
    ):
        told.put(body)
        world = told.world()
        outcome = reconcile(world, told.now, memo=memo)
        assert told_of(reconcile(world, told.now)) == told_of(outcome)
        told.files = applied(told.files, outcome)
        kept.append(
            {
                name: mapping(body_at(told, ASSIGNED_FILE.format(name)), "spec")["hard"]
                for name in ("a", "b", "c")
                if ASSIGNED_FILE.format(name) in told.files
            }
        )

    assert [
        {"a": {"cpu": "6"}, "c": {"cpu": "4"}},
        {"a": {"cpu": "5"}, "c": {"cpu": "4"}},
        {"c": {"cpu": "4"}},
    ] == kept


def test_what_clusters_report_is_added_up() -> None:
    """Of those that have an assignment; without enforcement that is what is used."""
    told = story(cluster("a"), cluster("b"), cluster("c"))
    told.put(assigned(assignment("b", "4"), assignment("a", "6")))
    report(told, "a", used={"cpu": "1500m", "requests.memory": "1Gi"}, hard={"cpu": "6"})
    report(told, "b", used={"cpu": "2", "requests.memory": "512Mi"}, hard={"cpu": "4"})
    report(told, "c", used={"cpu": "9"}, hard={"cpu": "9"})
    told.run(0)

    assert {
        "overall": {"cpu": "10"},
        "overallUsed": {"cpu": "3500m", "requests.memory": "1536Mi"},
        "aggregatedStatus": [
            {
                "clusterName": "a",
                "hard": {"cpu": "6"},
                "used": {"cpu": "1500m", "requests.memory": "1Gi"},
            },
            {
                "clusterName": "b",
                "hard": {"cpu": "4"},
                "used": {"cpu": "2", "requests.memory": "512Mi"},
            },
        ],
    } == told.output(FILE)["status"]


def test_a_work_names_the_quota_that_it_is_of() -> None:
    """Upstream's controllers look for it by these labels."""
    works: Body = {"works": {"hubsWithoutControllers": True}}
    told = delivered(assigned(assignment("a", "6")), delivery=works)

    [path] = [one for one in told.files if one.startswith("works/") and "/quota-" in one]
    labels = mapping(mapping(body_at(told, path), "metadata"), "labels")

    assert "default" == labels["federatedresourcequota.karmada.io/namespace"]
    assert "quota" == labels["federatedresourcequota.karmada.io/name"]
