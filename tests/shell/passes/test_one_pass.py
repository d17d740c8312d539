"""One pass: blocked outputs, a clock that is behind, causes, other bots, and idle work."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from reconciler.audit.fleet.problems import ProblemCounts
from reconciler.cli.main import run
from reconciler.core.changes import CausingCommit, Outcome
from reconciler.core.message import commit_message
from reconciler.manifests.paths import FAULTS
from reconciler.model.fields import bodies
from reconciler.model.records import replace
from reconciler.shell.daemon.serve_branch import Daemon
from reconciler.shell.passes import one_pass
from reconciler.shell.passes.one_pass import ClockBehind, Passes
from reconciler.shell.passes.pass_report import summary_of
from reconciler.shell.reports.metrics import Metrics
from tests.builders import NOTHING, rebalancer, text
from tests.cli.history import FAILED, SCALED, SHOP
from tests.shell.daemon.test_serve_branch import Steps
from tests.shell.fleet import (
    EXAMPLE,
    Clock,
    decisions,
    load_world,
    new_fleet,
    new_passes,
    passed_at,
    reconciler,
    run_pass,
)
from tests.shell.repositories import NOW, Checkout

BINDINGS = "status/resourcebindings.work.karmada.io"
SHOP_BINDING = f"{BINDINGS}/default/shop-deployment.yaml"


def link_at(path: str) -> Callable[[Checkout], str]:
    """Replace a path by a symbolic link that leads out of the repository."""

    def block(fleet: Checkout) -> str:
        fleet.git("rm", "-r", "--quiet", path)
        (fleet.folder / path).parent.mkdir(parents=True, exist_ok=True)
        (fleet.folder / path).symlink_to(fleet.folder.parent)
        fleet.git("add", path)
        fleet.git("commit", "--quiet", "--message=Link it")
        return path

    return block


def folder_for_file(fleet: Checkout) -> str:
    """Put a folder where a binding is."""
    fleet.git("rm", "--quiet", SHOP_BINDING)
    fleet.commit({f"{SHOP_BINDING}/notes.txt": "mine\n", f"{SHOP_BINDING}/x.yaml": "a: 1\n"})
    return SHOP_BINDING


def file_for_folder(fleet: Checkout) -> str:
    """Put a file where bindings are."""
    fleet.git("rm", "-r", "--quiet", f"{BINDINGS}/default")
    fleet.commit({f"{BINDINGS}/default": "mine\n"})
    return f"{BINDINGS}/default"


CASES = [
    pytest.param(link_at(SHOP_BINDING), id="a-link-for-a-binding"),
    pytest.param(folder_for_file, id="a-folder-for-a-binding"),
    pytest.param(link_at(f"{BINDINGS}/default"), id="a-link-for-a-folder"),
    pytest.param(file_for_folder, id="a-file-for-a-folder"),
]

ROLE = """apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: reader}
"""
POLICY = """apiVersion: policy.karmada.io/v1alpha1
kind: ClusterPropagationPolicy
metadata: {name: roles}
spec:
  resourceSelectors: [{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole}]
  placement: {clusterAffinity: {clusterNames: [member1]}}
