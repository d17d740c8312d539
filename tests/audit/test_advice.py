"""Advice on a repository in memory: who waits, who gains what elsewhere, which are advised."""

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import assume, event, given
from hypothesis import strategies as st

from reconciler.audit.advice import Advice, advise
from reconciler.audit.fleet.placed import placed_on
from reconciler.audit.gains import (
    AdviceRequest,
    Candidate,
    Change,
    Gain,
    Goal,
    ScoreFamily,
    Weighing,
    WhyNot,
    beyond,
    choose,
    gains_of,
    may_gain,
    points_of,
)
from reconciler.audit.previews.edits import put
from reconciler.core.reconcile import reconcile
from reconciler.core.rounds import next_world
from reconciler.dialects.scores import ScoreName
from reconciler.dialects.view import SpreadWish
from reconciler.model.decision import Placed
from reconciler.model.fields import mapping
from reconciler.model.identity import ClusterName, ObjectKey
from reconciler.rebalance.target import AffinityPlace, PresentPlace, Reference
from tests.builders import DYNAMIC, after, configuration, deployment, groups, policy, selector
from tests.core.test_preserve import KEEPS, stuck
from tests.core.test_preserve import placed as placed_evenly
from tests.dialects.ocm import worlds as ocm
from tests.stories import Story, story
from tests.three_apis import all_away, scores

MANY_PASSES = pytest.mark.cpu_seconds(30)  # many whole passes

USUAL = frozenset({Goal.AFFINITY, Goal.SPREAD, Goal.ROOM})
BY_SCORE = {"goals": frozenset({Goal.SCORE}), "family": ScoreFamily(score=ScoreName("r", "s"))}


def advice_on(told: Story, **words: Any) -> Advice:
    """Advice at ten seconds after the beginning."""
    request: dict[str, Any] = {"goals": USUAL, "name": "advice", **words}
    return advise(told.world(), after(10), AdviceRequest(**request))


def why(advice: Advice) -> dict[str, WhyNot]:
    """Name of each object that is not advised to the reason."""
    return {one.reference.name: one.why for one in advice.others}


def named(advice: Advice) -> list[str]:
    """Names of what is advised, in order."""
    return [one.reference.name for one in advice.moves if one.reference is not None]


def crowded_hub() -> Story:
    """Three placements on a, since b was tainted; now each alone would go to b."""
    full = {"key": "full", "value": "", "effect": "NoSelect"}
    balance = {
        "mode": "Exact",
        "configurations": [
            {"scoreCoordinate": {"builtIn": "Balance"}, "weight": 1},
            {"scoreCoordinate": {"builtIn": "Steady"}, "weight": 5},
        ],
    }
    told = story(
        ocm.cluster_set(),
        ocm.binding(),
        ocm.cluster("a"),
        ocm.cluster("b", full),
        *(ocm.placement(n, numberOfClusters=1, prioritizerPolicy=balance) for n in ("p", "q", "r")),
    )
    told.run(0)
    told.put(ocm.cluster("b"), *scores(a=0, b=100))
    told.run(1)
    return told


@MANY_PASSES
def test_what_gains_nothing_beside_the_others_is_left_out() -> None:
    """Each alone would go to the empty cluster; together they spread, and one stays."""
    advice = advice_on(crowded_hub(), **BY_SCORE)

    assert WhyNot.TOGETHER in why(advice).values()
    assert 3 == len(named(advice)) + len(advice.others)
    assert all(one.points > 0 for one in advice.moves)


@MANY_PASSES
def test_what_is_advised_is_what_a_pass_does() -> None:
    """With the rebalancer in a copy, each object ends where the advice says, no other moves."""
    for told, words in ((crowded_hub(), BY_SCORE), (all_away(), {})):
        advice, world = advice_on(told, **words), told.world()
        assert advice.body is not None
        left = next_world(world, reconcile(put(world, {advice.key: advice.body}), after(10)))
        every = [*(one.key for one in advice.moves), *(one.key for one in advice.others)]

        expected = {one.key: (one.before, one.after) for one in advice.moves}
        moved = {key: (placed_on(world, key), placed_on(left, key)) for key in every}
        assert expected == {key: both for key, both in moved.items() if both[0] != both[1]}


