"""Findings in every format: well-formed whatever stands in the files, and harmless."""

import json
import unicodedata
import xml.etree.ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconciler.audit.findings import RULES, finding_of
from reconciler.audit.reports import (
    WIDEST,
    FindingsReport,
    as_github,
    as_junit,
    as_sarif,
    as_text,
    excerpt,
    findings_json,
    lines_of,
)
from reconciler.model.world import Fault
from tests.report_formats import junit_faults, sarif_faults

SUBJECT = "PropagationPolicy.policy.karmada.io default/web"


def fault(path: str = "a.yaml", line: int = 1, column: int = 1, **more: str) -> Fault:
    """A fault; the dullest unless told otherwise."""
    known = {"field": "/spec", "rule": "schema-type", "message": "It is wrong.", **more}
    return Fault(path, line, column, **known)


def report(
    *faults: Fault, text: bytes | str = "", prefix: str = "", strict: bool = False
) -> FindingsReport:
    """A report on one file."""
    data = text.encode() if isinstance(text, str) else text
    return FindingsReport(
        findings=tuple(sorted(map(finding_of, faults))),
        texts={one.path: data for one in faults} or {"a.yaml": data},
        version="1.2.3",
        prefix=prefix,
        warnings_fail=strict,
    )


def test_text_shows_the_place() -> None:
    """File, line and column as editors read them; the line, and a caret under the place."""
    found = fault(line=2, column=3, expected="a list", subject=SUBJECT)

    assert (
        "a.yaml:2:3: error: It is wrong. (PropagationPolicy.policy.karmada.io default/web) "
        "[schema-type]\n"
        "  2 |   spec: [x]\n"
        "    |   ^\n"
        "  expected: a list\n"
    ) == as_text(report(found, text="kind: x\n  spec: [x]\n"))


def test_a_finding_without_a_line_has_no_excerpt() -> None:
    """Where nothing can be pointed at, nothing is."""
    assert "a.yaml: warning: Far. [score-missing]\n" == as_text(
        report(fault(line=0, column=0, rule="score-missing", message="Far."), text="kind: x\n")
    )


def columns(text: str) -> int:
    """How many columns a terminal takes for a text."""
    wide = sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)
    return wide - sum(unicodedata.category(c) in ("Mn", "Me") for c in text)


@pytest.mark.parametrize(
    ("line", "column", "shown"),
    [
        pytest.param("name: web", 7, "name: web", id="plain"),
        pytest.param("\tname:\tweb", 8, "    name:   web", id="tabs"),
        pytest.param("名前: web", 5, "名前: web", id="wide"),
        pytest.param("cafe\u0301: web", 8, "cafe\u0301: web", id="combining"),
        pytest.param("a\u202eb: web", 6, "a?b: web", id="right-to-left-override"),
        pytest.param("a\x1b[2J: web", 8, "a?[2J: web", id="escape"),
        pytest.param("a: 😀 web", 6, "a: 😀 web", id="emoji"),
    ],
)
def test_the_caret_is_under_the_place(line: str, column: int, shown: str) -> None:
    """Tabs, wide and combining characters count as a terminal counts; nothing moves the cursor."""
    found = excerpt(lines_of(f"first\n{line}\nlast"), 2, column)

    assert found is not None
    assert shown == found.line
    assert columns(shown.partition("web")[0]) == found.offset


def test_of_a_long_line_the_part_around_the_place_is_shown() -> None:
    """One line of JSON may be a megabyte."""
    found = excerpt(["x" * 500 + "!" + "y" * 500], 1, 501)

    assert found is not None
    assert "!" == found.line[found.offset]
    assert found.line.startswith("…x")
    assert found.line.endswith("y…")
    assert len(found.line) <= WIDEST + 2


@given(st.text(), st.integers(0, 9), st.integers(0, 2000))
def test_an_excerpt_never_fails(text: str, line: int, column: int) -> None:
    """Nor does it ever hold what cannot be printed."""
    found = excerpt(lines_of(text), line, column)

    assert found is None or (found.line.isprintable() and found.offset <= WIDEST + 1)


SECRET = "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\nstringData: {password: hunter2}\n"  # noqa: S105  # a manifest


