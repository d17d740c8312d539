"""Laws of passes under quotas: what is remembered, and in which pieces they are, is no matter."""

from datetime import timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from reconciler.core.asked import AskedAlone
from reconciler.core.divided import divide, is_divisible, join_outcomes
from reconciler.core.reconcile import Memo, reconcile
from reconciler.dialects.contract import DependsOnOthers
from reconciler.model.body import Body
from reconciler.model.identity import ObjectKey
from tests.builders import (
    cluster,
    configuration,
    deployment,
    divided,
    policy,
    quota,
    rebalancer,
    target,
)
from tests.core.test_memo_law import assert_equal, told_of
from tests.stories import Story, applied, story

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
