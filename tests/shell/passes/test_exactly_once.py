"""Each rebalance happens once, and a file that a person edits waits for its removal."""

from collections.abc import Callable, Mapping
from datetime import timedelta
from pathlib import Path

import pytest

from reconciler.cli.main import run
from reconciler.shell.git.command import LostRace
from reconciler.shell.passes.one_pass import ClockBehind
from tests.builders import (
    after,
    cluster,
    cluster_status,
    deployment,
    groups,
    path_of,
    policy,
    rebalancer,
    text,
)
from tests.shell.fleet import (
    Clock,
    eventually,
    load_world,
    new_passes,
    patiently,
    run_pass,
    running,
)
from tests.shell.repositories import ENVIRONMENT, NOW, Checkout, git, new_checkout

HOME, AWAY = ["a"], ["b"]
REBALANCER = {"rebalancers/back.yaml": text(rebalancer("back"))}
RECORD = "status/workloadrebalancers.apps.karmada.io/back.yaml"
BINDING = "status/resourcebindings.work.karmada.io/default/web-deployment.yaml"


def files(*, failed: bool = False) -> Mapping[str, str]:
    """A workload that prefers a, and both clusters; a may have failed long ago."""
    status = cluster_status("False" if failed else "True", since=after(-900))
    bodies = [
        cluster("a", status=status),
        cluster("b", status=cluster_status(since=after(-900))),
        deployment(),
        policy(placement=groups(HOME, AWAY)),
    ]
    return {path_of(body): text(body) for body in bodies}


@pytest.fixture
def repository(tmp_path: Path) -> Checkout:
    """Web fled to b, a is back; nothing moves by itself."""
    checkout = new_checkout(tmp_path / "fleet", files())
    run_pass(checkout.folder, 0)
    checkout.commit(files(failed=True), "Report a as failed")
    run_pass(checkout.folder, 1)
    checkout.commit(files(), "Report a as recovered")
    run_pass(checkout.folder, 400)
    assert AWAY == placed(checkout)
    return checkout


def placed(checkout: Checkout) -> list[str]:
    """The clusters of web."""
    world = load_world(checkout.folder)
    [spec] = [m.body["spec"] for key, m in world.outputs.items() if key.kind == "ResourceBinding"]
    assert isinstance(spec, Mapping)
    return [str(item["name"]) for item in spec.get("clusters", [])]


def rebalances(checkout: Checkout) -> int:
    """How many commits moved web by the rebalancer."""
    subjects = checkout.git("log", "--format=%s", "main").splitlines()
    return sum(subject.startswith("Rebalance default/web") for subject in subjects)


def settle(checkout: Checkout, seconds: int) -> None:
    """Run passes until nothing is left to be done."""
    for number in range(4):
        if run_pass(checkout.folder, seconds + number).commit is None:
            return
    raise AssertionError("it does not settle")


def test_it_happens_once_and_is_not_repeated(repository: Checkout) -> None:
    """However often anybody looks."""
    repository.commit(REBALANCER)
    settle(repository, 500)
    settle(repository, 5000)

    assert (HOME, 1) == (placed(repository), rebalances(repository))


def test_a_commit_that_was_never_published_did_not_happen(repository: Checkout) -> None:
    """A process that dies between commit and branch leaves nothing; the next one does it."""
    repository.commit(REBALANCER)
    report = new_passes(repository.folder, Clock(NOW + timedelta(seconds=500))).run(publish=False)

    assert report.commit is not None
    assert AWAY == placed(repository)

    settle(repository, 501)

    assert (HOME, 1) == (placed(repository), rebalances(repository))


def test_of_two_daemons_one_does_it(repository: Checkout) -> None:
    """The other one loses the race, looks again and finds it done."""
    repository.commit(REBALANCER)
    slow = new_passes(repository.folder, Clock(NOW + timedelta(seconds=500)))
    report = slow.run(publish=False)
    assert report.commit is not None
    run_pass(repository.folder, 501)

    with pytest.raises(LostRace):
        slow.branch.publish(old=report.world.revision, new=report.commit)

    settle(repository, 502)

    assert (HOME, 1) == (placed(repository), rebalances(repository))


