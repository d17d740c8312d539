"""A ResourcePlacement: the same as a ClusterResourcePlacement, in its own namespace."""

import re
from collections.abc import Mapping, Sequence
from typing import cast

import pytest

from reconciler.audit.fleet.assumed_outputs import as_of
from reconciler.dialects.kubefleet.api.names import placement_key
from reconciler.dialects.kubefleet.dialect import KUBEFLEET
from reconciler.dialects.kubefleet.view.answers import VIEW
from reconciler.model.decision import CauseKind
from reconciler.model.identity import ObjectKey
from reconciler.model.settings import Settings
from reconciler.rebalance.target import Reference, Target
from tests.builders import NOW, Body, deployment, live, rebalancer, text
from tests.dialects.kubefleet.fleet import (
    EAST,
    GROUP,
    clusters_of,
    fixed,
    member,
    namespaced_placement,
    pick,
    placed,
    placement,
)
from tests.stories import Story, story

SUFFIX = re.compile(r"-[0-9a-f]{8}\.yaml")


def outputs_of(told: Story) -> list[str]:
    """The files of KubeFleet without the random part of their names."""
    found = (path.removeprefix("status/") for path in told.outputs if GROUP in path)
    return sorted(SUFFIX.sub("-?.yaml", path).replace(f".{GROUP}", "") for path in found)


def selected_in(told: Story, namespace: str) -> list[str]:
    """Kind, namespace and name of what the first snapshot holds."""
    body = told.output(f"status/resourcesnapshots.{GROUP}/{namespace}/web-0-snapshot.yaml")
    resources = cast(Sequence[Body], cast(Body, body["spec"])["selectedResources"])
    identities = [(one["kind"], cast(Mapping[str, str], one["metadata"])) for one in resources]
    return [f"{kind} {of['namespace']}/{of['name']}" for kind, of in identities]


def test_its_outputs_stand_in_its_namespace() -> None:
    """They are of kinds of their own."""
    told = placed(namespaced_placement(fixed("a"), namespace="shop"))

    assert [
        "resourcebindings/shop/web-a-?.yaml",
        "resourceplacements/shop/web.yaml",
        "resourcesnapshots/shop/web-0-snapshot.yaml",
        "schedulingpolicysnapshots/shop/web-0.yaml",
    ] == outputs_of(told)


def test_it_selects_what_is_in_its_namespace() -> None:
    """Objects of another namespace stay, and the namespace itself does, too."""
    told = placed(namespaced_placement())

    assert ["ConfigMap default/settings", "Deployment default/web"] == selected_in(told, "default")


@pytest.mark.parametrize("namespace", ["kube-system", "fleet-system"])
def test_it_places_what_is_in_a_reserved_namespace(namespace: str) -> None:
    """Unlike a ClusterResourcePlacement: whoever may write there may place it."""
    told = placed(namespaced_placement(namespace=namespace), deployment(namespace=namespace))

    assert [f"Deployment {namespace}/web"] == selected_in(told, namespace)


def test_placements_of_one_name_do_not_see_each_other() -> None:
    """One in each of two namespaces, and one of the whole fleet."""
    told = placed(
        namespaced_placement(fixed("a")),
        namespaced_placement(fixed("b"), namespace="shop"),
        placement(fixed("a", "b")),
    )

    assert (["a"], ["b"]) == (clusters_of(told, "default"), clusters_of(told, "shop"))
    assert () == told.run(300).faults
    assert (["a"], ["b"]) == (clusters_of(told, "default"), clusters_of(told, "shop"))


def test_a_decision_calls_it_by_its_namespace() -> None:
    """As upstream's key of a placement does."""
    told = story(member("a"), deployment(), namespaced_placement())
    [decision] = told.run(0).decisions

    assert ("default/web", "ResourcePlacement") == (decision.subject, decision.key.kind)


def test_its_conditions_have_its_name() -> None:
    """Upstream has a type for each of the two kinds."""
    told = placed(namespaced_placement())
    told.run(60)
    key = ObjectKey(GROUP, "ResourcePlacement", "default", "web")
    body = as_of(told.world(), told.now).outputs[key].body
    conditions = cast(Sequence[Body], cast(Body, body["status"])["conditions"])

    stages = ("Scheduled", "RolloutStarted", "Overridden", "WorkSynchronized")
    assert [f"ResourcePlacement{stage}" for stage in (*stages, "Applied", "Available")] == [
        one["type"] for one in conditions
    ]


@pytest.mark.parametrize(
    ("selector", "message"),
    [
        pytest.param({"group": "", "version": "v1", "kind": "Namespace"}, "cluster-scoped"),
        pytest.param(
            {"group": GROUP, "version": "v1beta1", "kind": "ClusterResourceEnvelope"},
            "cluster-scoped",
        ),
        pytest.param({"group": "", "version": "v2", "kind": "ConfigMap"}, "must be v1"),
    ],
)
def test_what_it_cannot_select_is_a_fault(selector: Body, message: str) -> None:
    """Nothing of it is placed then; its status says so."""
    told = story(member("a"), deployment(), namespaced_placement(resourceSelectors=[selector]))
    [fault] = told.run(0).faults

    assert message in fault.message
    [status] = [path for path in told.outputs if "fleet" in path]
    assert message in told.outputs[status]
    assert "InvalidResourceSelectors" in told.outputs[status]


