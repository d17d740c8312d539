"""What is coming: foreseen from one world, and then done by the passes of these moments."""

from collections.abc import Callable
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.audit.previews.foresight import Coming, foresee
from reconciler.audit.previews.preview import look_ahead
from reconciler.audit.previews.wording import coming_text
from reconciler.core.asked import MOMENTS
from reconciler.core.changes import Outcome
from reconciler.core.reconcile import Memo, reconcile
from reconciler.model.decision import Placed
from reconciler.model.identity import ObjectKey
from reconciler.model.world import World
from tests.audit.previews.coming_stories import (
    at,
    batched,
    evicted,
    expiring,
    finished,
    moved_away,
    not_ready,
    on_two,
    scheduled,
    scored,
    tainted,
    tolerated,
    triggered,
    unhealthy,
)
from tests.builders import NOW, Body, configuration, deployment, rebalancer
from tests.core.test_laws import LAW
from tests.dialects.ocm import worlds as ocm
from tests.followed import linked
from tests.stories import Story
from tests.strategies import edit, objects, stories

pytestmark = pytest.mark.cpu_seconds(60)  # many examples of whole passes

PASSES = 5
Moves = set[tuple[datetime, ObjectKey, Placed, Placed]]


def moves_among(found: tuple[Coming, ...]) -> Moves:
    """What moves by a foresight."""
    return {
        (one.at, one.key, one.before, one.after)
        for one in found
        if one.before is not None and one.after is not None and one.before != one.after
    }


def run_at(told: Story, moment: datetime) -> Outcome:
    """Run a pass."""
    return told.run(int((moment - NOW).total_seconds()))


def moves_of_passes(told: Story, now: datetime) -> Moves:
    """What moves in the passes of a daemon that looks again whenever it wants to."""
    found: Moves = set()
    for _ in range(PASSES):
        outcome = run_at(told, now)
        found |= {
            (told.now, one.key, one.before, one.after)
            for one in outcome.decisions
            if one.before != one.after
        }
        if outcome.recheck_at is None:
            break
        now = max(now, outcome.recheck_at)
    return found


def said(told: Story, seconds: int = 1, moments: int = MOMENTS) -> list[str]:
    """What is coming from so many seconds after the last pass on, in sentences."""
    found = foresee(told.world(), told.now + timedelta(seconds=seconds), moments=moments)
    return [f"{one.subject}: {coming_text(one)}" for one in found]


COMING = [
    pytest.param(
        not_ready,
        f"default/web: a is not ready and tolerated until {at(310)}, "
        "then 2 replicas leave a, as of now to b(4)",
        id="not-ready",
    ),
    pytest.param(
        lambda: not_ready("Unknown"),
        f"default/web: a cannot be reached and is tolerated until {at(310)}, "
        "then 2 replicas leave a, as of now to b(4)",
        id="unreachable",
    ),
    pytest.param(
        tainted,
        f"default/web: a has the taint spot:NoExecute and is tolerated until {at(80)}, "
        "then 2 replicas leave a, as of now to b(4)",
        id="tainted",
    ),
    pytest.param(
        unhealthy,
        f"default/web: it is unhealthy on a and tolerated there until {at(161)}, "
        "then 2 replicas leave a, as of now to b(2)",
        id="unhealthy",
    ),
    pytest.param(
        evicted,
        f"default/web: a keeps its copy while others take over until {at(911)}, "
        "then the copy on a is removed",
        id="evicted",
    ),
    pytest.param(
        scored,
        f"ns1/p: scores changed, and its decisions stay until {at(300)}, "
        "then it may move, as of now to b",
        id="scores",
    ),
    pytest.param(
        tolerated,
        f"ns1/p: a has the taint spot:NoSelect and is tolerated until {at(70)}, "
        "then it leaves a, as of now to b",
        id="tolerated-by-ocm",
    ),
    pytest.param(
        expiring,
        f"ns1/p: the score r of a is valid until {at(401)}, then it may move, as of now to b",
        id="score-runs-out",
    ),
    pytest.param(
        batched,
        f"WorkloadRebalancer demo: the next batch (4 replicas left) waits until {at(40)}, "
        "then it goes",
        id="batch",
    ),
    pytest.param(
        scheduled,
        f"WorkloadRebalancer demo: its schedule 5 12 * * * is not due until {at(300)}, "
        "then it runs again",
        id="schedule",
    ),
    pytest.param(
        finished,
        f"WorkloadRebalancer demo: it is finished and kept until {at(910)}, "
        "then its manifest is removed",
        id="ttl",
    ),
    pytest.param(
        triggered,
        f"ScheduleTrigger demo: it is kept until {at(3610)}, then its manifest is removed",
        id="trigger",
    ),
]


