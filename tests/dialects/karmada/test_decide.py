"""Bindings through passes: eviction, failover, feedback, and what a round looks at again."""

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import cast

import pytest

from reconciler.core.reconcile import Memo, reconcile
from reconciler.dialects.contract import RescheduleTrigger
from reconciler.dialects.karmada import plan
from reconciler.dialects.karmada.decide import Surroundings, decide
from reconciler.dialects.karmada.detector.binding_draft import Draft
from reconciler.dialects.object_pass import Part
from reconciler.imports.importers import report_of
from reconciler.model.fields import mapping, without
from reconciler.model.identity import ObjectKey, uid_of
from reconciler.model.records import replace
from reconciler.schedule.apportion import breaks_ties_descending
from tests.builders import (
    DYNAMIC,
    NOT_READY,
    Body,
    after,
    cluster,
    cluster_policy,
    cluster_role,
    cluster_status,
    configmap,
    configuration,
    deployment,
    divided,
    live,
    policy,
    quota,
    selector,
    taint,
    text,
)
from tests.dialects.karmada.api.test_work import work
from tests.stories import Story, applied, linked, story
from tests.strict import DECIDE_ALIKE

ANYWHERE: Body = {"replicaScheduling": divided("Aggregated")}
SPOT_30 = {"key": "spot", "operator": "Exists", "tolerationSeconds": 30}


def tasks(told: Story) -> list[str]:
    """The clusters that web is leaving."""
    spec = told.binding()["spec"]
    assert isinstance(spec, dict)
    return [task["fromCluster"] for task in spec.get("gracefulEvictionTasks", ())]


def on_a(placement: Body = ANYWHERE) -> Story:
    """Web on cluster a, cluster b arrived afterwards."""
    told = story(cluster("a"), policy(placement=placement), deployment())
    told.run(0)
    assert {"a": 2} == told.placed()
    return told.put(cluster("b"))


def test_a_new_taint_alone_moves_nothing() -> None:
    """NoSchedule keeps what is there."""
    told = on_a().put(cluster("a", taints=[taint()]))
    told.run(100)

    assert {"a": 2} == told.placed()


def test_an_empty_list_in_a_policy_triggers_no_scheduling() -> None:
    """A cluster that loses its label keeps what it has, however the policy is spelt."""
    named = {"labelSelector": {"matchLabels": {"tier": "gold"}}, "clusterNames": []}
    placement = {**ANYWHERE, "clusterAffinity": named}
    told = story(cluster("a", labels={"tier": "gold"}), policy(placement=placement), deployment())
    told.run(0)
    told.put(cluster("a"), cluster("b", labels={"tier": "gold"})).run(100)

    assert {"a": 2} == told.placed()


def test_an_untolerated_no_execute_taint_evicts_at_once() -> None:
    """The copy stays until the new one is assumed healthy, to the second."""
    told = on_a().put(cluster("a", taints=[taint(effect="NoExecute")]))
    told.run(100)
    assert ({"b": 2}, ["a"]) == (told.placed(), tasks(told))
    assert () == told.run(159).changes
    told.run(160)

    assert ({"b": 2}, []) == (told.placed(), tasks(told))


@pytest.mark.parametrize(
    ("report", "left"),
    [
        pytest.param(live(deployment(), unavailableReplicas=2), ["a"], id="nothing-runs"),
        pytest.param(
            without(live(deployment(), updatedReplicas=2, availableReplicas=2), ("spec",)),
            ["a"],
            id="wanted-replicas-not-told",
        ),
        pytest.param(live(deployment(), updatedReplicas=2, availableReplicas=2), [], id="all-run"),
    ],
)
def test_a_copy_is_left_only_for_one_that_is_known_to_run(report: Body, left: list[str]) -> None:
    """A report that does not say how many replicas are wanted does not say that they run."""
    told = on_a().put(configuration(feedback={"assumeAfterSeconds": None}))
    told.put(cluster("a", taints=[taint(effect="NoExecute")])).run(100)
    told.files["feedback/b/web.yaml"] = text(report_of(report))
    told.run(200)

    assert ({"b": 2}, left) == (told.placed(), tasks(told))


