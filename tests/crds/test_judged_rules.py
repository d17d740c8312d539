"""CEL rules of KubeFleet's kinds that are judged only, evaluated, against our functions."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.model.body import Body
from tests.crds.agreement import disagreements, unbroken
from tests.crds.kubefleet_rules import JUDGED, judged, override_filled, run_filled

NAMES = st.sampled_from(["a", "b"])
VERSIONS = st.sampled_from(["v1alpha1", "v1beta1", "v1"])
LIMITS = st.sampled_from([-1, 0, 3, "", "0%", "100%", "101%", "x"])
TASKS = st.lists(
    st.fixed_dictionaries(
        {"type": st.sampled_from(["Approval", "TimedWait"])},
        optional={"waitTime": st.just("1h")},
    ),
    max_size=2,
)
OVERRIDES = st.builds(
    override_filled,
    st.fixed_dictionaries(
        {},
        optional={
            "placement": st.fixed_dictionaries(
                {"name": NAMES}, optional={"scope": st.sampled_from(["Cluster", "Namespaced"])}
            )
        },
    ),
)
BUDGETS: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {}, optional={"maxUnavailable": LIMITS, "minAvailable": LIMITS}
)
EVICTIONS = st.fixed_dictionaries({"placementName": NAMES, "clusterName": NAMES})
STRATEGIES = st.fixed_dictionaries(
    {
        "stages": st.lists(
            st.fixed_dictionaries(
                {},
                optional={
                    "beforeStageTasks": TASKS,
                    "afterStageTasks": TASKS,
                    "maxConcurrency": st.sampled_from([-1, 0, 1, "0%", "25%"]),
                },
            ),
            max_size=2,
        )
    }
)
OLD_RUNS = st.fixed_dictionaries(
    {"placementName": NAMES, "stagedRolloutStrategyName": NAMES},
    optional={"resourceSnapshotIndex": st.sampled_from(["1", "2"])},
)
RUNS = st.builds(
    lambda run, state: run_filled({**run, **state}),
    OLD_RUNS,
    st.fixed_dictionaries({}, optional={"state": st.sampled_from(["Initialize", "Run", "Stop"])}),
)
SPECS = (
    ("ClusterResourceOverride", OVERRIDES),
    ("ResourceOverride", OVERRIDES),
    ("ClusterResourcePlacementDisruptionBudget", BUDGETS),
    ("ClusterResourcePlacementEviction", EVICTIONS),
    ("ClusterStagedUpdateRun", RUNS),
    ("StagedUpdateRun", RUNS),
    ("ClusterStagedUpdateStrategy", STRATEGIES),
    ("StagedUpdateStrategy", STRATEGIES),
)


def specs_of(kind: str, version: str) -> st.SearchStrategy[Body]:
    """Specs of a kind in a version; a run of `v1alpha1` has no state."""
    return (
        OLD_RUNS if (kind, version) == ("ClusterStagedUpdateRun", "v1alpha1") else dict(SPECS)[kind]
    )


@pytest.mark.parametrize("kind", dict(SPECS))
@given(data=st.data(), version=VERSIONS)
def test_functions_answer_as_the_expressions_do(
    kind: str, data: st.DataObject, version: str
) -> None:
    """Whatever an object holds, new or edited."""
    specs = specs_of(kind, version)
    before, after = (judged(kind, data.draw(specs), version=version) for _ in range(2))
    is_new = data.draw(st.booleans())

    assert [] == disagreements({} if is_new else before, after)


@given(length=st.integers(1, 140), version=VERSIONS)
def test_names_of_runs_are_refused_as_the_expression_does(length: int, version: str) -> None:
    """At the length of their version."""
    run = judged("ClusterStagedUpdateRun", {}, version=version, name="a" * length)

    assert [] == disagreements({}, run)


def override(placement: str, **more: str) -> Body:
    """An override for a placement."""
    spec = override_filled({"placement": {"name": placement, **more}})
    return judged("ClusterResourceOverride", spec)


def budget(**limits: object) -> Body:
    """A budget with these limits."""
    return judged("ClusterResourcePlacementDisruptionBudget", limits)


def eviction(placement: str, cluster: str) -> Body:
    """An eviction."""
    spec = {"placementName": placement, "clusterName": cluster}
    return judged("ClusterResourcePlacementEviction", spec)


def run(version: str = "v1", name: str = "web", **spec: str) -> Body:
    """A run."""
    named = {"placementName": "a", "stagedRolloutStrategyName": "a", **spec}
    return judged("ClusterStagedUpdateRun", named, version=version, name=name)


def request(stage: str) -> Body:
    """An approval of a stage."""
    spec = {"parentStageRollout": "web", "targetStage": stage}
    return judged("ClusterApprovalRequest", spec)


def stage(**fields: object) -> Body:
    """A strategy of one stage."""
    return judged("ClusterStagedUpdateStrategy", {"stages": [fields]})


APPROVAL, WAIT = {"type": "Approval", "waitTime": "1h"}, {"type": "TimedWait"}
BROKEN: Sequence[tuple[Body, Body]] = (
    ({}, override("a", scope="Namespaced")),
    (override("a"), override("b")),
    ({}, budget(maxUnavailable=1, minAvailable=1)),
    ({}, budget(maxUnavailable=-1)),
    ({}, budget(minAvailable="101%")),
    (eviction("a", "b"), eviction("b", "b")),
    (eviction("a", "b"), eviction("a", "a")),
    (request("canary"), request("prod")),
    ({}, run(name="a" * 64)),
    ({}, run("v1alpha1", name="a" * 128)),
    (run(state="Initialize"), run(state="Stop")),
    (run(state="Run"), run(state="Initialize")),
    (run(state="Stop"), run(state="Initialize")),
    (run(), run(placementName="b")),
    (run(), run(stagedRolloutStrategyName="b")),
    (run(resourceSnapshotIndex="1"), run(resourceSnapshotIndex="2")),
    (run("v1alpha1"), run("v1alpha1", resourceSnapshotIndex="1")),
    ({}, stage(beforeStageTasks=[APPROVAL])),
    ({}, stage(beforeStageTasks=[WAIT])),
    ({}, stage(afterStageTasks=[APPROVAL])),
    ({}, stage(afterStageTasks=[WAIT])),
    ({}, stage(maxConcurrency=0)),
)
"""Objects before and after: each breaks a rule of its own."""


@pytest.mark.parametrize(("before", "after"), BROKEN)
def test_broken_rules_are_refused(before: Body, after: Body) -> None:
    """By the function and by the expression."""
    assert [] == disagreements(before, after)


def test_each_rule_can_be_broken() -> None:
    """A rule that always holds would be compared in vain."""
    assert set() == unbroken(JUDGED, BROKEN)
