"""Brakes: removals that must be allowed, freeze windows, and the pace of rebalances."""

from collections.abc import Callable, Mapping, Sequence

import pytest

from reconciler.core.reconcile import reconcile
from reconciler.model.fields import at
from reconciler.model.moments import format_moment
from tests.builders import (
    Body,
    cluster,
    cluster_policy,
    configuration,
    deployment,
    metadata,
    rebalancer,
    taint,
    target,
)
from tests.core.test_rebalance_triggers import away_from_first as away
from tests.core.test_rebalance_triggers import results
from tests.dialects.ocm.worlds import binding, cluster_set
from tests.dialects.ocm.worlds import cluster as hub_cluster
from tests.dialects.ocm.worlds import placement as hub_placement
from tests.stories import BINDINGS, Story, story

NAMES = [f"w{number}" for number in range(10)]


def placed(*, clusters: tuple[str, ...] = ("a", "b")) -> Story:
    """Ten workloads on two clusters."""
    told = story(*(cluster(name) for name in clusters), cluster_policy())
    told.put(*(deployment(name) for name in NAMES))
    told.run(0)
    return told


def bindings(told: Story) -> int:
    """How many bindings there are."""
    return sum(path.startswith(BINDINGS) for path in told.files)


def allowed(digest: str, **safety: object) -> Body:
    """The configuration that allows a removal."""
    return configuration(safety={"allow": digest, **safety})


@pytest.mark.parametrize(
    ("gone", "left"),
    [pytest.param(5, 5, id="half-is-allowed"), pytest.param(6, 10, id="more-is-not")],
)
def test_more_than_half_of_ten_is_held_back(gone: int, left: int) -> None:
    """They keep their files, and the report names a digest."""
    told = placed().drop(*(deployment(name) for name in NAMES[:gone]))
    outcome = told.run()

    assert left == bindings(told)
    assert (left == 10) == ("removal-braked" in [fault.rule for fault in outcome.faults])
    assert (left != 10) == bool(outcome.decisions)


def test_it_stays_held_back_in_silence() -> None:
    """Reported once; the next passes change nothing."""
    told = placed().drop(*(deployment(name) for name in NAMES))
    told.run(100)

    assert () == told.run(200).changes


def test_the_digest_lets_exactly_these_through() -> None:
    """One more removal, and it is another digest."""
    told = placed().drop(*(deployment(name) for name in NAMES[:6]))
    [fault] = told.run().faults
    digest = fault.expected.partition("allow: ")[2].partition("`")[0]
    told.drop(deployment(NAMES[6])).put(allowed(digest), path="reconciler.yaml")
    told.run()

    assert 10 == bindings(told)

    told.put(deployment(NAMES[6]))
    told.run()

    assert 4 == bindings(told)


def test_what_does_not_go_is_decided_as_ever() -> None:
    """The brake holds nothing else."""
    told = placed().drop(*(deployment(name) for name in NAMES[:9]))
    told.put(deployment(NAMES[9], replicas=5), deployment("new"))
    told.run()

    assert {"a": 5, "b": 5} == told.placed(f"{NAMES[9]}-deployment")
    assert {"a": 2, "b": 2} == told.placed("new-deployment")


def test_lost_cluster_files_count_as_removals() -> None:
    """Without their files every workload would be nowhere."""
    told = placed().drop(cluster("a"), cluster("b"))
    outcome = told.run()

    assert {"a": 2, "b": 2} == told.placed(f"{NAMES[0]}-deployment")
    assert ["removal-braked"] == [fault.rule for fault in outcome.faults]


@pytest.mark.parametrize(
    "bodies",
    [
        pytest.param(
            [cluster(name, taints=[taint(effect="NoExecute")]) for name in "ab"], id="taints"
        ),
        pytest.param([cluster(name, leaving=True) for name in "ab"], id="leaving"),
    ],
)
def test_evictions_are_no_removals(bodies: list[Body]) -> None:
    """The files are there, so somebody decided that."""
    told = placed().put(*bodies)
    told.run()

    assert {} == told.placed(f"{NAMES[0]}-deployment")


def test_the_limit_is_a_setting() -> None:
    """A hundred percent holds nothing back."""
    safety: Mapping[str, object] = {"maxRemovedPercent": 100}
    told = placed().drop(*(deployment(name) for name in NAMES))
    told.put(configuration(safety=safety), path="reconciler.yaml")
    told.run()

    assert 0 == bindings(told)


def ocm() -> tuple[list[Body], list[Body]]:
    """A hub of one cluster, and ten placements."""
    hub = [hub_cluster("a"), cluster_set(), binding()]
    return hub, [hub_placement(name) for name in NAMES]


