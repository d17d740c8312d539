"""A dialect is one package, its schemas and one line: a toy is registered, every verb knows it.

It is registered in a copy of the product, as its author would do it there; all else is as it is.
"""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from reconciler.manifests.admission import SUSPEND
from tests.builders import Body, rebalancer, text
from tests.harbor import FERRY, GROUP, LATER, STORM, Harbor, berth, files, register, site
from tests.shell.fleet import ROOT, process_environment, reconciler
from tests.shell.repositories import Checkout, new_checkout


@pytest.fixture(scope="module")
def harbor(tmp_path_factory: pytest.TempPathFactory) -> Harbor:
    """Two sites of three in the north; one is lost in a storm; it is back; a rebalance."""
    folder = tmp_path_factory.mktemp("harbor")
    register(folder / "build")
    sites = (site("a"), site("b"), site("c"), site("d", sea="south"))
    checkout = new_checkout(folder / "fleet", files(*sites, berth()))
    found = Harbor((folder / "build", ROOT), checkout)
    found.run_pass(0)
    checkout.commit(files(site("a", STORM)), "Report a storm")
    found.run_pass(1)
    checkout.commit(files(site("a")), "Report that it is over")
    found.run_pass(2)
    checkout.commit(files(rebalancer("back", FERRY)), "Return")
    found.run_pass(3)
    propose(checkout, "topic", berth("barge", sites=4))
    propose(checkout, "held", site("a", STORM), berth(suspend="true"))
    return found


def propose(checkout: Checkout, branch: str, *bodies: Body) -> None:
    """Commit objects to a branch of their own."""
    checkout.git("checkout", "--quiet", "-b", branch)
    checkout.commit(files(*bodies))
    checkout.git("checkout", "--quiet", "main")


def test_reconcile_writes_what_it_decides(harbor: Harbor) -> None:
    """One commit a pass, an output in the folder of its kind, nothing once it is settled."""
    subjects = harbor.checkout.git("log", "--format=%s", "--author=reconciler@").splitlines()
    written = harbor.checkout.git("ls-files", f"status/berths.{GROUP}")

    assert [
        "Rebalance default/ferry on a, b",
        "Place default/ferry on b, c",
        "Place default/ferry on a, b",
    ] == subjects
    assert f"status/berths.{GROUP}/default/ferry.yaml" == written
    assert "nothing to do\n" == harbor.ask("reconcile", "--dry-run", *LATER)


def test_why_has_the_verdicts_of_the_filters(harbor: Harbor) -> None:
    """Who is chosen, who would be next, who is turned away, and what would have to change."""
    told = harbor.ask("why", "berth/ferry")

    assert "default/ferry is on a, b\n  asked    2 sites\n" in told
    assert re.search(r"^c +passes #3 ", told, re.MULTILINE)
    assert "Why not d:\n  Labels: it has other labels\n    to qualify: have" in told


def test_plan_tells_what_a_merge_would_place(harbor: Harbor) -> None:
    """A new berth gets fewer sites than it asks for."""
    told = harbor.ask("plan", "--head", "topic", *LATER)

    assert "+ default/barge (new): created\n" in told
    assert "    3 of 4 sites\n      d: it has other labels\n" in told
    assert "warning: default/barge: 3 of 4 sites\n" in told


def test_simulate_lets_a_site_fail(harbor: Harbor) -> None:
    """What it held goes elsewhere."""
    told = harbor.ask("simulate", "--fail", "a", *LATER)

    assert re.search(r"^ *a +yes +- +gone\n.*\n *c +- +yes +new$", told, re.MULTILINE)


def test_simulate_cordons_a_site(harbor: Harbor) -> None:
    """What it holds stays."""
    assert "Simulation: Nothing moves\n" in harbor.ask("simulate", "--cordon", "a", *LATER)


def test_validate_accepts_what_the_schemas_of_the_toy_allow(harbor: Harbor) -> None:
    """Four sites, a berth, a rebalancer that names a berth which is there."""
    told = reconciler(harbor.checkout.folder, "validate", sources=harbor.sources)

    assert (0, "6 manifests valid, 0 faults\n") == (told.code, told.stderr)


