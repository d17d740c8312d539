"""Hubs adopted in between, sets included: nothing moves, and coming passes are foreseen."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.core.changes import WriteFile
from reconciler.core.reconcile import reconcile
from reconciler.core.rounds import next_world, world_after
from reconciler.dialects.ocm.api.placement import WORK_GROUP
from reconciler.dialects.ocm.manifestworkreplicaset.replica_set import (
    REPLICA_SET,
    SetRecord,
    decode_record,
    record_annotations,
    template_id,
)
from reconciler.imports.adoption import Adoption
from reconciler.manifests.paths import output_path
from reconciler.manifests.text.emitter import encode
from reconciler.manifests.text.reader import read
from reconciler.model.body import Body
from reconciler.model.decision import Decision, Placed
from reconciler.model.fields import bodies, mapping, text
from reconciler.model.identity import ClusterName, ObjectKey
from reconciler.model.moments import format_moment
from reconciler.model.records import replace
from reconciler.model.world import World
from tests.builders import NOW, configuration
from tests.builders import text as written
from tests.dialects.ocm.worlds import progressive, settings_map
from tests.imports.hubs import (
    LABEL,
    THEN,
    condition,
    karmada_hub,
    key_of,
    kubefleet_hub,
    live,
    ocm_hub,
    workload,
)
from tests.imports.imported import adopt_into, fates, import_into, propagated, texts
from tests.stories import Story

SHOP = ObjectKey(WORK_GROUP, REPLICA_SET, "default", "shop")
PLACEMENT = "apps-0000"
CHOSEN = ("member1", "member4")
"""The clusters of the hub's placement."""

DELIVERED = {"reconciler.yaml": written(configuration(delivery={"manifestworks": {}}))}


def shop(*, value: str = "1", strategy: Body | None = None) -> Body:
    """Return the live set of one ConfigMap."""
    rollout = {} if strategy is None else {"rolloutStrategy": strategy}
    return live(
        f"{WORK_GROUP}/v1alpha1",
        REPLICA_SET,
        "shop",
        namespace="default",
        metadata={"finalizers": [f"{WORK_GROUP}/manifest-work-cleanup"]},
        spec={
            "cascadeDeletionPolicy": "Background",
            "manifestWorkTemplate": {"workload": {"manifests": [settings_map(value)]}},
            "placementRefs": [{"name": PLACEMENT, **rollout}],
        },
        status={"conditions": [condition("PlacementVerified", reason="AsExpected")]},
    )


def work(cluster: str, *, value: str = "1", status: Body | None = None, name: str = "") -> Body:
    """Return the live work of the set for a cluster, as the hub's controller made it."""
    return live(
        f"{WORK_GROUP}/v1",
        "ManifestWork",
        name or f"shop-x{cluster}",
        namespace=cluster,
        metadata={
            "labels": {
                f"{WORK_GROUP}/manifestworkreplicaset": "default.shop",
                f"{WORK_GROUP}/placementname": PLACEMENT,
            },
        },
        spec={"workload": {"manifests": [settings_map(value)]}},
        **({} if status is None else {"status": status}),
    )


def applied() -> Body:
    """Return the status of a work that its cluster has."""
    return {
        "conditions": [
            condition("Applied", observedGeneration=3),
            condition("Available", observedGeneration=3),
            condition("Progressing", status="False", observedGeneration=3),
        ]
    }


def hub(*bodies: Body) -> list[Body]:
    """Return the hub of one placement with a set and its works."""
    return [*ocm_hub(1), *bodies]


def adopted_set(
    export: Sequence[Body], files: dict[str, str] | None = None
) -> tuple[World, Adoption]:
    """Return a repository with an export imported and adopted."""
    files, wanted = DELIVERED if files is None else files, propagated(export)
    found = adopt_into(files, export, wanted)
    return world_after(import_into(files, export, wanted).world, found.outputs, (), ()), found