"""


@pytest.mark.parametrize("block", CASES)
def test_the_others_are_decided(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], block: Callable[[Checkout], str]
) -> None:
    """The path is reported, nothing is written through it, and the next pass is quiet."""
    fleet = new_fleet(tmp_path / "fleet")
    run_pass(fleet.folder, 0)
    run_pass(fleet.folder, 5)
    before = decisions(load_world(fleet.folder))

    blocked = block(fleet)
    fleet.commit({"role.yaml": ROLE, "roles.yaml": POLICY})
    code = run(["-C", str(fleet.folder), "reconcile", "--now", "2026-11-20T12:00:10Z"])

    assert 1 == code
    assert f"{blocked}: what must be a plain " in capsys.readouterr().err
    world = load_world(fleet.folder)
    assert "ClusterResourceBinding.work.karmada.io reader-clusterrole" in decisions(world)
    report = world.outputs[FAULTS]
    assert [blocked] == [fault["path"] for fault in bodies(report.body, "faults")]
    assert run_pass(fleet.folder, 15).commit is None
    run(["-C", str(fleet.folder), "verify"])
    assert "2 of 2 decision commits verified" in capsys.readouterr().out

    fleet.git("rm", "-r", "--quiet", blocked)
    fleet.git("commit", "--quiet", "--message=Remove it")
    run_pass(fleet.folder, 20)

    after = decisions(load_world(fleet.folder))
    assert before.keys() <= after.keys()
    assert not (fleet.folder / "status/faults.yaml").exists()


def test_notes_beside_outputs_are_nobodys_business(tmp_path: Path) -> None:
    """A README below the root blocks nothing."""
    fleet = new_fleet(tmp_path / "fleet")
    run_pass(fleet.folder, 0)
    fleet.commit({f"{BINDINGS}/README.md": "mine\n", "status/NOTES": "mine\n"})
    run_pass(fleet.folder, 5)

    assert () == load_world(fleet.folder).faults


def test_a_root_that_is_a_link_holds_the_pass(tmp_path: Path) -> None:
    """What was recorded is not known then."""
    fleet = new_fleet(tmp_path / "fleet")
    run_pass(fleet.folder, 0)
    link_at("status")(fleet)
    fleet.commit({"workloads/shop.yaml": EXAMPLE["workloads/shop.yaml"] + "# edited\n"})

    report = run_pass(fleet.folder, 5)

    assert report.commit is None
    assert ["status"] == [fault.path for fault in report.outcome.faults]


SCALED_SHOP = EXAMPLE["workloads/shop.yaml"].replace("replicas: 2", "replicas: 5")


def fleet_with_work(folder: Path) -> Checkout:
    """Make a fleet that was passed at `NOW` and has something to decide since."""
    fleet = new_fleet(folder)
    run_pass(fleet.folder, 0)
    fleet.commit({"workloads/shop.yaml": SCALED_SHOP})
    return fleet


@pytest.mark.parametrize("behind", [0, 3, 5])
def test_a_few_seconds_are_waited_for(tmp_path: Path, behind: int) -> None:
    """The pass is one second after the last one, whatever the clock said."""
    fleet = fleet_with_work(tmp_path / "fleet")
    clock = Clock(NOW - timedelta(seconds=behind))

    report = new_passes(fleet.folder, clock).run()

    assert NOW < report.now
    assert report.commit == fleet.head()
    assert behind <= sum(clock.waits) <= behind + 1.1


@pytest.mark.parametrize(
    ("behind", "said"),
    [
        pytest.param(120, "until the clock has caught up", id="two-minutes"),
        pytest.param(300, "until the clock has caught up", id="five-minutes"),
        pytest.param(3600, "restore `lastPassAt`", id="an-hour"),
        pytest.param(400_000_000, "restore `lastPassAt`", id="years"),
    ],
)
def test_a_clock_far_behind_holds(tmp_path: Path, behind: int, said: str) -> None:
    """Nothing is committed, nothing is waited for, and the message says who must act."""
    fleet = fleet_with_work(tmp_path / "fleet")
    head = fleet.head()
    clock = Clock(NOW - timedelta(seconds=behind))

    with pytest.raises(ClockBehind, match=said):
        new_passes(fleet.folder, clock).run()

    assert head == fleet.head()
    assert [] == clock.waits


def test_a_person_can_restore_the_moment_of_the_last_pass(tmp_path: Path) -> None:
    """A pass by a clock that was ahead is undone by an edit of its record."""
    fleet = new_fleet(tmp_path / "fleet")
    run_pass(fleet.folder, 86_400)
    record = fleet.folder / "status" / "reconciler.yaml"
    text = record.read_text()
    fleet.commit(
        {
            "status/reconciler.yaml": text.replace("2026-11-21T12:00:00Z", "2026-11-20T11:00:00Z"),
            "workloads/shop.yaml": SCALED_SHOP,
        }
    )

    report = run_pass(fleet.folder, 0)

    assert report.commit is not None
    assert NOW == passed_at(load_world(fleet.folder))


@pytest.mark.parametrize("moment", ["9999-12-31T23:59:59Z", "0001-01-01T00:00:00Z", "soon", "12"])
def test_a_strange_moment_in_the_record_is_no_crash(tmp_path: Path, moment: str) -> None:
    """It is held, reported or overcome; never a traceback.

    A record that cannot be read holds everything: what faulty files held last is not known.
    """
    fleet = fleet_with_work(tmp_path / "fleet")
    record = fleet.folder / "status" / "reconciler.yaml"
    text = record.read_text()
    fleet.commit({"status/reconciler.yaml": text.replace("2026-11-20T12:00:00Z", moment)})

    if moment.startswith("9999"):
        with pytest.raises(ClockBehind, match="restore"):
            run_pass(fleet.folder, 5)
        return
    report = run_pass(fleet.folder, 5)

    if moment.startswith("0001"):
        assert report.commit is not None
    else:
        assert report.commit is None
        assert ["status/reconciler.yaml"] == [fault.path for fault in report.outcome.faults]


@pytest.mark.parametrize("name", ["reconciler.yaml", "faults.yaml"])
def test_a_half_written_record_is_no_crash(tmp_path: Path, name: str) -> None:
    """Cut anywhere, what a pass remembers is read, reported or written anew."""
    fleet = new_fleet(tmp_path / "fleet", {"workloads/bad.yaml": "apiVersion: [\n"})
    run_pass(fleet.folder, 0)
    record = fleet.folder / "status" / name
    text = record.read_text()
    for number, end in enumerate(range(0, len(text), 40)):
        fleet.commit({f"status/{name}": text[:end]})

        run_pass(fleet.folder, 10 + number)


NOTE = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: n, namespace: default}\n"
TARGET = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "frontend", "namespace": "default"}


def by(fleet: Checkout, author: str, files: dict[str, str], message: str = "Change") -> str:
    """Commit files under somebody's name."""
    fleet.write(files)
    fleet.git("add", "--all", "--", *files)
    mail = f"{author} <someone@example.com>"
    fleet.git("commit", "--quiet", "--message", message, "--author", mail)
    return fleet.head()


