"""Placements in whole passes: when they are decided anew, and what is written."""

from datetime import timedelta
from typing import Any, cast

from reconciler.core.dialects import KINDS
from reconciler.core.inputs.admissions import ADMISSIONS
from reconciler.core.inputs.validation import Rules, validate_file
from reconciler.manifests.text.reader import read
from reconciler.model.decision import CauseKind
from tests.builders import text
from tests.dialects.ocm.worlds import (
    BY_SCORE,
    GROUP,
    at,
    binding,
    chosen,
    cluster,
    cluster_set,
    placement,
    run,
    score,
)
from tests.manifests.shipped_schemas import schemas

HUB = (cluster_set(), binding(), placement(numberOfClusters=1, prioritizerPolicy=BY_SCORE))
TAINT = {"key": "down", "effect": "NoSelect"}


def test_first_decision_is_written_with_its_status() -> None:
    """One decision object and the placement's status file, nothing for the cluster."""
    documents = [*HUB, cluster("a"), cluster("b"), score("a", 1), score("b", 9)]
    files, outcome = run(documents, {}, at(0))

    assert ["b"] == chosen(files)
    assert [
        f"status/placementdecisions.{GROUP}/ns1/p-decision-1.yaml",
        f"status/placements.{GROUP}/ns1/p.yaml",
        "status/reconciler.yaml",
    ] == sorted(files)
    assert [CauseKind.CREATED] == [decision.cause.kind for decision in outcome.decisions]


def test_nothing_to_do_makes_no_change() -> None:
    """The same world later is left alone."""
    documents = [*HUB, cluster("a"), cluster("b"), score("b", 9)]
    files, _ = run(documents, {}, at(0))

    assert () == run(documents, files, at(0))[1].changes
    assert () == run(documents, files, at(1000))[1].changes


def test_taint_moves_the_decision_at_once() -> None:
    """A cluster that is no longer feasible is left in the same pass, and the cause says why."""
    before = [*HUB, cluster("a"), cluster("b"), score("b", 9)]
    files, _ = run(before, {}, at(0))
    after = [*HUB, cluster("a"), cluster("b", TAINT), score("b", 9)]
    files, outcome = run(after, files, at(1))

    assert ["a"] == chosen(files)
    [decision] = outcome.decisions
    assert CauseKind.EVICTED is decision.cause.kind
    assert "b: cluster(s) had untolerated taint {down:NoSelect}" == decision.cause.detail
    assert f"status/managedclusters.{GROUP}/b.yaml" in files


def test_score_change_waits_for_the_period() -> None:
    """Scores alone move a placement 300 seconds after its last decision, no sooner."""
    before = [*HUB, cluster("a"), cluster("b"), score("a", 1), score("b", 9)]
    files, _ = run(before, {}, at(0))
    after = [*HUB, cluster("a"), cluster("b"), score("a", 10), score("b", 9)]
    _, early = run(after, files, at(299))
    moved, late = run(after, files, at(300))

    assert ((), at(300)) == (early.changes, early.recheck_at)
    assert ["a"] == chosen(moved)
    assert [CauseKind.SCORES_CHANGED] == [decision.cause.kind for decision in late.decisions]


def test_score_change_after_the_period_is_taken_at_once() -> None:
    """The period runs from the last decision, not from the change of the score."""
    files, _ = run([*HUB, cluster("a"), cluster("b"), score("b", 9)], {}, at(0))
    after = [*HUB, cluster("a"), cluster("b"), score("a", 10), score("b", 9)]

    assert ["a"] == chosen(run(after, files, at(5000))[0])


def test_period_of_zero_takes_scores_at_once() -> None:
    """`spec.ocm.resyncSeconds: 0` is upstream's behaviour."""
    settings = {
        "apiVersion": "reconciler.dev/v1alpha1",
        "kind": "ReconcilerConfiguration",
        "metadata": {"name": "reconciler"},
        "spec": {"ocm": {"resyncSeconds": 0}},
    }
    hub = [*HUB, settings, cluster("a"), cluster("b")]
    files, _ = run([*hub, score("b", 9)], {}, at(0))

    assert ["a"] == chosen(run([*hub, score("b", 9), score("a", 10)], files, at(1))[0])


def test_expiry_of_a_score_is_a_change_of_scores() -> None:
    """The pass says when a score runs out; that is told at once, and moves after the period."""
    until = (at(0) + timedelta(seconds=60)).isoformat()
    documents = [*HUB, cluster("a"), cluster("b"), score("a", 1), score("b", 9, validUntil=until)]
    files, outcome = run(documents, {}, at(0))

    assert at(61) == outcome.recheck_at
    assert () == run(documents, files, at(60))[1].changes
    told, outcome = run(documents, files, at(61))
    assert (["score-expired"], at(300)) == ([f.rule for f in outcome.faults], outcome.recheck_at)
    assert ["b"] == chosen(told)
    assert () == run(documents, told, at(299))[1].changes
    assert ["a"] == chosen(run(documents, told, at(300))[0])


