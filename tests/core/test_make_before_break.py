"""A rebalance that makes before it breaks, through whole passes, with what clusters report."""

import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import cast

import pytest

from reconciler.core.changes import Outcome
from reconciler.core.reconcile import Memo, reconcile
from reconciler.dialects.karmada.view.tree import MARKED, copies_in
from reconciler.imports.importers import report_of
from reconciler.manifests.admission import SUSPEND
from reconciler.manifests.text.reader import read
from reconciler.model.fields import mapping
from reconciler.model.identity import ObjectKey
from reconciler.model.records import replace
from reconciler.model.world import World
from reconciler.rebalance.surge import STEP, SURGE, decode_surge
from tests.builders import (
    DYNAMIC,
    Body,
    after,
    cluster,
    cluster_status,
    configmap,
    configuration,
    deployment,
    groups,
    policy,
    quota,
    rebalancer,
    schedule_trigger,
    taint,
    target,
    text,
)
from tests.dialects.kubefleet import test_make_before_break as fleet
from tests.dialects.ocm import test_make_before_break as hub
from tests.dialects.ocm.test_decide import HUB_OF_TWO
from tests.dialects.ocm.worlds import placement as hub_placement
from tests.stories import Story, applied, linked, story

SAFE: Body = {"makeBeforeBreak": {"deadlineSeconds": 100}}
ALL: Body = {"makeBeforeBreak": {"deadlineSeconds": 100, "maxSurgePercent": 100}}
STATUS = cluster_status(pods=100)
DELIVERY: Body = {"folders": {"path": "clusters/{cluster}"}}
OPTIONS: Body = {"feedback": {"assumeAfterSeconds": None}, "delivery": DELIVERY}


def away(replicas: int = 4, *names: str, **options: object) -> Story:
    """Workloads on cluster b, which reports them, since a was tainted; now a is clean again."""
    placement = groups(["a"], ["b", "c"], replicaScheduling=DYNAMIC)
    told = story(cluster("a", taints=[taint()], status=STATUS), cluster("b", status=STATUS))
    told.put(configuration(**{**OPTIONS, **options}), policy(placement=placement))
    told.put(*(deployment(name, replicas=replicas, cpu="1") for name in names or ("web",)))
    told.run(0)
    told.put(cluster("a", status=STATUS))
    for name in names or ("web",):
        hear(told, "b", name=name)
    told.run(1)
    return told


def delivered(told: Story, where: str, name: str = "web") -> Body:
    """What a cluster is given of a workload, empty if nothing."""
    path = f"clusters/{where}/default/deployments.apps/{name}.yaml"
    return read(told.files[path].encode(), path).documents[0].body if path in told.files else {}


def hear(told: Story, where: str, ready: int | None = None, *, name: str = "web") -> Story:
    """A cluster reports what it was given, with so many replicas ready, all without a number."""
    body, path = delivered(told, where, name), f"feedback/{where}/{name}.yaml"
    if not body:
        told.files.pop(path, None)
        return told
    count = cast(int, mapping(body, "spec")["replicas"])
    metadata = {**mapping(body, "metadata"), "uid": "1", "generation": 7}
    status = {"observedGeneration": 7, "replicas": count, "updatedReplicas": count}
    status["availableReplicas"] = count if ready is None else ready
    told.files[path] = text(report_of({**body, "metadata": metadata, "status": status}))
    return told


def beside(told: Story, name: str = "web-deployment") -> Mapping[str, int]:
    """What runs beside the placement of a binding."""
    notes = mapping(mapping(told.binding(name), "metadata"), "annotations")
    surge = decode_surge(str(notes.get(SURGE, "")))
    return {} if surge is None else {str(where): n for where, n in surge.doubled.items()}


def given(told: Story, name: str = "web") -> dict[str, object]:
    """What each cluster is given of a workload."""
    found = {where: mapping(delivered(told, where, name), "spec") for where in "abc"}
    return {where: spec["replicas"] for where, spec in found.items() if spec}


