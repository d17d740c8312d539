"""SARIF and JUnit reports are what their formats ask for, and their readers."""

import json
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

from reconciler.audit.findings import RULES, finding_of
from reconciler.audit.reports import FindingsReport, as_junit, as_sarif
from reconciler.cli.validate import check
from reconciler.model.identity import RepositoryLayout
from reconciler.model.world import Fault
from reconciler.shell.reading.checked import FolderSource
from tests.report_formats import junit_faults, sarif_faults
from tests.rule_pages import PAGES, read_page
from tests.shell.fleet import EXAMPLE

NO_TEXT = "\x00\x1b[2J\x85\ufffe\uffff\udcff\r\n\t"
"""What is no text: controls, no characters at all, and a byte that is no UTF-8."""
HOSTILE = "]]> <![CDATA[ &lt; \" ' </failure> \U0001f600 名前" + NO_TEXT


def checked(folder: Path, files: Mapping[str, bytes]) -> FindingsReport:
    """What `validate` reports on files that stand in a folder."""
    for path, content in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
    found = check(FolderSource(folder, RepositoryLayout()), (), references=None, forced=True)
    texts = {file.path: file.data for file in found.inspections}
    return FindingsReport(findings=found.findings, texts=texts, version="1.2.3", prefix="fleet/")


def told(*faults: Fault) -> FindingsReport:
    """A report on faults, each in its own words."""
    findings = tuple(sorted(map(finding_of, faults)))
    return FindingsReport(findings=findings, texts={"a.yaml": b""}, version="1.2.3")


def reports(folder: Path) -> Iterable[tuple[str, FindingsReport]]:
    """Yield reports as people get them, and as an attacker would like them to."""
    yield "nothing-at-all", FindingsReport(findings=(), texts={}, version="1.2.3")
    example = {path: text.encode() for path, text in EXAMPLE.items()}
    yield "no-finding", checked(folder / "clean", example)
    for page in sorted(PAGES.glob("*.md")):
        if files := read_page(page).wrong:
            yield page.stem, checked(folder / page.stem, files)
    yield "every-rule", told(*(Fault("a.yaml", 1, 1, "", rule, "Wrong.") for rule in RULES))
    yield "no-line", told(Fault("a.yaml", 0, 0, "", "score-missing", "Far away."))
    yield "outside", told(Fault("/srv/x y/a.yaml", 3, 1, "", "yaml-tag", "Far away."))
    yield "standard-input", told(Fault("<stdin>", 3, 1, "", "yaml-tag", "Not saved yet."))
    for path in ("a:b.yaml", "//a.yaml", "http://a.yaml", "?a#b.yaml", "%zz.yaml", HOSTILE):
        yield f"path {path!r}", told(Fault(path, 1, 1, "", "yaml-tag", "Of an odd name."))
    yield (
        "hostile",
        told(Fault("a.yaml", 1, 1, HOSTILE, "yaml-tag", HOSTILE, HOSTILE, subject=HOSTILE)),
    )
    yield "unlisted-rule", told(Fault("a.yaml", 1, 1, "", "not-listed", "New."))


@pytest.fixture(scope="module")
def some(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, FindingsReport]:
    """Every report by its name."""
    return dict(reports(tmp_path_factory.mktemp("reports")))


def test_sarif_is_as_its_standard_says(some: Mapping[str, FindingsReport]) -> None:
    """Formats of addresses included."""
    assert {} == {
        name: found for name, one in some.items() if (found := sarif_faults(as_sarif(one)))
    }


def test_junit_is_as_its_readers_want_it(some: Mapping[str, FindingsReport]) -> None:
    """Whether warnings fail or not."""
    refused: dict[str, list[str]] = {}
    for name, one in some.items():
        strict = FindingsReport(
            findings=one.findings, texts=one.texts, version="1.2.3", warnings_fail=True
        )
        refused[name] = junit_faults(as_junit(one)) + junit_faults(as_junit(strict))

    assert {} == {name: found for name, found in refused.items() if found}


def test_the_formats_refuse_what_is_wrong() -> None:
    """So that agreeing with them says something."""
    assert sarif_faults('{"version": "2.1.0", "runs": [{"tool": {"driver": {}}}]}')
    assert sarif_faults('{"version": "2.1.0", "runs": [], "$schema": "not a uri"}')
    assert junit_faults('<testsuites><testsuite name="a"/></testsuites>')
    assert junit_faults('<testsuites disabled="0"></testsuites>')
    assert junit_faults("<testsuites>text</testsuites>")
    assert junit_faults("<testcase/>")


def results(report: FindingsReport) -> Iterable[tuple[dict[str, Any], dict[str, Any]]]:
    """Yield each result of a SARIF log with the rule that it names."""
    (run,) = json.loads(as_sarif(report))["runs"]
    for result in run["results"]:
        yield result, run["tool"]["driver"]["rules"][result["ruleIndex"]]


def test_code_scanning_gets_what_it_shows(some: Mapping[str, FindingsReport]) -> None:
    """GitHub asks more of a rule than the standard: both descriptions, and a help text."""
    for report in some.values():
        for result, rule in results(report):
            assert result["ruleId"] == rule["id"]
            assert rule["shortDescription"]["text"]
            assert rule["fullDescription"]["text"]
            assert rule["helpUri"] in rule["help"]["text"]
            assert rule["helpUri"] in rule["help"]["markdown"]
            assert result["message"]["text"]
            assert result["partialFingerprints"]


def test_addresses_are_relative_to_the_repository(some: Mapping[str, FindingsReport]) -> None:
    """But for a file outside of it; decoded, each is the path again."""
    for report in some.values():
        uris = [
            result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
            for result, _ in results(report)
        ]
        paths = [report.path(finding.fault.path) for finding in report.findings]

        assert [urlsplit(uri).scheme for uri in uris] == [
            "file" if path.startswith("/") else "" for path in paths
        ]
        assert ["" for _ in uris] == [urlsplit(uri).netloc for uri in uris]
        assert [path.encode("utf-8", "surrogateescape") for path in paths] == [
            unquote(urlsplit(uri).path, errors="surrogateescape").encode("utf-8", "surrogateescape")
            for uri in uris
        ]


def test_every_report_can_be_read_as_unicode(some: Mapping[str, FindingsReport]) -> None:
    """A file name may be no UTF-8; no lone surrogate may reach a reader that is strict."""
    for report in some.values():
        as_junit(report).encode()
        for _, value in walk(json.loads(as_sarif(report))):
            value.encode()


def walk(value: object, where: str = "") -> Iterable[tuple[str, str]]:
    """Yield every text of a JSON document with its place."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from walk(item, f"{where}/{key}")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from walk(item, f"{where}/{index}")
    elif isinstance(value, str):
        yield where, value


def test_junit_tells_the_words_of_every_finding(some: Mapping[str, FindingsReport]) -> None:
    """Whatever stands in them, the reader gets one test a finding, each with its text."""
    for report in some.values():
        cases = ET.fromstring(as_junit(report)).findall(".//testcase")  # noqa: S314  # our own text
        told_of = [case for case in cases if case.get("name") != "valid"]

        assert len(report.findings) == len(told_of)
        assert all("".join(case.itertext()).strip() for case in told_of)
