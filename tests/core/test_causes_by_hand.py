"""What is told of a decision that a person edited, beside other edits in the same pass."""

from typing import cast

from reconciler.manifests.text.emitter import encode
from tests.builders import DYNAMIC, Body, cluster, cluster_status, deployment, policy, taint
from tests.stories import BINDINGS, Story, story

ROOMY = cluster_status(pods=100)
WEB = f"{BINDINGS}/default/web-deployment.yaml"


def placed_on(*names: str, **more: Body) -> Story:
    """Web, whose policy has it on these clusters out of three."""
    told = story(*(cluster(name, status=ROOMY) for name in "abc"), deployment(replicas=2))
    affinity = {"clusterAffinity": {"clusterNames": list(names)}}
    told.put(policy(placement={**affinity, **more}))
    told.run(0)
    return told


def moved_by_hand(told: Story, **clusters: int) -> Story:
    """Let a person say where web is."""
    body = told.binding()
    listed = [{"name": name, "replicas": count} for name, count in clusters.items()]
    told.files[WEB] = encode({**body, "spec": {**cast(Body, body["spec"]), "clusters": listed}})
    return told


def test_a_cluster_that_was_left_anyway_is_no_cause() -> None:
    """The edit is taken back by the policy, whether the cluster is tainted or not."""
    told = moved_by_hand(placed_on("c"), b=2, c=2)
    [decision] = (
        told.put(cluster("b", taints=[taint(effect="NoExecute")], status=ROOMY)).run(10).decisions
    )

    assert ({"c": 2}, "edited by hand") == (told.placed(), str(decision.cause))


def test_an_edit_from_where_something_else_moves_on_is_named_beside_it() -> None:
    """Without it the workload would have been elsewhere before."""
    told = moved_by_hand(placed_on("a", "b", replicaScheduling=DYNAMIC), b=2)
    [decision] = told.put(deployment(replicas=6)).run(10).decisions

    assert "edited by hand, replicas changed" == str(decision.cause)


def test_an_edit_of_another_object_is_not_named() -> None:
    """Each binding tells of its own."""
    told = placed_on("a", "b", replicaScheduling=DYNAMIC)
    told.put(deployment("api", replicas=2)).run(5)
    moved_by_hand(told, b=2)
    causes = {
        d.subject: str(d.cause) for d in told.put(deployment("api", replicas=6)).run(10).decisions
    }

    assert "replicas changed" == causes["default/api"]
