"""Overrides: which are in force, and what of them no vector shows."""

import re
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import cast

import pytest

from reconciler.audit.previews.preview import preview
from reconciler.core.reconcile import reconcile
from reconciler.dialects.kubefleet.api.names import UnexpectedBehavior
from reconciler.dialects.kubefleet.snapshots.overrides import (
    MemberLabels,
    Override,
    OverrideTarget,
    apply_overrides,
    decode_override,
    overrides_of_cluster,
    overrides_of_placement,
    target_of,
    with_variables,
)
from reconciler.dialects.kubefleet.view.files import assumed_bindings, assumed_placements
from reconciler.dialects.kubefleet.view.tree import copies_in, waiting_in
from reconciler.errors import UserError
from reconciler.manifests.text.reader import read
from reconciler.model.fields import bodies, mapping
from reconciler.model.identity import ClusterName, ObjectKey
from tests.builders import Body, configmap, configuration, deployment, metadata, path_of
from tests.delivery.test_transports import FOLDERS
from tests.dialects.kubefleet.fleet import (
    EAST,
    GROUP,
    bindings,
    condition,
    conditions,
    fixed,
    member,
    placed,
    placement,
    run,
    stage,
    staged,
    status_of,
)
from tests.stories import Story, story

EVERYWHERE: Body = {"clusterSelectorTerms": []}
EASTERN: Body = {"clusterSelectorTerms": [{"labelSelector": {"matchLabels": EAST}}]}
WHERE: Body = {"op": "add", "path": "/metadata/labels/where", "value": "${MEMBER-CLUSTER-NAME}"}
SCALE: Body = {"op": "replace", "path": "/spec/replicas", "value": 7}
FAILURE = (
    "Failed to apply the override rules on the resources: "
    'ClusterResourceOverrideSnapshot "ns-label-0" failed to apply on ConfigMap "cfg" '
    'in namespace "default": '
)
ALL = fixed("a", "b", "c")


def fleet_override(*patches: Body, selector: Body = EASTERN) -> Body:
    """A ClusterResourceOverride of the Namespace, and so of what is in it."""
    namespace = {"group": "", "version": "v1", "kind": "Namespace", "name": "default"}
    rule = {"clusterSelector": selector, "jsonPatchOverrides": list(patches)}
    return {
        "apiVersion": f"{GROUP}/v1beta1",
        "kind": "ClusterResourceOverride",
        "metadata": metadata("ns-label"),
        "spec": {"clusterResourceSelectors": [namespace], "policy": {"overrideRules": [rule]}},
    }


def override(*patches: Body, selector: Body = EVERYWHERE) -> Body:
    """A ResourceOverride of the Deployment web."""
    web = {"group": "apps", "version": "v1", "kind": "Deployment", "name": "web"}
    rule = {"clusterSelector": selector, "jsonPatchOverrides": list(patches)}
    return {
        "apiVersion": f"{GROUP}/v1beta1",
        "kind": "ResourceOverride",
        "metadata": metadata("web", namespace="default"),
        "spec": {"resourceSelectors": [web], "policy": {"overrideRules": [rule]}},
    }


def hub(*bodies: Body) -> Story:
    """Three clusters, of which `c` is in the east, a placement on all, and what a pass makes."""
    told = story(member("a"), member("b"), member("c", labels=EAST))
    told.put(placement(ALL), deployment(), configmap("cfg"), *bodies)
    told.run(0)
    return told


def said(told: Story) -> dict[str, list[tuple[object, object]]]:
    """Cluster to stages and reasons of its binding."""
    found = {}
    for body in bindings(told):
        spec = cast(Mapping[str, str], body["spec"])
        status = cast(Mapping[str, Sequence[Mapping[str, object]]], body["status"])
        listed = [(one["type"], one["reason"]) for one in status["conditions"]]
        found[spec["targetCluster"]] = listed
    return found


def entries(told: Story) -> dict[str, Mapping[str, object]]:
    """Cluster to its entry in the status of the placement."""
    listed = cast(Sequence[Mapping[str, object]], status_of(told)["placementStatuses"])
    return {str(one["clusterName"]): one for one in listed}


