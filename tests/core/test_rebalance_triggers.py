"""What triggers a fresh schedule, over all APIs, and that Successful means it happened."""

from collections.abc import Callable, Mapping
from typing import cast

import pytest

from reconciler.audit.advice import FreshSchedule, schedule_all_afresh
from reconciler.audit.fleet.placed import placed_on
from reconciler.audit.fleet.placed_objects import PlacedObjects
from reconciler.audit.previews.edits import put
from reconciler.core.reconcile import Memo, reconcile
from reconciler.core.rounds import next_world
from reconciler.model.identity import ObjectKey
from reconciler.rebalance.rebalancer_files import encode_reference
from reconciler.rebalance.target import REBALANCER, PresentPlace
from tests.builders import (
    DYNAMIC,
    Body,
    after,
    cluster,
    cluster_status,
    configuration,
    deployment,
    groups,
    path_of,
    policy,
    rebalancer,
    schedule_trigger,
    selector,
    taint,
    target,
    text,
)
from tests.stories import BINDINGS, Story, story
from tests.three_apis import LABELS, all_away, by_team

FILES = "status/scheduletriggers.policy.karmada.io"
TWO = [target(name="api"), target(name="web")]


def away() -> Story:
    """Workloads api and web on cluster b, since a was tainted; now a is clean again."""
    status = cluster_status(pods=100)
    placement = groups(["a"], ["b"], replicaScheduling=DYNAMIC)
    told = story(cluster("a", taints=[taint()], status=status), cluster("b", status=status))
    told.put(*(deployment(name) for name in ("api", "web")))
    for name in ("api", "web"):
        told.put(policy(f"{name}-policy", selectors=[selector(name=name)], placement=placement))
    told.put(configuration(feedback={"assumeAfterSeconds": None}), path="reconciler.yaml")
    told.run(0)
    told.put(cluster("a", status=status))
    told.run(1)
    return told


def where(told: Story) -> tuple[str, str]:
    """The clusters of api and web."""
    found = [",".join(told.placed(f"{name}-deployment")) for name in ("api", "web")]
    return found[0], found[1]


def status_of(told: Story, name: str = "demo") -> Body:
    """The status of a trigger."""
    return cast(Body, told.output(f"{FILES}/{name}.yaml")["status"])


def failures(told: Story) -> list[tuple[str, str]]:
    """Name and reason of what failed."""
    listed = cast(list[Mapping[str, str]], status_of(told).get("failedResourceList", []))
    return [(item["name"], item["failReason"]) for item in listed]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param(schedule_trigger("demo", target()), ("b", "a"), id="resource"),
        pytest.param(schedule_trigger("demo", policies=["api-policy"]), ("a", "b"), id="policy"),
        pytest.param(
            schedule_trigger("demo", target(), policies=["api-policy"]), ("a", "a"), id="union"
        ),
        pytest.param(
            schedule_trigger("demo", *TWO, policies=["web-policy"]), ("a", "a"), id="overlap"
        ),
    ],
)
def test_targets_are_the_union_of_both_fields(body: Body, expected: tuple[str, str]) -> None:
    """Note 1: either field, or both."""
    told = away().put(body)
    outcome = told.run(10)

    assert expected == where(told)
    assert {"phase": "Success"} == status_of(told)
    assert "rebalanced (ScheduleTrigger demo)" == str(outcome.decisions[0].cause)


def test_a_cluster_policy_has_no_namespace() -> None:
    """Note 3: a ClusterPropagationPolicy is named without one."""
    told = away()
    placement = groups(["a"], ["b"], replicaScheduling=DYNAMIC)
    told.drop(policy("web-policy"))
    told.put(policy("wide", namespace="", placement=placement))
    told.put(cluster("a", taints=[taint()], status=cluster_status(pods=100)))
    told.run(5)
    told.put(cluster("a", status=cluster_status(pods=100)))
    wide = {"targetRefPolicy": [{"name": "wide"}]}
    told.put(schedule_trigger("demo", **wide))  # type: ignore[arg-type]  # a field as written
    told.run(10)

    assert ("b", "a") == where(told)


