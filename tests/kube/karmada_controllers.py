"""What Karmada's controllers do to objects, as far as a switch can notice it.

Invented: nobody ran them here. What they do is told from upstream's source: the detector hands
`preserveResourcesOnDeletion` down to bindings, the binding controller writes a Work for each
cluster and deletes those of others, and the execution controller updates objects and deletes them
with their Work, unless that preserves them.

Source: karmada@f8fdd02 pkg/controllers/binding/common.go `ensureWork`,
pkg/controllers/execution/execution_controller.go `handleWorkDelete`, `syncWork`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from reconciler.dialects.karmada.binding.works import work_name
from reconciler.model.body import Body
from tests.kube.served_kinds import wants_replicas
from tests.kube.store import Place, Store

MANAGER = "karmada-controller-manager"
SCHEDULER = "karmada-scheduler"
HOME = "karmada-system"
FINALIZER = "karmada.io/execution-controller"
SPACE = "karmada-es-"


@dataclass
class Karmada:
    """A control plane: the API server of Karmada, the cluster that runs it, and Push clusters."""

    hub: Store
    host: Store
    members: Mapping[str, Store]

    def turn(self) -> None:
        """Let everything that runs act once."""
        if wants_replicas(self.host, HOME, SCHEDULER):
            self._schedule()
        if wants_replicas(self.host, HOME, MANAGER):
            self._detect()
            if not self._is_off("binding"):
                self._bind()
            self._execute()

    def _is_off(self, controller: str) -> bool:
        """Return whether a flag of karmada-controller-manager switches a controller off."""
        place = Place(self.host.resource("Deployment"), HOME, MANAGER)
        spec: Any = self.host.get(place)["spec"]
        (container,) = spec["template"]["spec"]["containers"]
        found = (word for word in container["command"] if word.startswith("--controllers="))
        return any(f"-{controller}" in word.partition("=")[2].split(",") for word in found)

    def _schedule(self) -> None:
        """Give each binding the replicas of its template, where it is."""
        for template, binding in self._bound():
            replicas, (target, *_) = template["spec"]["replicas"], binding["spec"]["clusters"]
            if target["replicas"] != replicas:
                clusters = [{**target, "replicas": replicas}]
                patch = {"spec": {"clusters": clusters, "replicas": replicas}}
                self.hub.merge(self.hub.place_of(binding), patch, SCHEDULER)

    def _detect(self) -> None:
        (policy,) = self.hub.all("PropagationPolicy")
        preserves = policy["spec"].get("preserveResourcesOnDeletion", False)  # type: ignore[attr-defined]
        for _, binding in self._bound():
            if binding["spec"].get("preserveResourcesOnDeletion", False) != preserves:
                patch = {"spec": {"preserveResourcesOnDeletion": preserves}}
                self.hub.merge(self.hub.place_of(binding), patch, MANAGER)

    def _bind(self) -> None:
        """Write the Works of bindings, and delete those of clusters that they left."""
        wanted = dict(
            self._work(template, binding, target)
            for template, binding in self._bound()
            for target in binding["spec"]["clusters"]
        )
        for work in self.hub.all("Work"):
            if self.hub.place_of(work) not in wanted:
                self.hub.delete(self.hub.place_of(work))
        there = {self.hub.place_of(one): one for one in self.hub.all("Work")}
        for place, body in wanted.items():
            if place not in there or there[place]["spec"] != body["spec"]:
                self.hub.write(body, MANAGER)

    def _work(self, template: Any, binding: Any, target: Any) -> tuple[Place, Body]:
        metadata = template["metadata"]
        name = {"namespace": metadata["namespace"], "name": metadata["name"]}
        manifest = {
            "apiVersion": template["apiVersion"],
            "kind": template["kind"],
            "metadata": {**name, "labels": {"karmada.io/managed": "true"}},
            "spec": {**template["spec"], "replicas": target["replicas"]},
        }
        body = {
            "apiVersion": "work.karmada.io/v1alpha1",
            "kind": "Work",
            "metadata": {
                "name": work_name(template["kind"], *name.values()),
                "namespace": f"{SPACE}{target['name']}",
                "finalizers": [FINALIZER],
            },
            "spec": {
                "preserveResourcesOnDeletion": binding["spec"].get(
                    "preserveResourcesOnDeletion", False
                ),
                "workload": {"manifests": [manifest]},
            },
        }
        return self.hub.place_of(body), body

    def _execute(self) -> None:
        """Bring each Work to its cluster, and what is deleted away from it."""
        for work in self.hub.all("Work"):
            metadata: Any = work["metadata"]
            spec: Any = work["spec"]
            member = self.members[metadata["namespace"].removeprefix(SPACE)]
            (manifest,) = spec["workload"]["manifests"]
            place = member.place_of(manifest)
            if "deletionTimestamp" not in metadata:
                self._bring(member, place, manifest)
                continue
            if not spec["preserveResourcesOnDeletion"]:
                member.delete(place)
            done = {"metadata": {"finalizers": None}}
            self.hub.merge(self.hub.place_of(work), done, MANAGER)

    def _bring(self, member: Store, place: Place, manifest: Any) -> None:
        live: Any = next((o for o in member.all("Deployment") if member.place_of(o) == place), None)
        if live is None:
            member.write(manifest, MANAGER)
        elif live["spec"] != manifest["spec"]:
            member.write({**live, "spec": manifest["spec"]}, MANAGER)

    def _bound(self) -> list[tuple[Any, Any]]:
        """Return each template with its binding."""
        templates = {one["metadata"]["name"]: one for one in self.hub.all("Deployment")}  # type: ignore[index]
        found = self.hub.all("ResourceBinding")
        return [(templates[one["spec"]["resource"]["name"]], one) for one in found]  # type: ignore[index]