def test_a_name_that_no_label_holds_is_a_fault() -> None:
    """Its CRD allows it, yet snapshots carry it in labels."""
    told = story(member("a"), deployment(), namespaced_placement(name="n" * 64))
    [fault] = told.run(0).faults

    assert ("kubefleet-unexpected", "/metadata/name") == (fault.rule, fault.field)
    assert [] == outputs_of(told)


def test_kinds_that_are_never_placed_are_passed_over() -> None:
    """Without a word, as upstream does, even if they are cluster-scoped."""
    node = {"group": "", "version": "v1", "kind": "Node"}
    told = story(member("a"), deployment(), namespaced_placement(resourceSelectors=[node]))

    assert () == told.run(0).faults
    assert [] == selected_in(told, "default")


def test_a_cluster_without_its_namespace_is_out() -> None:
    """If the cluster tells which namespaces it has."""
    told = placed(namespaced_placement())
    gathers = {
        "type": "NamespaceCollectionSucceeded",
        "status": "True",
        "reason": "Collected",
        "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    agent = {
        "type": "MemberAgent",
        "conditions": [{**gathers, "type": kind} for kind in ("Joined", "Healthy")],
        "lastReceivedHeartbeat": "2026-01-01T00:00:00Z",
    }
    status = {"agentStatus": [agent], "conditions": [gathers], "namespaces": {"shop": ""}}
    told.put(member("c", status=status)).run(60)
    assert ["a", "b"] == clusters_of(told, "default")
    told.put(member("c", status={**status, "namespaces": {"default": ""}})).run(120)

    assert ["a", "b", "c"] == clusters_of(told, "default")


def test_it_goes_with_all_its_outputs() -> None:
    """The decision says where it was."""
    told = placed(namespaced_placement(fixed("a")))
    [decision] = told.drop(namespaced_placement()).run(60).decisions

    assert (CauseKind.REMOVED, (("a", 0),)) == (decision.cause.kind, decision.before)
    assert [] == outputs_of(told)


@pytest.mark.parametrize(
    ("kind", "namespace", "expected"),
    [
        pytest.param("ResourcePlacement", "shop", True, id="itself"),
        pytest.param("ResourcePlacement", "default", False, id="elsewhere"),
        pytest.param("ClusterResourcePlacement", "shop", False, id="kind"),
        pytest.param("ResourcePlacement", "", False, id="no-namespace"),
    ],
)
def test_target(kind: str, namespace: str, expected: bool) -> None:  # noqa: FBT001  # a table
    """Kind, namespace and name decide."""
    world = story(member("a"), namespaced_placement(namespace="shop")).world()
    reference = Reference(f"{GROUP}/v1", kind, namespace, "web")
    found = KUBEFLEET.prepare(world, Settings(), NOW).target(reference)

    assert (Target(placement_key("shop", "web")) if expected else None) == found


def test_a_rebalancer_has_its_clusters_chosen_anew() -> None:
    """As those of a ClusterResourcePlacement."""
    prefer = {"weight": 9, "preference": {"labelSelector": {"matchLabels": EAST}}}
    terms = {"preferredDuringSchedulingIgnoredDuringExecution": [prefer]}
    told = placed(namespaced_placement(pick(1, affinity={"clusterAffinity": terms})))
    told.put(member("a", labels=EAST), member("b")).run(120)
    assert ["b"] == clusters_of(told, "default")
    reference = {"apiVersion": f"{GROUP}/v1beta1", "kind": "ResourcePlacement"}
    told.put(rebalancer("demo", {**reference, "namespace": "default", "name": "web"}))
    [decision] = told.run(200).decisions
    assert CauseKind.REBALANCED is decision.cause.kind
    told.run(400)

    assert ["a"] == clusters_of(told, "default")


def available(told: Story) -> object:
    """The status of its condition Available."""
    body = told.output(f"status/resourceplacements.{GROUP}/default/web.yaml")
    conditions = cast(Sequence[Body], cast(Body, body["status"])["conditions"])
    return {one["type"]: one["status"] for one in conditions}.get("ResourcePlacementAvailable")


def test_reports_of_its_clusters_count() -> None:
    """An unhealthy one is not assumed away; health ends it."""
    told = story(member("a"), deployment(), namespaced_placement())
    told.run(0)
    for seconds, replicas, expected in ((1, 1, "False"), (1000, 1, "False"), (1001, 2, "True")):
        report = live(deployment(), updatedReplicas=2, availableReplicas=replicas)
        told.files["feedback/a/web.yaml"] = text(report)
        told.run(seconds)

        assert expected == available(told)


@pytest.mark.parametrize(("namespace", "expected"), [("default", True), ("shop", False)])
def test_it_carries_what_it_selects(namespace: str, expected: bool) -> None:  # noqa: FBT001  # a table
    """So a question about a workload leads to it."""
    told = placed(namespaced_placement())
    workload = ObjectKey("apps", "Deployment", namespace, "web")

    assert (placement_key("default", "web"),) * expected == VIEW.carriers(told.world(), workload)
    assert expected == VIEW.may_carry(told.world(), namespace)
