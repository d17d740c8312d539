"""What a placement's status lists of what it selects."""

from dataclasses import replace

from reconciler.core.reconcile import reconcile
from reconciler.model.world import RULES, WRITES_ASSUMED
from tests.builders import configmap, deployment, metadata
from tests.dialects.kubefleet.fleet import member, namespaced_placement, placement, status_of
from tests.stories import story

NAMESPACE = {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata("default")}
LISTED = [
    {"version": "v1", "kind": "Namespace", "name": "default"},
    {"version": "v1", "kind": "ConfigMap", "name": "cfg", "namespace": "default"},
    {
        "group": "apps",
        "version": "v1",
        "kind": "Deployment",
        "name": "web",
        "namespace": "default",
    },
]


def test_a_placement_lists_what_it_selects() -> None:
    """In the order of application, as a recorded hub lists a Namespace with what is in it."""
    told = story(member("a"), placement(), NAMESPACE, deployment(), configmap("cfg"))
    told.run(0)

    assert LISTED == status_of(told)["selectedResources"]


def test_a_list_follows_what_is_selected() -> None:
    """What goes is not listed any more; without anything there is no list."""
    told = story(member("a"), placement(), NAMESPACE, deployment(), configmap("cfg"))
    told.run(0)
    told.drop(configmap("cfg")).run(100)

    assert [LISTED[0], LISTED[2]] == status_of(told)["selectedResources"]
    told.drop(NAMESPACE).drop(deployment()).run(100)
    assert "selectedResources" not in status_of(told)


def test_a_placement_of_a_namespace_lists_it_too() -> None:
    """With the namespace of each."""
    told = story(member("a"), namespaced_placement(), configmap("cfg"), deployment())
    told.run(0)
    path = next(path for path in told.outputs if "/resourceplacements." in path)
    status = told.output(path)["status"]

    assert isinstance(status, dict)
    assert LISTED[1:] == status["selectedResources"]


def test_older_rules_listed_nothing() -> None:
    """So what they wrote is proven."""
    told = story(member("a"), placement(), deployment())
    world = replace(told.world(), rules=WRITES_ASSUMED)
    written = [str(change) for change in reconcile(world, told.now).changes]

    assert not [text for text in written if "placements" in text and "version: v1" in text]


def test_a_file_of_older_rules_stays_until_something_else_of_it_differs() -> None:
    """So a new release does not rewrite every placement."""
    told = story(member("a"), placement(), deployment())
    told.rules = WRITES_ASSUMED
    told.run(0)
    told.run(100)
    told.rules = RULES

    assert () == told.run(100).changes
    told.put(configmap("cfg")).run(100)
    assert LISTED[1:] == status_of(told)["selectedResources"]