def test_validate_refuses_what_they_do_not_allow(harbor: Harbor, tmp_path: Path) -> None:
    """File, line, field and what would be right."""
    (tmp_path / "ferry.yaml").write_text(text(berth(sites="many")))
    told = reconciler(tmp_path, "validate", "ferry.yaml", sources=harbor.sources)

    assert 1 == told.code
    assert told.stdout.startswith(
        'ferry.yaml:1:128: error: spec.sites must be a whole number, "many" is text.'
    )


def test_get_has_the_columns_of_the_toy(harbor: Harbor) -> None:
    """Of its outputs, merged with what people wrote, and that nothing is coming."""
    row = ["ferry", "a, b", "<none>", "<none>"]
    assert [row] == harbor.rows("get", "berths", "-o", "wide")


def test_tree_ends_at_the_sites(harbor: Harbor) -> None:
    """A berth has no parts, so its sites hang on it."""
    assert [["├── cluster/a"], ["└── cluster/b"]] == harbor.rows("tree", "berth/ferry")


def test_top_counts_the_berths_of_each_site(harbor: Harbor) -> None:
    """They have no replicas, and report nothing."""
    rows = [row[:4] for row in harbor.rows("top", "clusters")]

    assert [
        ["a", "Site", "Declared", "1"],
        ["b", "Site", "Declared", "1"],
        ["c", "Site", "Declared", "0"],
        ["d", "Site", "Declared", "0"],
    ] == rows


def test_events_are_those_of_the_toy(harbor: Harbor) -> None:
    """One each time that a berth moves."""
    rows = [row[1:5] for row in harbor.rows("events", "berth/ferry")]

    assert [
        ["Normal", "Moved", "default/ferry", "from <none> to a, b"],
        ["Normal", "Moved", "default/ferry", "from a, b to b, c"],
        ["Normal", "Moved", "default/ferry", "from b, c to a, b"],
    ] == rows


def test_history_has_the_cause_of_each_move(harbor: Harbor) -> None:
    """The newest first."""
    rows = [row[2:5] for row in harbor.rows("history", "berth/ferry")]

    assert [
        ["b, c", "a, b", "rebalanced (WorkloadRebalancer back)"],
        ["a, b", "b, c", "clusters changed"],
        ["nowhere", "a, b", "created"],
    ] == rows


def test_verify_proves_every_pass(harbor: Harbor) -> None:
    """Computed again, they are equal byte for byte."""
    assert "3 of 3 decision commits verified, 4 human commits\n" == harbor.ask("verify")


def test_a_rebalancer_reaches_a_berth(harbor: Harbor) -> None:
    """The pass did what it demanded."""
    assert [["back", "1/1", "0"]] == [row[:3] for row in harbor.rows("get", "wr")]


def test_a_berth_can_be_suspended(harbor: Harbor) -> None:
    """By the annotation of all APIs, since its kind says so."""
    told = harbor.ask("suspend", "berth/ferry", "--dry-run")

    assert f'"annotations": {{"{SUSPEND}": "true"}}' in told


def test_a_suspended_berth_stays(harbor: Harbor) -> None:
    """Even on a site that is lost."""
    assert "Plan: Nothing moves\n" in harbor.ask("plan", "--head", "held", *LATER)


def test_the_toy_keeps_the_contract(harbor: Harbor) -> None:
    """What is asked of the facts of every dialect holds for it."""
    arguments = ["-q", "-k", "toy", "-p", "no:cacheprovider", "-o", "pythonpath="]
    found = subprocess.run(
        [sys.executable, "-P", "-m", "pytest", *arguments, "tests/dialects/test_contract.py"],
        cwd=ROOT,
        env=process_environment(harbor.sources),
        capture_output=True,
        text=True,
        check=False,
    )

    assert found.stdout.splitlines()[-1].startswith("3 passed, "), found.stdout
