"""Sets of ManifestWorks in passes: where they go, how fast, and what is said of them."""

from typing import cast

import pytest

from reconciler.model.decision import CauseKind
from tests.builders import Body, configuration
from tests.dialects.ocm.sets import (
    STATUS,
    condition,
    fleet,
    progressive,
    replica_set,
    report,
    settings_map,
    succeed,
    templates,
)
from tests.dialects.ocm.worlds import cluster, placement

NEVER = configuration(feedback={"assumeAfterSeconds": None})


def test_a_set_goes_to_the_clusters_of_its_placement() -> None:
    """In the very pass that decides them."""
    told = fleet("a", "b").put(replica_set())
    told.run(0)

    assert ["a", "b"] == sorted(templates(told))


def test_a_set_without_its_placement_goes_nowhere() -> None:
    """And its status says what is missing."""
    told = fleet("a").put(replica_set(placements=("other",)))
    told.run(0)

    assert {} == templates(told)
    assert ("False", "PlacementDecisionNotFound") == condition(told, "PlacementVerified")


def test_a_second_pass_changes_nothing() -> None:
    """A set that is where it belongs leaves every file alone."""
    told = fleet("a", "b").put(replica_set(strategy=progressive()))
    told.run(0)

    assert () == told.run().changes


def test_a_moved_decision_moves_the_work() -> None:
    """What a cluster has goes when the placement leaves it."""
    told = fleet("a", "b").put(placement(numberOfClusters=1), replica_set())
    told.run(0)
    told.drop(cluster("a")).run()

    assert ["b"] == sorted(templates(told))


def test_what_moved_is_a_decision() -> None:
    """So that the commit says it."""
    told = fleet("a").put(replica_set())
    found = {one.subject: one for one in told.run(0).decisions}["ns1/shop"]

    assert CauseKind.CREATED is found.cause.kind
    assert (("a", 0),) == found.after


def test_progressive_begins_with_so_many() -> None:
    """The others wait, as nothing says yet that the first has succeeded."""
    told = fleet("a", "b", "c").put(replica_set(strategy=progressive()), NEVER)
    told.run(0)

    assert ["a"] == sorted(templates(told))


def test_progressive_goes_on_as_clusters_succeed() -> None:
    """By what their agents report."""
    told = fleet("a", "b", "c").put(replica_set(strategy=progressive()), NEVER)
    told.run(0)
    succeed(told, "a").run()

    assert ["a", "b"] == sorted(templates(told))


def test_too_many_failures_stop_a_rollout() -> None:
    """With no failure allowed, the one that is taken for failed holds all others back."""
    strategy = progressive(progressDeadline="10s")
    told = fleet("a", "b").put(replica_set(strategy=strategy), NEVER)
    told.run(0)
    report(told, "a", Applied="True", Progressing="True", Degraded="True").run()
    told.run(60)

    assert ["a"] == sorted(templates(told))


def test_tolerated_failures_do_not_stop_a_rollout() -> None:
    """One of two may fail."""
    strategy = progressive(progressDeadline="10s", maxFailures=1)
    told = fleet("a", "b").put(replica_set(strategy=strategy), NEVER)
    told.run(0)
    report(told, "a", Applied="True", Progressing="True", Degraded="True").run()
    told.run(60)

    assert ["a", "b"] == sorted(templates(told))


def test_a_deadline_is_a_moment_to_look_again() -> None:
    """A pass says when the cluster will count as failed."""
    told = fleet("a", "b").put(replica_set(strategy=progressive(progressDeadline="10s")), NEVER)
    told.run(0)
    reported_at = told.now
    outcome = report(told, "a", Applied="True", Progressing="True").run()

    assert outcome.recheck_at is not None
    assert 10 == (outcome.recheck_at - reported_at).total_seconds()


def test_a_soak_holds_the_next_cluster_back() -> None:
    """A cluster must have succeeded for so long."""
    strategy = progressive(minSuccessTime="30s")
    told = fleet("a", "b").put(replica_set(strategy=strategy), NEVER)
    told.run(0)
    succeed(told, "a").run()
    early = sorted(templates(told))
    told.run(30)

    assert (["a"], ["a", "b"]) == (early, sorted(templates(told)))


