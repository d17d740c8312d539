"""What passed once must pass: whole families and single cases, listed in ratchet.json."""

import json
from pathlib import Path

import pytest

from tests.conformance.run import EXCEPTIONS, HERE, read_cases, run_case

FIXTURES = Path(__file__).parents[2] / "fixtures/conformance"
FILES = sorted(FIXTURES.glob("*/*.jsonl.gz"))
RATCHET: dict[str, list[str]] = json.loads((HERE / "ratchet.json").read_text())


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.name[:-9]}")
def test_vectors_that_must_pass_do(path: Path) -> None:
    """The first difference of each failing case is shown."""
    results = [run_case(case) for case in read_cases(path)]
    failed = {
        result.key: result.difference
        for result in results
        if result.difference is not None
        and (result.label in RATCHET["families"] or result.key in RATCHET["cases"])
        and result.key not in EXCEPTIONS
    }

    assert {} == failed


def test_every_exception_says_why() -> None:
    """An exception is a named case and a reason."""
    assert all(":" in key and reason.strip() for key, reason in EXCEPTIONS.items())