def kubefleet() -> tuple[list[Body], list[Body]]:
    """One member, a ConfigMap, and ten placements of it."""
    selectors = [{"group": "", "version": "v1", "kind": "Namespace", "name": "team"}]
    spec = {"resourceSelectors": selectors}
    placements: list[Body] = [
        {
            "apiVersion": "placement.kubernetes-fleet.io/v1beta1",
            "kind": "ClusterResourcePlacement",
            "metadata": metadata(name),
            "spec": spec,
        }
        for name in NAMES
    ]
    member = {
        "apiVersion": "cluster.kubernetes-fleet.io/v1beta1",
        "kind": "MemberCluster",
        "metadata": metadata("a"),
        "spec": {"identity": {"kind": "User", "name": "agent"}},
    }
    namespace: Body = {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata("team")}
    return [member, namespace], placements


@pytest.mark.parametrize("made", [ocm, kubefleet])
def test_placements_of_the_other_apis_are_held_back_with_all_their_files(
    made: Callable[[], tuple[list[Body], list[Body]]],
) -> None:
    """Decisions, snapshots and bindings stay as they are; fewer go."""
    others, placements = made()
    told = story(*others, *placements)
    told.run(0)
    told.run(100)
    before = told.outputs
    told.drop(*placements[:6])
    told.run(200)

    ours = {"status/reconciler.yaml", "status/faults.yaml"}
    assert before.keys() - ours == told.outputs.keys() - ours

    told.put(placements[0])
    told.run(300)

    assert len(told.outputs) < len(before)


NOON = {"schedule": "0 12 * * *", "duration": "1h"}
SAFETY = "status/safety.yaml"
HOUR = 3600
QUIET = {"assumeAfterSeconds": None}


def settings(told: Story, **spec: object) -> Story:
    """The repository with another configuration."""
    return told.put(configuration(feedback=QUIET, **spec), path="reconciler.yaml")


def frozen(*bodies: Body, failover: str = "proceed") -> Story:
    """A repository that rests from noon to one o'clock."""
    told = story(cluster("a"), cluster("b"), cluster_policy(), *bodies)
    return settings(told, freeze={"windows": [NOON], "failover": failover})


def capped(cap: int, *names: str) -> Story:
    """Workloads of two replicas that are to go back from b to a, so many replicas an hour."""
    told = settings(away(*names), safety={"maxRebalancedReplicasPerHour": cap})
    return told.put(rebalancer("demo", *(target(name=name) for name in names)))


def waiting(told: Story) -> list[str]:
    """What waits by the record, with its reason."""
    status = told.output(SAFETY)["status"] if SAFETY in told.files else {"waiting": ()}
    assert isinstance(status, dict)
    return [f"{one['name']} {one['reason']} {one['since']}" for one in status["waiting"]]


def test_a_new_placement_waits_for_the_end_of_a_freeze() -> None:
    """It has no binding, the record says since when, and the pass comes back when it ends."""
    told = frozen(deployment())
    outcome = told.run(60)

    assert ["web-deployment freeze 2026-11-20T12:01:00Z"] == waiting(told)
    assert not any("resourcebindings" in path for path in told.files)
    assert "2026-11-20T13:00:00Z" == format_moment(outcome.recheck_at or told.now)
    assert () == told.run(120).changes
    told.run(HOUR)
    assert {"a": 2, "b": 2} == told.placed()
    assert [] == waiting(told)


def test_nothing_is_looked_at_again_before_a_freeze_ends() -> None:
    """What would come of the decision that waits is no reason for a pass."""
    told = frozen(deployment())
    body = configuration(feedback={"assumeAfterSeconds": 1}, freeze={"windows": [NOON]})
    outcome = told.put(body, path="reconciler.yaml").run(60)

    assert "2026-11-20T13:00:00Z" == format_moment(outcome.recheck_at or told.now)


def test_what_was_placed_before_goes_on_in_a_freeze() -> None:
    """More replicas, another policy: a person merged that."""
    told = frozen(deployment())
    told.run(-60)
    told.put(deployment(replicas=5))
    told.run(60)

    assert {"a": 5, "b": 5} == told.placed()


def test_a_cluster_that_is_gone_is_failover_in_a_freeze() -> None:
    """Nothing is evicted from it, and the work on it waits as well where failover is held."""
    told = frozen(deployment(), failover="hold")
    told.run(-60)
    told.drop(cluster("b")).run(60)

    assert {"a": 2, "b": 2} == told.placed()
    assert ["web-deployment freeze 2026-11-20T12:01:00Z"] == waiting(told)
    told.run(HOUR)
    assert {"a": 2} == told.placed()


def test_a_suspension_is_over_at_its_moment() -> None:
    """Not a second later: whoever is told the moment looks then."""
    body = deployment()
    annotations = {"reconciler.dev/suspend": "true"}
    annotations["reconciler.dev/suspend-until"] = "2026-11-20T12:01:00Z"
    metadata = {**at(body, "metadata"), "annotations": annotations}
    told = story(cluster("a"), cluster_policy(), {**body, "metadata": metadata})

    outcome = told.run(59)
    assert "2026-11-20T12:01:00Z" == format_moment(outcome.recheck_at or told.now)
    assert {} == told.placed()
    told.run(60)
    assert {"a": 2} == told.placed()