@pytest.mark.parametrize(
    ("dated", "start"),
    [pytest.param(None, 100, id="first-seen"), pytest.param(90, 90, id="as-written")],
)
def test_toleration_seconds_count_from_the_taint(dated: int | None, start: int) -> None:
    """The last second is tolerated, the next one is not, and recheck_at says when."""
    told = on_a({**ANYWHERE, "clusterTolerations": [SPOT_30]})
    at = None if dated is None else after(dated)
    told.put(cluster("a", taints=[taint(effect="NoExecute", at=at)]))
    assert after(start + 30) == told.run(100).recheck_at
    told.run(start + 29)
    assert {"a": 2} == told.placed()
    told.run(start + 30)

    assert ({"b": 2}, ["a"]) == (told.placed(), tasks(told))


def test_a_taint_is_dated_once() -> None:
    """Also when other taints come and go."""
    told = story(cluster("a", taints=[taint()]))
    told.run(0)
    told.put(cluster("a", taints=[taint(), taint("old")]))
    told.run(50)
    path = "status/clusters.cluster.karmada.io/a.yaml"

    assert ["2026-11-20T12:00:00Z", "2026-11-20T12:00:50Z"] == sorted(
        part for part in told.files[path].replace("\\", "").split('"') if part.startswith("2026")
    )


def test_a_garbled_date_of_a_taint_starts_anew() -> None:
    """A person's edit of the record does not stop the pass."""
    told = story(cluster("a", taints=[taint(effect="NoExecute")]), policy(), deployment())
    told.run(0)
    path = "status/clusters.cluster.karmada.io/a.yaml"
    told.files[path] = told.files[path].replace("2026-11-20T12:00:00Z", "yesterday")
    told.run(50)

    assert "2026-11-20T12:00:50Z" in told.files[path]


@pytest.mark.parametrize(
    ("ready", "moves_at"),
    [pytest.param("False", 310, id="not-ready"), pytest.param("Unknown", 310, id="unreachable")],
)
def test_a_failing_cluster_is_left_after_five_minutes(ready: str, moves_at: int) -> None:
    """Counted from its condition; recovery in between keeps everything."""
    told = on_a().put(cluster("a", status=cluster_status(ready, since=after(10))))
    told.run(20)
    told.run(moves_at - 1)
    assert {"a": 2} == told.placed()
    told.run(moves_at)

    assert {"b": 2} == told.placed()


@pytest.mark.parametrize(
    ("failover", "moves"),
    [
        pytest.param({"defaultTolerationSeconds": 20}, True, id="sooner"),
        pytest.param({"defaultTolerationSeconds": None}, True, id="no-default"),
        pytest.param({"enabled": False}, False, id="off"),
    ],
)
def test_failover_is_configured(failover: Body, moves: bool) -> None:  # noqa: FBT001
    """How long a failing cluster is tolerated, and whether at all."""
    told = on_a().put(configuration(karmada={"failover": failover}))
    told.put(cluster("a", status=cluster_status("False", since=after(10))))
    told.run(30)

    assert ({"b": 2} if moves else {"a": 2}) == told.placed()


def test_a_policy_that_tolerates_for_ever_stays() -> None:
    """Naming the taint replaces the default."""
    told = on_a({**ANYWHERE, "clusterTolerations": [{"key": NOT_READY, "operator": "Exists"}]})
    told.put(cluster("a", status=cluster_status("False", since=after(10))))
    told.run(90_000)

    assert {"a": 2} == told.placed()


def test_a_cluster_whose_file_is_gone_is_left() -> None:
    """It counts as one that is being deleted, as long as the binding names it."""
    told = on_a()
    told.drop(cluster("a"))
    outcome = told.run(100)

    assert {"b": 2} == told.placed()
    assert ["cluster gone"] == [str(decision.cause) for decision in outcome.decisions]
    assert () == told.run(101).changes


def test_a_cluster_that_is_gone_is_kept_for_want_of_another() -> None:
    """NoClusterFit clears the binding, and says so."""
    told = on_a().drop(cluster("a"), cluster("b"))
    outcome = told.run(100)

    assert {} == told.placed()
    assert "NoClusterFit" == told.condition("Scheduled")["reason"]
    assert ["a"] == list(outcome.decisions[0].rejected) or {} == outcome.decisions[0].rejected


def test_a_cluster_being_deleted_has_its_reason() -> None:
    """It is not even a candidate, which a person should read as well."""
    told = story(cluster("a"), cluster("b", leaving=True), policy(), deployment())
    outcome = told.run(0)

    assert {"b": "cluster(s) being deleted, or without a file"} == outcome.decisions[0].rejected


