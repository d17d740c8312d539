"""What all APIs ask before a switch: what is imported, adopted, alike, and delivered."""

from collections.abc import Callable, Mapping

import pytest

from reconciler.imports.importers import Wanted
from reconciler.model.body import Body
from reconciler.model.identity import ObjectKey
from tests.imports.hubs import key_of, workload
from tests.imports.imported import EMPTY
from tests.imports.karmada_hub import karmada_hub
from tests.imports.kubefleet_hub import kubefleet_hub
from tests.imports.ocm_hub import ocm_hub
from tests.imports.recorded_hubs import recorded
from tests.imports.switches import (
    FOLDERS,
    adopted,
    check,
    deployment,
    names,
    states,
    step,
    with_spec,
)

Hub = Callable[[int], list[Body]]
EACH = pytest.mark.parametrize("hub", [karmada_hub, ocm_hub, kubefleet_hub])
BINDING = ObjectKey("work.karmada.io", "ResourceBinding", "default", "web-0001-deployment")
ALL = frozenset({"all"})
ELSEWHERE = [{"name": "member7", "replicas": 4}]


def moved_hub(count: int) -> list[Body]:
    """A Karmada hub that moved its second workload since it was adopted."""
    return [
        with_spec(body, clusters=ELSEWHERE) if key_of(body) == BINDING else body
        for body in karmada_hub(count)
    ]


@EACH
def test_a_repository_with_nothing_in_it_lacks_everything(hub: Hub) -> None:
    """Neither files nor state are there."""
    found = states(check(EMPTY, hub(2)))

    assert ["open", "open", "open"] == [found[name] for name in ("import", "adopt", "delivery")]


@EACH
def test_an_adopted_hub_is_alike(hub: Hub) -> None:
    """What is imported is told as done, and nothing has moved."""
    found = check(adopted(hub(2)), hub(2))
    common = ("import", "workloads", "adopt", "compare")

    assert ["done"] * 4 == [states(found)[name] for name in common]
    assert () == found.moved


@EACH
def test_what_changed_on_the_hub_is_to_be_imported_again(hub: Hub) -> None:
    """A cluster that came."""
    export = hub(2)
    metadata = export[0]["metadata"]
    assert isinstance(metadata, Mapping)
    came = {**export[0], "metadata": {**metadata, "name": "member99"}}
    found = step(check(adopted(export), [*export, came]), "import")

    assert ("open", ["member99"]) == (str(found.state), names(found))


def test_what_no_decision_brings_is_not_to_be_imported() -> None:
    """Such as the control plane itself, which stands in the same export."""
    export = karmada_hub(2)
    found = check(adopted(export), [*export, deployment("karmada-system/karmada-scheduler", 1)])

    assert "done" == states(found)["import"]


def test_what_the_hub_moved_since_is_told_with_what_we_would_have() -> None:
    """Ours stays where it is: nothing asks for more."""
    found = check(adopted(karmada_hub(3)), moved_hub(3))
    (one,) = found.moved

    assert ("open", [BINDING]) == (str(step(found, "compare").state), [one.key])
    assert ((("member7", 4),), (("member2", 4),)) == (one.live, one.ours)
    assert one.would == one.ours


def test_a_decision_that_is_gone_from_the_hub_is_told() -> None:
    """Where everything was listed; an export that leaves something out says nothing of it."""
    export = karmada_hub(3)
    world = adopted(export)
    rest = [body for body in export if key_of(body) != BINDING]
    listed = check(world, rest, listed=[("work.karmada.io", "ResourceBinding")])

    assert [BINDING] == [one.key for one in listed.moved]
    assert () == listed.moved[0].live
    assert () == check(world, rest).moved


def test_a_new_decision_of_the_hub_is_to_be_adopted() -> None:
    """Its workload is in the repository, its state is not."""
    before, now = karmada_hub(2), karmada_hub(3)
    found = check(adopted([*before, workload("web-0002", 4)]), now)

    assert ["web-0002-deployment"] == names(step(found, "adopt"))


def test_a_workload_that_the_repository_lacks_is_told() -> None:
    """Its binding cannot become state without it."""
    export = karmada_hub(2)
    lacking = [body for body in export if key_of(body).name != "web-0001"]
    found = check(adopted(lacking), lacking)

    assert ["web-0001"] == names(step(found, "workloads"))
    assert ["web-0001-deployment"] == names(step(found, "adopt"))


@EACH
def test_a_configured_transport_delivers(hub: Hub) -> None:
    """In reconciler.yaml."""
    assert "done" == states(check(adopted(hub(2), FOLDERS), hub(2)))["delivery"]


@pytest.mark.parametrize(
    ("name", "left"),
    [
        pytest.param("ocm", {"keep": 26, "agents": 28}, id="ocm"),
        pytest.param("kubefleet", {"agents": 20}, id="kubefleet"),
    ],
)
def test_a_recorded_hub_is_alike_once_it_is_adopted(name: str, left: Mapping[str, int]) -> None:
    """And its agents own what they have applied: two ManifestWorks orphan it already."""
    export = recorded(name)
    world = adopted(export, FOLDERS, wanted=Wanted(workloads=ALL, adopt=True))
    found = check(world, export, whole=True, workloads=ALL)
    own = {one.name: len(one.objects) for one in found.steps if one.objects}

    assert ["done"] * 3 == [states(found)[step] for step in ("import", "adopt", "compare")]
    assert left == {step: count for step, count in own.items() if step != "workloads"}
