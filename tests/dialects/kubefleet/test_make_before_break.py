"""A placement that is made before it breaks, through whole passes, with what clusters report."""

from collections.abc import Mapping, Sequence
from typing import cast

import pytest

from reconciler.core.changes import Outcome
from reconciler.imports.importers import report_of
from reconciler.manifests.admission import SUSPEND
from reconciler.manifests.text.reader import read
from reconciler.model.fields import mapping
from reconciler.rebalance.surge import STEP, surge_in
from tests.builders import Body, after, configuration, deployment, metadata, rebalancer, text
from tests.dialects.kubefleet.fleet import (
    GROUP,
    PLACEMENT,
    PLACEMENTS,
    bindings,
    eviction,
    fixed,
    member,
    pick,
    placement,
    states,
)
from tests.dialects.kubefleet.rollout.test_works import says, snapshot_of, work
from tests.stories import Story, story

SAFE: Body = {"makeBeforeBreak": {"deadlineSeconds": 100}}
ALL: Body = {"makeBeforeBreak": {"deadlineSeconds": 100, "maxSurgePercent": 100}}
FULL = ({"key": "full", "effect": "NoSchedule"},)
WEB = {"apiVersion": f"{GROUP}/v1beta1", "kind": PLACEMENT, "name": "web"}
ROLLING: Body = {"rollingUpdate": {"maxUnavailable": "100%", "maxSurge": "100%"}}
OPTIONS: Body = {
    "feedback": {"assumeAfterSeconds": None},
    "delivery": {"folders": {"path": "clusters/{cluster}"}},
}


def delivered(told: Story, where: str) -> Body:
    """What a cluster is given of the Deployment, empty if nothing."""
    path = f"clusters/{where}/default/deployments.apps/web.yaml"
    return read(told.files[path].encode(), path).documents[0].body if path in told.files else {}


def hear(told: Story, where: str, ready: int = 2) -> Story:
    """A cluster reports what it was given, with so many replicas of two ready."""
    body, path = delivered(told, where), f"feedback/{where}/web.yaml"
    if not body:
        told.files.pop(path, None)
        return told
    own = {**mapping(body, "metadata"), "uid": "1", "generation": 7}
    status = {"observedGeneration": 7, "replicas": 2, "updatedReplicas": 2}
    status["availableReplicas"] = ready
    told.files[path] = text(report_of({**body, "metadata": own, "status": status}))
    return told


def web(policy: Body | None = None, strategy: Body | None = None) -> Body:
    """The placement, which may go as fast as it likes."""
    return placement(pick(1) if policy is None else policy, strategy=strategy or ROLLING)


def away(policy: Body | None = None, *names: str, strategy: Body | None = None) -> Story:
    """Web on the lesser names, which report it, since the greater were full; now they are not."""
    names = names or ("a", "b")
    half = len(names) // 2
    told = story(*map(member, names[:half]), *(member(n, taints=FULL) for n in names[half:]))
    told.put(web(policy, strategy), deployment(replicas=2), configuration(**OPTIONS))
    told.run(0)
    for name in names[:half]:
        hear(told, name)
    told.put(*(member(name) for name in names[half:])).run(1)
    return told


def begun(limits: Body = ALL, policy: Body | None = None, *names: str, **more: Body) -> Story:
    """A step under way since second 10."""
    told = away(policy, *names, **more).put(rebalancer("demo", WEB, limits=limits, ttl=None))
    told.run(10)
    return told


def beside(told: Story) -> list[str]:
    """The clusters that are to be available before others are left."""
    surge = surge_in(told.output(f"{PLACEMENTS}/web.yaml"))
    return [] if surge is None else sorted(surge.doubled)


def given(told: Story) -> str:
    """The clusters that are given something."""
    return "".join(name for name in "abcdef" if delivered(told, name))


def result(told: Story, name: str = "demo") -> tuple[str, str]:
    """Result of the placement, and why it failed or waits."""
    (one,) = cast(Sequence[Mapping[str, str]], told.rebalancer(name)["observedWorkloads"])
    return one.get("result", ""), one.get("reason", one.get("waitsFor", ""))


