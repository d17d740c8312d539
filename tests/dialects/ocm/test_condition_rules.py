"""Conditions that rules in CEL make of the state of a resource."""

import pytest

from reconciler.dialects.ocm.workstatus.work_status import evaluate_rules
from reconciler.model.body import Body

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
