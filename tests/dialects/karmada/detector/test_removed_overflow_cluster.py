"""What overflows comes back when the cluster that took it is gone."""

from tests.builders import cluster, cluster_status, deployment, divided, path_of, policy
from tests.stories import story

OVERFLOWING = {
    "clusterAffinities": [
        {
            "affinityName": "own",
            "clusterNames": ["a"],
            "overflowAffinities": [{"affinityName": "rented", "clusterNames": ["b"]}],
        }
    ],
    "replicaScheduling": divided("Aggregated"),
}


def test_replicas_leave_a_cluster_that_only_overflow_names_when_its_file_goes() -> None:
    """Upstream looks for bindings by the names in their own affinity, and forgets this one."""
    told = story(
        cluster("a", status=cluster_status(pods=2)),
        rented := cluster("b", status=cluster_status(pods=9)),
        deployment(replicas=5),
        policy(placement=OVERFLOWING),
    )
    told.run()
    assert {"a": 2, "b": 3} == told.placed()

    told.put(cluster("a", status=cluster_status(pods=9)))
    del told.files[path_of(rented)]
    told.run()

    assert {"a": 5} == told.placed()
