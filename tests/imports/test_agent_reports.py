"""Works and ManifestWorks of a hub become reports: what counts of them, and where they go."""

from collections.abc import Mapping

import pytest

from reconciler.dialects.ocm.manifestworkreplicaset.replica_set import TEMPLATE
from reconciler.imports.importers import Wanted
from reconciler.manifests.text.reader import read
from reconciler.model.body import Body
from reconciler.model.kinds import Kind
from tests.builders import text
from tests.dialects.kubefleet.fleet import placement
from tests.dialects.ocm.sets import replica_set
from tests.imports.hubs import THEN, condition, live, workload
from tests.imports.imported import DEPLOYMENTS, fates, import_into, texts

IDENTIFIER = {
    "group": "apps",
    "kind": "Deployment",
    "name": "web",
    "namespace": "default",
    "ordinal": 0,
    "resource": "deployments",
    "version": "v1",
}
APPLIED = condition("Applied", observedGeneration=3)
AVAILABLE = condition("Available", observedGeneration=3)
WORK: Kind = ("work.karmada.io", "Work")


def karmada_work(namespace: str = "karmada-es-member1") -> Body:
    """A Work of Karmada as kubectl prints it."""
    healthy = {"availableReplicas": 2, "conditions": [APPLIED]}
    return live(
        "work.karmada.io/v1alpha1",
        "Work",
        "web-5b8d7f",
        namespace=namespace,
        metadata={"labels": {"resourcebinding.karmada.io/permanent-id": "5f4d"}},
        spec={"workload": {"manifests": [workload("web", 2)]}, "suspendDispatching": False},
        status={
            "conditions": [APPLIED],
            "manifestStatuses": [
                {"health": "Healthy", "identifier": IDENTIFIER, "status": healthy}
            ],
        },
    )


def kubefleet_work() -> Body:
    """A Work of KubeFleet as kubectl prints it."""
    mark = "kubernetes-fleet.io"
    return live(
        "placement.kubernetes-fleet.io/v1",
        "Work",
        "web-work",
        namespace="fleet-member-member1",
        metadata={
            "labels": {f"{mark}/parent-CRP": "web", f"{mark}/parent-resource-binding": "web-1"},
            "annotations": {f"{mark}/parent-resource-snapshot-name": "web-0-snapshot"},
        },
        spec={"workload": {"manifests": [workload("web", 2)]}},
        status={
            "conditions": [APPLIED],
            "manifestConditions": [{"conditions": [APPLIED], "identifier": IDENTIFIER}],
        },
    )


def manifest_work(**labels: str) -> Body:
    """A ManifestWork as kubectl prints it."""
    values = [{"name": "Replicas", "fieldValue": {"type": "Integer", "integer": 2}}]
    listed = {
        "conditions": [APPLIED],
        "resourceMeta": IDENTIFIER,
        "statusFeedback": {"values": values},
    }
    return live(
        "work.open-cluster-management.io/v1",
        "ManifestWork",
        "web-5b8d7f",
        namespace="member1",
        metadata={"labels": labels, "annotations": {TEMPLATE: "0f3c"} if labels else {}},
        spec={"workload": {"manifests": [workload("web", 2)]}},
        status={"conditions": [APPLIED], "resourceStatus": {"manifests": [listed]}},
    )


def told(plan_texts: Mapping[str, str], path: str) -> Body:
    """What an import wrote into a file."""
    return read(plan_texts[path].encode(), path).documents[0].body


KNOWN = {"apiVersion": "apps/v1", "kind": "Deployment"}
CARRIED = {
    **KNOWN,
    "metadata": {"name": "web", "namespace": "default"},
    "spec": {"replicas": 2},
}


def test_of_a_work_of_karmada_counts_what_its_agent_says() -> None:
    """Of the manifests only whose they are."""
    files = texts(import_into({}, [karmada_work(), workload("web", 2)]))

    assert {
        "apiVersion": "work.karmada.io/v1alpha1",
        "kind": "Work",
        "metadata": {"name": "web-5b8d7f", "namespace": "karmada-es-member1", "generation": 3},
        "spec": {"workload": {"manifests": [CARRIED]}},
        "status": {
            "conditions": [APPLIED],
            "manifestStatuses": [
                {
                    "health": "Healthy",
                    "identifier": IDENTIFIER,
                    "status": {"availableReplicas": 2},
                }
            ],
        },
    } == told(files, "feedback/member1/karmada-es-member1/web-5b8d7f-work.yaml")


def test_of_a_work_of_kubefleet_counts_of_which_snapshot_it_is() -> None:
    """And what its conditions say of it as a whole."""
    mark = "kubernetes-fleet.io"
    files = texts(import_into({}, [placement(), kubefleet_work()]))

    assert {
        "apiVersion": "placement.kubernetes-fleet.io/v1",
        "kind": "Work",
        "metadata": {
            "name": "web-work",
            "namespace": "fleet-member-member1",
            "generation": 3,
            "labels": {f"{mark}/parent-CRP": "web"},
            "annotations": {f"{mark}/parent-resource-snapshot-name": "web-0-snapshot"},
        },
        "status": {"conditions": [APPLIED]},
    } == told(files, "feedback/member1/fleet-member-member1/web-work-work.yaml")