def test_a_new_template_goes_on_from_cluster_to_cluster() -> None:
    """Those before their turn keep the one that they have."""
    told = fleet("a", "b").put(replica_set(), NEVER)
    told.run(0)
    before = templates(told)
    told.put(replica_set(settings_map("2"), strategy=progressive())).run()
    after = templates(told)

    assert (True, False) == (before["b"] == after["b"], before["a"] == after["a"])


def test_a_report_of_an_earlier_template_is_no_success() -> None:
    """An agent that has not seen the new template yet says nothing about it."""
    told = fleet("a", "b").put(replica_set(), NEVER)
    told.run(0)
    succeed(told, "a")
    told.put(replica_set(settings_map("2"), strategy=progressive()))
    told.run()
    after = templates(told)

    assert after["a"] != after["b"]


def test_without_reports_a_rollout_goes_on() -> None:
    """A silent cluster is assumed to have what it got after a while."""
    told = fleet("a", "b").put(replica_set(strategy=progressive()))
    outcome = told.run(0)
    told.run(60)

    assert outcome.recheck_at is not None
    assert ["a", "b"] == sorted(templates(told))


def test_an_assumption_is_told() -> None:
    """The reason of the condition says that nothing was reported."""
    told = fleet("a").put(replica_set())
    told.run(0)
    told.run(60)

    assert ("True", "AssumedAsExpected") == condition(told, "ManifestworkApplied")


def test_reports_are_summed_up() -> None:
    """As the controller does."""
    told = fleet("a", "b").put(replica_set(), NEVER)
    told.run(0)
    succeed(told, "a").run()
    status = told.output(STATUS)["status"]
    assert isinstance(status, dict)

    assert (2, 1) == (status["summary"]["total"], status["summary"]["available"])


def test_a_work_of_an_old_template_goes_with_its_cluster() -> None:
    """Unlike upstream, which forgets it."""
    told = fleet("a", "b").put(replica_set(), NEVER)
    told.run(0)
    told.put(replica_set(settings_map("2"), strategy=progressive())).drop(cluster("b")).run()

    assert ["a"] == sorted(templates(told))


def test_a_suspended_set_stays_as_it_is() -> None:
    """Until a person lets it go on."""
    told = fleet("a").put(replica_set())
    told.run(0)
    held = replica_set(settings_map("2"))
    before = templates(told)
    metadata = {**_metadata(held), "annotations": {"reconciler.dev/suspend": "true"}}
    told.put({**held, "metadata": metadata}).run()

    assert before == templates(told)


def test_a_removed_set_takes_its_works_along() -> None:
    """Its status file goes."""
    told = fleet("a").put(replica_set())
    told.run(0)
    told.drop(replica_set()).run()

    assert STATUS not in told.files


@pytest.mark.parametrize("size", ["2", "abc"])
def test_a_strategy_that_cannot_be_followed_is_a_fault(size: str) -> None:
    """A number in quotes is no percentage; what a schema refuses does not even get there."""
    told = fleet("a").put(replica_set(strategy=progressive(maxConcurrency=size)))
    rules = {fault.rule for fault in told.run(0).faults}

    assert {"replica-set-rollout" if size == "2" else "schema-pattern"} == rules


def _metadata(body: Body) -> Body:
    found = body["metadata"]
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize("metadata", [True, 1.5, "x", {"name": 7}])
def test_a_manifest_without_readable_metadata_is_refused(metadata: object) -> None:
    """It is a fault like one without a name, and stops nothing."""
    broken = replica_set()
    template = {
        "workload": {"manifests": [{"apiVersion": "v1", "kind": "A", "metadata": metadata}]}
    }
    spec = {**cast(Body, broken["spec"]), "manifestWorkTemplate": template}
    faults = fleet("a").put({**broken, "spec": spec}).world().faults

    assert ["replica-set-manifest-name"] == [fault.rule for fault in faults]
