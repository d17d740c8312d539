"""Live hubs that are adopted after the first step of something: that step stands."""

from collections.abc import Mapping, Sequence

from reconciler.manifests.paths import output_path
from reconciler.manifests.text.emitter import encode
from reconciler.model.body import Body
from reconciler.model.fields import bodies, mapping, text
from tests.builders import configuration
from tests.builders import text as written
from tests.dialects.ocm.sets import progressive
from tests.imports.hubs import condition, key_of, workload
from tests.imports.imported import adopt_into, import_into, propagated, texts
from tests.imports.karmada_hub import karmada_hub
from tests.imports.kubefleet_hub import LABEL, kubefleet_hub
from tests.imports.ocm_hub import ocm_hub
from tests.imports.test_adopted_sets import applied, shop
from tests.imports.test_adopted_sets import hub as hub_of_sets
from tests.imports.test_adopted_sets import work as shop_work
from tests.stories import Story

WORKS: Body = {"works": {"hubsWithoutControllers": True}}
EVERYWHERE: Body = {"folders": {}, **WORKS}
OLD, NEW = "example/web:0", "example/web:1"


def adopted(
    export: Sequence[Body], delivery: Body = EVERYWHERE
) -> tuple[Story, Mapping[str, str], str]:
    """A repository with an export adopted, why objects were left by their names, and the moves."""
    settings = written(configuration(delivery=delivery))
    inputs, wanted = {"reconciler.yaml": settings}, propagated(export)
    inputs |= texts(import_into(inputs, export, wanted))
    found = adopt_into(inputs, export, wanted)
    told = Story(files=inputs)
    told.files |= {output_path("status", k): encode(one) for k, one in found.outputs.items()}
    told.files |= found.contents
    left = {key.name: why for key, why in found.left.items()}
    return told, left, " ".join(str(move.key) for move in found.moves)


def with_parts(body: Body, **parts: Body) -> Body:
    """An object with some fields of its parts set."""
    found = dict(body)
    for name, fields in parts.items():
        part = body[name]
        assert isinstance(part, dict)
        found[name] = {**part, **fields}
    return found


def web(image: str) -> Body:
    """The Deployment with an image."""
    body = workload("web", 2)
    spec = body["spec"]
    assert isinstance(spec, dict)
    pods = {**spec["template"], "spec": {"containers": [{"name": "main", "image": image}]}}
    return with_parts(body, spec={"template": pods})


def fleet_in_between(*more: Body, lost: bool = False) -> list[Body]:
    """A KubeFleet hub of which member1 has the new snapshot, and member5 still the old one."""
    hub = kubefleet_hub(1)
    latest = next(one for one in hub if one["kind"] == "ClusterResourceSnapshot")
    metadata = latest["metadata"]
    assert isinstance(metadata, dict)
    labels = {
        **metadata["labels"],
        f"{LABEL}/is-latest-snapshot": "false",
        f"{LABEL}/resource-index": "4",
    }
    old = with_parts(
        latest,
        metadata={"name": "apps-0000-4-snapshot", "labels": labels},
        spec={"selectedResources": [web(OLD), *more]},
    )
    begun = [condition(kind, observedGeneration=2) for kind in ("RolloutStarted", "Overridden")]
    waits = condition("RolloutStarted", status="False", reason="RolloutNotStartedYet")
    found: list[Body] = [] if lost else [old]
    for one in hub:
        if one["kind"] != "ClusterResourceBinding":
            found.append(one)
        elif "member1" in str(one["spec"]):
            found.append(with_parts(one, status={"conditions": begun}))
        else:
            behind = {"resourceSnapshotName": "apps-0000-4-snapshot"}
            kept = [{**waits, "observedGeneration": 2}, *_available()]
            found.append(with_parts(one, spec=behind, status={"conditions": kept}))
    return found


def _available() -> list[Body]:
    return [condition(kind, observedGeneration=2) for kind in ("Applied", "Available")]


def having(told: Story, image: str) -> list[str]:
    """The files of clusters with an image."""
    places = ("delivery/", "works/", "manifestworks/")
    found = (path for path in told.files if path.startswith(places) and image in told.files[path])
    return sorted({path.split("/")[1] for path in found})


def test_a_rollout_of_a_fleet_stays_where_it_is() -> None:
    """Clusters that it has not reached get what they have, in all transports, until it does."""
    told, left, moves = adopted(fleet_in_between())
    told.run(0)
    first = having(told, OLD), having(told, NEW)
    told.put(web(NEW), path="workloads/default/web-deployment.yaml").run(10)
    second = having(told, OLD), having(told, NEW)
    told.run(1000)
    told.run(2000)

    assert ({}, "") == ({n: w for n, w in left.items() if n.endswith("4-snapshot")}, moves)
    assert (["member5"], ["member1"]) == first == second
    assert ([], ["member1", "member5"]) == (having(told, OLD), having(told, NEW))


def test_what_such_a_cluster_has_may_be_as_it_is_in_the_repository() -> None:
    """Then it is found there, also when it is edited before the rollout goes on."""
    told, _, _ = adopted([*fleet_in_between(settings("1")), settings("1")])
    told.run(0)
    told.put(settings("2"), path="workloads/default/settings-configmap.yaml").run(10)
    path = "delivery/member5/default/configmaps/settings.yaml"

    assert 'value: "1"' in told.files[path]


