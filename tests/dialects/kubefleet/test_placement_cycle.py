"""Placements in the pass, of clusters and of namespaces, and what people do to their outputs."""

import re
from collections.abc import Mapping, Sequence
from typing import cast

import pytest

from reconciler.audit.fleet.assumed_outputs import as_of
from reconciler.dialects.kubefleet.api.binding import binding_name, binding_names
from reconciler.dialects.kubefleet.api.names import UnexpectedBehavior, placement_key
from reconciler.dialects.kubefleet.dialect import KUBEFLEET
from reconciler.dialects.kubefleet.view.answers import VIEW
from reconciler.model.decision import CauseKind
from reconciler.model.identity import ObjectKey
from reconciler.model.settings import Settings
from reconciler.rebalance.target import Reference, Target
from tests.builders import NOW, Body, after, configmap, deployment, live, rebalancer, text
from tests.dialects.kubefleet.fleet import (
    BINDINGS,
    EAST,
    GROUP,
    PLACEMENTS,
    POLICIES,
    RESOURCES,
    bindings,
    clusters_of,
    condition,
    files,
    fixed,
    member,
    namespaced_placement,
    path_of_binding,
    pick,
    placed,
    placement,
    specs_of,
    states,
    targets,
)
from tests.stories import Story, story

ALL_AT_ONCE = {"rollingUpdate": {"maxUnavailable": "100%", "maxSurge": "100%"}}
ONE_AFTER_ANOTHER = {"rollingUpdate": {"maxUnavailable": 1, "maxSurge": 0}}


def test_first_pick_all_binds_every_cluster() -> None:
    """Without a policy every cluster is picked, and the rollout binds as many as may surge."""
    repository = story(member("a"), member("b"), placement(), deployment())
    outcome = repository.run()

    assert () == outcome.faults
    assert {"a", "b"} == set(states(repository))
    assert (("a", 0), ("b", 0)) == outcome.decisions[0].after
    assert "True" == condition(repository, "Scheduled")["status"]
    assert 1 == len(files(repository, "clusterschedulingpolicysnapshots"))
    assert 1 == len(files(repository, "clusterresourcesnapshots"))


def test_nothing_to_do_makes_no_change() -> None:
    """A settled repository stays as it is, at once and later."""
    repository = story(member("a"), member("b"), placement(pick(1)), deployment())
    for seconds in (1, 61, 122, 200):
        repository.run(seconds)

    assert () == repository.run(201).changes
    assert () == repository.run(100_000).changes
    assert {"b": "Bound"} == states(repository)


def test_assumed_availability_lets_the_rollout_go_on() -> None:
    """A silent cluster counts as available a minute after its rollout, and recheck_at says so."""
    repository = story(member("a"), member("b"), placement(strategy=ONE_AFTER_ANOTHER))
    repository.put(deployment()).run(0)
    repository.put(deployment(labels={"tier": "new"}))

    assert after(60) == repository.run(10).recheck_at
    assert after(120) == repository.run(60).recheck_at
    assert repository.run(120).recheck_at is None
    assert () == repository.run(9_000).changes


def test_scaling_out_moves_nothing() -> None:
    """A greater number updates the present snapshot, and what is placed stays."""
    clusters = [member(name) for name in "abcd"]
    repository = story(*clusters, placement(pick(2), strategy=ALL_AT_ONCE), deployment())
    repository.run(0)
    assert {"c", "d"} == set(states(repository))

    repository.put(member("z"), placement(pick(3), strategy=ALL_AT_ONCE))
    repository.run(100)

    assert {"c", "d", "z"} == set(states(repository))
    assert 1 == len(files(repository, "clusterschedulingpolicysnapshots"))


def test_asking_for_no_more_than_there_is_fulfils() -> None:
    """An unfulfilled placement that is scaled in to what it has says so."""
    repository = story(member("a"), placement(pick(3), strategy=ALL_AT_ONCE), deployment())
    outcome = repository.run(0)
    assert "found 1 cluster(s) instead" in outcome.decisions[0].problem

    repository.put(placement(pick(1), strategy=ALL_AT_ONCE))
    assert () == repository.run(10).decisions
    assert "True" == condition(repository, "Scheduled")["status"]