def caused(fleet: Checkout) -> list[str]:
    """What the newest commit says of who caused what."""
    told = fleet.git("log", "-1", "--format=%(trailers:key=Caused-By,valueonly)", "main")
    return [line for line in told.splitlines() if line]


def test_the_log_says_whose_commit_moved_what(tmp_path: Path) -> None:
    """Of two edits and a note in one pass; `verify` looks at none of that."""
    fleet = new_fleet(tmp_path / "fleet")
    run_pass(fleet.folder, 0)
    scaled = by(fleet, "Ada", SCALED)
    by(fleet, "Bob", {"notes.txt": "Nothing to see here."})
    asked = by(fleet, "Carol", {"rebalancers/r.yaml": text(rebalancer("r", TARGET))})
    run_pass(fleet.folder, 60)

    assert [f"{scaled} default/shop (Ada)", f"{asked} default/frontend (Carol)"] == caused(fleet)
    assert 0 == reconciler(fleet.folder, "verify").code


def test_one_commit_alone_needs_no_such_line(tmp_path: Path) -> None:
    """`Reconciled-From` names it."""
    fleet = new_fleet(tmp_path / "fleet")
    run_pass(fleet.folder, 0)
    by(fleet, "Ada", SCALED)
    run_pass(fleet.folder, 60)

    assert [] == caused(fleet)


def test_all_that_were_needed_are_named(tmp_path: Path) -> None:
    """A workload is scaled while its cluster fails, and a file that changes nothing is not."""
    fleet = new_fleet(tmp_path / "fleet")
    run_pass(fleet.folder, 0)
    scaled = by(fleet, "Ada", SCALED)
    failed = by(fleet, "Bob", FAILED)
    edited = EXAMPLE["workloads/frontend.yaml"].replace("image: ", "image: docker.io/")
    by(fleet, "Carol", {"workloads/frontend.yaml": edited})
    run_pass(fleet.folder, 120)

    told = caused(fleet)
    assert [scaled, failed] == [line.split()[0] for line in told]
    assert "default/shop (Ada)" in told[0]
    assert "default/shop" in told[1]