@pytest.mark.parametrize(("failover", "left"), [("proceed", {"b": 2}), ("hold", {"a": 2, "b": 2})])
def test_failover_in_a_freeze_is_as_configured(failover: str, left: dict[str, int]) -> None:
    """By default work leaves a failed cluster at any time."""
    told = frozen(deployment(), failover=failover)
    told.run(-60)
    told.put(cluster("a", taints=[taint(effect="NoExecute")]))
    told.run(60)

    assert left == told.placed()
    told.run(HOUR)
    assert {"b": 2} == told.placed()


def test_a_rebalance_waits_for_the_end_of_a_freeze() -> None:
    """It is Successful only once it went."""
    told = settings(away("web"), freeze={"windows": [NOON]})
    told.put(rebalancer())
    told.run(60)

    assert [("web", "")] == results(told)
    assert {"b": 2} == told.placed()
    told.run(HOUR)
    assert [("web", "Successful")] == results(told)
    assert {"a": 2} == told.placed()


def test_rebalances_over_the_cap_wait_for_the_next_hour() -> None:
    """In the order of their names; what waits and since when stands in the state tree."""
    told = capped(3, "api", "web")
    outcome = told.run(60)

    assert {"a": 2} == told.placed("api-deployment")
    assert {"b": 2} == told.placed("web-deployment")
    assert [("api", "Successful"), ("web", "")] == results(told)
    assert ["web-deployment limit 2026-11-20T12:01:00Z"] == waiting(told)
    assert "2026-11-20T13:01:00Z" == format_moment(outcome.recheck_at or told.now)
    assert () == told.run(1800).changes
    told.run(HOUR + 60)
    assert {"a": 2} == told.placed("web-deployment")
    assert [] == waiting(told)


def test_a_rebalance_above_the_cap_goes_alone() -> None:
    """Or else it would never go."""
    told = capped(1, "api", "web")
    told.run(60)
    told.run(120)

    assert ({"a": 2}, {"b": 2}) == (told.placed("api-deployment"), told.placed("web-deployment"))


def test_evictions_are_neither_counted_nor_held_by_the_cap() -> None:
    """A cluster that fails empties at once, and rebalances still have their hour."""
    told = settings(
        story(cluster("a"), cluster("b"), cluster_policy(), deployment(), deployment("api")),
        safety={"maxRebalancedReplicasPerHour": 1},
    )
    told.run(0)
    told.put(cluster("a", taints=[taint(effect="NoExecute")]))
    told.run(60)

    assert ({"b": 2}, {"b": 2}) == (told.placed(), told.placed("api-deployment"))
    assert SAFETY not in told.files


def test_what_waits_is_told_with_its_moment() -> None:
    """For `status`, `plan` and `events`."""
    told = capped(3, "api", "web")
    outcome = reconcile(told.world(), told.now)

    [wait] = [one for one in outcome.waits if one.subject == "default/web"]
    assert ("2 of 3 replicas were rebalanced within the hour", "it is rebalanced") == (
        wait.reason,
        wait.then,
    )


@pytest.mark.parametrize("schedule", ["@daily", "0 0 31 2 *"])
def test_a_window_that_never_comes_is_refused(schedule: str) -> None:
    """With the place and what would be right."""
    told = settings(story(), freeze={"windows": [{"schedule": schedule, "duration": "1h"}]})
    [fault] = told.world().faults

    assert ("freeze-schedule", "/spec/freeze/windows/0/schedule") == (fault.rule, fault.field)


def test_all_of_three_placements_are_never_removed_at_once() -> None:
    """A bad merge that takes everything is held, however few there are."""
    told = story(cluster("a"), cluster_policy(), *(deployment(name) for name in "xyz"))
    told.run(0)
    told.drop(*(deployment(name) for name in "xyz"))
    outcome = told.run(60)

    assert ["removal-braked"] == [fault.rule for fault in outcome.faults]
    assert {"a": 2} == told.placed("x-deployment")


@pytest.mark.parametrize("names", ["xyz", NAMES])
def test_what_is_placed_besides_lets_nothing_go(names: Sequence[str]) -> None:
    """The share is smaller then; what was held stays, in the same words, until it is allowed."""
    told = story(cluster("a"), cluster_policy(), *map(deployment, names))
    told.run(0)
    told.drop(*map(deployment, names)).put(*(deployment(f"new-{n}") for n in range(30)))
    [fault] = told.run(60).faults

    assert () == told.run(120).changes

    told.put(deployment("one-more"))
    assert (fault,) == told.run(180).faults

    told.put(allowed(fault.allow), path="reconciler.yaml")
    told.run(240)
    assert 31 == bindings(told)


def test_all_of_two_placements_are_removed() -> None:
    """So few are somebody's first steps."""
    told = story(cluster("a"), cluster_policy(), deployment("x"), deployment("y"))
    told.run(0)
    told.drop(deployment("x"), deployment("y"))

    assert () == told.run(60).faults
