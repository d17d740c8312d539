"""Rebalancers in a repository: failover and the way back, what waits, what is still evicted."""

from collections.abc import Callable, Mapping
from itertools import combinations
from typing import cast

import pytest

from reconciler.core.changes import DeleteFile, Outcome, WriteFile
from reconciler.core.message import commit_message
from reconciler.core.rebalances import loses_demands_only
from reconciler.core.reconcile import waiting_since
from reconciler.core.rounds import next_world
from reconciler.manifests.edits.documents import cut
from reconciler.model.decision import OutputChange
from reconciler.model.identity import Origin
from reconciler.model.world import World
from reconciler.rebalance.view import events_of
from tests.builders import (
    DYNAMIC,
    NOTHING,
    NOW,
    Body,
    after,
    cluster,
    cluster_status,
    configmap,
    configuration,
    deployment,
    divided,
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
from tests.core.test_rebalance_triggers import PREFERRED as PLACEMENT
from tests.core.test_rebalance_triggers import ROOMY, results, with_annotation
from tests.core.test_rebalance_triggers import away_from_first as away
from tests.core.test_safety import NOON
from tests.dialects.karmada.api.test_binding import reading
from tests.stories import BINDINGS, REBALANCERS, Story, story

RECORD = f"{REBALANCERS}/demo.yaml"


def story_results(told: Story, name: str = "demo") -> list[str]:
    """The results of a rebalancer's workloads."""
    items = told.rebalancer(name)["observedWorkloads"]
    assert isinstance(items, list)
    return [item.get("result", "") for item in items]


def failed_over() -> Story:
    """Cluster a failed, web moved from group g0 to g1, and a is ready again."""
    placement = groups(["a"], ["b"], replicaScheduling=divided("Aggregated"))
    told = story(
        cluster("a", status=cluster_status(since=after(-900))),
        cluster("b", status=cluster_status(since=after(-900))),
        policy(placement=placement),
        deployment(),
    )
    told.run(0)
    told.put(cluster("a", status=cluster_status("False", since=after(10))))
    told.run(11)
    assert {"a": 2} == told.placed()
    told.run(310)
    assert {"b": 2} == told.placed()
    told.put(cluster("a", status=cluster_status(since=after(1000))))
    return told


def test_nothing_moves_back_on_recovery() -> None:
    """The assignment is inert until somebody asks."""
    told = failed_over()
    for seconds in (1001, 2000, 90_000):
        told.run(seconds)
        assert {"b": 2} == told.placed()


def test_a_rebalancer_moves_back_to_the_first_group() -> None:
    """The trigger starts again at the first group, and is the moment of the admission."""
    told = failed_over()
    told.run(1001)
    told.put(rebalancer())
    outcome = told.run(2000)

    assert {"a": 2} == told.placed()
    assert "2026-11-20T12:33:20Z" == told.rebalancer()["finishTime"]
    assert ["rebalanced (WorkloadRebalancer demo)"] == [str(d.cause) for d in outcome.decisions]
    told.run(2060)
    assert () == told.run(3000).changes


def test_a_workload_and_its_rebalancer_may_come_in_one_commit() -> None:
    """The binding exists by the time the rebalancer asks."""
    told = story(cluster(), policy(), deployment(), rebalancer())
    told.run(0)

    assert ["Successful"] == story_results(told)


def test_a_missing_workload_is_not_tried_again() -> None:
    """It is Failed for good, even when it appears."""
    told = story(cluster(), policy(), rebalancer())
    told.run(0)
    told.put(deployment())
    told.run(10)

    assert ["Failed"] == story_results(told)


@pytest.mark.parametrize(
    "broken",
    [
        pytest.param({**deployment(), "metadata": {"name": "web", "namespace": 7}}, id="faulty"),
        pytest.param("a: [\n", id="held"),
    ],
)
def test_a_target_that_is_held_is_waited_for(broken: Body | str) -> None:
    """It is triggered when its file is mended, with the date of that pass."""
    told = story(cluster(), policy(), deployment())
    told.run(0)
    told.files[path_of(deployment())] = broken if isinstance(broken, str) else text(broken)
    told.put(rebalancer(ttl=0))
    told.run(10)
    assert [""] == story_results(told)
    told.put(deployment())
    told.run(20)

    assert "workloadrebalancer/demo.yaml" not in told.files
    assert 'rescheduleTriggeredAt: "2026-11-20T12:00:20Z"' in told.files[_binding()]


def _binding() -> str:
    return "status/resourcebindings.work.karmada.io/default/web-deployment.yaml"


def test_a_target_whose_binding_cannot_be_read_is_waited_for() -> None:
    """A trigger would be lost, since the file is left as it is."""
    told = story(cluster(), policy(), deployment())
    told.run(0)
    told.files[_binding()] = "a: [\n"
    told.put(rebalancer())
    told.run(10)

    assert [""] == story_results(told)
    assert "a: [\n" == told.files[_binding()]


def test_a_rebalancer_whose_record_cannot_be_read_waits() -> None:
    """Taken as new it would trigger at every pass."""
    told = story(cluster(), policy(), deployment(), rebalancer())
    told.run(0)
    told.files[RECORD] = "a: [\n"
    told.run(10)

    assert () == told.run(20).changes
    assert 'rescheduleTriggeredAt: "2026-11-20T12:00:00Z"' in told.files[_binding()]


def test_a_workload_added_later_is_triggered_when_the_edit_is_seen() -> None:
    """Not at the creation, which would be before its last scheduling."""
    told = story(cluster(), policy(), deployment(), rebalancer())
    told.run(0)
    told.put(deployment("api"))
    told.run(100)
    told.put(rebalancer("demo", target(), target(name="api")))
    told.run(200)

    assert "2026-11-20T12:03:20Z" in str(told.binding("api-deployment")["spec"])
    assert "2026-11-20T12:03:20Z" in str(told.binding("api-deployment")["status"])
    assert ["Successful", "Successful"] == story_results(told)


def test_a_finished_rebalancer_goes_with_its_file() -> None:
    """The file and the record go when its time to live is over, no second earlier."""
    told = story(cluster(), policy(), deployment(), rebalancer(ttl=30))
    assert after(30) == told.run(0).recheck_at
    assert () == told.run(29).changes
    changes = told.run(30).changes

    assert DeleteFile("workloadrebalancer/demo.yaml") in changes
    assert DeleteFile(RECORD) in changes
    assert "workloadrebalancer/demo.yaml" not in told.files


def test_only_its_document_goes_from_a_file_with_others() -> None:
    """Comments and the other documents stay as they are, byte for byte."""
    first, last = "# kept\n" + text(configured := deployment()), "# also kept\n" + text(cluster())
    told = story(policy())
    told.files["all.yaml"] = f"{first}---\n{text(rebalancer(ttl=0))}---\n{last}"
    changes = told.run(0).changes

    assert WriteFile("all.yaml", f"{first}---\n{last}") in changes
    assert {"a": 2} == told.placed(f"{configured['metadata']['name']}-deployment")  # type: ignore[index]
    assert () == told.run(0).changes


@pytest.mark.parametrize(
    "tail",
    [
        pytest.param("a: [\n", id="not-yaml"),
        pytest.param(text({**cluster("b"), "spec": 7}), id="not-valid"),
    ],
)
def test_it_stays_while_its_file_is_faulty(tail: str) -> None:
    """Documents of a faulty file cannot be told apart for sure."""
    told = story(cluster(), policy(), deployment())
    told.files["r.yaml"] = f"{text(rebalancer(ttl=0))}---\n{tail}"
    told.run(0)
    assert "r.yaml" in told.files
    told.files["r.yaml"] = text(rebalancer(ttl=0))
    told.run(10)

    assert "r.yaml" not in told.files


def seen(world: World) -> dict[str, dict[str, tuple[Origin, Mapping[str, object]]]]:
    """What stands where in a world."""
    return {
        side: {str(key): (one.origin, one.body) for key, one in manifests.items()}
        for side, manifests in (("inputs", world.inputs), ("outputs", world.outputs))
    }


def test_the_world_after_a_pass_is_the_one_that_is_read_then() -> None:
    """Though an output goes and one stays, and a document goes from between others of its file."""
    told = story(policy(), cluster("b"), deployment("gone"), deployment("unchanged"))
    documents = (deployment(), rebalancer(ttl=0), cluster())
    told.files["all.yaml"] = "---\n".join(map(text, documents))
    told.run(0)
    told.drop(deployment("gone"))
    told.files["all.yaml"] = "---\n".join(map(text, documents))
    before = told.world()
    outcome = told.run(10)
    deleted = [one.path for one in outcome.changes if isinstance(one, DeleteFile)]

    assert f"{BINDINGS}/default/gone-deployment.yaml" in deleted
    assert "rebalancer" not in told.files["all.yaml"].lower()
    assert seen(told.world()) == seen(next_world(before, outcome))


DEMAND_AND_MORE = (
    text(rebalancer("one", target(name="web"))),
    text(deployment()),
    text(rebalancer("two", target(name="web"))),
)


@pytest.mark.parametrize("size", range(len(DEMAND_AND_MORE) + 1))
def test_a_file_may_lose_its_demands_and_nothing_else(size: int) -> None:
    """Whichever documents go: the workload may not, and what stays has the same bytes."""
    before = "---\n".join(DEMAND_AND_MORE).encode()
    for gone in combinations(range(len(DEMAND_AND_MORE)), size):
        rest = before
        for index in reversed(gone):
            rest = cut(rest, index)
        is_allowed = 1 not in gone

        assert is_allowed == loses_demands_only(before, rest or None, "all.yaml"), gone
        assert not loses_demands_only(before, rest + b"# more\n", "all.yaml"), gone


def test_a_file_of_demands_alone_may_go() -> None:
    """Emptied it is not gone: a pass removes it then."""
    before = "---\n".join((DEMAND_AND_MORE[0], DEMAND_AND_MORE[2])).encode()

    assert loses_demands_only(before, None, "all.yaml")
    assert not loses_demands_only(before, b"", "all.yaml")
    assert not loses_demands_only(text(deployment()).encode(), None, "all.yaml")


def test_a_changed_time_to_live_counts_from_the_edit() -> None:
    """An edit renews the finish time, as upstream does."""
    told = story(cluster(), policy(), deployment(), rebalancer(ttl=30))
    told.run(0)
    told.put(rebalancer(ttl=20))

    assert after(39) == told.run(19).recheck_at


def test_of_several_rebalancers_the_latest_trigger_counts() -> None:
    """The target carries one trigger, and all who ask for it are named."""
    told = story(cluster(), policy(), deployment(), rebalancer("one"))
    told.run(0)
    told.put(rebalancer("two"), rebalancer("also"))
    outcome = told.run(50)

    assert (
        ["Successful"]
        == story_results(told, "one")
        == story_results(told, "two")
        == story_results(told, "also")
    )
    assert ["rebalanced (WorkloadRebalancer also, WorkloadRebalancer two)"] == [
        str(d.cause) for d in outcome.decisions
    ]
    assert [True] == [decision.stays for decision in outcome.decisions]
    assert "2026-11-20T12:00:50Z" in str(told.binding()["spec"])


WEB, POLICY = path_of(deployment()), path_of(policy())
SETTINGS = path_of(configmap())
ELSEWHERE = policy("q", placement=PLACEMENT, schedulerName="another")
SUSPENDED = "reconciler.dev/suspend"
Act = Callable[[Story], object]


def message(outcome: Outcome) -> str:
    """The commit message of a pass."""
    return commit_message(outcome, NOTHING, now=NOW, version="1")


def waits(told: Story, name: str = "demo") -> str:
    """What a rebalancer of one workload waits for."""
    [item] = cast(list[Body], told.rebalancer(name)["observedWorkloads"])
    return str(item.get("waitsFor", ""))


def unclaimed() -> Story:
    """Web on cluster b though a is clean again, and its policy is deleted."""
    told = away()
    told.drop(policy()).run(2)
    return told


def break_web(told: Story) -> None:
    """Break the file of the workload."""
    told.files[WEB] = "kind: Deployment\na: [\n"


def forget_placement(told: Story) -> None:
    """Take the placement out of the binding that no policy claims."""
    told.drop(policy()).run(5)
    path = "status/resourcebindings.work.karmada.io/default/web-deployment.yaml"
    head, _, rest = told.files[path].partition("  placement:\n")
    body = rest.splitlines(keepends=True)
    while body and body[0].startswith("    "):
        body.pop(0)
    told.files[path] = head + "".join(body)


BLOCKED: tuple[tuple[str, Act, str], ...] = (
    ("faulty", break_web, f"its file cannot be understood ({WEB}:3)"),
    (
        "suspended",
        lambda told: told.put(with_annotation(deployment(), SUSPENDED, "true")),
        f"it is suspended by {SUSPENDED} ({WEB}:1)",
    ),
    (
        "policy-suspended",
        lambda told: told.put(with_annotation(policy(placement=PLACEMENT), SUSPENDED, "true")),
        f"PropagationPolicy p suspends its scheduling ({POLICY}:1)",
    ),
    (
        "another-scheduler",
        lambda told: told.drop(policy()).put(ELSEWHERE),
        f"it is for the scheduler another ({path_of(ELSEWHERE)}:1)",
    ),
    (
        "unclaimed",
        forget_placement,
        f"no policy claims it, and its binding has no placement ({WEB}:1)",
    ),
    (
        "frozen-window",
        lambda told: told.put(
            configuration(freeze={"windows": [NOON]}),
            path="reconciler.yaml",
        ),
        "it waits for the end of a freeze",
    ),
)


@pytest.mark.parametrize(("act", "why"), [pytest.param(a, w, id=i) for i, a, w in BLOCKED])
def test_a_rebalancer_says_what_it_waits_for(act: Act, why: str) -> None:
    """In its record, in the commit and as an event, once, with file and line."""
    told = away()
    act(told)
    outcome = told.put(rebalancer()).run(10)
    record = told.output(f"{REBALANCERS}/demo.yaml")
    key = next(key for key in told.world().outputs if key.kind == "WorkloadRebalancer")
    change = OutputChange(key=key, before={}, after=record)
    events = [event for _, event in events_of(change)]

    assert ("", why) == (results(told)[0][1], waits(told))
    assert f"- WorkloadRebalancer demo waits for Deployment default/web: {why}" in message(outcome)
    assert [("RebalanceWaits", f"Deployment default/web: {why}")] == [
        (event.reason, event.message) for event in events
    ]
    assert () == told.run(20).waiting


def test_a_trigger_says_what_it_waits_for() -> None:
    """In its list of what failed, while its phase is Running."""
    told = away()
    break_web(told)
    outcome = told.put(schedule_trigger("demo", policies=["p"])).run(10)
    body = told.output("status/scheduletriggers.policy.karmada.io/demo.yaml")
    [failed] = cast(list[Body], cast(Body, body["status"])["failedResourceList"])

    why = f"its file cannot be understood ({WEB}:3); it is triggered once it can be scheduled"
    assert ("Running", why) == (cast(Body, body["status"])["phase"], failed["failReason"])
    assert f"- ScheduleTrigger demo waits for Deployment default/web: {why}" in message(outcome)


def test_what_is_waited_for_goes_when_it_is_mended() -> None:
    """The record has the result then, and nothing else."""
    told = away()
    break_web(told)
    told.put(rebalancer()).run(10)
    told.put(deployment()).run(20)

    assert ("Successful", "") == (results(told)[0][1], waits(told))


def test_names_in_what_is_waited_for_forge_nothing() -> None:
    """A name with line breaks stays within its line of the commit."""
    told = away()
    told.drop(policy())
    told.put(policy("q", placement=PLACEMENT, schedulerName="x\n\nReconciled-From: 1"))
    outcome = told.put(rebalancer()).run(10)

    assert "\nReconciled-From: 1\n" not in message(outcome)


# Without a policy


@pytest.mark.parametrize(
    "demand",
    [
        pytest.param(rebalancer(ttl=0), id="named"),
        pytest.param(rebalancer(selector={"kind": "Deployment"}, ttl=0), id="selected"),
        pytest.param(
            schedule_trigger(
                "demo",
                *cast(list[Body], [rebalancer()["spec"]])[:0],
                targetRefResource=[
                    {
                        "apiVersion": "apps/v1",
                        "kind": "Deployment",
                        "name": "web",
                        "namespace": "default",
                    }
                ],
            ),
            id="triggered",
        ),
    ],
)
def test_a_rebalance_without_a_policy_goes_by_the_placement_of_the_binding(demand: Body) -> None:
    """As the proposal of WorkloadRebalancer has it; the commit says so, and nothing waits."""
    told = unclaimed()
    outcome = told.put(demand).run(10)

    assert {"a": 2} == told.placed()
    assert () == outcome.waiting
    assert ["by the placement of its binding, since no policy claims it"] == [
        found.cause.detail.partition(", ")[2] for found in outcome.decisions
    ]
    assert () == told.run(11).changes or () == told.run(12).changes


def scale(told: Story) -> None:
    """More replicas are wanted."""
    told.put(deployment(replicas=5))


def evict(told: Story) -> None:
    """The cluster that it is on is tainted."""
    told.put(cluster("b", taints=[taint(effect="NoExecute")], status=ROOMY))


@pytest.mark.parametrize(
    ("act", "expected"), [(scale, {"b": 2}), (evict, {})], ids=["scaled", "evicted"]
)
def test_nothing_else_schedules_what_no_policy_claims(act: Act, expected: Body) -> None:
    """As upstream's event filter has it: neither scaling nor an eviction does."""
    told = unclaimed()
    act(told)
    told.run(10)

    assert expected == told.placed()


def test_batches_go_on_without_a_policy() -> None:
    """They are parts of one run."""
    told = unclaimed().put(rebalancer(limits={"maxMoves": 1, "intervalSeconds": 30}))
    seen = []
    for seconds in (10, 50):
        told.run(seconds)
        seen.append(told.placed())

    assert [{"a": 1, "b": 1}, {"a": 2}] == seen
    assert [("web", "Successful")] == results(told)


def test_a_workload_that_was_never_claimed_has_no_binding() -> None:
    """There is no placement to go by, so that this fails for good, as upstream."""
    told = story(cluster("a"), deployment(), rebalancer())
    told.run(0)

    assert [("web", "Failed")] == results(told)


def test_what_others_need_waits_in_the_pass_that_carries_it_first() -> None:
    """Its binding comes in that very pass, so that it is there to be waited for."""
    settings = rebalancer("demo", target("ConfigMap", "settings"))
    told = story(cluster("a"), reading(), configmap(), policy(propagateDeps=True), settings)
    told.run(0)
    first = (results(told), waits(told))
    told.run(1)

    why = f"no policy claims it: it is where the workloads are that need it ({SETTINGS}:1)"
    assert ([("settings", "")], why) == first
    assert first == (results(told), waits(told))


def test_what_others_need_is_rebalanced_once_a_policy_claims_it() -> None:
    """A policy of its own has it scheduled."""
    settings = rebalancer("demo", target("ConfigMap", "settings"))
    told = story(cluster("a"), reading(), configmap(), policy(propagateDeps=True), settings)
    told.run(0)
    told.put(policy("own", selectors=[selector("ConfigMap")])).run(1)

    assert ([("settings", "Successful")], "") == (results(told), waits(told))


def test_what_is_told_of_waiting_is_news() -> None:
    """A record that says the same as before adds nothing to the commit."""
    told = away()
    break_web(told)
    told.put(rebalancer()).run(10)
    outputs = told.world().outputs
    records = {key: one.body for key, one in outputs.items() if key.kind == "WorkloadRebalancer"}

    assert 1 == len(waiting_since(records, {}))
    assert () == waiting_since(records, outputs)
    assert "waitsFor" in text(*records.values())


ROOMY_STATUS = cluster_status(pods=100)
NOTE = "a not chosen while it is being evicted from: rebalance again later"
WAITING = {"waitForEviction": True}


def evicted() -> Story:
    """Web left a for b and is still being evicted from there; a is clean again."""
    told = story(cluster("a", status=ROOMY_STATUS), cluster("b", status=ROOMY_STATUS), deployment())
    told.put(policy(placement=groups(["a"], ["b"], replicaScheduling=DYNAMIC)))
    told.put(configuration(feedback={"assumeAfterSeconds": None}), path="reconciler.yaml")
    told.run(0)
    told.put(cluster("a", taints=[taint(effect="NoExecute")], status=ROOMY_STATUS)).run(10)
    assert {"b": 2} == told.placed()
    told.put(cluster("a", status=ROOMY_STATUS)).run(20)
    return told


def observed(told: Story) -> Body:
    """How the one workload of the rebalancer stands."""
    [item] = cast(list[Body], told.rebalancer()["observedWorkloads"])
    return {name: value for name, value in item.items() if name != "workload"}


def test_a_rebalance_that_an_eviction_keeps_from_its_cluster_says_so() -> None:
    """In the result and the commit; it is over, so another one is needed."""
    told = evicted()
    outcome = told.put(rebalancer()).run(30)

    assert {"result": "Successful", "note": NOTE} == observed(told)
    assert f"rebalanced (WorkloadRebalancer demo; {NOTE})" in message(outcome)
    told.run(1000)
    assert {"b": 2} == told.placed()
    told.put(rebalancer("again")).run(1010)
    assert {"a": 2} == told.placed()


def test_a_trigger_says_so_in_the_commit() -> None:
    """Its status tells only of what failed."""
    told = evicted()

    assert f"ScheduleTrigger demo; {NOTE}" in message(
        told.put(schedule_trigger("demo", policies=["p"])).run(30)
    )


def test_what_a_rebalancer_waits_for_changes_with_the_evictions() -> None:
    """Another cluster is left meanwhile; then the first of the two is over, before the second."""
    told = evicted()
    told.put(cluster("c", status=ROOMY_STATUS))
    told.put(policy(placement=groups(["a"], ["b"], ["c"], replicaScheduling=DYNAMIC)))
    told.put(rebalancer(limits=WAITING)).run(30)
    first = observed(told)
    told.put(cluster("b", taints=[taint(effect="NoExecute")], status=ROOMY_STATUS)).run(40)
    both = observed(told)
    told.put(cluster("b", status=ROOMY_STATUS)).run(50)
    told.run(615)

    assert [
        {"waitsFor": f"it is still being evicted from {names}"} for names in ("a", "a, b", "b")
    ] == [first, both, observed(told)]
    told.run(645)
    assert {"result": "Successful"} == observed(told)
    assert {"a": 2} == told.placed()


@pytest.mark.parametrize("limits", [WAITING, {**WAITING, "maxMoves": 5}])
def test_a_rebalancer_may_wait_for_the_end_of_the_eviction(limits: Body) -> None:
    """It says so, and goes in the pass that ends it, without another one."""
    told = evicted()
    first = told.put(rebalancer(limits=limits)).run(30)
    assert {"waitsFor": "it is still being evicted from a"} == observed(told)
    assert first.recheck_at is not None
    told.now = first.recheck_at
    for _ in range(2):
        told.run()

    assert {"a": 2} == told.placed()
    assert {"result": "Successful"} == observed(told)


def test_an_eviction_that_changes_nothing_is_not_told() -> None:
    """Where the cluster that is left would not be chosen anyway."""
    told = evicted()
    told.put(policy(placement=groups(["b"], replicaScheduling=DYNAMIC))).run(25)
    told.put(rebalancer()).run(30)

    assert {"result": "Successful"} == observed(told)
