"""A cluster that gets an object needs the definition of its kind, and its Namespace, too."""

from datetime import timedelta

import pytest

from tests.builders import Body, cluster, cluster_policy, configmap, configuration, metadata
from tests.dialects.kubefleet.fleet import member, namespaced_placement
from tests.dialects.ocm.sets import replica_set, settings_map
from tests.dialects.ocm.worlds import binding, cluster_set
from tests.dialects.ocm.worlds import cluster as managed
from tests.dialects.ocm.worlds import placement as ocm_placement
from tests.stories import Story, story

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


SHOP: Body = {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata("shop")}
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
