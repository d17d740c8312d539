"""What is read of live members and hubs: room, what decides, and placements without a policy."""

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

import pytest

from reconciler.core.changes import WriteFile
from reconciler.core.dialects import CLUSTERS
from reconciler.core.reconcile import reconcile
from reconciler.core.rounds import world_after
from reconciler.dialects.importer import Importer
from reconciler.dialects.karmada.api import cluster as karmada
from reconciler.dialects.karmada.hub_import import IMPORTER as OF_KARMADA
from reconciler.dialects.kubefleet.api import member as kubefleet
from reconciler.dialects.kubefleet.hub_import import IMPORTER as OF_KUBEFLEET
from reconciler.dialects.kubefleet.snapshots.policy_snapshots import encoded_hash
from reconciler.dialects.ocm.api import cluster as ocm
from reconciler.dialects.ocm.cel.expression import cluster_object
from reconciler.dialects.ocm.hub_import import IMPORTER as OF_OCM
from reconciler.errors import UsageError
from reconciler.imports.adoption import adopt
from reconciler.imports.importers import (
    Wanted,
    counted_fields,
    report_of,
    steady,
    with_rooms,
    with_scheduling,
)
from reconciler.imports.plan import decisions_among
from reconciler.manifests.text.reader import read
from reconciler.model.body import Body
from reconciler.model.fields import bodies, mapping, without
from reconciler.model.identity import ObjectKey
from reconciler.model.kinds import Kind
from reconciler.model.records import field_names, replace
from reconciler.model.world import World
from tests.builders import NOW, configuration, deployment
from tests.imports.hubs import (
    THEN,
    condition,
    karmada_hub,
    key_of,
    kubefleet_hub,
    live,
    objects,
    ocm_hub,
)
from tests.imports.imported import ABSENCE, EMPTY, OUTPUT_RULES, import_into
from tests.stories import world

GROUP = "placement.kubernetes-fleet.io"
PLACEMENT = ObjectKey(GROUP, "ClusterResourcePlacement", "", "apps-0000")
ADOPTED = ObjectKey(GROUP, "ClusterSchedulingPolicySnapshot", "", "apps-0000-2")
FOLLOWING = ADOPTED._replace(name="apps-0000-3")
LATER = NOW + timedelta(seconds=1)


def adopted_hub() -> World:
    """Return a repository with a hub of one placement imported and adopted."""
    export = kubefleet_hub(1, policy=None)
    world = import_into({}, export, Wanted(adopt=True)).world
    found = adopt(world, decisions_among(objects(export)), NOW, OUTPUT_RULES, ABSENCE)
    return world_after(world, found.outputs, (), ())


def written_after(world: World) -> Mapping[ObjectKey, Body]:
    """Return the files of a world after a pass."""
    outcome = reconcile(world, LATER)
    found = {
        change.path: read(change.content.encode(), change.path).documents[0].body
        for change in outcome.changes
        if isinstance(change, WriteFile)
    }
    known = {one.key: found.get(one.origin.path, one.body) for one in world.outputs.values()}
    fresh = [body for path, body in found.items() if path.endswith(f"/{FOLLOWING.name}.yaml")]
    return {**known, FOLLOWING: fresh[0]} if fresh else known


def with_policy(world: World, policy: Body) -> World:
    """Return a world whose placement got a policy."""
    manifest = world.inputs[PLACEMENT]
    spec = {**mapping(manifest.body, "spec"), "policy": policy}
    edited = replace(manifest, held={**manifest.body, "spec": spec})
    return replace(world, inputs={**world.inputs, PLACEMENT: edited})


def edited_snapshot(world: World, spec: Body) -> World:
    """Return a world in which a person edited the spec of the adopted snapshot."""
    manifest = world.outputs[ADOPTED]
    edited = replace(manifest, held={**manifest.body, "spec": spec})
    return replace(world, outputs={**world.outputs, ADOPTED: edited})


def test_a_snapshot_without_a_policy_stays() -> None:
    """The first pass neither schedules anew nor replaces it: no policy and none are the same."""
    world = adopted_hub()
    after = written_after(world)

    assert () == reconcile(world, LATER).decisions
    assert FOLLOWING not in after
    assert {"policyHash": encoded_hash(None)} == after[ADOPTED]["spec"]


