"""Faults on a terminal and in a commit message: the first as they are, the second harmless."""

from pathlib import Path

import pytest

from reconciler.cli.main import run
from tests.shell.fleet import EXAMPLE, new_fleet, run_pass

PATH = "clusters/member[9] [skip ci].yaml"
WRONG = (
    EXAMPLE["clusters/member1.yaml"]
    .replace("name: member1", "name: member9")
    .replace("kind: Cluster\n", 'kind: Cluster\n"x[0]\\e[2J\\n***\\u202E": 1\n')
)


def test_a_fault_is_shown_as_it_is_and_committed_harmless(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Who looks for the file must find its name; what a CI system would obey is in no commit."""
    fleet = new_fleet(tmp_path / "fleet")
    run_pass(fleet.folder, 0)
    fleet.commit({PATH: WRONG}, "Add a cluster")

    assert 1 == run(["-C", str(fleet.folder), "reconcile", "--now", "2026-11-20T12:10:00Z"])
    shown = capsys.readouterr().err
    written = fleet.git("log", "-1", "--format=%B")

    assert shown.startswith(f'{PATH}:4:1: "x[0]\\x1b[2J\\n***\\u202e" is not a field')
    assert "\x1b" not in shown
    assert (
        'clusters/member(9) (skip ci).yaml:4: "x(0)\\x1b(2J\\n* * *\\u202e" is not a field'
        in written
    )