def causes(outcome: Outcome) -> list[str]:
    """Why what moved."""
    return [str(one.cause) for one in outcome.decisions]


def test_what_is_left_goes_once_what_replaces_it_is_available() -> None:
    """However many the rollout may take away: until then both are given it."""
    told = begun()
    assert {"a": "Unscheduled", "b": "Bound"} == states(told)
    assert (["b"], "ab") == (beside(told), given(told))
    hear(told, "b", 1).run(20)
    assert {"a": "Unscheduled", "b": "Bound"} == states(told)
    hear(told, "b").run(30)

    assert ({"b": "Bound"}, [], "b") == (states(told), beside(told), given(told))
    assert ("Successful", "") == result(told)
    assert () == told.run(31).changes


def test_a_step_is_told() -> None:
    """What starts, until when, what is waited for, and what became ready."""
    told = away().put(rebalancer("demo", WEB, limits=ALL, ttl=None))
    first = told.run(10)
    by = "rebalanced (WorkloadRebalancer demo"
    assert [f"{by}; starts 1 on b to be ready by 2026-11-20T12:01:50Z)"] == causes(first)
    assert after(110) == first.recheck_at
    assert ("", "1 on b to be ready by 2026-11-20T12:01:50Z") == result(told)
    (wait,) = (one for one in first.waits if one.key.kind == PLACEMENT)
    assert (after(110), "it waits for 1 on b to be ready") == (wait.until, wait.reason)

    assert [f"{by}; 1 on b ready)"] == causes(hear(told, "b").run(20))


def test_what_is_not_available_in_time_is_given_back() -> None:
    """The new binding goes, and the old one has the state that it had."""
    told = begun()
    hear(told, "b", 1).run(109)
    assert {"a": "Unscheduled", "b": "Bound"} == states(told)
    outcome = told.run(110)

    assert ({"a": "Bound"}, [], "a") == (states(told), beside(told), given(told))
    assert ("Failed", "not ready on b by 2026-11-20T12:01:50Z") == result(told)
    assert ["rebalanced (WorkloadRebalancer demo; 1 on b given back)"] == causes(outcome)
    assert () == told.run(111).changes
    assert "reconciler.dev/moving-to" not in told.files[f"{PLACEMENTS}/web.yaml"]


def test_nothing_is_assumed_of_a_step() -> None:
    """Neither after a silence nor after the period for what cannot be tracked."""
    told = away().put(configuration(**{**OPTIONS, "feedback": {"assumeAfterSeconds": 5}}))
    told.run(5)
    told.put(rebalancer("demo", WEB, limits=ALL, ttl=None)).run(10)
    told.run(100)

    assert {"a": "Unscheduled", "b": "Bound"} == states(told)


def test_a_report_of_another_step_is_none() -> None:
    """A late one of an attempt that was given back says nothing of this one."""
    told = begun()
    late = hear(told, "b").files.pop("feedback/b/web.yaml")
    assert STEP in late
    told.run(110)
    told.put(rebalancer("again", WEB, limits=ALL, ttl=None)).run(120)
    told.files["feedback/b/web.yaml"] = late
    told.run(130)

    assert ({"a": "Unscheduled", "b": "Bound"}, ["b"]) == (states(told), beside(told))


def test_a_work_counts_if_it_has_become_available_since() -> None:
    """Of the snapshot that its cluster has; one of before may be of another step."""
    told = begun()
    before = work(snapshot_of(told, "b"), "b", Applied="True", Available="True")
    says(told, before, "b").run(20)
    assert ["b"] == beside(told)
    since = text(before).replace("12:00:00Z", "12:00:25Z")
    told.files["feedback/b/work.yaml"] = since.replace(snapshot_of(told, "b"), "web-7-snapshot")
    told.run(30)
    assert ["b"] == beside(told)
    told.files["feedback/b/work.yaml"] = since
    told.run(40)

    assert {"b": "Bound"} == states(told)


