"""How many replicas clusters have room for, where numbers are as large as they may be."""

from reconciler.dialects.karmada.api.cluster import decode_cluster, members_of
from reconciler.dialects.karmada.scheduler.room import estimates
from reconciler.model.quantity import parse_quantity
from tests.builders import cluster, cluster_status

MOST = 2**63 - 1


def room(*clusters: tuple[str, int], cpu: str) -> tuple[int, ...]:
    """Return the room on clusters with so much cpu and so many pods, by order of name."""
    members = members_of(
        decode_cluster(cluster(f"m{i}", status=cluster_status(cpu=has, pods=pods)))
        for i, (has, pods) in enumerate(clusters)
    )
    return estimates(members, (("cpu", parse_quantity(cpu)),)).column


def test_thousandths_beyond_64_bits_are_exact() -> None:
    """A quotient of what does not fit is the right one, also beside clusters where all fits."""
    most = (str(MOST), MOST)

    assert (MOST * 1000 // (5 * 10**15), 50) == room(most, ("1e15", 50), cpu="5e12")


def test_more_than_an_int32_wraps_as_upstream_does() -> None:
    """The low 32 bits of the room, signed."""
    assert (-1, 100) == room((str(MOST), MOST), ("100", 100), cpu="1m")


def test_equal_rooms_keep_the_order_of_names() -> None:
    """The greatest first."""
    members = members_of(
        decode_cluster(cluster(name, status=cluster_status(pods=pods)))
        for name, pods in (("c", 5), ("a", 5), ("b", 7))
    )

    assert (1, 0, 2) == estimates(members, None).order.positions


def test_a_replica_is_one_pod_of_a_modelled_node_whatever_it_requests() -> None:
    """A request by that name counts in a summary, and for nothing beside models."""
    body = cluster("a", status=cluster_status(cpu="100", pods=1000))
    spec, status = body["spec"], body["status"]
    assert isinstance(spec, dict)
    assert isinstance(status, dict)
    ranges = [{"name": "cpu", "min": "4", "max": "8"}]
    modelled = {**status["resourceSummary"], "allocatableModelings": [{"grade": 1, "count": 3}]}
    models = {"resourceModels": [{"grade": 1, "ranges": ranges}]}
    view = decode_cluster(
        {**body, "spec": {**spec, **models}, "status": {**status, "resourceSummary": modelled}}
    )
    asked = (("cpu", parse_quantity("1")), ("pods", parse_quantity("50")))

    assert (12,) == estimates(members_of([view]), asked).column