def test_the_trigger_is_the_present_moment_and_is_consumed() -> None:
    """RescheduleTriggeredAt is set, lastScheduledTime follows, nothing happens twice."""
    told = away().put(schedule_trigger("demo", target()))
    told.run(10)
    binding = told.binding()

    assert "2026-11-20T12:00:10Z" == cast(Body, binding["spec"])["rescheduleTriggeredAt"]
    assert "2026-11-20T12:00:10Z" == cast(Body, binding["status"])["lastScheduledTime"]
    assert () == told.run(20).changes


def test_a_missing_resource_fails_and_is_tried_again() -> None:
    """The others are triggered all the same; when it appears, a pass triggers it."""
    told = away().put(schedule_trigger("demo", target(), target(name="late")))
    first = told.run(10)

    assert "Failed" == status_of(told)["phase"]
    assert [("late", "no binding was found for the resource; no policy has claimed it")] == (
        failures(told)
    )
    assert ("b", "a") == where(told)
    assert after(13) == first.recheck_at

    assert after(3610) == told.run(13).recheck_at

    told.put(deployment("late"), policy("late-policy", selectors=[selector(name="late")]))
    told.run(20)

    assert {"phase": "Success"} == status_of(told)


@pytest.mark.parametrize(("seconds", "expected"), [(0, 3610), (7, 17), (3, 13)])
def test_retry_after_seconds_starts_one_pass(seconds: int, expected: int) -> None:
    """0 is at once, which is this pass; time alone cures nothing."""
    trigger = schedule_trigger("demo", target(name="late"), retryAfterSeconds=seconds)
    told = away().put(trigger)

    assert after(expected) == told.run(10).recheck_at


def test_a_missing_policy_fails() -> None:
    """By its name."""
    told = away().put(schedule_trigger("demo", policies=["gone"]))
    told.run(10)

    assert [("gone", "the policy is not there")] == failures(told)

    placement = groups(["a"], ["b"], replicaScheduling=DYNAMIC)
    told.put(policy("gone", selectors=[selector(name="late")], placement=placement))
    told.run(20)

    assert {"phase": "Success"} == status_of(told)


def test_what_is_faulty_is_waited_for() -> None:
    """The phase is Running until it is triggered."""
    told = away()
    told.files["deployment/default/web.yaml"] = "a: b: c"
    told.put(schedule_trigger("demo", *TWO))
    told.run(10)

    assert ("Running", ("a", "b")) == (status_of(told)["phase"], where(told))

    told.put(deployment("web"))
    told.run(20)

    assert ({"phase": "Success"}, ("a", "a")) == (status_of(told), where(told))


@pytest.mark.parametrize(
    ("minutes", "seconds", "gone"),
    [
        pytest.param(None, 10 + 3599, False, id="an-hour-is-the-default"),
        pytest.param(None, 10 + 3600, True, id="after-the-hour"),
        pytest.param(5, 10 + 300, True, id="five-minutes"),
        pytest.param(0, 10 + 10**6, False, id="never"),
    ],
)
@pytest.mark.parametrize("name", ["web", "missing"])
def test_it_is_cleaned_up_whatever_became_of_it(
    minutes: int | None,
    seconds: int,
    gone: bool,  # noqa: FBT001  # a column
    name: str,
) -> None:
    """Counted from its creation; manifest and record go in one commit."""
    more = {} if minutes is None else {"autoCleanAfterMinutes": minutes}
    told = away().put(schedule_trigger("demo", target(name=name), **more))  # type: ignore[arg-type]
    told.run(10)
    told.run(seconds)

    assert gone == (not [path for path in told.files if "scheduletrigger" in path])


def test_only_its_document_is_cleaned_up() -> None:
    """What stands beside it in the file stays, comments and all."""
    told = away()
    path = "rebalancers/both.yaml"
    trigger = schedule_trigger("demo", target(), autoCleanAfterMinutes=1)
    told.files[path] = f"# first\n{text(deployment('other'))}\n---\n{text(trigger)}"
    told.run(10)
    told.run(70)

    assert told.files[path].startswith("# first\n")
    assert "ScheduleTrigger" not in told.files[path]


def test_an_edit_of_its_targets_is_a_new_run() -> None:
    """An edit of anything else is none."""
    told = away().put(schedule_trigger("demo", target()))
    told.run(10)
    told.put(schedule_trigger("demo", target(), autoCleanAfterMinutes=5))
    told.run(20)

    assert "2026-11-20T12:00:10Z" in str(told.binding()["spec"])

    told.put(schedule_trigger("demo", *TWO))
    told.run(30)

    assert ("a", "a") == where(told)