def test_of_edited_clusters_those_are_named_that_mattered(tmp_path: Path) -> None:
    """A workload leaves the one that fails; the others, and who has none of it, do not matter."""
    fleet = new_fleet(tmp_path / "fleet")
    run_pass(fleet.folder, 0)
    failed = by(fleet, "Bob", FAILED)
    noted = {"metadata:\n": "metadata:\n  annotations: {note: mine}\n"}
    path = "clusters/member2.yaml"
    [(old, new)] = noted.items()
    by(fleet, "Carol", {path: EXAMPLE[path].replace(old, new, 1)})
    run_pass(fleet.folder, 120)

    told = caused(fleet)
    assert [failed] == [line.split()[0] for line in told]
    assert "default/shop" in told[0]


def test_a_cluster_that_goes_was_taken_by_who_deleted_its_file(tmp_path: Path) -> None:
    """It is known by the file that it was in; another file that goes is not it."""
    fleet = new_fleet(tmp_path / "fleet", {**EXAMPLE, "notes/n.yaml": NOTE})
    run_pass(fleet.folder, 0)
    fleet.git("rm", "--quiet", "notes/n.yaml")
    by(fleet, "Carol", {})
    fleet.git("rm", "--quiet", "clusters/member1.yaml")
    gone = by(fleet, "Bob", {})
    run_pass(fleet.folder, 60)

    told = caused(fleet)
    assert [gone] == [line.split()[0] for line in told if "default/shop" in line]


def test_an_object_that_goes_was_taken_by_who_deleted_its_file(tmp_path: Path) -> None:
    """Beside somebody else's edit."""
    fleet = new_fleet(tmp_path / "fleet")
    run_pass(fleet.folder, 0)
    by(fleet, "Bob", {"notes.txt": "Nothing to see here."})
    fleet.git("rm", "--quiet", "workloads/shop.yaml")
    gone = by(fleet, "Ada", {})
    run_pass(fleet.folder, 60)

    assert [f"{gone} default/shop (Ada)"] == caused(fleet)


def test_a_root_below_the_top_is_told_of_its_own_files(tmp_path: Path) -> None:
    """Commits beside it moved nothing there."""
    inner = {f"teams/a/{path}": data for path, data in EXAMPLE.items()}
    fleet = new_fleet(tmp_path / "fleet", inner)
    folder = fleet.folder / "teams/a"
    assert 0 == reconciler(folder, "reconcile", "--now", "2026-11-20T12:00:00Z").code
    scaled = by(fleet, "Ada", {f"teams/a/{path}": data for path, data in SCALED.items()})
    by(fleet, "Bob", SCALED)
    assert 0 == reconciler(folder, "reconcile", "--now", "2026-11-20T12:01:00Z").code

    assert [f"{scaled} default/shop (Ada)"] == caused(fleet)


def test_a_name_forges_no_trailer_and_many_moves_are_cut_off() -> None:
    """Line breaks and brackets are taken out of names, and a line stays a line."""
    many = tuple(f"default/w{number}" for number in range(30))
    author = "Eve\nReconciled-From: 1 [skip ci]" + "x" * 500
    message = commit_message(
        Outcome(),
        NOTHING,
        now=NOW,
        version="1",
        caused=(CausingCommit("1" * 40, author, many),),
    )

    [line] = [line for line in message.splitlines() if line.startswith("Caused-By: ")]
    assert 1 == sum(line.startswith("Reconciled-From: ") for line in message.splitlines())
    assert "[skip ci]" not in message
    assert "default/w9, and 20 more (Eve Reconciled-From: 1 (skip ci)" in line
    assert 400 > len(line)


def undo(fleet: Checkout) -> None:
    """Take a binding away, as a bot does that wants it gone."""
    fleet.git("rm", "-q", SHOP)
    fleet.git("commit", "-q", "-m", "Not here")


def fought(tmp_path: Path, rounds: int) -> tuple[Checkout, Passes, Clock]:
    """A fleet whose shop was placed and taken away again so many times, a minute each."""
    fleet = new_fleet(tmp_path / "fleet")
    clock = Clock(NOW)
    passes = new_passes(fleet.folder, clock)
    settle(passes, clock)
    for _ in range(rounds):
        undo(fleet)
        settle(passes, clock)
    return fleet, passes, clock