def test_what_was_applied_long_ago_is_not_available() -> None:
    """The period for what cannot be tracked is no report."""
    told = begun()
    body = work(snapshot_of(told, "b"), "b", Applied="True", Available="True")
    untracked = text(body).replace("12:00:00Z", "12:00:25Z").replace("Reported", "WorkNotTrackable")
    told.files["feedback/b/work.yaml"] = untracked
    told.run(100)

    assert (["b"], {"a": "Unscheduled", "b": "Bound"}) == (beside(told), states(told))


SIX = "abcdef"


def test_a_step_exchanges_as_many_as_may_be_doubled() -> None:
    """A quarter of three clusters is one; each that is available is followed by the next."""
    told = begun(SAFE, pick(3), *SIX)
    assert (["d"], {"a": "Bound", "b": "Bound", "c": "Unscheduled", "d": "Bound"}) == (
        beside(told),
        states(told),
    )
    hear(told, "d").run(20)
    assert (["e"], "abde") == (beside(told), given(told))
    hear(told, "e").run(30)
    hear(told, "f").run(40)

    assert (dict.fromkeys("def", "Bound"), "def") == (states(told), given(told))
    assert ("Successful", "") == result(told)


def test_each_that_is_available_lets_one_go() -> None:
    """What is not available by the deadline is given back, the rest stays."""
    told = begun(ALL, pick(3), *SIX)
    assert (["d", "e", "f"], SIX) == (beside(told), given(told))
    hear(told, "e").run(20)
    assert (["d", "f"], "abdef") == (beside(told), given(told))
    told.run(110)

    assert ("abe", dict.fromkeys("abe", "Bound")) == (given(told), states(told))
    assert ("Failed", "not ready on d, f by 2026-11-20T12:01:50Z") == result(told)


@pytest.mark.parametrize(
    ("limits", "strategy"),
    [
        pytest.param({**ALL, "maxMoves": 2}, ROLLING, id="max-moves"),
        pytest.param(ALL, {"rollingUpdate": {"maxSurge": 2}}, id="max-surge"),
    ],
)
def test_the_smallest_bound_counts(limits: Body, strategy: Body) -> None:
    """What the rebalancer may move, and what the rollout may add."""
    told = begun(limits, pick(3), *SIX, strategy=strategy)

    assert ["d", "e"] == beside(told)


def test_whoever_asks_for_it_has_it_for_all() -> None:
    """Who asks for none waits for the same."""
    told = away().put(rebalancer("plain", WEB, ttl=None))
    told.put(rebalancer("demo", WEB, limits=ALL, ttl=None)).run(10)
    assert ("ab", "") == (given(told), result(told, "plain")[0])
    hear(told, "b").run(20)

    assert ("b", "Successful", "Successful") == (
        given(told),
        result(told, "plain")[0],
        result(told)[0],
    )


def test_a_cluster_that_is_to_be_left_is_not_chosen() -> None:
    """Though what is there puts up with whatever it has."""
    told = away().put(rebalancer("home", WEB, limits=ALL, ttl=None))
    told.run(10)
    hear(told, "b").run(20)
    assert {"b": "Bound"} == states(told)
    told.put(rebalancer("demo", WEB, limits=ALL, ttl=None, leaving=["b"])).run(30)

    assert (["a"], {"a": "Bound", "b": "Unscheduled"}) == (beside(told), states(told))


# What happens in between


def test_a_step_that_nobody_asks_for_any_more_is_given_back() -> None:
    """What is available by then is kept."""
    told = begun(ALL, pick(3), *SIX)
    hear(told, "d")
    told.drop(rebalancer("demo", WEB)).run(20)

    assert (dict.fromkeys("abd", "Bound"), "abd") == (states(told), given(told))


def test_another_number_of_clusters_ends_a_step() -> None:
    """The scheduler counts from what is placed."""
    told = begun()
    told.put(web(pick(2))).run(20)

    assert (dict.fromkeys("ab", "Bound"), []) == (states(told), beside(told))
    told.put(web(pick(1))).run(30)
    assert 1 == len([state for state in states(told).values() if state == "Bound"])


