"""Rebalancers in a repository: failover and the way back, removal, what waits."""

import pytest

from reconciler.core.changes import DeleteFile, WriteFile
from tests.builders import (
    Body,
    after,
    cluster,
    cluster_status,
    deployment,
    divided,
    groups,
    path_of,
    policy,
    rebalancer,
    target,
    text,
)
from tests.stories import (
    REBALANCERS,
    Story,
    story,
)

RECORD = f"{REBALANCERS}/demo.yaml"


def results(told: Story, name: str = "demo") -> list[str]:
    """The results of a rebalancer's workloads."""
    items = told.rebalancer(name)["observedWorkloads"]
    assert isinstance(items, list)
    return [item.get("result", "") for item in items]


def failed_over() -> Story:
    """Cluster a failed, web moved from group g0 to g1, and a is ready again."""
    placement = groups(["a"], ["b"], replicaScheduling=divided("Aggregated"))
    told = story(
        cluster("a", status=cluster_status(since=after(-900))),
        cluster("b", status=cluster_status(since=after(-900))),
        policy(placement=placement),
        deployment(),
    )
    told.run(0)
    told.put(cluster("a", status=cluster_status("False", since=after(10))))
    told.run(11)
    assert {"a": 2} == told.placed()
    told.run(310)
    assert {"b": 2} == told.placed()
    told.put(cluster("a", status=cluster_status(since=after(1000))))
    return told


def test_nothing_moves_back_on_recovery() -> None:
    """The assignment is inert until somebody asks."""
    told = failed_over()
    for seconds in (1001, 2000, 90_000):
        told.run(seconds)
        assert {"b": 2} == told.placed()


def test_a_rebalancer_moves_back_to_the_first_group() -> None:
    """The trigger starts again at the first group, and is the moment of the admission."""
    told = failed_over()
    told.run(1001)
    told.put(rebalancer())
    outcome = told.run(2000)

    assert {"a": 2} == told.placed()
    assert "2026-11-20T12:33:20Z" == told.rebalancer()["finishTime"]
    assert ["rebalanced (WorkloadRebalancer demo)"] == [str(d.cause) for d in outcome.decisions]
    told.run(2060)
    assert () == told.run(3000).changes


def test_a_workload_and_its_rebalancer_may_come_in_one_commit() -> None:
    """The binding exists by the time the rebalancer asks."""
    told = story(cluster(), policy(), deployment(), rebalancer())
    told.run(0)

    assert ["Successful"] == results(told)


def test_a_missing_workload_is_not_tried_again() -> None:
    """It is Failed for good, even when it appears."""
    told = story(cluster(), policy(), rebalancer())
    told.run(0)
    told.put(deployment())
    told.run(10)

    assert ["Failed"] == results(told)


@pytest.mark.parametrize(
    "broken",
    [
        pytest.param({**deployment(), "metadata": {"name": "web", "namespace": 7}}, id="faulty"),
        pytest.param("a: [\n", id="held"),
    ],
)
def test_a_target_that_is_held_is_waited_for(broken: Body | str) -> None:
    """It is triggered when its file is mended, with the date of that pass."""
    told = story(cluster(), policy(), deployment())
    told.run(0)
    told.files[path_of(deployment())] = broken if isinstance(broken, str) else text(broken)
    told.put(rebalancer(ttl=0))
    told.run(10)
    assert [""] == results(told)
    told.put(deployment())
    told.run(20)

    assert "workloadrebalancer/demo.yaml" not in told.files
    assert 'rescheduleTriggeredAt: "2026-11-20T12:00:20Z"' in told.files[_binding()]


def _binding() -> str:
    return "status/resourcebindings.work.karmada.io/default/web-deployment.yaml"


def test_a_target_whose_binding_cannot_be_read_is_waited_for() -> None:
    """A trigger would be lost, since the file is left as it is."""
    told = story(cluster(), policy(), deployment())
    told.run(0)
    told.files[_binding()] = "a: [\n"
    told.put(rebalancer())
    told.run(10)

    assert [""] == results(told)
    assert "a: [\n" == told.files[_binding()]


