"""Removing much at once needs to be allowed."""

from collections.abc import Callable, Mapping

import pytest

from tests.builders import (
    Body,
    cluster,
    cluster_policy,
    configuration,
    deployment,
    metadata,
    taint,
)
from tests.dialects.ocm.worlds import binding, cluster_set
from tests.dialects.ocm.worlds import cluster as hub_cluster
from tests.dialects.ocm.worlds import placement as hub_placement
from tests.stories import BINDINGS, Story, story

NAMES = [f"w{number}" for number in range(10)]


def placed(*, clusters: tuple[str, ...] = ("a", "b")) -> Story:
    """Ten workloads on two clusters."""
    told = story(*(cluster(name) for name in clusters), cluster_policy())
    told.put(*(deployment(name) for name in NAMES))
    told.run(0)
    return told


def bindings(told: Story) -> int:
    """How many bindings there are."""
    return sum(path.startswith(BINDINGS) for path in told.files)


def allowed(digest: str, **safety: object) -> Body:
    """The configuration that allows a removal."""
    return configuration(safety={"allow": digest, **safety})


@pytest.mark.parametrize(
    ("gone", "left"),
    [pytest.param(5, 5, id="half-is-allowed"), pytest.param(6, 10, id="more-is-not")],
)
def test_more_than_half_of_ten_is_held_back(gone: int, left: int) -> None:
    """They keep their files, and the report names a digest."""
    told = placed().drop(*(deployment(name) for name in NAMES[:gone]))
    outcome = told.run()

    assert left == bindings(told)
    assert (left == 10) == ("removal-braked" in [fault.rule for fault in outcome.faults])
    assert (left != 10) == bool(outcome.decisions)


def test_it_stays_held_back_in_silence() -> None:
    """Reported once; the next passes change nothing."""
    told = placed().drop(*(deployment(name) for name in NAMES))
    told.run(100)

    assert () == told.run(200).changes


def test_the_digest_lets_exactly_these_through() -> None:
    """One more removal, and it is another digest."""
    told = placed().drop(*(deployment(name) for name in NAMES[:6]))
    [fault] = told.run().faults
    digest = fault.expected.partition("allow: ")[2].partition("`")[0]
    told.drop(deployment(NAMES[6])).put(allowed(digest), path="reconciler.yaml")
    told.run()

    assert 10 == bindings(told)

    told.put(deployment(NAMES[6]))
    told.run()

    assert 4 == bindings(told)


def test_what_does_not_go_is_decided_as_ever() -> None:
    """The brake holds nothing else."""
    told = placed().drop(*(deployment(name) for name in NAMES[:9]))
    told.put(deployment(NAMES[9], replicas=5), deployment("new"))
    told.run()

    assert {"a": 5, "b": 5} == told.placed(f"{NAMES[9]}-deployment")
    assert {"a": 2, "b": 2} == told.placed("new-deployment")


def test_lost_cluster_files_count_as_removals() -> None:
    """Without their files every workload would be nowhere."""
    told = placed().drop(cluster("a"), cluster("b"))
    outcome = told.run()

    assert {"a": 2, "b": 2} == told.placed(f"{NAMES[0]}-deployment")
    assert ["removal-braked"] == [fault.rule for fault in outcome.faults]


@pytest.mark.parametrize(
    "bodies",
    [
        pytest.param(
            [cluster(name, taints=[taint(effect="NoExecute")]) for name in "ab"], id="taints"
        ),
        pytest.param([cluster(name, leaving=True) for name in "ab"], id="leaving"),
    ],
)
def test_evictions_are_no_removals(bodies: list[Body]) -> None:
    """The files are there, so somebody decided that."""
    told = placed().put(*bodies)
    told.run()

    assert {} == told.placed(f"{NAMES[0]}-deployment")


def test_the_limit_is_a_setting() -> None:
    """A hundred percent holds nothing back."""
    safety: Mapping[str, object] = {"maxRemovedPercent": 100}
    told = placed().drop(*(deployment(name) for name in NAMES))
    told.put(configuration(safety=safety), path="reconciler.yaml")
    told.run()

    assert 0 == bindings(told)


def ocm() -> tuple[list[Body], list[Body]]:
    """A hub of one cluster, and ten placements."""
    hub = [hub_cluster("a"), cluster_set(), binding()]
    return hub, [hub_placement(name) for name in NAMES]


def kubefleet() -> tuple[list[Body], list[Body]]:
    """One member, a ConfigMap, and ten placements of it."""
    selectors = [{"group": "", "version": "v1", "kind": "Namespace", "name": "team"}]
    spec = {"resourceSelectors": selectors}
    placements: list[Body] = [
        {
            "apiVersion": "placement.kubernetes-fleet.io/v1beta1",
            "kind": "ClusterResourcePlacement",
            "metadata": metadata(name),
            "spec": spec,
        }
        for name in NAMES
    ]
    member = {
        "apiVersion": "cluster.kubernetes-fleet.io/v1beta1",
        "kind": "MemberCluster",
        "metadata": metadata("a"),
        "spec": {"identity": {"kind": "User", "name": "agent"}},
    }
    namespace: Body = {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata("team")}
    return [member, namespace], placements


@pytest.mark.parametrize("made", [ocm, kubefleet])
def test_placements_of_the_other_apis_are_held_back_with_all_their_files(
    made: Callable[[], tuple[list[Body], list[Body]]],
) -> None:
    """Decisions, snapshots and bindings stay as they are; fewer go."""
    others, placements = made()
    told = story(*others, *placements)
    told.run(0)
    told.run(100)
    before = told.outputs
    told.drop(*placements[:6])
    told.run(200)

    ours = {"status/reconciler.yaml", "status/faults.yaml"}
    assert before.keys() - ours == told.outputs.keys() - ours

    told.put(placements[0])
    told.run(300)

    assert len(told.outputs) < len(before)