@pytest.mark.parametrize("way", ["fast-forward", "rebase"])
def test_old_commit_dates_do_not_matter(repository: Checkout, way: str) -> None:
    """A branch of last month, merged without a merge commit, is as good as one of today."""
    start = repository.git("rev-list", "--max-parents=0", "main")
    base = start if way == "rebase" else "main"
    repository.git("switch", "--quiet", "--create", "topic", base)
    repository.write(REBALANCER)
    repository.git("add", "rebalancers")
    old = {"GIT_AUTHOR_DATE": "2020-01-01T00:00:00Z", "GIT_COMMITTER_DATE": "2020-01-01T00:00:00Z"}
    known = dict(ENVIRONMENT)
    ENVIRONMENT.update(old)
    try:
        repository.git("commit", "--quiet", "--message", "Back home")
        if way == "rebase":
            repository.git("rebase", "--quiet", "--committer-date-is-author-date", "main")
        repository.git("switch", "--quiet", "main")
        repository.git("merge", "--quiet", "--ff-only", "topic")
    finally:
        ENVIRONMENT.clear()
        ENVIRONMENT.update(known)
    settle(repository, 500)

    assert (HOME, 1) == (placed(repository), rebalances(repository))


def test_a_clock_that_jumps_back_is_waited_for(repository: Checkout) -> None:
    """A pass is never dated before the last one, so the trigger is never too old."""
    repository.commit(REBALANCER)
    with pytest.raises(ClockBehind):
        run_pass(repository.folder, 100)
    settle(repository, 500)
    with pytest.raises(ClockBehind):
        run_pass(repository.folder, 200)

    assert (HOME, 1) == (placed(repository), rebalances(repository))


def test_a_manifest_that_is_added_again_runs_again(repository: Checkout) -> None:
    """Removed and re-added under the same name, it is a new rebalancer."""
    repository.commit(REBALANCER)
    settle(repository, 500)
    repository.git("rm", "--quiet", "rebalancers/back.yaml")
    repository.git("commit", "--quiet", "--message", "Done")
    settle(repository, 600)
    repository.commit(files(failed=True))
    settle(repository, 700)
    repository.commit(files())
    settle(repository, 1400)
    repository.commit(REBALANCER)
    settle(repository, 1500)

    assert (HOME, 2) == (placed(repository), rebalances(repository))
    assert "runs again" not in repository.git("log", "--format=%B", "main")


def test_a_workload_and_its_rebalancer_come_in_one_commit(repository: Checkout) -> None:
    """The new workload is placed, and the rebalancer has nothing left to do."""
    new = deployment("new")
    wanted = [
        {"apiVersion": "apps/v1", "kind": "Deployment", "name": "new", "namespace": "default"}
    ]
    both = {path_of(new): text(new), "rebalancers/new.yaml": text(rebalancer("new", *wanted))}
    repository.commit(both)
    settle(repository, 500)

    assert "result: Successful" in (repository.folder / RECORD.replace("back", "new")).read_text()
    assert 0 == rebalances(repository)


def revert(repository: Checkout, *commits: str) -> None:
    """Revert commits as one."""
    repository.git("revert", "--no-commit", *commits)
    repository.git("commit", "--quiet", "--message", "Roll back")


def test_reverting_decision_and_manifest_rolls_back_and_stays_so(repository: Checkout) -> None:
    """The assignment of before is in force again."""
    manifest = repository.commit(REBALANCER)
    run_pass(repository.folder, 500)
    revert(repository, repository.head(), manifest)
    settle(repository, 600)
    settle(repository, 5000)

    assert (AWAY, 1) == (placed(repository), rebalances(repository))


def test_reverting_the_decision_alone_runs_it_once_more_and_says_so(repository: Checkout) -> None:
    """Its record is gone with the revert; the commit names who removed it."""
    repository.commit(REBALANCER)
    run_pass(repository.folder, 500)
    revert(repository, repository.head())
    assert AWAY == placed(repository)
    settle(repository, 600)
    settle(repository, 5000)

    assert (HOME, 2) == (placed(repository), rebalances(repository))
    message = git(repository.folder, "log", "--format=%B", "--grep=runs again", "main")
    assert "WorkloadRebalancer back runs again: Ada <ada@example.com> removed its record" in message


