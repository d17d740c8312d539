"""Each plugin of KubeFleet's scheduler by itself, the scores of add-ons included."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.dialects.kubefleet.api.member import (
    ELIGIBLE,
    Members,
    assess,
    decode_agent,
    decode_member,
    members_of,
)
from reconciler.dialects.kubefleet.api.names import UnexpectedBehavior
from reconciler.dialects.kubefleet.api.placement import Policy, SpreadConstraint, decode_policy
from reconciler.dialects.kubefleet.plan import KubeFleet
from reconciler.dialects.kubefleet.scheduler.picks import rank
from reconciler.dialects.kubefleet.scheduler.plugins import (
    Request,
    covers,
    reject_affinity,
    reject_namespace,
    score_affinity,
)
from reconciler.dialects.kubefleet.scheduler.topology import assess_topology
from reconciler.dialects.scores import score_question
from reconciler.model.cluster import Taint, TaintEffect, Toleration
from reconciler.model.decision import CauseKind
from reconciler.model.identity import ObjectKey
from reconciler.model.moments import earliest
from reconciler.model.settings import settings_in
from reconciler.schedule.framework import NO_CLUSTERS, Mask, Rejection, positions_of, score_at
from tests.builders import NOW, Body, after, configuration, deployment, rebalancer, text_of
from tests.dialects.kubefleet.fleet import GROUP, PLACEMENT, member, pick, placement, targets
from tests.dialects.kubefleet.test_decide import KEY, answers, explained
from tests.dialects.ocm.worlds import score
from tests.dialects.recorded_reads import Changes, after_the_change
from tests.stories import Story, story

TAINT = Taint("team", "blue", TaintEffect.NO_SCHEDULE)


def members(*bodies: Body) -> Members:
    """A fleet of declared clusters."""
    return members_of(map(decode_member, bodies), NOW, heartbeats=False)


def with_cpu(name: str, available: str) -> Body:
    """A cluster that reports its available cpu."""
    return member(name, status={"resourceUsage": {"available": {"cpu": available}}})


def request_of(policy: Policy, fleet: Members, *, namespace: str = "") -> Request:
    """A request of a placement that is nowhere yet."""
    return Request(
        policy=policy, topology=assess_topology((), fleet, NO_CLUSTERS), namespace=namespace
    )


def required(*terms: Body) -> Policy:
    """A policy with required terms."""
    selector = {"requiredDuringSchedulingIgnoredDuringExecution": {"clusterSelectorTerms": terms}}
    return decode_policy({"placementType": "PickAll", "affinity": {"clusterAffinity": selector}})


def preferred(*terms: tuple[int, Body]) -> Policy:
    """A policy with preferred terms."""
    listed = [{"weight": weight, "preference": term} for weight, term in terms]
    affinity = {"preferredDuringSchedulingIgnoredDuringExecution": listed}
    return decode_policy({"placementType": "PickN", "affinity": {"clusterAffinity": affinity}})


def names_of(rejections: Iterable[Rejection], fleet: Members) -> list[str]:
    """The names of the rejected clusters."""
    found = (i for rejection in rejections for i in positions_of(rejection.clusters))
    return sorted(fleet.fleet.names[i] for i in found)


def cpu(operator: str, *values: str) -> Body:
    """A term on the available cpu."""
    name = "resources.kubernetes-fleet.io/available-cpu"
    expression = {"name": name, "operator": operator, "values": list(values)}
    return {"propertySelector": {"matchExpressions": [expression]}}


@pytest.mark.parametrize(
    ("term", "rejected"),
    [
        pytest.param({}, [], id="an empty term fits all"),
        pytest.param(cpu("Ge", "2"), ["a", "c"], id="no value satisfies no operator"),
        pytest.param(cpu("Ne", "9"), ["c"], id="not even Ne"),
        pytest.param(cpu("Eq", "2000m"), ["a", "c"], id="quantities compare exactly"),
        pytest.param(
            {"labelSelector": {"matchLabels": {"env": "prod"}}}, ["a", "b", "c"], id="labels"
        ),
    ],
)
def test_required_terms(term: Body, rejected: list[str]) -> None:
    """A cluster passes if it fits some term."""
    fleet = members(with_cpu("a", "1"), with_cpu("b", "2"), member("c"))

    assert rejected == names_of(
        reject_affinity(request_of(required(term), fleet), fleet, NOW), fleet
    )


@pytest.mark.parametrize(
    "term",
    [
        pytest.param(cpu("Ge", "1", "2"), id="two values"),
        pytest.param(cpu("Near", "1"), id="unknown operator"),
        pytest.param(cpu("Ge", "much"), id="value that is no quantity"),
        pytest.param(
            {"labelSelector": {"matchExpressions": [{"key": "a", "operator": "Gt"}]}},
            id="label operator",
        ),
    ],
)
def test_term_that_cannot_be_judged_stops_the_cycle(term: Body) -> None:
    """Unless every cluster fits an earlier term."""
    fleet = members(with_cpu("a", "1"))
    with pytest.raises(UnexpectedBehavior):
        reject_affinity(request_of(required(term), fleet), fleet, NOW)
    fine = request_of(required({}, term), fleet)

    assert [] == names_of(reject_affinity(fine, fleet, NOW), fleet)


@pytest.mark.parametrize(
    ("order", "weight", "scores"),
    [
        pytest.param("Descending", 100, (0, 50, 100, 0), id="most gets all"),
        pytest.param("Ascending", 100, (100, 50, 0, 0), id="least gets all"),
        pytest.param("Descending", -5, (0, -3, -5, 0), id="halves go away from zero"),
    ],
)
def test_sorter_shares_its_weight(order: str, weight: int, scores: tuple[int, ...]) -> None:
    """In proportion between the extremes of the fleet; a cluster without a value gets nothing."""
    fleet = members(with_cpu("a", "1"), with_cpu("b", "2"), with_cpu("c", "3"), member("d"))
    sorter = {"name": "resources.kubernetes-fleet.io/available-cpu", "sortOrder": order}
    request = request_of(preferred((weight, {"propertySorter": sorter})), fleet)

    levels = score_affinity(request, fleet, fleet.fleet.all, NOW)

    assert scores == tuple(score_at(levels, position) for position in range(4))


@pytest.mark.parametrize(
    ("toleration", "covered"),
    [
        pytest.param(Toleration(operator="Exists"), True, id="Exists without key covers all"),
        pytest.param(Toleration("team", "Exists"), True, id="Exists with the key"),
        pytest.param(Toleration("team", "Equal", "blue"), True, id="Equal"),
        pytest.param(Toleration("", "Equal", "blue"), False, id="Equal without key"),
        pytest.param(Toleration("team", "", "blue"), False, id="no operator covers nothing"),
        pytest.param(Toleration("team", "Exists", effect="NoExecute"), False, id="other effect"),
    ],
)
def test_tolerations(toleration: Toleration, covered: bool) -> None:  # noqa: FBT001  # a table
    """The operator decides, then key, value and effect."""
    assert covered == covers(toleration, TAINT)


def agent(
    *, healthy: str = "True", joined: str = "True", ago: int = 0, since: int = 0
) -> Mapping[str, object]:
    """A status as the member agent reports it, so many seconds ago."""
    moment = text_of(NOW - timedelta(seconds=since))
    conditions = [
        {"type": kind, "status": status, "lastTransitionTime": moment}
        for kind, status in (("Joined", joined), ("Healthy", healthy))
    ]
    heartbeat = text_of(NOW - timedelta(seconds=ago))
    entry = {"type": "MemberAgent", "conditions": conditions, "lastReceivedHeartbeat": heartbeat}
    return {"agentStatus": [entry]}


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        pytest.param(agent(), "", id="fine"),
        pytest.param({}, "member agent not online yet", id="no agent"),
        pytest.param(agent(ago=300), "", id="silent for exactly five minutes"),
        pytest.param(agent(ago=301), "no recent heartbeat signals", id="silent for longer"),
        pytest.param(agent(joined="False"), "member agent not joined yet", id="not joined"),
        pytest.param(agent(healthy="False", since=300), "", id="ill for five minutes"),
        pytest.param(agent(healthy="Unknown", since=301), "unhealthy for a prolonged", id="ill"),
    ],
)
def test_eligibility(status: Body, reason: str) -> None:
    """The first thing that is wrong is the reason."""
    found = assess(decode_agent(status), NOW, leaving=False, heartbeats=True)

    assert bool(reason) == bool(found.reason)
    assert reason in found.reason


STATUSES: st.SearchStrategy[Body | None] = st.one_of(
    st.builds(
        agent,
        healthy=st.sampled_from(["True", "False", ""]),
        joined=st.sampled_from(["True", "Unknown"]),
        ago=st.sampled_from([0, 30, 300, 301, -(10**9)]),
        since=st.sampled_from([0, 300, 301]),
    ),
    st.just({"agentStatus": [{"type": "MemberAgent"}]}),
    st.just({"agentStatus": []}),
    st.none(),
)


@given(st.lists(st.tuples(STATUSES, st.booleans()), max_size=5), st.booleans())
def test_a_fleet_is_judged_as_each_of_its_clusters(
    known: list[tuple[Body | None, bool]],
    heartbeats: bool,  # noqa: FBT001  # drawn
) -> None:
    """Also where most are well and nothing but their last heartbeat is looked at."""
    views = [
        decode_member(member(f"c{i}", status=status, leaving=leaving))
        for i, (status, leaving) in enumerate(known)
    ]
    each = [
        ELIGIBLE
        if view.declared and not view.cluster.deleting
        else assess(view.agent, NOW, leaving=view.cluster.deleting, heartbeats=heartbeats)
        for view in views
    ]
    fleet = members_of(views, NOW, heartbeats=heartbeats)

    assert {i: one.reason for i, one in enumerate(each) if one.reason} == fleet.reasons
    assert earliest(*(one.until for one in each)) == fleet.until


def test_illness_ends_eligibility_a_second_after_five_minutes() -> None:
    """Time alone changes the answer, and the answer says when."""
    found = assess(
        decode_agent(agent(healthy="False", since=100)), NOW, leaving=False, heartbeats=False
    )

    assert found.until == NOW + timedelta(seconds=201)


def zones(*values: str) -> Members:
    """Clusters c0, c1, ... in these zones."""
    return members(*(member(f"c{i}", labels={"zone": zone}) for i, zone in enumerate(values)))


@pytest.mark.parametrize(
    ("placed", "scores", "rejected"),
    [
        pytest.param((), {-1: ["c0", "c1", "c2"]}, [], id="an even spread gets uneven"),
        pytest.param((0,), {1: ["c2"]}, ["c0", "c1"], id="the emptier zone is preferred"),
        pytest.param((0, 2), {-1: ["c0", "c1", "c2"]}, [], id="even again"),
    ],
)
def test_hard_spread(
    placed: Sequence[int], scores: Mapping[int, list[str]], rejected: list[str]
) -> None:
    """Zones x, x, y with maxSkew 1."""
    fleet = zones("x", "x", "y")
    constraint = SpreadConstraint("zone", 1, "DoNotSchedule")
    mask = Mask(sum(1 << position for position in placed))
    found = assess_topology((constraint,), fleet, mask)
    named = {
        score: [fleet.fleet.names[i] for i in positions_of(clusters)]
        for score, clusters in found.scores
    }

    assert scores == named
    assert rejected == names_of(found.rejections, fleet)


def test_soft_violation_costs_a_thousand() -> None:
    """ScheduleAnyway never rejects."""
    fleet = zones("x", "x", "y")
    constraint = SpreadConstraint("zone", 1, "ScheduleAnyway")
    found = assess_topology((constraint,), fleet, Mask(1))

    assert () == found.rejections
    assert {-1000, 1} == {score for score, _ in found.scores}


def test_ties_go_to_kept_clusters_then_to_the_greater_name() -> None:
    """Topology and affinity come first."""
    fleet = members(*(member(name) for name in "abc"))
    plain = request_of(Policy(placement_type="PickN"), fleet)
    kept = Request(policy=plain.policy, topology=plain.topology, obsolete=Mask(1))

    assert ["c", "b", "a"] == [item.name for item in rank(plain, fleet, fleet.fleet.all, NOW)]
    assert ["a", "c", "b"] == [item.name for item in rank(kept, fleet, fleet.fleet.all, NOW)]


def test_many_equal_clusters_come_with_the_greater_name_first() -> None:
    """However many there are, and however many are asked for."""
    names = [f"c{number:02d}" for number in range(40)]
    fleet = members(*map(member, names))
    request = request_of(decode_policy({"placementType": "PickAll"}), fleet)

    assert names[::-1] == [item.name for item in rank(request, fleet, fleet.fleet.all, NOW)]


@pytest.mark.parametrize(
    ("namespace", "expected"),
    [
        pytest.param("web", ["c", "d"], id="of-a-namespace"),
        pytest.param("", [], id="of-the-fleet"),
    ],
)
def test_a_namespaced_placement_needs_its_namespace(namespace: str, expected: list[str]) -> None:
    """A cluster that gathers its namespaces must tell this one; others are trusted to have it."""
    gathers = {"conditions": [{"type": "NamespaceCollectionSucceeded", "status": "False"}]}
    fleet = members(
        member("a", status={**gathers, "namespaces": {"web": ""}}),
        member("b", status={"namespaces": {"api": ""}}),
        member("c", status={**gathers, "namespaces": {"api": ""}}),
        member("d", status=gathers),
    )
    request = request_of(Policy(), fleet, namespace=namespace)

    assert expected == sorted(names_of(reject_namespace(request, fleet, NOW), fleet))


ON = configuration(scores={"extend": True})
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
SORTER = {"name": "score.reconciler.dev/r.s", "sortOrder": "Descending"}
PREFER_SCORE = {
    "affinity": {
        "clusterAffinity": {PREFERRED: [{"weight": 10, "preference": {"propertySorter": SORTER}}]}
    }
}
TARGET = {"apiVersion": f"{GROUP}/v1beta1", "kind": PLACEMENT, "name": "web"}


def scored(values: Mapping[str, int], *, number: int = 1, on: bool = True) -> Story:
    """Three clusters, some with a score, and a placement on the best."""
    scores = [score(name, value) for name, value in values.items()]
    told = story(
        *map(member, "abc"), *scores, placement(pick(number, **PREFER_SCORE)), deployment()
    )
    return told.put(ON) if on else told


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        pytest.param({"a": 30, "b": 10, "c": 0}, ["a"], id="the-greatest"),
        pytest.param({"a": -50, "c": -20}, ["b"], id="one-that-is-missing-counts-as-0"),
        pytest.param({"a": 0}, ["c"], id="equal-ones-say-nothing"),
    ],
)
def test_a_placement_takes_the_best_by_score(
    scores: Mapping[str, int], expected: list[str]
) -> None:
    """Then the greater name."""
    told = scored(scores)
    told.run(0)

    assert expected == targets(told)


def test_without_the_setting_it_is_a_property_that_no_cluster_has() -> None:
    """As for a hub: nothing is refused, and nothing is ranked by it."""
    told = scored({"a": 30}, on=False)
    told.run(0)

    assert (["c"], ()) == (targets(told), told.world().faults)


def test_a_score_counts_until_it_has_run_out() -> None:
    """Its last moment included."""
    for seconds, expected in ((60, ["a"]), (61, ["b"])):
        told = scored({"b": 10}).put(score("a", 30, validUntil=text_of(after(60))))
        told.run(seconds)

        assert expected == targets(told)


def test_a_score_alone_moves_nothing() -> None:
    """A property that changes has no cluster picked anew either."""
    told = scored({"a": 30})
    told.run(0)
    told.run(1)
    told.put(score("a", 0), score("c", 90))

    assert ["a"] == targets(told)
    assert () == told.run(2).decisions
    assert ["a"] == targets(told)


def test_what_wants_more_clusters_is_ranked_by_the_scores_of_now() -> None:
    """One that lacks clusters waits for the moment at which a score has run out."""
    told = scored({"a": 30}, number=4).put(score("b", 5, validUntil=text_of(after(60))))
    told.run(0)

    assert after(61) == told.run(1).recheck_at
    told.put(placement(pick(3, **PREFER_SCORE)))
    told.run(2)
    assert after(61) != told.run(3).recheck_at


def test_a_rebalance_takes_the_best_of_now() -> None:
    """And names the scores as what it took beside."""
    told = scored({"a": 30})
    told.run(0)
    told.put(score("c", 90), rebalancer("demo", TARGET))
    [decision] = [one for one in told.run(60).decisions if one.before != one.after]

    assert {CauseKind.REBALANCED, CauseKind.SCORES_CHANGED} == decision.cause.kinds
    assert ["c"] == [key.namespace for one in decision.cause.also for key in one.sources]


def test_why_tells_the_score_of_each_cluster() -> None:
    """Those that are missing, and those that have run out."""
    told = scored({"a": 30}).put(score("b", 10, validUntil=text_of(after(-1))))
    found = answers(explained(told))

    assert {
        "a": "score r/s is 30",
        "b": "score r/s has run out, counts as 0",
        "c": "score r/s is not reported, counts as 0",
    } == {name: one.note for name, one in found.items()}


@pytest.mark.parametrize(("number", "reads"), [(4, [KEY]), (1, [])])
def test_a_placement_that_lacks_clusters_reads_the_scores(
    number: int, reads: list[ObjectKey]
) -> None:
    """It is looked at when one changes; one that has all its clusters is not."""
    told = scored({"a": 30}, number=number)
    parts = KubeFleet()
    told.run(0)
    world, settings = told.world(), settings_in(told.world())
    parts.prepare(world, settings, told.now).plan({}, frozenset(), {})

    assert set(reads) == parts.memory.parts.asking(score_question("r"))


def test_a_changed_score_is_found() -> None:
    """By what a pass remembers as well as by what it looks at anew."""
    changes: Changes = {
        "scores": (lambda: scored({"a": 30}, number=4), lambda told: told.put(score("c", 50)))
    }
    warm, cold = after_the_change(changes, "scores")

    assert cold == warm
