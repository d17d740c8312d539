"""Law 10: a chain of passes with one memo gives what each pass gives without any."""

import copy
from dataclasses import fields, replace
from datetime import datetime, timedelta

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from reconciler.core.changes import Outcome
from reconciler.core.reconcile import Memo, reconcile
from reconciler.dialects.karmada.detector.policies import KnownPolicies
from reconciler.model.remembered import AnswerCache, KeyedCache
from reconciler.model.world import World
from tests.bounded import examples
from tests.builders import Body, cluster, deployment, policy, rebalancer
from tests.core.test_laws import LAW
from tests.followed import linked
from tests.stories import Story, applied, story
from tests.strategies import (
    HARMS,
    SECONDS,
    edit,
    harm,
    moments_between,
    objects,
    report,
    reported,
    reports,
    stories,
)

pytestmark = pytest.mark.cpu_seconds(60)  # many examples of whole passes

CHAIN = settings(
    LAW, max_examples=examples(8)
)  # a chain is some thirty passes, each computed twice
EDITS = st.lists(
    st.tuples(
        objects(),
        st.sampled_from((0, 0, 1, 3, 15)),  # sixteenths of the inputs that are replaced
        st.sampled_from(HARMS),
        st.integers(0, 20),
        reported,
        SECONDS,
    ),
    min_size=1,
    max_size=4,
)


def told_of(outcome: Outcome) -> Outcome:
    """All that an outcome says; explanations are functions, which are never equal."""
    return replace(outcome, explanations={})


def assert_equal(world: World, now: datetime, memo: Memo) -> Outcome:
    """Hold a pass with a memory against one without."""
    before = copy.deepcopy(world)
    warm = reconcile(world, now, memo=memo)

    assert before == world
    assert told_of(reconcile(world, now)) == told_of(warm)
    return warm


def moments(now: datetime, outcome: Outcome) -> list[datetime]:
    """Moments around the one at which time alone changes the answer, and before it."""
    until = outcome.recheck_at
    if until is None:
        return [now, now + timedelta(days=3)]
    around = [until + timedelta(seconds=offset) for offset in (-1, 0, 1, 60, 1000)]
    return [*moments_between(now, until), *(moment for moment in around if moment >= now)]


@CHAIN
@given(stories(), EDITS)
def test_a_memo_changes_nothing(
    told: Story,
    edits: list[tuple[list[Body], int, str, int, tuple[str, Body] | None, int]],
) -> None:
    """Whatever happens between passes, and whenever they run, a memo only saves work."""
    memo = Memo()
    for bodies, share, kind, number, found, seconds in edits:
        outcome = assert_equal(told.world(), told.now, memo)
        told.files = applied(told.files, outcome)
        world = told.world()
        quiet = assert_equal(world, told.now, memo)
        for number_of, moment in enumerate(moments(told.now, quiet)):
            assert_equal(world if number_of % 2 else told.world(), moment, memo)
        event(f"quiet: {not quiet.changes}, {len(quiet.faults)} faults")
        report(told, found)
        edit(told, bodies, share)
        harm(told, kind, number)
        told.now += timedelta(seconds=1 + seconds)
    assert_equal(told.world(), told.now, memo)


@settings(LAW, max_examples=examples(30))
@given(stories(), stories())
def test_a_memo_of_another_repository_does_no_harm(one: Story, other: Story) -> None:
    """A memo may be handed to passes of any worlds, in turn and back in time."""
    memo = Memo()
    for told in (one, other, one, other):
        assert_equal(told.world(), told.now, memo)
        assert_equal(told.world(), told.now - timedelta(seconds=45), memo)


@settings(LAW, max_examples=examples(30))
@given(stories())
def test_a_copy_of_a_world_is_another_world(told: Story) -> None:
    """Documents that are equal, but not the same objects, give an equal outcome."""
    memo = Memo()
    for _ in range(3):
        assert_equal(copy.deepcopy(told.world()), told.now, memo)


def entries(memo: Memo) -> int:
    """How many answers a memo holds."""
    memories = [one.memory for one in memo.dialects.values()]  # type: ignore[attr-defined]
    memories += [one.claims for one in memories if hasattr(one, "claims")]
    found = [getattr(one, item.name) for one in memories for item in fields(one)]
    tables = [
        table for table in found if isinstance(table, KeyedCache | AnswerCache | KnownPolicies)
    ]
    return sum(map(len, tables))


def test_a_memo_forgets_what_is_gone() -> None:
    """Two passes after everything went, nothing of it is remembered."""
    fleet = [cluster(name) for name in "abc"]
    told = story(*fleet, policy(), deployment(), deployment("api"), rebalancer())
    memo = Memo()
    for seconds in range(4):
        now = told.now + timedelta(seconds=seconds)
        told.files = applied(told.files, reconcile(told.world(), now, memo=memo))
    held = entries(memo)
    told.files = {}
    for seconds in range(4, 8):
        reconcile(told.world(), told.now + timedelta(seconds=seconds), memo=memo)

    assert held > entries(memo)
    assert entries(memo) <= len(memo.dialects) * 3


def test_a_report_alone_is_heard() -> None:
    """Nothing differs but what a cluster says of its copy."""
    told = story(cluster("a"), policy(), deployment(replicas=2))
    memo = Memo()
    for number, found in enumerate((None, 2, 0, 1, 1, None)):
        report(told, None if found is None else ("a", reports(found, 1)))
        for _ in range(2):
            told.now += timedelta(seconds=number + 1)
            outcome = assert_equal(told.world(), told.now, memo)
            told.files = applied(told.files, outcome)


@CHAIN
@given(stories(), EDITS)
def test_a_memo_that_follows_versions_changes_nothing(
    told: Story,
    edits: list[tuple[list[Body], int, str, int, tuple[str, Body] | None, int]],
) -> None:
    """A pass that looks only at what changed gives what one gives that looks at everything."""
    memo, world = Memo(), None
    for bodies, share, kind, number, found, seconds in edits:
        world = linked(told.world(), world)
        outcome = assert_equal(world, told.now, memo)
        told.files = applied(told.files, outcome)
        world = linked(told.world(), world)
        quiet = assert_equal(world, told.now, memo)
        for moment in moments(told.now, quiet)[:3]:
            assert_equal(world, moment, memo)
        report(told, found)
        edit(told, bodies, share)
        harm(told, kind, number)
        told.now += timedelta(seconds=1 + seconds)
    assert_equal(linked(told.world(), world), told.now, memo)
