"""From a KubeFleet hub to us and back, as docs/adopt.md says: nothing is deleted or recreated.

What the agents answer is invented; see `tests/kube/kubefleet_agents.py`.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.imports.kubefleet_hub import kubefleet_hub
from tests.imports.switches import deployment
from tests.kube.journey import Journey, journey
from tests.kube.kubefleet_agents import HOME, HUB_AGENT, MEMBER_AGENT, KubeFleet
from tests.kube.served_kinds import KUBEFLEET, KUBEFLEET_MEMBER, filled
from tests.kube.store import Place

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