def results(told: Story, name: str = "demo") -> list[tuple[str, str]]:
    """Result of each workload, and why it failed or waits."""
    items = cast(Sequence[Body], told.rebalancer(name)["observedWorkloads"])
    return [
        (str(one.get("result", "")), str(one.get("reason", one.get("waitsFor", ""))))
        for one in items
    ]


def causes(outcome: Outcome) -> list[str]:
    """Why what moved."""
    return [str(one.cause) for one in outcome.decisions]


def begun(limits: Body = SAFE, replicas: int = 4, **options: object) -> Story:
    """A step under way from b to a, since second 10."""
    told = away(replicas, **options).put(rebalancer(limits=limits))
    told.run(10)
    return told


def test_a_copy_that_starts_is_in_the_published_decision_beside_the_old_one() -> None:
    """A consumer takes nothing away that delivery still keeps, and brings what it begins."""
    told = begun(decisions={"publish": {"namespace": "decisions"}})
    (path,) = [path for path in told.outputs if "placementdecisions.multicluster" in path]

    decisions = cast(Sequence[Mapping[str, Body]], told.output(path)["decisions"])
    assert {"a": "chosen (it starts before another copy goes)", "b": "chosen (policy p)"} == {
        str(one["clusterProfileRef"]["name"]): str(one["reason"]) for one in decisions
    }


def test_what_is_new_is_ready_before_anything_old_goes() -> None:
    """Each commit has as many replicas placed as are wanted, and b runs what is not ready on a."""
    told = begun()
    assert ({"b": 4}, {"a": 1}, {"a": 1, "b": 4}) == (told.placed(), beside(told), given(told))
    for second, there in ((20, 1), (30, 2), (40, 3)):
        hear(told, "a").run(second)
        assert ({"a": there, "b": 4 - there}, {"a": 1}) == (told.placed(), beside(told))
        assert {"a": there + 1, "b": 4 - there} == given(told)
    hear(told, "a").run(50)

    assert ({"a": 4}, {}, {"a": 4}) == (told.placed(), beside(told), given(told))
    assert [("Successful", "")] == results(told)
    assert {"movedReplicas": 4, "remainingReplicas": 0} == {
        name: count
        for name, count in mapping(told.rebalancer(), "progress").items()
        if name != "lastBatchTime"
    }
    assert () == told.run(51).changes


def test_a_step_is_told() -> None:
    """What starts, until when, what is waited for, and what became ready."""
    told = away().put(rebalancer(limits=SAFE))
    first = told.run(10)
    by = "rebalanced (WorkloadRebalancer demo"
    assert [f"{by}; starts 1 on a to be ready by 2026-11-20T12:01:50Z)"] == causes(first)
    assert after(110) == first.recheck_at
    assert [("", "1 on a to be ready by 2026-11-20T12:01:50Z")] == results(told)
    (wait,) = (one for one in first.waits if one.subject == "default/web")
    assert (after(110), "it waits for 1 on a to be ready") == (wait.until, wait.reason)

    assert [f"{by}; 1 on a ready)"] == causes(hear(told, "a").run(20))


def test_a_report_without_the_mark_of_a_step_is_named() -> None:
    """Whoever reports leaves annotations out, and the step would wait to its end."""
    told = begun()
    hear(told, "a")
    path = "feedback/a/web.yaml"
    key = ObjectKey("work.karmada.io", "ResourceBinding", "default", "web-deployment")
    told.files[path] = told.files[path].replace(STEP, "example.com/note")
    told.run(20)

    copies = copies_in(told.world(), after(20))(key)
    assert {"a": MARKED, "b": ""} == {one.cluster: one.waits_for for one in copies}
    assert {"a": 1} == beside(told)


