"""Prioritizers and TaintToleration: scores, their limits and their record, and who is kept out."""

from collections.abc import Mapping
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.core.message import commit_message
from reconciler.dialects.ocm.api.cluster import Members, Request, decode_cluster, members_of
from reconciler.dialects.ocm.api.placement import (
    AddOnScore,
    DecisionObject,
    Placement,
    decode_placement,
)
from reconciler.dialects.ocm.scheduler.plugins import (
    ScoreAddOn,
    ScoreAllocatable,
    prioritizers_of,
    refuse_tolerations,
    score_balance,
    tolerance,
)
from reconciler.dialects.ocm.scheduler.schedule import decided_by, schedule
from reconciler.dialects.scores import ScoreReport
from reconciler.errors import Misconfigured
from reconciler.manifests.text.reader import read
from reconciler.model.cluster import Taint, TaintEffect, Toleration
from reconciler.model.decision import ScorePart
from reconciler.model.fields import mapping
from reconciler.model.identity import ClusterName
from reconciler.model.moments import parse_moment
from tests.builders import NOTHING
from tests.dialects.ocm.worlds import (
    BY_SCORE,
    GROUP,
    at,
    binding,
    chosen,
    cluster,
    cluster_set,
    placement,
    run,
    score,
)

NOW = parse_moment("2026-11-20T12:00:00Z")


def fleet(**cpus: object) -> Members:
    """Clusters by name, each with an amount of cpu or `None`."""
    bodies = []
    for name, amount in cpus.items():
        amounts = {} if amount is None else {"cpu": amount}
        status = {"allocatable": amounts, "capacity": amounts}
        bodies.append({"metadata": {"name": name}, "status": status})
    return members_of(map(decode_cluster, bodies))


def request(members: Members, **rest: object) -> Request:
    """A request that may take every cluster."""
    placement = decode_placement({"metadata": {"name": "p", "namespace": "n"}, "spec": rest})
    return Request(placement=placement, candidates=members.fleet.all)


def with_policy(**policy: object) -> Placement:
    """A placement of this prioritizerPolicy."""
    return decode_placement({"spec": {"prioritizerPolicy": policy}})


def built_in(name: str, weight: int | None = None, **rest: object) -> Mapping[str, object]:
    """The configuration of a built-in score."""
    found = {"scoreCoordinate": {"type": "BuiltIn", "builtIn": name, **rest}}
    return found if weight is None else {**found, "weight": weight}


@pytest.mark.parametrize(
    ("others", "expected"),
    [
        pytest.param({}, [100, 100], id="nobody-chose-anything"),
        pytest.param({"a": 1}, [-100, 100], id="most-chosen-is-the-worst"),
        pytest.param({"a": 1, "b": 3}, [32, -100], id="thirds-are-cut-to-even-numbers"),
        pytest.param({"a": 1, "gone": 2}, [0, 100], id="unknown-cluster-sets-the-scale"),
    ],
)
def test_balance(others: Mapping[str, int], expected: list[int]) -> None:
    """Counts against the greatest count of all."""
    members = fleet(a=None, b=None)
    chosen = [ClusterName(name) for name, count in others.items() for _ in range(count)]
    decided = decided_by(
        DecisionObject("n", f"d{number}", (), (name,)) for number, name in enumerate(chosen)
    )
    placement = Placement(namespace="n", name="p")
    counts = decided.of_others(placement, members.fleet)
    asked = Request(placement=placement, candidates=members.fleet.all, others=counts)

    assert expected == list(score_balance(asked, members, members.fleet.all, NOW).column)


