"""What KubeFleet's hub agent and member agents do to objects, as far as a switch can notice it.

Invented: nobody ran them here. What they do is told from upstream's source: the hub agent writes a
Work for each binding with the strategy of its placement, and a member's agent owns what it applies
by an AppliedWork, reports only where that is all it may, and ends with the AppliedWork's objects.

Source: kubefleet@e160c1c pkg/controllers/workapplier/controller.go `garbageCollectAppliedWork`,
process.go `takeOverInMemberClusterObjectIfApplicable`, `reportDiffOnlyIfApplicable`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from reconciler.model.body import Body
from tests.kube.brought_objects import bring, is_there
from tests.kube.served_kinds import FLEET, wants_replicas
from tests.kube.store import Place, Store

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