@MANY_PASSES
@pytest.mark.parametrize("goal", Goal)
def test_asking_only_what_may_gain_advises_the_same(
    goal: Goal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who is asked where it would be, though nothing could come of it, is not advised either."""
    request = {"goals": frozenset({goal}), "family": BY_SCORE["family"]}
    told = all_away().put(*scores(alpha=0, beta=50, gamma=100))
    told.run(5)
    short = advice_on(told, **request)
    monkeypatch.setattr(Weighing, "may_gain", lambda *_: True)
    full = advice_on(told, **request)

    assert (full.moves, full.body) == (short.moves, short.body)
    assert why(full).keys() == why(short).keys()
    assert WhyNot.CONTENT not in why(full).values()


@MANY_PASSES
def test_what_is_well_placed_says_so() -> None:
    """It is in its first group, whole, and on no crowded cluster."""
    told = all_away()
    placement = groups(["beta"], replicaScheduling=DYNAMIC)
    told.put(
        deployment("other"), policy("q", selectors=[selector(name="other")], placement=placement)
    )
    told.run(5)

    assert WhyNot.CONTENT is why(advice_on(told))["other"]


@MANY_PASSES
def test_nothing_is_advised_in_a_freeze() -> None:
    """It would wait for the end, and what the fleet is by then nobody knows."""
    told = all_away()
    noon = {"schedule": "0 12 * * *", "duration": "1h"}
    quiet = configuration(feedback={"assumeAfterSeconds": None}, freeze={"windows": [noon]})
    told.put(quiet, path="reconciler.yaml")
    told.run(2)
    advice = advice_on(told)

    assert (None, WhyNot.WAITS) == (advice.body, why(advice)["web"])
    (one,) = [one for one in advice.others if one.why is WhyNot.WAITS]
    assert "freeze" in one.detail


@MANY_PASSES
def test_nothing_is_advised_where_everything_is_suspended() -> None:
    """No pass decides anything there."""
    told = all_away()
    told.put(configuration(suspend=True), path="reconciler.yaml")
    advice = advice_on(told)

    assert ((), (), None) == (advice.moves, advice.others, advice.body)


@MANY_PASSES
def test_what_the_next_pass_moves_is_not_advised() -> None:
    """A workload that is new is placed anyway."""
    told = all_away()
    told.files = {path: data for path, data in told.files.items() if "resourcebindings" not in path}
    advice = advice_on(told)

    assert WhyNot.ANYWAY is why(advice)["web"]


A, B = ClusterName("a"), ClusterName("b")


def kept_advice(told: Story) -> Advice:
    """Advice to move only what cannot be scheduled, much later."""
    goals = frozenset({Goal.RUN})
    request = AdviceRequest(goals=goals, name="advice", preserves=True)
    return advise(told.world(), after(1000), request)


def test_what_cannot_be_scheduled_is_advised_to_move_and_nothing_else() -> None:
    """As many as clusters report, by a rebalancer that keeps what runs."""
    told = stuck(placed_evenly(), "a", 3)
    advice = kept_advice(told)
    (move,) = advice.moves

    assert {"reschedule": KEEPS}.items() <= mapping(advice.body or {}, "spec").items()
    assert (3, 300) == (move.moves, move.points)
    assert ["3 replicas that cannot be scheduled now"] == [gain.words for gain in move.gains]
    told.put(advice.body or {}).run(1000)
    assert dict(move.after) == told.placed()


def test_where_all_runs_nothing_is_advised_to_move() -> None:
    """Nor where it is not known what runs, which is said with the reason."""
    assert {"web": WhyNot.CONTENT} == why(kept_advice(placed_evenly()))
    off = placed_evenly(on=configuration(feedback={"assumeAfterSeconds": None}))
    (unknown,) = kept_advice(off).others

    assert (WhyNot.UNKNOWN, True) == (unknown.why, "is off" in unknown.detail)


def candidate(name: str, points: int, moves: int) -> Candidate:
    """Something that gains so many points for so many moves."""
    before = ((A, moves),) if moves else ()
    return Candidate(
        reference=Reference("apps/v1", "Deployment", "default", name),
        key=ObjectKey("work.karmada.io", "ResourceBinding", "default", name),
        subject=name,
        change=Change(before=before, after=((B, moves or 1),)),
        moves=moves,
        gains=(Gain(Goal.ROOM, points, "more"),),
        points=points,
    )


def names(candidates: Iterable[Candidate]) -> str:
    """Their names, one letter each."""
    return "".join(one.subject for one in candidates)


MANY = [candidate("w", 100, 5), candidate("x", 300, 2), candidate("y", 90, 1), candidate("z", 0, 1)]


@pytest.mark.parametrize(
    ("min_points", "max_moves", "expected", "why"),
    [
        pytest.param(1, None, "xyw", {"z": WhyNot.NO_GAIN}, id="best-rate-first"),
        pytest.param(
            50, None, "xy", {"w": WhyNot.BELOW, "z": WhyNot.NO_GAIN}, id="threshold-by-move"
        ),
        pytest.param(
            1, 3, "xy", {"w": WhyNot.BEYOND, "z": WhyNot.NO_GAIN}, id="as-many-as-are-allowed"
        ),
        pytest.param(
            1,
            1,
            "y",
            {"x": WhyNot.BEYOND, "w": WhyNot.BEYOND, "z": WhyNot.NO_GAIN},
            id="lesser-ones-that-fit",
        ),
        pytest.param(
            1000, None, "", {**dict.fromkeys("wxy", WhyNot.BELOW), "z": WhyNot.NO_GAIN}, id="none"
        ),
    ],
)
def test_most_gain_for_fewest_moves_comes_first(
    min_points: int, max_moves: int | None, expected: str, why: dict[str, WhyNot]
) -> None:
    """Within a threshold by move, and a limit of all moves."""
    chosen, others = choose(MANY, min_points=min_points, max_moves=max_moves)

    assert (expected, why) == (names(chosen), {one.subject: one.why for one in others})


def test_what_moves_nothing_and_gains_counts_as_one_move() -> None:
    """Replicas that were nowhere need no move of another one."""
    chosen, _ = choose([candidate("x", 100, 0), candidate("y", 150, 1)], min_points=1, max_moves=0)

    assert "x" == names(chosen)


@pytest.mark.parametrize(
    ("excess", "expected"),
    [
        pytest.param(0, "", id="none"),
        pytest.param(1, "y", id="the-last"),
        pytest.param(2, "yx", id="as-many-as-it-takes"),
    ],
)
def test_what_is_too_much_leaves_the_last_out(excess: int, expected: str) -> None:
    """The least gain goes first."""
    assert expected == names(beyond(MANY[:3], excess))


REGION = {"a": "east", "b": "east", "e": "east", "c": "west", "d": "north"}
IN_TWO = SpreadWish(name="region", domain_of=REGION, least=2)
IN_ONE = SpreadWish(name="region", domain_of=REGION, most=1)
EVENLY = SpreadWish(name="region", domain_of=REGION, skew=1)
SCORES = {"a": 100, "b": -100, "c": 50}


def placed(**clusters: int) -> Placed:
    """Clusters with their replicas."""
    return tuple((ClusterName(name), count) for name, count in sorted(clusters.items()))


def gained(goal: Goal, change: Change) -> list[tuple[int, str]]:
    """Points and words of what a change gains by a goal."""
    return [(gain.points, gain.words) for gain in gains_of(change, {goal})]


PLACES = st.dictionaries(st.sampled_from("abcdex"), st.integers(0, 3)).map(
    lambda found: placed(**found)
)
GROUPS = st.none() | st.integers(0, 2).map(lambda place: AffinityPlace(place, f"g{place}"))


@given(
    before=PLACES,
    after=PLACES,
    groups=st.tuples(GROUPS, GROUPS),
    goals=st.frozensets(st.sampled_from(Goal), min_size=1),
    spread=st.lists(st.sampled_from([IN_TWO, IN_ONE, EVENLY]), max_size=3).map(tuple),
    crowded=st.sets(st.sampled_from("abcde")),
    whole=st.booleans(),
)
def test_what_may_not_gain_gains_nothing_anywhere(
    before: Placed,
    after: Placed,
    groups: tuple[AffinityPlace | None, AffinityPlace | None],
    goals: frozenset[Goal],
    spread: tuple[SpreadWish, ...],
    crowded: set[str],
    *,
    whole: bool,
) -> None:
    """Whatever place is thought of; of what is whole no place has more parts."""
    assume(not whole or points_of(gains_of(Change(before=before, after=after), {Goal.ROOM})) <= 0)
    present = PresentPlace(before, groups[0], whole)
    change = Change(
        before=before,
        after=after,
        groups=groups,
        spread=spread,
        crowded=dict.fromkeys(crowded, "cpu"),
        scores=SCORES,
        called="r/s",
    )
    possible = may_gain(present, goals, spread=spread, crowded=crowded)
    event(f"may gain: {possible}")

    assert possible or points_of(gains_of(change, goals)) <= 0


@pytest.mark.parametrize(
    ("present", "goal", "expected"),
    [
        pytest.param(PresentPlace((), AffinityPlace(1, "g")), Goal.AFFINITY, True, id="away"),
        pytest.param(PresentPlace((), AffinityPlace(0, "g")), Goal.AFFINITY, False, id="home"),
        pytest.param(PresentPlace(()), Goal.AFFINITY, False, id="no-groups"),
        pytest.param(PresentPlace(placed(a=1, b=1)), Goal.SPREAD, True, id="one-region"),
        pytest.param(PresentPlace(placed(a=1, c=1)), Goal.SPREAD, False, id="spread"),
        pytest.param(PresentPlace(placed(b=1)), Goal.ROOM, True, id="perhaps-more"),
        pytest.param(PresentPlace(placed(b=1), whole=True), Goal.ROOM, False, id="whole"),
        pytest.param(PresentPlace(placed(a=1), whole=True), Goal.ROOM, True, id="crowded"),
        pytest.param(PresentPlace(placed(b=1), whole=True), Goal.SCORE, True, id="score"),
        pytest.param(PresentPlace(placed(b=1), whole=True), Goal.COST, True, id="cost"),
    ],
)
def test_only_what_lacks_something_may_gain(
    present: PresentPlace,
    goal: Goal,
    expected: bool,  # noqa: FBT001  # a column of the table
) -> None:
    """By goal: an earlier group, a gap of spread, room; a score may always be better."""
    assert expected is may_gain(present, {goal}, spread=(IN_TWO,), crowded={"a"})


@pytest.mark.parametrize(
    ("groups", "expected"),
    [
        pytest.param((2, 0), [(300, "back in its first affinity group (g0)")], id="first"),
        pytest.param((2, 1), [(300, "back in an earlier affinity group (g1)")], id="earlier"),
        pytest.param((0, 1), [(-300, "in the later group g1")], id="later"),
        pytest.param((1, 1), [], id="same"),
        pytest.param((None, 1), [], id="none-before"),
        pytest.param((1, None), [], id="none-after"),
    ],
)
def test_the_earlier_affinity_group_is_the_better(
    groups: tuple[int | None, int | None], expected: list[tuple[int, str]]
) -> None:
    """Each replica counts, also those that stay on their cluster."""
    before, after = (None if n is None else AffinityPlace(n, f"g{n}") for n in groups)
    change = Change(before=placed(a=3), after=placed(b=2, c=1), groups=(before, after))

    assert expected == gained(Goal.AFFINITY, change)


@pytest.mark.parametrize(
    ("wish", "before", "after", "expected"),
    [
        pytest.param(IN_TWO, "ab", "ac", [(100, "in 2 regions, not 1")], id="one-more"),
        pytest.param(IN_TWO, "ac", "ab", [(-100, "in 1 region, not 2")], id="one-fewer"),
        pytest.param(IN_TWO, "ac", "cd", [], id="enough-both"),
        pytest.param(IN_ONE, "acd", "abe", [(200, "in 1 region, not 3")], id="too-many"),
        pytest.param(EVENLY, "ab", "ac", [(100, "region skew 1, not 2")], id="skew"),
        pytest.param(EVENLY, "a", "c", [], id="even-enough"),
        pytest.param(IN_TWO, "ax", "ac", [(100, "in 2 regions, not 1")], id="unknown-cluster"),
    ],
)
def test_spread_counts_what_lacks(
    wish: SpreadWish, before: str, after: str, expected: list[tuple[int, str]]
) -> None:
    """Domains that are missing or too many, and clusters beyond the skew."""
    change = Change(
        before=placed(**dict.fromkeys(before, 0)),
        after=placed(**dict.fromkeys(after, 0)),
        spread=(wish,),
    )

    assert expected == gained(Goal.SPREAD, change)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        pytest.param(placed(a=2), placed(c=2), [(200, "2 replicas off crowded a (cpu)")], id="off"),
        pytest.param(placed(c=2), placed(a=2), [(-200, "2 replicas onto crowded")], id="onto"),
        pytest.param(placed(c=1), placed(c=3), [(200, "2 replicas more placed")], id="more"),
        pytest.param(placed(), placed(c=0), [(100, "1 cluster more placed")], id="cluster"),
        pytest.param(placed(b=2), placed(c=2), [], id="uncrowded"),
        pytest.param(placed(c=3), placed(c=1), [(-200, "2 replicas fewer placed")], id="fewer"),
        pytest.param(
            placed(a=1, c=1),
            placed(b=2),
            [(100, "1 replica off crowded a (cpu)")],
            id="part-of-it",
        ),
    ],
)
def test_room_is_what_is_placed_and_what_is_crowded(
    before: Placed, after: Placed, expected: list[tuple[int, str]]
) -> None:
    """What leaves a cluster that has given away more than it has, and what is placed at all."""
    change = Change(before=before, after=after, crowded={"a": "cpu"})

    assert expected == gained(Goal.ROOM, change)


@pytest.mark.parametrize(
    ("before", "after", "lower", "expected"),
    [
        pytest.param(placed(c=1), placed(a=1), False, [(50, "r/s 100, not 50")], id="better"),
        pytest.param(placed(a=2), placed(b=2), False, [(-400, "r/s -100, not 100")], id="worse"),
        pytest.param(placed(a=2), placed(b=2), True, [(400, "r/s -100, not 100")], id="cheaper"),
        pytest.param(
            placed(a=1, b=2), placed(a=3), False, [(400, "r/s 100, not -33.3")], id="part"
        ),
        pytest.param(placed(c=2), placed(d=2), False, [(-100, "r/s 0, not 50")], id="no-score"),
        pytest.param(placed(), placed(a=2), False, [], id="nowhere-before"),
    ],
)
def test_scores_count_by_part(
    before: Placed,
    after: Placed,
    lower: bool,  # noqa: FBT001  # a column of the table
    expected: list[tuple[int, str]],
) -> None:
    """The average of a part, times the parts; more parts of the same score gain nothing."""
    change = Change(before=before, after=after, scores=SCORES, called="r/s", lower_is_better=lower)
    found = [(g.points, g.words) for g in gains_of(change, {Goal.COST}) if g.goal is Goal.COST]

    assert expected == found


def test_fewer_parts_are_a_loss_by_any_goal() -> None:
    """Nobody wants a better score for less."""
    change = Change(
        before=placed(b=3), after=placed(a=1), lacks="no room", scores=SCORES, called="r/s"
    )
    gains = gains_of(change, {Goal.SCORE})

    assert (Goal.ROOM, "2 replicas fewer placed: no room") == (gains[-1].goal, gains[-1].words)
    assert 0 == points_of(gains)


def test_the_greatest_gain_comes_first() -> None:
    """Whatever its goal."""
    change = Change(
        before=placed(a=1),
        after=placed(c=1),
        groups=(AffinityPlace(1, "g1"), AffinityPlace(0, "g0")),
        scores=SCORES,
        called="r/s",
    )

    assert [
        Gain(Goal.AFFINITY, 100, "back in its first affinity group (g0)"),
        Gain(Goal.SCORE, -50, "r/s 50, not 100"),
    ] == list(gains_of(change, {Goal.SCORE, Goal.AFFINITY}))
