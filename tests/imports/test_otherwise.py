"""Why live clusters are not those that would be chosen afresh."""

from reconciler.model.body import Body
from reconciler.model.fields import mapping
from reconciler.model.identity import ClusterName
from tests.imports.imported import adopt_into, propagated
from tests.imports.karmada_hub import karmada_hub

LIVE = ClusterName("member1")


def with_policy(spec: Body) -> list[Body]:
    """Return a hub of one workload whose policy says something else, too."""
    return [
        {**one, "spec": {**mapping(one, "spec"), **spec}}
        if one["kind"] == "PropagationPolicy"
        else one
        for one in karmada_hub(1)
    ]


def why_not(export: list[Body]) -> str:
    """Return what is said of the cluster where the workload is live."""
    (one,) = adopt_into({}, export, propagated(export)).otherwise
    return one.why[LIVE]


def test_a_cluster_that_is_not_there_is_named_as_such() -> None:
    """It is gone from the hub."""
    export = [one for one in karmada_hub(1) if mapping(one, "metadata")["name"] != LIVE]

    assert "it is no cluster of the repository" == why_not(export)


def test_a_policy_that_cannot_be_applied_is_named_as_such() -> None:
    """The clusters are there: it is a PriorityClass that is missing."""
    priority = {"priorityClassSource": "KubePriorityClass", "priorityClassName": "gone"}

    missing = 'priorityclasses.scheduling.k8s.io "gone" not found'

    assert f"nothing would be placed: the policy is not applied: {missing}" == why_not(
        with_policy({"schedulePriority": priority})
    )


def test_a_workload_that_no_policy_selects_is_placed_nowhere() -> None:
    """The clusters are there."""
    selectors = [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "another"}]

    assert "nothing would be placed" == why_not(with_policy({"resourceSelectors": selectors}))