def test_bindings_stay_with_the_snapshot_that_decided_them() -> None:
    """All ten, whose decisions nobody took again."""
    after = written_after(adopted_hub())
    named = [
        mapping(body, "spec")["schedulingPolicySnapshotName"]
        for key, body in after.items()
        if key.kind == "ClusterResourceBinding"
    ]

    assert ["apps-0000-2"] * 10 == named


@pytest.mark.parametrize(
    "policy",
    [
        pytest.param({"placementType": "PickAll"}, id="the-default-written-out"),
        pytest.param(
            {"placementType": "PickAll", "tolerations": [{"key": "gpu", "operator": "Exists"}]},
            id="tolerations",
        ),
    ],
)
def test_a_policy_that_is_written_is_a_new_snapshot(policy: Body) -> None:
    """As upstream has it, whose hash of no policy differs from every other."""
    after = written_after(with_policy(adopted_hub(), policy))

    assert policy == mapping(after[FOLLOWING], "spec")["policy"]


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param({"policyHash": ""}, id="the-hash-is-gone"),
        pytest.param(
            {"policy": {"placementType": "PickFixed"}, "policyHash": encoded_hash(None)},
            id="a-policy-came",
        ),
    ],
)
def test_an_edit_of_such_a_snapshot_is_restored(spec: Body) -> None:
    """What is left of it says that it held none."""
    after = written_after(edited_snapshot(adopted_hub(), spec))

    assert {"policyHash": encoded_hash(None)} == after[ADOPTED]["spec"]
    assert FOLLOWING not in after


CLUSTER = karmada_hub(0)[0]


def node(name: str, cpu: str, **spec: object) -> Body:
    """Return a node."""
    return live("v1", "Node", name, spec=spec, status={"allocatable": {"cpu": cpu, "pods": "110"}})


def pod(name: str, cpu: str, on: str = "", phase: str = "Running") -> Body:
    """Return a pod that asks for some cpu."""
    container = {"name": "main", "resources": {"requests": {"cpu": cpu}}}
    spec = {"containers": [container], **({"nodeName": on} if on else {})}
    return live("v1", "Pod", name, namespace="default", spec=spec, status={"phase": phase})


def summary(*there: Body) -> Body:
    """Return the resource summary that the cluster has by these nodes and pods."""
    found = with_rooms(objects([CLUSTER, *there]), EMPTY, "member1")
    assert 1 == len(found)
    return mapping(mapping(found[0].body, "status"), "resourceSummary")


def test_nodes_add_up_but_for_those_that_take_nothing() -> None:
    """A cordoned node has no room for anything new."""
    found = summary(node("a", "4"), node("b", "2500m"), node("c", "64", unschedulable=True))

    assert {"cpu": "6500m", "pods": "220"} == found["allocatable"]


def test_pods_take_what_they_ask_for() -> None:
    """Those that run are allocated, those that wait allocating; those that ended are over."""
    found = summary(
        node("a", "4"),
        node("c", "64", unschedulable=True),
        pod("p", "500m", on="a"),
        pod("q", "1", on="a"),
        pod("r", "1", on="c"),
        pod("s", "2"),
        pod("t", "8", on="a", phase="Succeeded"),
    )

    assert {"cpu": "1500m", "pods": "2"} == found["allocated"]
    assert {"cpu": "2", "pods": "1"} == found["allocating"]


MODELS = [
    {"grade": grade, "ranges": [{"name": "cpu", "min": least, "max": most}]}
    for grade, least, most in ((0, "0", "2"), (1, "2", "8"), (2, "8", "64"))
]


def test_nodes_count_for_the_greatest_model_that_they_have_room_for() -> None:
    """By what their pods leave; one that takes no pod, or nothing at all, counts nowhere."""
    nodes = [node("a", "4"), node("b", "16"), node("c", "16"), node("d", "1")]
    full = {**node("e", "32"), "status": {"allocatable": {"cpu": "32", "pods": "1"}}}
    cluster = {**CLUSTER, "spec": {**mapping(CLUSTER, "spec"), "resourceModels": MODELS}}
    pods = [
        pod("p", "9", on="c"),
        pod("q", "1", on="e"),
        pod("r", "15", on="b", phase="Succeeded"),
        pod("s", "2", on="d"),
    ]
    found = with_rooms(objects([cluster, *nodes, full, *pods]), EMPTY, "member1")

    summary = mapping(mapping(found[0].body, "status"), "resourceSummary")
    assert {0: 0, 1: 2, 2: 1} == {
        one["grade"]: one["count"] for one in bodies(summary, "allocatableModelings")
    }


