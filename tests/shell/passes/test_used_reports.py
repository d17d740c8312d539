"""Reports that decisions read, kept while the branch of reports is cut."""

from datetime import timedelta
from pathlib import Path

import pytest

from reconciler.cli.main import run
from reconciler.core.changes import WriteFile
from reconciler.core.inputs.admissions import ADMISSIONS
from reconciler.core.message import CommitPurpose, Purpose
from reconciler.core.record import last_pass
from reconciler.model.records import dataclass, replace
from reconciler.model.settings import CONFIGURATION
from reconciler.shell.git.commits import write_again, write_commit
from reconciler.shell.git.publish import publish
from reconciler.shell.git.remotes.mirror import Mirror
from reconciler.shell.git.repository import CommitIdentity, Repository
from reconciler.shell.git.signing import CommitSigning
from reconciler.shell.passes.branches import RemoteBranch
from reconciler.shell.passes.pass_report import PassReport
from reconciler.shell.passes.used_reports import CUT, READ, REPLACES, cut
from reconciler.shell.reading.sources import ServedBranches
from tests.builders import (
    Body,
    cluster,
    cluster_status,
    configuration,
    deployment,
    path_of,
    policy,
    text,
)
from tests.shell.counted import Guarded, new_guarded
from tests.shell.fleet import Clock, decisions, new_passes, passes_of, run_pass
from tests.shell.keys import SshKey, commit_signed
from tests.shell.repositories import NOW, Checkout, git, new_checkout

ADA = CommitIdentity("Ada", "ada@example.com")
KEPT = configuration(feedback={"branch": "reports", "keepUsed": True})
USED = "reports-used"


def report_of(number: int) -> dict[str, str]:
    """What a cluster reports, each time otherwise: well, or not."""
    status = cluster_status("False" if number % 2 else "True", cpu=str(100 + number))
    body = {
        "apiVersion": "cluster.karmada.io/v1alpha1",
        "kind": "Cluster",
        "metadata": {"name": "member1"},
        "status": status,
    }
    return {"feedback/member1/cluster.yaml": text(body)}


@dataclass(frozen=True, slots=True)
class Reporting:
    """A repository here whose clusters report on a branch of their own."""

    checkout: Checkout

    @property
    def repository(self) -> Repository:
        """It, as our code has it."""
        return Repository.open(self.checkout.folder)

    def report(self, number: int, key: SshKey | None = None) -> str:
        """Commit a report."""
        return self._moved(self._written(number, key))

    def cut(self, number: int, key: SshKey | None = None, *, head: str = "") -> str:
        """Commit a report with which the branch begins anew."""
        repository, old = self.repository, self.at()
        made = cut(
            repository,
            self._written(number, key),
            head or old,
            message="Report member1\n",
            at=NOW,
            author=ADA,
            signing=signing(key),
        )
        self.checkout.git("update-ref", "refs/heads/reports", made, old)
        return made

    def at(self, branch: str = "reports") -> str:
        """Where a branch is, `""` for nowhere."""
        return self.repository.find(branch) or ""

    def run(self, second: int) -> PassReport:
        """Run a pass."""
        return run_pass(self.checkout.folder, second)

    def line(self, branch: str = USED) -> list[str]:
        """The commits of a branch, the oldest first."""
        return self.checkout.git("rev-list", "--reverse", "--first-parent", branch).split()

    def tree(self, revision: str) -> str:
        """The files of a commit, as one id."""
        return self.checkout.git("rev-parse", f"{revision}^{{tree}}")

    def _written(self, number: int, key: SshKey | None) -> str:
        files = [WriteFile(*one) for one in report_of(number).items()]
        return write_commit(
            self.repository,
            files,
            parent=self.at() or None,
            message=f"Report member1 ({number})\n",
            at=NOW,
            author=ADA,
            signing=signing(key),
        )

    def _moved(self, commit: str) -> str:
        publish(self.repository, "reports", old=self.at() or None, new=commit)
        return commit


def signing(key: SshKey | None) -> CommitSigning | None:
    """How an observer signs."""
    purpose = CommitPurpose(Purpose.REPORTS, "reports")
    return CommitSigning.by(None if key is None else key.signing, purpose)


@pytest.fixture
def reporting(tmp_path: Path) -> Reporting:
    """Clusters that report, a workload, and a pass."""
    declared = (cluster("member1"), cluster("member2"), deployment(), policy(), KEPT)
    reporting = Reporting(
        new_checkout(tmp_path / "fleet", {path_of(one): text(one) for one in declared})
    )
    reporting.report(0)
    reporting.run(0)
    return reporting


def test_a_decision_names_a_commit_that_stays(reporting: Reporting) -> None:
    """Its files are those that were read, its parent is the one before."""
    read = [reporting.at(), reporting.report(1)]
    second = reporting.run(10)

    used = reporting.line()
    assert [reporting.tree(one) for one in read] == [reporting.tree(one) for one in used]
    last = last_pass(second.world.outputs)
    assert last is not None
    assert used == [last.reported_at, second.world.reported_at]
    message = reporting.checkout.git("log", "-1", "--format=%B", str(second.commit))
    assert f"Reconciled-Feedback: {used[1]}" in message
    kept = reporting.checkout.git("log", "-1", "--format=%s %(trailers:key=Reconciled-Read)", USED)
    assert f"Report member1 (1) {READ}: {read[1]}" == kept.strip()
    assert 0 == run(["-C", str(reporting.checkout.folder), "verify"])