def stages(reason: str) -> list[tuple[str, str]]:
    """What a binding says whose overrides fit."""
    return [
        ("RolloutStarted", "RolloutStarted"),
        ("Overridden", reason),
        ("WorkSynchronized", "AllWorkSynced"),
    ]


def test_an_override_that_does_not_fit_is_told_by_its_binding() -> None:
    """And ends what is known of that cluster; the others have their overrides."""
    failed = [("RolloutStarted", "RolloutStarted"), ("Overridden", "OverriddenFailed")]
    fine = stages("OverriddenSucceeded")

    assert {"a": fine, "b": fine, "c": failed} == said(hub(fleet_override(WHERE), override(SCALE)))


def test_nothing_is_assumed_of_what_was_never_delivered() -> None:
    """However long the cluster is silent; those that got everything count as available."""
    told = hub(fleet_override(WHERE))
    told.run(3600)
    conditions = cast(Sequence[Mapping[str, str]], entries(told)["c"]["conditions"])

    assert ["Overridden", "OverriddenFailed"] == [said(told)["c"][-1][0], said(told)["c"][-1][1]]
    assert ("Overridden", "False") == (conditions[-1]["type"], conditions[-1]["status"])
    assert conditions[-1]["message"].startswith(FAILURE)


def test_a_placement_says_on_how_many_clusters_overrides_fail() -> None:
    """And nothing of later stages."""
    told = hub(fleet_override(WHERE))
    told.run(3600)
    found = condition(told, "Overridden")
    conditions = cast(Sequence[Mapping[str, str]], status_of(told)["conditions"])

    assert ("False", "OverriddenFailed", "Failed to override resources in 1 cluster(s)") == (
        found["status"],
        found["reason"],
        found["message"],
    )
    assert found == conditions[-1]


def test_a_placement_says_that_its_overrides_fit() -> None:
    """Of all its clusters, though the override is for one of them only."""
    found = condition(hub(override(SCALE, selector=EASTERN)), "Overridden")
    text = "The selected resources are successfully overridden in 3 cluster(s)"

    assert ("True", "OverriddenSucceeded", text) == (
        found["status"],
        found["reason"],
        found["message"],
    )


def test_without_overrides_none_is_specified() -> None:
    """Neither by bindings nor by the placement; nor where an override is for no cluster of it."""
    other = {"clusterSelectorTerms": [{"labelSelector": {"matchLabels": {"zone": "none"}}}]}
    for told in (hub(), hub(override(SCALE, selector=other))):
        assert {"NoOverrideSpecified"} == {found[1][1] for found in said(told).values()}
        assert "NoOverrideSpecified" == condition(told, "Overridden")["reason"]


def test_bindings_list_the_overrides_in_force() -> None:
    """Of the fleet by name, of a namespace with it."""
    told = hub(fleet_override(WHERE), override(SCALE))
    own = {"resourceOverrideSnapshots": [{"name": "web-0", "namespace": "default"}]}
    both = {"clusterResourceOverrideSnapshots": ["ns-label-0"], **own}
    found = {}
    for body in bindings(told):
        spec = cast(Mapping[str, object], body["spec"])
        lists = {name: spec[name] for name in both if name in spec}
        found[str(spec["targetCluster"])] = lists

    assert {"a": own, "b": own, "c": both} == found


def test_a_placement_lists_the_overrides_of_each_cluster() -> None:
    """Under the names that they have there."""
    told = hub(fleet_override(WHERE), override(SCALE))
    found = entries(told)

    assert "applicableClusterResourceOverrides" not in found["a"]
    assert ["ns-label-0"] == found["c"]["applicableClusterResourceOverrides"]
    assert [{"name": "web-0", "namespace": "default"}] == found["c"]["applicableResourceOverrides"]


