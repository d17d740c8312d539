"""Outputs and reports on branches of their own: read, proven, and nothing of people's touched."""

import json
from pathlib import Path

import pytest

from reconciler.cli.main import run
from tests.builders import configuration, text
from tests.cli.history import FAILED, SCALED, SHOP
from tests.shell.fleet import EXAMPLE, eventually, new_fleet, running
from tests.shell.repositories import Checkout, git, new_bare

FINISHED = {
    "rebalancers/now.yaml": """\
apiVersion: apps.karmada.io/v1alpha1
kind: WorkloadRebalancer
metadata:
  name: now
spec:
  ttlSecondsAfterFinished: 0
  workloads:
  - apiVersion: apps/v1
    kind: Deployment
    namespace: default
    name: shop
"""
}


@pytest.fixture
def fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Checkout:
    """The example, its outputs on the branch `fleet-status` by one pass."""
    monkeypatch.setenv("RECONCILER_OUTPUT_BRANCH", "fleet-status")
    fleet = new_fleet(tmp_path / "fleet")
    reconcile(fleet, 0)
    return fleet


def reconcile(fleet: Checkout, minute: int) -> None:
    """Run a pass at so many minutes after noon."""
    assert 0 == answer(fleet, "reconcile", "--now", f"2026-11-20T12:{minute:02}:00Z")


def answer(fleet: Checkout, *arguments: str) -> int:
    """Run a verb and return its exit code."""
    return run(["-C", str(fleet.folder), "--cache-dir", "off", *arguments])


def files_on(fleet: Checkout, branch: str) -> list[str]:
    """The files of a branch."""
    return fleet.git("ls-tree", "-r", "--name-only", branch).splitlines()


def test_passes_commit_to_their_own_branch_only(fleet: Checkout) -> None:
    """It holds outputs and nothing else; the branch of people stays where it was."""
    folders = {path.partition("/")[0] for path in files_on(fleet, "fleet-status")}

    assert ({"status"}, "") == (folders, fleet.status())
    assert "1" == fleet.git("rev-list", "--count", "main")
    assert SHOP in files_on(fleet, "fleet-status")


def test_a_pass_without_news_commits_nothing(fleet: Checkout) -> None:
    """The state that it starts from is that of the branch of outputs."""
    reconcile(fleet, 5)
    settled = fleet.git("rev-parse", "fleet-status")
    reconcile(fleet, 10)

    assert settled == fleet.git("rev-parse", "fleet-status")


def test_a_finished_rebalancer_is_marked_and_its_file_stays(fleet: Checkout) -> None:
    """Its status says Expired; later passes leave it alone."""
    fleet.commit(FINISHED, "Rebalance")
    reconcile(fleet, 1)
    reconcile(fleet, 2)
    settled = fleet.git("rev-parse", "fleet-status")
    reconcile(fleet, 30)
    record = "status/workloadrebalancers.apps.karmada.io/now.yaml"

    assert "rebalancers/now.yaml" in files_on(fleet, "main")
    assert "type: Expired" in fleet.git("show", f"fleet-status:{record}")
    assert settled == fleet.git("rev-parse", "fleet-status")


def test_every_commit_is_proven_by_the_inputs_that_it_names(
    fleet: Checkout, capsys: pytest.CaptureFixture[str]
) -> None:
    """From the first one, which has no parent."""
    fleet.commit(SCALED, "Scale the shop")
    reconcile(fleet, 1)
    capsys.readouterr()

    assert 0 == answer(fleet, "verify")
    assert "2 of 2 decision commits verified, 0 human commits\n" == capsys.readouterr().out


def test_an_edited_output_is_found(fleet: Checkout, capsys: pytest.CaptureFixture[str]) -> None:
    """Only passes write there, and the next one puts it right."""
    fleet.git("checkout", "-q", "fleet-status")
    fleet.git("rm", "-q", SHOP)
    fleet.git("commit", "-q", "-m", "Edit")
    fleet.git("checkout", "-q", "main")

    assert 1 == answer(fleet, "verify")
    assert f"{SHOP}: edited by Ada <ada@example.com>" in capsys.readouterr().out
    reconcile(fleet, 1)
    assert SHOP in files_on(fleet, "fleet-status")