@pytest.mark.parametrize(
    ("subject", "text", "hidden"),
    [
        pytest.param("Secret.core default/a", SECRET, True, id="secret"),
        pytest.param("", SECRET, True, id="unreadable-beside-a-secret"),
        pytest.param("SealedSecret.bitnami.com default/a", SECRET, False, id="sealed"),
        pytest.param("Deployment.apps default/a", SECRET, False, id="other-document"),
        pytest.param("", SECRET.replace("Secret", "ConfigMap"), False, id="unreadable"),
    ],
)
def test_no_line_of_a_secret_is_shown(subject: str, text: str, *, hidden: bool) -> None:
    """Nor one that may be of a Secret."""
    found = report(fault(line=4, column=1, subject=subject), text=text)

    assert hidden == ("hunter2" not in as_text(found))
    assert all("hunter2" not in show(found) for show in (as_junit, as_sarif, as_github))
    assert "hunter2" not in str(findings_json(found))


def test_a_path_begins_no_command_of_a_log() -> None:
    """A pull request may add a file of any name."""
    assert as_text(report(fault("::stop-commands::x.yaml"))).startswith(
        "./::stop-commands::x.yaml:"
    )


def test_github_commands() -> None:
    """Path from where the pipeline runs, everything escaped as GitHub asks."""
    found = fault("a,b:c%.yaml", 3, 5, message="50%\r\n::error::x", expected="one")

    assert (
        "::error file=fleet/a%2Cb%3Ac%25.yaml,line=3,col=5,title=schema-type::"
        "50%25%0D%0A::error::x%0Aexpected: one\n"
    ) == as_github(report(found, prefix="fleet/"))
    assert "::warning file=a.yaml,title=score-missing::It is wrong.\n" == as_github(
        report(fault(line=0, column=0, rule="score-missing"))
    )


ANYTHING = st.text(max_size=20)
FAULTS = st.lists(
    st.builds(
        Fault,
        path=st.sampled_from(["a.yaml", "b c.yaml", "ü/%2e.yaml", "/x/y.yaml", "<stdin>"]),
        line=st.integers(0, 9),
        column=st.integers(0, 9),
        field=ANYTHING,
        rule=st.sampled_from([*RULES, "not-listed"]),
        message=st.text(min_size=1, max_size=20),
        expected=ANYTHING,
        subject=ANYTHING,
    ),
    max_size=5,
)


@given(FAULTS)
def test_sarif_is_valid(faults: list[Fault]) -> None:
    """As the standard says; every rule of a result is described."""
    text = as_sarif(report(*faults))
    run = json.loads(text)["runs"][0]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]

    assert [] == sarif_faults(text)
    assert [one["ruleId"] for one in run["results"]] == [
        rules[one["ruleIndex"]] for one in run["results"]
    ]
    prints = [one["partialFingerprints"]["findingHash/v1"] for one in run["results"]]
    assert len(prints) == len(set(prints))


def test_a_sarif_fingerprint_stays_when_lines_move() -> None:
    """So that a service knows the finding again."""
    first, second = (
        json.loads(as_sarif(report(fault(line=line))))["runs"][0]["results"][0] for line in (1, 9)
    )

    assert first["partialFingerprints"] == second["partialFingerprints"]
    assert first["locations"] != second["locations"]


@given(faults=FAULTS, strict=st.booleans())
def test_junit_is_valid(*, faults: list[Fault], strict: bool) -> None:
    """As Jenkins' xUnit plugin reads it, and the counts are right."""
    text = as_junit(report(*faults, strict=strict))
    root = ET.fromstring(text)  # noqa: S314  # our own text

    assert [] == junit_faults(text)
    assert str(len(root.findall(".//testcase"))) == root.get("tests")
    assert str(len(root.findall(".//failure"))) == root.get("failures")
    for suite in root:
        assert str(len(suite.findall("testcase"))) == suite.get("tests")
        assert str(len(suite.findall(".//failure"))) == suite.get("failures")


def test_junit_fails_on_what_makes_the_command_fail() -> None:
    """A warning is a passing test with output, unless warnings fail."""
    warning = fault(rule="score-missing")

    assert 'failures="0"' in as_junit(report(warning))
    assert 'failures="1"' in as_junit(report(warning, strict=True))


def test_junit_names_a_file_without_findings() -> None:
    """So that a pipeline shows what was looked at."""
    assert '<testcase name="valid" classname="a.yaml"/>' in as_junit(report())


def test_json_tells_everything() -> None:
    """A flat object a finding."""
    assert {
        "findings": [
            {
                "path": "a.yaml",
                "line": 1,
                "column": 1,
                "field": "/spec",
                "rule": "schema-type",
                "message": "It is wrong.",
                "expected": "",
                "subject": "",
                "severity": "error",
                "help": "https://reconciler.dev/docs/rules/schema-type",
            }
        ]
    } == findings_json(report(fault()))
