"""Laws of scheduling and division, on generated fleets."""

from collections.abc import Mapping

from hypothesis import assume, given
from hypothesis import strategies as st

from tests.builders import (
    DYNAMIC,
    NOW,
    Body,
    cluster,
    cluster_status,
    deployment,
    divided,
    groups,
    policy,
    rebalancer,
    taint,
)
from tests.stories import Story, story

NAMES = ("a", "b", "c", "d", "e")
rooms = st.dictionaries(st.sampled_from(NAMES), st.integers(0, 12), min_size=1, max_size=5)
weights = st.dictionaries(st.sampled_from(NAMES), st.integers(1, 5), min_size=1, max_size=5)
replicas = st.integers(0, 30)
divisions = st.sampled_from((DYNAMIC, divided("Aggregated"), divided()))


def fleet(found: Mapping[str, int]) -> Story:
    """Clusters with room for so many pods each."""
    return story(*(cluster(name, status=cluster_status(pods=n)) for name, n in found.items()))


def static(found: Mapping[str, int]) -> Body:
    """Replicas divided by these weights."""
    rules = [
        {"targetCluster": {"clusterNames": [name]}, "weight": weight}
        for name, weight in found.items()
    ]
    return divided(weightPreference={"staticWeightList": rules})


def place(told: Story, wanted: int, division: Body) -> dict[str, int]:
    """Where a pass puts so many replicas."""
    told.put(
        deployment(replicas=wanted, cpu="1m"), policy(placement={"replicaScheduling": division})
    )
    told.run()
    return told.placed()


@given(rooms, replicas, divisions)
def test_replicas_sum_exactly_or_nothing_is_placed(
    found: Mapping[str, int], wanted: int, division: Body
) -> None:
    """Never one too many, never one too few."""
    placed = place(fleet(found), wanted, division)

    assert sum(placed.values()) == (wanted if placed else 0)
    if not placed and wanted:
        assert sum(found.values()) < wanted


@given(rooms, st.integers(1, 30), st.sampled_from((DYNAMIC, divided("Aggregated"))))
def test_no_cluster_gets_more_than_it_has_room_for(
    found: Mapping[str, int], wanted: int, division: Body
) -> None:
    """On a first scheduling, where replicas are divided by room."""
    placed = place(fleet(found), wanted, division)

    assert all(share <= found[name] for name, share in placed.items())


@given(weights, replicas, st.integers(1, 10))
def test_more_replicas_take_none_away_by_static_weights(
    found: Mapping[str, int], wanted: int, more: int
) -> None:
    """The division is house-monotone, so scaling up evicts no pod anywhere."""
    told = fleet(dict.fromkeys(NAMES, 100))
    before = place(told, wanted, static(found))
    after = place(told, wanted + more, static(found))

    assert all(after.get(name, 0) >= share for name, share in before.items())


@given(
    rooms, st.integers(1, 20), st.integers(1, 10), st.sampled_from((DYNAMIC, divided("Aggregated")))
)
def test_more_replicas_take_none_away_by_room(
    found: Mapping[str, int], wanted: int, more: int, division: Body
) -> None:
    """Steady: what is there stays, only the new replicas are divided."""
    told = fleet(found)
    before = place(told, wanted, division)
    after = place(told, wanted + more, division)

    assert all(after.get(name, 0) >= share for name, share in before.items())


@given(rooms, st.integers(1, 20), st.permutations(NAMES), divisions)
def test_the_order_of_files_and_clusters_changes_nothing(
    found: Mapping[str, int], wanted: int, order: list[str], division: Body
) -> None:
    """Clusters are a set."""
    shuffled = {name: found[name] for name in order if name in found}

    assert place(fleet(found), wanted, division) == place(fleet(shuffled), wanted, division)


@given(rooms, st.sets(st.sampled_from(NAMES)), st.integers(1, 10), divisions)
def test_nothing_is_placed_on_a_rejected_cluster(
    found: Mapping[str, int], tainted: set[str], wanted: int, division: Body
) -> None:
    """An untolerated taint keeps every replica away."""
    told = fleet(found)
    for name in tainted & found.keys():
        told.put(cluster(name, taints=[taint()], status=cluster_status(pods=found[name])))

    assert not tainted & place(told, wanted, division).keys()


@given(st.permutations(NAMES), st.integers(1, 4), st.integers(1, 9), st.booleans())
def test_a_rebalancer_brings_a_workload_back(
    order: list[str],
    size: int,
    wanted: int,
    divides: bool,  # noqa: FBT001  # drawn
) -> None:
    """A fails, the workload goes to B; A recovers, nothing moves; the rebalancer brings it back."""
    first, second = order[:size], order[size:]
    assume(second)
    told = fleet(dict.fromkeys(NAMES, 50))
    more = {"replicaScheduling": DYNAMIC} if divides else {}
    told.put(deployment(replicas=wanted), policy(placement=groups(first, second, **more)))
    told.run(0)
    home = told.placed()
    told.put(*(cluster(name, status=cluster_status("False", since=NOW, pods=50)) for name in first))
    told.run(400)
    away = told.placed()
    told.put(*(cluster(name, status=cluster_status(pods=50)) for name in first))
    told.run(500)

    assert away.keys() <= set(second)
    assert away == told.placed()

    told.put(rebalancer())
    told.run(600)

    assert home == told.placed()
