"""What is coming: foreseen from one world, and then done by the passes of these moments."""

from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.audit.foresight import Coming, foresee
from reconciler.core.changes import Outcome
from reconciler.core.next_world import next_world
from reconciler.core.reconcile import reconcile
from reconciler.model.decision import Placed
from reconciler.model.identity import ObjectKey
from tests.builders import NOW, Body
from tests.core.test_laws import LAW
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


@LAW
@given(stories(), objects(), st.integers(0, 15))
def test_the_next_world_is_what_the_shell_would_load(
    told: Story, bodies: list[Body], share: int
) -> None:
    """But for its revision, which only a commit has, and for the record that names it."""
    edit(told, bodies, share)
    world, now = told.world(), told.now + timedelta(seconds=1)

    left = next_world(world, reconcile(world, now))

    run_at(told, now)
    loaded = told.world()
    assert loaded.outputs == left.outputs
    assert loaded.inputs == left.inputs
    assert (loaded.present, loaded.canonical) == (left.present, left.canonical)
    assert (loaded.texts, loaded.blobs) == (left.texts, left.blobs)
