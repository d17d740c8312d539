"""Law 13: the cause is the cause, for chains of edits, several in one pass.

The same pass (same state, same moment) without what a decision names changes that decision; with
that alone it is the same. What a cause stands for is taken back in the files.
"""

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from reconciler.core.reconcile import reconcile
from reconciler.model.decision import Cause, CauseKind, Decision, Placed
from tests.builders import (
    DYNAMIC,
    Body,
    cluster,
    cluster_status,
    configuration,
    deployment,
    divided,
    groups,
    path_of,
    policy,
    rebalancer,
    taint,
    target,
)
from tests.core.test_laws import LAW
from tests.stories import Story, applied, story

pytestmark = pytest.mark.cpu_seconds(60)  # many examples of whole passes

NAMES = ("api", "web")
PLACEMENTS: tuple[Body, ...] = (
    {},
    {"clusterAffinity": {"clusterNames": ["a", "b"]}},
    {"clusterAffinity": {"clusterNames": ["b", "c"]}},
    {"replicaScheduling": DYNAMIC},
    {"replicaScheduling": {"replicaSchedulingType": "Duplicated"}},
    groups(["a"], ["b"]),
    groups(["a"], ["b"], replicaScheduling=DYNAMIC),
    {"replicaScheduling": divided("Aggregated")},
)
FILES: dict[str, tuple[str, ...]] = {
    "workload": tuple(path_of(deployment(name)) for name in NAMES),
    "policy": (path_of(policy()),),
    "rebalancer": (path_of(rebalancer()), path_of(rebalancer("more"))),
    "clusters": tuple(path_of(cluster(name)) for name in "abc"),
}
"""What people edit, and in which files."""
NAMED: dict[CauseKind, str] = {
    CauseKind.REPLICAS_CHANGED: "workload",
    CauseKind.REQUESTS_CHANGED: "workload",
    CauseKind.PLACEMENT_CHANGED: "policy",
    CauseKind.REBALANCED: "rebalancer",
    CauseKind.EVICTED: "clusters",
    CauseKind.CLUSTER_GONE: "clusters",
    CauseKind.CLUSTERS_CHANGED: "clusters",
}
"""Whose edit a cause stands for."""

clusters = st.builds(
    cluster,
    st.sampled_from("abc"),
    taints=st.sampled_from(([], [], [taint()], [taint(effect="NoExecute")])),
    status=st.sampled_from((cluster_status(pods=100), cluster_status(pods=3))),
)
workloads = st.builds(
    deployment,
    st.sampled_from(NAMES),
    replicas=st.sampled_from((1, 2, 4, 5)),
    cpu=st.sampled_from(("", "", "500m")),
)
policies = st.sampled_from(PLACEMENTS).map(lambda placement: policy(placement=placement))
demands = st.sampled_from(
    (rebalancer(), rebalancer("demo", target(name="api"), target()), rebalancer("more"))
)
steps = st.lists(
    st.tuples(
        st.lists(st.one_of(workloads, policies, demands), min_size=1, max_size=4),
        st.lists(clusters, max_size=1),
    ),
    min_size=1,
    max_size=4,
)


def with_files_of(told: Story, before: dict[str, str], *whose: str) -> Story:
    """The repository with the files of some as they were before."""
    files = dict(told.files)
    for path in (path for name in whose for path in FILES[name]):
        files.pop(path, None)
        if path in before:
            files[path] = before[path]
    return Story(files=files, trees=dict(told.trees), now=told.now)


def placed_by(told: Story, decision: Decision) -> Placed:
    """Where a pass over these files has an object."""
    outcome = reconcile(told.world(), told.now)
    found = next((one for one in outcome.decisions if one.key == decision.key), None)
    return decision.before if found is None else found.after


def assert_caused(told: Story, before: dict[str, str], decision: Decision) -> None:
    """Hold a decision against what the same pass decides with some edits taken back."""
    named = {NAMED[kind] for kind in decision.cause.kinds}
    edited = {
        name
        for name, paths in FILES.items()
        if any(told.files.get(p) != before.get(p) for p in paths)
    }
    if "clusters" not in named or "clusters" in edited:  # time alone cannot be taken back
        assert decision.after != placed_by(with_files_of(told, before, *named), decision)
    others = set(FILES) - named
    assert decision.after == placed_by(with_files_of(told, before, *others), decision)


def run(told: Story, before: dict[str, str]) -> None:
    """Run a pass, and hold what it moved to the law."""
    outcome = reconcile(told.world(), told.now)
    for decision in outcome.decisions:
        if decision.before and decision.before != decision.after:
            event(str(decision.cause.kind))
            assert_caused(told, before, decision)
    told.files = applied(told.files, outcome)


@settings(LAW, max_examples=150)
@given(policies, steps)
def test_the_cause_is_the_cause(first: Body, edits: list[tuple[list[Body], list[Body]]]) -> None:
    """Of workloads, policies, rebalancers and clusters, edited together and one after the other."""
    told = story(*(cluster(name, status=cluster_status(pods=100)) for name in "abc"), first)
    told.put(*map(deployment, NAMES))
    told.put(configuration(feedback={"assumeAfterSeconds": None}), path="reconciler.yaml")
    told.run(0)
    for people, fleet in edits:
        before = dict(told.files)
        told.put(*people, *fleet)
        told.now += timedelta(seconds=7)
        run(told, before)


@pytest.mark.parametrize(
    ("placement", "edit", "expected"),
    [
        pytest.param({}, deployment(replicas=5), "replicas changed", id="no-replica-scheduling"),
        pytest.param(
            {"replicaScheduling": DYNAMIC}, deployment(replicas=5), "replicas changed", id="divided"
        ),
        pytest.param(
            {},
            policy(placement=PLACEMENTS[1]),
            "placement changed",
            id="no-replica-scheduling-policy",
        ),
        pytest.param({}, cluster("d"), "clusters changed", id="a-new-cluster"),
    ],
)
def test_an_edit_alone_is_the_cause(placement: Body, edit: Body, expected: str) -> None:
    """Whatever rule of the scheduler it was that looked at the binding."""
    told = story(*map(cluster, "abc"), policy(placement=placement), deployment())
    told.run(0)
    [decision] = told.put(edit).run(10).decisions

    assert expected == str(decision.cause)


def test_edits_that_suffice_each_are_both_named() -> None:
    """So are those that are needed together; what changes nothing is not."""
    told = story(*map(cluster, "abc"), policy(placement=PLACEMENTS[1]), deployment())
    told.run(0)
    told.put(deployment(replicas=5), policy(placement=PLACEMENTS[2]))
    [together] = told.run(10).decisions
    told.put(deployment(replicas=2, labels={"app": "web"}), policy(placement=PLACEMENTS[2]))
    [alone] = told.run(20).decisions

    assert ("placement changed, replicas changed", "replicas changed") == (
        str(together.cause),
        str(alone.cause),
    )


def test_this_law_can_be_broken() -> None:
    """A decision that names something else, or too little, does not hold."""
    told = story(*map(cluster, "abc"), policy(placement=PLACEMENTS[1]), deployment())
    told.run(0)
    before = dict(told.files)
    told.put(deployment(replicas=5), policy(placement=PLACEMENTS[2]))
    told.now += timedelta(seconds=7)
    [decision] = reconcile(told.world(), told.now).decisions
    assert_caused(told, before, decision)

    for kind in (CauseKind.REPLICAS_CHANGED, CauseKind.REBALANCED):
        with pytest.raises(AssertionError):
            assert_caused(told, before, replace(decision, cause=Cause(kind)))
