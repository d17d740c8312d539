"""Room that is protected: what a cluster cannot hold is refused, and waits for room."""

from collections.abc import Sequence

import pytest

from reconciler.audit.fleet.usage import usage_of
from reconciler.core.reconcile import reconcile
from reconciler.model.body import Body
from reconciler.model.fields import bodies, mapping
from reconciler.model.identity import ObjectKey
from reconciler.model.quantity import parse_quantity
from tests.builders import DYNAMIC, after, cluster, configuration, deployment, divided, policy, text
from tests.stories import Story, story

DUPLICATED: Body = {"replicaSchedulingType": "Duplicated"}
AGGREGATED = divided("Aggregated")


def statically(**weights: int) -> Body:
    """Replica scheduling by static weights of clusters."""
    listed = [
        {"targetCluster": {"clusterNames": [name]}, "weight": weight}
        for name, weight in weights.items()
    ]
    return divided(weightPreference={"staticWeightList": listed})


def room(name: str = "a", cpu: str = "2", *, used: str = "0", pods: int = 10) -> Body:
    """A cluster that reports so much cpu and so many pods, and what is allocated of the cpu."""
    summary = {
        "allocatable": {"cpu": cpu, "memory": "1Ti", "pods": str(pods)},
        "allocated": {"cpu": used},
    }
    apis = [{"groupVersion": "apps/v1", "resources": [{"kind": "Deployment", "name": ""}]}]
    ready = {
        "type": "Ready",
        "status": "True",
        "reason": "Told",
        "message": "",
        "lastTransitionTime": "2026-11-01T00:00:00Z",
    }
    status = {"conditions": [ready], "apiEnablements": apis, "resourceSummary": summary}
    return cluster(name, status=status)


def protected(*found: Body, placement: Body = DUPLICATED, **more: object) -> Story:
    """A repository where room is protected, with one policy for all Deployments."""
    on = configuration(capacity={"protect": True, **more})
    return story(on, policy(placement={"replicaScheduling": placement}), *found)


def reports(told: Story, name: str, replicas: int, where: str = "a") -> None:
    """Have a cluster report replicas of a Deployment."""
    body = {**deployment(name, replicas=replicas), "status": {"replicas": replicas}}
    told.files[f"feedback/{where}/{name}.yaml"] = text(body)


def placed(told: Story, *names: str) -> list[dict[str, int]]:
    """Where some Deployments are."""
    return [told.placed(f"{name}-deployment") for name in names]


def scheduled(told: Story, name: str) -> tuple[object, ...]:
    """Status, reason and message of a binding's Scheduled condition."""
    found = bodies(mapping(told.binding(f"{name}-deployment"), "status"), "conditions")
    one = next(each for each in found if each["type"] == "Scheduled")
    return one["status"], one["reason"], one["message"]


def reserved(told: Story, where: str = "a") -> dict[str, str]:
    """What is reserved of a cluster, by the name of its workload; nothing without a file."""
    path = f"status/clusterledgers.reconciler.dev/{where}.yaml"
    if path not in told.files:
        return {}
    listed = bodies(mapping(told.output(path), "status"), "reservations")
    return {
        str(one["object"]).split(" ")[1].rpartition("/")[2].removesuffix("-deployment"): str(
            one["resources"]
        )
        for one in listed
    }


TWO = (deployment("x", cpu="1"), deployment("y", cpu="1"))
"""Each asks for two cpu in all."""


def test_why_counts_what_others_have_reserved() -> None:
    """A cluster that lacks room takes no more, whatever it reports."""
    told = protected(room(), *TWO, placement=statically(a=1))
    told.run(0)
    key = ObjectKey("work.karmada.io", "ResourceBinding", "default", "y-deployment")

    found = reconcile(told.world(), after(60), asked=frozenset({key})).explanations[key]()

    assert "not all replicas have room: a lacks cpu 2" in found.result
    assert ["takes 0 more"] == [one.note for one in found.clusters]


def test_without_the_setting_both_are_placed() -> None:
    """As upstream, which looks at what is reported only; and nothing is written of reservations."""
    told = story(policy(placement={"replicaScheduling": DYNAMIC}), room(), *TWO)
    told.run(0)

    assert [{"a": 2}, {"a": 2}] == placed(told, "x", "y")
    assert not any("ledger" in path for path in told.files)


@pytest.mark.parametrize(
    ("placement", "message"),
    [
        pytest.param(
            DUPLICATED,
            "0/1 clusters are available: 1 cluster(s) cannot hold what would be added, "
            "missing cpu 2.",
            id="duplicated",
        ),
        pytest.param(statically(a=1), "not all replicas have room: a lacks cpu 2", id="static"),
        pytest.param(
            DYNAMIC,
            "failed to assign replicas: failed to scale up: Clusters available replicas 0 are not "
            "enough to schedule. Missing: cpu 2, pods 2.",
            id="dynamic",
        ),
        pytest.param(
            AGGREGATED,
            "failed to assign replicas: failed to scale up: Clusters available replicas 0 are not "
            "enough to schedule. Missing: cpu 2, pods 2.",
            id="aggregated",
        ),
    ],
)
def test_the_second_is_refused_with_what_is_missing(placement: Body, message: str) -> None:
    """The room that the first one takes is reserved, whatever the cluster reports."""
    told = protected(room(), *TWO, placement=placement)
    told.run(0)

    assert [{"a": 2}, {}] == placed(told, "x", "y")
    assert ("False", "Unschedulable", message) == scheduled(told, "y")
    assert {"x": "cpu 2, pods 2"} == reserved(told)
    assert not told.run(60).changes


