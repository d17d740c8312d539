"""The whole way with Works: delivered to agents, reported by them, until an eviction ends."""

from dataclasses import dataclass

import pytest

from reconciler.dialects.karmada.api.names import execution_namespace
from reconciler.manifests.text.reader import read
from tests.builders import Body, text
from tests.delivery.karmada_story import DOWN, TOLERANT
from tests.delivery.test_story import verified
from tests.shell.fleet import new_fleet, run_pass
from tests.shell.repositories import Checkout

CONFIGURATION = """\
apiVersion: reconciler.dev/v1alpha1
kind: ReconcilerConfiguration
metadata: {name: fleet}
spec:
  feedback: {assumeAfterSeconds: null}
  delivery: {works: {hubsWithoutControllers: true}}
"""
BINDING = "resourcebindings.work.karmada.io/default/shop-deployment"
CLUSTERS = ("member1", "member2", "backup1")
STEPS = ((60, "member1 reports"), (121, "member1 fails"), (181, ""), (240, "backup1 reports"))


@dataclass(frozen=True)
class Stage:
    """What is so after a step.

    Attributes:
        delivered: The clusters that have a Work of the shop.
        aggregated: Cluster to the health that its binding knows.
        applied: Status and reason of FullyApplied.
    """

    delivered: tuple[str, ...]
    aggregated: dict[str, str]
    applied: tuple[str, str]


def body_of(fleet: Checkout, path: str) -> Body:
    """What a file holds."""
    return read((fleet.folder / path).read_bytes(), path).documents[0].body


def works(fleet: Checkout, cluster: str) -> list[str]:
    """The files of the Works of the shop that a cluster has."""
    found = (fleet.folder / "works" / cluster / BINDING).glob("*.yaml")
    return sorted(path.relative_to(fleet.folder).as_posix() for path in found)


def reported(fleet: Checkout, cluster: str) -> dict[str, str]:
    """What kubectl exports of the Work of the shop once it runs in a cluster."""
    work = body_of(fleet, works(fleet, cluster)[0])
    spec = work["spec"]
    assert isinstance(spec, dict)
    replicas = spec["workload"]["manifests"][0]["spec"]["replicas"]
    identifier = {
        "ordinal": 0,
        "group": "apps",
        "version": "v1",
        "kind": "Deployment",
        "resource": "deployments",
        "namespace": "default",
        "name": "shop",
    }
    applied = {
        "type": "Applied",
        "status": "True",
        "reason": "AppliedSuccessful",
        "message": "Manifest has been successfully applied",
        "lastTransitionTime": "2026-11-20T12:00:30Z",
    }
    runs = {"replicas": replicas, "availableReplicas": replicas}
    manifest = {"identifier": identifier, "status": runs, "health": "Healthy"}
    status = {"conditions": [applied], "manifestStatuses": [manifest]}
    name = f"feedback/{cluster}/{execution_namespace(cluster)}/shop-work.yaml"
    return {name: text({**work, "status": status})}


def stage(fleet: Checkout) -> Stage:
    """How far the shop is."""
    status = body_of(fleet, f"status/{BINDING}.yaml")["status"]
    assert isinstance(status, dict)
    conditions = {one["type"]: one for one in status["conditions"]}
    applied = conditions["FullyApplied"]
    return Stage(
        delivered=tuple(name for name in CLUSTERS if works(fleet, name)),
        aggregated={
            one["clusterName"]: one["health"] for one in status.get("aggregatedStatus", [])
        },
        applied=(applied["status"], applied["reason"]),
    )


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> tuple[Checkout, list[Stage]]:
    """A fleet in which member1 fails and the shop goes on elsewhere, and each stage of it."""
    files = {"reconciler.yaml": CONFIGURATION, "policies/shop.yaml": TOLERANT}
    checkout = new_fleet(tmp_path_factory.mktemp("works") / "fleet", files)
    run_pass(checkout.folder, 0)
    stages = [stage(checkout)]
    for seconds, event in STEPS:
        match event.split():
            case [cluster, "reports"]:
                checkout.commit(reported(checkout, cluster), event)
            case [cluster, "fails"]:
                checkout.commit({f"clusters/{cluster}.yaml": DOWN}, event)
        run_pass(checkout.folder, seconds)
        stages.append(stage(checkout))
    return checkout, stages


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        pytest.param(0, Stage(("member1",), {}, ("False", "AwaitingFeedback")), id="placed"),
        pytest.param(
            1,
            Stage(("member1",), {"member1": "Healthy"}, ("True", "FullyAppliedSuccess")),
            id="reported",
        ),
        pytest.param(
            2,
            Stage(("member1",), {"member1": "Healthy"}, ("True", "FullyAppliedSuccess")),
            id="tolerated",
        ),
        pytest.param(
            3,
            Stage(("member1", "backup1"), {}, ("False", "AwaitingFeedback")),
            id="evicted-gracefully",
        ),
        pytest.param(
            4,
            Stage(("backup1",), {"backup1": "Healthy"}, ("True", "FullyAppliedSuccess")),
            id="healthy-elsewhere",
        ),
    ],
)
def test_works_that_come_back_end_an_eviction(
    fleet: tuple[Checkout, list[Stage]], number: int, expected: Stage
) -> None:
    """The old cluster keeps its Work until that of the new one is reported as healthy."""
    assert expected == fleet[1][number]


def test_passes_over_reported_works_are_proven(
    fleet: tuple[Checkout, list[Stage]], capsys: pytest.CaptureFixture[str]
) -> None:
    """What was decided on their word is computed again."""
    assert 0 == verified(fleet[0])
    capsys.readouterr()
