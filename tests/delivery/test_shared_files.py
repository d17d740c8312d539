"""One object that two APIs bring to a cluster: delivered once, with the marks of both."""

from datetime import timedelta

import pytest

from reconciler.audit.fleet.copies import CopiesOf
from reconciler.model.identity import ObjectKey
from tests.builders import Body, cluster, configmap, configuration, deployment, metadata, policy
from tests.dialects.kubefleet.fleet import GROUP, PLACEMENT, member, placement
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