def test_snapshot_holds_identity_blob_and_hash_but_no_content() -> None:
    """What a resource says stays in its own file."""
    repository = story(member("a"), placement(), deployment())
    repository.run(0)
    spec = files(repository, "clusterresourcesnapshots")[0]["spec"]

    assert [{"apiVersion", "kind", "metadata", "hash", "blob", "document"}] == [
        set(entry)
        for entry in spec["selectedResources"]  # type: ignore[index]  # a mapping
    ]


def test_scaling_in_lets_the_lesser_name_go() -> None:
    """Of equal scores the alphabetically smaller cluster goes first."""
    repository = story(*(member(name) for name in "abc"))
    repository.put(placement(pick(3), strategy=ALL_AT_ONCE), deployment())
    repository.run(0)
    repository.run(100)
    repository.put(placement(pick(1), strategy=ALL_AT_ONCE))
    repository.run(200)

    assert {"c": "Bound"} == states(repository)


def test_pick_fixed_takes_the_clusters_it_names() -> None:
    """A name of no cluster leaves the placement unfulfilled, until the cluster comes."""
    repository = story(member("a"), placement(fixed("a", "b"), strategy=ALL_AT_ONCE))
    outcome = repository.run(0)

    assert {"a"} == set(states(repository))
    assert "False" == condition(repository, "Scheduled")["status"]
    assert {"b": 'Specified cluster "b" is not found'} == outcome.decisions[0].rejected
    repository.put(member("b"))
    repository.run(10)
    assert {"a": "Bound", "b": "Bound"} == states(repository)


def test_newly_eligible_cluster_is_taken_by_pick_all_only() -> None:
    """An unjoined cluster is not picked; once it has joined, PickAll takes it."""
    repository = story(member("a"), member("b", status={"agentStatus": []}), placement())
    repository.put(placement(pick(1), name="one"))
    repository.run(0)
    assert ["a", "a"] == targets(repository)

    repository.put(member("b"))
    repository.run(10)
    assert ["a", "a", "b"] == targets(repository)


def test_leaving_cluster_is_replaced() -> None:
    """A cluster that is being deleted loses its binding, and PickN takes another."""
    repository = story(*(member(name) for name in "abc"))
    repository.put(placement(pick(1), strategy=ALL_AT_ONCE), deployment())
    repository.run(0)
    repository.run(100)
    assert {"c": "Bound"} == states(repository)

    repository.put(member("c", leaving=True))
    repository.run(200)
    assert "Bound" == states(repository)["b"]
    assert "Bound" != states(repository).get("c")


def test_changed_resources_move_nothing() -> None:
    """A change of the selected resources makes a resource snapshot and no decision."""
    repository = story(member("a"), member("b"), placement(pick(1), strategy=ALL_AT_ONCE))
    repository.put(deployment())
    repository.run(0)
    repository.run(100)
    before = set(states(repository))
    repository.put(configmap(), member("z"))
    outcome = repository.run(200)

    assert () == outcome.decisions
    assert before == set(states(repository))
    assert 2 == len(files(repository, "clusterresourcesnapshots"))
    assert 1 == len(files(repository, "clusterschedulingpolicysnapshots"))


def test_removed_placement_takes_its_outputs_along() -> None:
    """Without its manifest nothing of a placement stays."""
    repository = story(member("a"), placement(), deployment())
    repository.run(0)
    repository.drop(placement())
    outcome = repository.run(10)

    assert [] == bindings(repository)
    assert outcome.decisions[0].removed


def test_cluster_name_with_a_dot_is_a_fault_of_its_placement_only() -> None:
    """A binding's name is a DNS label; other placements go on."""
    repository = story(member("a.b"), placement(), placement(pick(0), name="none"))
    outcome = repository.run(0)

    assert ["kubefleet-unexpected"] == [fault.rule for fault in outcome.faults]
    assert [] == bindings(repository)


