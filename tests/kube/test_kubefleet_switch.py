"""From a KubeFleet hub to us and back, as docs/adopt.md says: nothing is deleted or recreated."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from reconciler.model.body import Body
from tests.imports.hubs import kubefleet_hub
from tests.imports.imported import deployment
from tests.kube.journey import Journey, journey
from tests.kube.store import (
    FLEET,
    KUBEFLEET,
    KUBEFLEET_MEMBER,
    Place,
    Store,
    bring,
    filled,
    is_there,
    wants_replicas,
)

HOME = "fleet-system"
HUB_AGENT, MEMBER_AGENT = "hub-agent", "member-agent"
FINALIZER = "kubernetes-fleet.io/work-cleanup"
SPACE = "fleet-member-"


@dataclass
class KubeFleet:
    """A hub with its agent, and members with theirs."""

    hub: Store
    members: Mapping[str, Store]

    def turn(self) -> None:
        """Let everything that runs act once."""
        if wants_replicas(self.hub, HOME, HUB_AGENT):
            self._generate()
        for name, member in self.members.items():
            if wants_replicas(member, HOME, MEMBER_AGENT):
                for work in self.hub.listed(self.hub.resource("Work"), f"{SPACE}{name}"):
                    self._apply(member, work)

    def _generate(self) -> None:
        """Write the Works of bindings."""
        there = {self.hub.place_of(one): one for one in self.hub.all("Work")}
        snapshot: Any = self.hub.all("ClusterResourceSnapshot")[0]
        placement: Any = self.hub.all("ClusterResourcePlacement")[0]
        manifests = [_pruned(one) for one in snapshot["spec"]["selectedResources"]]
        strategy = placement["spec"]["strategy"].get("applyStrategy", {})
        for binding in self.hub.all("ClusterResourceBinding"):
            spec: Any = binding["spec"]
            body: Body = {
                "apiVersion": f"{FLEET}/v1beta1",
                "kind": "Work",
                "metadata": {
                    "name": f"{placement['metadata']['name']}-work",
                    "namespace": f"{SPACE}{spec['targetCluster']}",
                    "labels": {"kubernetes-fleet.io/parent-CRP": placement["metadata"]["name"]},
                    "finalizers": [FINALIZER],
                },
                "spec": {"applyStrategy": strategy, "workload": {"manifests": manifests}},
            }
            live = there.get(self.hub.place_of(body))
            if live is None or live["spec"] != body["spec"]:
                self.hub.write(body, HUB_AGENT)

    def _apply(self, member: Store, work: Any) -> None:
        """Apply a Work as an agent does, report only, or end it."""
        applied = Place(member.resource("AppliedWork"), "", work["metadata"]["name"])
        if "deletionTimestamp" in work["metadata"]:
            if is_there(member, applied):
                member.delete(applied, "Foreground")
            done = {"metadata": {"finalizers": None}}
            self.hub.merge(self.hub.place_of(work), done, MEMBER_AGENT)
            return
        kind = {"apiVersion": f"{FLEET}/v1beta1", "kind": "AppliedWork"}
        if not is_there(member, applied):
            member.write({**kind, "metadata": {"name": applied.name}}, MEMBER_AGENT)
        metadata: Any = member.get(applied)["metadata"]
        owner = {**kind, "name": applied.name, "uid": metadata["uid"]}
        strategy = work["spec"]["applyStrategy"]
        if (strategy.get("type"), strategy.get("whenToTakeOver")) == ("ReportDiff", "Never"):
            return
        for manifest in work["spec"]["workload"]["manifests"]:
            bring(member, manifest, owner, owns=True, manager=MEMBER_AGENT)


def _pruned(resource: Any) -> Body:
    """Return a selected resource without what a server made."""
    metadata = resource["metadata"]
    return {
        "apiVersion": resource["apiVersion"],
        "kind": resource["kind"],
        "metadata": {"name": metadata["name"], "namespace": metadata["namespace"]},
        "spec": resource["spec"],
    }


MEMBERS = ("member1", "member5")
IMAGE = "example/web:1"
pytestmark = pytest.mark.cpu_seconds(120)  # a real kubectl, some forty times


@pytest.fixture
def operator(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Journey]:
    """A fleet that KubeFleet runs: one placement on two clusters."""
    agent = deployment(f"{HOME}/{HUB_AGENT}", 1)
    hub = filled("fleet-hub", KUBEFLEET, [*kubefleet_hub(1), agent])
    member_agent = deployment(f"{HOME}/{MEMBER_AGENT}", 1)
    members = {name: filled(name, KUBEFLEET_MEMBER, [member_agent]) for name in MEMBERS}
    fleet = KubeFleet(hub, members)
    fleet.turn()
    stores = {"fleet-hub": hub, **members}
    with journey("kubefleet", tmp_path, stores, MEMBERS, fleet.turn, capsys) as found:
        found.note()
        yield found


def owners(operator: Journey) -> list[object]:
    """The owners of what runs."""
    return [
        owner
        for one in operator.workloads().values()
        for owner in one["metadata"].get("ownerReferences", [])  # type: ignore[attr-defined]
    ]


def test_forth_and_back(operator: Journey) -> None:
    """Report only, stop, take the owners off, deliver, take over; then the hub takes it back."""
    operator.adopt("fleet-hub")
    assert ["agents", "scheduler", "keep", "delivery"] == list(operator.left("fleet-hub"))

    for step in ("agents", "scheduler"):
        operator.do(step)
        assert step not in operator.left("fleet-hub")
        operator.assert_nothing_is_recreated()
    assert 2 == len(owners(operator))
    operator.do("keep")
    operator.assert_nothing_is_recreated()
    assert [] == owners(operator)

    operator.adopt("fleet-hub")
    placement = "placements/apps-0000.yaml"
    reporting = (operator.fleet.folder / placement).read_text(encoding="utf-8")
    applying = reporting.replace("ReportDiff", "ClientSideApply").replace("Never", "Always")
    operator.start_delivery()
    operator.decide()
    assert "delivery-not-carried" in operator.reconciler("validate")[1]
    assert {"keep": "members"} == operator.left("fleet-hub")
    operator.commit({placement: applying})
    assert {"import": "open", "keep": "members"} == operator.left("fleet-hub")
    generations = operator.generations()
    operator.deliver()
    operator.assert_nothing_is_recreated()
    assert generations == operator.generations()

    path = "workloads/default/web-deployment.yaml"
    text = (operator.fleet.folder / path).read_text(encoding="utf-8")
    operator.commit({path: text.replace(IMAGE, "example/web:2")})
    operator.deliver()
    assert "example/web:2" in operator.images().values()
    operator.do("back")
    operator.assert_nothing_is_recreated()
    assert ({IMAGE}, 2) == (set(operator.images().values()), len(owners(operator)))


def test_the_step_that_keeps_is_worth_its_while(operator: Journey) -> None:
    """Without it an object goes with its Work, whatever its agent may apply."""
    hub, log = operator.stores["fleet-hub"], operator.stores["member1"].log
    operator.do("agents")
    operator.do("scheduler")
    hub.delete(Place(hub.resource("Work"), "fleet-member-member1", "apps-0000-work"))
    operator.turn()

    assert "deleted Deployment default/web" in log
