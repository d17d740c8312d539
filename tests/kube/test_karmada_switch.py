"""From a Karmada hub to us and back, as docs/adopt.md says: nothing is deleted or recreated."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.imports.karmada_hub import karmada_hub
from tests.imports.switches import WORKS, deployment
from tests.kube.journey import Journey, journey, shadow_report
from tests.kube.karmada_controllers import Karmada
from tests.kube.served_kinds import DEPLOYMENT, KARMADA, filled
from tests.kube.store import Place, Store

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