def test_an_edit_right_before_the_removal_interrupts_it(repository: Checkout) -> None:
    """Corner case 3: what expired was another version; the branch moved, so it is decided anew."""
    repository.commit({"rebalancers/back.yaml": text(rebalancer("back", ttl=60))})
    settle(repository, 500)
    late = new_passes(repository.folder, Clock(NOW + timedelta(seconds=600)))
    report = late.run(publish=False)
    assert report.commit is not None
    assert "D\trebalancers/back.yaml" in repository.git(
        "show", "--format=", "--name-status", report.commit
    )
    repository.commit({"rebalancers/back.yaml": text(rebalancer("back", ttl=9000))}, "Keep it")

    with pytest.raises(LostRace):
        late.branch.publish(old=report.world.revision, new=report.commit)

    settle(repository, 601)

    assert (repository.folder / "rebalancers/back.yaml").exists()
    assert "observedGeneration: 2" in (repository.folder / RECORD).read_text()


DEMO = "rebalancers/demo.yaml"


def fleet_of(folder: Path, demo: str) -> Checkout:
    """A workload on a, and a rebalancer in its file."""
    placed = text(cluster("a"), cluster("b"), policy(placement=groups(["a"], ["b"])))
    files = {"fleet.yaml": placed, "web.yaml": text(deployment()), DEMO: demo}
    return new_checkout(folder, files)


def edit(fleet: Checkout) -> None:
    """Write into the file, no more."""
    with (fleet.folder / DEMO).open("a") as file:
        file.write("# mine\n")


def stage(fleet: Checkout) -> None:
    """Write into the file and stage it."""
    edit(fleet)
    fleet.git("add", DEMO)


def stage_and_take_back(fleet: Checkout) -> None:
    """Stage an edit that the file itself has no more."""
    stage(fleet)
    fleet.git("restore", "--source=HEAD", "--worktree", DEMO)


def delete(fleet: Checkout) -> None:
    """Delete the file, no more."""
    (fleet.folder / DEMO).unlink()


def assume(fleet: Checkout) -> None:
    """Have git not look at the file."""
    fleet.git("update-index", "--assume-unchanged", DEMO)
    edit(fleet)


@pytest.mark.parametrize("work", [edit, stage, stage_and_take_back, delete, assume])
@pytest.mark.parametrize("ttl", [0, 30], ids=["at-once", "later"])
@pytest.mark.parametrize("beside", ["", text(cluster("c"))], ids=["alone", "with-others"])
def test_only_the_removal_waits(
    tmp_path: Path, work: Callable[[Checkout], None], ttl: int, beside: str
) -> None:
    """The rebalance and all else are committed; the edit stays, and the removal follows it."""
    demo = text(rebalancer(ttl=ttl)) + (f"---\n{beside}" if beside else "")
    fleet = fleet_of(tmp_path / "fleet", demo)
    if ttl:
        run_pass(fleet.folder, 0)
    fleet.commit({"web.yaml": text(deployment(replicas=3))}, "Scale")
    work(fleet)
    before = fleet.git("status", "--porcelain")

    report = run_pass(fleet.folder, 60)

    assert {DEMO} == set(report.waiting)
    assert "replicas: 3" in (fleet.folder / BINDING).read_text()
    assert before == fleet.git("status", "--porcelain")
    assert demo == fleet.git("show", f"HEAD:{DEMO}") + "\n"
    assert None is run_pass(fleet.folder, 70).commit
    assert 0 == run(["-C", str(fleet.folder), "verify"])

    fleet.git("update-index", "--no-assume-unchanged", DEMO)
    fleet.git("restore", "--source=HEAD", "--staged", "--worktree", DEMO)
    last = run_pass(fleet.folder, 80)

    assert frozenset() == last.waiting
    assert bool(beside) == (fleet.folder / DEMO).exists()
    assert "" == fleet.git("status", "--porcelain")
    assert 0 == run(["-C", str(fleet.folder), "verify"])
    assert 1 == fleet.git("log", "--format=%B").count("WorkloadRebalancer demo)")


def test_the_daemon_tries_again_when_the_edit_is_gone(tmp_path: Path) -> None:
    """No commit has to wake it; it says once which file waits."""
    fleet = fleet_of(tmp_path / "fleet", text(rebalancer(ttl=0)))
    edit(fleet)
    log = tmp_path / "log"
    with running(fleet.folder, "--poll-seconds", "0.2", log=log):
        eventually((fleet.folder / BINDING).exists)
        assert (fleet.folder / DEMO).exists()
        patiently(fleet, "restore", DEMO)
        eventually(lambda: not (fleet.folder / DEMO).exists())

    assert 1 == log.read_text().count("a person is editing it")
