"""Whatever is asked in whatever order, nothing that runs is taken away unless that is asked for."""

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reconciler.core.changes import Outcome
from reconciler.core.reconcile import Memo, reconcile
from reconciler.dialects.renderer import Instruction
from tests.bounded import examples
from tests.delivery.flux import PRUNE, annotations_of
from tests.delivery.test_carriage import AWHILE, CASES, OUTLIVING, Run, effect

pytestmark = pytest.mark.cpu_seconds(60)  # many chains of passes, each computed twice

ASKED, GONE = st.booleans(), st.booleans()
STEPS = st.lists(st.tuples(ASKED, st.sampled_from("12"), GONE), min_size=1, max_size=6)


def told_of(outcome: Outcome) -> Outcome:
    """All that an outcome says; explanations are functions, which are never equal."""
    return replace(outcome, explanations={})


@settings(max_examples=examples(300), deadline=None)
@given(instruction=st.sampled_from(sorted(CASES)), steps=STEPS)
def test_what_runs_goes_only_where_its_removal_may_take_it(
    instruction: Instruction, steps: list[tuple[bool, str, bool]]
) -> None:
    """And a pass that remembers earlier ones says what one without any memory says."""
    ran, memo = Run(instruction), Memo()
    for asked, version, gone in steps:
        live = ran.version is not None
        marked = _is_marked(ran)
        ran.told.put(*ran.case.write(asked, version))
        if gone:
            ran.told.drop(*ran.case.removed())
        for _ in range(3):
            ran.told.now += AWHILE
            world = ran.told.world()
            now = ran.told.now + timedelta(seconds=1)
            warm = told_of(reconcile(world, now, memo=memo))
            assert warm == told_of(ran.told.run())
            ran.flux.sync(ran.told)

        if live and not gone:
            assert ran.version is not None
        if live and gone and asked and effect(instruction) in OUTLIVING and _may_outlive(ran):
            assert ran.version is not None
        if live and gone and marked:
            assert ran.version is not None


def _is_marked(ran: Run) -> bool:
    """Whether what runs has the mark by which Flux does not prune it."""
    member = ran.flux.members.get("a")
    live = None if member is None else member.live.get(ran.case.live)
    return live is not None and annotations_of(live).get(PRUNE) == "disabled"


def _may_outlive(ran: Run) -> bool:
    """Whether what asks is still there once the object's decision is gone.

    A placement or a set that goes takes along what it asks, if it asked only in that very merge.
    """
    return ran.case is CASES[Instruction.PRESERVED]
