"""What a placement's status lists of what it selects."""

from tests.builders import configmap, deployment, metadata
from tests.dialects.kubefleet.fleet import (
    member,
    namespaced_placement,
    pick,
    placement,
    status_of,
)
from tests.older_outputs import older_outputs
from tests.stories import story

AT_ONCE = {"rollingUpdate": {"maxUnavailable": "100%", "maxSurge": "100%"}}
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


def test_a_file_without_a_list_stays_until_something_else_of_it_differs() -> None:
    """Older releases listed nothing, so an upgrade does not rewrite every placement."""
    told = story(*map(member, "abc"), placement(pick(2), strategy=AT_ONCE), deployment())
    told.run(0)
    told.files |= older_outputs("kubefleet")

    assert "selectedResources" not in status_of(told)
    assert () == told.run(100).changes
    told.put(configmap("cfg")).run(100)
    assert LISTED[1:] == status_of(told)["selectedResources"]
