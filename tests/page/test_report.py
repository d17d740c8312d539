"""The report: one file, the same views, nothing loaded from anywhere."""

import base64
import hashlib
import re
from pathlib import Path

import pytest

from reconciler.cli.main import run
from tests.builders import configmap, text
from tests.cli.history import FAILED, answer, told_fleet
from tests.shell.fleet import new_fleet, run_pass
from tests.shell.repositories import Checkout

Capsys = pytest.CaptureFixture[str]
VIEWS = ("fleet", "clusters", "matrix", "objects", "timeline", "coming", "rebalancers", "faults")


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """A fleet with three passes."""
    return told_fleet(tmp_path_factory.mktemp("report") / "fleet")


def report(fleet: Checkout, *more: str) -> str:
    """Write a report, and return it."""
    file = fleet.folder.with_name("report.html")
    assert 0 == run(["-C", str(fleet.folder), "report", "-o", str(file), *more])
    return file.read_text(encoding="utf-8")


def test_it_has_the_views_of_the_page(fleet: Checkout) -> None:
    """One below the other, each with its heading and its place in the menu."""
    found = report(fleet)

    assert list(VIEWS) == re.findall(r'<section id="([a-z]+)"', found)
    assert list(VIEWS) == re.findall(r'<li><a href="#([a-z]+)">', found)
    assert "default/frontend</b>: now member1(4), member2(2)" in found


def test_every_link_leads_to_a_part_of_the_file(fleet: Checkout) -> None:
    """To a view, or to one of the objects that it tells of."""
    found = report(fleet)
    ids = set(re.findall(r' id="([^"]+)"', found))

    assert set() == set(re.findall(r'href="#([^"]+)"', found)) - ids
    assert [] == re.findall(r'href="(?!#)|src=|url\(|https?://', found)


def test_only_its_own_style_and_script_may_run(fleet: Checkout) -> None:
    """Each by its digest; nothing may be loaded from anywhere."""
    found = report(fleet)
    [policy] = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]+)"', found)
    digests = [
        f"&#39;sha256-{base64.b64encode(hashlib.sha256(inline.encode()).digest()).decode()}&#39;"
        for name in ("style", "script")
        for inline in re.findall(rf"<{name}>(.*?)</{name}>", found, re.DOTALL)
    ]
    style, script = digests

    assert policy == f"default-src &#39;none&#39;; style-src {style}; script-src {script}"


def test_a_revision_is_told_as_it_was(fleet: Checkout) -> None:
    """Then nothing had failed, and nothing was coming."""
    now, then = report(fleet), report(fleet, "--rev", "HEAD~2")

    assert ("1 not ready" in now, "1 not ready" in then) == (True, False)
    assert "No scheduled changes" in then


def test_a_plan_comes_first(tmp_path: Path) -> None:
    """What merging a branch would move, drawn and listed."""
    fleet = new_fleet(tmp_path / "fleet")
    run_pass(fleet.folder, 0)
    fleet.git("checkout", "--quiet", "-b", "topic")
    fleet.commit(FAILED, "Fail member1")
    fleet.git("checkout", "--quiet", "main")

    found = report(fleet, "--plan", "topic")

    assert "plan" == re.findall(r'<section id="([a-z]+)"', found)[0]
    assert "Plan: 3 bindings change; 6 replicas move" in found
    assert '<svg class="flows"' in found


def test_svg_draws_the_last_pass(fleet: Checkout, capsys: Capsys) -> None:
    """Without a plan it is the last pass that moved."""
    code, out, _ = answer(fleet, capsys, "report", "-o", "svg")

    assert (0, True) == (code, out.startswith("<svg xmlns="))
    assert "member1 to backup1: 5" in out


def test_another_kind_of_file_is_refused(fleet: Checkout, capsys: Capsys) -> None:
    """With what would do."""
    code, _, err = answer(fleet, capsys, "report", "-o", "fleet.pdf")

    assert 2 == code
    assert "must be a file such as fleet.html, - or svg" in err


def test_a_file_that_cannot_be_written_is_one_sentence(fleet: Checkout, capsys: Capsys) -> None:
    """The reason is the system's."""
    code, _, err = answer(fleet, capsys, "report", "-o", "/nonexistent/fleet.html")

    assert 1 == code
    assert '"/nonexistent/fleet.html" cannot be written: No such file or directory' in err


def test_names_stay_text(tmp_path: Path) -> None:
    """Whatever people call files, labels and commits."""
    fleet = new_fleet(tmp_path / "fleet")
    run_pass(fleet.folder, 0)
    odd = {**configmap("odd"), "metadata": {"name": "odd", "labels": {"a": "<script>"}}}
    fleet.commit(
        {"x<img src=a>.yaml": "apiVersion: v1\nkind: [<script>", "workloads/odd.yaml": text(odd)},
        "Add </script><script>alert(1)</script>",
    )
    run_pass(fleet.folder, 60)

    found = report(fleet)

    assert "x&lt;img src=a&gt;.yaml" in found
    assert 1 == found.count("<script>")
    assert [] == re.findall(r"<img|alert\(1\)</script>", found)