def test_an_override_that_is_mended_is_told() -> None:
    """By the same pass that delivers it."""
    told = hub(fleet_override(WHERE), configuration(delivery=FOLDERS))
    told.put(fleet_override({"op": "add", "path": "/metadata/labels", "value": {}})).run(10)

    assert stages("OverriddenSucceeded") == said(told)["c"][:3]


def test_an_override_that_goes_is_told() -> None:
    """Its lists go with it."""
    told = hub(fleet_override(WHERE))
    told.drop(fleet_override(WHERE)).run(10)
    specs = [cast(Mapping[str, object], body["spec"]) for body in bindings(told)]

    assert stages("NoOverrideSpecified") == said(told)["c"][:3]
    assert not [spec for spec in specs if "clusterResourceOverrideSnapshots" in spec]
    assert "applicableClusterResourceOverrides" not in entries(told)["c"]


def test_labels_of_a_cluster_decide_whether_an_override_fits() -> None:
    """A cluster that leaves the east has its resources as they are."""
    told = hub(fleet_override(WHERE))
    told.put(member("c")).run(10)

    assert stages("NoOverrideSpecified") == said(told)["c"][:3]


def test_content_decides_whether_an_override_fits() -> None:
    """Of the resource snapshot that the cluster is on."""
    told = hub(fleet_override(WHERE))
    labels = {"app": "web"}
    settings = {**configmap("cfg"), "metadata": metadata("cfg", namespace="default", labels=labels)}
    told.put(settings, deployment(labels=labels)).run(10)

    assert stages("OverriddenSucceeded") == said(told)["c"][:3]


def test_a_cluster_whose_override_fails_counts_as_unavailable() -> None:
    """So a rollout that may lack one of three clusters brings nothing new to the others."""
    told = hub(fleet_override(WHERE))
    told.run(100)
    told.put({**configmap("cfg"), "data": {"a": "2"}}).run(100)
    told.run(100)
    found = {
        str(cast(Mapping[str, str], body["spec"])["targetCluster"]): cast(
            Mapping[str, str], body["spec"]
        )["resourceSnapshotName"]
        for body in bindings(told)
    }

    assert {"a": "web-0-snapshot", "b": "web-0-snapshot", "c": "web-1-snapshot"} == found


def test_what_readers_are_told_assumes_nothing_of_a_failed_cluster() -> None:
    """Though it is silent; the others are available, and the placement keeps what it says."""
    told = hub(fleet_override(WHERE), override(SCALE))
    told.now += timedelta(hours=1)
    world = told.world()
    show = assumed_bindings(world, told.now)
    shown = {
        str(mapping(one.body, "spec")["targetCluster"]): bodies(
            mapping(show(one), "status"), "conditions"
        )[-1]["type"]
        for one in world.outputs_of_kind((GROUP, "ClusterResourceBinding"))
    }
    (web,) = world.outputs_of_kind((GROUP, "ClusterResourcePlacement"))
    overall = bodies(mapping(assumed_placements(world, told.now)(web), "status"), "conditions")

    assert {"a": "Available", "b": "Available", "c": "Overridden"} == shown
    assert "OverriddenFailed" == overall[-1]["reason"]


def test_what_readers_are_told_keeps_that_overrides_fit() -> None:
    """Where all else is assumed."""
    told = hub(override(SCALE))
    told.now += timedelta(hours=1)
    world = told.world()
    (web,) = world.outputs_of_kind((GROUP, "ClusterResourcePlacement"))
    overall = bodies(mapping(assumed_placements(world, told.now)(web), "status"), "conditions")

    assert ["OverriddenSucceeded"] == [
        one["reason"] for one in overall if str(one["type"]).endswith("Overridden")
    ]
    assert "ClusterResourcePlacementAvailable" == overall[-1]["type"]


NAME = "${MEMBER-CLUSTER-NAME}"
LABEL = "${MEMBER-CLUSTER-LABEL-KEY-"
EAST_MEMBER = MemberLabels(ClusterName("east"), {"east": "self", "zone": ""})
EVERY: Body = {"clusterSelector": {"clusterSelectorTerms": []}}
SETTINGS: Body = {"group": "", "version": "v1", "kind": "ConfigMap", "name": "settings"}
SHOP: Body = {"group": "", "version": "v1", "kind": "Namespace", "name": "default"}