@pytest.mark.parametrize(
    ("cpus", "expected", "silent"),
    [
        pytest.param({"a": "1", "b": "3"}, [-100, 100], 0, id="least-and-most"),
        pytest.param({"a": "1", "b": "1"}, [100, 100], 0, id="all-equal"),
        pytest.param({"a": "1", "b": "2", "c": "4"}, [-100, -33, 100], 0, id="cut-toward-zero"),
        pytest.param({"a": "1", "b": None, "c": "2"}, [-100, 0, 100], 2, id="without-an-amount"),
        pytest.param({"a": None}, [0], 1, id="nobody-has-an-amount"),
    ],
)
def test_resource(cpus: Mapping[str, object], expected: list[int], silent: int) -> None:
    """Where the amount lies between the least and the most."""
    members = fleet(**cpus)
    found = ScoreAllocatable("cpu")(request(members), members, members.fleet.all, NOW)

    assert (expected, silent) == (list(found.column), found.silent)


@pytest.mark.parametrize(
    ("valid_until", "expected", "expired"),
    [
        pytest.param(None, 7, (), id="for-ever"),
        pytest.param("2026-11-20T12:00:00Z", 7, (), id="last-moment"),
        pytest.param("2026-11-20T11:59:59Z", 0, ("a/r",), id="run-out"),
    ],
)
def test_addon(valid_until: str | None, expected: int, expired: tuple[str, ...]) -> None:
    """A score counts up to the moment until which it is valid."""
    members = fleet(a=None)
    until = None if valid_until is None else parse_moment(valid_until)
    asked = Request(
        placement=Placement(namespace="n", name="p"),
        candidates=members.fleet.all,
        reports={("a", "r"): ScoreReport({"s": 7}, until)},
    )
    found = ScoreAddOn(AddOnScore("r", "s"))(asked, members, members.fleet.all, NOW)

    assert ([expected], expired) == (list(found.column), found.expired)


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        pytest.param({}, [("Balance", 1), ("Steady", 1)], id="defaults"),
        pytest.param({"mode": "Exact"}, [], id="exact-starts-empty"),
        pytest.param(
            {"configurations": [built_in("Steady", 3)]},
            [("Balance", 1), ("Steady", 3)],
            id="replaces-a-default",
        ),
        pytest.param(
            {"configurations": [built_in("Steady", 0), built_in("Nope", 0)]},
            [("Balance", 1)],
            id="zero-turns-off-and-hides",
        ),
        pytest.param(
            {"mode": "Exact", "configurations": [built_in("Balance", 2), built_in("Balance", 5)]},
            [("Balance", 5)],
            id="later-weight-counts",
        ),
        pytest.param(
            {"configurations": [built_in("Steady", 2, addOn={})]},
            [("Balance", 1), ("Steady", 1), ("Steady", 2)],
            id="with-addon-it-is-another-one",
        ),
    ],
)
def test_weights(policy: Mapping[str, object], expected: list[tuple[str, int]]) -> None:
    """Names and weights of what counts."""
    found = prioritizers_of(with_policy(**policy))

    assert expected == [(item.name, item.weight) for item in found]


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        pytest.param({"mode": "Near"}, "incorrect prioritizer policy mode: Near", id="mode"),
        pytest.param({"configurations": [{}]}, "scoreCoordinate field is required", id="missing"),
        pytest.param(
            {"configurations": [built_in("Spread")]},
            "incorrect builtin prioritizer: Spread",
            id="unknown",
        ),
        pytest.param(
            {"configurations": [{"scoreCoordinate": {"type": "AddOn"}}]},
            "addOn should not be empty",
            id="add-on",
        ),
    ],
)
def test_wrong_prioritizers_are_misconfigured(policy: Mapping[str, object], message: str) -> None:
    """Upstream's sentences."""
    with pytest.raises(Misconfigured, match=message):
        prioritizers_of(with_policy(**policy))


@given(st.dictionaries(st.sampled_from("abcdef"), st.integers(1, 4), min_size=1))
def test_order_is_by_total_then_by_name(cpus: dict[str, int]) -> None:
    """The greatest total first, the lesser name of equal ones."""
    members = fleet(**cpus)
    policy = {"mode": "Exact", "configurations": [built_in("ResourceAllocatableCPU")]}
    found = schedule(request(members, prioritizerPolicy=policy), members, NOW)

    assert sorted(cpus, key=lambda name: (-cpus[name], name)) == list(found.ranked)


