"""Rounds that look at everything until nothing moves end as those that look at what moved."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from reconciler.core.changes import Outcome
from reconciler.core.dialects import DIALECTS
from reconciler.core.reconcile import Memo, reconcile
from reconciler.core.rounds import ROUNDS
from reconciler.dialects.contract import Dialect, Prepared
from reconciler.model.settings import Settings
from reconciler.model.world import World
from tests.builders import Body, rebalancer
from tests.core.test_laws import LAW
from tests.dialects.kubefleet.test_laws import TARGET, placed
from tests.dialects.ocm.test_laws import hubs
from tests.dialects.ocm.test_rebalance import HUB
from tests.dialects.ocm.worlds import placement
from tests.stories import Story, applied, story
from tests.strategies import HARMS, harm, stories

STEADY = {"scoreCoordinate": {"type": "BuiltIn", "builtIn": "Steady"}, "weight": -1}
pytestmark = pytest.mark.cpu_seconds(60)  # many examples of whole passes


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
