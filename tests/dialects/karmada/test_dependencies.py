"""`propagateDeps`: what pods refer to follows its workload."""

from collections.abc import Mapping, Sequence
from typing import cast

import pytest

from reconciler.dialects.karmada.detector.binding_draft import dependencies_of
from reconciler.model.identity import ObjectKey
from tests.builders import Body, cluster, configmap, deployment, metadata, policy, selector, taint
from tests.stories import Story, story

WEB = ObjectKey("apps", "Deployment", "default", "web")
TWO = {"clusterAffinity": {"clusterNames": ["a", "b"]}}


def pods(**spec: object) -> Body:
    """A Deployment with this pod spec."""
    body = deployment()
    return {**body, "spec": {"replicas": 2, "template": {"spec": spec}}}


def reading(name: str = "settings") -> Body:
    """A Deployment that reads a ConfigMap."""
    return pods(volumes=[{"name": "v", "configMap": {"name": name}}])


def required_by(told: Story, name: str = "settings-configmap") -> Sequence[Mapping[str, object]]:
    """Who requires an object."""
    spec = cast(Body, told.binding(name)["spec"])
    return cast(Sequence[Mapping[str, object]], spec.get("requiredBy", ()))


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param({"imagePullSecrets": [{"name": "pull"}]}, ["Secret pull"], id="pull-secret"),
        pytest.param({"serviceAccountName": "robot"}, ["ServiceAccount robot"], id="account"),
        pytest.param({"serviceAccountName": "default"}, [], id="default-account"),
        pytest.param(
            {"containers": [{"env": [{"valueFrom": {"secretKeyRef": {"name": "s"}}}]}]},
            ["Secret s"],
            id="variable",
        ),
        pytest.param(
            {"initContainers": [{"envFrom": [{"configMapRef": {"name": "c"}}]}]},
            ["ConfigMap c"],
            id="all-variables",
        ),
        pytest.param(
            {"volumes": [{"projected": {"sources": [{"secret": {"name": "s"}}]}}]},
            ["Secret s"],
            id="projected",
        ),
        pytest.param(
            {"volumes": [{"persistentVolumeClaim": {"claimName": "data"}}]},
            ["PersistentVolumeClaim data"],
            id="claim",
        ),
        pytest.param({"volumes": [{"secret": {"secretName": "s"}}]}, ["Secret s"], id="secret"),
        pytest.param({"volumes": ["odd", {"secret": 3}], "containers": 7}, [], id="not-a-pod"),
    ],
)
def test_what_a_pod_refers_to(spec: Mapping[str, object], expected: list[str]) -> None:
    """In its own namespace."""
    found = dependencies_of(WEB, "apps/v1", pods(**spec))

    assert [f"{name.split()[0]}.core default/{name.split()[1]}" for name in expected] == [
        str(key) for key in found
    ]


def test_a_stateful_set_makes_its_own_claims() -> None:
    """Those of its templates are no dependencies."""
    volumes = [{"persistentVolumeClaim": {"claimName": name}} for name in ("own", "other")]
    spec = {
        "template": {"spec": {"volumes": volumes}},
        "volumeClaimTemplates": [{"metadata": {"name": "own"}}],
    }
    key = ObjectKey("apps", "StatefulSet", "default", "db")
    body = {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": metadata("db"),
        "spec": spec,
    }

    assert ["other"] == [found.name for found in dependencies_of(key, "apps/v1", body)]


def test_what_is_needed_follows_its_workload() -> None:
    """The attached binding knows who requires it and where, in the same pass."""
    told = story(cluster("a"), cluster("b"), reading(), configmap(), configmap("other"))
    told.put(policy(placement=TWO, propagateDeps=True))
    told.run()
    snapshot = {"namespace": "default", "name": "web-deployment"}
    both = [{"name": "a", "replicas": 2}, {"name": "b", "replicas": 2}]

    assert [{**snapshot, "clusters": both}] == required_by(told)
    assert () == told.run().changes
    assert not [path for path in told.files if "other-configmap" in path]

    told.put(cluster("b", taints=[taint(effect="NoExecute")]))
    told.run()

    assert [{**snapshot, "clusters": both[:1]}] == required_by(told)


def test_what_is_scheduled_nowhere_needs_nothing_yet() -> None:
    """No binding is written for what it mentions; one that is there stays when its clusters go."""
    told = story(reading(), configmap(), policy(propagateDeps=True))
    told.run()

    assert not [path for path in told.files if "settings-configmap" in path]

    told.put(cluster("a")).run()

    assert 1 == len(required_by(told))

    told.put(cluster("a", taints=[taint(effect="NoExecute")])).run()

    assert [{"namespace": "default", "name": "web-deployment"}] == required_by(told)
    assert () == told.run().changes


def test_what_nobody_needs_any_more_goes() -> None:
    """With the reference, or with propagateDeps."""
    told = story(cluster("a"), reading(), configmap(), policy(propagateDeps=True))
    told.run()
    told.put(deployment())
    told.run()

    assert not [path for path in told.files if "settings-configmap" in path]


def test_an_object_with_a_policy_of_its_own_is_where_both_want_it() -> None:
    """Its clusters are its policy's, `requiredBy` comes on top and goes again."""
    own = policy("own", selectors=[selector("ConfigMap")], placement=TWO)
    first = {"clusterAffinity": {"clusterNames": ["c"]}}
    told = story(cluster("a"), cluster("b"), cluster("c"), reading(), configmap(), own)
    told.put(policy(placement=first, propagateDeps=True))
    told.run()

    assert {"a": 0, "b": 0} == told.placed("settings-configmap")
    assert 1 == len(required_by(told))

    told.put(deployment())
    told.run()

    assert {"a": 0, "b": 0} == told.placed("settings-configmap")
    assert () == required_by(told)


def test_an_object_that_two_need_is_attached_once() -> None:
    """Sorted by who requires it; an object that is not there is waited for."""
    second = {**reading(), "metadata": metadata("api", "default")}
    told = story(cluster("a"), reading(), second, policy(propagateDeps=True))
    told.run()

    assert not [path for path in told.files if "settings-configmap" in path]

    told.put(configmap())
    told.run()

    assert ["api-deployment", "web-deployment"] == [item["name"] for item in required_by(told)]


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        pytest.param({}, {}, ("Abort", None), id="defaults"),
        pytest.param(
            {"conflictResolution": "Overwrite", "preserveResourcesOnDeletion": True},
            {},
            ("Overwrite", True),
            id="first",
        ),
        pytest.param(
            {"preserveResourcesOnDeletion": False},
            {"conflictResolution": "Overwrite", "preserveResourcesOnDeletion": True},
            ("Overwrite", True),
            id="second",
        ),
        pytest.param({"preserveResourcesOnDeletion": False}, {}, ("Abort", False), id="neither"),
    ],
)
def test_a_dependent_takes_the_policy_of_what_needs_it(
    one: Body, other: Body, expected: tuple[str, bool | None]
) -> None:
    """Overwrite, and copies that outlive it, win where several that need it differ."""
    told = story(cluster("a"), configmap())
    for name, more in (("w1", one), ("w2", other)):
        body = reading()
        named = {**body, "metadata": metadata(name, "default")}
        means = [selector(name=name)]
        told.put(policy(name, selectors=means, propagateDeps=True, **more), named)  # type: ignore[arg-type]
    told.run(0)
    spec = cast(Body, told.binding("settings-configmap")["spec"])

    assert expected == (spec["conflictResolution"], spec.get("preserveResourcesOnDeletion"))
