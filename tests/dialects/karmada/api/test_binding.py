"""Bindings as Go writes them: the applied placement, what is left out, and dependencies."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

import pytest

from reconciler.dialects.karmada.api.placement import (
    APPLIED_PLACEMENT,
    applied_placement,
    decode_placement,
    placement_changed,
    read_applied,
)
from reconciler.dialects.karmada.detector.binding_draft import dependencies_of
from reconciler.errors import UserError
from reconciler.model.identity import ObjectKey
from tests.builders import (
    Body,
    cluster,
    configmap,
    deployment,
    metadata,
    policy,
    selector,
    taint,
    text,
)
from tests.dialects.karmada.test_decide import ANYWHERE, on_a, tasks
from tests.stories import BINDINGS, Story, story

TWO_GROUPS = {
    "clusterAffinities": [
        {"affinityName": "g1", "clusterNames": ["a"]},
        {"affinityName": "g2", "clusterNames": ["b"]},
    ]
}
OTHER_EDITED = (
    '{"clusterAffinities":[{"affinityName":"g1","clusterNames":["a"]},{"affinityName":"g2"}]}'
)
EMPTY_NAMES: dict[str, object] = {"clusterAffinity": {"clusterNames": []}}


@pytest.mark.parametrize(
    ("body", "text"),
    [
        pytest.param({}, "{}", id="empty"),
        pytest.param({"clusterAffinity": {}}, '{"clusterAffinity":{}}', id="pointer-is-kept"),
        pytest.param(EMPTY_NAMES, '{"clusterAffinity":{}}', id="empty-list-is-left-out"),
        pytest.param(
            {"clusterTolerations": [{"tolerationSeconds": 0, "key": "k"}]},
            '{"clusterTolerations":[{"key":"k","tolerationSeconds":0}]}',
            id="zero-behind-a-pointer",
        ),
        pytest.param(
            {"clusterAffinity": {"labelSelector": {"matchLabels": {"b": "<", "a": "ö"}}}},
            '{"clusterAffinity":{"labelSelector":{"matchLabels":{"a":"ö","b":"\\u003c"}}}}',
            id="sorted-map-and-html-escapes",
        ),
        pytest.param(
            {"replicaScheduling": {"weightPreference": {"staticWeightList": [{"weight": 1}]}}},
            '{"replicaScheduling":{"weightPreference":{"staticWeightList":'
            '[{"targetCluster":{},"weight":1}]}}}',
            id="required-struct-is-written",
        ),
    ],
)
def test_text_is_that_of_go(body: dict[str, object], text: str) -> None:
    """Struct order, omitempty, and the escapes of encoding/json."""
    assert text == applied_placement(decode_placement(body))


@pytest.mark.parametrize(
    ("body", "applied", "observed", "changed"),
    [
        pytest.param({}, "", "", True, id="never-applied"),
        pytest.param({"clusterAffinity": {}}, "{nonsense", "", False, id="unreadable"),
        pytest.param({}, "null", "", False, id="null-is-an-empty-placement"),
        pytest.param({}, '{"clusterAffinity":null}', "", False, id="null-is-absent"),
        pytest.param({"clusterAffinity": {}}, "{}", "", True, id="empty-object-is-not-absent"),
        pytest.param(EMPTY_NAMES, '{"clusterAffinity":{}}', "", True, id="empty-list-for-ever"),
        pytest.param(TWO_GROUPS, OTHER_EDITED, "g1", False, id="other-group-edited"),
        pytest.param(TWO_GROUPS, OTHER_EDITED, "g2", True, id="observed-group-edited"),
        pytest.param(TWO_GROUPS, OTHER_EDITED, "", True, id="no-group-observed"),
        pytest.param(TWO_GROUPS, OTHER_EDITED, "gone", True, id="observed-group-gone"),
        pytest.param(TWO_GROUPS, '{"clusterTolerations":[]}', "g1", True, id="more-differs"),
    ],
)
def test_change(body: dict[str, object], applied: str, observed: str, changed: bool) -> None:  # noqa: FBT001 - a column of the table
    """Equality is that of Go's decoded structs, and only the observed group counts."""
    placement = decode_placement(body)

    assert changed == placement_changed(placement, applied, observed_affinity=observed)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("{", "unexpected end of JSON input", id="cut-off"),
        pytest.param('{"a', "unexpected end of JSON input", id="cut-off-in-a-key"),
        pytest.param("garbage", "invalid character 'g' looking for beginning of value", id="word"),
        pytest.param(
            "not json", "invalid character 'o' in literal null (expecting 'u')", id="like-null"
        ),
        pytest.param(
            "{x}", "invalid character 'x' looking for beginning of object key string", id="bare-key"
        ),
        pytest.param("{} {}", "invalid character '{' after top-level value", id="two-values"),
        pytest.param('{"a":1]', "invalid character ']' after object key:value pair", id="bracket"),
    ],
)
def test_text_that_is_not_json(text: str, message: str) -> None:
    """The words are those of Go."""
    with pytest.raises(UserError, match=re.escape(message)):
        read_applied(text)


