"""What clusters report of themselves: it lies over files, and its loss is no health."""

from collections.abc import Callable, Collection, Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.core.cluster_reports import IGNORE_REPORTS, REPORT_GONE, UNREACHABLE_BRAKED
from reconciler.model.fields import at, mappings_of
from reconciler.model.identity import ObjectKey
from reconciler.model.records import replace
from tests.builders import (
    Body,
    cluster,
    cluster_status,
    configuration,
    deployment,
    metadata,
    policy,
)
from tests.core.test_laws import LAW
from tests.stories import Story, story

REPORT = "feedback/a/cluster.yaml"
RECORD = "status/clusterreports.reconciler.dev/a.yaml"
CLUSTER = ObjectKey("cluster.karmada.io", "Cluster", "", "a")
SCORE = ObjectKey("cluster.open-cluster-management.io", "AddOnPlacementScore", "a", "disk")
NO_SECONDS: Body = {
    "key": "cluster.karmada.io/unreachable",
    "operator": "Exists",
    "effect": "NoExecute",
    "tolerationSeconds": 0,
}


def report(name: str = "a", status: Body | None = None) -> Body:
    """What a cluster reports of itself: kind, name and status."""
    return {
        "apiVersion": "cluster.karmada.io/v1alpha1",
        "kind": "Cluster",
        "metadata": metadata(name),
        "status": cluster_status() if status is None else status,
    }


def dead() -> Body:
    """A report that the cluster is not ready."""
    return report(status=cluster_status("False"))


def score(value: int) -> Body:
    """A score of the cluster."""
    return {
        "apiVersion": "cluster.open-cluster-management.io/v1alpha1",
        "kind": "AddOnPlacementScore",
        "metadata": metadata("disk", "a"),
        "status": {"scores": [{"name": "free", "value": value}]},
    }


def reported(*bodies: Body) -> Story:
    """One cluster that reports, and whatever else."""
    return story(cluster(), *bodies).put(report(), path=REPORT)


def ready_of(told: Story) -> object:
    """What the cluster says of its readiness, `None` where it is declared."""
    conditions = at(told.world().inputs[CLUSTER].body, "status").get("conditions")
    return conditions and conditions[0]["status"]  # type: ignore[index]


def test_a_report_lies_over_the_file() -> None:
    """Labels are the file's, the status is the report's, whatever status the file has."""
    told = story(cluster(labels={"a": "b"}, status=cluster_status("False")))
    told.put(report(), path=REPORT)

    body = told.world().inputs[CLUSTER].body

    assert {"a": "b"} == at(body, "metadata")["labels"]
    assert report()["status"] == body["status"]


def test_a_score_may_stand_in_reports_alone() -> None:
    """Nobody has to write a file for each."""
    told = reported().put(score(7), path="feedback/a/scores/disk.yaml")

    assert score(7) == told.world().inputs[SCORE].body


def test_a_report_of_another_cluster_is_refused() -> None:
    """A folder speaks for its own cluster."""
    told = story(cluster(), cluster("b")).put(report("b"), path=REPORT)
    told.put(score(7), path="feedback/b/disk.yaml")

    world = told.world()

    assert {"feedback-namespace"} == {fault.rule for fault in world.faults}
    assert not world.reported


def test_a_condition_must_be_an_answer() -> None:
    """One that is none says nothing; what was reported before stays in force."""
    told = reported(policy(), deployment())
    told.run(0)
    outcome = told.put(report(status=cluster_status("Maybe")), path=REPORT).run(10)

    (fault,) = outcome.faults
    assert (REPORT, "schema-enum") == (fault.path, fault.rule)
    assert 'the condition "Ready" must be True, False or Unknown, "Maybe" is' in fault.message
    assert "True" == ready_of(told)


def test_a_report_without_a_status_is_no_health() -> None:
    """Karmada reads an empty status as none, and a cluster without any is declared ready."""
    told = story(cluster()).put({**report(), "status": {}}, path=REPORT)

    assert {"conditions": []} == told.world().inputs[CLUSTER].body["status"]