def test_end_of_a_toleration_is_foreseen() -> None:
    """A tainted cluster is kept as long as it is tolerated."""
    tolerations = [{"key": "down", "operator": "Exists", "tolerationSeconds": 60}]
    policy = placement(numberOfClusters=1, prioritizerPolicy=BY_SCORE, tolerations=tolerations)
    hub = [cluster_set(), binding(), policy, cluster("a"), score("b", 9)]
    files, _ = run([*hub, cluster("b")], {}, at(0))
    files, outcome = run([*hub, cluster("b", TAINT)], files, at(10))

    assert (["b"], at(70)) == (chosen(files), outcome.recheck_at)
    assert () == run([*hub, cluster("b", TAINT)], files, at(69))[1].changes
    assert ["a"] == chosen(run([*hub, cluster("b", TAINT)], files, at(70))[0])


def test_oscillating_placement_keeps_its_decision() -> None:
    """A negative weight for Steady would move the placement at each look."""
    policy = {"mode": "Exact", "configurations": [_built_in("Steady", -1)]}
    hub = [cluster_set(), binding(), cluster("a"), cluster("b")]
    files, _ = run([*hub, placement(numberOfClusters=1)], {}, at(0))
    wild = [*hub, placement(numberOfClusters=1, prioritizerPolicy=policy)]
    after, outcome = run(wild, files, at(1))

    assert ["a"] == chosen(after)
    assert {"oscillates"} == {fault.rule for fault in outcome.faults}


def test_placements_see_those_before_them() -> None:
    """Two placements of one pass are balanced over two clusters."""
    hub = [cluster_set(), binding(), cluster("a"), cluster("b")]
    documents = [*hub, placement("p", numberOfClusters=1), placement("q", numberOfClusters=1)]
    files, _ = run(documents, {}, at(0))

    assert (["a"], ["b"]) == (chosen(files, "p"), chosen(files, "q"))


def test_edited_decision_counts_as_the_previous_one() -> None:
    """A person's edit is told once; Steady then holds on to it."""
    hub = [cluster_set(), binding(), cluster("a"), cluster("b"), placement(numberOfClusters=1)]
    files, _ = run(hub, {}, at(0))
    path = f"status/placementdecisions.{GROUP}/ns1/p-decision-1.yaml"
    files[path] = files[path].replace("clusterName: a", "clusterName: b")
    files, outcome = run(hub, files, at(1))

    assert (["b"], ["p-decision-1"]) == (chosen(files), [key.name for key in outcome.edited])
    assert () == run(hub, files, at(2))[1].changes


def test_removed_placement_takes_its_files_along() -> None:
    """Nothing is left but the record of the pass."""
    hub = [cluster_set(), binding(), cluster("a")]
    files, _ = run([*hub, placement()], {}, at(0))
    files, outcome = run(hub, files, at(1))

    assert ["status/reconciler.yaml"] == sorted(files)
    assert [True] == [decision.removed for decision in outcome.decisions]


def test_unavailable_cluster_is_left() -> None:
    """The hub taints a cluster whose Available condition is not True."""
    lost = {"conditions": [{"type": "ManagedClusterConditionAvailable", "status": "Unknown"}]}
    hub = [cluster_set(), binding(), cluster("b"), placement(numberOfClusters=1)]
    files, _ = run([*hub, cluster("a")], {}, at(0))

    assert ["a"] == chosen(files)
    assert ["b"] == chosen(run([*hub, cluster("a", status=lost)], files, at(1))[0])


def test_global_set_stands_on_every_hub() -> None:
    """A binding to `global` offers every cluster, without a manifest of the set."""
    files, _ = run([binding("global"), cluster("a"), placement()], {}, at(0))

    assert ["a"] == chosen(files)


def test_every_file_satisfies_its_schema() -> None:
    """What a pass writes, the next one can read."""
    files, _ = run([*HUB, cluster("a"), cluster("b", TAINT), score("b", 9)], {}, at(0))
    rules = Rules(schemas(), ADMISSIONS, KINDS, status_only=True)
    found = [validate_file(path, "", text.encode(), rules) for path, text in files.items()]

    assert [] == [broken.fault for inspection in found for broken in inspection.broken]
    assert len(files) == sum(len(inspection.documents) for inspection in found)


def _built_in(name: str, weight: int) -> dict[str, object]:
    coordinate = {"type": "BuiltIn", "builtIn": name}
    return {"scoreCoordinate": coordinate, "weight": weight}


def test_conditions_keep_their_order() -> None:
    """A status file in which they stand the other way round is written on that way."""
    name = f"status/placements.{GROUP}/ns1/p.yaml"
    documents = [*HUB, cluster("a"), score("a", 1)]
    files, _ = run(documents, {}, at(0))
    body = cast(dict[str, Any], read(files[name].encode(), name).documents[0].body)
    body["status"]["conditions"].reverse()
    turned = [condition["type"] for condition in body["status"]["conditions"]]
    files, _ = run([*HUB, cluster("a", TAINT)], {**files, name: text(body)}, at(1))
    body = cast(dict[str, Any], read(files[name].encode(), name).documents[0].body)

    assert ["PlacementSatisfied", "PlacementMisconfigured"] == turned
    assert turned == [condition["type"] for condition in body["status"]["conditions"]]
