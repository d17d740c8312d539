"""What of a hub is left behind, each with the reason that is so."""

from collections.abc import Sequence

import pytest

from reconciler.imports.importers import Wanted
from reconciler.model.body import Body
from reconciler.model.fields import mapping
from tests.imports.hubs import THEN, condition, live, workload
from tests.imports.imported import adopt_into, propagated
from tests.imports.karmada_hub import karmada_hub
from tests.imports.kubefleet_hub import kubefleet_hub
from tests.imports.ocm_hub import ocm_hub

RBAC = "rbac.authorization.k8s.io/v1"
FLEET = "kubernetes-fleet.io"
SECRET = live("v1", "Secret", "token", namespace="default", data={"a": "YQ=="})
PLAIN = "its Secret is not in the repository: a Secret in plain must not come into Git; encrypt it "
OWNED = {"ownerReferences": [{"kind": "Shop", "name": "web", "uid": "1", "controller": True}]}


def named(body: Body, **metadata: object) -> Body:
    """Return an object with something else in its metadata; `None` takes it out."""
    kept = {**mapping(body, "metadata"), **metadata}
    return {**body, "metadata": {name: one for name, one in kept.items() if one is not None}}


def binding_of(body: Body, **metadata: object) -> list[Body]:
    """Return a hub of Karmada whose one binding is of a workload that is not in the export."""
    *clusters, _, binding = karmada_hub(1)
    own = mapping(body, "metadata")
    reference = {"apiVersion": body["apiVersion"], "kind": body["kind"], "name": own["name"]}
    if "namespace" in own:
        reference["namespace"] = own["namespace"]
    spec = {**mapping(binding, "spec"), "resource": reference}
    return [*clusters, named({**binding, "spec": spec}, **metadata)]


def left(files: dict[str, str], export: Sequence[Body], wanted: Wanted | None = None) -> set[str]:
    """Return why anything of an export is left."""
    return set(adopt_into(files, export, wanted or propagated(export)).left.values())


@pytest.mark.parametrize(
    ("export", "expected"),
    [
        pytest.param(
            binding_of(workload("web", 4)),
            "its Deployment is not in the repository: the export has none of that name",
            id="gone-from-the-hub",
        ),
        pytest.param(
            binding_of(live(RBAC, "ClusterRole", "system:node"), namespace=None),
            "its ClusterRole is not in the repository: every API server has it by itself",
            id="built-in",
        ),
        pytest.param(
            [
                *binding_of(live(RBAC, "ClusterRole", "view"), namespace=None),
                live(RBAC, "ClusterRole", "view"),
            ],
            "its ClusterRole is not in the repository: every API server has it by itself",
            id="built-in-that-is-there",
        ),
        pytest.param(binding_of(SECRET), f"{PLAIN}first", id="secret-that-was-not-asked-for"),
        pytest.param([*binding_of(SECRET), SECRET], f"{PLAIN}first", id="secret"),
        pytest.param(
            [
                *binding_of(named(workload("web", 4), namespace="kube-system")),
                named(workload("web", 4), namespace="kube-system"),
            ],
            "its Deployment is not in the repository: its namespace is the control plane's own",
            id="reserved",
        ),
        pytest.param(
            [*binding_of(workload("web", 4)), named(workload("web", 4), **OWNED)],
            "its Deployment is not in the repository: another object made it",
            id="owned",
        ),
        pytest.param(
            [
                *karmada_hub(1)[:-1],
                named(karmada_hub(1)[-1], deletionTimestamp=THEN),
            ],
            "it is being deleted",
            id="binding-that-is-deleted",
        ),
        pytest.param(
            [one for one in ocm_hub(1) if one["kind"] != "Placement"],
            "its Placement is not in the repository: the export has none of that name",
            id="decision-without-placement",
        ),
        pytest.param(
            [*ocm_hub(1)[:-1], named(ocm_hub(1)[-1], labels={})],
            "it has no label cluster.open-cluster-management.io/placement, which says whose it is",
            id="decision-of-nobody",
        ),
        pytest.param(
            [one for one in kubefleet_hub(1) if one["kind"] != "ClusterResourcePlacement"],
            "its ClusterResourcePlacement is not in the repository: "
            "the export has none of that name",
            id="fleet-without-placement",
        ),
        pytest.param(
            [*kubefleet_hub(1)[:-1], named(kubefleet_hub(1)[-1], labels={})],
            f"it has no label {FLEET}/parent-CRP, which says whose it is",
            id="fleet-binding-of-nobody",
        ),
        pytest.param(
            [*kubefleet_hub(1)[:-1], named(kubefleet_hub(1)[-1], deletionTimestamp=THEN)],
            "it is being deleted",
            id="fleet-binding-that-is-deleted",
        ),
    ],
)
def test_a_decision_is_left_for_the_reason_that_is_so(export: list[Body], expected: str) -> None:
    """And for no other."""
    assert {expected} == left({}, export)


