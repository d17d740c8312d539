"""Works of a hub become reports, and what is delivered has the metadata that the hub delivered."""

from collections.abc import Iterator, Mapping, Sequence
from typing import cast

import pytest

from reconciler.core.reconcile import reconcile
from reconciler.core.rounds import next_world, world_after
from reconciler.dialects.karmada.binding.renderer import KarmadaRenderers
from reconciler.dialects.ocm.manifestworkreplicaset.replica_set import TEMPLATE
from reconciler.imports.adoption import adopt
from reconciler.imports.importers import Wanted
from reconciler.imports.plan import decisions_among
from reconciler.manifests.text.reader import read
from reconciler.model.body import Body
from reconciler.model.fields import at, with_value
from reconciler.model.identity import ObjectKey, uid_of
from reconciler.model.kinds import Kind
from reconciler.model.records import replace
from reconciler.model.settings import settings_in
from reconciler.model.world import Manifest, World
from tests.builders import NOW, text
from tests.dialects.kubefleet.fleet import placement
from tests.dialects.ocm.worlds import replica_set
from tests.imports.hubs import THEN, condition, live, objects, workload
from tests.imports.imported import DEPLOYMENTS, OUTPUT_RULES, fates, import_into, texts, world_of
from tests.imports.recorded import recorded_bindings, recorded_works

IDENTIFIER = {
    "group": "apps",
    "kind": "Deployment",
    "name": "web",
    "namespace": "default",
    "ordinal": 0,
    "resource": "deployments",
    "version": "v1",
}
APPLIED = condition("Applied", observedGeneration=3)
AVAILABLE = condition("Available", observedGeneration=3)
WORK: Kind = ("work.karmada.io", "Work")


def karmada_work(namespace: str = "karmada-es-member1") -> Body:
    """A Work of Karmada as kubectl prints it."""
    healthy = {"availableReplicas": 2, "conditions": [APPLIED]}
    return live(
        "work.karmada.io/v1alpha1",
        "Work",
        "web-5b8d7f",
        namespace=namespace,
        metadata={"labels": {"resourcebinding.karmada.io/permanent-id": "5f4d"}},
        spec={"workload": {"manifests": [workload("web", 2)]}, "suspendDispatching": False},
        status={
            "conditions": [APPLIED],
            "manifestStatuses": [
                {"health": "Healthy", "identifier": IDENTIFIER, "status": healthy}
            ],
        },
    )


def kubefleet_work() -> Body:
    """A Work of KubeFleet as kubectl prints it."""
    mark = "kubernetes-fleet.io"
    return live(
        "placement.kubernetes-fleet.io/v1",
        "Work",
        "web-work",
        namespace="fleet-member-member1",
        metadata={
            "labels": {f"{mark}/parent-CRP": "web", f"{mark}/parent-resource-binding": "web-1"},
            "annotations": {f"{mark}/parent-resource-snapshot-name": "web-0-snapshot"},
        },
        spec={"workload": {"manifests": [workload("web", 2)]}},
        status={
            "conditions": [APPLIED],
            "manifestConditions": [{"conditions": [APPLIED], "identifier": IDENTIFIER}],
        },
    )


def manifest_work(**labels: str) -> Body:
    """A ManifestWork as kubectl prints it."""
    values = [{"name": "Replicas", "fieldValue": {"type": "Integer", "integer": 2}}]
    listed = {
        "conditions": [APPLIED],
        "resourceMeta": IDENTIFIER,
        "statusFeedback": {"values": values},
    }
    return live(
        "work.open-cluster-management.io/v1",
        "ManifestWork",
        "web-5b8d7f",
        namespace="member1",
        metadata={"labels": labels, "annotations": {TEMPLATE: "0f3c"} if labels else {}},
        spec={"workload": {"manifests": [workload("web", 2)]}},
        status={"conditions": [APPLIED], "resourceStatus": {"manifests": [listed]}},
    )


def told(plan_texts: Mapping[str, str], path: str) -> Body:
    """What an import wrote into a file."""
    return read(plan_texts[path].encode(), path).documents[0].body


KNOWN = {"apiVersion": "apps/v1", "kind": "Deployment"}
CARRIED = {
    **KNOWN,
    "metadata": {"name": "web", "namespace": "default"},
    "spec": {"replicas": 2},
}


