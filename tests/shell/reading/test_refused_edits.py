"""Edits that a hub refuses, in real repositories: what was in force is found in their history."""

from datetime import timedelta
from pathlib import Path

import pytest

from reconciler.cli.main import run
from tests.builders import NOW
from tests.shell.fleet import (
    EXAMPLE,
    Clock,
    decisions,
    load_world,
    new_fleet,
    new_passes,
    run_pass,
)

POLICY, SCALED = "policies/shop.yaml", "workloads/frontend.yaml"
EDITED = EXAMPLE[POLICY].replace("spec:\n", "spec:\n  schedulerName: other\n", 1)
Capture = pytest.CaptureFixture[str]


def test_a_refused_edit_changes_no_decision(tmp_path: Path, capsys: Capture) -> None:
    """By processes that remember nothing; taken back, it leaves no report."""
    fleet = new_fleet(tmp_path / "fleet")
    run_pass(fleet.folder, 0)
    run_pass(fleet.folder, 5)
    before = decisions(load_world(fleet.folder))
    fleet.commit({POLICY: EDITED})
    code = run(["-C", str(fleet.folder), "reconcile", "--now", "2026-11-20T12:00:10Z"])

    assert (1, before) == (code, decisions(load_world(fleet.folder)))
    assert f"{POLICY}:" in capsys.readouterr().err
    assert run_pass(fleet.folder, 12).commit is None

    fleet.commit({POLICY: EXAMPLE[POLICY]})
    code = run(["-C", str(fleet.folder), "reconcile", "--now", "2026-11-20T12:00:14Z"])

    assert (0, before) == (code, decisions(load_world(fleet.folder)))
    assert not (fleet.folder / "status/faults.yaml").exists()


def test_a_refused_edit_is_followed_as_it_is_read_anew(tmp_path: Path) -> None:
    """A daemon that goes on from commit to commit has the same world as one that was restarted."""
    fleet = new_fleet(tmp_path / "fleet")
    clock = Clock(NOW)
    passes = new_passes(fleet.folder, clock)
    passes.run()
    for files, expected in (
        ({POLICY: EDITED}, ["policy-immutable"]),
        ({SCALED: EXAMPLE[SCALED].replace("replicas: 6", "replicas: 9")}, ["policy-immutable"]),
        ({POLICY: f"{EDITED}# the same\n"}, ["policy-immutable"]),
        ({POLICY: EXAMPLE[POLICY]}, []),
    ):
        fleet.commit(files)
        clock.moment += timedelta(seconds=60)
        outcome = passes.run().outcome
        fresh = load_world(fleet.folder)

        assert (expected, expected) == (
            [fault.rule for fault in outcome.faults],
            [fault.rule for fault in fresh.faults],
        )


def test_a_refused_edit_is_told_before_the_merge(tmp_path: Path, capsys: Capture) -> None:
    """A plan says that nothing moves, and why."""
    fleet = new_fleet(tmp_path / "fleet")
    run_pass(fleet.folder, 0)
    fleet.git("switch", "--quiet", "--create", "given-away")
    fleet.commit({POLICY: EDITED})
    fleet.git("switch", "--quiet", "main")
    run(["-C", str(fleet.folder), "plan", "--head", "given-away"])
    told = capsys.readouterr().out

    assert "Nothing moves" in told
    assert "`schedulerName` must stay" in told