@pytest.mark.parametrize(
    "lose",
    [
        pytest.param(lambda told: told.files.pop(REPORT), id="the-file-is-gone"),
        pytest.param(lambda told: told.put(deployment("x"), path=REPORT), id="it-is-another"),
        pytest.param(lambda told: told.files.update({REPORT: ""}), id="it-is-empty"),
    ],
)
@pytest.mark.parametrize("verdict", ["True", "False"])
def test_a_report_that_vanishes_stays_in_force(
    verdict: str, lose: Callable[[Story], object]
) -> None:
    """It is told, with what lets it go; nothing moves, and passes find nothing to write anew."""
    told = reported(deployment(), policy()).put(report(status=cluster_status(verdict)), path=REPORT)
    told.run()
    placed = told.placed()

    lose(told)
    found = told.run(60)

    assert verdict == ready_of(told)
    assert placed == told.placed()
    assert [REPORT_GONE] == [one.rule for one in found.faults]
    assert IGNORE_REPORTS in found.faults[0].expected
    assert not told.run(3600).changes


def test_the_file_of_a_cluster_may_be_taken_at_its_word() -> None:
    """Then it is declared again, whatever is reported, and nothing is kept of reports."""
    told = reported()
    told.put(dead(), path=REPORT).run()

    told.put({**cluster(), "metadata": metadata("a", annotations={IGNORE_REPORTS: "true"})})
    told.run(60)

    assert ready_of(told) is None
    assert RECORD not in told.outputs
    del told.files[REPORT]
    assert not told.run(60).faults


def test_a_cluster_whose_file_goes_leaves_nothing_behind() -> None:
    """Declared anew later, it is a new cluster."""
    told = reported()
    told.run()

    told.drop(cluster())
    told.run(60)

    assert RECORD not in told.outputs


def test_a_score_goes_with_its_report_unless_the_cluster_is_lost() -> None:
    """An add-on that was removed reports no more; of a lost cluster everything is held."""
    told = reported().put(score(7), path="feedback/a/disk.yaml")
    told.run()

    del told.files["feedback/a/disk.yaml"]
    without = told.world()
    del told.files[REPORT]
    held = told.world()

    assert SCORE not in without.inputs
    assert score(7)["status"] == held.inputs[SCORE].body["status"]


def test_amounts_alone_make_no_commit() -> None:
    """Their record follows with the next commit; a verdict has one of its own."""
    told = reported(deployment(), policy())
    told.run()
    kept = told.outputs[RECORD]

    amounts = told.put(report(status=cluster_status(cpu="7")), path=REPORT).run(60)
    assert not amounts.changes

    told.put(deployment(replicas=3)).run(60)
    assert kept != told.outputs[RECORD]
    assert 'cpu: "7"' in told.outputs[RECORD]

    assert [RECORD] == [
        one.path for one in told.put(dead(), path=REPORT).run(60).changes if "report" in one.path
    ]


def test_a_reported_failure_evicts_as_a_written_one_does() -> None:
    """The bytes of bindings are the same, whichever file the status stands in."""
    placement = {"clusterTolerations": [NO_SECONDS]}
    bodies = (cluster("b"), deployment(), policy(placement=placement))
    ready, lost = cluster_status(), cluster_status("Unknown")
    written = story(cluster(status=ready), *bodies)
    told = story(cluster(), *bodies).put(report(status=ready), path=REPORT)
    for one in (written, told):
        one.run()

    written.put(cluster(status=lost))
    told.put(report(status=lost), path=REPORT)

    for seconds in (60, 600):
        assert written.run(seconds).decisions == told.run(seconds).decisions
        assert written.binding() == told.binding()


def test_a_cluster_is_remembered_as_it_was_reported() -> None:
    """So causes are told of reports as they are of files; what came back is compared, too."""
    told = reported(deployment(), policy())
    told.run()
    told.put(dead(), path=REPORT)

    assert report()["status"] == _before(told)["status"]
    told.run(60)
    del told.files[REPORT]
    told.run(60)
    told.put(report(), path=REPORT)
    assert dead()["status"] == _before(told)["status"]


def _before(told: Story) -> Body:
    """The cluster as it was at the last pass."""
    manifest = told.world().earlier[CLUSTER]
    assert manifest is not None
    return manifest.body


def test_the_first_report_is_told_from_a_declaration() -> None:
    """Before it the cluster was declared."""
    told = story(cluster(), deployment(), policy())
    told.run()
    told.put(dead(), path=REPORT)

    assert "status" not in _before(told)