def test_where_all_fits_all_is_placed() -> None:
    """One cpu is left."""
    told = protected(room(cpu="5"), *TWO)
    told.run(0)

    assert [{"a": 2}, {"a": 2}] == placed(told, "x", "y")
    assert ("True", "Success") == scheduled(told, "y")[:2]


def test_a_reservation_ends_when_copies_and_then_the_capacity_are_reported() -> None:
    """Neither an unrelated pod before, nor a heartbeat ends it."""
    told = protected(room(cpu="9"), TWO[0])
    told.run(0)

    told.put(room(cpu="9", used="1"))  # another pod
    told.run(60)
    assert {"x"} == reserved(told).keys()

    reports(told, "x", 1)
    told.run(120)
    assert {"x"} == reserved(told).keys()

    reports(told, "x", 2)
    told.run(180)
    assert {"x"} == reserved(told).keys()

    told.put(room(cpu="9", used="3"))
    told.run(240)
    assert {} == reserved(told)
    assert not told.run(300).changes


def test_one_report_of_copies_and_capacity_ends_it_at_once() -> None:
    """They come in one commit."""
    told = protected(room(cpu="9"), TWO[0])
    told.run(0)

    reports(told, "x", 2)
    told.put(room(cpu="9", used="2"))
    told.run(60)

    assert {} == reserved(told)


def test_without_reports_it_ends_at_its_bound() -> None:
    """The pass is due then."""
    told = protected(room(cpu="9"), TWO[0], reservationSeconds=90)
    outcome = told.run(0)
    assert 90 == (outcome.recheck_at - told.now).total_seconds()  # type: ignore[operator]

    assert not told.run(89).changes
    told.run(90)
    assert {} == reserved(told)


def test_a_pass_that_reserves_anew_is_asked_again_at_the_end_of_the_old() -> None:
    """Whoever asks again then without its outputs finds a reservation that has ended."""
    told = protected(room(cpu="9"), TWO[0], reservationSeconds=90)
    told.run(0)
    began = told.now
    before = reserved(told)
    told.put(deployment("x", replicas=3, cpu="1"))
    outcome = told.run(60)

    assert before != reserved(told)
    assert 90 == (outcome.recheck_at - began).total_seconds()  # type: ignore[operator]


def test_room_that_is_freed_goes_to_who_waits_in_order() -> None:
    """Until it is used; x gives it up, and its cluster reports that."""
    told = protected(room(), *TWO, deployment("z", cpu="1"))
    told.run(0)
    reports(told, "x", 2)
    told.put(room(used="2"))
    told.run(60)
    assert [{"a": 2}, {}, {}] == placed(told, "x", "y", "z")

    told.drop(TWO[0])
    told.run(120)
    assert [{}, {}] == placed(told, "y", "z")  # nobody says that it is gone

    told.put(room(used="0"))
    told.run(180)
    assert [{"a": 2}, {}] == placed(told, "y", "z")


def test_replicas_given_up_occupy_until_they_are_reported_gone() -> None:
    """They may be running, or begin to."""
    told = protected(room(), *TWO)
    told.run(0)

    told.put(deployment("x", replicas=1, cpu="1"))
    told.run(60)

    assert [{"a": 1}, {}] == placed(told, "x", "y")
    assert {"x": "cpu 2, pods 2"} == reserved(told)

    told.put(deployment("x", replicas=2, cpu="1"))
    told.run(120)
    assert [{"a": 2}, {}] == placed(told, "x", "y")


@pytest.mark.parametrize("placement", [DUPLICATED, statically(a=1), DYNAMIC], ids=str)
def test_what_no_longer_fits_keeps_its_replicas(placement: Body) -> None:
    """A scaling up in place is refused; only static weights give as much as fits."""
    told = protected(room(cpu="3"), TWO[0], placement=placement)
    told.run(0)

    told.put(deployment("x", replicas=4, cpu="1"))
    outcome = told.run(60)

    fits = 3 if "staticWeightList" in str(placement) else 2
    assert [{"a": fits}] == placed(told, "x")
    assert ("False", "Unschedulable") == scheduled(told, "x")[:2]
    assert "cpu" in outcome.decisions[0].problem

    told.put(room(cpu="4"))
    told.run(120)
    assert [{"a": 4}] == placed(told, "x")


def test_a_policy_that_moves_to_a_full_cluster_evicts_nothing() -> None:
    """What is there stays there."""
    told = protected(room("a"), room("b", cpu="1"), TWO[0])
    told.put(_to("a"))
    told.run(0)

    told.put(_to("b"))
    told.run(60)

    assert [{"a": 2}] == placed(told, "x")
    assert ("False", "Unschedulable") == scheduled(told, "x")[:2]


