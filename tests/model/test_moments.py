"""Moments: where the calendar ends, in conditions, and in files that only they would change."""

from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.core.reconcile import reconcile
from reconciler.model.body import keep_present
from reconciler.model.cluster import Condition, set_condition
from reconciler.model.moments import FIRST, LAST, Stamp, add, format_moment, parse_moment, span
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


THEN, PRESENT = "2026-01-01T00:00:00Z", Stamp("2026-01-02T00:00:00Z")
SCALARS = st.none() | st.booleans() | st.integers(-2, 2) | st.text("ab", max_size=2)
BODIES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3)
    ),
)


@pytest.mark.parametrize(
    ("desired", "present", "stays"),
    [
        ({"a": 1}, {"a": 1}, True),
        ({"at": PRESENT}, {"at": THEN}, True),
        ({"at": PRESENT}, {}, False),
        ({"at": PRESENT}, {"at": None}, False),
        ({"at": PRESENT, "a": 1}, {"at": THEN, "a": 2}, False),
        ({"at": PRESENT, "a": [1, {"b": "c"}]}, {"a": [1, {"b": "c"}], "at": THEN}, True),
        ({"list": [{"at": PRESENT}, {"at": THEN}]}, {"list": [{"at": THEN}, {"at": THEN}]}, True),
        ({"list": [{"at": PRESENT}]}, {"list": [{"at": THEN}, {"at": THEN}]}, False),
        ({"list": ({"at": PRESENT},)}, {"list": [{"at": THEN}]}, True),
        ({"at": "2026-01-03T00:00:00Z"}, {"at": THEN}, False),
        ({"at": {"b": PRESENT}}, {"at": THEN}, False),
    ],
)
def test_stamps_alone_never_make_a_change(
    desired: dict[str, object], present: dict[str, object], *, stays: bool
) -> None:
    """Neither does the order of keys, nor whether a list is one."""
    assert (keep_present(desired, present) is present) is stays


@given(st.dictionaries(st.sampled_from("abc"), BODIES), BODIES)
def test_a_body_stays_beside_a_stamp_if_and_only_if_it_is_equal(
    body: dict[str, object], other: object
) -> None:
    """Whatever else is in it."""
    desired = {**body, "at": PRESENT, "more": body.get("a")}
    present = {**body, "at": THEN, "more": other}

    assert (keep_present(desired, present) is present) is (body.get("a") == other)


OLD, NEW = "2026-11-20T10:00:00Z", "2026-11-20T12:00:00Z"
READY = {
    "type": "Ready",
    "status": "True",
    "lastTransitionTime": OLD,
    "reason": "a",
    "message": "b",
}


@pytest.mark.parametrize(
    ("status", "moment"),
    [pytest.param("True", OLD, id="same-status"), pytest.param("False", NEW, id="other-status")],
)
def test_moment_moves_with_the_status(status: str, moment: str) -> None:
    """A new reason alone is no transition."""
    other = {"type": "Other", "status": "True"}
    expected = {**READY, "status": status, "lastTransitionTime": moment, "reason": "x"}

    assert [expected, other] == set_condition(
        [READY, other], Condition("Ready", status, "x", "b"), at=NEW
    )


def test_new_condition_comes_last() -> None:
    """With the present moment, and the generation if there is one."""
    expected = {
        "type": "Scheduled",
        "status": "True",
        "lastTransitionTime": NEW,
        "reason": "Success",
        "message": "",
        "observedGeneration": 3,
    }

    assert [READY, expected] == set_condition(
        [READY], Condition("Scheduled", "True", "Success", "", 3), at=NEW
    )