def add(path: str, value: object = "1") -> Body:
    """A patch that adds a value."""
    return {"op": "add", "path": path, "value": value}


def namespaced_override(
    *patches: Body, selectors: tuple[Body, ...] = (SETTINGS,), **spec: object
) -> Override:
    """A ResourceOverride in `default` for every cluster."""
    policy = {"overrideRules": [{**EVERY, "jsonPatchOverrides": list(patches)}]}
    key = ObjectKey(GROUP, "ResourceOverride", "default", "o")
    return decode_override(
        key, {"resourceSelectors": list(selectors), "policy": policy, **spec}, "o-0"
    )


def fleet_wide(*patches: Body, **spec: object) -> Override:
    """A ClusterResourceOverride of the Namespace `default`, for every cluster."""
    policy = {"overrideRules": [{**EVERY, "jsonPatchOverrides": list(patches)}]}
    key = ObjectKey(GROUP, "ClusterResourceOverride", "", "o")
    return decode_override(
        key, {"clusterResourceSelectors": [SHOP], "policy": policy, **spec}, "o-0"
    )


def applied(*overrides: Override) -> Body | None:
    """The ConfigMap as overrides leave it on the cluster east."""
    body = configmap()
    return apply_overrides(body, target_of(body), overrides, EAST_MEMBER, namespaced=True)


def of_placement(placement: str, *overrides: Override) -> list[Override]:
    """Those of some overrides that concern a placement of the ConfigMap."""
    target = target_of(configmap())
    return overrides_of_placement(overrides, placement, [target], lambda one: bool(one.namespace))


def test_the_name_of_a_cluster_may_be_part_of_the_key_of_a_label() -> None:
    """Names are replaced first."""
    patch = with_variables(add("/data/at", f"{LABEL}{NAME}}}"), EAST_MEMBER)

    assert "self" == patch["value"]


def test_variables_are_replaced_in_keys_and_below() -> None:
    """The path is left alone."""
    patch = with_variables(add(f"/data/{NAME}", {NAME: [f"in {NAME}"]}), EAST_MEMBER)

    assert add(f"/data/{NAME}", {"east": ["in east"]}) == patch


@pytest.mark.parametrize(
    ("value", "message"),
    [
        pytest.param(f"{LABEL}x}}", "label key x not found on cluster east", id="no-such-label"),
        pytest.param(f"{LABEL}x", f'input "{LABEL}x" is missing the closing', id="not-closed"),
        pytest.param({"a": f"{LABEL}zone"}, 'label key zone" not found', id="closed-by-the-value"),
    ],
)
def test_a_variable_without_a_value_is_an_error(value: object, message: str) -> None:
    """The brace that closes it may be one of the JSON itself."""
    with pytest.raises(UserError, match=re.escape(message)):
        with_variables(add("/data/at", value), EAST_MEMBER)


def test_a_selector_that_is_listed_twice_applies_twice() -> None:
    """In the place where it stands."""
    twice = namespaced_override(add("/data/x/-"), selectors=(SETTINGS, SETTINGS))
    found = applied(namespaced_override(add("/data", {"x": []})), twice)

    assert found is not None
    assert {"x": ["1", "1"]} == found["data"]


def test_an_override_of_a_namespace_applies_to_all_that_is_in_it() -> None:
    """And before those of the namespace itself."""
    own, fleet = (
        namespaced_override(add("/data/from", "own")),
        fleet_wide(add("/data", {"from": "fleet"})),
    )
    picked = overrides_of_cluster([own, fleet], EAST_MEMBER)
    found = applied(*picked)

    assert [fleet, own] == picked
    assert found is not None
    assert {"from": "own"} == found["data"]


def test_what_is_deleted_stays_so() -> None:
    """Whatever a later override says."""
    policy = {"overrideRules": [{**EVERY, "overrideType": "Delete"}]}

    assert (
        applied(namespaced_override(policy=policy), namespaced_override(add("/data", {}))) is None
    )


