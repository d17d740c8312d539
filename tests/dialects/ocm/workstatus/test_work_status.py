"""Conditions that CEL rules make of a resource's state, and what is assumed of silent clusters."""

from datetime import datetime

import pytest

from reconciler.audit.fleet.assumed_outputs import as_of
from reconciler.dialects.ocm.workstatus.work_status import evaluate_rules
from reconciler.model.body import Body
from tests.builders import after, configuration, text_of
from tests.dialects.ocm.worlds import (
    SHOP,
    STATUS,
    fleet,
    progressive,
    replica_set,
    report,
    settings_map,
    succeed,
    templates,
)
from tests.golden import older_outputs
from tests.stories import Story

RESOURCE = {"apiVersion": "v1", "kind": "Widget", "status": {"phase": "Up", "flag": True}}


def rule(expression: str = "true", **more: str) -> Body:
    """A rule of the condition `Up`."""
    return {"condition": "Up", "type": "CEL", "celExpressions": [expression], **more}


@pytest.mark.parametrize(
    ("wanted", "status", "message"),
    [
        pytest.param(
            rule("object.?status.?nope.orValue(1) == 1"), "True", "Manifest is Up", id="absent"
        ),
        pytest.param(rule("object.status.?flag"), "True", "Manifest is Up", id="optional-answer"),
        pytest.param(
            rule("object.?nope.hasValue()", message="no"), "False", "no", id="written-message"
        ),
        pytest.param(
            rule(messageExpression="object.?status.?phase"), "True", "Up", id="optional-message"
        ),
        pytest.param(
            rule(messageExpression="''", message="then this"),
            "True",
            "then this",
            id="empty-message",
        ),
        pytest.param(
            rule(messageExpression="''"), "True", "Manifest is Up", id="empty-message-alone"
        ),
    ],
)
def test_rule_answers(wanted: Body, status: str, message: str) -> None:
    """Of an optional answer its value counts, and an empty message is none.

    Source: ocm@00f84c3 pkg/work/spoke/conditions/reader.go `getConditionMessageByRule`.
    """
    found = next(evaluate_rules([wanted], RESOURCE, 1))

    assert (status, message) == (found.status, found.message)


HELD = "hunter2-of-the-shop"


@pytest.mark.parametrize(
    "expression",
    [
        "object.data.a.nope()",
        "object.data[object.data.a]",
        "int(object.data.a) == 1",
        "timestamp(object.data.a) > 1",
        "duration(object.data.a) > 1",
        "quantity(object.data.a).isInteger()",
        "semver(object.data.a).major() == 1",
        "object.data.a < 1",
        "object.data.a + 1 == 2",
        "object.data.a",
        "object.data.none",
        "[1][5] == 1",
        "1 / 0 == 1",
        "'a'.matches(object.data.a + '(')",
        "'unclosed",
        "object.data.a ==",
    ],
)
def test_what_a_rule_stumbles_over_is_not_told(expression: str) -> None:
    """The library's own words hold values, or the whole resource."""
    secret = {"apiVersion": "v1", "kind": "Secret", "data": {"a": HELD}}
    found = next(evaluate_rules([rule(expression)], secret, 1))
    told = next(evaluate_rules([rule(messageExpression=expression)], secret, 1))

    assert "ConditionRuleExpressionError" == found.reason
    assert HELD not in found.message + told.message
    assert len(found.message) < 400


def test_the_message_of_a_rule_has_no_value_of_a_secret() -> None:
    """Its expressions see the values, its message does not."""
    secret = {"apiVersion": "v1", "kind": "Secret", "data": {"a": HELD}}
    wanted = rule(f"object.data.a == '{HELD}'", messageExpression="'it is ' + object.data.a")
    found = next(evaluate_rules([wanted], secret, 1))

    assert ("True", "it is (hidden)") == (found.status, found.message)