def record(world: World) -> SetRecord:
    """Return which works the set has."""
    return decode_record(world.outputs[SHOP].body)


def delivered(world: World) -> dict[str, str]:
    """Return the names of the works that a pass delivers, by cluster."""
    outcome = reconcile(world, NOW + timedelta(seconds=1))
    found = {}
    for change in outcome.delivered:
        if isinstance(change, WriteFile):
            body = read(change.content.encode(), change.path).documents[0].body
            metadata = mapping(body, "metadata")
            found[text(metadata, "namespace")] = text(metadata, "name")
    return found


HUB_OF_SETS = hub(shop(), *(work(name, status=applied()) for name in CHOSEN))


def test_a_set_becomes_a_file_and_its_works_reports() -> None:
    """Nothing of it is read by nothing."""
    plan = import_into({}, HUB_OF_SETS, propagated(HUB_OF_SETS))

    assert ("shop", "created") in fates(plan)
    assert "workloads/default/shop.yaml" in plan.files
    assert "feedback/member1/member1/shop-xmember1-manifestwork.yaml" in plan.files
    assert {} == import_into(texts(plan), HUB_OF_SETS, propagated(HUB_OF_SETS)).files


def test_no_pass_of_the_first_hour_moves_a_set() -> None:
    """Nor writes anything."""
    world, found = adopted_set(HUB_OF_SETS, {})
    passes = [reconcile(world, NOW + timedelta(seconds=s)) for s in (1, 90, 400, 3600)]

    assert ((), (), ()) == (found.moves, found.new, found.coming)
    assert [((), (), ())] * 4 == [(one.decisions, one.changes, one.faults) for one in passes]


def test_a_work_is_delivered_under_the_name_that_it_has() -> None:
    """Under another one, two works of one set would stand on a cluster."""
    world, _ = adopted_set(HUB_OF_SETS)

    assert {name: f"shop-x{name}" for name in CHOSEN} == delivered(world)


def test_a_new_template_goes_into_the_same_work() -> None:
    """An edit of the set is written over what is there."""
    world, _ = adopted_set(HUB_OF_SETS)
    edited = replace(world.inputs[SHOP], held={**world.inputs[SHOP].body, **_spec("2")})
    later = replace(world, inputs={**world.inputs, SHOP: edited})
    now = NOW + timedelta(seconds=1)
    after = next_world(later, reconcile(later, now))

    assert {f"shop-x{name}" for name in CHOSEN} == {one.name(SHOP) for one in record(after).works}
    assert {name: f"shop-x{name}" for name in CHOSEN} == delivered(later)


def _spec(value: str) -> Body:
    """Return the spec of the set with another value."""
    return {"spec": mapping(shop(value=value), "spec")}


def test_a_report_of_the_hub_is_of_the_template_that_its_work_has() -> None:
    """So it says nothing of the one that a set gets later."""
    plan = import_into({}, HUB_OF_SETS, propagated(HUB_OF_SETS))
    path = "feedback/member1/member1/shop-xmember1-manifestwork.yaml"
    body = read(plan.files[path], path).documents[0].body
    template = cast("Body", mapping(shop(), "spec")["manifestWorkTemplate"])

    assert {"reconciler.dev/template": template_id(template)} == mapping(body, "metadata")[
        "annotations"
    ]


def test_a_rollout_goes_on_where_the_hub_is() -> None:
    """A cluster that has the earlier template keeps it until its turn comes."""
    one_by_one: Body = {"type": "Progressive", "progressive": {"maxConcurrency": 1}}
    export = hub(
        shop(value="2", strategy=one_by_one),
        work("member1", value="2", status={"conditions": [condition("Applied", status="False")]}),
        work("member4", status=applied()),
    )
    world, found = adopted_set(export)
    outcome = reconcile(world, NOW + timedelta(seconds=3600))

    assert ((), ()) == (found.moves, outcome.decisions)
    assert 2 == len({one.template for one in record(world).works})