MANY_PASSES = pytest.mark.cpu_seconds(30)  # many whole passes

BINDING, PLACEMENT, FLEET = "web-deployment", "p", "fleet-web"
BEFORE = {BINDING: {"beta": 2}, PLACEMENT: {"beta": 0}, FLEET: {"alpha": 0}}
AFTER = {BINDING: {"alpha": 2}, PLACEMENT: {"alpha": 0}, FLEET: {"gamma": 0}}


def clusters_by_name(told: Story) -> dict[str, dict[str, int]]:
    """Name of each object to where it is."""
    world = told.world()
    return {key.name: dict(placed_on(world, key)) for key in PlacedObjects(world)}


def observed(told: Story, name: str = "demo") -> dict[str, str]:
    """Kind of each target to its result."""
    items = cast(list[Mapping[str, Body]], told.rebalancer(name)["observedWorkloads"])
    return {str(item["workload"]["kind"]): str(item.get("result", "")) for item in items}


def moved_by(**selector: object) -> set[str]:
    """The objects that a rebalancer moves that selects them so."""
    told = all_away()
    told.put(rebalancer("demo", selector=selector))
    told.run(10)
    return {name for name, at in clusters_by_name(told).items() if at != BEFORE[name]}


@MANY_PASSES
def test_one_rebalancer_moves_objects_of_all_apis() -> None:
    """What has the label is scheduled afresh, whatever API places it."""
    told = all_away()
    assert BEFORE == clusters_by_name(told)
    told.put(by_team())
    told.run(10)

    assert AFTER == clusters_by_name(told)
    kinds = ("ClusterResourcePlacement", "Deployment", "Placement")
    assert dict.fromkeys(kinds, "Successful") == observed(told)


OCM_POLICY = {"apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "Placement"}
FLEET_POLICY = {
    "apiVersion": "placement.kubernetes-fleet.io/v1beta1",
    "kind": "ClusterResourcePlacement",
}


@MANY_PASSES
@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        pytest.param({"onCluster": "beta"}, {BINDING, PLACEMENT}, id="on-cluster"),
        pytest.param({"onCluster": "alpha"}, {FLEET}, id="on-the-other"),
        pytest.param({"onCluster": "delta"}, set(), id="on-none"),
        pytest.param({"state": "AwayFromFirstAffinity"}, {BINDING}, id="away"),
        pytest.param({"state": "Unschedulable"}, set(), id="all-are-scheduled"),
        pytest.param({"namespace": "ns1"}, {PLACEMENT}, id="namespace"),
        pytest.param({"policy": {"name": "p", "namespace": "default"}}, {BINDING}, id="policy"),
        pytest.param(
            {"policy": {**OCM_POLICY, "name": "p", "namespace": "ns1"}}, {PLACEMENT}, id="placement"
        ),
        pytest.param({"policy": {**FLEET_POLICY, "name": "fleet-web"}}, {FLEET}, id="fleet"),
        pytest.param(
            {"labelSelector": {"matchLabels": LABELS}, "onCluster": "beta", "kind": "Placement"},
            {PLACEMENT},
            id="all-must-hold",
        ),
    ],
)
def test_a_selector_means_what_stands_so(
    selector: Mapping[str, object], expected: set[str]
) -> None:
    """By cluster, state, namespace and policy."""
    assert expected == moved_by(**selector)


@MANY_PASSES
def test_what_is_unschedulable_is_meant_until_it_is_not() -> None:
    """Replicas that had no room: the workload is meant, those that are placed are not."""
    told = all_away()
    told.put(deployment("large", replicas=500))
    told.run(5)
    told.put(rebalancer("demo", selector={"state": "Unschedulable"}))
    told.run(10)

    [item] = cast(list[Mapping[str, Body]], told.rebalancer()["observedWorkloads"])
    assert ("large", "Successful") == (str(item["workload"]["name"]), str(item["result"]))
    assert BEFORE == {name: at for name, at in clusters_by_name(told).items() if name in BEFORE}