def test_copies_of_a_step_bear_its_moment() -> None:
    """It goes once they count, and a person's own annotation of that name is not delivered."""
    told = begun(ALL)
    told.put(deployment(replicas=4, cpu="1"))
    notes = mapping(mapping(delivered(told, "a"), "metadata"), "annotations")
    assert "2026-11-20T12:00:10Z" == notes[STEP]
    assert STEP in str(notes["resourcetemplate.karmada.io/managed-annotations"])
    assert STEP not in str(delivered(told, "b"))
    hear(told, "a").run(20)

    assert STEP not in str(delivered(told, "a"))


def test_a_report_of_another_step_is_none() -> None:
    """However many replicas it tells: a late one of an attempt before may tell as many."""
    told = begun(ALL)
    late = hear(told, "a").files.pop("feedback/a/web.yaml")
    told.run(110)
    told.put(rebalancer("again", limits=ALL))
    told.run(120)
    told.files["feedback/a/web.yaml"] = late
    told.run(130)

    assert ({"b": 4}, {"a": 4}) == (told.placed(), beside(told))


def test_what_is_not_ready_in_time_is_given_back_for_good() -> None:
    """What was ready before stays where it is, and others go on."""
    told = away(4, "api", "web").put(rebalancer(limits=SAFE, selector={"kind": "Deployment"}))
    told.run(10)
    hear(told, "a", name="web").run(20)
    hear(told, "a", 1, name="web")
    hear(told, "a", name="api").run(119)
    assert ({"a": 1, "b": 3}, {"a": 1}) == (told.placed(), beside(told))
    told.run(120)

    assert ({"a": 1, "b": 3}, {}) == (told.placed(), beside(told))
    assert ("Failed", "not ready on a by 2026-11-20T12:02:00Z") == results(told)[1]
    assert {"a": 1} == beside(told, "api-deployment")


def test_an_edit_tries_again_what_was_given_back() -> None:
    """With the limits of the edit."""
    told = begun()
    told.run(110)
    assert "Failed" == results(told)[0][0]
    longer = {"makeBeforeBreak": {"deadlineSeconds": 500}}
    told.put(rebalancer(limits=longer)).run(120)

    assert ({"a": 1}, "") == (beside(told), results(told)[0][0])
    hear(told, "a").run(620)
    assert {"a": 1, "b": 3} == told.placed()


def test_replicas_settle_first() -> None:
    """A pass comes when they have been ready for long enough."""
    told = begun({"makeBeforeBreak": {"deadlineSeconds": 100, "settleSeconds": 30}})
    assert after(50) == hear(told, "a").run(20).recheck_at
    assert {"b": 4} == told.placed()
    told.run(50)

    assert {"a": 1, "b": 3} == told.placed()


def test_as_many_run_beside_others_as_may_move() -> None:
    """The limit is over all targets, and what becomes ready makes room for more."""
    told = away(4, "api", "web")
    told.put(rebalancer(limits={**ALL, "maxMoves": 3}, selector={"kind": "Deployment"}))
    told.run(10)
    assert ({"a": 3}, {}) == (beside(told, "api-deployment"), beside(told))
    hear(told, "a", name="api").run(20)

    assert ({"a": 1}, {"a": 2}) == (beside(told, "api-deployment"), beside(told))


def test_whoever_asks_for_it_has_it_for_all() -> None:
    """The strictest limits hold, and who asks for none waits for the same."""
    told = away().put(rebalancer("plain"), rebalancer("safe", limits=SAFE))
    told.put(schedule_trigger("also", target()))
    told.run(10)
    assert ({"b": 4}, {"a": 1}) == (told.placed(), beside(told))
    for second in (20, 30, 40, 50):
        assert "Successful" not in results(told, "plain")[0]
        hear(told, "a").run(second)

    assert {"a": 4} == told.placed()
    assert [("Successful", "")] == results(told, "plain") == results(told, "safe")
    told.run(60)
    trigger = told.output("status/scheduletriggers.policy.karmada.io/also.yaml")
    assert "Success" == mapping(trigger, "status")["phase"]


def trigger_status(told: Story, name: str = "also") -> tuple[object, list[object]]:
    """Phase of a trigger, and why something of it is not done."""
    found = mapping(told.output(f"status/scheduletriggers.policy.karmada.io/{name}.yaml"), "status")
    failed = cast(Sequence[Body], found.get("failedResourceList", ()))
    return found["phase"], [one["failReason"] for one in failed]


