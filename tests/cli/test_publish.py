"""`reconciler publish` against an API server of the loopback, by a real kubectl."""

import json
import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest

from reconciler.cli.main import run
from tests.builders import (
    cluster,
    cluster_status,
    configuration,
    deployment,
    policy,
    profile,
    text,
)
from tests.delivery.kubectl import kubectl
from tests.kube.journey import contexts
from tests.kube.store import Place, Resource, Store
from tests.shell.fleet import run_pass
from tests.shell.repositories import Checkout, new_checkout

pytestmark = pytest.mark.cpu_seconds(120)  # kubectl starts some times

GROUP = "multicluster.x-k8s.io"
PROFILE = Resource(GROUP, "v1alpha1", "ClusterProfile", "clusterprofiles")
SLICE = Resource(GROUP, "v1alpha1", "PlacementDecision", "placementdecisions")
ON_B = {"clusterAffinity": {"clusterNames": ["b"]}}
PUBLISHING = configuration(
    inventory={"publish": {"namespace": "fleet", "manager": "us"}},
    decisions={"publish": {"namespace": "decisions"}},
)


@dataclass(frozen=True)
class Hub:
    """A repository that publishes, and a hub."""

    fleet: Checkout
    store: Store
    options: tuple[str, ...]

    def publish(self, *more: str) -> int:
        """Run the verb."""
        return run(["-C", str(self.fleet.folder), "publish", *self.options, *more])

    def named(self, resource: Resource) -> list[str]:
        """The names of what the hub has."""
        return [cast(Any, one["metadata"])["name"] for one in self.store.listed(resource)]

    def listed(self, plural: str, namespace: str) -> list[Any]:
        """What kubectl lists."""
        command = ("kubectl", *self.options, "-n", namespace, "get", f"{plural}.{GROUP}", "-o=json")
        said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        return cast(list[Any], json.loads(said)["items"])

    def profile(self, name: str) -> Any:
        """A profile on the hub."""
        return self.store.get(Place(PROFILE, "fleet", name))


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """Two clusters and a workload on them, decided; the hub is empty."""
    monkeypatch.setenv("PATH", f"{kubectl().parent}:{os.environ['PATH']}")
    monkeypatch.setenv("HOME", str(tmp_path))
    files = {
        "reconciler.yaml": text(PUBLISHING),
        "a.yaml": text(cluster("a", status={**cluster_status(), "kubernetesVersion": "v1.34.1"})),
        "b.yaml": text(cluster("b")),
        "web.yaml": text(deployment(), policy()),
    }
    fleet = new_checkout(tmp_path / "fleet", files)
    run_pass(fleet.folder, 0)
    store = Store("hub", (PROFILE, SLICE))
    with contexts(tmp_path, {"hub": store}) as kubeconfig:
        yield Hub(fleet, store, ("--context", "hub", "--kubeconfig", str(kubeconfig)))


def test_a_hub_gets_profiles_with_their_status_and_slices(
    hub: Hub, capsys: pytest.CaptureFixture[str]
) -> None:
    """A second time there is nothing to do."""
    first = hub.publish()
    again = hub.publish()

    assert (0, 0) == (first, again)
    assert capsys.readouterr().out.endswith("\nnothing to do\n")
    assert ["a", "b"] == hub.named(PROFILE)
    assert {"kubernetes": "v1.34.1"} == hub.profile("a")["status"]["version"]
    assert "True" == hub.profile("b")["status"]["conditions"][0]["status"]
    (decision,) = hub.store.listed(SLICE)
    assert ["a", "b"] == [
        one["clusterProfileRef"]["name"] for one in cast(Any, decision["decisions"])
    ]


def test_a_change_changes_one_status_and_what_is_gone_goes(hub: Hub) -> None:
    """What is not concerned is not even written."""
    hub.publish()
    status = {**cluster_status(), "kubernetesVersion": "v1.35.0"}
    hub.fleet.commit({"a.yaml": text(cluster("a", status=status))})
    run_pass(hub.fleet.folder, 10)
    before = hub.profile("b")["metadata"]["resourceVersion"]
    hub.publish()
    untouched = hub.profile("b")["metadata"]["resourceVersion"]
    changed = hub.profile("a")["status"]["version"]
    hub.fleet.git("rm", "--quiet", "b.yaml", "web.yaml")
    hub.fleet.commit({})
    run_pass(hub.fleet.folder, 20)
    hub.publish()

    assert {"kubernetes": "v1.35.0"} == changed
    assert before == untouched
    assert (["a"], []) == (hub.named(PROFILE), hub.named(SLICE))