def test_a_work_that_no_agent_applied_lets_its_rollout_wait() -> None:
    """Without a status it says that nothing happened; silence would be assumed to be success."""
    one_by_one: Body = {"type": "Progressive", "progressive": {"maxConcurrency": 1}}
    world, found = adopted_set(hub(shop(strategy=one_by_one), work("member1")))
    outcome = reconcile(world, NOW + timedelta(seconds=3600))

    assert ((), (), ()) == (found.new, found.coming, outcome.decisions)
    assert ["member1"] == [one.cluster for one in record(world).works]


def test_what_moves_of_a_set_is_foreseen() -> None:
    """Here its placement chose a cluster that has no work yet."""
    _, found = adopted_set(hub(shop(), work("member1", status=applied())))
    (move,) = found.moves

    assert (SHOP, ["member1", "member4"]) == (move.key, [name for name, _ in move.after])


def test_of_two_works_of_a_cluster_one_is_left() -> None:
    """The reason names the other."""
    again = work("member1", status=applied(), name="shop-z")
    _, found = adopted_set([*HUB_OF_SETS, again])

    assert ["its cluster has another work of its set: shop-xmember1"] == list(found.left.values())


def test_a_work_whose_set_is_not_there_is_left() -> None:
    """So is one that is being deleted, or does not say for which placement it is."""
    leaving = work("member1", status=applied())
    deleted = {**leaving, "metadata": {**mapping(leaving, "metadata"), "deletionTimestamp": THEN}}
    own = {"labels": {f"{WORK_GROUP}/manifestworkreplicaset": "default.shop"}}
    unnamed = {**leaving, "metadata": {**mapping(leaving, "metadata"), **own}}
    _, alone = adopted_set(hub(leaving))
    _, with_deleted = adopted_set(hub(shop(), deleted))
    _, with_unnamed = adopted_set(hub(shop(), unnamed))
    label = f"{WORK_GROUP}/placementname"

    assert [
        ["its ManifestWorkReplicaSet is not in the repository: the export has none of that name"],
        ["it is being deleted"],
        [f"it has no label {label}, which says for which placement it is"],
    ] == [list(one.left.values()) for one in (alone, with_deleted, with_unnamed)]


def test_a_work_on_a_cluster_that_its_placement_has_left_is_left_and_named() -> None:
    """No file of ours was there, so none that goes would take it away."""
    world, found = adopted_set([*HUB_OF_SETS, work("member9", status=applied())])

    assert ["shop-xmember9"] == [key.name for key in found.left]
    assert "delete it on the hub" in "".join(found.left.values())
    assert () == found.moves
    assert {"member1", "member4"} == {one.cluster for one in record(world).works}


def test_a_record_is_read_as_it_was_written() -> None:
    """With names, and what was reported and observed since."""
    world, _ = adopted_set(HUB_OF_SETS)
    known = record(world)
    again = decode_record({"metadata": {"annotations": record_annotations(known)}})

    assert known.works == again.works
    assert {"shop-xmember1", "shop-xmember4"} == {one.adopted_name for one in again.works}


def test_an_empty_message_that_go_writes_is_no_other_template() -> None:
    """So what agents report of an adopted work counts for its set."""
    rule = {"condition": "Progressing", "type": "CEL", "celExpressions": ["true"]}
    at = {"group": "", "resource": "configmaps", "namespace": "default", "name": "settings"}

    def asking(**more: str) -> Body:
        rules = {"conditionRules": [{**rule, **more}], "feedbackScrapeType": "Poll"}
        config = {"resourceIdentifier": at, **rules}
        return {"manifestConfigs": [config], "workload": {"manifests": [settings_map("1")]}}

    owner = shop()
    spec = mapping(owner, "spec")
    owner = {**owner, "spec": {**spec, "manifestWorkTemplate": asking()}}
    works = [
        {**work(name, status=applied()), "spec": asking(message="", messageExpression="")}
        for name in CHOSEN
    ]
    world, found = adopted_set(hub(owner, *works))

    assert {template_id(asking())} == {one.template for one in record(world).works}
    assert [] == list(found.moves)


