"""What OCM's controllers and agents do to objects, as far as a switch can notice it.

Invented: nobody ran them here. What they do is told from upstream's source: the operator starts
what it manages, the controller of sets writes a ManifestWork for each cluster of a decision, and an
agent applies it again and again, as an owner unless it orphans; what it owns goes with it.

Source: ocm@00f84c3 pkg/work/spoke/controllers/manifestcontroller/manifestwork_reconciler.go
`manageOwnerRef`, finalizercontroller/appliedmanifestwork_finalize_controller.go.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from reconciler.model.body import Body
from tests.kube.brought_objects import bring, is_there
from tests.kube.served_kinds import DEPLOYMENT, OCM_WORK, wants_replicas
from tests.kube.store import Place, Store

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