def test_what_others_have_on_a_hub_is_left_alone(
    hub: Hub, capsys: pytest.CaptureFixture[str]
) -> None:
    """A profile of another manager stays, and so does a field that somebody else has set."""
    hub.store.write(profile("z", namespace="fleet", manager="other"), "somebody")
    hub.publish()
    body = {**hub.profile("a"), "spec": {"clusterManager": {"name": "us"}, "displayName": "mine"}}
    hub.store.write(body, "somebody")
    label = {
        **body,
        "metadata": {**body["metadata"], "labels": {"x-k8s.io/cluster-manager": "them"}},
    }
    hub.store.write(label, "somebody")

    assert 1 == hub.publish()
    assert "conflict" in capsys.readouterr().err
    assert ["a", "b", "z"] == hub.named(PROFILE)
    assert "mine" == hub.profile("a")["spec"]["displayName"]


def consumed(hub: Hub) -> dict[str, list[str]]:
    """Where each placement goes, as a consumer learns it from the API server alone.

    It lists the slices of the scheduler, collects them by key in the order of their indexes, and
    resolves each reference.
    """
    found: dict[str, list[str]] = {}
    there = {one["metadata"]["name"] for one in hub.listed("clusterprofiles", "fleet")}

    def index(one: Any) -> int:
        return int(one["metadata"]["labels"].get(f"{GROUP}/decision-index", "0"))

    for one in sorted(hub.listed("placementdecisions", "decisions"), key=index):
        names = [each["clusterProfileRef"]["name"] for each in one["decisions"]]
        assert set(names) <= there
        found.setdefault(one["metadata"]["labels"][f"{GROUP}/decision-key"], []).extend(names)
    return found


def test_a_consumer_sees_through_the_api_what_was_decided(hub: Hub) -> None:
    """A cluster that joins, a workload that moves, one that goes: after each, just that."""
    seen = []
    for number, files in enumerate(
        (
            {},
            {"c.yaml": text(cluster("c"))},
            {"web.yaml": text(deployment(), policy(placement=ON_B))},
            {"web.yaml": text(policy())},
        )
    ):
        if files:
            hub.fleet.commit(files)
            run_pass(hub.fleet.folder, 10 * number)
        assert 0 == hub.publish()
        seen.append([sorted(names) for names in consumed(hub).values()])

    assert [[["a", "b"]], [["a", "b", "c"]], [["b"]], []] == seen


def test_a_dry_run_changes_nothing(hub: Hub, capsys: pytest.CaptureFixture[str]) -> None:
    """It says what would be done."""
    assert 0 == hub.publish("--dry-run")
    assert [] == hub.named(PROFILE)
    assert f"clusterprofiles.{GROUP}/fleet/a status applied" in capsys.readouterr().out


def test_a_repository_that_publishes_nothing_is_told_so(
    hub: Hub, capsys: pytest.CaptureFixture[str]
) -> None:
    """With what to set."""
    hub.fleet.commit({"reconciler.yaml": text(configuration())})

    assert 2 == hub.publish()
    assert "set `inventory.publish` or `decisions.publish`" in capsys.readouterr().err


def test_a_revision_without_a_pass_deletes_nothing(
    hub: Hub, capsys: pytest.CaptureFixture[str]
) -> None:
    """The wrong branch must not look like a fleet from which everything is gone."""
    assert 0 == hub.publish()
    before = (hub.named(PROFILE), hub.named(SLICE))
    first = hub.fleet.git("rev-list", "--max-parents=0", "HEAD")

    assert 2 == hub.publish("--at", first)
    assert "so everything on the hub would be deleted" in capsys.readouterr().err
    assert before == (hub.named(PROFILE), hub.named(SLICE))
