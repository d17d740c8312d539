"""What KubeFleet's placements put into the folders of clusters, pass by pass."""

import json
from collections.abc import Mapping
from typing import cast

import pytest

from reconciler.core.changes import Outcome
from reconciler.delivery.memory import NOT_RENDERED
from tests.builders import Body, configmap, configuration, deployment, metadata, text
from tests.delivery.test_transports import FOLDERS, below
from tests.dialects.kubefleet.fleet import (
    EAST,
    GROUP,
    fixed,
    member,
    namespaced_placement,
    placement,
    stage,
    staged,
    states,
)
from tests.dialects.kubefleet.fleet import run as staged_run
from tests.stories import Story, story

WEB = "default/deployments.apps/web.yaml"
ONE_BY_ONE: Body = {"rollingUpdate": {"maxUnavailable": 1, "maxSurge": 0}}
AT_ONCE: Body = {"rollingUpdate": {"maxUnavailable": "100%"}}
WORKS: Body = {"works": {"hubsWithoutControllers": True}}
NEW = {"tier": "new"}


def fleet(*bodies: Body, delivery: Body = FOLDERS) -> Story:
    """Two clusters and what a pass makes of some objects."""
    told = story(member("a"), member("b", labels=EAST), configuration(delivery=delivery))
    told.put(*bodies)
    told.run(0)
    return told


def override(*patches: Body, labels: Mapping[str, str] = EAST, **rule: object) -> Body:
    """A ResourceOverride of the Deployment web, for clusters of some labels."""
    term = {"labelSelector": {"matchLabels": labels}}
    rules = {"clusterSelector": {"clusterSelectorTerms": [term]}, **rule}
    if patches:
        rules["jsonPatchOverrides"] = list(patches)
    selector = {"group": "apps", "version": "v1", "kind": "Deployment", "name": "web"}
    return {
        "apiVersion": f"{GROUP}/v1beta1",
        "kind": "ResourceOverride",
        "metadata": metadata("o", namespace="default"),
        "spec": {"resourceSelectors": [selector], "policy": {"overrideRules": [rules]}},
    }


def replicas(number: int) -> Body:
    """A patch of the replicas."""
    return {"op": "replace", "path": "/spec/replicas", "value": number}


def written(outcome: Outcome) -> list[str]:
    """The files of delivery that a pass changed."""
    return [one.path for one in outcome.delivered]


def holding(told: Story, cluster: str, text: str) -> bool:
    """Whether the Deployment of a cluster has some text."""
    return text in told.files[f"delivery/{cluster}/{WEB}"]


def test_each_cluster_of_a_placement_has_what_it_selects() -> None:
    """And a kustomization.yaml that names it."""
    told = fleet(placement(fixed("b")), deployment())

    assert ["a/kustomization.yaml", f"b/{WEB}", "b/kustomization.yaml"] == below(told)


def test_a_placement_of_a_namespace_is_delivered_like_any_other() -> None:
    """With all that it selects there."""
    told = fleet(namespaced_placement(fixed("a")), deployment(), configmap("c"))

    assert [f"a/{one}" for one in ("default/configmaps/c.yaml", WEB, "kustomization.yaml")] == (
        below(told)[:3]
    )


def test_a_cluster_keeps_the_old_content_until_the_rollout_reaches_it() -> None:
    """One after the other; a transport that is new finds the old content, too."""
    told = fleet(placement(fixed("a", "b"), strategy=ONE_BY_ONE), deployment())
    told.run(100)
    told.put(deployment(labels=NEW)).run()
    first = [holding(told, name, "tier: new") for name in "ab"]
    told.put(configuration(delivery={"folders": {}, **WORKS})).run()
    works = [told.files[path] for path in sorted(told.files) if path.startswith("works/")]
    told.run(300)
    told.run(500)

    assert [True, False] == first
    assert [True, False] == ["tier: new" in text for text in works]
    assert [True, True] == [holding(told, name, "tier: new") for name in "ab"]


def test_what_is_gone_from_the_repository_stays_where_it_is_held() -> None:
    """Until the rollout reaches that cluster."""
    told = fleet(
        placement(fixed("a", "b"), strategy=ONE_BY_ONE), deployment(), configmap("settings")
    )
    told.run(100)
    told.drop(configmap("settings")).run()
    held = [path for path in below(told) if path.endswith("settings.yaml")]
    told.run(300)
    told.run(500)

    assert ["b/default/configmaps/settings.yaml"] == held
    assert [] == [path for path in below(told) if path.endswith("settings.yaml")]


