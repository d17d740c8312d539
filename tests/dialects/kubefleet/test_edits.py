"""What people do to KubeFleet's outputs: an edit of a decision counts, any other is restored."""

import re

import pytest

from tests.builders import Body, configmap, deployment
from tests.dialects.kubefleet.fleet import (
    BINDINGS,
    PLACEMENTS,
    POLICIES,
    RESOURCES,
    condition,
    fixed,
    member,
    path_of_binding,
    pick,
    placement,
    states,
)
from tests.stories import Story, story

ALL_AT_ONCE = {"rollingUpdate": {"maxUnavailable": "100%", "maxSurge": "100%"}}


def placed_story(policy: Body | None = None) -> Story:
    """Web on c and d of four clusters, settled."""
    wanted = pick(2) if policy is None else policy
    told = story(*(member(name) for name in "abcd"), placement(wanted, strategy=ALL_AT_ONCE))
    told.put(deployment())
    for seconds in (0, 60, 120):
        told.run(seconds)
    return told


def replaced(told: Story, path: str, old: str, new: str) -> Story:
    """Replace a text in a file."""
    assert old in told.files[path]
    told.files[path] = told.files[path].replace(old, new)
    return told


def test_an_edit_of_the_target_is_the_previous_assignment() -> None:
    """PickN has as many clusters as it wants, so nothing moves; it is reported once."""
    told = placed_story()
    path = path_of_binding(told, "d")
    outcome = replaced(told, path, "targetCluster: d", "targetCluster: a").run(200)

    assert {"a": "Bound", "c": "Bound"} == states(told)
    assert [path] == [told.world().outputs[key].origin.path for key in outcome.edited]
    assert () == told.run(201).edited
    assert "was chosen by hand" in told.files[path]
    assert "True" == condition(told, "Scheduled")["status"]
    assert {"a": "Bound", "c": "Bound"} == states(told)


def test_resources_of_an_edited_target_count_from_the_edit() -> None:
    """The new cluster is silent for a minute before it counts as available."""
    told = placed_story()
    replaced(told, path_of_binding(told, "d"), "targetCluster: d", "targetCluster: a").run(200)
    assert "Unknown" == condition(told, "Applied")["status"]
    told.run(260)

    assert "True" == condition(told, "Available")["status"]


def test_an_edit_onto_a_cluster_that_has_it_already_frees_a_place() -> None:
    """The scheduler fills the place from the edited assignment on."""
    told = placed_story()
    path = path_of_binding(told, "d")
    outcome = replaced(told, path, "targetCluster: d", "targetCluster: c").run(200)

    assert {"c": "Bound", "d": "Bound"} == states(told)
    assert () == outcome.faults


def test_a_target_that_is_no_cluster_is_replaced() -> None:
    """The binding dangles, and PickN takes another cluster."""
    told = placed_story()
    outcome = replaced(
        told, path_of_binding(told, "d"), "targetCluster: d", "targetCluster: nowhere"
    ).run(200)

    assert {"c": "Bound", "d": "Bound"} == states(told)
    assert () == outcome.faults


def test_an_unscheduled_binding_is_taken_back_by_the_rules() -> None:
    """PickN lacks a cluster then, and the best of the others is the same one."""
    told = placed_story()
    outcome = replaced(told, path_of_binding(told, "d"), "state: Bound", "state: Unscheduled")
    result = outcome.run(200)

    assert {"c": "Bound", "d": "Bound"} == states(told)
    assert 1 == len(result.edited)
    assert () == result.faults