def test_a_trigger_makes_before_it_breaks() -> None:
    """It goes on to its goal, and what was not ready in time is not tried again."""
    told = away().put(schedule_trigger("also", target(), limits=SAFE))
    told.run(10)
    assert ({"b": 4}, {"a": 1}) == (told.placed(), beside(told))
    assert ("Running", ["1 on a to be ready by 2026-11-20T12:01:50Z"]) == trigger_status(told)
    for second in (20, 30, 40):
        hear(told, "a").run(second)
    assert ({"a": 3, "b": 1}, {"a": 1}) == (told.placed(), beside(told))
    told.run(140)

    late = ("Failed", ["given up: not ready on a by 2026-11-20T12:02:20Z"])
    assert ({"a": 3, "b": 1}, {}, late) == (told.placed(), beside(told), trigger_status(told))
    told.run(200)
    assert ({"a": 3, "b": 1}, {}, late) == (told.placed(), beside(told), trigger_status(told))
    told.put(schedule_trigger("also", target(), limits=ALL, retryAfterSeconds=5)).run(210)
    assert {} == beside(told)


def test_a_trigger_that_is_ready_in_time_succeeds() -> None:
    """Once the goal is in force."""
    told = away().put(schedule_trigger("also", target(), limits=ALL))
    told.run(10)
    hear(told, "a").run(20)

    assert ({"a": 4}, ("Success", [])) == (told.placed(), trigger_status(told))


def costs(told: Story, memo: Memo | None = None, world: World | None = None) -> int:
    """How many functions a pass calls, over everything without a memory."""
    world, now, count = world or told.world(), told.now + timedelta(seconds=1), 0

    def called(_frame: object, event: str, _argument: object) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(called)
    try:
        reconcile(world, now, memo=memo)
    finally:
        sys.setprofile(None)
    return count


def test_a_hundredth_under_way_costs_a_tenth_at_most() -> None:
    """Of a pass over everything; a step is looked at, and the others as ever."""
    told = away(4, *(f"web{number}" for number in range(200)))
    before = costs(told)
    named = [target(name=f"web{number}") for number in range(2)]
    told.put(rebalancer("demo", *named, limits=SAFE)).run(10)
    assert {"a": 1} == beside(told, "web1-deployment")

    assert costs(told) < 1.1 * before


def relabelled(told: Story, names: Sequence[str], memo: Memo) -> int:
    """What a pass costs that comes to one more label of the last workload, the others at rest."""
    world = None
    for number in range(4):
        world = linked(told.world(), world)
        reconcile(world, told.now, memo=memo)
        told.put(deployment(names[-1], replicas=4, cpu="1", labels={"number": str(number)}))
    return costs(told, memo, linked(told.world(), world))


def test_moves_under_way_cost_a_pass_about_something_else_nothing() -> None:
    """A rebalancer at rest is not asked, however many it moves; law 10 holds what it answers."""
    names = [f"web{number}" for number in range(40)]
    told = away(4, *names)
    before = relabelled(told, names, Memo())
    told.put(rebalancer("demo", *(target(name=name) for name in names[:30]), limits=SAFE)).run(10)
    assert {"a": 1} == beside(told, "web29-deployment")

    assert relabelled(told, names, Memo()) < 1.1 * before


def test_a_step_that_comes_to_something_has_no_other_binding_decided() -> None:
    """It leaves what is moved in batches; of the others, that is told by their own keys."""
    names = [f"web{number}" for number in range(40)]
    told, memo, world = away(4, *names), Memo(), None
    told.put(rebalancer("demo", *(target(name=name) for name in names), limits=ALL)).run(10)
    for number in range(3):
        hear(told, "a", name=names[number])
        world = linked(told.world(), world)
        cost = costs(told, memo, world)
        told.files = applied(told.files, reconcile(world, told.now + timedelta(seconds=1)))
        told.now += timedelta(seconds=1)

    assert {"a": 4} == told.placed("web2-deployment")
    assert cost < 20_000, "each of 39 bindings decided again costs a thousand calls"