def test_unclaimed_bindings_stay_where_they_are() -> None:
    """Without a policy nothing is scheduled, and nothing is taken away."""
    told = on_a().drop(policy())
    told.put(deployment(replicas=9))
    told.run(100)

    assert {"a": 2} == told.placed()
    assert "labels" not in str(told.binding()["metadata"])


def test_a_binding_goes_with_its_workload() -> None:
    """The decision says from where."""
    told = on_a().drop(deployment())
    outcome = told.run(100)

    assert [("default/web", (("a", 2),), (), True)] == [
        (d.subject, d.before, d.after, d.removed) for d in outcome.decisions
    ]


def test_cluster_scoped_workloads_have_cluster_scoped_bindings() -> None:
    """A PropagationPolicy never takes them."""
    told = story(cluster(), cluster_role(), configmap())
    told.put(cluster_policy(selectors=[selector("ClusterRole"), selector("ConfigMap")]))
    told.put(policy(selectors=[selector("ClusterRole")]))
    told.run(0)
    folder = "status/clusterresourcebindings.work.karmada.io"

    assert f"{folder}/reader-clusterrole.yaml" in told.files
    assert {"a": 0} == told.placed("settings-configmap")


def test_of_two_workloads_of_one_binding_the_first_comer_keeps_it() -> None:
    """A newcomer whose name differs only in case gets a fault, not the binding."""
    told = on_a().put(deployment("Web", namespace="default"), path="upper.yaml")
    before = told.binding()["spec"]
    outcome = told.run(100)

    assert ["binding-name"] == [fault.rule for fault in outcome.faults]
    assert before == told.binding()["spec"]


def test_no_content_of_a_workload_stops_a_pass() -> None:
    """What no API server would admit counts as absent; only replicas are judged before."""
    told = story(cluster(), policy(placement={"replicaScheduling": DYNAMIC}))
    containers = {"template": {"spec": {"containers": [7, {"resources": "much"}]}}}
    specs = (3, ["?"], None, {"template": 7}, containers, {"replicas": None})
    for number, spec in enumerate(specs):
        told.put({**deployment(f"d{number}"), "spec": spec})
    told.run(0)

    assert [{"a": 0}] * 6 == [told.placed(f"d{number}-deployment") for number in range(6)]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        pytest.param({}, [1], id="by-default"),
        pytest.param({"emptyWorkloadPropagation": True}, [0, 1], id="asked-for"),
    ],
)
def test_a_cluster_without_replicas_stays_if_the_configuration_says_so(
    options: Body, expected: list[int]
) -> None:
    """`--enable-empty-workload-propagation` of upstream's scheduler; a second pass is quiet."""
    told = story(
        configuration(karmada=options),
        cluster("a"),
        cluster("b"),
        policy(placement={"replicaScheduling": DYNAMIC}),
        deployment(replicas=1),
    )
    told.run(0)

    assert expected == sorted(told.placed().values())
    assert () == told.run(30).changes


AWAY = taint("gone", "NoExecute")
REPORT: Body = {
    **deployment("web", replicas=4),
    "status": {"availableReplicas": 4, "observedGeneration": 1},
}
DIVIDED: Body = {"replicaScheduling": DYNAMIC}
WIDE = policy("wide", selectors=[selector(name="loose")], placement=DIVIDED)


def fleet() -> Story:
    """Divided and duplicated workloads, one with what it needs, and one that no policy wants."""
    needing = policy(
        "needing", selectors=[selector(name="needy")], placement=DIVIDED, propagateDeps=True
    )
    dividing = policy("web", selectors=[selector(name="web")], placement=DIVIDED)
    everywhere = policy("every", selectors=[selector(name="every")], placement={})
    here: Body = {"clusterAffinity": {"clusterNames": ["a"]}, **DIVIDED}
    staying = policy("here", selectors=[selector(name="here")], placement=here)
    there: Body = {"clusterAffinity": {"clusterNames": ["z"]}, **DIVIDED}
    waiting = policy("stuck", selectors=[selector(name="stuck")], placement=there)
    names = ("web", "every", "here", "needy", "loose", "stuck")
    return story(
        *(cluster(name) for name in "abc"),
        *(deployment(name, replicas=4) for name in names),
        needing,
        dividing,
        everywhere,
        staying,
        waiting,
        configmap("settings"),
    )


def drop(path: str) -> Callable[[Story], None]:
    """Take a file away."""

    def edit(told: Story) -> None:
        del told.files[path]

    return edit


