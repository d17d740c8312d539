"""From an OCM hub to us and back, as docs/adopt.md says: nothing is deleted or recreated.

What controllers and agents answer is invented; see `tests/kube/ocm_controllers.py`.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from reconciler.model.body import Body
from tests.builders import text
from tests.imports.hubs import workload
from tests.imports.ocm_hub import ocm_hub
from tests.imports.switches import deployment
from tests.kube.journey import Journey, journey
from tests.kube.ocm_controllers import HUB, MANAGED, OPERATOR, Ocm
from tests.kube.served_kinds import OCM, OCM_MEMBER, OCM_WORK, filled
from tests.kube.store import Place, Store

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
