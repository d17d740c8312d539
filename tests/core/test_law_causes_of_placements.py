"""Law 13 for placements of both other APIs: edits and rebalancers, together and in turn."""

from datetime import timedelta

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from reconciler.core.reconcile import reconcile
from reconciler.model.decision import CauseKind, Decision
from tests.builders import Body, rebalancer
from tests.core.test_law_causes import placed_by
from tests.core.test_law_joined_placements import HUBS, WEB, both
from tests.core.test_laws import LAW
from tests.dialects.kubefleet.fleet import member, pick
from tests.dialects.kubefleet.fleet import placement as fleet_placement
from tests.dialects.kubefleet.test_rebalance import ALL_AT_ONCE, PREFER_NEW
from tests.dialects.ocm.test_rebalance import STEADY
from tests.dialects.ocm.worlds import cluster, placement, score
from tests.stories import Story, applied

pytestmark = pytest.mark.cpu_seconds(60)  # many examples of whole passes

DOWN: Body = {"key": "down", "effect": "NoSelect"}
KEPT_AWAY: Body = {"key": "down", "effect": "NoSchedule"}
placements = st.sampled_from((0, 1, 2)).map(
    lambda n: placement(numberOfClusters=n, prioritizerPolicy=STEADY)
) | st.sampled_from((0, 1, 2)).map(
    lambda n: fleet_placement(pick(n, **PREFER_NEW), strategy=ALL_AT_ONCE)
)
names = st.sampled_from("ab")
clusters = st.one_of(
    st.builds(score, names, st.sampled_from((-50, 0, 50, 90))),
    st.builds(cluster, names) | st.builds(lambda name: cluster(name, DOWN), names),
    st.builds(
        member,
        names,
        labels=st.sampled_from(({}, {"new": "yes"})),
        taints=st.sampled_from(([], [KEPT_AWAY])),
    ),
)
demands = st.sampled_from((rebalancer("r", HUBS, WEB), rebalancer("s", WEB), rebalancer("t", HUBS)))
steps = st.lists(
    st.tuples(
        st.lists(placements | clusters, max_size=3),
        st.lists(demands, max_size=2),
    ),
    min_size=2,
    max_size=5,
)
NAMED: dict[CauseKind, str] = {
    CauseKind.PLACEMENT_CHANGED: "placement",
    CauseKind.REBALANCED: "rebalancer",
    CauseKind.EVICTED: "clusters",
    CauseKind.CLUSTER_GONE: "clusters",
    CauseKind.CLUSTERS_CHANGED: "clusters",
    CauseKind.SCORES_CHANGED: "clusters",
}


def whose(path: str) -> str:
    """Whose edit the edit of a file is."""
    kind = path.partition("/")[0]
    if kind == "workloadrebalancer":
        return "rebalancer"
    return "placement" if kind in ("placement", "clusterresourceplacement") else "clusters"


def without(told: Story, before: dict[str, str], taken_back: set[str]) -> Story:
    """The repository with the files of some as they were before."""
    known = {path: data for path, data in before.items() if whose(path) in taken_back}
    files = {path: data for path, data in told.files.items() if whose(path) not in taken_back}
    outputs = {path: data for path, data in told.files.items() if path.startswith("status/")}
    return Story(files={**files, **known, **outputs}, trees=dict(told.trees), now=told.now)


def assert_caused(told: Story, before: dict[str, str], decision: Decision) -> None:
    """Hold a decision against what the same pass decides with some edits taken back."""
    named = {NAMED[kind] for kind in decision.cause.kinds}
    inputs = told.inputs
    edited = {whose(path) for path in inputs if inputs[path] != before.get(path)}
    if named & edited:  # time alone cannot be taken back
        assert decision.after != placed_by(without(told, before, named), decision)
    others = {"placement", "rebalancer", "clusters"} - named
    assert decision.after == placed_by(without(told, before, others), decision)


@settings(LAW, max_examples=100)
@given(steps)
def test_the_cause_of_a_placement_is_the_cause(
    edits: list[tuple[list[Body], list[Body]]],
) -> None:
    """Rebalancers, with edits of the placement or of its clusters in the same pass."""
    told = both()
    told.run(0)
    for people, asking in edits:
        before = dict(told.files)
        told.put(*people, *asking)
        told.now += timedelta(seconds=400)
        outcome = reconcile(told.world(), told.now)
        for decision in outcome.decisions:
            if decision.before and decision.before != decision.after:
                event(str(decision.cause.kind))
                assert_caused(told, before, decision)
        told.files = applied(told.files, outcome)


def test_a_rebalance_that_something_else_would_do_names_both() -> None:
    """The placement leaves a cluster that is tainted, whether a rebalancer asks or not."""
    told = both()
    told.run(0)
    told.put(cluster("a", DOWN), rebalancer("t", HUBS), member("a", taints=[KEPT_AWAY]))
    causes = {str(one.cause) for one in told.run(10).decisions}

    why = "evicted (a: cluster(s) had untolerated taint {down:NoSelect})"
    assert {f"rebalanced (WorkloadRebalancer t), {why}", "clusters changed"} >= causes
    assert f"rebalanced (WorkloadRebalancer t), {why}" in causes