def test_rollout_reaches_clusters_a_few_at_a_time() -> None:
    """With maxUnavailable 1 an update waits for the clusters before it."""
    strategy = {"rollingUpdate": {"maxUnavailable": 1, "maxSurge": 3}}
    repository = story(*(member(name) for name in "abc"), placement(strategy=strategy))
    repository.put(deployment())
    for seconds in (0, 100):
        repository.run(seconds)
    repository.put(deployment(replicas=3))
    repository.run(200)
    assert [1, 0, 0] == _updated(repository)
    repository.run(260)
    assert [1, 1, 0] == _updated(repository)
    repository.run(320)
    assert [1, 1, 1] == _updated(repository)


def _updated(repository: Story) -> list[int]:
    specs = sorted(specs_of(repository), key=lambda spec: spec["targetCluster"])
    return [int(spec["resourceSnapshotName"] == "web-1-snapshot") for spec in specs]


def placed_story(policy: Body | None = None) -> Story:
    """Web on c and d of four clusters, settled."""
    wanted = pick(2) if policy is None else policy
    told = story(*(member(name) for name in "abcd"), placement(wanted, strategy=ALL_AT_ONCE))
    told.put(deployment())
    for seconds in (0, 60, 120):
        told.run(seconds)
    return told


def replaced(told: Story, path: str, old: str, new: str) -> Story:
    """Replace a text in a file."""
    assert old in told.files[path]
    told.files[path] = told.files[path].replace(old, new)
    return told


def test_an_edit_of_the_target_is_the_previous_assignment() -> None:
    """PickN has as many clusters as it wants, so nothing moves; it is reported once."""
    told = placed_story()
    path = path_of_binding(told, "d")
    outcome = replaced(told, path, "targetCluster: d", "targetCluster: a").run(200)

    assert {"a": "Bound", "c": "Bound"} == states(told)
    assert [path] == [told.world().outputs[key].origin.path for key in outcome.edited]
    assert () == told.run(201).edited
    assert "was chosen by hand" in told.files[path]
    assert "True" == condition(told, "Scheduled")["status"]
    assert {"a": "Bound", "c": "Bound"} == states(told)


def test_resources_of_an_edited_target_count_from_the_edit() -> None:
    """The new cluster is silent for a minute before it counts as available."""
    told = placed_story()
    replaced(told, path_of_binding(told, "d"), "targetCluster: d", "targetCluster: a").run(200)
    assert "Unknown" == condition(told, "Applied")["status"]
    told.run(260)

    assert "True" == condition(told, "Available")["status"]


def test_an_edit_onto_a_cluster_that_has_it_already_frees_a_place() -> None:
    """The scheduler fills the place from the edited assignment on."""
    told = placed_story()
    path = path_of_binding(told, "d")
    outcome = replaced(told, path, "targetCluster: d", "targetCluster: c").run(200)

    assert {"c": "Bound", "d": "Bound"} == states(told)
    assert () == outcome.faults


def test_a_target_that_is_no_cluster_is_replaced() -> None:
    """The binding dangles, and PickN takes another cluster."""
    told = placed_story()
    outcome = replaced(
        told, path_of_binding(told, "d"), "targetCluster: d", "targetCluster: nowhere"
    ).run(200)

    assert {"c": "Bound", "d": "Bound"} == states(told)
    assert () == outcome.faults


def test_an_unscheduled_binding_is_taken_back_by_the_rules() -> None:
    """PickN lacks a cluster then, and the best of the others is the same one."""
    told = placed_story()
    outcome = replaced(told, path_of_binding(told, "d"), "state: Bound", "state: Unscheduled")
    result = outcome.run(200)

    assert {"c": "Bound", "d": "Bound"} == states(told)
    assert 1 == len(result.edited)
    assert () == result.faults