def _to(*names: str) -> Body:
    placement = {"clusterAffinity": {"clusterNames": list(names)}, "replicaScheduling": DUPLICATED}
    return policy(placement=placement)


def test_the_greater_priority_comes_first_but_takes_nothing_from_who_is_there() -> None:
    """Y is of a greater one."""
    told = protected(room(cpu="5"), deployment("w", cpu="1"), priority_class())
    told.run(0)
    told.put(*TWO, urgent("y"))
    told.run(60)

    assert [{"a": 2}, {}, {"a": 2}] == placed(told, "w", "x", "y")


def priority_class() -> Body:
    """A PriorityClass of a greater priority than none."""
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "urgent"},
        "value": 1000,
    }


def urgent(*names: str) -> Body:
    """A policy that gives Deployments that priority."""
    source = {"priorityClassSource": "KubePriorityClass", "priorityClassName": "urgent"}
    selectors: Sequence[Body] = [
        {"apiVersion": "apps/v1", "kind": "Deployment", "name": name} for name in names
    ]
    spec = {
        "resourceSelectors": list(selectors),
        "schedulePriority": source,
        "placement": {"replicaScheduling": DUPLICATED},
    }
    return {
        "apiVersion": "policy.karmada.io/v1alpha1",
        "kind": "PropagationPolicy",
        "metadata": {"name": "urgent", "namespace": "default"},
        "spec": spec,
    }


def test_declared_clusters_have_no_limit() -> None:
    """Nothing is reserved of them."""
    told = protected(cluster("a"), *TWO)
    told.run(0)

    assert [{"a": 2}, {"a": 2}] == placed(told, "x", "y")
    assert {} == reserved(told)


def test_pods_count_where_nothing_is_asked_for() -> None:
    """Three fit, two and two do not."""
    told = protected(room(pods=3), deployment("x"), deployment("y"))
    told.run(0)

    assert [{"a": 2}, {}] == placed(told, "x", "y")
    assert "missing pods 1" in str(scheduled(told, "y")[2])


def test_extended_resources_count() -> None:
    """A cluster that does not name one has none of it."""
    asking = deployment("x", replicas=1)
    container = {"name": "main", "resources": {"requests": {"example.com/gpu": "1"}}}
    spec = {"replicas": 1, "template": {"spec": {"containers": [container]}}}
    told = protected(room(), {**asking, "spec": spec})
    told.run(0)

    assert [{}] == placed(told, "x")
    assert "missing example.com/gpu 1" in str(scheduled(told, "x")[2])


def test_clusters_that_a_person_edits_into_a_decision_are_reserved() -> None:
    """Nobody knows what was there before."""
    told = protected(room("a"), room("b"), TWO[0], placement=DYNAMIC)
    told.run(0)
    path = "status/resourcebindings.work.karmada.io/default/x-deployment.yaml"
    told.files[path] = told.files[path].replace(
        "- name: b\n    replicas: 1", "- name: b\n    replicas: 2"
    )
    told.files[path] = told.files[path].replace("- name: a\n    replicas: 1\n  ", "")
    told.run(60)

    assert [{"b": 2}] == placed(told, "x")
    assert {"x": "cpu 2, pods 2"} == reserved(told, "b")


def test_what_is_reserved_goes_when_it_is_switched_off() -> None:
    """No file is left."""
    told = protected(room(), TWO[0])
    told.run(0)
    told.put(configuration())
    told.run(60)

    assert {} == reserved(told)
    assert [{"a": 2}] == placed(told, "x")


def test_a_waiting_binding_is_told_to_have_got_room() -> None:
    """And which cluster was edited."""
    told = protected(room(), *TWO)
    told.run(0)
    told.put(room(cpu="4"))
    outcome = told.run(60)

    assert ["clusters changed (room is free by now)"] == [
        str(one.cause) for one in outcome.decisions
    ]


def test_an_explanation_says_what_a_cluster_lacks() -> None:
    """As the filter said it when it decided."""
    told = protected(room(), *TWO)
    told.run(0)
    key = ObjectKey("work.karmada.io", "ResourceBinding", "default", "y-deployment")
    outcome = reconcile(told.world(), told.now, asked=frozenset({key}))

    (answer,) = outcome.explanations[key]().clusters
    assert ["Capacity"] == [one.plugin for one in answer.verdicts]
    assert "missing cpu 2" in answer.verdicts[0].reason


def test_what_is_reserved_is_used_and_not_free() -> None:
    """As `top clusters` and the page tell it."""
    told = protected(room(cpu="9", used="3"), TWO[0])
    told.run(0)
    (usage,) = usage_of(told.world())

    cpu = parse_quantity("2")
    assert (cpu, 5 * cpu // 2, 2 * cpu) == (
        usage.reserved["cpu"],
        usage.used["cpu"],
        (usage.free or {})["cpu"],
    )
