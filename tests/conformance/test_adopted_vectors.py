"""What vectors say of bindings holds for those of a hub, imported and adopted with their uids."""

from collections import Counter
from pathlib import Path

import pytest

from tests.conformance.door import karmada, karmada_adopted
from tests.conformance.door.door import LeftOut
from tests.conformance.run import read_cases
from tests.conformance.test_vectors import FIXTURES, name_of

FILES = sorted((FIXTURES / "karmada").glob("schedule*.jsonl.gz"))


@pytest.mark.cpu_seconds(120)  # hundreds of adoptions, each with its passes
@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_schedules_pass_through_adoption(path: Path) -> None:
    """Whatever passes as a repository does; ties go by the uid of the hub, under any name."""
    told: Counter[str] = Counter()
    for case in read_cases(path):
        try:
            assert karmada.check_schedule(case) is None, case["name"]
        except LeftOut:
            told["left out"] += 1
            continue
        assert karmada_adopted.check_schedule(case) is None, case["name"]
        told["passed"] += 1

    assert told["passed"] > told["left out"]
