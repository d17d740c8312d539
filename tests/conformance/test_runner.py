"""The runner itself: figures, differences, exit code, and vectors that upstream refuses, too."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest

from reconciler.model.records import replace
from tests.builders import Body
from tests.conformance.door.door import Refused
from tests.conformance.families import FAMILIES
from tests.conformance.judgements import first_difference
from tests.conformance.run import (
    RULES,
    Result,
    label_of,
    read_cases,
    rules_refusing,
    run_files,
    walk_case,
)
from tests.conformance.test_vectors import FILES


def test_unknown_family_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A family that nobody answers counts as failed, and the exit code says so."""
    case = {"name": "x", "family": "nothing", "input": {}, "expected": {}}
    path = tmp_path / "cases.jsonl"
    path.write_text(json.dumps(case) + "\n")

    assert 1 == run_files([path])
    assert "karmada/nothing:x: family is not built" in capsys.readouterr().out


def test_last_line_is_the_total(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No file, no failure."""
    assert 0 == run_files([])
    assert "0 passed, 0 failed" == capsys.readouterr().out.splitlines()[-1]


@pytest.mark.parametrize(
    ("expected", "actual", "difference"),
    [
        pytest.param({"a": [1, 2]}, {"a": [1, 2]}, None, id="equal"),
        pytest.param({"a": [1, 2]}, {"a": [1, 3]}, ".a[1]: expected 2, got 3", id="in-a-list"),
        pytest.param({"a": 1}, {}, ".a: missing", id="missing-key"),
        pytest.param({}, {"a": 1}, ".a: not expected", id="key-too-much"),
        pytest.param([1], [1, 2], ": expected [1], got [1, 2]", id="length"),
    ],
)
def test_first_difference_names_the_place(
    expected: object, actual: object, difference: str | None
) -> None:
    """The place is a path into the expected value."""
    assert difference == first_difference(expected, actual)


ADMISSION = "karmada/admission"


def admissions() -> Iterator[tuple[Body, bool]]:
    """Yield the inputs that upstream's own admission answered, and whether it took them."""
    files = [file for file in FILES if f"{file.parent.name}/{file.name}".startswith(ADMISSION)]
    for case in (case for file in files for case in read_cases(file)):
        given, expected = cast(Body, case["input"]), cast(Body, case["expected"])
        if label_of(case) == ADMISSION and given["operation"] != "DELETE":
            body = cast(Body, given["object"])
            inputs = {"clusters": [body]} if body["kind"] == "Cluster" else given
            answer = cast(Body, expected.get("withCRD", expected))
            yield {"input": inputs}, bool(answer["accepted"])


def test_what_the_rules_refuse_upstream_refuses() -> None:
    """Upstream's own answers are held against each rule, and each rule refuses something."""
    answers = [(rules_refusing(case), accepted) for case, accepted in admissions()]

    assert [] == [rules for rules, accepted in answers if rules and accepted]
    assert set(RULES) == {rule for rules, _ in answers for rule in rules}


@pytest.mark.parametrize(
    ("rule", "placement", "left_out"),
    [
        pytest.param(
            "policy-spread-cluster",
            {"spreadConstraints": [{"spreadByField": "region"}]},
            "refused: policy-spread-cluster",
            id="upstream-refuses-it-too",
        ),
        pytest.param("policy-spread-cluster", {}, "", id="upstream-takes-it"),
        pytest.param(
            "policy-of-ours",
            {"spreadConstraints": [{"spreadByField": "region"}]},
            "",
            id="no-rule-of-upstream",
        ),
    ],
)
def test_a_refusal_counts_by_upstreams_rule(
    rule: str, placement: Body, left_out: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What we refuse and upstream does not is a failure."""
    result = walked(placement, Refused(rule), monkeypatch)

    assert (left_out, not left_out) == (result.left_out, result.failed)


def test_what_upstream_refuses_must_not_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its answer would be one to a question that no hub asks."""
    placement: Body = {"clusterTolerations": [{"operator": "Gt"}]}
    result = walked(placement, None, monkeypatch)

    assert result.difference is not None
    assert "upstream refuses it by ['policy-toleration-operator']" in result.difference


def walked(placement: Body, refusal: Refused | None, monkeypatch: pytest.MonkeyPatch) -> Result:
    """A vector with this placement, by a door that refuses it or finds no difference."""

    def door(_: Body) -> str | None:
        if refusal is not None:
            raise refusal
        return None

    label = "karmada/schedule"
    changed = {**FAMILIES, label: replace(FAMILIES[label], door=door)}
    monkeypatch.setattr("tests.conformance.run.FAMILIES", changed)
    given = {"binding": {"spec": {"placement": placement}}}
    return walk_case({"family": "schedule", "name": "new", "input": given, "expected": {}})