@pytest.mark.parametrize(
    ("placement", "own", "fleet"),
    [
        pytest.param({"name": "web"}, ["web"], ["web"], id="cluster-scope"),
        pytest.param(
            {"name": "web", "scope": "Namespaced"}, ["default/web"], ["web"], id="namespaced-scope"
        ),
    ],
)
def test_an_override_may_be_for_one_placement(
    placement: Body, own: list[str], fleet: list[str]
) -> None:
    """Only a ResourceOverride can be for one of a namespace."""
    names = ["web", "default/web", "other"]
    mine, theirs = namespaced_override(placement=placement), fleet_wide(placement=placement)

    assert own == [name for name in names if of_placement(name, mine)]
    assert fleet == [name for name in names if of_placement(name, theirs)]


def test_an_override_of_another_namespace_concerns_nothing_here() -> None:
    """Though the name is the same."""
    target = OverrideTarget("", "v1", "ConfigMap", "shop", "settings")

    assert [] == overrides_of_placement([namespaced_override()], "web", [target], lambda _: True)


def test_an_override_without_a_policy_cannot_be_picked() -> None:
    """No admission lets it through."""
    with pytest.raises(UnexpectedBehavior, match="the override o-0 has no policy"):
        overrides_of_cluster([namespaced_override(policy=None)], EAST_MEMBER)


def scaled(replicas: int) -> Body:
    """An override by which web has so many replicas everywhere."""
    return override({**SCALE, "value": replicas})


def replicas_in(told: Story) -> dict[str, object]:
    """Cluster to the replicas that web has in its folder."""
    found = {}
    for path, content in told.files.items():
        if path.startswith("delivery/") and path.endswith("deployments.apps/web.yaml"):
            body = read(content.encode(), path).documents[0].body
            found[path.split("/")[1]] = mapping(body, "spec")["replicas"]
    return found


def rolled_out() -> Story:
    """Web on two clusters of two stages by a first run, with seven replicas by an override."""
    told = staged(stage("canary"), stage("prod"), a="canary", b="prod")
    told.put(configuration(delivery=FOLDERS), scaled(7), run())
    for seconds in (0, 60, 120, 180):
        told.run(seconds)
    return told


def test_a_run_holds_its_overrides_by_version() -> None:
    """An edit in the middle reaches no cluster before the next run does, in its stages."""
    told = rolled_out()

    assert {"a": 7, "b": 7} == replicas_in(told)

    told.put(scaled(8)).run(200)

    assert {"a": 7, "b": 7} == replicas_in(told)

    told.put(run(name="second")).run(210)

    assert {"a": 8, "b": 7} == replicas_in(told)

    told.put(scaled(9)).run(220)
    told.run(270)

    assert {"a": 8, "b": 8} == replicas_in(told)
    told.run(400)
    assert ("True", "UpdateRunSucceeded") == conditions(told, "second")["Succeeded"]


def test_an_override_that_comes_or_goes_waits_for_a_run() -> None:
    """As one that is edited; the bindings keep listing what they have."""
    told = staged(stage("canary"), stage("prod"), a="canary", b="prod")
    told.put(configuration(delivery=FOLDERS), run()).run(0)
    told.put(scaled(7)).run(30)

    assert {"a": 2} == replicas_in(told)

    for seconds in (60, 120, 180):
        told.run(seconds)

    assert {"a": 2, "b": 2} == replicas_in(told)

    told.put(run(name="second"))
    for seconds in (200, 260, 320):
        told.run(seconds)
    told.drop(scaled(7)).run(400)

    assert {"a": 7, "b": 7} == replicas_in(told)
    assert [["web-0"], ["web-0"]] == [
        [one["name"] for one in bodies(mapping(body, "spec"), "resourceOverrideSnapshots")]
        for body in bindings(told)
    ]

    told.put(run(name="third"))
    for seconds in (420, 480):
        told.run(seconds)

    assert {"a": 2, "b": 2} == replicas_in(told)