@pytest.mark.parametrize(
    ("folder", "old", "new"),
    [
        pytest.param(BINDINGS, "parent-CRP: web", "parent-CRP: other", id="owner"),
        pytest.param(BINDINGS, "scheduler-crb-cleanup", "else", id="finalizer"),
        pytest.param(BINDINGS, "SnapshotName: web-0\n", "SnapshotName: web-3\n", id="policy"),
        pytest.param(BINDINGS, "Name: web-0-snapshot", "Name: web-9-snapshot", id="resources"),
        pytest.param(BINDINGS, "affinityScore: 0", "affinityScore: 9", id="score"),
        pytest.param(BINDINGS, "type: WorkSynchronized", "type: Odd", id="condition"),
        pytest.param(BINDINGS, "reason: RolloutStarted", "reason: Odd", id="words"),
        pytest.param(POLICIES, 'policy-index: "0"', 'policy-index: "7"', id="index"),
        pytest.param(POLICIES, 'is-latest-snapshot: "true"', 'x: "true"', id="latest"),
        pytest.param(POLICIES, 'number-of-clusters: "2"', 'number-of-clusters: "x"', id="number"),
        pytest.param(POLICIES, "placementType: PickN", "placementType: PickAll", id="type"),
        pytest.param(POLICIES, "policyHash: ", "policyHash: QUJD", id="hash"),
        pytest.param(RESOURCES, "hash: de", "hash: ed", id="resource"),
        pytest.param(RESOURCES, 'resource-hash: "', 'resource-hash: "0', id="resource-hash"),
        pytest.param(RESOURCES, "document: 0", "document: 3", id="document"),
        pytest.param(PLACEMENTS, "Applied", "Odd", id="placement-condition"),
        pytest.param(PLACEMENTS, "clusterName: c", "clusterName: z", id="placement-cluster"),
        pytest.param(PLACEMENTS, "found 2 cluster(s)", "found 9", id="placement-message"),
    ],
)
def test_any_other_edit_is_restored(folder: str, old: str, new: str) -> None:
    """Nothing moves, nobody is told of a decision, and the file is what it was."""
    told = placed_story()
    before = dict(told.files)
    edited = [p for p in told.outputs if p.startswith(folder) and old in told.files[p]]
    for path in edited:
        replaced(told, path, old, new)
    outcome = told.run(200)

    assert edited
    assert ((), (), ()) == (outcome.edited, outcome.decisions, outcome.faults)
    assert undated(before) == undated(told.files)


def undated(files: dict[str, str]) -> dict[str, str]:
    """Files without moments and without the generations that an edit and its undoing count."""
    pattern = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ|[gG]eneration: \d+")
    return {p: pattern.sub("", f) for p, f in files.items() if p != "status/reconciler.yaml"}


def test_edited_decisions_of_a_snapshot_are_made_anew() -> None:
    """They say what the bindings say."""
    told = placed_story()
    path = f"{POLICIES}/web-0.yaml"
    replaced(told, path, "picked by", "seen by").run(200)

    assert "seen by" not in told.files[path]
    assert {"c": "Bound", "d": "Bound"} == states(told)


@pytest.mark.parametrize("folder", [BINDINGS, POLICIES, RESOURCES, PLACEMENTS])
def test_a_lost_file_is_written_again(folder: str) -> None:
    """The clusters are those that the policy names, as before."""
    told = placed_story(fixed("b", "c"))
    path = next(path for path in told.outputs if path.startswith(folder))
    before = told.files.pop(path)
    outcome = told.run(200)
    told.run(300)

    assert () == outcome.faults
    assert {"b": "Bound", "c": "Bound"} == states(told)
    assert before.splitlines()[0] == told.files[path].splitlines()[0]


def test_a_lost_policy_snapshot_moves_nothing() -> None:
    """The bindings of a snapshot that is made anew under its old name are not of an earlier one."""
    told = placed_story()
    told.put(member("z"))
    del told.files[f"{POLICIES}/web-0.yaml"]
    told.run(200)

    assert {"c": "Bound", "d": "Bound"} == states(told)


def test_a_revert_of_a_decision_is_a_rollback() -> None:
    """The earlier files come back whole, their digests with them: nothing is left to do."""
    told = placed_story()
    before = told.outputs
    replaced(told, path_of_binding(told, "d"), "targetCluster: d", "targetCluster: a").run(200)
    assert {"a", "c"} == set(states(told))
    told.files = told.inputs | before
    outcome = told.run(300)

    assert {"c": "Bound", "d": "Bound"} == states(told)
    assert () == outcome.edited


def test_a_revert_against_the_manifests_is_decided_again() -> None:
    """The policy still asks for one cluster, so the rules restore what was reverted."""
    told = placed_story()
    before = told.outputs
    told.put(placement(pick(1), strategy=ALL_AT_ONCE), configmap())
    told.run(200)
    assert {"d": "Bound"} == states(told)
    told.files = told.inputs | before
    told.run(300)

    assert {"d": "Bound"} == states(told)