BY_WORKS: Body = {"works": {"hubsWithoutControllers": True}}
EVERYWHERE: Body = {"folders": {}, **BY_WORKS}
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
    export = hub(
        shop(value="2", strategy=progressive(maxConcurrency=1)),
        work("member1", value="2", status=begun),
        work("member4", value="1", status=applied()),
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


LIVE = ClusterName("member1")


def with_policy(spec: Body) -> list[Body]:
    """Return a hub of one workload whose policy says something else, too."""
    return [
        {**one, "spec": {**mapping(one, "spec"), **spec}}
        if one["kind"] == "PropagationPolicy"
        else one
        for one in karmada_hub(1)
    ]


def why_not(export: list[Body]) -> str:
    """Return what is said of the cluster where the workload is live."""
    (one,) = adopt_into({}, export, propagated(export)).otherwise
    return one.why[LIVE]


def test_a_cluster_that_is_not_there_is_named_as_such() -> None:
    """It is gone from the hub."""
    export = [one for one in karmada_hub(1) if mapping(one, "metadata")["name"] != LIVE]

    assert "it is no cluster of the repository" == why_not(export)


def test_a_policy_that_cannot_be_applied_is_named_as_such() -> None:
    """The clusters are there: it is a PriorityClass that is missing."""
    priority = {"priorityClassSource": "KubePriorityClass", "priorityClassName": "gone"}

    missing = 'priorityclasses.scheduling.k8s.io "gone" not found'

    assert f"nothing would be placed: the policy is not applied: {missing}" == why_not(
        with_policy({"schedulePriority": priority})
    )


def test_a_workload_that_no_policy_selects_is_placed_nowhere() -> None:
    """The clusters are there."""
    selectors = [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "another"}]

    assert "nothing would be placed" == why_not(with_policy({"resourceSelectors": selectors}))


Hub = Callable[[int], list[Body]]
HUBS: dict[Hub, str] = {karmada_hub: "NoExecute", ocm_hub: "NoSelect", kubefleet_hub: "NoSchedule"}
"""Each hub with an effect of taints that it knows."""

CLUSTERS = 10
AT, END = NOW + timedelta(seconds=1), NOW + timedelta(seconds=3601)
USAGE = {"type": "AddOn", "addOn": {"resourceName": "usage", "scoreName": "cpu"}}
BY_USAGE = {"mode": "Exact", "configurations": [{"scoreCoordinate": USAGE, "weight": 1}]}


def tainted(cluster: Body, effect: str, since: datetime) -> Body:
    """Return a cluster that got a taint."""
    taint = {"key": "maintenance", "effect": effect, "timeAdded": format_moment(since)}
    return {**cluster, "spec": {**mapping(cluster, "spec"), "taints": [taint]}}


def with_spec(export: Sequence[Body], kind: str, fields: Body) -> list[Body]:
    """Return an export in which the objects of a kind say something else, too."""
    return [
        {**one, "spec": {**mapping(one, "spec"), **fields}} if one["kind"] == kind else one
        for one in export
    ]


def adopted_alone(export: Sequence[Body]) -> tuple[World, Adoption]:
    """Return a repository that was empty with an export imported and adopted."""
    wanted = propagated(export)
    adoption = adopt_into({}, export, wanted)
    return world_after(import_into({}, export, wanted).world, adoption.outputs, (), ()), adoption


def passes(world: World) -> Iterator[tuple[datetime, tuple[Decision, ...]]]:
    """Yield the moments of the passes of the hour with what they decide, as a daemon runs them."""
    at = AT
    while True:
        outcome = reconcile(world, at)
        yield at, outcome.decisions
        if outcome.recheck_at is None or outcome.recheck_at > END:
            return
        world, at = next_world(world, outcome), outcome.recheck_at


