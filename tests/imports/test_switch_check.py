"""The switch from a hub of each API, step by step, and what all of them ask before it."""

from collections.abc import Callable, Mapping

import pytest

from reconciler.imports.importers import Wanted
from reconciler.model.body import Body
from reconciler.model.identity import ObjectKey
from tests.imports.hubs import (
    PLACEMENT,
    karmada_hub,
    key_of,
    kubefleet_hub,
    live,
    ocm_hub,
    workload,
)
from tests.imports.imported import (
    EMPTY,
    FOLDERS,
    MANIFEST_WORKS,
    WORKS,
    adopted,
    check,
    deployment,
    names,
    states,
    step,
    with_spec,
)
from tests.imports.recorded import recorded

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


KARMADA_HUB = karmada_hub(2)
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


def karmada_work(cluster: str, **spec: object) -> Body:
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

    assert state == states(check(adopted(KARMADA_HUB), KARMADA_HUB, host=host))["scheduler"]


def test_without_its_host_nobody_knows_whether_it_runs() -> None:
    """Karmada's API server has templates only, however many are listed."""
    found = check(adopted(KARMADA_HUB), KARMADA_HUB, whole=True)

    assert ["unseen", "unseen"] == [states(found)[n] for n in ("scheduler", "controllers")]
    assert not found.ready


def test_what_the_host_does_not_have_is_stopped() -> None:
    """All its Deployments are known."""
    found = check(adopted(KARMADA_HUB), KARMADA_HUB, host=[])

    assert ["done", "done"] == [states(found)[name] for name in ("scheduler", "controllers")]


def test_a_file_with_the_control_plane_shows_it_too() -> None:
    """One of its Deployments is enough: a file of one namespace has them all."""
    found = check(adopted([*KARMADA_HUB, ALONE]), [*KARMADA_HUB, ALONE])

    assert ["done", "done"] == [states(found)[name] for name in ("scheduler", "controllers")]


def test_the_descheduler_goes_after_the_scheduler_that_it_asks() -> None:
    """Under whatever name they were installed; estimators only answer."""
    host = [
        deployment("fleet/karmada-demo-descheduler", 1),
        deployment("fleet/karmada-demo-scheduler", 1),
        deployment("fleet/karmada-scheduler-estimator-member1", 1),
    ]
    found = step(check(adopted(KARMADA_HUB), KARMADA_HUB, host=host), "scheduler")

    assert "stop fleet/karmada-demo-scheduler, then fleet/karmada-demo-descheduler" == found.now


def test_the_controller_manager_of_kubernetes_stays() -> None:
    """It collects garbage, and writes no Work."""
    assert "done" == states(check(adopted(KARMADA_HUB), KARMADA_HUB, host=[ALONE]))["controllers"]


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

    assert (
        state
        == states(check(adopted(KARMADA_HUB, configuration), KARMADA_HUB, host=host))["controllers"]
    )


def test_objects_are_kept_once_every_binding_says_so() -> None:
    """And every Work: what is deleted is what a Work does not keep."""
    kept = preserving(KARMADA_HUB)
    world = adopted(kept)

    assert "open" == states(check(adopted(KARMADA_HUB), KARMADA_HUB))["keep"]
    assert "done" == states(check(world, kept))["keep"]
    assert ["web-0000-5d8f"] == names(step(check(world, [*kept, karmada_work("member1")]), "keep"))


def test_what_to_do_follows_from_where_it_is_missing() -> None:
    """Policies hand it down while controllers run; Works of Namespaces have no policy."""
    kept = [*preserving(KARMADA_HUB), karmada_work("member1")]

    assert "in the policies" in step(check(adopted(KARMADA_HUB), KARMADA_HUB), "keep").now
    assert "in these Works" in step(check(adopted(kept), kept), "keep").now


def test_agents_of_pull_clusters_are_held_by_suspended_works() -> None:
    """Of Push clusters the execution controller is the one that applies."""
    pulled = [
        with_spec(one, syncMode="Pull") if key_of(one).name == "member1" else one
        for one in KARMADA_HUB
    ]
    running = [*pulled, karmada_work("member1"), karmada_work("member2")]
    held = [*pulled, karmada_work("member1", suspendDispatching=True)]
    found = step(check(adopted(running), running), "agents")

    assert [("karmada-es-member1", "web-0000-5d8f")] == [
        (k.namespace, k.name) for k in found.objects
    ]
    assert "done" == states(check(adopted(held), held))["agents"]