def test_the_same_reports_are_kept_once(reporting: Reporting) -> None:
    """A decision that read them again names the same commit; no pass without one writes any."""
    used = reporting.line()
    reporting.checkout.commit({path_of(deployment("other")): text(deployment("other"))})

    decided = reporting.run(10)
    reporting.run(20)

    assert (True, used) == (decided.commit is not None, reporting.line())
    assert used[-1] == decided.world.reported_at


def test_what_is_not_asked_for_is_not_kept(tmp_path: Path) -> None:
    """Decisions name the branch of reports itself."""
    declared = (cluster("member1"), deployment(), policy())
    files = {path_of(one): text(one) for one in declared}
    files["reconciler.yaml"] = text(configuration(feedback={"branch": "reports"}))
    reporting = Reporting(new_checkout(tmp_path / "fleet", files))
    head = reporting.report(0)

    assert head == reporting.run(0).world.reported_at
    assert "" == reporting.at(USED)


@pytest.mark.cpu_seconds(60)
def test_decisions_are_proven_from_a_fresh_clone_after_cuts(
    reporting: Reporting, tmp_path: Path
) -> None:
    """Of what was cut off nothing is left, but what decisions read."""
    gone = []
    for number in range(1, 7):
        gone.append(reporting.at())
        if number % 3 == 0:
            reporting.cut(number)
        else:
            reporting.report(number)
        reporting.run(number * 10)
    assert "1" == reporting.checkout.git("rev-list", "--count", "reports")
    bare = tmp_path / "bare"
    git(tmp_path, "clone", "-q", "--bare", str(reporting.checkout.folder), "bare")
    git(bare, "reflog", "expire", "--expire=now", "--all")
    git(bare, "gc", "-q", "--prune=now")
    fresh = tmp_path / "fresh"
    git(tmp_path, "clone", "-q", f"file://{bare}", "fresh")

    for one in gone:
        with pytest.raises(AssertionError):
            git(fresh, "cat-file", "-e", one)
    assert 7 == len(git(fresh, "rev-list", f"origin/{USED}").split())
    assert 0 == run(["status", "--remote", f"file://{bare}"])
    assert 0 == run(["-C", str(fresh), "verify"])
    assert 0 == run(["-C", str(fresh), "status"])


def test_two_daemons_keep_on_one_line(reporting: Reporting) -> None:
    """Who finds that the other one has moved the branch decides again."""
    reporting.report(1)
    raced: list[str] = []

    class Raced(ServedBranches):
        """Branches of which another daemon moves one, once it was looked at."""

        def beside(self, name: str) -> str | None:
            head = super().beside(name)
            if name == USED and not raced:
                raced.append(name)
                other = write_again(
                    self.repository,
                    str(head),
                    parents=[str(head)],
                    message="Another daemon\n",
                    at=NOW,
                    author=ADA,
                )
                publish(self.repository, USED, old=head, new=other)
            return head

    passes = new_passes(reporting.checkout.folder, Clock(NOW + timedelta(seconds=10)))
    branches = passes.branches
    racing = Raced(inputs=branches.inputs, layout=branches.layout)

    decided = replace(passes, branches=racing).run()

    assert [USED] == raced
    assert 3 == len(reporting.line())
    assert reporting.line()[-1] == decided.world.reported_at
    assert 0 == run(["-C", str(reporting.checkout.folder), "verify"])


@pytest.mark.parametrize("how", ["deleted", "rewritten"])
def test_what_was_kept_comes_back(reporting: Reporting, how: str) -> None:
    """Whoever takes it off the branch finds it there after the next decision."""
    before = reporting.line()
    if how == "deleted":
        reporting.checkout.git("branch", "-q", "-D", USED)
    else:
        reporting.checkout.git("branch", "-f", USED, "main")
    reporting.report(1)

    reporting.run(10)

    every = reporting.checkout.git("rev-list", USED).split()
    assert {*before} <= {*every}
    assert 0 == run(["-C", str(reporting.checkout.folder), "verify"])


def test_a_new_mirror_has_what_the_last_pass_read(reporting: Reporting, tmp_path: Path) -> None:
    """A file that cannot be understood counts as it was then, in the reports, too."""
    reporting.run(5)
    reporting.cut(2)
    reporting.checkout.commit({path_of(policy()): "kind: [\n"})
    bare = tmp_path / "bare"
    git(tmp_path, "clone", "-q", "--bare", str(reporting.checkout.folder), "bare")
    git(bare, "gc", "-q", "--prune=now")

    with Mirror.open(f"file://{bare}", tmp_path / "own.git") as mirror:
        branch = RemoteBranch(mirror, mirror.repository, "main")
        clock = Clock(NOW + timedelta(seconds=10))
        decided = passes_of(branch, clock).run()

    assert {"yaml-syntax"} <= {one.rule for one in decided.outcome.faults}
    assert [True] == [bool(placed) for placed in decisions(decided.world).values()]


