"""Prioritizers: raw scores, which of them count, and the order they make."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
    score_balance,
)
from reconciler.dialects.ocm.scheduler.schedule import decided_by, schedule
from reconciler.dialects.scores import ScoreReport
from reconciler.errors import Misconfigured
from reconciler.model.identity import ClusterName
from reconciler.model.moments import parse_moment

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