def test_a_rebalancer_whose_record_cannot_be_read_waits() -> None:
    """Taken as new it would trigger at every pass."""
    told = story(cluster(), policy(), deployment(), rebalancer())
    told.run(0)
    told.files[RECORD] = "a: [\n"
    told.run(10)

    assert () == told.run(20).changes
    assert 'rescheduleTriggeredAt: "2026-11-20T12:00:00Z"' in told.files[_binding()]


def test_a_workload_added_later_is_triggered_when_the_edit_is_seen() -> None:
    """Not at the creation, which would be before its last scheduling."""
    told = story(cluster(), policy(), deployment(), rebalancer())
    told.run(0)
    told.put(deployment("api"))
    told.run(100)
    told.put(rebalancer("demo", target(), target(name="api")))
    told.run(200)

    assert "2026-11-20T12:03:20Z" in str(told.binding("api-deployment")["spec"])
    assert "2026-11-20T12:03:20Z" in str(told.binding("api-deployment")["status"])
    assert ["Successful", "Successful"] == results(told)


def test_a_finished_rebalancer_goes_with_its_file() -> None:
    """The file and the record go when its time to live is over, no second earlier."""
    told = story(cluster(), policy(), deployment(), rebalancer(ttl=30))
    assert after(30) == told.run(0).recheck_at
    assert () == told.run(29).changes
    changes = told.run(30).changes

    assert DeleteFile("workloadrebalancer/demo.yaml") in changes
    assert DeleteFile(RECORD) in changes
    assert "workloadrebalancer/demo.yaml" not in told.files


def test_only_its_document_goes_from_a_file_with_others() -> None:
    """Comments and the other documents stay as they are, byte for byte."""
    first, last = "# kept\n" + text(configured := deployment()), "# also kept\n" + text(cluster())
    told = story(policy())
    told.files["all.yaml"] = f"{first}---\n{text(rebalancer(ttl=0))}---\n{last}"
    changes = told.run(0).changes

    assert WriteFile("all.yaml", f"{first}---\n{last}") in changes
    assert {"a": 2} == told.placed(f"{configured['metadata']['name']}-deployment")  # type: ignore[index]
    assert () == told.run(0).changes


@pytest.mark.parametrize(
    "tail",
    [
        pytest.param("a: [\n", id="not-yaml"),
        pytest.param(text({**cluster("b"), "spec": 7}), id="not-valid"),
    ],
)
def test_it_stays_while_its_file_is_faulty(tail: str) -> None:
    """Documents of a faulty file cannot be told apart for sure."""
    told = story(cluster(), policy(), deployment())
    told.files["r.yaml"] = f"{text(rebalancer(ttl=0))}---\n{tail}"
    told.run(0)
    assert "r.yaml" in told.files
    told.files["r.yaml"] = text(rebalancer(ttl=0))
    told.run(10)

    assert "r.yaml" not in told.files


def test_a_changed_time_to_live_counts_from_the_edit() -> None:
    """An edit renews the finish time, as upstream does."""
    told = story(cluster(), policy(), deployment(), rebalancer(ttl=30))
    told.run(0)
    told.put(rebalancer(ttl=20))

    assert after(39) == told.run(19).recheck_at


def test_of_several_rebalancers_the_latest_trigger_counts() -> None:
    """The target carries one trigger, and all who ask for it are named."""
    told = story(cluster(), policy(), deployment(), rebalancer("one"))
    told.run(0)
    told.put(rebalancer("two"), rebalancer("also"))
    outcome = told.run(50)

    assert ["Successful"] == results(told, "one") == results(told, "two") == results(told, "also")
    assert ["rebalanced (WorkloadRebalancer also, WorkloadRebalancer two)"] == [
        str(d.cause) for d in outcome.decisions
    ]
    assert [True] == [decision.stays for decision in outcome.decisions]
    assert "2026-11-20T12:00:50Z" in str(told.binding()["spec"])
