"""What was decided of a world counts for the same world at another commit."""

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.core.changes import carried_over
from reconciler.core.reconcile import reconcile
from tests.builders import NOW, Body, cluster, deployment, policy
from tests.core.test_laws import LAW
from tests.core.test_memo_law import told_of
from tests.stories import Story, story
from tests.strategies import edit, objects, stories

pytestmark = pytest.mark.cpu_seconds(60)  # many examples of whole passes

ELSEWHERE = "f" * 40


@LAW
@given(stories(), objects(), st.integers(0, 15))
def test_a_pass_at_another_commit_decides_the_same(
    told: Story, bodies: list[Body], share: int
) -> None:
    """To the byte, the commit that is named among them."""
    edit(told, bodies, share)
    before, now = told.world(), told.now + timedelta(seconds=1)
    after = replace(told.world(), revision=ELSEWHERE)

    found = carried_over(reconcile(before, now), now, before, after)

    assert found is not None
    assert told_of(reconcile(after, now)) == told_of(found)


def test_a_world_that_differs_is_decided_anew() -> None:
    """Where a file came, went, or says something else."""
    told = story(cluster(), policy(), deployment())
    before, outcome = told.world(), reconcile(told.world(), NOW)

    told.put(deployment("api"))

    assert carried_over(outcome, NOW, before, told.world()) is None
