"""What is forgiven: without its line in exceptions.json some vector fails."""

from collections.abc import MutableMapping
from typing import cast

import pytest

from tests.conformance import judgements
from tests.conformance.run import label_of, read_cases, run_case, walk_case
from tests.conformance.test_vectors import FILES

GROUPS = [
    *judgements.FORGIVEN.items(),
    *(("karmada/bindingfromtemplate", part) for part in judgements.LEFT_ASIDE.values()),
    ("karmada/policyadmission", judgements.FIELDS_NAMED),
]
LINES = [(label, what, reasons) for label, reasons in GROUPS for what in reasons]
LINES += [(case.partition(":")[0], case, judgements.CASES) for case in judgements.CASES]


@pytest.mark.cpu_seconds(60)  # vectors of a family until one fails
@pytest.mark.parametrize(("label", "what", "reasons"), LINES, ids=[f"{a}-{b}" for a, b, _ in LINES])
def test_nothing_is_forgiven_in_vain(
    label: str, what: str, reasons: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A line that no vector needs would hide the next one that does."""
    monkeypatch.delitem(cast(MutableMapping[str, object], reasons), what)
    cases = (case for file in FILES for case in read_cases(file) if label_of(case) == label)

    assert any(run_case(case).failed or walk_case(case).failed for case in cases)