FLEET = tuple("abcdefghij")


def reports_of(told: Story, unreachable: Collection[str], names: Iterable[str] = FLEET) -> None:
    """Let clusters report whether they are reachable."""
    for name in names:
        status = cluster_status("Unknown" if name in unreachable else "True")
        told.put(report(name, status), path=f"feedback/{name}/cluster.yaml")


def unreachable_in(told: Story) -> list[str]:
    """The clusters that passes take for unreachable."""
    found = []
    for one in told.world().of_kind("cluster.karmada.io", "Cluster"):
        conditions = mappings_of(at(one.body, "status").get("conditions"))
        found += [one.key.name for _ in conditions if conditions[0]["status"] == "Unknown"]
    return found


def fleet_of_ten() -> Story:
    """Ten clusters that report, all of them well."""
    told = story(*map(cluster, FLEET), deployment(), policy())
    reports_of(told, ())
    told.run()
    return told


@pytest.mark.parametrize(
    ("unreachable", "expected"),
    [pytest.param("abcde", [*"abcde"], id="half"), pytest.param("abcdef", [], id="more")],
)
def test_many_unreachable_clusters_are_none_until_that_is_allowed(
    unreachable: str, expected: list[str]
) -> None:
    """A share of all clusters is taken for that at once; of more none is, and it is told."""
    told = fleet_of_ten()
    reports_of(told, unreachable)
    found = told.run(60)

    assert expected == unreachable_in(told)
    assert (not expected) == (UNREACHABLE_BRAKED in [one.rule for one in found.faults])
    assert told.world().is_complete
    told.put(configuration(safety={"allow": list(found.allow)})).run(120)
    assert [*unreachable] == unreachable_in(told)


def test_those_that_were_unreachable_before_count() -> None:
    """However many observers report, one after the other: the sixth of ten is held."""
    told = fleet_of_ten()
    for number in range(1, 8):
        reports_of(told, FLEET[:number])
        told.run(60 * number)

    assert [*FLEET[:5]] == unreachable_in(told)


def test_clusters_that_were_never_judged_are_held_too() -> None:
    """The first reports of an observer without a network move nothing."""
    told = story(*map(cluster, FLEET), deployment(), policy())
    told.run()
    reports_of(told, FLEET)
    found = told.run(60)

    assert [] == unreachable_in(told)
    assert [UNREACHABLE_BRAKED] == [one.rule for one in found.faults]
    assert not found.decisions


def test_of_two_clusters_both_may_be_unreachable() -> None:
    """A share of so few says nothing."""
    told = story(cluster("a"), cluster("b"))
    reports_of(told, "ab", "ab")
    told.run()

    assert ["a", "b"] == unreachable_in(told)


def test_a_limit_of_all_turns_the_brake_off() -> None:
    """As of the other brakes."""
    told = fleet_of_ten().put(configuration(safety={"maxUnreachablePercent": 100}))
    reports_of(told, FLEET)
    told.run(60)

    assert [*FLEET] == unreachable_in(told)


@LAW
@given(st.lists(st.sets(st.sampled_from(FLEET)), min_size=1, max_size=4))
def test_reports_one_by_one_equal_their_squash(steps: list[set[str]]) -> None:
    """Commits between two passes leave no trace, whoever reported first.

    With a pass after each, never more are unreachable at once than the limit, and what is held in
    the end is held in the squash: there some may be held that were taken for that before.
    """
    at_once, in_turn = fleet_of_ten(), fleet_of_ten()
    apart = fleet_of_ten()
    for number, unreachable in enumerate(steps):
        for name in sorted(FLEET, reverse=number % 2 == 0):
            reports_of(apart, unreachable, name)
            apart.world()
        reports_of(in_turn, unreachable)
        in_turn.run(60 * (number + 1))
        assert len(unreachable_in(in_turn)) <= 5
    reports_of(at_once, steps[-1])
    moment = 60 * len(steps)

    squashed, found = at_once.run(moment), apart.run(moment)

    assert squashed == replace(found, explanations=squashed.explanations)
    assert {*unreachable_in(at_once)} <= {*unreachable_in(in_turn)} <= steps[-1]
    braked = [one.rule for one in in_turn.world().faults]
    assert (UNREACHABLE_BRAKED in braked) <= (len(steps[-1]) > 5)
