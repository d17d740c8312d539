"""Passes computed again, one after the other, whatever their order in history."""

from datetime import timedelta
from itertools import product
from pathlib import Path

from reconciler.audit.replay import Replay, Run
from reconciler.core.reconcile import reconcile
from reconciler.shell.revisions import GitRevisions
from tests.cli.history import told_fleet
from tests.shell.repositories import NOW


def test_what_is_remembered_changes_no_outcome(tmp_path: Path) -> None:
    """Backwards and forwards in time, with inputs and outputs of all commits: as if alone."""
    fleet = told_fleet(tmp_path / "fleet")
    revisions = GitRevisions.open(fleet.folder, output_root="status")
    commits = [commit.revision for commit in revisions.commits(fleet.head())]
    replay = Replay(revisions)
    asked = [*product(commits[:4], commits[:2], (300, 30, 3600)), (commits[-1], commits[0], 130)]

    for inputs, outputs, seconds in asked:
        now = NOW + timedelta(seconds=seconds)
        run = replay.run(inputs, outputs, now)

        assert isinstance(run, Run)
        assert reconcile(run.world, now) == run.outcome
