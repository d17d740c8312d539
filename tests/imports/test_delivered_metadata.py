"""What is delivered after adoption has the labels and annotations that the hub delivered."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import cast

import pytest

from reconciler.core.reconcile import reconcile
from reconciler.core.rounds import next_world, world_after
from reconciler.dialects.karmada.binding.renderer import KarmadaRenderers
from reconciler.imports.adoption import adopt
from reconciler.imports.plan import decisions_among
from reconciler.model.body import Body
from reconciler.model.fields import at, with_value
from reconciler.model.identity import ObjectKey, uid_of
from reconciler.model.settings import settings_in
from reconciler.model.world import Manifest, World
from tests.builders import NOW
from tests.imports.hubs import objects
from tests.imports.imported import OUTPUT_RULES, world_of
from tests.imports.recorded_works import recorded_bindings, recorded_works

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
