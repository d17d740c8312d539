"""The laws of a pass where room is protected, of repositories whose clusters have little of it."""

import copy
from datetime import timedelta

import pytest
from hypothesis import assume, event, given, settings
from hypothesis import strategies as st

from reconciler.core.reconcile import Memo, reconcile
from reconciler.model.fields import mapping
from tests.bounded import examples
from tests.builders import Body, configuration
from tests.core.test_law_every_round import hold_rounds
from tests.core.test_laws import LAW, contents, relative, shuffled
from tests.core.test_memo_law import assert_equal, moments
from tests.stories import Story, applied
from tests.strategies import (
    HARMS,
    MALFORMED,
    SECONDS,
    edit,
    harm,
    moments_between,
    objects,
    report,
    reported,
)

pytestmark = pytest.mark.cpu_seconds(60)  # many examples of whole passes

FEW = settings(LAW, max_examples=examples(30))
ON = (
    configuration(capacity={"protect": True}),
    configuration(capacity={"protect": True, "reservationSeconds": 45}),
    configuration(
        capacity={"protect": True},
        karmada={"federatedQuotaEnforcement": True},
        delivery={"folders": {}},
    ),
)


def scarce(body: Body, cpu: str, pods: int) -> Body:
    """A cluster that has a status with so much left; anything else as it is."""
    status = mapping(body, "status")
    if not status:
        return body
    if body["kind"] == "Cluster":
        has = {"cpu": cpu, "memory": "1Ti", "pods": str(pods)}
        return {**body, "status": {**status, "resourceSummary": {"allocatable": has}}}
    if body["kind"] == "MemberCluster":
        usage = {name: {"cpu": cpu} for name in ("capacity", "allocatable", "available")}
        seen = {**usage, "observationTime": "2026-11-23T00:00:00Z"}
        return {**body, "status": {**status, "resourceUsage": seen}}
    return body


@st.composite
def crowded(draw: st.DrawFn) -> list[Body]:
    """The objects of one repository that protects the little room that there is."""
    found = [one for one in draw(objects()) if one["kind"] != "ReconcilerConfiguration"]
    room = st.tuples(st.sampled_from(("1", "3", "40")), st.sampled_from((2, 5, 40)))
    return [*(scarce(one, *draw(room)) for one in found), draw(st.sampled_from(ON))]


@st.composite
def stories(draw: st.DrawFn) -> Story:
    """Such a repository after up to two passes, edited since."""
    told = Story().put(*draw(crowded()))
    for _ in range(draw(st.integers(0, 2))):
        report(told, draw(reported))
        told.files = applied(told.files, reconcile(told.world(), told.now))
        edit(told, draw(crowded()), draw(st.integers(0, 15)))
        harm(told, draw(st.sampled_from(HARMS)), draw(st.integers(0, 20)))
        told.now += timedelta(seconds=1 + draw(SECONDS))
    return told


@FEW
@given(stories(), st.integers(0, 1000))
def test_deterministic(told: Story, seed: int) -> None:
    """The order in which objects come changes nothing."""
    world = told.world()

    outcome = reconcile(world, told.now)
    event(f"{any('ledger' in one.path for one in outcome.changes)}: something is reserved")
    assert outcome == reconcile(shuffled(world, seed), told.now)


@FEW
@given(stories())
def test_settled(told: Story) -> None:
    """Reconciling the result again at the same moment changes nothing."""
    told.files = applied(told.files, reconcile(told.world(), told.now))

    assert () == reconcile(told.world(), told.now).changes


@FEW
@given(stories())
def test_timed(told: Story) -> None:
    """Before `recheck_at` a pass changes what it changes now, and once committed nothing."""
    world = told.world()
    first = reconcile(world, told.now)
    until = first.recheck_at or told.now + timedelta(days=40)
    expected = relative(first, told.now, told.now)
    for moment in moments_between(told.now, until):
        assert expected == relative(reconcile(world, moment), moment, told.now)
    told.files = applied(told.files, first)
    world = told.world()
    for moment in moments_between(told.now, until):
        assert () == reconcile(world, moment).changes


@FEW
@given(stories(), st.sampled_from(sorted(MALFORMED)))
def test_local(told: Story, path: str) -> None:
    """A malformed object changes nothing for those that do not refer to it."""
    told.run()
    before = contents(reconcile(told.world(), told.now))
    told.files[path] = MALFORMED[path]
    assume(not any(held.beside for held in told.world().held))
    changed = contents(reconcile(told.world(), told.now))
    ours = {"status/faults.yaml", "status/reconciler.yaml"}

    others = {key for key in changed.keys() - ours if "/zz/" not in key}
    assert {key: before[key] for key in before.keys() - ours} == {
        key: changed[key] for key in others
    }


@FEW
@given(stories(), crowded(), crowded(), st.integers(0, 15))
def test_level_triggered(told: Story, first: list[Body], second: list[Body], share: int) -> None:
    """Several edits taken together give what their squash gives."""
    squashed = copy.deepcopy(told)
    for edited in (first, second):
        edit(told, edited, share)
        told.world()
    squashed.files = dict(told.files)

    assert reconcile(squashed.world(), told.now) == reconcile(told.world(), told.now)


@settings(LAW, max_examples=examples(8))
@given(
    stories(),
    st.lists(
        st.tuples(crowded(), st.sampled_from((0, 1, 3, 15)), reported, SECONDS),
        min_size=1,
        max_size=4,
    ),
)
def test_a_memo_changes_nothing(
    told: Story, edits: list[tuple[list[Body], int, tuple[str, Body] | None, int]]
) -> None:
    """Whatever happens between passes, and whenever they run, a memo only saves work."""
    memo = Memo()
    for edited, share, found, seconds in edits:
        told.files = applied(told.files, assert_equal(told.world(), told.now, memo))
        world = told.world()
        quiet = assert_equal(world, told.now, memo)
        for number, moment in enumerate(moments(told.now, quiet)):
            assert_equal(world if number % 2 else told.world(), moment, memo)
        report(told, found)
        edit(told, edited, share)
        told.now += timedelta(seconds=1 + seconds)
    assert_equal(told.world(), told.now, memo)


@settings(LAW, max_examples=examples(15))
@given(stories(), crowded())
def test_rounds_that_look_at_everything_end_alike(told: Story, bodies: list[Body]) -> None:
    """As those that look at what moved."""
    memo = Memo()
    outcome, _ = hold_rounds(told, memo)
    told.files = applied(told.files, outcome)
    edit(told, bodies, 3)
    told.now += timedelta(seconds=61)
    hold_rounds(told, memo)