def test_who_delivers_works_leaves_agents_and_objects_as_they_are() -> None:
    """The same Works are applied by the same agents."""
    hub = [*KARMADA_HUB, karmada_work("member1")]
    found = states(check(adopted(hub, WORKS), hub))

    assert ["done", "done"] == [found[name] for name in ("keep", "agents")]


def test_a_hub_with_everything_done_is_ready() -> None:
    """Nothing is left to do that can be seen from it."""
    kept = preserving(KARMADA_HUB)

    assert check(adopted(kept, FOLDERS), kept, host=[]).ready


KUBEFLEET_HUB = kubefleet_hub(2)
REPORTS = {"type": "ReportDiff", "whenToTakeOver": "Never"}
AGENT = "fleet-system/hub-agent"


def kubefleet_work(strategy: Body) -> Body:
    """A Work of member1."""
    return live(
        PLACEMENT,
        "Work",
        "apps-0000-work",
        namespace="fleet-member-member1",
        spec={"applyStrategy": strategy, "workload": {"manifests": []}},
    )


def reporting(hub: list[Body]) -> list[Body]:
    """The same hub with placements that only report."""
    strategy = {"type": "RollingUpdate", "applyStrategy": REPORTS}
    return [
        with_spec(one, strategy=strategy) if key_of(one).kind.endswith("Placement") else one
        for one in hub
    ]


def test_one_program_schedules_and_writes_works() -> None:
    """It stands in the hub itself."""
    hub = [*KUBEFLEET_HUB, deployment(AGENT, 1)]
    world = adopted(KUBEFLEET_HUB)

    assert f"stop {AGENT}" == step(check(world, hub), "scheduler").now
    assert "done" == states(check(world, [*KUBEFLEET_HUB, deployment(AGENT, 0)]))["scheduler"]
    assert "unseen" == states(check(world, KUBEFLEET_HUB))["scheduler"]
    assert "done" == states(check(world, KUBEFLEET_HUB, whole=True))["scheduler"]


@pytest.mark.parametrize(
    ("strategy", "state"),
    [
        pytest.param({}, "open", id="applied by the client, by default"),
        pytest.param({"type": "ServerSideApply"}, "open", id="applied by the server"),
        pytest.param({"type": "ReportDiff"}, "open", id="what was there is taken over"),
        pytest.param(REPORTS, "done", id="reported only"),
    ],
)
def test_agents_leave_objects_alone_that_they_only_report_of(strategy: Body, state: str) -> None:
    """As the Works say, which they read."""
    hub = [*KUBEFLEET_HUB, kubefleet_work(strategy)]

    assert state == states(check(adopted(hub), hub))["agents"]


def test_without_works_the_placements_say_how_they_would_be_applied() -> None:
    """Works are what hub-agent makes of them."""
    hub = reporting(KUBEFLEET_HUB)

    assert ["apps-0000", "apps-0001"] == names(
        step(check(adopted(KUBEFLEET_HUB), KUBEFLEET_HUB), "agents")
    )
    assert "done" == states(check(adopted(hub), hub))["agents"]


def test_who_owns_objects_is_to_be_looked_at_in_the_members() -> None:
    """The hub does not show it, so it does not keep the switch from being ready."""
    hub = [*reporting(KUBEFLEET_HUB), kubefleet_work(REPORTS)]
    found = check(adopted(hub, FOLDERS), hub, whole=True)

    assert ("members", True) == (states(found)["keep"], found.ready)
    assert "--cascade=orphan" in step(found, "keep").now


def test_who_delivers_works_leaves_agents_as_they_are() -> None:
    """The same Works are applied by the same agents."""
    hub = [*KUBEFLEET_HUB, kubefleet_work({})]
    found = states(check(adopted(hub, WORKS), hub))

    assert ["done", "done"] == [found[name] for name in ("keep", "agents")]


def test_what_snapshots_hold_must_be_in_the_repository() -> None:
    """It is what clusters have."""
    lacking = [one for one in KUBEFLEET_HUB if key_of(one).kind != "Deployment"]

    assert ["web"] == names(step(check(adopted(lacking), lacking), "workloads"))


OCM_HUB = ocm_hub(2)
WORK_API = "work.open-cluster-management.io"
OPERATOR = deployment("open-cluster-management/cluster-manager", 3)
PLACING = deployment("open-cluster-management-hub/cluster-manager-placement-controller", 3)
WORKING = deployment("open-cluster-management-hub/cluster-manager-work-controller", 3)
REGISTERING = deployment("open-cluster-management-hub/cluster-manager-registration-controller", 3)