WEB = ObjectKey(GROUP, "ClusterResourcePlacement", "", "web")
IDLE = (
    "waits for a ClusterStagedUpdateRun that names it and rolls out the change of "
    "ResourceOverride default/web, as its strategy is External"
)


def waiting_clusters(told: Story) -> dict[str, str]:
    """Cluster where web waits to what is noted of it there."""
    copies = copies_in(told.world(), told.now)(WEB)
    return {str(one.cluster): one.note for one in copies if one.waits_for}


def idle(told: Story) -> tuple[list[str], str]:
    """What `status` says that web waits for, and the last sentence of `why`."""
    asked = reconcile(told.world(), told.now, asked=frozenset({WEB}))
    said = [clause for key, clause in waiting_in(told.world()) if key == WEB]
    return said, asked.explanations[WEB]().rollout[-1]


DONE = "ClusterStagedUpdateRun first has rolled out all stages."
BEHIND = "earlier overrides"


def test_an_override_that_no_run_rolls_out_is_told() -> None:
    """Edited, or removed; not where another version says the same."""
    told = rolled_out()

    assert {} == waiting_clusters(told)
    assert ([], DONE) == idle(told)

    told.files[path_of(scaled(7))] += "# why\n"

    assert {} == waiting_clusters(told)
    assert ([], DONE) == idle(told)

    told.put(scaled(8))

    assert {"a": BEHIND, "b": BEHIND} == waiting_clusters(told)
    assert ([IDLE], f"It {IDLE}.") == idle(told)

    told.run(200)
    told.drop(scaled(8)).run(210)

    assert {"a": BEHIND, "b": BEHIND} == waiting_clusters(told)
    assert ([IDLE], f"It {IDLE}.") == idle(told)


def planned(told: Story, edit: Body) -> list[str]:
    """What a plan of an edit says of runs."""
    base = told.world()
    return [*map(str, preview(base, told.put(edit).world(), told.now).progress)]


def test_a_plan_says_what_waits_for_a_run() -> None:
    """An override or content that the change edits; not what waited before."""
    told, waits = rolled_out(), [f"ClusterResourcePlacement web: {IDLE}"]

    assert [] == planned(told, scaled(7))
    assert waits == planned(told, scaled(8))
    assert [] == planned(told, configmap(namespace="shop"))
    assert waits == planned(told, deployment(replicas=3))


def test_an_override_whose_version_is_lost_is_told() -> None:
    """It is another one by now, whatever it was."""
    told = rolled_out()
    told.trees.clear()
    told.put(scaled(8))

    assert {"a": BEHIND, "b": BEHIND} == waiting_clusters(told)
    assert ([IDLE], f"It {IDLE}.") == idle(told)


def test_clusters_that_a_run_has_not_reached_wait_for_its_overrides() -> None:
    """Though nothing else of it is new."""
    told = rolled_out()
    told.put(scaled(8), run(name="second")).run(200)

    assert {"b": BEHIND} == waiting_clusters(told)
    assert [] == idle(told)[0]


def test_where_no_run_rolls_out_no_override_waits() -> None:
    """A change of it applies at once."""
    told = placed(placement(ALL), scaled(7))
    told.put(scaled(8))

    assert {} == waiting_clusters(told)
    assert [] == list(waiting_in(told.world()))


def test_a_strategy_that_may_not_change_lets_no_override_go() -> None:
    """The placement keeps what it had, its overrides included."""
    told = rolled_out()
    (fault,) = told.put(scaled(8), placement()).run(200).faults

    assert "placement-immutable" == fault.rule
    assert {"a": 7, "b": 7} == replicas_in(told)


def test_a_version_of_an_override_that_cannot_be_read_leaves_what_is_there() -> None:
    """As content of an earlier version that is gone."""
    told = rolled_out()
    told.trees.clear()
    outcome = told.put(scaled(8)).run(200)

    assert {"a": 7, "b": 7} == replicas_in(told)
    assert {"delivery-not-rendered"} == {one.rule for one in outcome.faults}