def test_a_cluster_that_is_left_keeps_its_files_until_it_is_purged() -> None:
    """The binding is Unscheduled meanwhile."""
    strategy: Body = {"rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1}}
    told = fleet(placement(fixed("a"), strategy=strategy), deployment())
    told.run(100)
    told.put(placement(fixed("b"), strategy=strategy)).run()
    during = (states(told), [f"{name}/{WEB}" in below(told) for name in "ab"])
    told.run(300)

    assert ({"a": "Unscheduled", "b": "Bound"}, [True, True]) == during
    assert [False, True] == [f"{name}/{WEB}" in below(told) for name in "ab"]


def test_what_a_purge_takes_away_is_never_held() -> None:
    """However much it is: the placement decided it."""
    strategy: Body = {"rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1}}
    contents = [configmap(f"c{number}") for number in range(20)]
    told = fleet(placement(fixed("a"), strategy=strategy), *contents)
    told.run(100)
    told.put(placement(fixed("b"), strategy=strategy)).run()
    told.run(300)

    assert ["a/kustomization.yaml"] == [path for path in below(told) if path.startswith("a/")]


def test_an_override_changes_the_files_of_its_clusters_only() -> None:
    """At once, and back when it goes."""
    told = fleet(placement(), deployment(replicas=2))
    came = written(told.put(override(replicas(7))).run())
    there = told.files[f"delivery/b/{WEB}"]
    told.drop(override()).run()

    assert [f"delivery/b/{WEB}"] == came
    assert "  replicas: 7\n" in there
    assert "  replicas: 2\n" in told.files[f"delivery/b/{WEB}"]


def test_an_override_that_deletes_keeps_an_object_from_its_clusters() -> None:
    """The others have it."""
    told = fleet(placement(), deployment(), override(overrideType="Delete"))

    assert [f"a/{WEB}"] == [path for path in below(told) if path.endswith(WEB)]


def test_an_override_knows_the_labels_of_its_cluster() -> None:
    """A change of them is a change of the files."""
    patch = {"op": "add", "path": "/metadata/labels", "value": {"at": "${MEMBER-CLUSTER-NAME}"}}
    zone = {**patch, "path": "/metadata/labels/zone", "value": "${MEMBER-CLUSTER-LABEL-KEY-zone}"}
    told = story(member("b", labels={**EAST, "zone": "north"}), configuration(delivery=FOLDERS))
    told.put(placement(), deployment(), override(patch, zone)).run(0)
    before = told.files[f"delivery/b/{WEB}"]
    told.put(member("b", labels={**EAST, "zone": "south"})).run()

    assert "    at: b\n    zone: north\n" in before
    assert "    at: b\n    zone: south\n" in told.files[f"delivery/b/{WEB}"]


def test_a_broken_override_keeps_what_is_there_and_is_a_fault() -> None:
    """What it does not concern goes on to change, as far as the rollout may."""
    told = fleet(placement(strategy=AT_ONCE), deployment(replicas=2))
    told.run(100)
    told.put(override({"op": "remove", "path": "/spec/nowhere"})).run()
    outcome = told.put(deployment(replicas=3)).run(400)
    (fault,) = outcome.faults

    assert ["  replicas: 3\n", "  replicas: 2\n"] == [
        next(
            line
            for line in told.files[f"delivery/{name}/{WEB}"].splitlines(keepends=True)
            if "replicas" in line
        )
        for name in "ab"
    ]
    assert NOT_RENDERED == fault.rule
    assert 'ResourceOverrideSnapshot "o-0" failed to apply on Deployment "web"' in fault.message


def test_what_cannot_be_found_again_stays_as_it_is() -> None:
    """As in a clone without history."""
    told = fleet(placement(fixed("a", "b"), strategy=ONE_BY_ONE), deployment())
    told.run(100)
    told.trees.clear()
    outcome = told.put(deployment(labels=NEW)).run()

    assert [True, False] == [holding(told, name, "tier: new") for name in "ab"]
    assert ["is not in this repository"] == [one.message[-25:] for one in outcome.faults]


def envelope(kind: str, name: str, namespace: str = "", **data: Body) -> Body:
    """An envelope with objects in it."""
    return {
        "apiVersion": f"{GROUP}/v1beta1",
        "kind": kind,
        "metadata": metadata(name, namespace=namespace),
        "data": data,
    }


def test_an_envelope_is_unpacked() -> None:
    """What is in it goes to clusters, and itself it does not."""
    inner = envelope("ResourceEnvelope", "e", "default", one=configmap("inner"))
    told = fleet(placement(fixed("a")), inner)

    assert ["a/default/configmaps/inner.yaml", "a/kustomization.yaml"] == below(told)[:2]


def test_a_wrong_envelope_is_a_fault() -> None:
    """It holds what has no namespace."""
    inner = envelope("ResourceEnvelope", "e", "default", one=member("c"))
    told = fleet(placement(fixed("a")), inner)
    (fault,) = told.run().faults

    assert "a cluster scope object one (c) has been wrapped" in fault.message


def test_works_are_those_of_upstream() -> None:
    """In the namespace of the cluster, one for the snapshot and one for each envelope."""
    inner = envelope("ResourceEnvelope", "e", "default", one=configmap("inner"))
    told = fleet(placement(fixed("a")), deployment(), inner, delivery=WORKS)
    folder = f"a/clusterresourceplacements.{GROUP}/web"

    assert [
        f"{folder}/web-work-envelope-640fdd39ba6c614c.yaml",
        f"{folder}/web-work.yaml",
    ] == below(told, "works")
    assert "  namespace: fleet-member-a\n" in told.files[f"works/{folder}/web-work.yaml"]


def test_manifestworks_carry_it_as_well() -> None:
    """For the agents of Open Cluster Management."""
    told = fleet(placement(fixed("a")), deployment(), delivery={"manifestworks": {}})
    (path,) = below(told, "manifestworks")
    text = told.files[f"manifestworks/{path}"]

    assert "  namespace: a\n" in text
    assert "      kind: Deployment\n" in text


def test_a_decision_lists_the_clusters_that_have_something() -> None:
    """Those that are being left included."""
    told = fleet(placement(fixed("a", "b")), deployment(), delivery={"decisions": {}})
    path = f"decisions/clusterresourceplacements.{GROUP}/web.json"

    assert ['    "cluster": "a",', '    "cluster": "b",'] == [
        line for line in told.files[path].splitlines() if '"cluster"' in line
    ]


def test_a_list_of_an_api_without_replicas_says_nothing_of_them() -> None:
    """Not that there are none."""
    told = fleet(placement(fixed("a")), deployment(), delivery={"decisions": {}})
    listed = json.loads(told.files[f"decisions/clusterresourceplacements.{GROUP}/web.json"])

    assert [["cluster", "decision"]] == [sorted(one) for one in listed]


SHOP: Body = {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata("shop")}
SHOP_FILE = "_cluster/namespaces/shop.yaml"
WEB_IN_SHOP = deployment(namespace="shop")


def test_a_namespace_goes_along_with_what_is_placed_in_it() -> None:
    """To those clusters only, and no more once nothing of it is there."""
    own = namespaced_placement(fixed("b"), namespace="shop")
    told = fleet(own, WEB_IN_SHOP, SHOP)
    there = [path for path in below(told) if path.endswith(SHOP_FILE)]
    told.drop(own).run()

    assert [f"b/{SHOP_FILE}"] == there
    assert [] == [path for path in below(told) if path.endswith(SHOP_FILE)]


def test_a_namespace_that_another_placement_brings_does_not_go_along() -> None:
    """There is one Work that has it on a cluster."""
    selector = {"group": "", "version": "v1", "kind": "Namespace", "name": "shop"}
    only = {**selector, "selectionScope": "NamespaceOnly"}
    bringing = placement(fixed("a"), name="namespaces")
    spec = {**cast(Body, bringing["spec"]), "resourceSelectors": [only]}
    own = namespaced_placement(fixed("a", "b"), namespace="shop")
    told = fleet({**bringing, "spec": spec}, own, WEB_IN_SHOP, SHOP, delivery=WORKS)

    assert ["b/namespaces/shop/namespace.shop.yaml"] == [
        path for path in below(told, "works") if "namespaces/shop" in path
    ]


@pytest.mark.parametrize(
    ("strategy", "expected"),
    [
        pytest.param({}, True, id="applied"),
        pytest.param({"applyStrategy": {"type": "ReportDiff"}}, False, id="reported"),
        pytest.param({"applyStrategy": {"whenToTakeOver": "Never"}}, False, id="not-taken-over"),
    ],
)
def test_a_namespace_goes_along_only_where_something_may_be_applied(
    strategy: Body,
    expected: bool,  # noqa: FBT001  # a column of a table
) -> None:
    """One that was there before would be taken over, and pruned with the placement."""
    own = namespaced_placement(fixed("b"), namespace="shop", strategy={**AT_ONCE, **strategy})
    told = fleet(own, WEB_IN_SHOP, SHOP)

    assert expected == (f"b/{SHOP_FILE}" in below(told))


def test_a_namespace_outlives_the_placement_whose_objects_do() -> None:
    """With it would go all that is in it."""
    abandoned = {**AT_ONCE, "deleteStrategy": {"propagationPolicy": "Abandon"}}
    own = namespaced_placement(fixed("b"), namespace="shop", strategy=abandoned)
    told = fleet(own, WEB_IN_SHOP, SHOP)
    told.drop(own).run()

    assert "prune: disabled" in told.files[f"delivery/b/{SHOP_FILE}"]


def test_a_namespace_that_is_missing_is_a_warning() -> None:
    """Until it is written; of `default` there is none."""
    own = namespaced_placement(fixed("b"), namespace="shop")
    told = fleet(own, namespaced_placement(fixed("b")), deployment(), WEB_IN_SHOP)
    missing = told.run().warnings

    assert ["objects in the Namespace shop go to b, where nothing brings it"] == [
        one.partition(", so that")[0] for one in missing
    ]
    assert () == told.put(SHOP).run().warnings


def test_what_a_cluster_gets_follows_a_staged_run() -> None:
    """Nothing before the run reaches its stage, and of a new version nothing without a run."""
    told = staged(stage("canary"), stage("prod"), a="canary", b="prod")
    told.put(configuration(delivery=FOLDERS)).run(0)
    assert [] == having_web(told)

    told.put(staged_run()).run(10)
    assert ["a"] == having_web(told)
    told.run(70)
    assert ["a", "b"] == having_web(told)

    assert [] == written(told.put(deployment(labels=NEW)).run(200))
    told.put(staged_run(name="second")).run(210)
    assert ["a"] == having_web(told, "tier: new")


def having_web(told: Story, text: str = "") -> list[str]:
    """The clusters whose folders have web, with some text in it."""
    files = {name: told.files.get(f"delivery/{name}/{WEB}") for name in "ab"}
    return [name for name, data in files.items() if data is not None and text in data]


def delivered_to(told: Story, cluster: str) -> dict[str, str]:
    """The files of a cluster."""
    return {path: told.files[path] for path in told.files if path.startswith(f"delivery/{cluster}")}


def limited(limit: int, *names: str) -> Body:
    """A placement that keeps so many snapshots, and goes to one cluster after the other."""
    body = placement(fixed(*names), strategy=ONE_BY_ONE)
    spec = body["spec"]
    assert isinstance(spec, dict)
    return {**body, "spec": {**spec, "revisionHistoryLimit": limit}}


def dropped(limit: int, *, objects: int = 20) -> tuple[Story, dict[str, str]]:
    """A rollout that stops behind a, edited until no snapshot is left that b is on.

    Many objects leave the selection meanwhile. What b had at first comes along.
    """
    lost = [configmap(f"c{number}") for number in range(objects)]
    told = fleet(limited(limit, "a", "b"), deployment(), *lost)
    told.run(100)
    first = delivered_to(told, "b")
    told.put(configuration(delivery=FOLDERS, feedback={"assumeAfterSeconds": None}))
    told.drop(*lost).run(101)
    for number in range(limit):
        told.put(deployment(labels={"tier": str(number)})).run(110 + number)
    return told, first


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_what_a_dropped_snapshot_delivered_stays(limit: int) -> None:
    """Byte for byte, whatever is edited meanwhile."""
    told, first = dropped(limit, objects=3)
    lost = sum("web-0-snapshot" in path for path in told.outputs)
    told.put(member("c")).run(200)

    assert (0, first) == (lost, delivered_to(told, "b"))


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_it_goes_with_the_binding_that_moves_on(limit: int) -> None:
    """However much it is: the rollout decided it."""
    told, _ = dropped(limit)
    told.put(configuration(delivery=FOLDERS, feedback={"assumeAfterSeconds": 0})).run(300)
    told.run(1000)

    assert [f"b/{WEB}", "b/kustomization.yaml"] == [
        path for path in below(told) if path.startswith("b/")
    ]
    assert holding(told, "b", f'tier: "{limit - 1}"')


def test_it_goes_with_the_placement() -> None:
    """Or with the cluster that the placement leaves."""
    told, first = dropped(1)
    other, _ = dropped(1)
    told.drop(limited(1)).run(300)
    other.put(configuration(delivery=FOLDERS, feedback={"assumeAfterSeconds": 0}))
    other.put(limited(1, "a")).run(300)
    other.run(400)

    assert len(first) > 20
    for one in (told, other):
        assert ["b/kustomization.yaml"] == [path for path in below(one) if path.startswith("b/")]


def test_what_others_take_away_goes_beside_it() -> None:
    """Another placement leaves the cluster, and one of its objects leaves that placement."""
    told, first = dropped(1)
    one, two = configmap("one", namespace="shop"), configmap("two", namespace="shop")
    other = namespaced_placement(fixed("b"), namespace="shop", strategy=AT_ONCE)
    told.files["feedback/b/two.yaml"] = text({**two, "status": {"seen": True}})
    told.put(other, one, two).run(300)
    told.drop(one).run(400)
    after = sorted(set(delivered_to(told, "b")) - set(first))
    told.drop(other, two).run(500)
    told.run(600)

    assert ["delivery/b/shop/configmaps/two.yaml"] == after
    assert first.keys() == delivered_to(told, "b").keys()