@pytest.mark.parametrize(
    ("folder", "old", "new"),
    [
        pytest.param(BINDINGS, "parent-CRP: web", "parent-CRP: other", id="owner"),
        pytest.param(BINDINGS, "scheduler-crb-cleanup", "else", id="finalizer"),
        pytest.param(BINDINGS, "SnapshotName: web-0\n", "SnapshotName: web-3\n", id="policy"),
        pytest.param(BINDINGS, "Name: web-0-snapshot", "Name: web-9-snapshot", id="resources"),
        pytest.param(BINDINGS, "affinityScore: 0", "affinityScore: 9", id="score"),
        pytest.param(BINDINGS, "type: WorkSynchronized", "type: Odd", id="condition"),
        pytest.param(BINDINGS, "reason: RolloutStarted", "reason: Odd", id="words"),
        pytest.param(POLICIES, 'policy-index: "0"', 'policy-index: "7"', id="index"),
        pytest.param(POLICIES, 'is-latest-snapshot: "true"', 'x: "true"', id="latest"),
        pytest.param(POLICIES, 'number-of-clusters: "2"', 'number-of-clusters: "x"', id="number"),
        pytest.param(POLICIES, "placementType: PickN", "placementType: PickAll", id="type"),
        pytest.param(POLICIES, "policyHash: ", "policyHash: QUJD", id="hash"),
        pytest.param(RESOURCES, "hash: de", "hash: ed", id="resource"),
        pytest.param(RESOURCES, 'resource-hash: "', 'resource-hash: "0', id="resource-hash"),
        pytest.param(RESOURCES, "document: 0", "document: 3", id="document"),
        pytest.param(PLACEMENTS, "Applied", "Odd", id="placement-condition"),
        pytest.param(PLACEMENTS, "clusterName: c", "clusterName: z", id="placement-cluster"),
        pytest.param(PLACEMENTS, "found 2 cluster(s)", "found 9", id="placement-message"),
    ],
)
def test_any_other_edit_is_restored(folder: str, old: str, new: str) -> None:
    """Nothing moves, nobody is told of a decision, and the file is what it was."""
    told = placed_story()
    before = dict(told.files)
    edited = [p for p in told.outputs if p.startswith(folder) and old in told.files[p]]
    for path in edited:
        replaced(told, path, old, new)
    outcome = told.run(200)

    assert edited
    assert ((), (), ()) == (outcome.edited, outcome.decisions, outcome.faults)
    assert undated(before) == undated(told.files)


def undated(files: dict[str, str]) -> dict[str, str]:
    """Files without moments and without the generations that an edit and its undoing count."""
    pattern = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ|[gG]eneration: \d+")
    return {p: pattern.sub("", f) for p, f in files.items() if p != "status/reconciler.yaml"}


def test_edited_decisions_of_a_snapshot_are_made_anew() -> None:
    """They say what the bindings say."""
    told = placed_story()
    path = f"{POLICIES}/web-0.yaml"
    replaced(told, path, "picked by", "seen by").run(200)

    assert "seen by" not in told.files[path]
    assert {"c": "Bound", "d": "Bound"} == states(told)


@pytest.mark.parametrize("folder", [BINDINGS, POLICIES, RESOURCES, PLACEMENTS])
def test_a_lost_file_is_written_again(folder: str) -> None:
    """The clusters are those that the policy names, as before."""
    told = placed_story(fixed("b", "c"))
    path = next(path for path in told.outputs if path.startswith(folder))
    before = told.files.pop(path)
    outcome = told.run(200)
    told.run(300)

    assert () == outcome.faults
    assert {"b": "Bound", "c": "Bound"} == states(told)
    assert before.splitlines()[0] == told.files[path].splitlines()[0]


def test_a_lost_policy_snapshot_moves_nothing() -> None:
    """The bindings of a snapshot that is made anew under its old name are not of an earlier one."""
    told = placed_story()
    told.put(member("z"))
    del told.files[f"{POLICIES}/web-0.yaml"]
    told.run(200)

    assert {"c": "Bound", "d": "Bound"} == states(told)