@MANY_PASSES
def test_the_targets_of_a_generation_are_fixed_when_it_is_first_seen() -> None:
    """What comes onto the cluster later is not meant, and what has left it stays meant."""
    told = all_away()
    told.put(rebalancer("demo", selector={"onCluster": "beta"}, limits={"maxMoves": 1}))
    told.run(10)
    first = set(observed(told))
    told.put(deployment("late", replicas=1))
    for seconds in (11, 80, 150, 220):
        told.run(seconds)

    assert {"Deployment", "Placement"} == first
    assert dict.fromkeys(first, "Successful") == observed(told)
    listed = cast(list[object], told.rebalancer()["observedWorkloads"])
    assert len(listed) == len(first)


@MANY_PASSES
def test_what_cannot_be_read_is_nowhere_and_keeps_nobody() -> None:
    """A binding whose status is garbled is not meant; what stands on the cluster beside it is."""
    told = all_away()
    path = f"{BINDINGS}/default/{BINDING}.yaml"
    told.files[path] = told.files[path].replace("lastScheduledTime:", "lastScheduledTime: 7 #")
    told.put(rebalancer("demo", selector={"onCluster": "beta"}))
    told.run(10)

    assert {"Placement": "Successful"} == {
        kind: result for kind, result in observed(told).items() if kind != "Deployment"
    }


@MANY_PASSES
def test_limits_count_the_moves_of_all_apis_together() -> None:
    """Three moves in all, two a batch; in the order in which the targets are listed."""
    told = all_away(1)
    told.put(by_team(limits={"maxMoves": 2}))
    told.run(10)
    elsewhere = [
        name for name, at in clusters_by_name(told).items() if set(at) != set(BEFORE[name])
    ]

    assert 2 == len(elsewhere)
    progress = cast(Mapping[str, int], told.rebalancer()["progress"])
    assert (2, 1) == (progress["movedReplicas"], progress["remainingReplicas"])

    told.run(70)
    assert {name: set(at) for name, at in AFTER.items()} == {
        name: set(at) for name, at in clusters_by_name(told).items()
    }


@MANY_PASSES
def test_what_exchanges_nothing_leaves_the_room_to_others() -> None:
    """A placement that stays counts for nothing, so that the batch has room for one that moves."""
    told = all_away(1)
    told.put(by_team("first"))
    told.run(10)
    told.put(by_team("again", limits={"maxMoves": 1}))
    told.run(20)

    assert set(observed(told, "again").values()) == {"Successful"}


WHOLE = groups(["a"], ["b"])
PREFERRED = groups(["a"], ["b"], replicaScheduling=DYNAMIC)
ROOMY = cluster_status(pods=100)
Between = Callable[[Story, Body], None]


def away_from_first(*names: str, placement: Body = PREFERRED) -> Story:
    """Workloads on cluster b, since a was tainted; now a is clean again."""
    told = story(cluster("a", taints=[taint()], status=ROOMY), cluster("b", status=ROOMY))
    told.put(*(deployment(name) for name in names or ("web",)))
    told.put(policy(placement=placement))
    told.put(configuration(feedback={"assumeAfterSeconds": None}), path="reconciler.yaml")
    told.run(0)
    told.put(cluster("a", status=ROOMY))
    told.run(1)
    return told


def report(told: Story, on: str, name: str = "web", available: int = 2) -> None:
    """Let a cluster report of its copy."""
    body = {**deployment(name), "status": {"availableReplicas": available}}
    told.files[f"feedback/{on}/{name}.yaml"] = text(body)


def results(told: Story, name: str = "demo") -> list[tuple[str, str]]:
    """Name and result of the workloads that a rebalancer observed."""
    items = cast(list[dict[str, Body]], told.rebalancer(name)["observedWorkloads"])
    return [(str(item["workload"]["name"]), str(item.get("result", ""))) for item in items]


def by_report(told: Story, _placement: Body) -> None:
    """A cluster reports of the workload."""
    report(told, "b")


def by_policy(told: Story, placement: Body) -> None:
    """An edit of the policy has it scheduled anew."""
    tolerations = [{"key": "unheard-of", "operator": "Exists"}]
    told.put(policy(placement={**placement, "clusterTolerations": tolerations}))


def by_scale(told: Story, _placement: Body) -> None:
    """More replicas are wanted."""
    told.put(deployment(replicas=3))