def test_a_secret_in_plain_holds_the_cluster_and_is_named() -> None:
    """It must not come into Git, so nothing is delivered there for now."""
    secret = {**settings("1"), "kind": "Secret", "data": {"password": "aHVudGVyMg=="}}
    told, left, _ = adopted(fleet_in_between(secret))
    outcome = told.run(0)

    assert "Secret in plain" in left["settings"]
    assert "aHVudGVyMg" not in str(told.files)
    assert [] == having(told, OLD)
    assert any("member5" in fault.message for fault in outcome.faults)


def test_a_snapshot_that_the_export_lacks_is_named() -> None:
    """What its clusters have stays as it is."""
    told, left, _ = adopted(fleet_in_between(lost=True))
    told.run(0)

    assert "the export has it not" in left["apps-0000-4-snapshot"]
    assert ([], ["member1"]) == (having(told, OLD), having(told, NEW))


def test_an_eviction_of_a_karmada_hub_stays_where_it_is() -> None:
    """The cluster that is left has its Work, with what it had there, until the eviction ends."""
    hub = karmada_hub(1)
    task = {
        "fromCluster": "member2",
        "creationTimestamp": "2026-11-20T11:59:00Z",
        "producer": "TaintManager",
        "reason": "TaintUntolerated",
        "replicas": 3,
    }
    hub[-1] = with_parts(
        hub[-1], spec={"gracefulEvictionTasks": [task]}, status={"aggregatedStatus": []}
    )
    told, _, moves = adopted(hub)
    told.put(configuration(delivery=EVERYWHERE, feedback={"assumeAfterSeconds": None})).run(0)
    evicted = [told.files[one] for one in told.files if one.startswith("works/member2/")]
    told.run(10_000)

    assert "" == moves
    assert (1, True) == (len(evicted), "replicas: 3" in evicted[0])
    assert [] == [one for one in told.files if one.startswith("works/member2/")]


def test_a_rollout_of_a_set_of_manifest_works_stays_where_it_is() -> None:
    """The cluster that it has not reached has the work of the earlier template, under its name."""
    begun: Body = {"conditions": [condition("Applied", observedGeneration=3)]}
    export = hub_of_sets(
        shop(value="2", strategy=progressive(maxConcurrency=1)),
        shop_work("member1", value="2", status=begun),
        shop_work("member4", value="1", status=applied()),
    )
    told, _, moves = adopted(export, {"manifestworks": {}, "folders": {}})
    told.run(0)
    paths = sorted(path for path in told.files if path.startswith("manifestworks/member"))
    first = [('v: "1"' in told.files[one], "shop-xmember" in told.files[one]) for one in paths]
    place = "shop/configmaps/settings.yaml"
    folders = [told.files[f"delivery/{one}/{place}"] for one in ("member1", "member4")]

    assert "" == moves
    assert [(False, True), (True, True)] == first
    assert [False, True] == ['v: "1"' in text for text in folders]


def fleet_that_leaves() -> list[Body]:
    """A KubeFleet hub whose placement leaves member5 for member6, which is not available yet."""
    found: list[Body] = []
    for one in kubefleet_hub(1):
        if one["kind"] == "ClusterSchedulingPolicySnapshot":
            targets = [
                {"clusterName": name, "selected": True, "reason": "picked by scheduling policy"}
                for name in ("member1", "member6")
            ]
            found.append(with_parts(one, status={"targetClusters": targets}))
        elif one["kind"] == "ClusterResourceBinding" and "member5" in str(one["spec"]):
            found.append(with_parts(one, spec={"state": "Unscheduled"}))
            decision = {"clusterName": "member6", "selected": True, "reason": "picked"}
            come = {"targetCluster": "member6", "clusterDecision": decision}
            begun = [condition("RolloutStarted", observedGeneration=2)]
            named = {"name": "apps-0000-member6-4c1d9a70"}
            found.append(with_parts(one, metadata=named, spec=come, status={"conditions": begun}))
        elif one["kind"] == "ClusterResourcePlacement":
            none_down = {"rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1}}
            found.append(with_parts(one, spec={"strategy": {"type": "RollingUpdate", **none_down}}))
        else:
            found.append(one)
    return found


def test_a_cluster_that_a_fleet_leaves_keeps_what_it_has() -> None:
    """It is delivered until the new one is available, and goes then."""
    told, _, moves = adopted(fleet_that_leaves())
    told.run(0)
    first = having(told, NEW)
    told.run(1000)
    told.run(2000)

    assert "" == moves
    assert ["member1", "member5", "member6"] == first
    assert ["member1", "member6"] == having(told, NEW)


def test_decisions_of_a_hub_stand_while_a_taint_is_under_way() -> None:
    """Open Cluster Management decides at once, so what it has decided is what stands."""
    hub = ocm_hub(1)
    chosen = decided(hub)
    taint = {"key": "gone", "effect": "NoSelect", "timeAdded": "2026-11-20T11:59:59Z"}
    tainted = [
        with_parts(one, spec={"taints": [taint]})
        if one["kind"] == "ManagedCluster" and key_of(one).name not in chosen
        else one
        for one in hub
    ]
    told, _, moves = adopted(tainted)

    assert ("", ()) == (moves, told.run(0).decisions)


def decided(hub: Sequence[Body]) -> list[str]:
    """The clusters of a hub's decisions."""
    listed = [mapping(one, "status") for one in hub if one["kind"] == "PlacementDecision"]
    return [text(one, "clusterName") for status in listed for one in bodies(status, "decisions")]


def settings(value: str) -> Body:
    """A ConfigMap of the hub."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "settings", "namespace": "default"},
        "data": {"value": value},
    }
