"""Conditions that rules in CEL make of the state of a resource."""

import pytest

from reconciler.dialects.ocm.workstatus.condition_rules import evaluate_rules
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