@pytest.mark.parametrize(
    ("number", "ranked", "unscheduled"),
    [
        pytest.param(None, ["a", "b"], 0, id="all-that-fit"),
        pytest.param(1, ["a"], 0, id="the-best"),
        pytest.param(3, ["a", "b"], 1, id="too-few"),
        pytest.param(0, [], 0, id="none"),
        pytest.param(-1, [], 0, id="negative-is-misconfigured"),
    ],
)
def test_number_of_clusters(number: int | None, ranked: list[str], unscheduled: int) -> None:
    """How many are taken, and how many are missing."""
    members = fleet(a=None, b=None)
    found = schedule(request(members, numberOfClusters=number), members, NOW)

    assert (ranked, unscheduled) == (list(found.ranked), found.unscheduled)


HUB = (cluster_set(), binding(), placement(numberOfClusters=1, prioritizerPolicy=BY_SCORE))
NAMES = [f"c{i:04d}" for i in range(1000)]


def test_thousand_scores_in_one_commit_are_one_pass() -> None:
    """A thousand new files move one placement once, or change nothing at all."""
    hub = [*HUB, *map(cluster, NAMES)]
    files, _ = run([*hub, *(score(name, i % 50) for i, name in enumerate(NAMES))], {}, at(0))
    assert ["c0049"] == chosen(files)

    same = [*hub, *(score(name, i % 50 - 9) for i, name in enumerate(NAMES))]
    assert () == run(same, files, at(1000))[1].changes
    other = [*hub, *(score(name, 50 - i % 50) for i, name in enumerate(NAMES))]
    moved, outcome = run(other, files, at(1000))

    assert (["c0000"], 1) == (chosen(moved), len(outcome.decisions))
    assert [
        f"status/placementdecisions.{GROUP}/ns1/p-decision-1.yaml",
        f"status/placements.{GROUP}/ns1/p.yaml",
        "status/reconciler.yaml",
    ] == [change.path for change in outcome.changes]


def test_scores_of_every_second_move_once_a_period() -> None:
    """Five minutes of scores that favour another cluster each second, valid for ten seconds."""
    hub = [*HUB, cluster("a"), cluster("b")]
    files, _ = run([*hub, score("a", 1), score("b", 0)], {}, at(0))
    commits = moves = 0
    for second in range(1, 301):
        until = (at(second) + timedelta(seconds=10)).isoformat()
        ahead = "ab"[second % 2]
        scores = [score(name, 9 if name == ahead else 0, validUntil=until) for name in "ab"]
        files, outcome = run([*hub, *scores], files, at(second))
        commits += bool(outcome.changes)
        moves += len(outcome.decisions)

    assert (0, 0) == (commits, moves)
    late = [score("a", 0), score("b", 9)]
    files, outcome = run([*hub, *late], files, at(301))
    assert (["b"], 1) == (chosen(files), len(outcome.decisions))
    assert () == run([*hub, score("a", 99), late[1]], files, at(302))[1].changes


def test_missing_scores_are_reported_once() -> None:
    """No object, no item of that name, and one that ran out: told as long as it is so."""
    missing = {**score("b", 1), "status": {"scores": [{"name": "other", "value": 7}]}}
    expired = score("c", 5, validUntil="2020-01-01T00:00:00Z")
    hub = [*HUB, *map(cluster, "abcd"), missing, expired, score("d", -1)]
    files, outcome = run(hub, {}, at(0))

    assert ["a"] == chosen(files)
    assert [
        "the score AddOn/r/s has run out for c, it counts as 0",
        "the score AddOn/r/s is not reported for a, b, it counts as 0",
    ] == [fault.message for fault in outcome.faults]
    assert () == run(hub, files, at(1))[1].changes
    assert () == run(hub, files, at(5000))[1].changes