@dataclass(slots=True)
class Checked:
    """The same with keys: Ada's and that of the daemon."""

    guarded: Guarded
    reporting: Reporting

    def reported_at(self) -> str:
        """Of which commit the next pass reads the reports."""
        return self.guarded.passes().decide().world.reported_at

    def told(self) -> list[str]:
        """Why commits of reports wait."""
        return [one.problem for one in self.guarded.run().refused if one.branch == "reports"]


@pytest.fixture
def checked(tmp_path: Path) -> Checked:
    """A line of signed reports that was accepted."""
    guarded = new_guarded(tmp_path)
    files = {"reconciler.yaml": text(KEPT)}
    commit_signed(guarded.fleet, guarded.ada, files)
    checked = Checked(guarded, Reporting(guarded.fleet))
    for number in (0, 2):
        checked.reporting.report(number, guarded.ada)
        guarded.run()
    return checked


def test_a_signed_cut_is_accepted(checked: Checked) -> None:
    """Also where what it replaces came and went between two looks."""
    ada, reporting = checked.guarded.ada, checked.reporting
    first = reporting.cut(4, ada)
    assert first == checked.reported_at()
    checked.guarded.run()
    reporting.report(6, ada)
    unseen = reporting.cut(8, ada)
    reporting.checkout.git("gc", "-q", "--prune=now")

    assert unseen == checked.reported_at()
    assert [] == checked.told()


def test_a_cut_that_nobody_allowed_waits(checked: Checked) -> None:
    """Reports are those that were accepted before."""
    accepted = checked.reported_at()
    checked.reporting.cut(4)

    assert accepted == checked.reported_at()
    assert ["it is not signed"] == checked.told()


def test_a_key_of_some_clusters_cuts_nothing(checked: Checked) -> None:
    """A root has the reports of all, so it would say something of the others."""
    ada, reporting = checked.guarded.ada, checked.reporting
    accepted = checked.reported_at()
    checked.guarded.reporters = {ada.fingerprint: frozenset({"member2"})}
    reporting.cut(4, ada)

    assert accepted == checked.reported_at()
    (problem,) = checked.told()
    assert "its key may report member2 only" in problem


def test_an_old_cut_does_not_come_back(checked: Checked) -> None:
    """Whoever may push could keep one, and set the branch back to it."""
    ada, reporting = checked.guarded.ada, checked.reporting
    first = reporting.cut(4, ada)
    checked.guarded.run()
    second = reporting.cut(6, ada)
    checked.guarded.run()
    reporting.checkout.git("update-ref", "refs/heads/reports", first)

    assert second == checked.reported_at()
    (problem,) = checked.told()
    assert "is older than what was accepted" in problem


def test_a_cut_of_something_else_waits(checked: Checked) -> None:
    """It must replace what was accepted, or what came after it."""
    ada, reporting = checked.guarded.ada, checked.reporting
    beside = reporting.line("reports")[0]
    reporting.cut(4, ada, head=beside)

    (problem,) = checked.told()
    assert "which does not have" in problem


def test_no_other_branch_begins_anew(checked: Checked) -> None:
    """A signed root of the same form, on the branch of people."""
    fleet, ada = checked.guarded.fleet, checked.guarded.ada
    accepted = fleet.head()
    by = CommitSigning.by(ada.signing, CommitPurpose(Purpose.REPORTS, "main"))
    made = cut(
        checked.reporting.repository,
        accepted,
        accepted,
        message="Begin anew\n",
        at=NOW,
        author=ADA,
        signing=by,
    )
    fleet.git("reset", "--quiet", "--hard", made)

    (refused,) = checked.guarded.run().refused
    assert ("main", True) == (refused.branch, "no part of the branch" in refused.problem)


def test_a_cut_names_what_it_replaces_and_counts(reporting: Reporting) -> None:
    """As trailers of a root with all files."""
    head = reporting.report(1)
    first = reporting.cut(2)
    second = reporting.cut(3)

    def trailers(commit: str) -> dict[str, str]:
        body = reporting.checkout.git("log", "-1", "--format=%B", commit)
        return dict(line.split(": ") for line in body.splitlines() if ": " in line)

    assert {REPLACES: head, CUT: "1"} == trailers(first)
    assert {REPLACES: first, CUT: "2"} == trailers(second)
    assert reporting.tree(second) != reporting.tree(first)


@pytest.mark.parametrize(
    ("feedback", "expected"),
    [
        pytest.param({"keepUsed": True}, 1, id="no-branch"),
        pytest.param({"keepUsed": True, "branch": "reports"}, 0, id="a-branch"),
        pytest.param({"keepUsed": False}, 0, id="off"),
    ],
)
def test_what_is_kept_needs_a_branch_of_reports(feedback: Body, expected: int) -> None:
    """The branch that keeps it has its name."""
    found = ADMISSIONS[CONFIGURATION](configuration(feedback=feedback))

    assert expected == len(found)