def test_nodes_that_change_model_count_by_the_tolerance() -> None:
    """Or each pod that starts would be a report."""
    path = ["status.resourceSummary.allocatableModelings"]

    def modelled(*counts: int) -> Body:
        listed = [{"grade": grade, "count": count} for grade, count in enumerate(counts)]
        return {"status": {"resourceSummary": {"allocatableModelings": listed}}}

    assert modelled(100, 7) == steady(modelled(99, 7), modelled(100, 7), path, 5)
    assert modelled(100, 8) == steady(modelled(99, 8), modelled(100, 7), path, 5)
    assert modelled(1, 2, 3) == steady(modelled(1, 2, 3), modelled(1, 2), path, 5)


def test_without_pods_what_is_allocated_stays() -> None:
    """Nodes alone say nothing of it."""
    assert {"cpu": "12", "memory": "31Gi", "pods": "97"} == summary(node("a", "4"))["allocated"]


def test_the_cluster_may_stand_in_the_repository() -> None:
    """A member's own export has none."""
    world = import_into({}, [CLUSTER]).world
    found = with_rooms(objects([node("a", "4")]), world, "member1")

    assert ["Cluster"] == [one.key.kind for one in found]


def test_a_declared_cluster_keeps_room_for_everything() -> None:
    """A status with nothing but its room would say that it is not ready."""
    declared = {name: value for name, value in CLUSTER.items() if name != "status"}

    with pytest.raises(UsageError, match="Cluster member1 has no status"):
        with_rooms(objects([declared, node("a", "4")]), EMPTY, "member1")


def test_nodes_of_no_cluster_are_refused() -> None:
    """The sentence names what is missing."""
    with pytest.raises(UsageError, match='there is no Cluster "member7"'):
        with_rooms(objects([node("a", "4")]), EMPTY, "member7")


MADE_BY_SERVERS = ("uid", "resourceVersion", "generation", "creationTimestamp", "annotations")
"""Of the metadata in CEL: another repository, or the same one made again, has others."""


def imported(body: Body, importer: Importer) -> Body:
    """A live object as its file has it."""
    kind = importer.kinds[key_of(body)[:2]]
    return counted_fields(body, kind, importer.server_made)


@pytest.mark.parametrize(
    ("hub", "importer", "decode"),
    [
        pytest.param(karmada_hub, OF_KARMADA, karmada.decode_cluster, id="karmada"),
        pytest.param(kubefleet_hub, OF_KUBEFLEET, kubefleet.decode_member, id="kubefleet"),
        pytest.param(ocm_hub, OF_OCM, ocm.decode_cluster, id="ocm"),
    ],
)
def test_a_cluster_is_decoded_alike(
    hub: Callable[[int], list[Body]], importer: Importer, decode: Callable[[Body], object]
) -> None:
    """From the hub and from its file; clusters of a hub have all that agents report."""
    clusters = [one for one in hub(0) if key_of(one)[:2] in CLUSTERS]

    assert clusters
    for body in clusters:
        assert view_of(decode, body) == view_of(decode, imported(body, importer))


def view_of(decode: Callable[[Body], object], body: Body) -> dict[str, object]:
    """What is decoded, without the manifest that OCM keeps for CEL, and when agents were heard."""
    decoded: Any = decode(body)
    fields = {name: getattr(decoded, name) for name in field_names(decoded)}
    fields.pop("body", None)
    if "conditions" in fields:
        told = (without(one, ("lastProbeTime",)) for one in fields["conditions"])
        fields["conditions"] = [dict(sorted(one.items())) for one in told]
    return fields