def test_another_policy_ends_a_step() -> None:
    """The next one begins from what is placed, if the new policy wants another place."""
    told = begun()
    only = {
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "clusterSelectorTerms": [{"labelSelector": {"matchLabels": {"x": "y"}}}]
        }
    }
    told.put(member("a", labels={"x": "y"}))
    told.put(web(pick(1, affinity={"clusterAffinity": only}))).run(20)

    assert ({"a": "Bound"}, "a", ("Successful", "")) == (states(told), given(told), result(told))


def test_another_template_counts_once_it_is_available() -> None:
    """A rolling update of what runs beside is waited for."""
    told = begun()
    told.put(deployment(replicas=2, labels={"version": "2"})).run(20)
    assert ["b"] == beside(told)
    hear(told, "b", 0).run(30)
    assert ["b"] == beside(told)
    hear(told, "b").run(40)

    assert {"b": "Bound"} == states(told)


def test_a_placement_that_goes_takes_all_along() -> None:
    """Nothing stays delivered."""
    told = begun()
    told.drop(web()).run(20)

    assert ("", {}) == (given(told), states(told))


def test_a_source_that_leaves_the_fleet_is_not_waited_for() -> None:
    """What was to replace it counts from now on, available or not."""
    told = begun()
    told.drop(member("a")).run(20)

    assert ({"b": "Bound"}, []) == (states(told), beside(told))
    assert ("Successful", "") == result(told)


def test_a_source_that_is_evicted_is_not_waited_for() -> None:
    """An eviction deletes the binding that a step kept."""
    told = begun()
    told.put(eviction("a")).run(20)

    assert ({"b": "Bound"}, []) == (states(told), beside(told))


@pytest.mark.parametrize("fails", [member("b", taints=FULL), None], ids=["taint", "gone"])
def test_a_target_that_fails_gives_back_all_of_it(fails: Body | None) -> None:
    """The goal cannot be reached, so another schedule afresh looks for one that can."""
    told = begun()
    told = told.drop(member("b")) if fails is None else told.put(fails)
    told.run(20)

    assert ({"a": "Bound"}, "a", []) == (states(told), given(told), beside(told))
    assert ("Successful", "") == result(told)


def test_in_a_freeze_a_step_ends_and_none_begins() -> None:
    """What is available is taken, and the rest waits for the end of the freeze."""
    told = begun(SAFE, pick(3), *SIX)
    noon = {"schedule": "0 12 * * *", "duration": "1h"}
    told.put(configuration(**OPTIONS, freeze={"windows": [noon]}))
    hear(told, "d").run(20)
    assert (dict.fromkeys("abd", "Bound"), []) == (states(told), beside(told))
    told.run(3600)

    assert ["e"] == beside(told)


def test_of_what_is_suspended_only_the_deadline_acts() -> None:
    """Nothing is taken of it, and then it is given back."""
    body = web()
    rests = {**body, "metadata": {**metadata("web"), "annotations": {SUSPEND: "true"}}}
    told = begun().put(rests)
    assert after(110) == hear(told, "b").run(20).recheck_at
    assert {"a": "Unscheduled", "b": "Bound"} == states(told)
    told.run(110)

    assert {"a": "Bound"} == states(told)
    assert ("Failed", "not ready on b by 2026-11-20T12:01:50Z") == result(told)


TWICE = [{"group": "", "version": "v1", "kind": "Namespace", "name": "default"}] * 2


