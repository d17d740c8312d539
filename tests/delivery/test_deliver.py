"""What is delivered, with which definitions, once where two APIs bring it, and as CRDs have it."""

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import cast

import pytest

from reconciler.audit.fleet.copies import CopiesOf
from reconciler.dialects.karmada.binding.renderer import KarmadaRenderers
from reconciler.manifests.text.reader import read
from reconciler.model.fields import at, without
from reconciler.model.identity import ObjectKey
from reconciler.model.moments import parse_moment
from reconciler.model.settings import settings_in
from tests.builders import (
    NOW,
    Body,
    cluster,
    cluster_policy,
    cluster_role,
    configmap,
    configuration,
    deployment,
    metadata,
    policy,
    selector,
    text,
)
from tests.crds.facts import KindVersion, metadata_refusals, refusals
from tests.crds.tables import read_tables
from tests.delivery.story import DeliveryStory
from tests.delivery.test_story import STORIES
from tests.delivery.test_transports import FOLDERS, below
from tests.dialects.kubefleet.fleet import GROUP, PLACEMENT, member, namespaced_placement, placement
from tests.dialects.ocm.worlds import binding, cluster_set, replica_set, settings_map
from tests.dialects.ocm.worlds import cluster as managed
from tests.dialects.ocm.worlds import placement as ocm_placement
from tests.golden import case_of, files_in, steps, stories
from tests.imports.recorded import recorded_bindings, recorded_works
from tests.imports.test_agent_reports import adopted
from tests.shell.fleet import EXAMPLE
from tests.stories import Story, story

SHOP: Body = {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata("shop")}
SHOP_FILE = "delivery/a/_cluster/namespaces/shop.yaml"
SELECTED: Body = {"group": "", "version": "v1", "kind": "Namespace", "name": "shop"}


def shop_placement() -> Body:
    """A placement of the Namespace shop and what is in it."""
    found = placement()
    return {**found, "spec": {"resourceSelectors": [SELECTED]}}


def together(*fleet: Body) -> Story:
    """A Namespace that a placement brings, and Karmada's namespace sync, too."""
    options = configuration(delivery={"folders": {}}, inventory={"project": True})
    told = story(*fleet, options, SHOP, configmap("c", namespace="shop"), shop_placement())
    told.put(policy(namespace="shop"), deployment(namespace="shop"))
    told.run(0)
    return told


INVENTORIES = pytest.mark.parametrize(
    "declared",
    [pytest.param(cluster("a"), id="karmada"), pytest.param(member("a"), id="kubefleet")],
)


@INVENTORIES
def test_a_namespace_of_two_apis_is_delivered_once(declared: Body) -> None:
    """Without a fault, whichever API the clusters are of; a second pass has nothing to do."""
    told = together(declared)
    first = told.files[SHOP_FILE]
    told.now += timedelta(minutes=5)
    outcome = told.run()

    assert ((), (), first) == (outcome.faults, outcome.files, told.files[SHOP_FILE])
    assert "karmada.io/managed" in first


def test_who_leaves_takes_its_own_marks_away() -> None:
    """The Namespace stays as long as one API brings it."""
    told = together(member("a"))
    told.drop(policy(namespace="shop"), deployment(namespace="shop"))
    told.run()

    assert "karmada.io/managed" not in told.files[SHOP_FILE]
    told.drop(shop_placement())
    for _ in range(3):
        told.now += timedelta(minutes=5)
        told.run()
    assert SHOP_FILE not in told.files


def test_the_copies_of_both_are_what_was_asked_for() -> None:
    """`why` and `tree` do not wait for another pass."""
    told = together(cluster("a"))
    told.now += timedelta(minutes=5)
    copies = CopiesOf(told.world(), told.now)(ObjectKey(GROUP, PLACEMENT, "", "web"))

    assert [(True, "")] == [(one.is_delivered, one.files[0].why) for one in copies]


def test_two_contents_stay_a_conflict() -> None:
    """Labels of people that differ are nobody's marks."""
    told = together(cluster("a"))
    override: Body = {
        "apiVersion": "policy.karmada.io/v1alpha1",
        "kind": "ClusterOverridePolicy",
        "metadata": metadata("o"),
        "spec": {
            "resourceSelectors": [{"apiVersion": "v1", "kind": "Namespace"}],
            "overrideRules": [
                {"overriders": {"plaintext": [{"operator": "add", "path": "/spec", "value": {}}]}}
            ],
        },
    }
    outcome = told.put(override).run()

    assert ["delivery-conflict"] == [one.rule for one in outcome.faults]


API = {"apiVersion": "example.org/v1"}
KINDS = {"kind": "Widget", "plural": "widgets"}
NAME = "widgets.example.org"


