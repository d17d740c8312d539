"""Moments end where the calendar ends, whatever numbers people write."""

from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.core.reconcile import reconcile
from reconciler.model.moments import FIRST, LAST, add, format_moment, parse_moment, span
from tests.builders import (
    NOW,
    Body,
    cluster,
    configuration,
    deployment,
    policy,
    rebalancer,
    schedule_trigger,
    taint,
    target,
)
from tests.stories import Story, applied, story

HUGE = 2**63 - 1


MOMENTS = st.datetimes().map(lambda moment: moment.replace(microsecond=0, tzinfo=NOW.tzinfo))


@given(st.integers(), MOMENTS)
def test_an_addition_stays_within_the_calendar(seconds: int, moment: datetime) -> None:
    """It is exact in between, and can be written and read."""
    found = add(moment, span(seconds=seconds))

    assert FIRST <= found <= LAST
    assert found == parse_moment(format_moment(found))
    if FIRST < found < LAST:
        assert timedelta(seconds=seconds) == found - moment


def failing(since: str) -> Body:
    """A cluster with a NoExecute taint of a moment."""
    return cluster("a", taints=[{**taint("spot", "NoExecute"), "timeAdded": since}])


def tolerating(seconds: int) -> Body:
    """A policy that tolerates everything for so many seconds."""
    tolerations = [{"operator": "Exists", "tolerationSeconds": seconds}]
    return policy(placement={"clusterTolerations": tolerations})


def failover(**settings: object) -> Body:
    """A configuration of Karmada's failover."""
    return configuration(karmada={"failover": settings})


@pytest.mark.parametrize(
    "told",
    [
        story(schedule_trigger("t", target(), autoCleanAfterMinutes=HUGE, retryAfterSeconds=HUGE)),
        story(cluster("b"), failing("2026-11-20T11:00:00Z"), tolerating(HUGE), deployment()),
        story(cluster("b"), failing("9999-12-31T23:59:59Z"), tolerating(300), deployment()),
        story(cluster("b"), failing("0001-01-01T00:00:00Z"), tolerating(-HUGE), deployment()),
        story(
            cluster(), deployment(), policy(), configuration(feedback={"assumeAfterSeconds": HUGE})
        ),
        story(cluster(), deployment(), policy(), failover(defaultTolerationSeconds=HUGE)),
        story(cluster(), deployment(), policy(), failover(gracefulEvictionTimeoutSeconds=HUGE)),
        story(cluster(), deployment(), policy(), rebalancer("demo", target(), ttl=2**31 - 1)),
    ],
)
def test_a_huge_number_of_seconds_is_for_ever(told: Story) -> None:
    """No pass fails, and none is asked for before the end of the calendar."""
    told.run(0)
    told.run(60)

    outcome = told.run(100_000)

    # A cluster that never tolerates and is chosen again oscillates, as with any negative number.
    assert {"oscillates"} >= {fault.rule for fault in outcome.faults}


@pytest.mark.parametrize("now", [FIRST, LAST])
def test_a_pass_runs_at_the_ends_of_the_calendar(now: datetime) -> None:
    """What finishes at the last moment never goes."""
    told = story(cluster(), policy(), deployment(), rebalancer("demo", target(), ttl=60))
    told.put(rebalancer("nightly", target(), schedule="0 3 * * *"), schedule_trigger("t", target()))
    for _ in range(2):
        outcome = reconcile(told.world(), now)
        told.files = applied(told.files, outcome)

    assert () == outcome.changes
    assert () == outcome.faults
