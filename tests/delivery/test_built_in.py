"""What every API server has by itself goes to clusters only if a person wrote a manifest of it."""

from collections.abc import Callable

import pytest

from tests.builders import (
    Body,
    cluster,
    cluster_policy,
    cluster_role,
    configuration,
    deployment,
    metadata,
    selector,
)
from tests.delivery.test_folders import FOLDERS, below
from tests.dialects.kubefleet.fleet import member, placement
from tests.stories import Story, story

WEB = "default/deployments.apps/web.yaml"
ROLES = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole"}


def karmada(*bodies: Body) -> Story:
    """One cluster, to which all Deployments go, and the ClusterRole view."""
    named = [selector(), {**ROLES, "name": "view"}]
    return story(cluster("a"), cluster_policy(resourceSelectors=named), *bodies)


def kubefleet(*bodies: Body) -> Story:
    """One cluster, to which the namespace default goes with all that is in it."""
    return story(member("a"), placement(), *bodies)


def delivered(told: Story) -> list[str]:
    """The files of the cluster after a pass."""
    told.put(deployment(), configuration(delivery=FOLDERS)).run(0)
    return [path for path in below(told) if not path.endswith("kustomization.yaml")]


@pytest.mark.parametrize("fleet", [karmada, kubefleet])
def test_what_nobody_wrote_is_not_delivered(fleet: Callable[[], Story]) -> None:
    """Though a policy names it, or a placement brings along what is in it."""
    assert [f"a/{WEB}"] == delivered(fleet())


def test_what_a_person_wrote_is_delivered() -> None:
    """It counts as any other object then."""
    assert ["a/_cluster/clusterroles.rbac.authorization.k8s.io/view.yaml", f"a/{WEB}"] == delivered(
        karmada(cluster_role("view"))
    )


def test_a_namespace_that_a_person_wrote_is_delivered() -> None:
    """With its labels, say."""
    labelled = {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata("default")}

    assert ["a/_cluster/namespaces/default.yaml", f"a/{WEB}"] == delivered(kubefleet(labelled))