def test_of_a_work_of_karmada_counts_what_its_agent_says() -> None:
    """Of the manifests only whose they are."""
    files = texts(import_into({}, [karmada_work(), workload("web", 2)]))

    assert {
        "apiVersion": "work.karmada.io/v1alpha1",
        "kind": "Work",
        "metadata": {"name": "web-5b8d7f", "namespace": "karmada-es-member1", "generation": 3},
        "spec": {"workload": {"manifests": [CARRIED]}},
        "status": {
            "conditions": [APPLIED],
            "manifestStatuses": [
                {
                    "health": "Healthy",
                    "identifier": IDENTIFIER,
                    "status": {"availableReplicas": 2},
                }
            ],
        },
    } == told(files, "feedback/member1/karmada-es-member1/web-5b8d7f-work.yaml")


def test_of_a_work_of_kubefleet_counts_of_which_snapshot_it_is() -> None:
    """And what its conditions say of it as a whole."""
    mark = "kubernetes-fleet.io"
    files = texts(import_into({}, [placement(), kubefleet_work()]))

    assert {
        "apiVersion": "placement.kubernetes-fleet.io/v1",
        "kind": "Work",
        "metadata": {
            "name": "web-work",
            "namespace": "fleet-member-member1",
            "generation": 3,
            "labels": {f"{mark}/parent-CRP": "web"},
            "annotations": {f"{mark}/parent-resource-snapshot-name": "web-0-snapshot"},
        },
        "status": {"conditions": [APPLIED]},
    } == told(files, "feedback/member1/fleet-member-member1/web-work-work.yaml")


def troubled(kind: str = "ConfigMap", *, at: str = THEN) -> Body:
    """A Work of KubeFleet in which one resource is as it should be, and another drifted."""
    details = {
        "observationTime": at,
        "firstDriftedObservedTime": THEN,
        "observedInMemberClusterGeneration": 4,
        "observedDrifts": [{"path": "/data/x", "valueInMember": "secret"}],
    }
    named = {"ordinal": 1, "version": "v1", "kind": kind, "name": "x", "namespace": "default"}
    failed = [{**APPLIED, "status": "False"}]
    listed = [
        {"conditions": [APPLIED], "identifier": IDENTIFIER},
        {"conditions": [*failed, AVAILABLE], "identifier": named, "driftDetails": details},
    ]
    return {**kubefleet_work(), "status": {"conditions": failed, "manifestConditions": listed}}


TROUBLED = "feedback/member1/fleet-member-member1/web-work-work.yaml"


def test_of_a_work_of_kubefleet_counts_what_is_wrong() -> None:
    """What is as it should be is left out."""
    files = texts(import_into({}, [placement(), troubled()]))
    status = told(files, TROUBLED)["status"]
    assert isinstance(status, dict)

    (one,) = status["manifestConditions"]
    assert ("x", ["False"]) == (
        one["identifier"]["name"],
        [item["status"] for item in one["conditions"]],
    )
    assert [{"path": "/data/x", "valueInMember": "secret"}] == one["driftDetails"]["observedDrifts"]


def test_that_a_drift_was_seen_again_counts_for_nothing() -> None:
    """The agent looks every few minutes."""
    files = texts(import_into({}, [placement(), troubled()]))
    again = import_into(files, [placement(), troubled(at="2026-11-20T13:00:00Z")])

    assert {} == again.files


def test_what_drifted_in_a_secret_becomes_no_file() -> None:
    """That it did is told, and where."""
    files = texts(import_into({}, [placement(), troubled("Secret")]))

    assert "path: /data/x" in files[TROUBLED]
    assert "valueInMember: secret" not in files[TROUBLED]


def test_of_a_manifest_work_counts_its_feedback() -> None:
    """With the replicas that it wants, by which health is told."""
    files = texts(import_into({}, [workload("web", 2), manifest_work()]))
    found = told(files, "feedback/member1/member1/web-5b8d7f-manifestwork.yaml")

    assert {"workload": {"manifests": [CARRIED]}} == found["spec"]
    assert {
        "name": "web-5b8d7f",
        "namespace": "member1",
        "generation": 3,
    } == found["metadata"]


def test_of_a_manifest_work_of_a_set_counts_its_template() -> None:
    """The manifests are in the set."""
    label = "work.open-cluster-management.io/manifestworkreplicaset"
    repository = {"shop.yaml": text(replica_set())}
    files = texts(import_into(repository, [manifest_work(**{label: "ns1.shop"})]))
    found = told(files, "feedback/member1/member1/web-5b8d7f-manifestwork.yaml")

    assert "spec" not in found
    assert {
        "name": "web-5b8d7f",
        "namespace": "member1",
        "generation": 3,
        "labels": {label: "ns1.shop"},
        "annotations": {TEMPLATE: "0f3c"},
    } == found["metadata"]