def snapshot(**labels: str) -> Body:
    """Return another snapshot of the resources of the placement of a hub."""
    return live(
        "placement.kubernetes-fleet.io/v1beta1",
        "ClusterResourceSnapshot",
        "apps-0000-other",
        metadata={
            "labels": {
                f"{FLEET}/parent-CRP": "apps-0000",
                **{f"{FLEET}/{name.replace('_', '-')}": value for name, value in labels.items()},
            }
        },
        spec={"selectedResources": []},
    )


@pytest.mark.parametrize(
    ("export", "expected"),
    [
        pytest.param(
            [*kubefleet_hub(1), snapshot(resource_index="4")], "it is not the latest", id="earlier"
        ),
        pytest.param(
            [*kubefleet_hub(1), snapshot(resource_index="5")],
            "what the repository has for its placement takes fewer snapshots",
            id="one-part-more",
        ),
        pytest.param(
            [
                *(one for one in kubefleet_hub(1) if one["kind"] != "ClusterResourceSnapshot"),
                snapshot(resource_index="5"),
            ],
            "none of the snapshots of its placement is labelled as the latest",
            id="none-is-the-latest",
        ),
    ],
)
def test_a_snapshot_is_left_for_the_reason_that_is_so(export: list[Body], expected: str) -> None:
    """What is in force has another name."""
    assert {expected} == left({}, export)


def test_a_workload_that_nobody_asked_for_is_named_as_such() -> None:
    """The reason says what takes it."""
    why = "its Deployment is not in the repository: a workload; --workloads takes it"

    assert {why} == left({}, karmada_hub(2), Wanted(adopt=True))


def test_a_workload_that_could_not_be_written_is_named_as_such() -> None:
    """Here something else stands where its file would go."""
    path = "workloads/default/web-0000-deployment.yaml"
    other = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: other}\n"
    why = f"{path} is there, and holds something else; mend or move it first"

    assert {f"its Deployment is not in the repository: {why}"} == left(
        {path: other}, karmada_hub(1)
    )


def test_a_decision_that_no_pass_could_read_is_left_with_all_of_its_placement() -> None:
    """The sentence names the field."""
    *rest, placement, decision = ocm_hub(1)
    status = {**mapping(placement, "status"), "conditions": [condition("Told", status="Perhaps")]}
    (why,) = left({}, [*rest, {**placement, "status": status}, decision])

    assert why.startswith("no pass could read Placement apps-0000: /status/conditions/0/status: ")


def test_what_clusters_would_lose_is_told() -> None:
    """What a placement has on its clusters goes with the first delivery, if nobody imports it."""
    hub = kubefleet_hub(1)
    nothing, everything = Wanted(adopt=True), Wanted(workloads=frozenset({"deployments"}))
    taken = "clusterresourceplacement/apps-0000 has it on its clusters, where delivery would take"

    told = adopt_into({}, hub, nothing).left
    (why,) = (why for key, why in told.items() if key.kind == "Deployment")

    assert why.startswith(f"{taken} it away: it is not in the repository: ")
    assert [] == [key for key in adopt_into({}, hub, everything).left if key.kind == "Deployment"]