def shop(*names: str, strategy: Body | None = None, seconds: int | None = 60) -> Story:
    """A set that goes to some clusters, placed now."""
    told = fleet(*names).put(replica_set(strategy=strategy))
    told.put(configuration(feedback={"assumeAfterSeconds": seconds}))
    told.run(0)
    return told


def shown(told: Story, at: datetime) -> Body:
    """The set as it is at a moment."""
    return as_of(told.world(), at).outputs[SHOP].body


def test_it_is_shown_as_older_releases_wrote_it() -> None:
    """To the letter, whoever looks when."""
    told, old = shop("a", "b"), shop("a", "b")
    old.files |= older_outputs("ocm")

    assert told.output(STATUS) == shown(told, after(59))
    for at in (after(60), after(9_000)):
        assert old.output(STATUS) == shown(told, at)


@pytest.mark.parametrize(
    ("names", "named"), [("a", "a"), ("abcd", "a, b, c and 1 more")], ids=["one", "many"]
)
def test_it_says_of_which_clusters_it_is_assumed(names: str, named: str) -> None:
    """Of many by the first names."""
    assert f"assumed of {named}, which did not report" in str(shown(shop(*names), after(60)))


def test_nothing_is_written_for_it_and_no_pass_waits_for_it() -> None:
    """All clusters have got it."""
    told = shop("a", "b")
    before = dict(told.files)
    outcome = told.run(1)

    assert (None, ()) == (outcome.recheck_at, outcome.waits)
    assert () == told.run(90_000).changes
    assert before == told.files
    assert "ssumed" not in told.files[STATUS]


def test_nothing_is_assumed_where_that_is_switched_off() -> None:
    """At no moment."""
    told = shop("a", seconds=None)

    assert told.output(STATUS) == shown(told, after(90_000))


def test_a_rollout_that_waits_goes_on_at_the_assumed_moment() -> None:
    """To the second; what it counted with is in no file."""
    told = shop("a", "b", "c", strategy=progressive())
    for seconds, reached, next_seconds in (
        (59, "a", 60),
        (60, "ab", 120),
        (119, "ab", 120),
        (120, "abc", None),
        (180, "abc", None),
    ):
        outcome = told.run(seconds)
        moment = None if next_seconds is None else after(next_seconds)

        assert [*reached] == sorted(templates(told))
        assert "ssumed" not in told.files[STATUS]
        assert moment == outcome.recheck_at
        assert ([] if moment is None else [moment]) == [wait.until for wait in outcome.waits]
    assert "assumed of a, b, c, which did not report" in str(shown(told, after(180)))


def test_a_new_template_counts_anew() -> None:
    """From when each cluster got it."""
    told = shop("a", "b")
    told.put(replica_set(settings_map("2"), strategy=progressive())).run(100)
    told.run(160)

    assert "AssumedAsExpected" not in str(shown(told, after(219)))
    found = str(shown(told, after(220)))
    assert "assumed of a, b, which did not report" in found
    assert text_of(after(220)) in found


def test_clusters_that_report_are_not_assumed_about() -> None:
    """Of two the silent one is; what the other one says counts."""
    told = shop("a", "b")
    succeed(told, "a").run(30)

    assert "assumed of b, which did not report" in str(shown(told, after(60)))
    report(told, "a", Applied="True", Available="False", Progressing="False").run(61)
    assert "assumed of b, which did not report" in str(shown(told, after(61)))
    assert "AssumedAsExpected" not in str(shown(told, after(61)))


def test_what_an_older_release_wrote_of_it_stays_while_it_holds() -> None:
    """So an upgrade rewrites nothing, until something else is known."""
    told = shop("a", "b")
    told.files |= older_outputs("ocm")
    before = dict(told.files)

    assert () == told.run(61).changes
    assert () == told.run(90_000).changes
    assert before == told.files
    assert told.output(STATUS) == shown(told, told.now)

    told.put(configuration(feedback={"assumeAfterSeconds": None})).run()
    assert "ssumed" not in told.files[STATUS]