def widget(name: str = "w") -> Body:
    """An object of a custom kind."""
    return {**API, "kind": "Widget", "metadata": metadata(name, "default"), "spec": {}}


def definition() -> Body:
    """What defines that kind."""
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": metadata(NAME),
        "spec": {"group": "example.org", "names": KINDS, "scope": "Namespaced", "versions": []},
    }


def going(name: str, what: Body, *clusters: str) -> Body:
    """A policy that brings an object to some clusters."""
    means = {"apiVersion": what["apiVersion"], "kind": what["kind"]}
    return cluster_policy(
        name,
        selectors=[means],
        placement={"clusterAffinity": {"clusterNames": list(clusters)}},
    )


def fleet(*bodies: Body, transport: str = "folders") -> Story:
    """Three clusters, of which two get two objects of the kind, and delivery."""
    told = story(cluster("a"), cluster("b"), cluster("c"))
    told.put(configuration(delivery={transport: {}}))
    return told.put(widget(), widget("v"), going("widgets", widget(), "a", "b"), *bodies)


def test_a_definition_that_does_not_go_along_is_a_warning() -> None:
    """Once for the kind, with the clusters that lack it."""
    told = fleet(definition(), going("definitions", definition(), "a"))

    (warning,) = told.run(0).warnings
    assert warning.startswith("objects of kind Widget go to b, where the")
    assert warning.endswith(f"CustomResourceDefinition {NAME} does not go")


def test_a_definition_that_goes_along_is_no_warning() -> None:
    """More clusters than need it may have it."""
    told = fleet(definition(), going("definitions", definition(), "a", "b", "c"))

    assert () == told.run(0).warnings


def test_a_kind_that_is_defined_elsewhere_is_no_warning() -> None:
    """Whatever brings its definition, the repository does not know it."""
    assert () == fleet().run(0).warnings


def test_lists_of_clusters_bring_no_objects() -> None:
    """So nothing needs a definition."""
    assert () == fleet(definition(), transport="decisions").run(0).warnings


def test_a_warning_ends_with_what_it_is_about() -> None:
    """The objects leave the cluster, and nothing is missing there."""
    told = fleet(definition(), going("definitions", definition(), "a"))
    told.run(0)
    told.put(going("widgets", widget(), "a"))
    told.run(10)

    assert () == told.run(20).warnings


IN_SHOP = configmap(namespace="shop")
BY_API = {
    "karmada": [cluster("a"), going("shop", IN_SHOP, "a"), IN_SHOP],
    "kubefleet": [member("a"), namespaced_placement(namespace="shop"), IN_SHOP],
    "ocm": [cluster_set(), binding(), ocm_placement(), managed("a"), replica_set()],
}


@pytest.mark.parametrize("api", BY_API)
def test_a_namespace_that_nothing_brings_is_a_warning(api: str) -> None:
    """Flux applies nothing of a folder with an object whose Namespace is not there."""
    told = story(configuration(delivery={"folders": {}}), *BY_API[api])

    (warning,) = told.run(0).warnings
    assert warning.startswith("objects in the Namespace shop go to a, where nothing brings it")


def test_a_namespace_of_the_repository_that_a_set_does_not_bring_is_a_warning() -> None:
    """It is a manifest, and goes nowhere by itself; in the template it would."""
    options = configuration(delivery={"folders": {}})
    told = story(options, SHOP, *BY_API["ocm"])
    assert 1 == len(told.run(0).warnings)
    told.put(replica_set(SHOP, settings_map()))
    told.now += timedelta(minutes=5)

    assert () == told.run().warnings


@pytest.mark.parametrize("name", ["default", "kube-system"])
def test_a_namespace_that_every_cluster_has_is_no_warning(name: str) -> None:
    """Every API server makes it."""
    content = configmap(namespace=name)
    told = story(cluster("a"), going("p", content, "a"), content)
    told.put(configuration(delivery={"folders": {}}, karmada={"skippedPropagatingNamespaces": []}))

    assert () == told.run(0).warnings


WEB = "default/deployments.apps/web.yaml"
ROLES = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole"}


def karmada(*bodies: Body) -> Story:
    """One cluster, to which all Deployments go, and the ClusterRole view."""
    named = [selector(), {**ROLES, "name": "view"}]
    return story(cluster("a"), cluster_policy(resourceSelectors=named), *bodies)


def kubefleet(*bodies: Body) -> Story:
    """One cluster, to which the namespace default goes with all that is in it."""
    return story(member("a"), placement(), *bodies)


def delivered(told: Story) -> list[str]:
    """The files of the cluster after a pass."""
    told.put(deployment(), configuration(delivery=FOLDERS)).run(0)
    return [path for path in below(told) if not path.endswith("kustomization.yaml")]


