"""From an OCM hub to us and back, as docs/adopt.md says: nothing is deleted or recreated."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from reconciler.model.body import Body
from tests.builders import text
from tests.imports.hubs import ocm_hub, workload
from tests.imports.imported import deployment
from tests.kube.journey import Journey, journey
from tests.kube.store import (
    DEPLOYMENT,
    OCM,
    OCM_MEMBER,
    OCM_WORK,
    Place,
    Store,
    bring,
    filled,
    is_there,
    wants_replicas,
)

HUB = "open-cluster-management-hub"
OPERATOR = ("open-cluster-management", "cluster-manager")
MANAGED = ("cluster-manager-placement-controller", "cluster-manager-work-controller")
FINALIZER = "cluster.open-cluster-management.io/manifest-work-cleanup"
SET_LABEL = f"{OCM_WORK}/manifestworkreplicaset"
PLACEMENT_LABEL = f"{OCM_WORK}/placementname"
AGENT = "work"


@dataclass
class Ocm:
    """A hub that runs its own controllers, and members, each with an agent."""

    hub: Store
    members: Mapping[str, Store]

    def turn(self) -> None:
        """Let everything that runs act once."""
        if wants_replicas(self.hub, *OPERATOR):
            self._operate()
        if wants_replicas(self.hub, HUB, MANAGED[1]):
            self._deploy()
        for name, member in self.members.items():
            for work in self.hub.listed(self.hub.resource("ManifestWork"), name):
                self._apply(member, work)

    def _operate(self) -> None:
        for name in MANAGED:
            if not wants_replicas(self.hub, HUB, name):
                place = Place(DEPLOYMENT, HUB, name)
                self.hub.merge(place, {"spec": {"replicas": 1}}, "cluster-manager")

    def _deploy(self) -> None:
        """Write the ManifestWorks of sets."""
        there = {self.hub.place_of(one): one for one in self.hub.all("ManifestWork")}
        for body in self._wanted():
            live = there.get(self.hub.place_of(body))
            if live is None or live["spec"] != body["spec"]:
                self.hub.write(body, "work-controller")

    def _wanted(self) -> Iterator[Body]:
        decided: Any = self.hub.all("PlacementDecision")
        for one in self.hub.all("ManifestWorkReplicaSet"):
            found: Any = one
            name, namespace = found["metadata"]["name"], found["metadata"]["namespace"]
            for decision in (d for each in decided for d in each["status"]["decisions"]):
                yield {
                    "apiVersion": f"{OCM_WORK}/v1",
                    "kind": "ManifestWork",
                    "metadata": {
                        "name": f"{name}x7k2p",
                        "namespace": decision["clusterName"],
                        "labels": {
                            SET_LABEL: f"{namespace}.{name}",
                            PLACEMENT_LABEL: found["spec"]["placementRefs"][0]["name"],
                        },
                        "finalizers": [FINALIZER],
                    },
                    "spec": found["spec"]["manifestWorkTemplate"],
                }

    def _apply(self, member: Store, work: Any) -> None:
        """Apply a ManifestWork as an agent does, or end it."""
        applied = Place(member.resource("AppliedManifestWork"), "", work["metadata"]["name"])
        if "deletionTimestamp" in work["metadata"]:
            if is_there(member, applied):
                member.delete(applied, "Foreground")
            place = self.hub.place_of(work)
            self.hub.merge(place, {"metadata": {"finalizers": None}}, AGENT)
            return
        if not is_there(member, applied):
            kind = {"apiVersion": f"{OCM_WORK}/v1", "kind": "AppliedManifestWork"}
            member.write({**kind, "metadata": {"name": applied.name}}, AGENT)
        metadata: Any = member.get(applied)["metadata"]
        owner = {
            "apiVersion": f"{OCM_WORK}/v1",
            "kind": "AppliedManifestWork",
            "name": applied.name,
            "uid": metadata["uid"],
        }
        orphans = work["spec"].get("deleteOption", {}).get("propagationPolicy") == "Orphan"
        for manifest in work["spec"]["workload"]["manifests"]:
            bring(member, manifest, owner, owns=not orphans, manager=AGENT)


MEMBERS = ("member1", "member4")
IMAGE = "example/web:1"
pytestmark = pytest.mark.cpu_seconds(120)  # a real kubectl, some forty times


def shop() -> Body:
    """A set of one Deployment, wherever the placement says."""
    template = workload("web", 2)
    manifest = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": template["spec"],
    }
    return {
        "apiVersion": f"{OCM_WORK}/v1alpha1",
        "kind": "ManifestWorkReplicaSet",
        "metadata": {"name": "shop", "namespace": "default"},
        "spec": {
            "placementRefs": [{"name": "apps-0000"}],
            "manifestWorkTemplate": {"workload": {"manifests": [manifest]}},
        },
    }


@pytest.fixture
def operator(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Journey]:
    """A fleet that OCM runs: one set on two clusters."""
    control = ["/".join(OPERATOR), *(f"{HUB}/{name}" for name in MANAGED)]
    hub = filled("ocm-hub", OCM, [*ocm_hub(1), shop(), *(deployment(n, 1) for n in control)])
    members = {name: Store(name, OCM_MEMBER) for name in MEMBERS}
    ocm = Ocm(hub, members)
    ocm.turn()
    with journey("ocm", tmp_path, {"ocm-hub": hub, **members}, MEMBERS, ocm.turn, capsys) as found:
        found.note()
        yield found


def take_the_set(operator: Journey, image: str = IMAGE) -> None:
    """Commit the set as the hub has it, but for its image."""
    live = operator.stores["ocm-hub"].all("ManifestWorkReplicaSet")[0]
    body = {**shop(), "spec": live["spec"]}
    operator.commit({"placements/default/shop.yaml": text(body).replace(IMAGE, image)})


def test_forth_and_back(operator: Journey) -> None:
    """Keep, stop, deliver, take over, let the agents go; then the hub takes it back."""
    take_the_set(operator)
    operator.adopt("ocm-hub")
    left = operator.left("ocm-hub")
    assert ["keep", "scheduler", "controllers", "delivery", "agents"] == list(left)

    for step in ("keep", "scheduler", "controllers"):
        operator.do(step)
        assert step not in operator.left("ocm-hub")
        operator.assert_nothing_is_recreated()
    take_the_set(operator)
    operator.adopt("ocm-hub")
    operator.start_delivery()
    generations = operator.generations()
    operator.deliver()
    operator.assert_nothing_is_recreated()
    assert generations == operator.generations()
    assert ["agents"] == list(operator.left("ocm-hub"))

    operator.do("agents")
    operator.assert_nothing_is_recreated()
    assert {} == operator.left("ocm-hub")

    take_the_set(operator, "example/web:2")
    operator.deliver()
    operator.turn()
    assert {"example/web:2"} == set(operator.images().values())
    operator.do("back")
    operator.assert_nothing_is_recreated()
    assert {IMAGE} == set(operator.images().values())


def test_the_step_that_keeps_is_worth_its_while(operator: Journey) -> None:
    """Before it an object goes with its ManifestWork, after it the object stays."""
    hub, log = operator.stores["ocm-hub"], operator.stores["member1"].log
    work = Place(hub.resource("ManifestWork"), "member1", "shopx7k2p")
    hub.delete(work)
    operator.turn()
    assert "deleted Deployment default/web" in log

    operator.do("keep")
    made = [line for line in log if "Deployment" in line]
    hub.delete(work)
    operator.turn()
    assert made == [line for line in log if "Deployment" in line]


def test_the_operator_starts_what_is_stopped_before_it(operator: Journey) -> None:
    """So it goes first."""
    (first, *rest) = [f"{HUB}/{name}" for name in MANAGED]
    for name in (first, *rest):
        namespace, _, called = name.partition("/")
        place = Place(operator.stores["ocm-hub"].resource("Deployment"), namespace, called)
        operator.stores["ocm-hub"].merge(place, {"spec": {"replicas": 0}}, "ada")
    operator.turn()

    assert {"scheduler", "controllers"} < operator.left("ocm-hub").keys()
