"""The switch from a Karmada hub, step by step."""

import pytest

from reconciler.model.body import Body
from tests.imports.hubs import key_of, live
from tests.imports.karmada_hub import karmada_hub
from tests.imports.switches import (
    FOLDERS,
    WORKS,
    adopted,
    check,
    deployment,
    names,
    states,
    step,
    with_spec,
)

HUB = karmada_hub(2)
SCHEDULER = "karmada-system/karmada-scheduler"
MANAGER = "karmada-system/karmada-controller-manager"
ALONE = deployment("karmada-system/karmada-kube-controller-manager", 1)


def preserving(hub: list[Body]) -> list[Body]:
    """The same hub with the flag on its bindings."""
    return [
        with_spec(one, preserveResourcesOnDeletion=True) if _is_binding(one) else one for one in hub
    ]


def _is_binding(body: Body) -> bool:
    return key_of(body).kind == "ResourceBinding"


def work(cluster: str, **spec: object) -> Body:
    """A Work of a cluster."""
    return live(
        "work.karmada.io/v1alpha1",
        "Work",
        "web-0000-5d8f",
        namespace=f"karmada-es-{cluster}",
        spec={"workload": {"manifests": []}, **spec},
    )


@pytest.mark.parametrize(
    ("replicas", "left", "state"),
    [
        pytest.param(None, 0, "open", id="one replica is the default"),
        pytest.param(2, 2, "open", id="running"),
        pytest.param(0, 1, "open", id="its last pod is not gone yet"),
        pytest.param(0, 0, "done", id="stopped"),
    ],
)
def test_the_scheduler_is_stopped_once_it_has_no_replicas(
    replicas: int | None, left: int, state: str
) -> None:
    """As its Deployment says on the cluster that runs it."""
    host = [deployment(SCHEDULER, replicas, left=left)]

    assert state == states(check(adopted(HUB), HUB, host=host))["scheduler"]


def test_without_its_host_nobody_knows_whether_it_runs() -> None:
    """Karmada's API server has templates only, however many are listed."""
    found = check(adopted(HUB), HUB, whole=True)

    assert ["unseen", "unseen"] == [states(found)[n] for n in ("scheduler", "controllers")]
    assert not found.ready


def test_what_the_host_does_not_have_is_stopped() -> None:
    """All its Deployments are known."""
    found = check(adopted(HUB), HUB, host=[])

    assert ["done", "done"] == [states(found)[name] for name in ("scheduler", "controllers")]


def test_a_file_with_the_control_plane_shows_it_too() -> None:
    """One of its Deployments is enough: a file of one namespace has them all."""
    found = check(adopted([*HUB, ALONE]), [*HUB, ALONE])

    assert ["done", "done"] == [states(found)[name] for name in ("scheduler", "controllers")]


def test_the_descheduler_goes_after_the_scheduler_that_it_asks() -> None:
    """Under whatever name they were installed; estimators only answer."""
    host = [
        deployment("fleet/karmada-demo-descheduler", 1),
        deployment("fleet/karmada-demo-scheduler", 1),
        deployment("fleet/karmada-scheduler-estimator-member1", 1),
    ]
    found = step(check(adopted(HUB), HUB, host=host), "scheduler")

    assert "stop fleet/karmada-demo-scheduler, then fleet/karmada-demo-descheduler" == found.now


def test_the_controller_manager_of_kubernetes_stays() -> None:
    """It collects garbage, and writes no Work."""
    assert "done" == states(check(adopted(HUB), HUB, host=[ALONE]))["controllers"]


@pytest.mark.parametrize(
    ("configuration", "flag", "state"),
    [
        pytest.param(FOLDERS, "--v=4", "open", id="all of them run"),
        pytest.param(FOLDERS, "--controllers=*,-binding,-namespace,-execution", "done", id="none"),
        pytest.param(FOLDERS, "--controllers=*,-binding,-namespace", "open", id="one applies"),
        pytest.param(WORKS, "--controllers=*,-binding,-namespace", "done", id="as it is to"),
        pytest.param(WORKS, "--controllers=execution,workStatus", "done", id="named alone"),
        pytest.param(WORKS, "--controllers=-binding,binding,*", "open", id="one is left"),
    ],
)
def test_controllers_may_be_switched_off_one_by_one(
    configuration: str, flag: str, state: str
) -> None:
    """Those that write Works; what applies them stays where we deliver Works."""
    host = [deployment(MANAGER, 2, flag)]

    assert state == states(check(adopted(HUB, configuration), HUB, host=host))["controllers"]


def test_objects_are_kept_once_every_binding_says_so() -> None:
    """And every Work: what is deleted is what a Work does not keep."""
    kept = preserving(HUB)
    world = adopted(kept)

    assert "open" == states(check(adopted(HUB), HUB))["keep"]
    assert "done" == states(check(world, kept))["keep"]
    assert ["web-0000-5d8f"] == names(step(check(world, [*kept, work("member1")]), "keep"))


def test_what_to_do_follows_from_where_it_is_missing() -> None:
    """Policies hand it down while controllers run; Works of Namespaces have no policy."""
    kept = [*preserving(HUB), work("member1")]

    assert "in the policies" in step(check(adopted(HUB), HUB), "keep").now
    assert "in these Works" in step(check(adopted(kept), kept), "keep").now


def test_agents_of_pull_clusters_are_held_by_suspended_works() -> None:
    """Of Push clusters the execution controller is the one that applies."""
    pulled = [
        with_spec(one, syncMode="Pull") if key_of(one).name == "member1" else one for one in HUB
    ]
    running = [*pulled, work("member1"), work("member2")]
    held = [*pulled, work("member1", suspendDispatching=True)]
    found = step(check(adopted(running), running), "agents")

    assert [("karmada-es-member1", "web-0000-5d8f")] == [
        (k.namespace, k.name) for k in found.objects
    ]
    assert "done" == states(check(adopted(held), held))["agents"]


def test_who_delivers_works_leaves_agents_and_objects_as_they_are() -> None:
    """The same Works are applied by the same agents."""
    hub = [*HUB, work("member1")]
    found = states(check(adopted(hub, WORKS), hub))

    assert ["done", "done"] == [found[name] for name in ("keep", "agents")]


def test_a_hub_with_everything_done_is_ready() -> None:
    """Nothing is left to do that can be seen from it."""
    kept = preserving(HUB)

    assert check(adopted(kept, FOLDERS), kept, host=[]).ready