def with_annotation(body: Body, name: str, value: str) -> Body:
    """An object with an annotation."""
    metadata = cast(Body, body["metadata"])
    return {**body, "metadata": {**metadata, "annotations": {name: value}}}


@pytest.mark.parametrize("between", [by_report, by_policy])
@pytest.mark.parametrize("schedule", ["", "1 12 * * *"], ids=["once", "recurring"])
@pytest.mark.parametrize("placement", [PREFERRED, WHOLE], ids=["divided", "whole"])
def test_a_faulty_target_moves_once_it_is_mended(
    between: Between, schedule: str, placement: Body
) -> None:
    """The trigger is dated with the pass that lets it go, not with the one that saw it first."""
    told = away_from_first(placement=placement)
    if schedule:
        told.put(rebalancer(schedule=schedule)).run(30)
    else:
        told.put(rebalancer())
    told.files[path_of(deployment())] = "a: [\n"
    told.run(60)
    between(told, placement)
    told.run(70)
    told.put(deployment())
    told.run(80)

    assert {"a": 2} == told.placed()
    assert [("web", "Successful")] == results(told)


@pytest.mark.parametrize("between", [by_report, by_scale])
def test_a_workload_that_waits_for_its_batch_moves_with_it(between: Between) -> None:
    """Whatever has it scheduled in between, it is not done before it was let go."""
    told = away_from_first("api", "web", placement=WHOLE)
    told.put(rebalancer("demo", target(name="api"), target(), limits={"maxMoves": 2}))
    told.run(10)
    assert ({"a": 2}, {"b": 2}) == (told.placed("api-deployment"), told.placed())
    between(told, WHOLE)
    told.run(20)
    assert [("api", "Successful"), ("web", "")] == results(told)
    told.run(100)

    assert ["a"] == list(told.placed())
    assert [("api", "Successful"), ("web", "Successful")] == results(told)


def test_a_suspended_workload_is_rebalanced_when_it_is_resumed() -> None:
    """Its scheduling in between, by a report, takes nothing away."""
    told = away_from_first(placement=WHOLE)
    told.put(with_annotation(deployment(), "reconciler.dev/suspend", "true"), rebalancer())
    told.run(10)
    report(told, "b")
    told.run(20)
    assert [("web", "")] == results(told)
    told.put(deployment())
    told.run(30)

    assert {"a": 2} == told.placed()
    assert [("web", "Successful")] == results(told)


def test_what_nobody_schedules_is_waited_for() -> None:
    """A workload whose policy is for another scheduler is not rescheduled."""
    told = away_from_first()
    told.drop(policy()).put(policy("q", schedulerName="another"), rebalancer(ttl=0))
    told.run(10)
    told.run(20)
    assert [("web", "")] == results(told)
    told.drop(policy("q")).put(policy(placement=PREFERRED))
    told.run(30)

    assert {"a": 2} == told.placed()
    assert "workloadrebalancer/demo.yaml" not in told.files


def test_a_rebalance_that_fails_is_done_and_tried_again_by_the_scheduler() -> None:
    """Successful as upstream has it, with the failure told, so that the time to live runs."""
    told = away_from_first()
    told.put(policy(placement=groups(["gone"], replicaScheduling=DYNAMIC)))
    told.run(5)
    told.put(rebalancer(ttl=60))
    outcome = told.run(10)

    assert [("web", "Successful")] == results(told)
    assert ["rebalanced (WorkloadRebalancer demo)"] == [str(d.cause) for d in outcome.decisions]
    assert "0/2 clusters are available" in outcome.decisions[0].problem
    told.run(70)
    assert "workloadrebalancer/demo.yaml" not in told.files
    told.put(cluster("gone", status=ROOMY))
    found = told.run(80).decisions

    assert {"gone": 2} == told.placed()
    why = "rebalance tried again, clusters changed"
    assert [why] == [str(decision.cause) for decision in found]


def test_a_first_placement_is_no_rebalance() -> None:
    """Though a rebalancer comes with it, and is named."""
    told = story(cluster(), policy(), deployment(), rebalancer())
    found = told.run(0).decisions

    assert ["created (policy p, WorkloadRebalancer demo)"] == [str(d.cause) for d in found]