@pytest.mark.parametrize(
    "edit",
    [{"resourceSelectors": TWICE}, {"policy": {"placementType": "PickAll"}}],
    ids=["selectors", "immutable"],
)
def test_of_what_a_person_must_mend_only_the_deadline_acts(edit: Body) -> None:
    """Bindings stay as they are until then, and a mended placement is moved by who asks next."""
    body = web()
    told = begun().put({**body, "spec": {**mapping(body, "spec"), **edit}})
    outcome = hear(told, "b").run(20)
    assert (after(110), 1) == (outcome.recheck_at, len(outcome.faults))
    assert ({"a": "Unscheduled", "b": "Bound"}, ["b"]) == (states(told), beside(told))
    outcome = told.run(110)
    assert ({"a": "Bound"}, "a", []) == (states(told), given(told), beside(told))
    late = "not ready on b by 2026-11-20T12:01:50Z"
    assert (("Failed", late), 1) == (result(told), len(outcome.faults))
    assert () == told.run(111).changes
    told.put(body).run(120)

    assert {"a": "Bound"} == states(told)


def test_what_settles_when_its_placement_is_suspended_is_given_back_as_a_whole() -> None:
    """No rollout would take it away before the placement is resumed."""
    settles: Body = {"makeBeforeBreak": {"deadlineSeconds": 100, "settleSeconds": 95}}
    body = web()
    told = begun(settles)
    hear(told, "b").run(20)
    told.put({**body, "metadata": {**metadata("web"), "annotations": {SUSPEND: "true"}}}).run(30)
    told.run(110)

    assert ({"a": "Bound"}, "a") == (states(told), given(told))
    assert ("Failed", "not ready on b by 2026-11-20T12:01:50Z") == result(told)


def test_an_edited_rebalancer_begins_anew() -> None:
    """With its own limits, and its own deadline."""
    told = begun()
    longer: Body = {"makeBeforeBreak": {"deadlineSeconds": 500}}
    told.put(rebalancer("demo", WEB, limits=longer, ttl=None)).run(20)

    surge = surge_in(told.output(f"{PLACEMENTS}/web.yaml"))
    assert after(520) == (None if surge is None else surge.deadline)


def test_a_binding_edited_by_hand_ends_a_step() -> None:
    """The next one begins from what stands there."""
    told = begun()
    (path,) = [p for p in told.outputs if "/web-b-" in p]
    told.files[path] = told.files[path].replace("state: Bound", "state: Unscheduled")
    told.run(20)

    surge = surge_in(told.output(f"{PLACEMENTS}/web.yaml"))
    assert {"a": "Unscheduled", "b": "Bound"} == states(told)
    assert (["b"], after(120)) == (beside(told), surge and surge.deadline)


# What cannot be made before it breaks


@pytest.mark.parametrize(
    ("policy", "strategy", "why"),
    [
        pytest.param(
            {"placementType": "PickAll"}, ROLLING, "is not available for PickAll", id="pick-all"
        ),
        pytest.param(fixed("a"), ROLLING, "is not available for PickFixed", id="pick-fixed"),
        pytest.param(pick(1), {"type": "External"}, "staged update runs roll out", id="external"),
        pytest.param(
            pick(1),
            {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}},
            "its `maxSurge` is 0",
            id="no-surge",
        ),
    ],
)
def test_what_cannot_be_doubled_is_refused(policy: Body, strategy: Body, why: str) -> None:
    """It fails with the reason, and nothing of it moves."""
    told = story(member("a"), member("b", taints=FULL))
    told.put(placement(policy, strategy=strategy), deployment(replicas=2), configuration(**OPTIONS))
    told.run(0)
    told.put(member("b")).run(1)
    before = states(told)
    told.put(rebalancer("demo", WEB, limits=ALL, ttl=None)).run(10)

    failed, reason = result(told)
    assert ("Failed", before) == (failed, states(told))
    assert why in reason


def test_without_any_report_nothing_begins() -> None:
    """Availability that is assumed is none."""
    told = away()
    del told.files["feedback/a/web.yaml"]
    told.put(rebalancer("demo", WEB, limits=ALL, ttl=None)).run(10)

    why = "no cluster reports whether it is available, so nothing could be seen to be ready"
    assert ({"a": "Bound"}, ("Failed", why)) == (states(told), result(told))


def test_bindings_that_are_kept_are_valid_on_a_hub() -> None:
    """Nothing of a step stands in them but what KubeFleet itself would write."""
    told = begun()

    assert not [body for body in bindings(told) if "surge" in text(body)]
