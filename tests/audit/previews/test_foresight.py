"""What plans and foresight say of passes to come is what these passes do."""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from reconciler.audit.previews.foresight import Coming, foresee
from reconciler.audit.previews.placement_moves import PlacementMove, moves_of
from reconciler.audit.previews.preview import Kind, Preview, look_ahead, preview
from reconciler.audit.previews.wording import coming_text
from reconciler.core.asked import MOMENTS
from reconciler.core.changes import Outcome
from reconciler.core.reconcile import Memo, reconcile
from reconciler.model.decision import Decision, Placed
from reconciler.model.identity import ObjectKey, RepositoryLayout
from reconciler.model.moments import format_moment
from reconciler.model.world import World
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
from tests.builders import (
    DYNAMIC,
    NOW,
    Body,
    after,
    cluster,
    cluster_status,
    configuration,
    deployment,
    groups,
    policy,
    rebalancer,
    schedule_trigger,
    taint,
    target,
)
from tests.core.test_laws import LAW
from tests.dialects.karmada.test_eviction import placed, report, says
from tests.dialects.ocm import worlds as ocm
from tests.shell.fleet import DAEMON
from tests.shell.repositories import Checkout, FixedClock, new_checkout
from tests.stories import Story, linked, story
from tests.strategies import edit, moments_between, objects, stories

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


NEVER = configuration(feedback={"assumeAfterSeconds": None})
WELL = cluster_status()


def at(seconds: int) -> str:
    """A moment after NOW, as people read it."""
    return format_moment(after(seconds))


def on_two(replicas: int, *more: Body) -> Story:
    """Web divided by room on a and b, both well."""
    found = policy(placement={"replicaScheduling": DYNAMIC})
    told = story(cluster("a", status=WELL), cluster("b", status=WELL), *more)
    told.put(deployment(replicas=replicas), found, NEVER)
    told.run(0)
    return told


def not_ready(ready: str = "False") -> Story:
    """Two of web's four replicas are on a cluster that is not well since 10 seconds."""
    told = on_two(4).put(cluster("a", status=cluster_status(ready, since=after(10))))
    told.run(20)
    return told


def tainted() -> Story:
    """A cluster has a taint that web tolerates for a minute."""
    tolerated = {"key": "spot", "operator": "Exists", "tolerationSeconds": 60}
    placement = {"replicaScheduling": DYNAMIC, "clusterTolerations": [tolerated]}
    told = on_two(4).put(policy(placement=placement))
    told.run(5)
    told.put(cluster("a", status=WELL, taints=[taint("spot", "NoExecute")]))
    told.run(20)
    return told


def unhealthy() -> Story:
    """Web is unhealthy on a since 100 seconds, which its policy bears for a minute."""
    told = says(placed(), report(0))
    told.run(100)
    return told


def evicted() -> Story:
    """Web left a, which keeps its copy while b does not say that it is healthy."""
    told = not_ready()
    told.run(310)
    return told


def scored(*, seconds: int = 20) -> Story:
    """A placement follows scores, and these changed since its decision."""
    chooses = ocm.placement(numberOfClusters=1, prioritizerPolicy=ocm.BY_SCORE)
    told = story(ocm.cluster("a"), ocm.cluster("b"), ocm.cluster_set(), ocm.binding(), chooses)
    told.put(ocm.score("a", 50), ocm.score("b", 10))
    told.run(0)
    told.put(ocm.score("b", 90))
    told.run(seconds)
    return told


def tolerated() -> Story:
    """A placement tolerates a taint of its cluster for a minute."""
    bears = {"key": "spot", "operator": "Exists", "tolerationSeconds": 60}
    chooses = ocm.placement(numberOfClusters=1, tolerations=[bears])
    told = story(ocm.cluster("a"), ocm.cluster("b"), ocm.cluster_set(), ocm.binding(), chooses)
    told.run(0)
    told.put(ocm.cluster("a", {"key": "spot", "effect": "NoSelect", "timeAdded": at(10)}))
    told.run(20)
    return told


def expiring() -> Story:
    """A score that counts runs out at 400 seconds."""
    chooses = ocm.placement(numberOfClusters=1, prioritizerPolicy=ocm.BY_SCORE)
    told = story(ocm.cluster("a"), ocm.cluster("b"), ocm.cluster_set(), ocm.binding(), chooses)
    told.put(ocm.score("a", 50, validUntil=at(400)), ocm.score("b", 10))
    told.run(0)
    return told