def test_a_rebalance_that_moves_nothing_is_told() -> None:
    """Once, and it is where it was."""
    told = story(cluster(), policy(), deployment())
    told.run(0)
    found = told.put(rebalancer()).run(10).decisions

    assert ["rebalanced (WorkloadRebalancer demo)"] == [str(d.cause) for d in found]
    assert [True] == [decision.stays for decision in found]
    assert () == told.run(20).decisions


def test_what_the_brake_holds_is_not_rebalanced() -> None:
    """It would be scheduled afresh without any effect, so its rebalancer waits."""
    names = [f"w{number}" for number in range(10)]
    told = story(cluster("a"), cluster("b"), policy(placement=groups(["a"], ["b"])))
    told.put(*(deployment(name) for name in names))
    told.run(0)
    told.drop(cluster("a")).drop(cluster("b"))
    told.put(rebalancer("demo", target(name="w3")))
    outcome = told.run(10)

    assert ["removal-braked"] == [fault.rule for fault in outcome.faults]
    assert [("w3", "")] == results(told)
    told.put(cluster("a"), cluster("b"))
    told.run(20)

    assert [("w3", "Successful")] == results(told)


DEMAND = ObjectKey(*REBALANCER, "", "one")


def asked(told: Story) -> dict[str, FreshSchedule]:
    """Name of each object to where it would be, by the memo of a pass at rest."""
    world, memo = told.world(), Memo()
    reconcile(world, after(10), memo=memo)
    return {one.reference.name: one for one in schedule_all_afresh(world, after(10), memo)}


@MANY_PASSES
@pytest.mark.parametrize("name", ["web", "large", "p", "fleet-web"])
def test_it_is_where_a_rebalancer_of_the_object_alone_puts_it(name: str) -> None:
    """In each API, also where not all replicas have room."""
    told = all_away().put(deployment("large", replicas=500))
    told.run(5)
    one, world = asked(told)[name], told.world()
    demand = rebalancer("one", encode_reference(one.reference))
    left = next_world(world, reconcile(put(world, {DEMAND: demand}), after(10)))

    assert one.place is not None
    assert (one.place.before, one.place.after) == (
        placed_on(world, one.key),
        placed_on(left, one.key),
    )


@MANY_PASSES
@pytest.mark.parametrize("replicas", [2, 500])
def test_what_is_whole_has_no_more_parts_afresh(replicas: int) -> None:
    """What a target says of its present place holds of the place that it would have."""
    told, seen = all_away().put(deployment("web", replicas=replicas)), dict[str, bool]()
    told.run(5)
    for one in asked(told).values():
        present = presents(told)[one.key]
        assert one.place is not None
        seen[one.reference.name] = present is not None and present.whole
        if present is not None:
            assert (present.placed, present.group) == (one.place.before, one.place.groups[0])
            more = sum(max(count, 1) for _, count in one.place.after)
            assert not present.whole or more <= sum(max(count, 1) for _, count in present.placed)

    assert {"web": replicas == 2, "p": False, "fleet-web": True} == seen


def presents(told: Story) -> dict[ObjectKey, PresentPlace | None]:
    """Where each object says that it is, as a question about all of them is told."""
    world, memo, found = told.world(), Memo(), dict[ObjectKey, PresentPlace | None]()
    reconcile(world, after(10), memo=memo)

    def take(key: ObjectKey, present: PresentPlace) -> bool:
        found[key] = present
        return False

    schedules = schedule_all_afresh(world, after(10), memo, take)
    assert {one.key for one in schedules if one.content} == found.keys()
    return {one.key: found.get(one.key) for one in schedules}


@MANY_PASSES
def test_asking_leaves_what_passes_remember_as_it_was() -> None:
    """A pass with the same memo afterwards has nothing to do, and says what one without it says."""
    world, memo = all_away().world(), Memo()
    first = reconcile(world, after(10), memo=memo)
    schedule_all_afresh(world, after(10), memo)

    assert first == reconcile(world, after(10), memo=memo) == reconcile(world, after(10))
    put_in = put(world, {DEMAND: rebalancer("one")})
    assert reconcile(put_in, after(11), memo=memo) == reconcile(put_in, after(11))


@MANY_PASSES
def test_nothing_is_asked_where_everything_is_suspended() -> None:
    """No pass decides anything there."""
    told = all_away().put(configuration(suspend=True), path="reconciler.yaml")

    assert {} == asked(told)