Move = tuple[ObjectKey, Placed, Placed]


def moved(decisions: Sequence[Decision]) -> list[Move]:
    """Return what decisions move."""
    return [(one.key, one.before, one.after) for one in decisions if one.before != one.after]


@st.composite
def exports(draw: st.DrawFn) -> list[Body]:
    """Draw a hub where some objects are gone, some clusters tainted, some scores reported."""
    hub = draw(st.sampled_from(sorted(HUBS, key=lambda one: one.__name__)))
    export = hub(3)
    gone = draw(st.sets(st.integers(0, len(export) - 1), max_size=4))
    struck = draw(st.sets(st.integers(0, CLUSTERS - 1), max_size=4))
    minutes = draw(st.sampled_from((0, 1, 4, 200)))
    tolerated = draw(st.sampled_from((None, 60, 600)))
    export = [
        tainted(body, HUBS[hub], NOW - timedelta(minutes=minutes)) if place in struck else body
        for place, body in enumerate(export)
        if place not in gone
    ]
    if hub is ocm_hub and tolerated is not None:
        toleration = {"operator": "Exists", "tolerationSeconds": tolerated}
        export = with_spec(export, "Placement", {"tolerations": [toleration]})
    if hub is ocm_hub and draw(st.booleans()):
        export = [*with_spec(export, "Placement", {"prioritizerPolicy": BY_USAGE}), score()]
    return export


def score() -> Body:
    """Return a score by which one cluster comes before all others."""
    return live(
        "cluster.open-cluster-management.io/v1alpha1",
        "AddOnPlacementScore",
        "usage",
        namespace="member9",
        status={"scores": [{"name": "cpu", "value": 100}]},
    )


@pytest.mark.cpu_seconds(40)
@given(exports())
def test_what_is_foreseen_is_what_passes_do(export: list[Body]) -> None:
    """The next pass moves and places what is told, and the later ones of the hour the rest."""
    world, adoption = adopted_alone(export)
    (_, first), *later = passes(world)
    told = {one.key for one in adoption.coming}
    again = {key for _, decisions in later for key, _, _ in moved(decisions)}

    assert moved(first) == sorted(moved((*adoption.moves, *adoption.new)))
    assert again - {key for key, _, _ in moved(first)} <= told <= again


@pytest.mark.parametrize(("seconds", "expected"), [(600, 1), (7200, 0)])
def test_a_toleration_that_ends_within_the_hour_is_told(seconds: int, expected: int) -> None:
    """With its moment; one that ends later is not."""
    toleration = {"operator": "Exists", "tolerationSeconds": seconds}
    export = with_spec(ocm_hub(1), "Placement", {"tolerations": [toleration]})
    _, adoption = adopted_alone([tainted(export[0], "NoSelect", NOW), *export[1:]])
    ends = [NOW + timedelta(seconds=seconds)] * expected

    assert ((), ends) == (adoption.moves, [one.at for one in adoption.coming])


def test_scores_that_will_move_something_are_told() -> None:
    """After the period in which they wait."""
    _, adoption = adopted_alone(
        [*with_spec(ocm_hub(1), "Placement", {"prioritizerPolicy": BY_USAGE}), score()]
    )
    (coming,) = adoption.coming

    assert NOW + timedelta(seconds=300) == coming.at
    assert "member9" in dict(coming.after or ())


def test_what_is_placed_anew_is_told_where_nothing_is_adopted() -> None:
    """A hub without decisions leaves all of it to the first pass."""
    export = [body for body in karmada_hub(2) if body["kind"] != "ResourceBinding"]
    _, adoption = adopted_alone(export)

    assert (0, 2) == (len(adoption.moves), len(adoption.new))