@pytest.mark.parametrize("text", ["[]", "1", '{"clusterAffinity":[]}', '{"a":NaN}'])
def test_unreadable(text: str) -> None:
    """What Go would not decode is not decoded here."""
    with pytest.raises(UserError, match="must be"):
        read_applied(text)


WEB = f"{BINDINGS}/default/web-deployment.yaml"


def metadata_of(told: Story) -> dict[str, dict[str, str]]:
    """The metadata of the binding."""
    metadata = told.binding()["metadata"]
    assert isinstance(metadata, dict)
    return metadata


def with_applied(told: Story, applied: str) -> Body:
    """The binding with another text in the annotation of the applied placement."""
    metadata = metadata_of(told)
    notes = {**metadata["annotations"], APPLIED_PLACEMENT: applied}
    return {**told.binding(), "metadata": {**metadata, "annotations": notes}}


@pytest.mark.parametrize("applied", ["{", "[]", '{"clusterTolerations": 1}'])
def test_it_keeps_nothing_on_a_tainted_cluster(applied: str) -> None:
    """Upstream neither schedules nor evicts such a binding again; here it is written anew."""
    told = on_a().put(cluster("a", taints=[taint(effect="NoExecute")]))
    told.files[WEB] = text(with_applied(told, applied))
    told.run(100)

    assert ({"b": 2}, ["a"]) == (told.placed(), tasks(told))
    assert applied != metadata_of(told)["annotations"][APPLIED_PLACEMENT]


def test_what_another_scheduler_places_is_evicted_by_its_placement() -> None:
    """Nothing is mended there; the present placement counts."""
    told = on_a().drop(policy()).put(policy("q", placement=ANYWHERE, schedulerName="other"))
    told.put(cluster("a", taints=[taint(effect="NoExecute")]))
    told.files[WEB] = text(with_applied(told, "{"))
    told.run(100)

    assert ({}, ["a"]) == (told.placed(), tasks(told))


EMPTY_OPERATOR = {"clusterTolerations": [{"key": "a", "operator": ""}]}
NO_MAXIMUM = [
    {"spreadByField": "cluster", "maxGroups": 1},
    {"spreadByField": "region", "minGroups": 1, "maxGroups": 0},
]


@pytest.mark.parametrize(
    ("placement", "rest", "name"),
    [
        pytest.param({}, {"propagateDeps": False}, "propagateDeps", id="flag"),
        pytest.param({"spreadConstraints": NO_MAXIMUM}, {}, "maxGroups: 0", id="number"),
        pytest.param(EMPTY_OPERATOR, {}, "operator", id="text"),
        pytest.param({"clusterTolerations": []}, {}, "clusterTolerations", id="list"),
        pytest.param({}, {"schedulerName": ""}, 'schedulerName: ""', id="before-a-default"),
    ],
)
def test_what_is_empty_in_a_policy_is_not_in_its_bindings(
    placement: Body, rest: dict[str, Any], name: str
) -> None:
    """The policy is stored without it, and the binding copies what is stored."""
    told = story(cluster(), policy(placement=placement, **rest), deployment())
    told.run(0)

    assert name not in told.files[f"{BINDINGS}/default/web-deployment.yaml"]


def test_no_replicas_are_left_out() -> None:
    """Neither the binding nor its clusters say `replicas: 0`."""
    told = story(cluster(), policy(), deployment(replicas=0))
    told.run(0)

    assert {"a": 0} == told.placed()
    assert "replicas: 0" not in told.files[f"{BINDINGS}/default/web-deployment.yaml"]


WEB_KEY = ObjectKey("apps", "Deployment", "default", "web")
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
    found = dependencies_of(WEB_KEY, "apps/v1", pods(**spec))

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


@pytest.mark.parametrize("is_needed", [True, False])
def test_an_object_whose_policy_is_gone_stays_where_that_put_it(*, is_needed: bool) -> None:
    """Whether others need it or not: its binding has the placement that it was claimed by."""
    own = policy("own", selectors=[selector("ConfigMap")], placement=TWO)
    first = {"clusterAffinity": {"clusterNames": ["c"]}}
    told = story(cluster("a"), cluster("b"), cluster("c"), configmap(), own)
    told.put(reading() if is_needed else deployment(), policy(placement=first, propagateDeps=True))
    told.run()
    told.drop(own)
    told.run()
    spec = cast(Body, told.binding("settings-configmap")["spec"])

    assert {"a": 0, "b": 0} == told.placed("settings-configmap")
    assert TWO["clusterAffinity"] == cast(Body, spec["placement"])["clusterAffinity"]
    assert is_needed == bool(required_by(told))


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