def test_a_second_import_of_the_same_hub_writes_nothing() -> None:
    """Whatever the server counted up in the meantime."""
    hub = [workload("web", 2), karmada_work(), manifest_work(), placement(), kubefleet_work()]
    files = texts(import_into({}, hub))

    assert {} == import_into(files, hub).files


@pytest.mark.parametrize(
    ("bodies", "wanted", "why"),
    [
        pytest.param(
            [karmada_work()], DEPLOYMENTS, "it is of nothing in the repository", id="unknown"
        ),
        pytest.param(
            [workload("web", 2), karmada_work("default")],
            DEPLOYMENTS,
            "its namespace names no cluster",
            id="no-cluster",
        ),
        pytest.param(
            [karmada_work()],
            Wanted(cluster="member2"),
            "it is of the cluster member1",
            id="other-cluster",
        ),
        pytest.param(
            [workload("web", 2), {**karmada_work(), "status": {}}],
            DEPLOYMENTS,
            "it has no status to report",
            id="no-status",
        ),
    ],
)
def test_other_reports_of_agents_are_skipped(bodies: list[Body], wanted: Wanted, why: str) -> None:
    """Each with its reason."""
    plan = import_into({}, bodies, wanted)

    assert [why] == [one.why for one in plan.objects if one.key.kind == "Work"]


def test_a_work_that_is_gone_from_its_hub_is_listed() -> None:
    """A stale report would speak for a copy that is not there any more."""
    files = texts(import_into({}, [workload("web", 2), karmada_work()]))
    plan = import_into(files, [workload("web", 2)], Wanted(listed=frozenset({WORK})))

    assert ("web-5b8d7f", "gone") in fates(plan)


def test_moments_are_kept() -> None:
    """They say since when a condition holds."""
    files = texts(import_into({}, [karmada_work(), workload("web", 2)]))

    assert THEN in files["feedback/member1/karmada-es-member1/web-5b8d7f-work.yaml"]


CLUSTER = """
apiVersion: cluster.karmada.io/v1alpha1
kind: Cluster
metadata: {name: %s}
spec: {syncMode: Push}
"""
POLICY = """
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: dep, namespace: shop}
spec:
  propagateDeps: true
  resourceSelectors: [{apiVersion: apps/v1, kind: Deployment}]
  placement:
    clusterAffinity: {clusterNames: [member1, member2]}
    replicaScheduling: {replicaSchedulingType: Duplicated}
"""
ROLES = """
apiVersion: policy.karmada.io/v1alpha1
kind: ClusterPropagationPolicy
metadata: {name: cpp-roles}
spec:
  resourceSelectors: [{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole}]
  placement: {clusterAffinity: {clusterNames: [member1]}}
"""
WEB = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: dep-web-0, namespace: shop, labels: {app: dep-web}}
spec:
  replicas: 4
  selector: {matchLabels: {app: dep-web}}
  template:
    metadata: {labels: {app: dep-web}}
    spec:
      containers: [{name: main, image: "example/web:1"}]
      volumes: [{name: c, configMap: {name: dep-cm-0}}]
