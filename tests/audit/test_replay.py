"""Passes computed again, one after the other, whatever their order in history."""

from datetime import timedelta
from itertools import product
from pathlib import Path

from reconciler.audit.history.revisions import pass_of
from reconciler.audit.replay import Replay, Run
from reconciler.core.reconcile import Memo, reconcile
from reconciler.library.subject import subject_at
from reconciler.model.records import replace
from tests.cli.history import told_fleet
from tests.core.test_law_memo import entries
from tests.shell.fleet import open_revisions
from tests.shell.repositories import NOW

WORDS = ("deployment/shop", "cm/settings")


def test_what_is_remembered_changes_no_outcome(tmp_path: Path) -> None:
    """Backwards and forwards in time, with inputs and outputs of all commits: as if alone."""
    fleet = told_fleet(tmp_path / "fleet")
    revisions = open_revisions(fleet.folder)
    commits = [commit.revision for commit in revisions.commits(fleet.head())]
    replay = Replay(revisions)
    asked = [*product(commits[:4], commits[:2], (300, 30, 3600)), (commits[-1], commits[0], 130)]

    for inputs, outputs, seconds in asked:
        now = NOW + timedelta(seconds=seconds)
        run = replay.run(inputs, outputs, now)

        assert isinstance(run, Run)
        assert reconcile(run.world, now) == run.outcome


def test_a_pass_is_computed_once_where_passes_are_kept(tmp_path: Path) -> None:
    """The next object that it moved is told from the same outcome."""
    fleet = told_fleet(tmp_path / "fleet")
    revisions = open_revisions(fleet.folder)
    newest = next(one for one in revisions.commits(fleet.head()) if pass_of(one) is not None)
    replay = Replay(revisions, most_kept=1)

    assert replay.run_again(newest) is replay.run_again(newest)


def test_the_pass_that_was_computed_longest_ago_is_kept_no_more(tmp_path: Path) -> None:
    """Memory is bounded, however long the history is."""
    fleet = told_fleet(tmp_path / "fleet")
    revisions = open_revisions(fleet.folder)
    passes = [one for one in revisions.commits(fleet.head()) if pass_of(one) is not None]
    replay = Replay(revisions, most_kept=1)
    first = replay.run_again(passes[0])
    replay.run_again(passes[1])

    assert first is not replay.run_again(passes[0])


def test_a_memory_of_its_own_for_the_past_changes_no_answer(tmp_path: Path) -> None:
    """Why an object is where it is reads the same, whatever is remembered where."""
    fleet = told_fleet(tmp_path / "fleet")
    revisions = open_revisions(fleet.folder)
    apart = Replay(revisions, past=Memo(), most_kept=8)
    for word in ("deployment/shop", "cm/settings", "deployment/shop"):
        alone = subject_at(revisions, fleet.head(), word, "default")

        assert alone.why(NOW) == replace(alone, replay=apart).why(NOW)


def test_objects_that_are_asked_about_together_are_told_the_same(tmp_path: Path) -> None:
    """And the pass that decided is computed once for all of them."""
    fleet = told_fleet(tmp_path / "fleet")
    revisions = open_revisions(fleet.folder)
    subjects = [subject_at(revisions, fleet.head(), word, "default") for word in WORDS]
    keys = frozenset(subject.key for subject in subjects)
    together = Replay(revisions, past=Memo(), most_kept=8, together=keys)

    for subject in subjects:
        assert subject.why(NOW) == replace(subject, replay=together).why(NOW)


def test_a_pass_of_one_object_reads_no_output_of_others(tmp_path: Path) -> None:
    """What it decided and why is what the pass over all outputs says, for every pass."""
    fleet = told_fleet(tmp_path / "fleet")
    revisions = open_revisions(fleet.folder)
    key = subject_at(revisions, fleet.head(), WORDS[0], "default").key
    passes = [one for one in revisions.commits(fleet.head()) if pass_of(one) is not None]
    for commit in passes:
        alone, whole = (Replay(revisions).run_again(commit, of) for of in (key, None))
        assert isinstance(alone, Run)
        assert isinstance(whole, Run)

        assert alone.decision_on(key) == whole.decision_on(key)
        assert {key} >= {one.key for one in alone.world.outputs_of_kind(key[:2])}
    assert {key} < {one.key for one in revisions.loader.load(fleet.head()).outputs_of_kind(key[:2])}


def test_what_is_asked_of_one_object_computes_no_whole_pass(tmp_path: Path) -> None:
    """Why it is there, since when, and what comes: a memory of whole passes stays empty."""
    fleet = told_fleet(tmp_path / "fleet")
    revisions = open_revisions(fleet.folder)
    replay = Replay(revisions)
    subject = replace(subject_at(revisions, fleet.head(), WORDS[0], "default"), replay=replay)

    assert subject.why(NOW + timedelta(hours=9)).then is not None
    assert len(list(subject.events())) > 1
    assert 0 == entries(replay.memo)
    assert 0 < entries(replay.alone.memo)