def manifest_work(name: str, set_of: str | None = "apps.shop", deletion: str | None = None) -> Body:
    """A ManifestWork of member1."""
    labels = {} if set_of is None else {f"{WORK_API}/manifestworkreplicaset": set_of}
    option = {} if deletion is None else {"deleteOption": {"propagationPolicy": deletion}}
    return live(
        f"{WORK_API}/v1",
        "ManifestWork",
        name,
        namespace="member1",
        metadata={"labels": labels},
        spec={"workload": {"manifests": []}, **option},
    )


def test_the_operator_goes_first() -> None:
    """It would start the placement controller again."""
    hub = [*OCM_HUB, REGISTERING, PLACING, OPERATOR]
    found = step(check(adopted(hub), hub), "scheduler")
    first = "stop open-cluster-management/cluster-manager, then "

    assert first + "open-cluster-management-hub/cluster-manager-placement-controller" == found.now


def test_a_hosted_hub_has_its_parts_in_a_namespace_of_its_own() -> None:
    """Named after its ClusterManager; what others call so is not looked at."""
    ours = deployment("hosted/hosted-placement-controller", 1)
    hub = [*OCM_HUB, REGISTERING, ours, deployment("shop/table-placement-controller", 1)]
    found = step(check(adopted(hub), hub), "scheduler")

    assert "stop hosted/hosted-placement-controller" == found.now


def test_what_makes_manifestworks_of_sets_is_stopped() -> None:
    """Clusters go on to register."""
    hub, rest = [*OCM_HUB, REGISTERING, WORKING], [*OCM_HUB, REGISTERING]

    assert ["cluster-manager-work-controller"] == names(
        step(check(adopted(hub), hub), "controllers")
    )
    assert "done" == states(check(adopted(rest), rest))["controllers"]


def test_the_hub_itself_runs_its_controllers() -> None:
    """So a list of all its Deployments shows what is stopped."""
    world = adopted(OCM_HUB)

    assert "unseen" == states(check(world, OCM_HUB))["scheduler"]
    assert "done" == states(check(world, OCM_HUB, whole=True))["scheduler"]


def test_objects_are_kept_by_works_that_orphan_them() -> None:
    """Foreground is the default; a list of some objects keeps no others."""
    hub = [
        *OCM_HUB,
        manifest_work("kept", deletion="Orphan"),
        manifest_work("foreground"),
        manifest_work("some", deletion="SelectivelyOrphan"),
        manifest_work("by-hand", set_of=None),
    ]

    assert ["foreground", "some"] == names(step(check(adopted(hub), hub), "keep"))


def test_agents_apply_works_as_long_as_they_are_there() -> None:
    """So those of sets go last, once somebody else has applied what is in them."""
    hub = [
        *OCM_HUB,
        manifest_work("kept", deletion="Orphan"),
        manifest_work("by-hand", set_of=None),
    ]
    found = check(adopted(hub, FOLDERS), hub)

    assert ["kept"] == names(step(found, "agents"))
    assert ["delivery", "agents"] == [one.name for one in found.steps][-2:]


def test_who_delivers_manifestworks_leaves_agents_as_they_are() -> None:
    """And nothing is deleted."""
    hub = [*OCM_HUB, manifest_work("foreground")]
    found = states(check(adopted(hub, MANIFEST_WORKS), hub))

    assert ["done", "done"] == [found[name] for name in ("keep", "agents")]


def test_a_set_is_known_by_its_works() -> None:
    """Also where the set itself was not exported."""
    hub = [*OCM_HUB, manifest_work("one"), manifest_work("two")]
    found = step(check(adopted(hub), hub), "workloads")

    assert ["ManifestWorkReplicaSet.work.open-cluster-management.io apps/shop"] == [
        str(key) for key in found.objects
    ]


def test_a_set_is_compared_by_its_placement() -> None:
    """Its works are the last to go, and were what the agents applied."""
    shop = live(
        f"{WORK_API}/v1alpha1",
        "ManifestWorkReplicaSet",
        "shop",
        namespace="apps",
        spec={"placementRefs": [{"name": "apps-0000"}], "manifestWorkTemplate": {"workload": {}}},
    )
    world = adopted([*OCM_HUB, shop, manifest_work("one")])
    found = check(world, [*OCM_HUB, shop], listed=[(WORK_API, "ManifestWork")])

    assert ((), "done") == (found.moved, states(found)["compare"])
