"""What passed once must pass: whole families and single cases, listed in ratchet.json."""

import json
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import cast

import pytest

from tests.conformance import judgements
from tests.conformance.families import FAMILIES, Body
from tests.conformance.front_door import LeftOut
from tests.conformance.run import (
    Result,
    label_of,
    read_cases,
    reasons,
    run_case,
    walk_case,
)

FIXTURES = Path(__file__).parents[2] / "fixtures/conformance"
FILES = sorted(FIXTURES.glob("*/*.jsonl.gz"))
RATCHET: dict[str, object] = json.loads((judgements.HERE / "ratchet.json").read_text())
TRIED = 40
"""How many vectors of a family show at most that a field is compared."""


TAMPERED = -31337
"""A value that no vector expects anywhere."""


def name_of(path: Path) -> str:
    """The name of a file of vectors in the ratchet."""
    return f"{path.parent.name}/{path.name.removesuffix('.jsonl.gz')}"


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_vectors_that_must_pass_do(path: Path) -> None:
    """The first difference of each failing case is shown."""
    results = [run_case(case) for case in read_cases(path)]
    families, cases = (cast(list[str], RATCHET[name]) for name in ("families", "cases"))
    failed = {
        result.key: result.difference
        for result in results
        if result.failed and (result.label in families or result.key in cases)
    }

    assert {} == failed


@pytest.mark.cpu_seconds(120)  # hundreds of passes
@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_vectors_pass_through_the_front_door(path: Path) -> None:
    """As repositories they have upstream's outputs; what is left out is counted by reason."""
    results = [walk_case(case) for case in read_cases(path)]
    failed = {result.key: result.difference for result in results if result.failed}

    assert {} == failed
    assert cast(Mapping[str, object], RATCHET["frontDoor"])[name_of(path)] == counts(results)


def counts(results: list[Result]) -> Body:
    """What the ratchet holds of a file."""
    left_out = reasons(results)
    passed = sum(result.difference is None and not result.left_out for result in results)
    return {"passed": passed, "leftOut": left_out}


def _is_compared(cases: list[Body], field: str, *, door: bool) -> bool:
    """Whether another value of a field is a difference in any of these vectors."""
    family = FAMILIES[label_of(cases[0])]
    check = family.door if door else family.direct
    assert check is not None
    for case in cases:
        expected = {**cast(Body, case["expected"]), field: TAMPERED}
        try:
            if check(case) is None and check({**case, "expected": expected}) is not None:
                return True
        except LeftOut:
            continue
        except Exception:  # noqa: BLE001 - what is read is compared
            return True
    return False


@pytest.mark.cpu_seconds(60)  # each field of each family
@pytest.mark.parametrize("door", [False, True], ids=["direct", "front-door"])
@pytest.mark.parametrize("label", sorted(FAMILIES))
def test_what_is_not_compared_is_written_down(label: str, door: bool) -> None:  # noqa: FBT001
    """A field of `expected` is either compared or listed with a reason, and never both."""
    if door and FAMILIES[label].door is None:
        assert label in judgements.NO_DOOR
        return
    by_field: dict[str, list[Body]] = {}
    for path in FILES:
        for case in read_cases(path):
            if label_of(case) == label:
                for field in cast(Body, case["expected"]):
                    by_field.setdefault(field, []).append(case)
    listed = set(judgements.NOT_COMPARED.get(label, {}))
    if door:
        listed |= set(judgements.NOT_COMPARED_AT_THE_DOOR.get(label, {}))
        listed -= set(judgements.ONLY_AT_THE_DOOR.get(label, {}))
    found = {
        field
        for field, cases in by_field.items()
        if not _is_compared(list(islice(cases, TRIED)), field, door=door)
    }

    assert sorted(listed & by_field.keys()) == sorted(found)


def test_every_judgement_says_why() -> None:
    """An exception is a named case and a reason, and so is whatever else is forgiven."""

    def texts(value: object) -> list[object]:
        if isinstance(value, Mapping | list):
            parts = value.values() if isinstance(value, Mapping) else value
            return [text for item in parts for text in texts(item)]
        return [value]

    assert all(":" in key for key in judgements.CASES)
    assert all(isinstance(text, str) and text.strip() for text in texts(judgements.JUDGEMENTS))
