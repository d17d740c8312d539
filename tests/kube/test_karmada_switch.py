"""From a Karmada hub to us and back, as docs/adopt.md says: nothing is deleted or recreated."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from reconciler.dialects.karmada.binding.works import work_name
from reconciler.model.body import Body
from tests.imports.hubs import karmada_hub
from tests.imports.imported import WORKS, deployment
from tests.kube.journey import Journey, journey, shadow_report
from tests.kube.store import DEPLOYMENT, KARMADA, Place, Store, filled, wants_replicas

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


HUB = ("karmada-hub", "host")
WEB = Place(DEPLOYMENT, "default", "web-0000")
MEMBERS = ("member1", "member2")
IMAGE = "example/web:1"
PATH = "workloads/default/web-0000-deployment.yaml"
pytestmark = pytest.mark.cpu_seconds(120)  # a real kubectl, some forty times


@pytest.fixture
def operator(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[Journey]:
    """A fleet that Karmada runs: one workload on each of two clusters."""
    hub = filled("karmada-hub", KARMADA, karmada_hub(2))
    control = ("karmada-controller-manager", "karmada-scheduler")
    host = filled("host", (DEPLOYMENT,), [deployment(f"karmada-system/{n}", 1) for n in control])
    members = {name: Store(name, (DEPLOYMENT,)) for name in MEMBERS}
    karmada = Karmada(hub, host, members)
    karmada.turn()
    stores = {"karmada-hub": hub, "host": host, **members}
    with journey("karmada", tmp_path, stores, MEMBERS, karmada.turn, capsys) as found:
        found.note()
        yield found


def scaled(operator: Journey, replicas: int) -> None:
    """Scale a template on the hub, where its controllers see it."""
    operator.stores["karmada-hub"].merge(WEB, {"spec": {"replicas": replicas}}, "ada")
    operator.turn()


def test_forth_and_back(operator: Journey) -> None:
    """Compare, keep, stop, deliver, take over; then the hub takes it back."""
    operator.adopt("karmada-hub")
    left = operator.left(*HUB)
    assert ["keep", "scheduler", "controllers", "delivery"] == list(left)

    scaled(operator, 5)
    assert {"import", "compare"} < operator.left(*HUB).keys()
    assert [] == [one for one in shadow_report() if one not in operator.checked(*HUB)[1]]
    operator.fleet.git("rm", "--quiet", "-r", "status/resourcebindings.work.karmada.io")
    operator.adopt("karmada-hub")
    assert not {"import", "adopt", "compare"} & operator.left(*HUB).keys()

    for step in ("keep", "scheduler", "controllers"):
        operator.do(step)
        assert step not in operator.left(*HUB)
        operator.assert_nothing_is_recreated()
    operator.adopt("karmada-hub")
    operator.start_delivery()
    assert {} == operator.left(*HUB)

    generations = operator.generations()
    operator.deliver()
    operator.assert_nothing_is_recreated()
    assert generations == operator.generations()
    assert "kustomize-controller" in operator.managers("member1/web-0000")

    taken_over_and_given_back(operator)


def edited(operator: Journey) -> str:
    """Return the file of a workload with another image."""
    text = (operator.fleet.folder / PATH).read_text(encoding="utf-8")
    return text.replace(IMAGE, "example/web:2")


def taken_over_and_given_back(operator: Journey) -> None:
    """What we decide reaches the same objects; then what the hub has does."""
    operator.commit({PATH: edited(operator)})
    operator.deliver()
    operator.assert_nothing_is_recreated()
    assert {"member1/web-0000": "example/web:2", "member2/web-0001": IMAGE} == operator.images()

    operator.do("back")
    operator.assert_nothing_is_recreated()
    assert {"member1/web-0000": IMAGE, "member2/web-0001": IMAGE} == operator.images()
    assert {"member1/web-0000": 5, "member2/web-0001": 4} == operator.replicas()


def test_by_the_agents_of_the_hub(operator: Journey) -> None:
    """Works are updated, whoever applies them; nothing else has to stop or to let go."""
    hub = operator.stores["karmada-hub"]
    operator.adopt("karmada-hub")
    operator.do("scheduler")
    operator.do("controllers with works")
    operator.start_delivery(WORKS)
    assert {} == operator.left(*HUB)

    works = [one["metadata"]["uid"] for one in hub.all("Work")]  # type: ignore[index]
    operator.deliver_to("karmada-hub", "works")
    operator.commit({PATH: edited(operator)})
    operator.deliver_to("karmada-hub", "works")
    operator.turn()

    assert works == [one["metadata"]["uid"] for one in hub.all("Work")]  # type: ignore[index]
    assert {"member1/web-0000": "example/web:2", "member2/web-0001": IMAGE} == operator.images()
    operator.assert_nothing_is_recreated()


def test_the_step_that_keeps_is_worth_its_while(operator: Journey) -> None:
    """Before it an object goes with its Work, after it the object stays."""
    hub, log = operator.stores["karmada-hub"], operator.stores["member1"].log
    (work, _) = map(hub.place_of, hub.all("Work"))
    hub.delete(work)
    operator.turn()
    assert "deleted Deployment default/web-0000" in log

    operator.do("keep")
    before = list(log)
    hub.delete(work)
    operator.turn()
    assert before == log