def test_a_commit_of_older_inputs_is_forged(
    fleet: Checkout, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whoever may push to the branch of outputs cannot bring back what people undid."""
    start = fleet.head()
    fleet.commit(SCALED, "Scale the shop")
    reconcile(fleet, 1)
    fleet.git("checkout", "-q", "-b", "old", start)
    fleet.git("branch", "-q", "--force", "main", "old")
    fleet.git("checkout", "-q", "main")
    reconcile(fleet, 2)

    assert 1 == answer(fleet, "verify")
    assert f"Reconciled-From {start[:12]} is older than that" in capsys.readouterr().out


def test_questions_are_answered_from_both_branches(
    fleet: Checkout, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each decision names the commit of people that caused it."""
    scaled = fleet.commit(SCALED, "Scale the shop")
    reconcile(fleet, 1)
    failed = fleet.commit(FAILED, "Report that member1 is down")
    reconcile(fleet, 2)
    capsys.readouterr()
    assert 0 == answer(fleet, "history", "deployment/shop", "-o", "json")
    decisions = json.loads(capsys.readouterr().out)["decisions"]

    causes = [[cause["commit"] for cause in one["inputs"]] for one in decisions]
    assert [[failed], [scaled], [fleet.git("rev-parse", "main~2")]] == causes
    for verb in ("why", "tree", "blame", "describe", "render"):
        assert 0 == answer(fleet, verb, "deployment/shop"), verb
    assert 0 == answer(fleet, "get", "rb/shop-deployment")
    told = capsys.readouterr().out
    assert "Report that member1 is down" in told


def test_an_older_commit_of_people_has_the_outputs_of_its_time(
    fleet: Checkout, capsys: pytest.CaptureFixture[str]
) -> None:
    """And a commit of outputs has the inputs that it names."""
    fleet.commit(SCALED, "Scale the shop")
    reconcile(fleet, 1)
    placed = ["get", "rb/shop-deployment"]
    found = []
    for at in ("main", "main~1", "fleet-status", "fleet-status~1"):
        capsys.readouterr()
        assert 0 == answer(fleet, *placed, "--at", at)
        found.append("member1(5)" in capsys.readouterr().out)

    assert [True, False, True, False] == found


def test_a_plan_starts_from_the_outputs_of_their_branch(
    fleet: Checkout, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is placed there does not move anew."""
    fleet.git("checkout", "-q", "-b", "change")
    fleet.commit(SCALED, "Scale the shop")
    capsys.readouterr()

    assert 0 == answer(fleet, "plan", "--base", "main", "--head", "change")
    assert "Plan: 1 binding changes; 3 replicas start" in capsys.readouterr().out


def test_status_names_both_branches(fleet: Checkout, capsys: pytest.CaptureFixture[str]) -> None:
    """And what was committed since the inputs of the last pass."""
    fleet.commit(SCALED, "Scale the shop")
    capsys.readouterr()
    assert 0 == answer(fleet, "status")
    told = capsys.readouterr().out

    assert f"main at {fleet.head()[:12]} (Scale the shop)" in told
    assert f"fleet-status at {fleet.git('rev-parse', 'fleet-status')[:12]}" in told
    assert "1 commit since" in told


def test_status_is_told_before_the_first_pass(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The branch of the outputs is not there then."""
    monkeypatch.setenv("RECONCILER_OUTPUT_BRANCH", "fleet-status")
    fleet = new_fleet(tmp_path / "fleet")

    assert 0 == answer(fleet, "status")
    assert "Outputs:     fleet-status, no pass yet\n" in capsys.readouterr().out
    assert 0 == answer(fleet, "status", "-o", "json")


def test_a_repository_with_outputs_is_not_started_afresh(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Or else everything would be decided anew; the sentence says how to take them along."""
    fleet = new_fleet(tmp_path / "fleet")
    reconcile(fleet, 0)
    capsys.readouterr()
    apart = ["--output-branch", "fleet-status"]

    assert 2 == answer(fleet, "reconcile", *apart)
    assert "git branch fleet-status main" in capsys.readouterr().err
    fleet.git("branch", "fleet-status", "main")
    fleet.git("rm", "-r", "-q", "status")
    fleet.git("commit", "-q", "-m", "Outputs have their own branch")
    moment = ["--now", "2026-11-20T12:00:30Z"]
    assert 0 == answer(fleet, "reconcile", "--dry-run", *moment, *apart)
    assert "created" not in capsys.readouterr().out


def test_what_is_delivered_stands_beside_the_outputs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where no other branch is named, since nothing is written to that of people."""
    folders = {"reconciler.yaml": text(configuration(delivery={"folders": {}}))}
    fleet = new_fleet(tmp_path / "fleet", folders)
    assert 0 == answer(fleet, "reconcile", "--output-branch", "fleet-status")
    delivered = "delivery/member1/default/deployments.apps/shop.yaml"

    assert delivered in files_on(fleet, "fleet-status")
    assert "" == fleet.status()
    capsys.readouterr()
    assert 0 == answer(fleet, "verify", "--output-branch", "fleet-status")


def test_delivery_to_a_third_branch_is_proven(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It names the commits of outputs and of inputs that it follows."""
    folders = {"reconciler.yaml": text(configuration(delivery={"folders": {"branch": "run"}}))}
    fleet = new_fleet(tmp_path / "fleet", folders)
    apart = ["--output-branch", "fleet-status"]
    assert 0 == answer(fleet, "reconcile", *apart)
    capsys.readouterr()

    assert 0 == answer(fleet, "verify", *apart)
    outputs = fleet.git("rev-parse", "fleet-status")
    assert f"run: 18 files match {outputs[:12]}" in capsys.readouterr().out
    assert f"Delivered-Inputs: {fleet.head()}" in fleet.git("log", "-1", "--format=%B", "run")


def test_outputs_are_not_delivered_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A transport that names their branch is refused."""
    named = configuration(delivery={"folders": {"branch": "fleet-status"}})
    fleet = new_fleet(tmp_path / "fleet", {"reconciler.yaml": text(named)})

    assert 1 == answer(fleet, "reconcile", "--output-branch", "fleet-status")
    assert "names the branch fleet-status, which is served" in capsys.readouterr().err


def test_the_daemon_serves_a_remote_with_two_branches(tmp_path: Path) -> None:
    """It follows the branch of people and pushes to the other one only."""
    remote = new_bare(tmp_path / "remote", EXAMPLE)
    options = [
        "--remote", f"file://{remote}", "--mirror", str(tmp_path / "mirror"),
        "--output-branch", "fleet-status", "--poll-seconds", "0.1",
    ]  # fmt: skip
    start = git(remote, "rev-parse", "main")

    def placed() -> str:
        names = git(remote, "for-each-ref", "--format=%(refname:short)")
        return git(remote, "show", f"fleet-status:{SHOP}") if "fleet-status" in names else ""

    with running(tmp_path, *options):
        eventually(lambda: "member1" in placed(), "a first pass")
        assert start == git(remote, "rev-parse", "main")
        git(remote, "clone", "--quiet", str(remote), str(tmp_path / "person"))
        person = Checkout(tmp_path / "person")
        person.commit(SCALED, "Scale the shop")
        person.git("push", "-q", "origin", "main")
        eventually(lambda: "replicas: 5" in placed(), "a second pass")
    assert person.head() == git(remote, "rev-parse", "main")


SETTINGS = {
    "reconciler.yaml": text(configuration(feedback={"branch": "reports", "assumeAfterSeconds": 1}))
}
REPORT = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: shop
  namespace: default
  generation: 1
status:
  observedGeneration: 1
  replicas: 2
  readyReplicas: {ready}
  updatedReplicas: 2
  availableReplicas: {ready}
"""
PLACE = "feedback/member1/shop.yaml"


@pytest.fixture
def reporting_fleet(tmp_path: Path) -> Checkout:
    """The example, whose clusters report on the branch `reports`; one pass saw a report."""
    fleet = new_fleet(tmp_path / "fleet", SETTINGS)
    fleet.git("checkout", "-q", "--orphan", "reports")
    fleet.git("rm", "-r", "-q", "--cached", ".")
    fleet.git("clean", "-q", "-f", "-d", "-x")
    fleet.commit({PLACE: REPORT.format(ready=1)}, "Report")
    fleet.git("checkout", "-q", "main")
    reconcile_at(fleet, 0)
    return fleet


def reported(fleet: Checkout, content: str) -> str:
    """Commit another report, and return the commit."""
    fleet.git("checkout", "-q", "reports")
    commit = fleet.commit({PLACE: content}, "Report")
    fleet.git("checkout", "-q", "main")
    return commit


def reconcile_at(fleet: Checkout, minute: int) -> int:
    """Run a pass at so many minutes after noon."""
    return answer(fleet, "reconcile", "--now", f"2026-11-20T12:{minute:02}:00Z")


def trailer(fleet: Checkout) -> str:
    """What the last commit names as its reports."""
    told = "--format=%(trailers:key=Reconciled-Feedback,valueonly)"
    return fleet.git("log", "-1", told).strip()


def test_a_fresh_clone_decides_nothing_without_the_reports_of_its_origin(
    reporting_fleet: Checkout, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It would judge clusters by what people wrote; nor does it begin anew what decisions keep."""
    kept = {"branch": "reports", "keepUsed": True, "assumeAfterSeconds": 1}
    reporting_fleet.commit({"reconciler.yaml": text(configuration(feedback=kept))}, "Keep them")
    reported(reporting_fleet, REPORT.format(ready=2))
    reconcile_at(reporting_fleet, 5)
    git(tmp_path, "clone", "--quiet", str(reporting_fleet.folder), "clone")
    clone = Checkout(tmp_path / "clone")
    capsys.readouterr()

    for name in ("reports", "reports-used"):
        assert 2 == reconcile_at(clone, 10)
        told = f"with git branch {name} origin/{name}\n"
        assert capsys.readouterr().err.endswith(told)
        clone.git("branch", "--quiet", name, f"origin/{name}")
    assert 0 == reconcile_at(clone, 10)
    assert "nothing to do\n" == capsys.readouterr().out


def test_a_report_of_the_branch_is_taken(reporting_fleet: Checkout) -> None:
    """It stands in the aggregated status as one of the served branch would."""
    told = (reporting_fleet.folder / SHOP).read_text()

    assert "readyReplicas: 1" in told
    assert not (reporting_fleet.folder / "feedback").exists()


def test_the_commit_of_the_reports_is_named(reporting_fleet: Checkout) -> None:
    """In the record of the pass and in a trailer."""
    reports = reporting_fleet.git("rev-parse", "reports")

    assert reports == trailer(reporting_fleet)
    record = (reporting_fleet.folder / "status/reconciler.yaml").read_text()
    assert "feedbackRevision: " in record
    assert reports in record


def test_a_new_report_is_enough_for_a_pass(reporting_fleet: Checkout) -> None:
    """Though nothing changed on the served branch."""
    commit = reported(reporting_fleet, REPORT.format(ready=2))
    reconcile_at(reporting_fleet, 5)

    assert commit == trailer(reporting_fleet)
    assert "readyReplicas: 2" in (reporting_fleet.folder / SHOP).read_text()


def test_reports_of_the_served_branch_are_not_read(reporting_fleet: Checkout) -> None:
    """There is one place for them."""
    reconcile_at(reporting_fleet, 5)
    reporting_fleet.commit({PLACE: REPORT.format(ready=0)}, "Report elsewhere")
    settled = reporting_fleet.head()
    reconcile_at(reporting_fleet, 10)

    assert settled == reporting_fleet.head()


def test_passes_are_proven_by_the_reports_that_they_name(
    reporting_fleet: Checkout, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever became of the branch since."""
    reported(reporting_fleet, REPORT.format(ready=2))
    reconcile_at(reporting_fleet, 5)
    reported(reporting_fleet, REPORT.format(ready=0))
    capsys.readouterr()

    assert 0 == answer(reporting_fleet, "verify")
    assert "2 of 2 decision commits verified, 1 human commit\n" == capsys.readouterr().out


def test_a_forged_name_of_reports_is_found(
    reporting_fleet: Checkout, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same pass over other reports writes something else."""
    other = reported(reporting_fleet, REPORT.format(ready=2))
    message = reporting_fleet.git("log", "-1", "--format=%B").replace(
        trailer(reporting_fleet), other
    )
    reporting_fleet.git("commit", "-q", "--amend", "-m", message)

    assert 1 == answer(reporting_fleet, "verify")
    assert "different" in capsys.readouterr().out


def test_questions_take_the_reports_of_the_last_pass(
    reporting_fleet: Checkout, capsys: pytest.CaptureFixture[str]
) -> None:
    """What was decided is told by what it was decided from; a plan takes the newest."""
    reconcile_at(reporting_fleet, 5)
    reported(reporting_fleet, REPORT.format(ready=2))
    capsys.readouterr()

    assert 0 == answer(reporting_fleet, "tree", "deployment/shop")
    assert 0 == answer(reporting_fleet, "history", "deployment/shop")
    assert 0 == answer(reporting_fleet, "plan")


def test_a_report_that_cannot_be_read_leaves_the_last_good_one(
    reporting_fleet: Checkout, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is a fault like any other, with its file and line."""
    reported(reporting_fleet, "apiVersion: apps/v1\nkind: [\n")
    capsys.readouterr()

    assert 1 == reconcile_at(reporting_fleet, 5)
    assert f"{PLACE}:" in capsys.readouterr().err
    assert "readyReplicas: 1" in (reporting_fleet.folder / SHOP).read_text()
    assert 0 == answer(reporting_fleet, "verify")


LOST = """\
apiVersion: cluster.karmada.io/v1alpha1
kind: Cluster
metadata:
  name: member1
status:
  conditions:
  - type: Ready
    status: "False"
    reason: ClusterNotReachable
    message: no answer
    lastTransitionTime: "2026-11-20T12:04:00Z"
"""


def test_a_cluster_is_what_it_reports_even_where_the_branch_is_lost(
    reporting_fleet: Checkout, capsys: pytest.CaptureFixture[str]
) -> None:
    """What was judged last stays in force and is told; every pass is proven all the same."""
    reporting_fleet.git("checkout", "-q", "reports")
    reporting_fleet.commit({"feedback/member1/cluster.yaml": LOST}, "Report")
    reporting_fleet.git("checkout", "-q", "main")
    reconcile_at(reporting_fleet, 5)
    reporting_fleet.git("branch", "-q", "-D", "reports")
    reconcile_at(reporting_fleet, 10)
    capsys.readouterr()

    assert 0 == answer(reporting_fleet, "get", "cluster", "member1")
    assert "False" in capsys.readouterr().out
    faults = (reporting_fleet.folder / "status/faults.yaml").read_text()
    assert "rule: cluster-report-gone" in faults
    assert 0 == answer(reporting_fleet, "verify")
    capsys.readouterr()
    assert 0 == answer(reporting_fleet, "describe", "cluster/member1")
    assert "status/clusterreports.reconciler.dev/member1.yaml" in capsys.readouterr().out


def test_a_branch_that_is_not_there_reports_nothing(tmp_path: Path) -> None:
    """Decisions do not wait for it, nor for a name that git does not take."""
    for name in ("reports", "a.lock"):
        feedback = {"branch": name, "assumeAfterSeconds": 1}
        fleet = new_fleet(
            tmp_path / name, {"reconciler.yaml": text(configuration(feedback=feedback))}
        )

        assert (0, "") == (reconcile_at(fleet, 0), trailer(fleet))


def test_the_daemon_follows_the_branch_of_a_remote(tmp_path: Path) -> None:
    """A report that is pushed there is seen at the next look."""
    remote = new_bare(tmp_path / "remote", {**EXAMPLE, **SETTINGS})
    options = [
        "--remote", f"file://{remote}", "--mirror", str(tmp_path / "mirror"),
        "--poll-seconds", "0.1",
    ]  # fmt: skip
    git(remote, "clone", "--quiet", str(remote), str(tmp_path / "person"))
    person = Checkout(tmp_path / "person")
    with running(tmp_path, *options):
        eventually(lambda: "status/" in git(remote, "ls-tree", "-r", "--name-only", "main"))
        person.git("checkout", "-q", "--orphan", "reports")
        person.git("rm", "-r", "-q", "--cached", ".")
        person.commit({PLACE: REPORT.format(ready=1)}, "Report")
        person.git("push", "-q", "origin", "reports")
        eventually(lambda: "readyReplicas: 1" in git(remote, "show", f"main:{SHOP}"))


def test_a_fresh_clone_begins_no_branch_of_its_own_beside_that_of_its_origin(
    fleet: Checkout, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A pass is refused with the command that helps; after it the pass goes on from there."""
    git(tmp_path, "clone", "--quiet", str(fleet.folder), "clone")
    clone = Checkout(tmp_path / "clone")
    told = (
        "the branch fleet-status is not in this clone, and origin/fleet-status is: go on from it "
        "with git branch fleet-status origin/fleet-status\n"
    )

    for verb in (("reconcile",), ("reconcile", "--dry-run")):
        assert 2 == answer(clone, *verb, "--now", "2026-11-20T12:05:00Z")
        assert f"reconciler: {told}" == capsys.readouterr().err
    assert "" == clone.git("branch", "--list", "fleet-status")

    clone.git("branch", "--quiet", "fleet-status", "origin/fleet-status")
    reconcile(clone, 5)
    assert "nothing to do\n" == capsys.readouterr().out


def test_a_fresh_clone_begins_no_branch_that_is_delivered_to(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The pass is refused before anything is committed; later it goes on from what is delivered."""
    delivered = text(configuration(delivery={"folders": {"branch": "fleet"}}))
    fleet = new_fleet(tmp_path / "fleet", {"reconciler.yaml": delivered})
    reconcile(fleet, 0)
    git(tmp_path, "clone", "--quiet", str(fleet.folder), "clone")
    clone = Checkout(tmp_path / "clone")
    clone.commit(SCALED, "Scale the shop")
    scaled = clone.head()
    capsys.readouterr()

    assert 2 == answer(clone, "reconcile", "--now", "2026-11-20T12:05:00Z")
    assert "with git branch fleet origin/fleet\n" in capsys.readouterr().err
    assert (scaled, "") == (clone.head(), clone.git("branch", "--list", "fleet"))

    clone.git("branch", "--quiet", "fleet", "origin/fleet")
    reconcile(clone, 5)
    assert "2" == clone.git("rev-list", "--count", "fleet")