"""
FILES = {
    **{f"clusters/{name}.yaml": CLUSTER % name for name in ("member1", "member2")},
    "policies/dep.yaml": POLICY,
    "policies/roles.yaml": ROLES,
    "workloads/web.yaml": WEB,
    "workloads/cm.yaml": "{apiVersion: v1, kind: ConfigMap, "
    "metadata: {name: dep-cm-0, namespace: shop}}",
    "workloads/role.yaml": "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, "
    "metadata: {name: reader-1, labels: {app: reader}}}",
    "namespaces/shop.yaml": "{apiVersion: v1, kind: Namespace, "
    "metadata: {name: shop, labels: {team: shop}}}",
}
MANIFEST, WORK_ID = "manifest ", "labels work.karmada.io/permanent-id"
UID, GENERATION = (f"annotations resourcetemplate.karmada.io/{n}" for n in ("uid", "generation"))
LISTED = "annotations resourcetemplate.karmada.io/managed-annotations"
OF_NAMESPACES = {
    WORK_ID: "no file of ours is about the Work of a Namespace, so its id follows from identity",
    MANIFEST + WORK_ID: "as on its Work",
    MANIFEST + UID: "so does the uid of the Namespace",
    "ownerReferences": "its owner is an object of the hub, which Git does not have",
}
"""What differs where everything was exported, by the metadata of a Work or of its manifest."""
WITHOUT_WORKS = {
    WORK_ID: "only the Works say it",
    MANIFEST + WORK_ID: "only the Works say it",
    MANIFEST + GENERATION: "the API server of the hub counts it, and Works alone say it",
    MANIFEST + LISTED: "it lists the generation",
}
"""What differs where no Works were exported."""

WEB_KEY = ObjectKey("apps", "Deployment", "shop", "dep-web-0")
BINDING = ObjectKey("work.karmada.io", "ResourceBinding", "shop", "dep-web-0-deployment")


def adopted(live: Sequence[Body]) -> World:
    """A repository with the workloads of the hub and its decisions."""
    world = world_of(FILES)
    found = adopt(world, decisions_among(objects(live)), NOW, OUTPUT_RULES)
    assert {} == found.left
    return world_after(world, found.outputs, (), ())


def delivered(world: World) -> dict[tuple[str, str], Body]:
    """Each Work that is rendered, by namespace and name."""
    renderer = KarmadaRenderers().of(world, settings_in(world))
    rendered = [renderer.render(owner) for owner in renderer.owners()]
    works = [one for found in rendered if found is not None for one in found.works]
    return by_name(one.fill(one.carrier, tuple(one.manifests.values())) for one in works)


def by_name(works: Iterator[Body] | Sequence[Body]) -> dict[tuple[str, str], Body]:
    """Works by namespace and name."""
    named = ((at(work, "metadata"), work) for work in works)
    return {(str(own["namespace"]), str(own["name"])): work for own, work in named}


SERVERS = ("creationTimestamp", "generation", "resourceVersion", "uid")


def marks_of(work: Body) -> dict[str, object]:
    """The metadata of a Work and of its manifest, flat, but for what every API server makes."""
    return {**flat(at(work, "metadata")), **flat(manifest_of(work), MANIFEST)}


def manifest_of(work: Body) -> Body:
    """The metadata of what a Work carries."""
    (manifest,) = cast(Sequence[Body], at(work, "spec", "workload")["manifests"])
    return at(manifest, "metadata")


def flat(metadata: Body, side: str = "") -> dict[str, object]:
    """Metadata, labels and annotations apart."""
    found: dict[str, object] = {}
    for name, value in metadata.items():
        if name in ("labels", "annotations"):
            assert isinstance(value, Mapping)
            found |= {f"{side}{name} {one}": text for one, text in value.items()}
        elif name not in SERVERS:
            found[side + name] = value
    return found


def differing(world: World, *, namespaces: bool) -> set[str]:
    """By what Works differ from those of the hub, of Namespaces or of bindings."""
    ours, theirs = delivered(world), by_name(recorded_works())
    assert theirs.keys() == ours.keys()
    found: set[str] = set()
    for key in theirs:
        if (key[1].startswith("shop-")) is namespaces:
            before, now = marks_of(theirs[key]), marks_of(ours[key])
            found |= {name for name in {*before, *now} if before.get(name) != now.get(name)}
    return found


def test_what_bindings_deliver_has_the_marks_of_the_hub() -> None:
    """No object is touched for a label or an annotation alone when the switch comes."""
    world = adopted([*recorded_bindings(), *recorded_works()])

    assert set() == differing(world, namespaces=False)


def test_what_namespaces_differ_in_is_listed() -> None:
    """Each exception has its reason in the table."""
    world = adopted([*recorded_bindings(), *recorded_works()])

    assert set(OF_NAMESPACES) == differing(world, namespaces=True)


def test_without_works_only_what_they_alone_say_differs() -> None:
    """Ids of bindings and policies, and uids, are those of the bindings."""
    world = adopted(recorded_bindings())

    assert set(WITHOUT_WORKS) == differing(world, namespaces=False)


def test_a_workload_that_changed_has_no_generation_any_more() -> None:
    """Nobody counts on; what else its hub gave it stays."""
    world = adopted([*recorded_bindings(), *recorded_works()])
    web = world.inputs[WEB_KEY]
    body = with_value(web.body, ("metadata", "labels", "tier"), "front")
    changed = Manifest(web.key, web.origin, body)
    after = delivered(replace(world, inputs={**world.inputs, WEB_KEY: changed}))
    notes = at(manifest_of(after["karmada-es-member1", "dep-web-0-7bdd4b4dc7"]), "annotations")

    assert "resourcetemplate.karmada.io/generation" not in notes
    assert "0c5f2a55-5a3f-4d0a-a6f5-6b5cf6d6a1ce" == notes["resourcetemplate.karmada.io/uid"]


def passed(world: World, **files: str) -> World:
    """A repository after a pass, with other files; empty ones are removed."""
    changed = world_of({path: text for path, text in {**FILES, **files}.items() if text})
    present = {one.origin.path: "b" * 40 for one in world.outputs.values()}
    before = replace(changed, outputs=world.outputs, present=present)
    return next_world(before, reconcile(before, NOW))


def labels_in(world: World) -> Body:
    """Labels of the binding of the Deployment."""
    return at(world.outputs[BINDING].body, "metadata", "labels")


def test_ids_of_a_hub_stay_while_the_binding_and_its_claim_do() -> None:
    """A pass that changes the binding carries them on."""
    world = adopted([*recorded_bindings(), *recorded_works()])
    scaled = passed(world, **{"workloads/web.yaml": WEB.replace("replicas: 4", "replicas: 5")})

    assert labels_in(world) == labels_in(scaled)
    assert 5 == at(scaled.outputs[BINDING].body, "spec")["replicas"]


def test_a_binding_made_again_has_an_invented_id() -> None:
    """As one that never was on a hub: its uid, and that of its policy."""
    world = adopted([*recorded_bindings(), *recorded_works()])
    without = passed(world, **{"workloads/web.yaml": ""})
    again = passed(without)
    policy = ObjectKey("policy.karmada.io", "PropagationPolicy", "shop", "dep")

    assert BINDING not in without.outputs
    assert {"propagationpolicy.karmada.io/permanent-id": uid_of(policy)} == labels_in(again)


def test_a_policy_made_again_has_an_invented_id() -> None:
    """The binding stays the same one."""
    world = adopted([*recorded_bindings(), *recorded_works()])
    unclaimed = passed(world, **{"policies/dep.yaml": ""})
    again = labels_in(passed(unclaimed))
    policy = ObjectKey("policy.karmada.io", "PropagationPolicy", "shop", "dep")

    assert uid_of(policy) == again["propagationpolicy.karmada.io/permanent-id"]
    assert (
        "26cefb83-50ee-40e1-9ce1-b6af348d597a" == again["resourcebinding.karmada.io/permanent-id"]
    )


def test_the_id_of_a_work_goes_with_it() -> None:
    """One that is made again on that cluster has an invented id."""
    world = adopted([*recorded_bindings(), *recorded_works()])
    fewer = POLICY.replace("[member1, member2]", "[member1]")
    gone = passed(world, **{"policies/dep.yaml": fewer})
    back = passed(gone)
    of_both = [
        at(delivered(back)[f"karmada-es-{name}", "dep-web-0-7bdd4b4dc7"], "metadata", "labels")
        for name in ("member1", "member2")
    ]
    invented = ObjectKey("work.karmada.io", "Work", "karmada-es-member2", "dep-web-0-7bdd4b4dc7")

    assert ["f7031a2c-a7b7-41f2-a929-57f928817d87", uid_of(invented)] == [
        one["work.karmada.io/permanent-id"] for one in of_both
    ]


@pytest.mark.parametrize("value", ["a b", ""])
def test_the_id_of_a_policy_that_a_person_garbled_is_invented(value: str) -> None:
    """The next pass writes it anew."""
    world = adopted([*recorded_bindings(), *recorded_works()])
    label = "propagationpolicy.karmada.io/permanent-id"
    binding = world.outputs[BINDING]
    body = with_value(binding.body, ("metadata", "labels", label), value)
    outputs = {**world.outputs, BINDING: Manifest(BINDING, binding.origin, body)}
    again = passed(replace(world, outputs=outputs))
    policy = ObjectKey("policy.karmada.io", "PropagationPolicy", "shop", "dep")

    assert uid_of(policy) == labels_in(again)[label]


@pytest.mark.parametrize(
    "note",
    [
        pytest.param("{", id="no-json"),
        pytest.param('{"member1": "a b"}', id="no-label-value"),
        pytest.param('{"member1": 1}', id="no-text"),
    ],
)
def test_ids_that_a_person_garbled_are_invented(note: str) -> None:
    """So nothing is delivered that a cluster refuses."""
    world = adopted([*recorded_bindings(), *recorded_works()])
    binding = world.outputs[BINDING]
    body = with_value(binding.body, ("metadata", "annotations", "reconciler.dev/work-ids"), note)
    garbled = replace(
        world, outputs={**world.outputs, BINDING: Manifest(BINDING, binding.origin, body)}
    )
    work = delivered(garbled)["karmada-es-member1", "dep-web-0-7bdd4b4dc7"]
    invented = ObjectKey("work.karmada.io", "Work", "karmada-es-member1", "dep-web-0-7bdd4b4dc7")

    labels = at(work, "metadata", "labels")
    assert uid_of(invented) == labels["work.karmada.io/permanent-id"]