def settle(passes: Passes, clock: Clock) -> None:
    """Run passes until one commits nothing, then let a minute go by."""
    while passes.run().commit is not None:
        clock.pause(2)
    clock.pause(60)


def test_what_is_undone_a_few_times_is_written_again(tmp_path: Path) -> None:
    """A person may revert more than once."""
    fleet, _, _ = fought(tmp_path, 3)

    assert (fleet.folder / SHOP).is_file()


def test_what_is_undone_again_and_again_waits_for_an_hour(tmp_path: Path) -> None:
    """The report names the file and the moment; then it is tried once more."""
    fleet, passes, clock = fought(tmp_path, 4)
    undo(fleet)
    report = passes.run()

    assert report.commit is None
    assert report.contested is not None
    assert SHOP in report.contested.paths
    clock.moment = report.contested.until
    assert passes.run().commit is not None
    assert (fleet.folder / SHOP).is_file()


def test_the_daemon_tells_of_a_fight_once_and_tries_again_after_it(tmp_path: Path) -> None:
    """In the log and in a metric, with the moment at which it goes on."""
    fleet, passes, clock = fought(tmp_path, 4)
    undo(fleet)
    metrics = Metrics(lambda _: NOW)
    contested = []

    def count() -> None:
        contested.append(metrics.registry.get_sample_value("reconciler_contested_files"))

    def look() -> None:
        fleet.commit({"a.txt": str(len(contested))})

    def wait() -> None:
        clock.pause(3600)

    wakeups = Steps(iter([lambda: None, count, look, wait, count]))
    with capture_logs() as logs:
        Daemon(passes=passes, wakeups=wakeups, poll_seconds=9999, observers=(metrics,)).run()

    (told,) = [entry for entry in logs if entry["event"].startswith("others undo")]
    assert SHOP in told["files"]
    assert [told["count"], 0] == contested
    assert (fleet.folder / SHOP).is_file()


def test_the_end_of_a_fight_is_a_moment_to_look_again(tmp_path: Path) -> None:
    """Though nothing else is due."""
    fleet, passes, _ = fought(tmp_path, 4)
    undo(fleet)
    report = replace(passes.run(), outcome=Outcome())

    assert report.contested is not None
    assert report.contested.until == summary_of(report, ProblemCounts()).due_at


def test_other_decisions_do_not_wait(tmp_path: Path) -> None:
    """They are committed, and what is fought over with them."""
    fleet, passes, _ = fought(tmp_path, 4)
    undo(fleet)
    other = {path: text.replace("name: shop", "name: other") for path, text in SCALED.items()}
    policy = (fleet.folder / "policies/shop.yaml").read_text().replace("name: shop", "name: other")
    fleet.commit(
        {"workloads/other.yaml": next(iter(other.values())), "policies/other.yaml": policy},
        "Add another",
    )

    assert passes.run().commit is not None
    assert (fleet.folder / SHOP.replace("shop", "other")).is_file()


def test_what_passes_change_themselves_is_no_fight(tmp_path: Path) -> None:
    """A workload that people scale every minute is followed."""
    fleet, passes, clock = fought(tmp_path, 0)
    for replicas in range(3, 12):
        scaled = next(iter(SCALED.values())).replace("replicas: 5", f"replicas: {replicas}")
        fleet.commit({"workloads/shop.yaml": scaled}, "Scale")
        settle(passes, clock)

    assert "replicas: 11" in (fleet.folder / SHOP).read_text()


def test_memory_goes_back_once_nothing_more_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As long as documents are still to be written, that comes first."""
    left, given = iter([True, True, False]), []
    passes = new_passes(new_fleet(tmp_path / "fleet").folder, Clock())
    passes.run()
    monkeypatch.setattr(
        type(passes.loader), "keep_documents", lambda _, pieces: pieces > 0 and next(left)
    )
    monkeypatch.setattr(one_pass, "give_back", lambda: given.append(True))

    assert [(True, 0), (True, 0), (False, 1)] == [(passes.rest(), len(given)) for _ in range(3)]