def put(*bodies: Body, path: str = "") -> Callable[[Story], None]:
    """Write objects."""

    def edit(told: Story) -> None:
        told.put(*bodies, path=path)

    return edit


def moved_by_hand(told: Story) -> None:
    """A person moves a workload, in its binding."""
    path = "status/resourcebindings.work.karmada.io/default/here-deployment.yaml"
    told.files[path] = told.files[path].replace("- name: a\n", "- name: b\n")


CASES: dict[str, tuple[Callable[[Story], None], set[str]]] = {
    "scaled": (put(deployment("web", replicas=6)), {"web"}),
    "relabelled": (put(deployment("loose", replicas=5)), set()),
    "policy-selects": (put(WIDE), {"loose"}),
    "policy-edited": (
        put(policy("web", selectors=[selector(name="web")], placement={})),
        {"web"},
    ),
    "policy-gone": (drop("propagationpolicy/default/web.yaml"), {"web"}),
    "workload-gone": (drop("deployment/default/web.yaml"), set()),
    "report": (put(REPORT, path="feedback/a/web.yaml"), {"web"}),
    "work-reported": (put(work("a", deployment("web")), path="feedback/a/work.yaml"), {"web"}),
    "edited-by-hand": (moved_by_hand, {"here"}),
    "cluster-tainted": (put(cluster("b", taints=[AWAY])), {"web", "every", "needy", "stuck"}),
    "cluster-joins": (put(cluster("d")), {"every", "stuck"}),
    "cluster-gone": (drop("cluster/c.yaml"), {"web", "every", "needy", "stuck"}),
    "settings": (
        put(configuration(feedback={"assumeAfterSeconds": 5})),
        {"web", "every", "here", "needy", "stuck"},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_only_what_a_change_concerns_is_decided(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """And what comes of it is what comes of deciding everything."""
    edit, concerned = CASES[name]
    told, memo, world = fleet(), Memo(), None
    for _ in range(4):
        world = linked(told.world(), world)
        told.files = applied(told.files, reconcile(world, told.now, memo=memo))
        told.now += timedelta(seconds=100)
    world = linked(told.world(), world)
    reconcile(world, told.now, memo=memo)
    edit(told)
    world = linked(told.world(), world)
    cold = reconcile(world, told.now)
    decided: set[ObjectKey] = set()

    def noted(draft: Draft, demand: RescheduleTrigger | None, around: Surroundings) -> Part:
        decided.add(draft.key)
        return decide(draft, demand, around)

    monkeypatch.setattr(plan, "decide", noted)
    warm = reconcile(world, told.now, memo=memo)

    assert replace(cold, explanations={}) == replace(warm, explanations={})
    names = {key.name.removesuffix("-deployment") for key in decided}
    assert concerned == names - {"settings-configmap"}


ONCE, TWICE = 1, 2
PROTECTED = configuration(capacity={"protect": True})
QUOTAS = configuration(karmada={"federatedQuotaEnforcement": True})
OTHER: Body = {**REPORT, "metadata": {"name": "other", "namespace": "default"}}


TERMS: Body = {
    "clusterAffinities": [{"affinityName": name, "clusterNames": [name]} for name in ("a", "b")],
}
SPREAD: Body = {"spreadConstraints": [{"spreadByField": "cluster", "maxGroups": 1}]}
TOLERATING: Body = {"clusterTolerations": [{**SPOT_30, "effect": "NoExecute"}]}
TAINTED = cluster("b", taints=[taint(effect="NoExecute")])
CREATED = [
    pytest.param({"placement": DIVIDED}, [], ONCE, id="divided"),
    pytest.param({"placement": {}}, [], ONCE, id="duplicated"),
    pytest.param({"placement": {}, "propagateDeps": True}, [], ONCE, id="needs-others"),
    pytest.param({"placement": {}}, [TAINTED], ONCE, id="beside-a-taint"),
    pytest.param(
        {"placement": {}},
        [OTHER],
        ONCE,
        id="another-is-reported",
    ),
    pytest.param({"placement": TOLERATING}, [TAINTED], TWICE, id="on-a-tainted-cluster"),
    pytest.param({"placement": SPREAD}, [], TWICE, id="spread"),
    pytest.param({"placement": TERMS}, [], TWICE, id="groups-in-turn"),
    pytest.param({"placement": {"clusterAffinity": {"clusterNames": ["z"]}}}, [], TWICE, id="none"),
    pytest.param({"placement": DIVIDED}, [REPORT], TWICE, id="reported"),
    pytest.param({"placement": DIVIDED}, [PROTECTED], TWICE, id="protected-room"),
    pytest.param({"placement": DIVIDED}, [QUOTAS, quota(overall={"cpu": "9"})], TWICE, id="quotas"),
]


@pytest.mark.parametrize(("placing", "beside", "times"), CREATED)
def test_a_binding_is_decided_once_where_its_own_file_changes_nothing(
    placing: Body, beside: Sequence[Body], times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In all other first passes twice; tests decide each again, and compare."""
    told = story(cluster("a"), cluster("b"), policy(**placing), deployment())  # type: ignore[arg-type]
    for body in beside:
        path = "feedback/a/report.yaml" if body["kind"] == "Deployment" else ""
        told.put(body, path=path)
    decided: list[ObjectKey] = []

    def noted(draft: Draft, demand: RescheduleTrigger | None, around: Surroundings) -> Part:
        decided.append(draft.key)
        return decide(draft, demand, around)

    monkeypatch.setattr(plan, "decide", noted)
    reconcile(told.world(), told.now)

    assert times == len(decided)


WORKLOADS = tuple(f"w{number}" for number in range(6))
ALL = [selector(name="")]
LABELLED: Body = {**deployment("w1"), "metadata": {"name": "w1", "labels": {"tier": "gold"}}}
REPORTED: Body = {**REPORT, "metadata": {"name": "w1", "namespace": "default"}}
LATER: Body = {"activationPreference": "Lazy"}


def ties(names: Sequence[str]) -> int:
    """By how many of the two rules ties are broken, which go by the uid."""
    keys = [ObjectKey("apps", "Deployment", "default", name) for name in names]
    return len({breaks_ties_descending(uid_of(key)) for key in keys})


@pytest.mark.parametrize(
    ("placing", "beside", "expected"),
    [
        pytest.param({"placement": DIVIDED}, [], ties(WORKLOADS), id="divided"),
        pytest.param({"placement": {}}, [], ties(WORKLOADS), id="duplicated"),
        pytest.param({"placement": {}}, [LABELLED], ties(WORKLOADS), id="other-labels"),
        pytest.param({}, [deployment("w1", replicas=7)], 1 + ties(WORKLOADS), id="replicas"),
        pytest.param({"placement": {}, **LATER}, [], len(WORKLOADS), id="lazy"),
        pytest.param({"placement": SPREAD}, [], len(WORKLOADS), id="spread"),
        pytest.param({"placement": DIVIDED}, [REPORTED], len(WORKLOADS), id="reported"),
        pytest.param({"placement": DIVIDED}, [PROTECTED], len(WORKLOADS), id="protected-room"),
    ],
)
def test_of_new_bindings_that_are_alike_few_are_decided(
    placing: Body, beside: Sequence[Body], expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first for each way of breaking ties; tests decide the others, too, and compare."""
    told = story(cluster("a"), cluster("b"), policy(selectors=ALL, **placing))  # type: ignore[arg-type]
    told.put(*map(deployment, WORKLOADS))
    for body in beside:
        told.put(body, path="feedback/a/report.yaml" if body is REPORTED else "")
    decided: set[ObjectKey] = set()

    def noted(draft: Draft, demand: RescheduleTrigger | None, around: Surroundings) -> Part:
        decided.add(draft.key)
        return decide(draft, demand, around)

    reconcile(told.world(), told.now)
    monkeypatch.setattr(plan.AlikeBindings, "decide", DECIDE_ALIKE)
    monkeypatch.setattr(plan, "decide", noted)
    reconcile(told.world(), told.now)

    assert expected == len(decided)


def test_a_binding_that_is_alike_is_explained_as_if_it_were_alone() -> None:
    """It is decided when somebody asks."""
    asked = ObjectKey("work.karmada.io", "ResourceBinding", "default", "w5-deployment")
    found = []
    for names in (WORKLOADS, ["w5"]):
        told = story(cluster("a"), cluster("b"), policy(selectors=ALL, placement=DIVIDED))
        told.put(*map(deployment, names))
        outcome = reconcile(told.world(), told.now, asked=frozenset((asked,)))
        found.append(outcome.explanations[asked]())

    assert found[1] == found[0]


def test_a_pass_that_was_broken_off_leaves_nothing_half_done(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """No memory belongs to no object: the next pass decides as one that remembers nothing."""
    told, memo, world = fleet(), Memo(), None
    world = linked(told.world(), world)
    told.files = applied(told.files, reconcile(world, told.now, memo=memo))
    told.now += timedelta(seconds=100)
    told.put(deployment("web", replicas=6), deployment("here", replicas=7))
    world = linked(told.world(), world)

    def spent(draft: Draft, demand: RescheduleTrigger | None, around: Surroundings) -> Part:
        if draft.key.name == "web-deployment":
            raise MemoryError
        return decide(draft, demand, around)

    with monkeypatch.context() as broken:
        broken.setattr(plan, "decide", spent)
        with pytest.raises(MemoryError):
            reconcile(world, told.now, memo=memo)
    cold = reconcile(world, told.now)

    assert replace(cold, explanations={}) == replace(
        reconcile(world, told.now, memo=memo), explanations={}
    )


KEEPS = configuration(karmada={"failover": {"keepWithoutReplacement": True}})
OUT = [taint(effect="NoExecute")]


def kept(told: Story) -> list[tuple[str, object]]:
    """The clusters of web whose copy stays, and how many replicas each has."""
    found = cast(Sequence[Body], mapping(told.binding(), "spec").get("gracefulEvictionTasks", ()))
    return [(str(one["fromCluster"]), one.get("replicas")) for one in found if "message" in one]


def nowhere(*, keeps: bool = True, placement: Body = ANYWHERE) -> Story:
    """Web must leave the only cluster that there is, and the time of that is over."""
    told = story(cluster("a"), policy(placement=placement), deployment(replicas=4))
    told.put(KEEPS if keeps else configuration())
    told.run(0)
    told.put(cluster("a", taints=OUT)).run(10)
    assert ({}, ["a"], []) == (told.placed(), tasks(told), kept(told))
    return told


@pytest.mark.parametrize("placement", [ANYWHERE, {}], ids=["divided", "duplicated"])
def test_the_last_copy_stays_until_another_one_is_healthy(placement: Body) -> None:
    """It is told once, and the new one counts as healthy when it usually does."""
    told = nowhere(placement=placement)
    (found,) = told.run(700).decisions
    assert [("a", 4)] == kept(told)
    assert "no other cluster takes 4 of its replicas" in found.problem
    assert () == told.run(5000).decisions
    told.put(cluster("b")).run(5010)
    assert ({"b": 4}, [("a", 4)]) == (told.placed(), kept(told))
    told.run(5070)

    assert ({"b": 4}, []) == (told.placed(), tasks(told))


def test_by_default_the_last_copy_goes_when_its_time_is_over() -> None:
    """As upstream."""
    told = nowhere(keeps=False)
    told.run(700)

    assert [] == tasks(told)


def test_a_kept_copy_goes_when_that_is_switched_off() -> None:
    """It is an eviction like any other again, and its time is over."""
    told = nowhere()
    told.run(700)
    told.put(configuration()).run(710)

    assert [] == tasks(told)


def test_a_cluster_that_recovers_has_its_kept_copy_back() -> None:
    """No other place was found, so it is chosen again."""
    told = nowhere()
    told.run(700)
    told.put(cluster("a")).run(800)

    assert ({"a": 4}, []) == (told.placed(), tasks(told))


def test_only_what_finds_no_place_is_kept() -> None:
    """The rest of the copy goes as soon as what took its place is healthy."""
    told = story(cluster("a"), cluster("b"), KEEPS)
    told.put(policy(placement={"replicaScheduling": divided()}), deployment(replicas=4)).run(0)
    assert {"a": 2, "b": 2} == told.placed()
    told.put(policy(placement={**ANYWHERE}), cluster("c", status=cluster_status(pods=1)))
    told.put(cluster("b", status=cluster_status(pods=0)), cluster("a", taints=OUT)).run(10)
    told.run(700)
    assert ({"b": 2}, [("a", 2)]) == (told.placed(), kept(told))
    told.put(deployment(replicas=3)).run(710)

    assert ({"b": 2, "c": 1}, [("a", 2)]) == (told.placed(), kept(told))
    told.run(770)
    assert [] == tasks(told)


def test_a_duplicated_copy_that_stands_elsewhere_goes_as_ever() -> None:
    """It has a place already."""
    told = story(cluster("a"), cluster("b"), policy(placement={}), deployment(), KEEPS)
    told.run(0)
    told.put(cluster("a", taints=OUT)).run(100)
    told.run(800)

    assert ({"b": 2}, []) == (told.placed(), tasks(told))