def test_cel_sees_of_a_file_what_it_sees_of_the_hub() -> None:
    """Every field of the Go type that is no server's; names of any prefix are people's labels."""
    live: Body = {
        "apiVersion": "cluster.open-cluster-management.io/v1",
        "kind": "ManagedCluster",
        "metadata": {
            "name": "member1",
            "labels": {"open-cluster-management/region": "eu", "env": "prod"},
            "uid": "4f5b",
            "resourceVersion": "7",
            "generation": 2,
            "creationTimestamp": THEN,
            "annotations": {"team": "shop"},
        },
        "spec": {
            "hubAcceptsClient": True,
            "leaseDurationSeconds": 60,
            "managedClusterClientConfigs": [{"url": "https://member1", "caBundle": "Y2E="}],
            "taints": [{"key": "k", "value": "v", "effect": "NoSelect", "timeAdded": THEN}],
        },
        "status": {
            "conditions": [condition("ManagedClusterConditionAvailable")],
            "capacity": {"cpu": "64"},
            "allocatable": {"cpu": "60"},
            "version": {"kubernetes": "v1.31.2"},
            "clusterClaims": [{"name": "id.k8s.io", "value": "1"}],
            "managedNamespaces": [{"name": "shop", "clusterSet": "default"}],
        },
    }

    assert seen(live) == seen(imported(live, OF_OCM))
    assert {"spec", "status", "metadata"} == seen(live).keys()


def seen(body: Body) -> dict[str, object]:
    """What CEL sees of a cluster, but for what servers make."""
    found = cluster_object(body)
    metadata = mapping(found, "metadata")
    kept = {name: metadata[name] for name in metadata if name not in MADE_BY_SERVERS}
    return {**found, "metadata": kept}


ASKED = configuration(karmada={"preserveAvailableReplicas": True})
SINCE = "2026-11-20T11:00:00Z"


def owned(kind: str, name: str, by: str, **more: object) -> Body:
    """An object whose controller is another one."""
    version = "v1" if kind == "Pod" else "apps/v1"
    owner = [{"kind": "Any", "name": by, "uid": by, "controller": True}]
    metadata = {"name": name, "namespace": "default", "uid": name, "ownerReferences": owner}
    notes = {"annotations": {"deployment.kubernetes.io/revision": more.pop("revision", "2")}}
    return {"apiVersion": version, "kind": kind, "metadata": {**metadata, **notes}, **more}


def waiting(name: str, by: str, *, reason: str = "Unschedulable", at: str = SINCE) -> Body:
    """A pod that could not be scheduled since then."""
    said = {"type": "PodScheduled", "status": "False", "reason": reason, "lastTransitionTime": at}
    return owned("Pod", name, by, status={"conditions": [said]})


WEB = {**owned("Deployment", "web", ""), "status": {"replicas": 3}}
SETS = (owned("ReplicaSet", "new", "web"), owned("ReplicaSet", "old", "web", revision="1"))


def told_of_web(*there: Body, asked: bool = True, listed: tuple[Kind, ...] = ()) -> object:
    """What the report of web says of its scheduling, `None` for nothing."""
    repository = world(deployment(), *([ASKED] if asked else []))
    found = with_scheduling(objects([WEB, *there]), repository, "member1", listed)
    (web,) = (one.body for one in found if one.key.kind == "Deployment")
    return report_of(web).get("unschedulable")


def test_pods_that_cannot_be_scheduled_are_counted_by_their_moments() -> None:
    """Of the present template only, found by their owners."""
    later = "2026-11-20T11:30:00Z"
    pods = (
        waiting("a", "new"),
        waiting("b", "new"),
        waiting("c", "new", at=later),
        waiting("d", "old"),
        waiting("e", "another"),
        waiting("f", "new", reason="SchedulingGated"),
        owned("Pod", "g", "new", status={}),
    )

    assert [
        {"since": SINCE, "replicas": 2},
        {"since": later, "replicas": 1},
    ] == told_of_web(*SETS, *pods)


def test_an_empty_list_is_an_answer_and_none_is_not() -> None:
    """Without any pod in an export nobody knows, unless it would have them all."""
    assert [] == told_of_web(*SETS, owned("Pod", "g", "new", status={}))
    assert told_of_web(*SETS) is None
    assert [] == told_of_web(*SETS, listed=(("", "Pod"),))
    assert told_of_web(*SETS, waiting("a", "new"), asked=False) is None


def test_replica_sets_of_others_are_no_reports() -> None:
    """They only say whose a pod is."""
    found = with_scheduling(
        objects([WEB, *SETS, waiting("a", "new")]), world(deployment(), ASKED), "member1", ()
    )

    assert ["Deployment", "Pod"] == [one.key.kind for one in found]