POLICY = {**BY_SCORE, "mode": "Additive"}
HUB_OF_POLICY = (cluster_set(), binding(), placement(numberOfClusters=1, prioritizerPolicy=POLICY))
FLEET = (*HUB_OF_POLICY, cluster("a"), cluster("b"))


def scores(files: dict[str, str]) -> dict[str, str]:
    """The scores that the first decision object tells."""
    path = f"status/placementdecisions.{GROUP}/ns1/p-decision-1.yaml"
    metadata = mapping(read(files[path].encode(), path).documents[0].body, "metadata")
    found = mapping(metadata, "annotations")
    return {key: str(found[key]) for key in found if key.startswith("score.")}


def test_decision_carries_the_parts_of_its_scores() -> None:
    """Weight times score of each prioritizer, for the chosen clusters only."""
    files, outcome = run([*FLEET, score("a", 1), score("b", 9)], {}, at(0))
    [decision] = outcome.decisions

    parts = (ScorePart("Balance", 100), ScorePart("Steady", 0), ScorePart("AddOn/r/s", 9))
    assert {"b": parts} == decision.scores
    assert {
        "score.reconciler.dev/b": "109 = Balance 1 x 100 + Steady 1 x 0 + AddOn/r/s 1 x 9"
    } == scores(files)


def test_commit_message_tells_the_total() -> None:
    """One line a decision, the best first."""
    _, outcome = run([*FLEET, score("a", 1), score("b", 9)], {}, at(0))
    message = commit_message(outcome, NOTHING, now=at(0), version="0")

    assert "- ns1/p: nowhere -> b: created; score b 109\n" in message


def test_new_scores_without_a_move_change_nothing() -> None:
    """What is recorded is what the decision was made by, however scores went on."""
    files, _ = run([*FLEET, score("a", 1), score("b", 9)], {}, at(0))
    _, outcome = run([*FLEET, score("a", 2), score("b", 50)], files, at(1000))

    assert () == outcome.changes


def test_move_renews_the_scores() -> None:
    """The period is over, so the better cluster is taken, with its scores."""
    files, _ = run([*FLEET, score("a", 1), score("b", 9)], {}, at(0))
    documents = [*HUB_OF_POLICY[:2], cluster("a"), cluster("b"), score("a", 99), score("b", -99)]
    files, _ = run([*documents, HUB_OF_POLICY[2]], files, at(1000))

    assert ["score.reconciler.dev/a"] == list(scores(files))


def test_choice_without_prioritizers_has_a_total_of_nothing() -> None:
    """Exact without configurations scores nobody."""
    hub = [cluster_set(), binding(), cluster("a"), placement(prioritizerPolicy={"mode": "Exact"})]

    assert {"score.reconciler.dev/a": "0"} == scores(run(hub, {}, at(0))[0])


FOR_EVER = Toleration("k", "Exists")


def taint(effect: str = "NoSelect", age_seconds: float = 0, value: str = "") -> Taint:
    """A taint of the key `k`."""
    return Taint("k", value, TaintEffect(effect), NOW - timedelta(seconds=age_seconds))


def for_seconds(seconds: int) -> Toleration:
    """A toleration of the key `k` for a while."""
    return Toleration("k", "Exists", toleration_seconds=seconds)


@pytest.mark.parametrize(
    ("effect", "decided", "tolerated"),
    [
        pytest.param("NoSelect", False, False, id="no-select-rejects"),
        pytest.param("NoSelect", True, False, id="no-select-rejects-what-is-decided"),
        pytest.param("NoSelectIfNew", False, False, id="if-new-rejects-a-newcomer"),
        pytest.param("NoSelectIfNew", True, True, id="if-new-spares-what-is-decided"),
        pytest.param("PreferNoSelect", False, True, id="prefer-never-rejects"),
    ],
)
def test_effects_without_tolerations(effect: str, decided: bool, tolerated: bool) -> None:  # noqa: FBT001
    """The effect and the decision so far decide alone."""
    found = tolerance((taint(effect),), (), decided=decided, now=NOW)

    assert tolerated == (found.untolerated is None)


