"""Law 10: memos, rounds of what moved and the world that a pass leaves change no answer."""

import copy
from dataclasses import dataclass
from datetime import datetime, timedelta

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from reconciler.core.changes import Outcome
from reconciler.core.dialects import DIALECTS
from reconciler.core.reconcile import Memo, reconcile
from reconciler.core.rounds import ROUNDS, next_world
from reconciler.dialects.contract import Dialect, Prepared
from reconciler.dialects.karmada.detector.policies import KnownPolicies
from reconciler.model.records import field_names, replace
from reconciler.model.remembered import AnswerCache, KeyedCache
from reconciler.model.settings import Settings
from reconciler.model.world import World
from tests.bounded import examples
from tests.builders import NOW, Body, cluster, deployment, policy, rebalancer, target
from tests.core.test_laws import LAW
from tests.dialects.kubefleet.test_laws import TARGET, placed
from tests.dialects.ocm.test_decide import HUB_OF_TWO as HUB
from tests.dialects.ocm.test_laws import hubs
from tests.dialects.ocm.worlds import placement
from tests.stories import Story, applied, linked, story
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
    found = [getattr(one, name) for one in memories for name in field_names(one)]
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


STEADY = {"scoreCoordinate": {"type": "BuiltIn", "builtIn": "Steady"}, "weight": -1}


@dataclass
class NoMemory:
    """A memory of an API that begins each round without any: nothing is known to be as it was."""

    dialect: Dialect
    rounds: int = 0

    def prepare(self, world: World, settings: Settings, now: datetime, /) -> Prepared:
        """Look at everything."""
        self.rounds += 1
        return self.dialect.begin().prepare(world, settings, now)

    def forget(self) -> None:
        """There is nothing to forget."""


def looking_at_everything(world: World, now: datetime) -> tuple[Outcome, int]:
    """The outcome of a pass whose rounds look at everything, and how many they are."""
    memories = {dialect: NoMemory(dialect) for dialect in DIALECTS}
    outcome = reconcile(world, now, memo=Memo(dialects={**memories}))
    return outcome, max(one.rounds for one in memories.values())


def hold_rounds(told: Story, memo: Memo) -> tuple[Outcome, int]:
    """Hold the rounds of a pass, with a memory of the pass before, against such as see all."""
    world = told.world()
    outcome = reconcile(world, told.now, memo=memo)
    everything, rounds = looking_at_everything(world, told.now)
    assert replace(everything, explanations={}) == replace(outcome, explanations={})
    return outcome, rounds


def hold_changes(told: Story, harmed: str, number: int) -> None:
    """Hold the first pass, and the one after somebody harmed a file."""
    memo = Memo()
    outcome, first = hold_rounds(told, memo)
    told.files = applied(told.files, outcome)
    harm(told, harmed, number)
    told.now += timedelta(seconds=61)
    _, second = hold_rounds(told, memo)
    event(f"{max(first, second)} rounds")


@LAW
@given(stories(), st.sampled_from(HARMS), st.integers(0, 20))
def test_karmada(told: Story, harmed: str, number: int) -> None:
    """And whatever else is in the repository."""
    hold_changes(told, harmed, number)


@LAW
@given(placed(), st.sampled_from(HARMS), st.integers(0, 20))
def test_kubefleet(told: Story, harmed: str, number: int) -> None:
    """A rebalance among it."""
    told.put(rebalancer("demo", TARGET))
    hold_changes(told, harmed, number)


@LAW
@given(hubs(), hubs(), st.sampled_from(HARMS), st.integers(0, 20))
def test_open_cluster_management(
    before: list[Body], after: list[Body], harmed: str, number: int
) -> None:
    """One hub, then another one."""
    told = story(*before)
    told.run()
    told.put(*after)
    hold_changes(told, harmed, number)


def test_what_oscillates_is_the_same_by_both() -> None:
    """A negative weight for Steady would move the placement at each look."""
    told = story(*HUB, placement("p", numberOfClusters=1), placement("q", numberOfClusters=1))
    told.run()
    policy = {"mode": "Exact", "configurations": [STEADY]}
    told.put(placement("p", numberOfClusters=1, prioritizerPolicy=policy))
    told.now += timedelta(seconds=1)
    outcome, rounds = hold_rounds(told, Memo())

    oscillating = {fault.subject for fault in outcome.faults if fault.rule == "oscillates"}
    assert {True} == {"/p" in subject or "p-decision" in subject for subject in oscillating}
    assert rounds >= ROUNDS


def parts(world: World) -> tuple[object, ...]:
    """All of a world that a pass changes; the revision is that of its commit."""
    files = (world.present, world.inexact, world.texts, world.blobs)
    return (world.inputs, world.outputs, *files)


def left_and_loaded(told: Story, seconds: int) -> tuple[World, World]:
    """The world as a pass leaves it, and as it is loaded after the same pass."""
    moment = NOW + timedelta(seconds=seconds)
    world = told.world()
    left = next_world(world, reconcile(world, moment))
    told.run(seconds)
    return left, told.world()


@LAW
@given(stories(), objects(), st.integers(0, 15))
def test_the_next_world_is_what_the_shell_would_load(
    told: Story, bodies: list[Body], share: int
) -> None:
    """Whatever the pass writes and deletes."""
    edit(told, bodies, share)
    seconds = int((told.now - NOW).total_seconds()) + 1

    left, loaded = left_and_loaded(told, seconds)

    assert parts(loaded) == parts(left)


def test_documents_that_are_taken_out_move_up_those_behind_them() -> None:
    """Two of four go, one after the other; then the file holds the others."""
    told = story(cluster(), policy(), deployment())
    short, long = (rebalancer(name, target(), ttl=ttl) for name, ttl in (("s", 30), ("t", 60)))
    told.put(short, deployment("api"), long, deployment("last"), path="all.yaml")
    told.run(0)

    first, second = (left_and_loaded(told, seconds) for seconds in (30, 60))

    assert parts(first[1]) == parts(first[0])
    assert parts(second[1]) == parts(second[0])
    assert "WorkloadRebalancer" not in told.files["all.yaml"]


def test_a_file_that_held_nothing_else_is_gone() -> None:
    """With its text and its blob."""
    told = story(cluster(), policy(), deployment(), rebalancer(ttl=30))
    told.run(0)

    left, loaded = left_and_loaded(told, 30)

    assert parts(loaded) == parts(left)
    assert "workloadrebalancer/demo.yaml" not in left.texts


def test_a_pass_that_changes_nothing_leaves_the_very_same_world() -> None:
    """So that what is remembered of it holds."""
    told = story(cluster(), policy(), deployment())
    told.run(0)
    world = told.world()

    assert next_world(world, reconcile(world, NOW + timedelta(seconds=1))) is world