def moved_away(replicas: int) -> Story:
    """Web is on b, since a was tainted; it is clean again."""
    placement = groups(["a"], ["b"], replicaScheduling=DYNAMIC)
    told = story(cluster("a", taints=[taint()], status=WELL), cluster("b", status=WELL))
    told.put(deployment(replicas=replicas), policy(placement=placement), NEVER)
    told.run(0)
    told.put(cluster("a", status=WELL))
    told.run(1)
    return told


def batched() -> Story:
    """A rebalancer has moved 2 of 6 replicas, and goes on every 30 seconds."""
    told = moved_away(6).put(rebalancer(limits={"maxMoves": 2, "intervalSeconds": 30}))
    told.run(10)
    return told


def scheduled() -> Story:
    """A rebalancer runs at five past twelve."""
    told = moved_away(2).put(rebalancer(schedule="5 12 * * *"))
    told.run(10)
    return told


def finished(ttl: int = 900) -> Story:
    """A rebalancer is done and goes after a quarter of an hour."""
    told = moved_away(2).put(rebalancer(ttl=ttl))
    told.run(10)
    return told


def triggered() -> Story:
    """A trigger goes after an hour, as its proposal says."""
    told = moved_away(2).put(schedule_trigger("demo", target()))
    told.run(10)
    return told


pytestmark = pytest.mark.cpu_seconds(60)  # many examples of whole passes

PASSES = 5
Moves = set[tuple[datetime, ObjectKey, Placed, Placed]]


def moves_among(found: tuple[Coming, ...]) -> Moves:
    """What moves by a foresight."""
    return {
        (one.at, one.key, one.before, one.after)
        for one in found
        if one.before is not None and one.after is not None and one.before != one.after
    }


def run_at(told: Story, moment: datetime) -> Outcome:
    """Run a pass."""
    return told.run(int((moment - NOW).total_seconds()))


def moves_of_passes(told: Story, now: datetime) -> Moves:
    """What moves in the passes of a daemon that looks again whenever it wants to."""
    found: Moves = set()
    for _ in range(PASSES):
        outcome = run_at(told, now)
        found |= {
            (told.now, one.key, one.before, one.after)
            for one in outcome.decisions
            if one.before != one.after
        }
        if outcome.recheck_at is None:
            break
        now = max(now, outcome.recheck_at)
    return found


def said(told: Story, seconds: int = 1, moments: int = MOMENTS) -> list[str]:
    """What is coming from so many seconds after the last pass on, in sentences."""
    found = foresee(told.world(), told.now + timedelta(seconds=seconds), moments=moments)
    return [f"{one.subject}: {coming_text(one)}" for one in found]


COMING = [
    pytest.param(
        not_ready,
        f"default/web: a is not ready and tolerated until {at(310)}, "
        "then 2 replicas leave a, as of now to b(4)",
        id="not-ready",
    ),
    pytest.param(
        lambda: not_ready("Unknown"),
        f"default/web: a cannot be reached and is tolerated until {at(310)}, "
        "then 2 replicas leave a, as of now to b(4)",
        id="unreachable",
    ),
    pytest.param(
        tainted,
        f"default/web: a has the taint spot:NoExecute and is tolerated until {at(80)}, "
        "then 2 replicas leave a, as of now to b(4)",
        id="tainted",
    ),
    pytest.param(
        unhealthy,
        f"default/web: it is unhealthy on a and tolerated there until {at(161)}, "
        "then 2 replicas leave a, as of now to b(2)",
        id="unhealthy",
    ),
    pytest.param(
        evicted,
        f"default/web: a keeps its copy while others take over until {at(911)}, "
        "then the copy on a is removed",
        id="evicted",
    ),
    pytest.param(
        scored,
        f"ns1/p: scores changed, and its decisions stay until {at(300)}, "
        "then it may move, as of now to b",
        id="scores",
    ),
    pytest.param(
        tolerated,
        f"ns1/p: a has the taint spot:NoSelect and is tolerated until {at(70)}, "
        "then it leaves a, as of now to b",
        id="tolerated-by-ocm",
    ),
    pytest.param(
        expiring,
        f"ns1/p: the score r of a is valid until {at(401)}, then it may move, as of now to b",
        id="score-runs-out",
    ),
    pytest.param(
        batched,
        f"WorkloadRebalancer demo: the next batch (4 replicas left) waits until {at(40)}, "
        "then it goes",
        id="batch",
    ),
    pytest.param(
        scheduled,
        f"WorkloadRebalancer demo: its schedule 5 12 * * * is not due until {at(300)}, "
        "then it runs again",
        id="schedule",
    ),
    pytest.param(
        finished,
        f"WorkloadRebalancer demo: it is finished and kept until {at(910)}, "
        "then its manifest is removed",
        id="ttl",
    ),
    pytest.param(
        triggered,
        f"ScheduleTrigger demo: it is kept until {at(3610)}, then its manifest is removed",
        id="trigger",
    ),
]