@pytest.mark.parametrize(
    ("tolerations", "tolerated", "until"),
    [
        pytest.param((for_seconds(10),), True, 1, id="one-second-left"),
        pytest.param((for_seconds(9),), False, None, id="just-run-out"),
        pytest.param((for_seconds(-1),), False, None, id="negative"),
        pytest.param((for_seconds(9), FOR_EVER), True, None, id="next-one-takes-over"),
        pytest.param((for_seconds(20), FOR_EVER), True, 11, id="first-that-holds-counts"),
        pytest.param((FOR_EVER, for_seconds(20)), True, None, id="for-ever-comes-first"),
        pytest.param((for_seconds(2**63 // 10**9),), True, 9223372027, id="most-that-fits"),
        pytest.param((for_seconds(2**63 // 10**9 + 1),), False, None, id="wraps-around"),
        pytest.param((Toleration("", "Exists"),), True, None, id="every-key"),
        pytest.param((Toleration("k", "Equal", "x"),), False, None, id="other-value"),
        pytest.param((Toleration("k", ""),), True, None, id="empty-operator-compares"),
        pytest.param((Toleration("k", "Near"),), False, None, id="unknown-operator"),
        pytest.param((Toleration("k", "Exists", "", "NoSelectIfNew"),), False, None, id="effect"),
    ],
)
def test_first_toleration_that_holds_decides(
    tolerations: tuple[Toleration, ...],
    tolerated: bool,  # noqa: FBT001
    until: int | None,
) -> None:
    """The taint is nine seconds old."""
    found = tolerance((taint(age_seconds=9),), tolerations, decided=False, now=NOW)

    assert tolerated == (found.untolerated is None)
    assert found.until == (None if until is None else NOW + timedelta(seconds=until))


def test_seconds_limit_the_spared_effect_only_while_new() -> None:
    """NoSelectIfNew is spared where decided, so no time limits it there."""
    found = [
        tolerance((taint("NoSelectIfNew"),), (for_seconds(5),), decided=decided, now=NOW).until
        for decided in (False, True)
    ]

    assert [NOW + timedelta(seconds=5), None] == found


def test_taint_without_a_moment_was_added_long_ago() -> None:
    """No toleration with seconds holds for it."""
    undated = Taint("k", "", TaintEffect.NO_SELECT)

    assert (
        undated == tolerance((undated,), (for_seconds(10**9),), decided=True, now=NOW).untolerated
    )


@given(
    ages=st.lists(st.integers(0, 100), min_size=1, max_size=4),
    seconds=st.lists(st.none() | st.integers(-5, 100), max_size=4),
    decided=st.booleans(),
)
def test_nothing_changes_before_the_moment_foreseen(
    ages: list[int], seconds: list[int | None], *, decided: bool
) -> None:
    """Up to `until` a cluster stays tolerated, and it has no moment if it stays so for ever."""
    taints = tuple(taint(age_seconds=age) for age in ages)
    tolerations = tuple(Toleration("k", "Exists", toleration_seconds=item) for item in seconds)

    def tolerated(now: datetime) -> bool:
        return tolerance(taints, tolerations, decided=decided, now=now).untolerated is None

    found = tolerance(taints, tolerations, decided=decided, now=NOW)
    last = (found.until or NOW + timedelta(seconds=1000)) - timedelta(seconds=1)
    if found.untolerated is None:
        assert tolerated(last)


@pytest.mark.parametrize(
    ("toleration", "message"),
    [
        pytest.param(Toleration("", "Equal"), "If the key is empty", id="empty-key"),
        pytest.param(Toleration("", ""), "If the key is empty", id="empty-key-and-operator"),
        pytest.param(Toleration("k", "Exists", "v"), "If the operator is Exists", id="value"),
    ],
)
def test_contradiction_is_misconfigured(toleration: Toleration, message: str) -> None:
    """Upstream's sentences."""
    with pytest.raises(Misconfigured, match=message):
        refuse_tolerations((FOR_EVER, toleration))