@pytest.mark.parametrize("fleet", [karmada, kubefleet])
def test_what_nobody_wrote_is_not_delivered(fleet: Callable[[], Story]) -> None:
    """Though a policy names it, or a placement brings along what is in it."""
    assert [f"a/{WEB}"] == delivered(fleet())


def test_what_a_person_wrote_is_delivered() -> None:
    """It counts as any other object then."""
    assert ["a/_cluster/clusterroles.rbac.authorization.k8s.io/view.yaml", f"a/{WEB}"] == delivered(
        karmada(cluster_role("view"))
    )


def test_a_namespace_that_a_person_wrote_is_delivered() -> None:
    """With its labels, say."""
    labelled = {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata("default")}

    assert ["a/_cluster/namespaces/default.yaml", f"a/{WEB}"] == delivered(kubefleet(labelled))


FACTS = read_tables().fields
ALL: Body = {
    "folders": {},
    "decisions": {},
    "manifestworks": {},
    "works": {"hubsWithoutControllers": True},
}
WORK = KindVersion("work.karmada.io", "v1alpha1", "Work")
MANIFEST_WORK = KindVersion("work.open-cluster-management.io", "v1", "ManifestWork")
FLEET_WORK = KindVersion("placement.kubernetes-fleet.io", "v1beta1", "Work")


def with_delivery(files: Mapping[str, str]) -> dict[str, str]:
    """Files whose configuration delivers by all transports, and is otherwise as it was."""
    options: dict[str, object] = {}
    if "reconciler.yaml" in files:
        data = files["reconciler.yaml"].encode()
        options = dict(cast(Body, read(data, "reconciler.yaml").documents[0].body["spec"]))
    return {**files, "reconciler.yaml": text(configuration(**{**options, "delivery": ALL}))}


def golden(folder: Path) -> Iterator[Story]:
    """A golden story after each of its passes, each begun anew."""
    for step in steps(folder):
        told = Story(with_delivery(files_in(step / "before")))
        told.now = parse_moment(str(case_of(step)["now"]))
        told.run(int((told.now - NOW).total_seconds()))
        yield told


def walked(story: DeliveryStory) -> Iterator[Story]:
    """A story of delivery after each of its steps."""
    told = Story(with_delivery(story.files))
    for step in story.steps:
        told.files |= with_delivery({**told.files, **step.files})
        told.run(step.seconds)
        yield told


def example() -> Iterator[Story]:
    """The example after a pass."""
    files = {path: one for path, one in EXAMPLE.items() if path.endswith(".yaml")}
    told = Story(with_delivery({path: one for path, one in files.items() if path[0] != "."}))
    told.run(0)
    yield told


def options() -> Iterator[Story]:
    """What placements say of how their content is applied goes into what carries it."""
    apply: Body = {"type": "ServerSideApply", "serverSideApplyConfig": {"force": True}}
    strategy: Body = {"type": "RollingUpdate", "applyStrategy": apply}
    kept = policy(preserveResourcesOnDeletion=True, conflictResolution="Overwrite")
    told = Story(with_delivery({})).put(cluster("a"), kept, deployment(), member("b"))
    told.put(placement(strategy=strategy), cluster_set(), binding(), ocm_placement())
    told.put(managed("c"), tuned_set()).run(0)
    yield told


def tuned_set() -> Body:
    """A set whose template has all that a ManifestWork may say beside manifests."""
    found = replica_set()
    spec = cast(Body, found["spec"])
    named = {"group": "", "resource": "configmaps", "name": "settings", "namespace": "shop"}
    path: Body = {"name": "v", "path": ".data.v"}
    template: Body = {
        **cast(Body, spec["manifestWorkTemplate"]),
        "deleteOption": {"propagationPolicy": "Orphan"},
        "manifestConfigs": [
            {
                "resourceIdentifier": named,
                "feedbackRules": [{"type": "JSONPaths", "jsonPaths": [path]}],
                "updateStrategy": {"type": "CreateOnly"},
            }
        ],
    }
    return {**found, "spec": {**spec, "manifestWorkTemplate": template}}


CONTENTS = [one for one in stories() if one.parent.name != "ocm"]  # OCM's decide, and bring nothing
TOLD: Mapping[str, Callable[[], Iterator[Story]]] = {
    **{f"{one.parent.name}-{one.name}": partial(golden, one) for one in CONTENTS},
    "options": options,
    **{name: partial(walked, one) for name, one in STORIES.items()},
    "example": example,
}


def delivered_objects(told: Story) -> Iterator[tuple[str, Body]]:
    """Each object in the files of clusters, with its path."""
    for path, data in told.files.items():
        if path.startswith(("delivery/", "manifestworks/", "works/")) and path.endswith(".yaml"):
            for document in read(data.encode(), path).documents:
                if document.body["kind"] != "Kustomization":
                    yield path, document.body