def test_a_revert_of_a_decision_is_a_rollback() -> None:
    """The earlier files come back whole, their digests with them: nothing is left to do."""
    told = placed_story()
    before = told.outputs
    replaced(told, path_of_binding(told, "d"), "targetCluster: d", "targetCluster: a").run(200)
    assert {"a", "c"} == set(states(told))
    told.files = told.inputs | before
    outcome = told.run(300)

    assert {"c": "Bound", "d": "Bound"} == states(told)
    assert () == outcome.edited


def test_a_revert_against_the_manifests_is_decided_again() -> None:
    """The policy still asks for one cluster, so the rules restore what was reverted."""
    told = placed_story()
    before = told.outputs
    told.put(placement(pick(1), strategy=ALL_AT_ONCE), configmap())
    told.run(200)
    assert {"d": "Bound"} == states(told)
    told.files = told.inputs | before
    told.run(300)

    assert {"d": "Bound"} == states(told)


SUFFIX = re.compile(r"-[0-9a-f]{8}\.yaml")


def outputs_of(told: Story) -> list[str]:
    """The files of KubeFleet without the random part of their names."""
    found = (path.removeprefix("status/") for path in told.outputs if GROUP in path)
    return sorted(SUFFIX.sub("-?.yaml", path).replace(f".{GROUP}", "") for path in found)


def selected_in(told: Story, namespace: str) -> list[str]:
    """Kind, namespace and name of what the first snapshot holds."""
    body = told.output(f"status/resourcesnapshots.{GROUP}/{namespace}/web-0-snapshot.yaml")
    resources = cast(Sequence[Body], cast(Body, body["spec"])["selectedResources"])
    identities = [(one["kind"], cast(Mapping[str, str], one["metadata"])) for one in resources]
    return [f"{kind} {of['namespace']}/{of['name']}" for kind, of in identities]


def test_its_outputs_stand_in_its_namespace() -> None:
    """They are of kinds of their own."""
    told = placed(namespaced_placement(fixed("a"), namespace="shop"))

    assert [
        "resourcebindings/shop/web-a-?.yaml",
        "resourceplacements/shop/web.yaml",
        "resourcesnapshots/shop/web-0-snapshot.yaml",
        "schedulingpolicysnapshots/shop/web-0.yaml",
    ] == outputs_of(told)


def test_it_selects_what_is_in_its_namespace() -> None:
    """Objects of another namespace stay, and the namespace itself does, too."""
    told = placed(namespaced_placement())

    assert ["ConfigMap default/settings", "Deployment default/web"] == selected_in(told, "default")


@pytest.mark.parametrize("namespace", ["kube-system", "fleet-system"])
def test_it_places_what_is_in_a_reserved_namespace(namespace: str) -> None:
    """Unlike a ClusterResourcePlacement: whoever may write there may place it."""
    told = placed(namespaced_placement(namespace=namespace), deployment(namespace=namespace))

    assert [f"Deployment {namespace}/web"] == selected_in(told, namespace)


def test_placements_of_one_name_do_not_see_each_other() -> None:
    """One in each of two namespaces, and one of the whole fleet."""
    told = placed(
        namespaced_placement(fixed("a")),
        namespaced_placement(fixed("b"), namespace="shop"),
        placement(fixed("a", "b")),
    )

    assert (["a"], ["b"]) == (clusters_of(told, "default"), clusters_of(told, "shop"))
    assert () == told.run(300).faults
    assert (["a"], ["b"]) == (clusters_of(told, "default"), clusters_of(told, "shop"))


def test_a_decision_calls_it_by_its_namespace() -> None:
    """As upstream's key of a placement does."""
    told = story(member("a"), deployment(), namespaced_placement())
    [decision] = told.run(0).decisions

    assert ("default/web", "ResourcePlacement") == (decision.subject, decision.key.kind)


