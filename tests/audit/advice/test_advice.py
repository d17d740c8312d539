"""Advice on a repository in memory: who has to wait, and who gains nothing beside the others."""

from typing import Any

import pytest

from reconciler.audit.advice import Advice, advise
from reconciler.audit.fleet.placed import placed_on
from reconciler.audit.gains import AdviceRequest, Goal, ScoreFamily, Weighing, WhyNot
from reconciler.audit.previews.edits import put
from reconciler.core.reconcile import reconcile
from reconciler.core.rounds import next_world
from reconciler.dialects.scores import ScoreName
from tests.builders import (
    DYNAMIC,
    after,
    configuration,
    deployment,
    groups,
    policy,
    selector,
)
from tests.dialects.ocm import worlds as ocm
from tests.stories import Story, story
from tests.three_apis import all_away, scores

pytestmark = pytest.mark.cpu_seconds(30)  # many whole passes

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


def test_what_gains_nothing_beside_the_others_is_left_out() -> None:
    """Each alone would go to the empty cluster; together they spread, and one stays."""
    advice = advice_on(crowded_hub(), **BY_SCORE)

    assert WhyNot.TOGETHER in why(advice).values()
    assert 3 == len(named(advice)) + len(advice.others)
    assert all(one.points > 0 for one in advice.moves)


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


def test_what_is_well_placed_says_so() -> None:
    """It is in its first group, whole, and on no crowded cluster."""
    told = all_away()
    placement = groups(["beta"], replicaScheduling=DYNAMIC)
    told.put(
        deployment("other"), policy("q", selectors=[selector(name="other")], placement=placement)
    )
    told.run(5)

    assert WhyNot.CONTENT is why(advice_on(told))["other"]


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


def test_nothing_is_advised_where_everything_is_suspended() -> None:
    """No pass decides anything there."""
    told = all_away()
    told.put(configuration(suspend=True), path="reconciler.yaml")
    advice = advice_on(told)

    assert ((), (), None) == (advice.moves, advice.others, advice.body)


def test_what_the_next_pass_moves_is_not_advised() -> None:
    """A workload that is new is placed anyway."""
    told = all_away()
    told.files = {path: data for path, data in told.files.items() if "resourcebindings" not in path}
    advice = advice_on(told)

    assert WhyNot.ANYWAY is why(advice)["web"]