def kind_of(body: Body) -> KindVersion:
    """The kind of an object, in its version."""
    group, _, version = str(body["apiVersion"]).rpartition("/")
    return KindVersion(group, version, str(body["kind"]))


def wrong(body: Body) -> list[str]:
    """What an API server would refuse of an object, and of all that a Work carries."""
    fields = FACTS.get(kind_of(body))
    return [*(metadata_refusals(body) if fields is None else refusals(body, fields))]


@pytest.mark.parametrize("name", TOLD)
def test_every_object_that_is_delivered_is_one_of_its_crd(name: str) -> None:
    """Those that carry manifests, and the manifests themselves."""
    found = {path: wrong(body) for told in TOLD[name]() for path, body in delivered_objects(told)}

    assert {} == {path: told for path, told in found.items() if told}


def test_works_of_all_three_apis_are_held_against_facts() -> None:
    """Each occurs in a story, and its facts are kept."""
    found = {
        kind_of(body)
        for name in STORIES
        for told in TOLD[name]()
        for _, body in delivered_objects(told)
    }

    assert {WORK, MANIFEST_WORK, FLEET_WORK} <= found & FACTS.keys()


PAGE = Path(__file__).parents[2] / "docs" / "delivery.md"
FILTER = re.compile(r"<!-- filter -->\n```\nyq 'del\((.*)\)'")
MADE_BY_SERVERS = ("uid", "creationTimestamp", "generation", "resourceVersion", "managedFields")


def applied(body: Body) -> Body:
    """What an API server answers to a server-side apply of an object that it does not have.

    The Status has the shape that a kube-apiserver gave to a conflict of field managers, and what is
    created the fields that it gave a Deployment. That a uid is a conflict is not recorded: it is
    invented after k8s.io/apiserver pkg/endpoints/handlers/patch.go, the text included.
    """
    metadata = at(body, "metadata")
    if metadata.get("uid"):
        name, uid = metadata["name"], metadata["uid"]
        return {
            "apiVersion": "v1",
            "code": 409,
            "kind": "Status",
            "message": f'Operation cannot be fulfilled on "{name}": uid mismatch: the provided '
            f"object specified uid {uid}, and no existing object was found",
            "metadata": {},
            "reason": "Conflict",
            "status": "Failure",
        }
    made = {"uid": "e7db8da2-a943-4696-a72b-71c2431bd45d", "resourceVersion": "278"}
    kept = {name: value for name, value in metadata.items() if name not in MADE_BY_SERVERS}
    return {**body, "metadata": {**kept, **made, "generation": 1}, "status": {}}


def filtered(body: Body) -> Body:
    """An object as the filter of the page leaves it."""
    found = FILTER.search(PAGE.read_text(encoding="utf-8"))
    assert found is not None
    for path in found[1].split(", "):
        body = without(body, tuple(path.removeprefix(".").split(".")))
    return body


def bindings() -> Iterator[Body]:
    """The bindings of a repository that took a hub over."""
    world = adopted([*recorded_bindings(), *recorded_works()])
    return (one.body for key, one in world.outputs.items() if key.kind.endswith("Binding"))


def works() -> Iterator[Body]:
    """The Works that it delivers."""
    world = adopted([*recorded_bindings(), *recorded_works()])
    renderer = KarmadaRenderers().of(world, settings_in(world))
    for owner in renderer.owners():
        rendered = renderer.render(owner)
        assert rendered is not None
        for one in rendered.works:
            yield one.fill(one.carrier, tuple(one.manifests.values()))


def test_an_api_server_refuses_a_binding_as_it_stands() -> None:
    """For its uid, which is ours."""
    answers = [applied(body) for body in bindings()]

    assert 3 == len(answers)
    assert {"Conflict"} == {answer["reason"] for answer in answers}


def test_it_takes_a_filtered_one_whole() -> None:
    """What is decided of it, its labels and its annotations; no owner that is not there."""
    for body in bindings():
        answer = applied(filtered(body))

        assert body["spec"] == answer["spec"]
        for field in ("labels", "annotations", "name"):
            assert at(body, "metadata").get(field) == at(answer, "metadata").get(field)
        assert "ownerReferences" not in at(answer, "metadata")


@pytest.mark.parametrize("field", [*MADE_BY_SERVERS, "ownerReferences"])
def test_works_need_no_filter(field: str) -> None:
    """Nothing that a server makes is in them, nor in what they carry."""
    listed = list(works())

    assert listed
    for work in listed:
        manifests = at(work, "spec", "workload")["manifests"]
        assert isinstance(manifests, tuple)
        assert not any(field in at(one, "metadata") for one in (work, *manifests))
        assert "Work" == applied(work)["kind"]