@pytest.mark.parametrize(("make", "sentence"), COMING)
def test_what_is_waited_for_is_told(make: Callable[[], Story], sentence: str) -> None:
    """Why nothing happens yet, until when, what happens then, and where that leads as of now."""
    assert sentence in said(make())


@pytest.mark.parametrize(("make", "sentence"), COMING)
def test_passes_do_at_that_moment_what_was_told(make: Callable[[], Story], sentence: str) -> None:
    """A daemon that sleeps from one moment to the next moves the same at the same moments."""
    told = make()
    now = told.now + timedelta(seconds=1)

    found = moves_among(foresee(told.world(), now))

    assert "as of now" not in sentence or found
    assert found <= moves_of_passes(told, now)


def test_a_batch_is_told_with_what_it_moves() -> None:
    """The rebalancer that is the cause is named."""
    moves = f"default/web: at {at(40)} it moves, as of now to a(4), b(2): "

    assert f"{moves}rebalanced (WorkloadRebalancer demo)" in said(batched())


def test_nothing_is_coming_where_nothing_waits() -> None:
    """Time alone changes nothing."""
    assert [] == said(on_two(4))


def test_what_the_next_pass_does_comes_first() -> None:
    """A change that no pass has seen is told at its moment."""
    told = on_two(4).put(deployment(replicas=6))

    assert [f"default/web: at {at(1)} it moves, as of now to a(3), b(3): replicas changed"] == said(
        told
    )


def test_what_is_beyond_the_last_pass_computed_is_told_as_far_as_known() -> None:
    """Where it leads is not: that would have to be computed."""
    assert [
        f"default/web: a is not ready and tolerated until {at(310)}, then 2 replicas leave a"
    ] == said(not_ready(), moments=1)


def test_what_comes_again_and_again_is_told_once() -> None:
    """The first run of a schedule."""
    told = moved_away(2).put(rebalancer(schedule="* * * * *"))
    told.run(10)

    runs = [line for line in said(told) if "it runs again" in line]

    waits = f"its schedule * * * * * is not due until {at(60)}, then it runs again"
    assert [f"WorkloadRebalancer demo: {waits}"] == runs


def test_a_wait_that_ends_before_its_moment_is_not_told() -> None:
    """The copy on a goes once b counts as healthy, not when its time is over."""
    told = not_ready()
    told.put(configuration(), path="reconciler.yaml")
    told.run(310)

    assert [] == [line for line in said(told) if "keeps its copy" in line]


@LAW
@given(stories(), objects(), st.integers(0, 15))
def test_what_is_foreseen_is_what_passes_do(told: Story, bodies: list[Body], share: int) -> None:
    """Of several passes of one cause that move an object, the first is foreseen."""
    edit(told, bodies, share)
    now = told.now + timedelta(seconds=1)

    found = moves_among(foresee(told.world(), now, moments=PASSES))

    done = moves_of_passes(told, now)
    assert found <= done
    assert {move[1] for move in found} == {move[1] for move in done}


def alone(base: World, merged: World, now: datetime) -> tuple[set[Coming], set[Coming]]:
    """What is coming in either world, each asked by itself."""
    first, second = (
        {one for one in foresee(world, now) if one.at > now} for world in (base, merged)
    )
    return first, second


@LAW
@given(stories(), objects(), st.integers(0, 15))
def test_two_worlds_are_foreseen_together_as_each_alone(
    told: Story, bodies: list[Body], share: int
) -> None:
    """What passes over one world remember says nothing of the other."""
    base = told.world()
    edit(told, bodies, share)
    merged = linked(told.world(), base)

    found = look_ahead(base, merged, told.now)

    before, after = alone(base, merged, told.now)
    assert {*found.later, *found.later_anyway} == after
    assert {*found.averted} <= before - after


def test_a_plan_never_goes_back_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a moment that is over nothing is remembered, so all objects would be looked at again."""
    moments: list[datetime] = []

    def noted(world: World, now: datetime, *, memo: Memo) -> Outcome:
        moments.append(now)
        return reconcile(world, now, memo=memo)

    for module in ("foresight", "preview"):
        monkeypatch.setattr(f"reconciler.audit.previews.{module}.reconcile", noted)
    told = tolerated()
    base = told.world()
    told.put(ocm.cluster("c"))

    look_ahead(base, told.world(), told.now)

    assert len(moments) > 2
    assert moments == sorted(moments)