def troubled(kind: str = "ConfigMap", *, at: str = THEN) -> Body:
    """A Work of KubeFleet in which one resource is as it should be, and another drifted."""
    details = {
        "observationTime": at,
        "firstDriftedObservedTime": THEN,
        "observedInMemberClusterGeneration": 4,
        "observedDrifts": [{"path": "/data/x", "valueInMember": "secret"}],
    }
    named = {"ordinal": 1, "version": "v1", "kind": kind, "name": "x", "namespace": "default"}
    failed = [{**APPLIED, "status": "False"}]
    listed = [
        {"conditions": [APPLIED], "identifier": IDENTIFIER},
        {"conditions": [*failed, AVAILABLE], "identifier": named, "driftDetails": details},
    ]
    return {**kubefleet_work(), "status": {"conditions": failed, "manifestConditions": listed}}


TROUBLED = "feedback/member1/fleet-member-member1/web-work-work.yaml"


def test_of_a_work_of_kubefleet_counts_what_is_wrong() -> None:
    """What is as it should be is left out."""
    files = texts(import_into({}, [placement(), troubled()]))
    status = told(files, TROUBLED)["status"]
    assert isinstance(status, dict)

    (one,) = status["manifestConditions"]
    assert ("x", ["False"]) == (
        one["identifier"]["name"],
        [item["status"] for item in one["conditions"]],
    )
    assert [{"path": "/data/x", "valueInMember": "secret"}] == one["driftDetails"]["observedDrifts"]


def test_that_a_drift_was_seen_again_counts_for_nothing() -> None:
    """The agent looks every few minutes."""
    files = texts(import_into({}, [placement(), troubled()]))
    again = import_into(files, [placement(), troubled(at="2026-11-20T13:00:00Z")])

    assert {} == again.files


def test_what_drifted_in_a_secret_becomes_no_file() -> None:
    """That it did is told, and where."""
    files = texts(import_into({}, [placement(), troubled("Secret")]))

    assert "path: /data/x" in files[TROUBLED]
    assert "valueInMember: secret" not in files[TROUBLED]


def test_of_a_manifest_work_counts_its_feedback() -> None:
    """With the replicas that it wants, by which health is told."""
    files = texts(import_into({}, [workload("web", 2), manifest_work()]))
    found = told(files, "feedback/member1/member1/web-5b8d7f-manifestwork.yaml")

    assert {"workload": {"manifests": [CARRIED]}} == found["spec"]
    assert {
        "name": "web-5b8d7f",
        "namespace": "member1",
        "generation": 3,
    } == found["metadata"]


def test_of_a_manifest_work_of_a_set_counts_its_template() -> None:
    """The manifests are in the set."""
    label = "work.open-cluster-management.io/manifestworkreplicaset"
    repository = {"shop.yaml": text(replica_set())}
    files = texts(import_into(repository, [manifest_work(**{label: "ns1.shop"})]))
    found = told(files, "feedback/member1/member1/web-5b8d7f-manifestwork.yaml")

    assert "spec" not in found
    assert {
        "name": "web-5b8d7f",
        "namespace": "member1",
        "generation": 3,
        "labels": {label: "ns1.shop"},
        "annotations": {TEMPLATE: "0f3c"},
    } == found["metadata"]


def test_a_second_import_of_the_same_hub_writes_nothing() -> None:
    """Whatever the server counted up in the meantime."""
    hub = [workload("web", 2), karmada_work(), manifest_work(), placement(), kubefleet_work()]
    files = texts(import_into({}, hub))

    assert {} == import_into(files, hub).files


@pytest.mark.parametrize(
    ("bodies", "wanted", "why"),
    [
        pytest.param(
            [karmada_work()], DEPLOYMENTS, "it is of nothing in the repository", id="unknown"
        ),
        pytest.param(
            [workload("web", 2), karmada_work("default")],
            DEPLOYMENTS,
            "its namespace names no cluster",
            id="no-cluster",
        ),
        pytest.param(
            [karmada_work()],
            Wanted(cluster="member2"),
            "it is of the cluster member1",
            id="other-cluster",
        ),
        pytest.param(
            [workload("web", 2), {**karmada_work(), "status": {}}],
            DEPLOYMENTS,
            "it has no status to report",
            id="no-status",
        ),
    ],
)
def test_other_reports_of_agents_are_skipped(bodies: list[Body], wanted: Wanted, why: str) -> None:
    """Each with its reason."""
    plan = import_into({}, bodies, wanted)

    assert [why] == [one.why for one in plan.objects if one.key.kind == "Work"]


def test_a_work_that_is_gone_from_its_hub_is_listed() -> None:
    """A stale report would speak for a copy that is not there any more."""
    files = texts(import_into({}, [workload("web", 2), karmada_work()]))
    plan = import_into(files, [workload("web", 2)], Wanted(listed=frozenset({WORK})))

    assert ("web-5b8d7f", "gone") in fates(plan)


def test_moments_are_kept() -> None:
    """They say since when a condition holds."""
    files = texts(import_into({}, [karmada_work(), workload("web", 2)]))

    assert THEN in files["feedback/member1/karmada-es-member1/web-5b8d7f-work.yaml"]