def test_its_conditions_have_its_name() -> None:
    """Upstream has a type for each of the two kinds."""
    told = placed(namespaced_placement())
    told.run(60)
    key = ObjectKey(GROUP, "ResourcePlacement", "default", "web")
    body = as_of(told.world(), told.now).outputs[key].body
    conditions = cast(Sequence[Body], cast(Body, body["status"])["conditions"])

    stages = ("Scheduled", "RolloutStarted", "Overridden", "WorkSynchronized")
    assert [f"ResourcePlacement{stage}" for stage in (*stages, "Applied", "Available")] == [
        one["type"] for one in conditions
    ]


@pytest.mark.parametrize(
    ("selector", "message"),
    [
        pytest.param({"group": "", "version": "v1", "kind": "Namespace"}, "cluster-scoped"),
        pytest.param(
            {"group": GROUP, "version": "v1beta1", "kind": "ClusterResourceEnvelope"},
            "cluster-scoped",
        ),
        pytest.param({"group": "", "version": "v2", "kind": "ConfigMap"}, "must be v1"),
    ],
)
def test_what_it_cannot_select_is_a_fault(selector: Body, message: str) -> None:
    """Nothing of it is placed then; its status says so."""
    told = story(member("a"), deployment(), namespaced_placement(resourceSelectors=[selector]))
    [fault] = told.run(0).faults

    assert message in fault.message
    [status] = [path for path in told.outputs if "fleet" in path]
    assert message in told.outputs[status]
    assert "InvalidResourceSelectors" in told.outputs[status]


def test_a_name_that_no_label_holds_is_a_fault() -> None:
    """Its CRD allows it, yet snapshots carry it in labels."""
    told = story(member("a"), deployment(), namespaced_placement(name="n" * 64))
    [fault] = told.run(0).faults

    assert ("kubefleet-unexpected", "/metadata/name") == (fault.rule, fault.field)
    assert [] == outputs_of(told)


def test_kinds_that_are_never_placed_are_passed_over() -> None:
    """Without a word, as upstream does, even if they are cluster-scoped."""
    node = {"group": "", "version": "v1", "kind": "Node"}
    told = story(member("a"), deployment(), namespaced_placement(resourceSelectors=[node]))

    assert () == told.run(0).faults
    assert [] == selected_in(told, "default")


def test_a_cluster_without_its_namespace_is_out() -> None:
    """If the cluster tells which namespaces it has."""
    told = placed(namespaced_placement())
    gathers = {
        "type": "NamespaceCollectionSucceeded",
        "status": "True",
        "reason": "Collected",
        "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    agent = {
        "type": "MemberAgent",
        "conditions": [{**gathers, "type": kind} for kind in ("Joined", "Healthy")],
        "lastReceivedHeartbeat": "2026-01-01T00:00:00Z",
    }
    status = {"agentStatus": [agent], "conditions": [gathers], "namespaces": {"shop": ""}}
    told.put(member("c", status=status)).run(60)
    assert ["a", "b"] == clusters_of(told, "default")
    told.put(member("c", status={**status, "namespaces": {"default": ""}})).run(120)

    assert ["a", "b", "c"] == clusters_of(told, "default")


def test_it_goes_with_all_its_outputs() -> None:
    """The decision says where it was."""
    told = placed(namespaced_placement(fixed("a")))
    [decision] = told.drop(namespaced_placement()).run(60).decisions

    assert (CauseKind.REMOVED, (("a", 0),)) == (decision.cause.kind, decision.before)
    assert [] == outputs_of(told)


@pytest.mark.parametrize(
    ("kind", "namespace", "expected"),
    [
        pytest.param("ResourcePlacement", "shop", True, id="itself"),
        pytest.param("ResourcePlacement", "default", False, id="elsewhere"),
        pytest.param("ClusterResourcePlacement", "shop", False, id="kind"),
        pytest.param("ResourcePlacement", "", False, id="no-namespace"),
    ],
)
def test_target(kind: str, namespace: str, expected: bool) -> None:  # noqa: FBT001  # a table
    """Kind, namespace and name decide."""
    world = story(member("a"), namespaced_placement(namespace="shop")).world()
    reference = Reference(f"{GROUP}/v1", kind, namespace, "web")
    found = KUBEFLEET.prepare(world, Settings(), NOW).target(reference)

    assert (Target(placement_key("shop", "web"), stepped=True) if expected else None) == found