@pytest.mark.parametrize(("make", "sentence"), COMING)
def test_what_is_waited_for_is_told(make: Callable[[], Story], sentence: str) -> None:
    """Why nothing happens yet, until when, what happens then, and where that leads as of now."""
    assert sentence in said(make())


@pytest.mark.parametrize(("make", "sentence"), COMING)
def test_passes_do_at_that_moment_what_was_told(make: Callable[[], Story], sentence: str) -> None:
    """A daemon that sleeps from one moment to the next moves the same at the same moments."""
    told = make()
    now = told.now + timedelta(seconds=1)

    found = moves_among(foresee(told.world(), now))

    assert "as of now" not in sentence or found
    assert found <= moves_of_passes(told, now)


def test_a_batch_is_told_with_what_it_moves() -> None:
    """The rebalancer that is the cause is named."""
    moves = f"default/web: at {at(40)} it moves, as of now to a(4), b(2): "

    assert f"{moves}rebalanced (WorkloadRebalancer demo)" in said(batched())


def test_nothing_is_coming_where_nothing_waits() -> None:
    """Time alone changes nothing."""
    assert [] == said(on_two(4))


def test_what_the_next_pass_does_comes_first() -> None:
    """A change that no pass has seen is told at its moment."""
    told = on_two(4).put(deployment(replicas=6))

    assert [f"default/web: at {at(1)} it moves, as of now to a(3), b(3): replicas changed"] == said(
        told
    )


def test_what_is_beyond_the_last_pass_computed_is_told_as_far_as_known() -> None:
    """Where it leads is not: that would have to be computed."""
    assert [
        f"default/web: a is not ready and tolerated until {at(310)}, then 2 replicas leave a"
    ] == said(not_ready(), moments=1)


def test_what_comes_again_and_again_is_told_once() -> None:
    """The first run of a schedule."""
    told = moved_away(2).put(rebalancer(schedule="* * * * *"))
    told.run(10)

    runs = [line for line in said(told) if "it runs again" in line]

    waits = f"its schedule * * * * * is not due until {at(60)}, then it runs again"
    assert [f"WorkloadRebalancer demo: {waits}"] == runs


def test_a_wait_that_ends_before_its_moment_is_not_told() -> None:
    """The copy on a goes once b counts as healthy, not when its time is over."""
    told = not_ready()
    told.put(configuration(), path="reconciler.yaml")
    told.run(310)

    assert [] == [line for line in said(told) if "keeps its copy" in line]


@LAW
@given(stories(), objects(), st.integers(0, 15))
def test_what_is_foreseen_is_what_passes_do(told: Story, bodies: list[Body], share: int) -> None:
    """Of several passes of one cause that move an object, the first is foreseen."""
    edit(told, bodies, share)
    now = told.now + timedelta(seconds=1)

    found = moves_among(foresee(told.world(), now, moments=PASSES))

    done = moves_of_passes(told, now)
    assert found <= done
    assert {move[1] for move in found} == {move[1] for move in done}


def alone(base: World, merged: World, now: datetime) -> tuple[set[Coming], set[Coming]]:
    """What is coming in either world, each asked by itself."""
    first, second = (
        {one for one in foresee(world, now) if one.at > now} for world in (base, merged)
    )
    return first, second


@LAW
@given(stories(), objects(), st.integers(0, 15))
def test_two_worlds_are_foreseen_together_as_each_alone(
    told: Story, bodies: list[Body], share: int
) -> None:
    """What passes over one world remember says nothing of the other."""
    base = told.world()
    edit(told, bodies, share)
    merged = linked(told.world(), base)

    found = look_ahead(base, merged, told.now)

    before, after = alone(base, merged, told.now)
    assert {*found.later, *found.later_anyway} == after
    assert {*found.averted} <= before - after


def test_a_plan_never_goes_back_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a moment that is over nothing is remembered, so all objects would be looked at again."""
    moments: list[datetime] = []

    def noted(world: World, now: datetime, *, memo: Memo) -> Outcome:
        moments.append(now)
        return reconcile(world, now, memo=memo)

    for module in ("foresight", "preview"):
        monkeypatch.setattr(f"reconciler.audit.previews.{module}.reconcile", noted)
    told = tolerated()
    base = told.world()
    told.put(ocm.cluster("c"))

    look_ahead(base, told.world(), told.now)

    assert len(moments) > 2
    assert moments == sorted(moments)
