"""The law of a plan: it foresees what the daemon does after the merge."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from reconciler.audit.previews.placement_moves import PlacementMove, moves_of
from reconciler.audit.previews.preview import Kind, Preview, preview
from reconciler.core.reconcile import reconcile
from reconciler.model.decision import Decision
from reconciler.model.identity import ObjectKey, RepositoryLayout
from reconciler.shell.git.repository import Repository
from reconciler.shell.git.scratch import MergeConflict
from reconciler.shell.passes.branches import LocalBranch
from reconciler.shell.passes.one_pass import Passes
from reconciler.shell.reading.load import Loader
from reconciler.shell.reading.merge_preview import open_sides
from reconciler.shell.reading.sources import ServedBranches
from reconciler.shell.reading.trees import GitTrees
from reconciler.shell.resources import load_schemas
from tests.bounded import examples
from tests.builders import Body
from tests.core.test_laws import LAW
from tests.shell.fleet import DAEMON
from tests.shell.repositories import Checkout, FixedClock, new_checkout
from tests.stories import Story, story
from tests.strategies import edit, moments_between, objects, stories

pytestmark = pytest.mark.cpu_seconds(60)  # many examples of whole passes

Foreseen = Mapping[ObjectKey, tuple[tuple[PlacementMove, ...], str]]
REAL = settings(LAW, max_examples=examples(25))


def foreseen(found: Preview) -> Foreseen:
    """What a plan says that a pass does: what happens anyway, but for what the merge changes."""
    entries = {entry.key: entry for entry in (*found.anyway, *found.entries)}
    return {
        key: (entry.moves, entry.problem)
        for key, entry in entries.items()
        if entry.kind != Kind.KEPT
    }


def done(decisions: tuple[Decision, ...]) -> Foreseen:
    """What a pass did; a rebalance that moves nothing is none of a plan's business."""
    return {
        d.key: (moves_of(d.before, d.after), d.problem)
        for d in decisions
        if d.problem or not d.stays
    }


def until(found: Preview) -> datetime:
    """The moment up to which a plan holds."""
    return found.recheck_at or found.now + timedelta(days=40)


@LAW
@given(stories(), objects(), st.integers(0, 15))
def test_a_plan_foresees_the_pass_at_each_moment_it_covers(
    told: Story, bodies: list[Body], share: int
) -> None:
    """From its own moment on, until time alone could change the answer."""
    base = told.world()
    edit(told, bodies, share)
    merged = told.world()

    found = preview(base, merged, told.now)

    for moment in moments_between(told.now, until(found)):
        assert foreseen(found) == done(reconcile(merged, moment).decisions)


@LAW
@given(stories())
def test_no_change_is_foreseen_without_a_change(told: Story) -> None:
    """A branch that changes nothing has an empty plan, whatever happens anyway."""
    world = told.world()

    found = preview(world, told.world(), told.now)

    assert (False, ()) == (found.changes, found.warnings)
    assert foreseen(found) == done(reconcile(world, told.now).decisions)


def commit_edit(checkout: Checkout, before: Mapping[str, str], told: Story) -> None:
    """Commit the difference between two states of the inputs."""
    for path in before.keys() - told.files.keys():
        checkout.git("rm", "--quiet", "--ignore-unmatch", path)
    changed = {path: text for path, text in told.files.items() if before.get(path) != text}
    checkout.commit(changed, "Edit")


def passes(checkout: Checkout, now: datetime) -> Passes:
    """What a daemon that was just started runs."""
    repository = Repository.open(checkout.folder)
    return Passes(
        branches=ServedBranches(LocalBranch(repository, "main"), RepositoryLayout()),
        loader=Loader(GitTrees(repository), load_schemas(), layout=RepositoryLayout()),
        clock=FixedClock(now),
        author=DAEMON,
    )


@REAL
@given(objects(), objects(), objects(), st.integers(0, 15), st.integers(0, 3))
def test_a_plan_foresees_what_is_committed_after_the_merge(
    first: list[Body], theirs: list[Body], ours: list[Body], topic: int, main: int
) -> None:
    """With real branches that have diverged, merged by git itself."""
    told = story(*first)
    with TemporaryDirectory() as name:
        checkout = new_checkout(Path(name) / "fleet", {**told.files, "README.md": "text\n"})
        start = dict(told.files)
        checkout.git("checkout", "--quiet", "-b", "topic")
        edit(told, theirs, topic)
        commit_edit(checkout, start, told)
        checkout.git("checkout", "--quiet", "main")
        passes(checkout, told.now).run()
        told.files = dict(start)
        edit(told, ours, main)
        commit_edit(checkout, start, told)
        now = told.now + timedelta(seconds=100)
        try:
            with open_sides(
                Repository.open(checkout.folder),
                base="main",
                head="topic",
                layout=RepositoryLayout(),
            ) as sides:
                found = preview(sides.base, sides.merged, now)
        except MergeConflict:
            event("conflict")
            assert not merges(checkout)
            return
        assert merges(checkout)
        later = passes(checkout, now)
        for moment in moments_between(now, until(found)):
            assert foreseen(found) == done(later.decide(at=moment).outcome.decisions)
        assert foreseen(found) == done(later.run().outcome.decisions)


def merges(checkout: Checkout) -> bool:
    """Merge the topic as a person does; say whether git could."""
    try:
        checkout.git("merge", "--quiet", "--no-edit", "topic")
    except AssertionError:
        return False
    return True