def test_a_rebalancer_has_its_clusters_chosen_anew() -> None:
    """As those of a ClusterResourcePlacement."""
    prefer = {"weight": 9, "preference": {"labelSelector": {"matchLabels": EAST}}}
    terms = {"preferredDuringSchedulingIgnoredDuringExecution": [prefer]}
    told = placed(namespaced_placement(pick(1, affinity={"clusterAffinity": terms})))
    told.put(member("a", labels=EAST), member("b")).run(120)
    assert ["b"] == clusters_of(told, "default")
    reference = {"apiVersion": f"{GROUP}/v1beta1", "kind": "ResourcePlacement"}
    told.put(rebalancer("demo", {**reference, "namespace": "default", "name": "web"}))
    [decision] = told.run(200).decisions
    assert CauseKind.REBALANCED is decision.cause.kind
    told.run(400)

    assert ["a"] == clusters_of(told, "default")


def available(told: Story) -> object:
    """The status of its condition Available."""
    body = told.output(f"status/resourceplacements.{GROUP}/default/web.yaml")
    conditions = cast(Sequence[Body], cast(Body, body["status"])["conditions"])
    return {one["type"]: one["status"] for one in conditions}.get("ResourcePlacementAvailable")


def test_reports_of_its_clusters_count() -> None:
    """An unhealthy one is not assumed away; health ends it."""
    told = story(member("a"), deployment(), namespaced_placement())
    told.run(0)
    for seconds, replicas, expected in ((1, 1, "False"), (1000, 1, "False"), (1001, 2, "True")):
        report = live(deployment(), updatedReplicas=2, availableReplicas=replicas)
        told.files["feedback/a/web.yaml"] = text(report)
        told.run(seconds)

        assert expected == available(told)


@pytest.mark.parametrize(("namespace", "expected"), [("default", True), ("shop", False)])
def test_it_carries_what_it_selects(namespace: str, expected: bool) -> None:  # noqa: FBT001  # a table
    """So a question about a workload leads to it."""
    told = placed(namespaced_placement())
    workload = ObjectKey("apps", "Deployment", namespace, "web")

    assert (placement_key("default", "web"),) * expected == VIEW.world.carriers(
        told.world(), workload
    )
    assert expected == VIEW.world.may_carry(told.world(), namespace)


CLUSTERS = ("alpha", "beta", "a-name-that-is-longer-than-the-room-it-has")


def test_many_names_are_those_of_each_cluster_alone() -> None:
    """Placement, cluster, and a suffix that both give."""
    expected = [binding_name("web", cluster, ()) for cluster in CLUSTERS]

    assert expected == binding_names("web", CLUSTERS, ())


def test_of_many_names_the_taken_one_gets_another_suffix() -> None:
    """The others stay as they are."""
    free = binding_names("web", CLUSTERS, ())
    expected = [free[0], binding_name("web", "beta", {free[1]}), free[2]]

    assert expected == binding_names("web", CLUSTERS, {free[1]})


@pytest.mark.parametrize(
    ("placement", "clusters"),
    [
        pytest.param("web", ("alpha", "be.ta"), id="dot-in-a-cluster"),
        pytest.param("web", ("alpha", "b\u00e4ta"), id="umlaut-in-a-cluster"),
        pytest.param("Web", ("alpha",), id="upper-case-placement"),
        pytest.param("-web", ("alpha",), id="placement-begins-with-a-dash"),
        pytest.param("", ("alpha",), id="no-placement"),
    ],
)
def test_a_name_that_is_no_label_is_refused_among_many(
    placement: str, clusters: tuple[str, ...]
) -> None:
    """The sentence names the cluster, as for one alone."""
    with pytest.raises(UnexpectedBehavior, match="must be a DNS-1123 label"):
        binding_names(placement, clusters, ())