def test_a_rebalancer_at_rest_goes_when_its_time_is_over() -> None:
    """It has finished, and nothing but time is left to say something."""
    told, memo, world = away().put(rebalancer(ttl=100)), Memo(), None
    told.run(10)
    for seconds in (20, 30, 200):
        told.now = after(seconds)
        world = linked(told.world(), world)
        outcome = reconcile(world, told.now, memo=memo)
        assert (seconds == 200) == bool(outcome.removals)


METADATA = {**mapping(deployment(), "metadata"), "annotations": {SUSPEND: "true"}}
SUSPENDED = {**deployment(replicas=4, cpu="1"), "metadata": METADATA}
CHANGES: Mapping[str, Callable[[Story], object]] = {
    "suspended": lambda told: told.put(SUSPENDED),
    "without-policy": lambda told: told.drop(policy()),
    "gone": lambda told: told.drop(deployment()),
    "without-rebalancer": lambda told: told.drop(rebalancer()),
    "another-target": lambda told: told.put(rebalancer("demo", target(name="x"), limits=SAFE)),
    "faulty-cluster": lambda told: told.files.update({"cluster/b.yaml": "a: [\n"}),
    "asked-by-another": lambda told: told.put(rebalancer("second", limits=ALL)),
    "ready": lambda told: hear(told, "a"),
    "late": lambda told: setattr(told, "now", told.now + timedelta(seconds=200)),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_rebalancer_at_rest_answers_what_one_that_is_asked_does(change: str) -> None:
    """Whatever its target, its files and time come to."""
    told, memo, world = begun(), Memo(), None
    for _ in range(3):
        world = linked(told.world(), world)
        assert () == reconcile(world, told.now, memo=memo).changes
    CHANGES[change](told)
    for _ in range(3):
        told.now += timedelta(seconds=1)
        world = linked(told.world(), world)
        cold, warm = reconcile(told.world(), told.now), reconcile(world, told.now, memo=memo)
        assert replace(cold, explanations={}) == replace(warm, explanations={})
        told.files = applied(told.files, cold)


# What moves as a whole

DUPLICATED = deployment(replicas=4, cpu="1")


def whole(workload: Body) -> Story:
    """A workload with a copy on b, which reports it, on its way to a since second 10."""
    told = story(cluster("a", taints=[taint()], status=STATUS), cluster("b", status=STATUS))
    kind = {name: workload[name] for name in ("apiVersion", "kind")}
    groups_of = groups(["a"], ["b", "c"])
    told.put(configuration(**OPTIONS), policy(selectors=[kind], placement=groups_of), workload)
    told.run(0)
    told.put(cluster("a", status=STATUS))
    hear_whole(told, "b", workload)
    told.run(1)
    told.put(rebalancer("demo", {**target(), **kind}, limits=SAFE)).run(10)
    return told


def hear_whole(told: Story, where: str, workload: Body) -> Story:
    """A cluster reports what it was given of a workload."""
    if workload["kind"] == "Deployment":
        return hear(told, where)
    path = f"clusters/{where}/default/configmaps/web.yaml"
    body = read(told.files[path].encode(), path).documents[0].body
    told.files[f"feedback/{where}/web.yaml"] = text(report_of({**body, "status": {}}))
    return told


def test_a_duplicated_copy_stays_until_the_new_one_is_ready() -> None:
    """Whatever part of it may be doubled, it is doubled as a whole; and nothing is evicted."""
    told = whole(DUPLICATED)
    assert ({"b": 4}, {"a": 4}, {"a": 4, "b": 4}) == (told.placed(), beside(told), given(told))
    assert () == told.run(15).changes
    hear(told, "a", 3).run(20)
    assert ({"b": 4}, {"a": 4}) == (told.placed(), beside(told))
    hear(told, "a").run(30)

    assert ({"a": 4}, {}, {"a": 4}) == (told.placed(), beside(told), given(told))
    assert [("Successful", "")] == results(told)
    assert "gracefulEvictionTasks" not in str(told.binding())
    assert () == told.run(31).changes


def test_a_whole_copy_that_is_late_is_given_back() -> None:
    """It is where the affinity group of before puts it."""
    told = whole(DUPLICATED)
    told.run(110)

    assert ({"b": 4}, {}, {"b": 4}) == (told.placed(), beside(told), given(told))
    assert [("Failed", "not ready on a by 2026-11-20T12:01:50Z")] == results(told)
    assert () == told.run(111).changes


def test_what_has_no_health_is_ready_once_it_is_reported() -> None:
    """A copy that bears the step is there."""
    settings = configmap("web")
    told = whole(settings)
    named = "web-configmap"
    assert ({"a": 1}, {"b": 0}) == (beside(told, named), told.placed(named))
    hear_whole(told, "a", settings).run(20)

    assert ({}, {"a": 0}) == (beside(told, named), told.placed(named))
    assert [("Successful", "")] == results(told)


def test_a_whole_copy_that_nobody_asks_for_any_more_is_given_back() -> None:
    """As replicas are."""
    told = whole(DUPLICATED)
    told.drop(rebalancer()).run(20)

    assert ({"b": 4}, {}, {"b": 4}) == (told.placed(), beside(told), given(told))


def test_a_whole_copy_whose_source_fails_counts_once_it_is_ready() -> None:
    """The failover itself finds no other cluster in the group of before."""
    told = whole(DUPLICATED)
    told.put(cluster("b", status=STATUS, taints=[taint("down", "NoExecute")])).run(20)
    assert ({}, {"a": 4}) == (told.placed(), beside(told))
    hear(told, "a").run(30)

    assert ({"a": 4}, {}) == (told.placed(), beside(told))


def test_scaling_a_whole_copy_begins_its_step_anew() -> None:
    """With as many as are wanted by now."""
    told = whole(DUPLICATED)
    told.put(deployment(replicas=6, cpu="1")).run(20)

    assert ({"b": 6}, {"a": 6}) == (told.placed(), beside(told))


# What happens in between


def test_scaling_gives_back_what_is_not_ready() -> None:
    """The scheduler divides what is wanted by now, and the next step begins from there."""
    told = begun()
    told.put(deployment(replicas=6, cpu="1")).run(20)

    assert (6, {"a": 2}) == (sum(told.placed().values()), beside(told))
    told.put(deployment(replicas=2, cpu="1")).run(30)

    assert 2 == sum(told.placed().values())


def test_another_template_counts_once_all_replicas_have_it() -> None:
    """A rolling update of what runs beside is waited for."""
    told = begun()
    body = deployment(replicas=4, cpu="1", labels={"version": "2"})
    told.put(body).run(20)
    assert {"a": 1} == beside(told)
    hear(told, "a", 0).run(30)
    assert {"b": 4} == told.placed()
    hear(told, "a").run(40)

    assert {"a": 1, "b": 3} == told.placed()


def test_a_policy_that_means_other_clusters_ends_a_step() -> None:
    """What is given back goes from the clusters, too."""
    told = begun()
    told.put(policy(placement=groups(["b"], replicaScheduling=DYNAMIC))).run(20)

    assert ({"b": 4}, {}, {"b": 4}) == (told.placed(), beside(told), given(told))


def test_clusters_edited_by_hand_end_a_step() -> None:
    """The next one begins from what stands there."""
    told = begun()
    path = "status/resourcebindings.work.karmada.io/default/web-deployment.yaml"
    edited = told.files[path].replace(
        "  clusters:\n  - name: b\n    replicas: 4\n",
        "  clusters:\n  - name: a\n    replicas: 3\n  - name: b\n    replicas: 1\n",
    )
    assert edited != told.files[path]
    told.files[path] = edited
    told.run(20)

    assert ({"a": 3, "b": 1}, {"a": 1}) == (told.placed(), beside(told))


def test_a_workload_that_goes_takes_all_along() -> None:
    """Nothing stays delivered."""
    told = begun()
    told.drop(deployment()).run(20)

    assert {} == given(told)
    assert [("Failed", "ReferencedBindingNotFound")] == results(told)


def test_a_source_that_fails_is_left_at_once() -> None:
    """What runs beside counts for what the failover chooses."""
    told = begun(ALL).put(cluster("c", status=STATUS))
    hear(told, "a", 2)
    told.put(cluster("b", status=STATUS, taints=[taint("down", "NoExecute")])).run(20)

    assert "b" not in told.placed()
    assert 4 == sum(told.placed().values())


def test_a_target_that_fails_gives_back_all_of_it() -> None:
    """The goal cannot be reached, so another schedule afresh looks for one that can."""
    told = begun().put(cluster("a", status=STATUS, taints=[taint()]))
    told.run(20)

    assert ({"b": 4}, {}, {"b": 4}) == (told.placed(), beside(told), given(told))
    assert [("Successful", "")] == results(told)


def test_a_target_that_leaves_the_fleet_gives_back_all_of_it() -> None:
    """As one that fails."""
    told = begun().drop(cluster("a"))
    told.run(20)

    assert ({"b": 4}, {}) == (told.placed(), beside(told))


def test_in_a_freeze_a_step_ends_and_none_begins() -> None:
    """What is ready is taken, and the rest waits for the end of the freeze."""
    told = begun()
    noon = {"schedule": "0 12 * * *", "duration": "1h"}
    told.put(configuration(**OPTIONS, freeze={"windows": [noon]}))
    hear(told, "a").run(20)
    assert ({"a": 1, "b": 3}, {}) == (told.placed(), beside(told))
    assert [("", "it waits for the end of a freeze")] == results(told)
    told.run(3600)

    assert {"a": 1} == beside(told)


@pytest.mark.parametrize(
    ("begin", "folder"),
    [
        pytest.param(begun, "resourcebindings", id="karmada"),
        pytest.param(fleet.begun, "clusterresourcebindings", id="kubefleet"),
        pytest.param(hub.begun, "placementdecisions", id="hub"),
    ],
)
def test_a_step_waits_for_an_output_that_cannot_be_read(
    begin: Callable[[], Story], folder: str
) -> None:
    """The fault and the rebalance say so; once it is restored, what is late is given back."""
    told = begin()
    path = next(path for path in sorted(told.outputs) if f"/{folder}." in path)
    written, told.files[path] = told.files[path], "spec: ["
    told.run(20)
    outcome = told.run(120)
    assert [(path, "output-unreadable")] == [(one.path, one.rule) for one in outcome.faults]
    ((result, waits_for),) = results(told)
    assert ("", True) == (result, "cannot be read" in waits_for)
    told.files[path] = written
    told.run(130)

    ((result, reason),) = results(told)
    assert ("Failed", True) == (result, reason.startswith("not ready on "))


def test_what_is_suspended_is_given_back_at_the_deadline_only() -> None:
    """Nothing is taken of it meanwhile."""
    body = deployment(replicas=4, cpu="1")
    rests = {**mapping(body, "metadata"), "annotations": {SUSPEND: "true"}}
    told = begun().put({**body, "metadata": rests})
    hear(told, "a").run(20)
    assert ({"b": 4}, {"a": 1}) == (told.placed(), beside(told))
    told.run(110)

    assert ({"b": 4}, {}) == (told.placed(), beside(told))
    assert [("Failed", "not ready on a by 2026-11-20T12:01:50Z")] == results(told)


@pytest.mark.parametrize(
    ("ready", "expected"),
    [
        pytest.param(0, {"b": 4}, id="not-ready"),
        pytest.param(None, {"a": 1, "b": 3}, id="ready"),
    ],
)
def test_a_rebalancer_that_is_withdrawn_gives_back_what_is_not_ready(
    ready: int | None, expected: Mapping[str, int]
) -> None:
    """And nothing moves any more."""
    told = begun()
    hear(told, "a", ready).drop(rebalancer()).run(20)

    assert (expected, {}) == (told.placed(), beside(told))
    assert () == told.run(200).changes


def test_an_edited_rebalancer_begins_a_step_of_its_own() -> None:
    """What was ready counts; the new limits hold from then on."""
    told = begun()
    hear(told, "a").put(rebalancer(limits=ALL)).run(20)

    assert ({"a": 1, "b": 3}, {"a": 3}) == (told.placed(), beside(told))


def test_a_quota_counts_what_runs_beside() -> None:
    """Where it has no room for that, the rebalance fails and nothing changes."""
    limited = quota(overall={"cpu": "4"})
    told = away(4, karmada={"federatedQuotaEnforcement": True}).put(limited)
    told.run(5)
    told.put(rebalancer(limits=SAFE)).run(10)

    ((result, why),) = results(told)
    assert ({"b": 4}, {}, "Failed") == (told.placed(), beside(told), result)
    assert "quota" in why


def test_an_hour_counts_what_is_started() -> None:
    """Once, when it is added."""
    told = away(4, safety={"maxRebalancedReplicasPerHour": 1}).put(rebalancer(limits=SAFE))
    told.run(10)
    hear(told, "a").run(20)

    assert ({"a": 1, "b": 3}, {}) == (told.placed(), beside(told))
    hear(told, "a").run(3611)

    assert {"a": 1} == beside(told)


def test_what_clusters_scale_by_themselves_is_refused() -> None:
    """The result says why, and nothing moves."""
    retained = {"resourcetemplate.karmada.io/retain-replicas": "true"}
    told = away().put(deployment(replicas=4, cpu="1", labels=retained))
    told.run(5)
    told.put(rebalancer(limits=SAFE)).run(10)

    ((result, reason),) = results(told)
    assert ({"b": 4}, "Failed") == (told.placed(), result)
    assert reason.startswith("its clusters keep their own number of replicas")


def test_without_any_report_nothing_begins() -> None:
    """Health that is assumed is never ready."""
    told = away()
    del told.files["feedback/b/web.yaml"]
    told.put(rebalancer(limits=SAFE)).run(10)

    assert [("Failed", "no cluster reports it, so nothing could be seen to be ready")] == results(
        told
    )


def test_a_schedule_that_finds_no_place_for_all_moves_nothing() -> None:
    """Neither now nor when there is room again: the demand is over."""
    gold = {"labelSelector": {"matchLabels": {"tier": "gold"}}}
    placement = {"clusterAffinity": gold, "replicaScheduling": DYNAMIC}
    told = story(cluster("b", labels={"tier": "gold"}, status=STATUS))
    told.put(policy(placement=placement), deployment(replicas=4), configuration(**OPTIONS))
    told.run(0)
    small = cluster("a", labels={"tier": "gold"}, status=cluster_status(pods=2))
    hear(told, "b").put(small, cluster("b", status=STATUS), rebalancer(limits=SAFE))
    told.run(10)
    assert {"b": 4} == told.placed()
    told.put(cluster("a", labels={"tier": "gold"}, status=STATUS)).run(20)

    why = "Clusters available replicas 2 are not enough to schedule."
    assert ({"b": 4}, {}) == (told.placed(), beside(told))
    assert [("Failed", why)] == [(one, why) for one, said in results(told) if why in said]


def test_other_apis_refuse_it() -> None:
    """A placement of a hub moves at once, so such a rebalancer fails of it and moves nothing."""
    told = story(*HUB_OF_TWO, hub_placement())
    told.run(0)
    named = {
        "apiVersion": "cluster.open-cluster-management.io/v1beta1",
        "kind": "Placement",
        "name": "p",
        "namespace": "default",
    }
    told.put(rebalancer("demo", named, limits=SAFE)).run(10)

    assert "Failed" == results(told)[0][0]
