"""The switch from an OCM hub, step by step."""

from reconciler.model.body import Body
from tests.imports.hubs import live
from tests.imports.ocm_hub import ocm_hub
from tests.imports.switches import (
    FOLDERS,
    MANIFEST_WORKS,
    adopted,
    check,
    deployment,
    names,
    states,
    step,
)

HUB = ocm_hub(2)
WORK_API = "work.open-cluster-management.io"
OPERATOR = deployment("open-cluster-management/cluster-manager", 3)
PLACING = deployment("open-cluster-management-hub/cluster-manager-placement-controller", 3)
WORKING = deployment("open-cluster-management-hub/cluster-manager-work-controller", 3)
REGISTERING = deployment("open-cluster-management-hub/cluster-manager-registration-controller", 3)


def work(name: str, set_of: str | None = "apps.shop", deletion: str | None = None) -> Body:
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
    hub = [*HUB, REGISTERING, PLACING, OPERATOR]
    found = step(check(adopted(hub), hub), "scheduler")
    first = "stop open-cluster-management/cluster-manager, then "

    assert first + "open-cluster-management-hub/cluster-manager-placement-controller" == found.now


def test_a_hosted_hub_has_its_parts_in_a_namespace_of_its_own() -> None:
    """Named after its ClusterManager; what others call so is not looked at."""
    ours = deployment("hosted/hosted-placement-controller", 1)
    hub = [*HUB, REGISTERING, ours, deployment("shop/table-placement-controller", 1)]
    found = step(check(adopted(hub), hub), "scheduler")

    assert "stop hosted/hosted-placement-controller" == found.now


def test_what_makes_manifestworks_of_sets_is_stopped() -> None:
    """Clusters go on to register."""
    hub, rest = [*HUB, REGISTERING, WORKING], [*HUB, REGISTERING]

    assert ["cluster-manager-work-controller"] == names(
        step(check(adopted(hub), hub), "controllers")
    )
    assert "done" == states(check(adopted(rest), rest))["controllers"]


def test_the_hub_itself_runs_its_controllers() -> None:
    """So a list of all its Deployments shows what is stopped."""
    world = adopted(HUB)

    assert "unseen" == states(check(world, HUB))["scheduler"]
    assert "done" == states(check(world, HUB, whole=True))["scheduler"]


def test_objects_are_kept_by_works_that_orphan_them() -> None:
    """Foreground is the default; a list of some objects keeps no others."""
    hub = [
        *HUB,
        work("kept", deletion="Orphan"),
        work("foreground"),
        work("some", deletion="SelectivelyOrphan"),
        work("by-hand", set_of=None),
    ]

    assert ["foreground", "some"] == names(step(check(adopted(hub), hub), "keep"))


def test_agents_apply_works_as_long_as_they_are_there() -> None:
    """So those of sets go last, once somebody else has applied what is in them."""
    hub = [*HUB, work("kept", deletion="Orphan"), work("by-hand", set_of=None)]
    found = check(adopted(hub, FOLDERS), hub)

    assert ["kept"] == names(step(found, "agents"))
    assert ["delivery", "agents"] == [one.name for one in found.steps][-2:]


def test_who_delivers_manifestworks_leaves_agents_as_they_are() -> None:
    """And nothing is deleted."""
    hub = [*HUB, work("foreground")]
    found = states(check(adopted(hub, MANIFEST_WORKS), hub))

    assert ["done", "done"] == [found[name] for name in ("keep", "agents")]


def test_a_set_is_known_by_its_works() -> None:
    """Also where the set itself was not exported."""
    hub = [*HUB, work("one"), work("two")]
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
    world = adopted([*HUB, shop, work("one")])
    found = check(world, [*HUB, shop], listed=[(WORK_API, "ManifestWork")])

    assert ((), "done") == (found.moved, states(found)["compare"])
