"""What the daemon's key signed counts where it says that it belongs, and nowhere else."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from reconciler.core.changes import Change, DeleteFile, WriteFile
from reconciler.core.message import CommitPurpose, Purpose
from reconciler.shell.git.commits import write_commit
from reconciler.shell.git.repository import Repository
from reconciler.shell.git.signing import CommitSigning
from tests.builders import configuration, text
from tests.shell.counted import SHOP, SHOP_OUTPUT, Guarded, new_guarded
from tests.shell.fleet import DAEMON, EXAMPLE
from tests.shell.keys import SshKey, commit_signed
from tests.shell.repositories import NOW

UNSAID = "the daemon's key has signed it, and it does not say what for"
TAKE_IT_OFF = "take it off the branch, or name it with --trust-from once it is reviewed"
HERE = CommitPurpose(Purpose.DECISIONS, "main")
DEMAND = """apiVersion: apps.karmada.io/v1alpha1
kind: WorkloadRebalancer
metadata:
  name: {}
spec:
  workloads: []
"""
DEMANDS = "rebalancers/two.yaml"
TWO = f"# ours\n---\n{DEMAND.format('a')}---\n{DEMAND.format('b')}"


def delivering(branch: str = "", path: str = "delivery/{cluster}") -> dict[str, str]:
    """The configuration of delivery to folders."""
    folders = {"path": path} | ({"branch": branch} if branch else {})
    return {"reconciler.yaml": text(configuration(delivery={"folders": folders}))}


@pytest.fixture
def guarded(tmp_path: Path) -> Guarded:
    """The example, trusted as it is, and what its passes come to."""
    found = new_guarded(tmp_path)
    found.run()
    return found


def written(
    guarded: Guarded, *changes: Change, said: CommitPurpose = HERE, by: SshKey | None = None
) -> str:
    """Write a commit on the branch as the daemon's key signs it, or another one."""
    repository, head = Repository.open(guarded.fleet.folder), guarded.fleet.head()
    commit = write_commit(
        repository,
        changes,
        parent=head,
        message="Do it",
        at=NOW,
        author=DAEMON,
        signing=CommitSigning((by or guarded.robot).signing, said),
    )
    guarded.fleet.git("reset", "--quiet", "--hard", commit)
    return commit


def told(guarded: Guarded) -> list[tuple[str, str]]:
    """Run a pass, and return what waits and why."""
    return [(one.revision, one.problem) for one in guarded.run().refused]


def test_a_delivery_that_is_moved_to_the_served_branch_waits(guarded: Guarded) -> None:
    """Its parent was accepted and its key is allowed; delivered files would be workloads there."""
    commit_signed(guarded.fleet, guarded.ada, delivering("fleet"))
    guarded.fleet.git("branch", "fleet", "main")
    guarded.run()
    guarded.fleet.git("branch", "--force", "fleet", "main")
    guarded.run()
    accepted = guarded.fleet.head()
    delivery = guarded.fleet.git("rev-parse", "fleet")
    assert accepted == guarded.fleet.git("rev-parse", "fleet^")
    guarded.fleet.git("reset", "--quiet", "--hard", "fleet")

    report = guarded.run()

    problem = "it was signed for delivery on fleet, not for main"
    assert [(delivery, problem, TAKE_IT_OFF)] == [
        (one.revision, one.problem, one.expected) for one in report.refused if one.branch == "main"
    ]
    assert ((), accepted) == (report.outcome.faults, report.heads.inputs)


def test_the_message_says_what_it_was_signed_for(guarded: Guarded) -> None:
    """Each pass and each delivery has one trailer."""
    commit_signed(guarded.fleet, guarded.ada, delivering("fleet"))
    guarded.scale(9, by=guarded.ada)
    guarded.run()

    messages = [guarded.fleet.git("log", "-1", "--format=%B", one) for one in ("main", "fleet")]

    found = [line for one in messages for line in one.split("\n") if "Reconciled-For" in line]
    assert ["Reconciled-For: decisions main", "Reconciled-For: delivery fleet"] == found


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        pytest.param(
            CommitPurpose(Purpose.DECISIONS, "staging"),
            "it was signed for decisions on staging, not for main",
            id="another branch",
        ),
        pytest.param(
            CommitPurpose(Purpose.DELIVERY, "main"),
            "it was signed for delivery on main, where only decisions count",
            id="another purpose",
        ),
        pytest.param(
            CommitPurpose(Purpose.REPORTS, "main"),
            "it was signed for reports on main, where only decisions count",
            id="reports on the branch that is served",
        ),
        pytest.param(
            CommitPurpose(Purpose.DECISIONS, "main", "teams/a"),
            f"it changes '{SHOP_OUTPUT}', which decisions do not",
            id="another root",
        ),
    ],
)
def test_what_was_signed_for_another_place_waits(
    guarded: Guarded, said: CommitPurpose, problem: str
) -> None:
    """All else about it is right: its parent, its key, and what it changes."""
    commit = written(guarded, WriteFile(SHOP_OUTPUT, "gone: wrong\n"), said=said)

    assert [(commit, problem)] == told(guarded)


def test_what_does_not_say_what_it_was_signed_for_waits(guarded: Guarded) -> None:
    """Older versions said nothing; once it is named it counts, and so does what comes after."""
    commit = commit_signed(guarded.fleet, guarded.robot, {"notes.txt": "n"})

    assert [(commit, UNSAID)] == told(guarded)
    guarded.scale(4, by=guarded.ada)
    assert ((), 4) == (guarded.run(commit).refused, guarded.replicas())


@pytest.mark.parametrize(
    "values",
    [
        pytest.param(["decisions main", "delivery fleet"], id="two of them"),
        pytest.param(["decisions m%61in"], id="another spelling"),
    ],
)
def test_what_says_it_otherwise_than_passes_do_waits(
    guarded: Guarded, values: Sequence[str]
) -> None:
    """It is no commit of ours, whoever signed it."""
    lines = "".join(f"\nReconciled-For: {value}" for value in values)
    for key in (guarded.robot, guarded.ada):
        guarded.fleet.write({"status/x.yaml": str(key.file)})
        commit = commit_signed(guarded.fleet, key, {})
        guarded.fleet.git("add", "--all")
        amended = ("commit", "--quiet", "--amend", "-S", "-m", f"Do it\n{lines}")
        guarded.fleet.git("-c", "gpg.format=ssh", "-c", f"user.signingkey={key.file}", *amended)
        commit = guarded.fleet.head()

        assert [(commit, "it has not one Reconciled-For that can be read")] == told(guarded)
        guarded.fleet.git("reset", "--quiet", "--hard", "HEAD^")


@pytest.mark.parametrize(
    ("changes", "beyond"),
    [
        pytest.param([WriteFile("status/notes.txt", "n")], "", id="outputs"),
        pytest.param([DeleteFile(SHOP_OUTPUT)], "", id="an output that goes"),
        pytest.param([WriteFile("delivery/member1/x.yaml", "n")], "", id="delivered files"),
        pytest.param([DeleteFile(DEMANDS)], "", id="all demands of a file"),
        pytest.param(
            [WriteFile(DEMANDS, f"# ours\n---\n{DEMAND.format('b')}")], "", id="one of them"
        ),
        pytest.param(
            [WriteFile(DEMANDS, f"---\n{DEMAND.format('b')}")],
            DEMANDS,
            id="and a comment",
        ),
        pytest.param([WriteFile(DEMANDS, TWO.replace("a", "c"))], DEMANDS, id="an edit"),
        pytest.param([WriteFile(DEMANDS, "")], DEMANDS, id="a file that is empty"),
        pytest.param([DeleteFile(SHOP)], SHOP, id="a workload that goes"),
        pytest.param([WriteFile(SHOP, EXAMPLE[SHOP] + "\n")], SHOP, id="a workload"),
        pytest.param([WriteFile("statusbar/x.yaml", "n")], "statusbar/x.yaml", id="a name alike"),
        pytest.param([WriteFile("reconciler.yaml", "n")], "reconciler.yaml", id="configuration"),
    ],
)
def test_what_is_more_than_its_purpose_waits(
    guarded: Guarded, changes: Sequence[Change], beyond: str
) -> None:
    """A pass writes outputs and delivered files, and takes finished demands out of their files."""
    commit_signed(guarded.fleet, guarded.ada, {**delivering(), DEMANDS: TWO})
    guarded.run()
    commit = written(guarded, *changes)

    problem = f"it changes '{beyond}', which decisions do not"
    assert ([(commit, problem)] if beyond else []) == told(guarded)


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        pytest.param(HERE, "", id="this branch"),
        pytest.param(CommitPurpose(Purpose.DELIVERY, "main"), "", id="delivered here"),
        pytest.param(
            CommitPurpose(Purpose.DELIVERY, "fleet"),
            "it was signed for delivery on fleet, not for main",
            id="another branch",
        ),
    ],
)
def test_another_allowed_key_may_say_no_other_branch(
    guarded: Guarded, said: CommitPurpose, problem: str
) -> None:
    """It is a person's, or that of another daemon, which may deliver to the branch served here."""
    files = WriteFile(SHOP, EXAMPLE[SHOP].replace("replicas: 2", "replicas: 4"))
    commit = written(guarded, files, said=said, by=guarded.ada)

    assert ([(commit, problem)] if problem else []) == told(guarded)
    assert (2 if problem else 4) == guarded.replicas()


def test_reports_by_the_daemons_key_count_on_their_branch_only(guarded: Guarded) -> None:
    """The branch of reports, moved to the served one, waits there."""
    section = {"feedback": {"branch": "reports"}}
    files = {"reconciler.yaml": text(configuration(**section))}
    commit_signed(guarded.fleet, guarded.ada, files)
    guarded.run()
    said = CommitPurpose(Purpose.REPORTS, "reports")
    head = guarded.fleet.head()
    report = written(guarded, WriteFile("feedback/member1/x.yaml", FEEDBACK), said=said)
    guarded.fleet.git("branch", "reports")
    guarded.fleet.git("reset", "--quiet", "--hard", head)

    first = guarded.run()
    moved = written(guarded, WriteFile("feedback/member1/y.yaml", FEEDBACK), said=said)

    assert ((), report) == (first.refused, first.world.reported_at)
    assert [(moved, "it was signed for reports on reports, not for main")] == told(guarded)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        pytest.param(WriteFile("feedback/member1/web/x.yaml", "a: 1\n"), "", id="its-cluster"),
        pytest.param(
            WriteFile("feedback/member2/x.yaml", "a: 1\n"),
            "it changes 'feedback/member2/x.yaml', and its key may report member1 only",
            id="another-one",
        ),
        pytest.param(
            WriteFile("feedback/member10/x.yaml", "a: 1\n"),
            "it changes 'feedback/member10/x.yaml', and its key may report member1 only",
            id="one-whose-name-begins-so",
        ),
        pytest.param(
            DeleteFile(SHOP),
            f"it changes {SHOP!r}, and its key may report member1 only",
            id="what-people-write",
        ),
    ],
)
def test_a_key_of_some_clusters_reports_those_only(
    guarded: Guarded, change: Change, problem: str
) -> None:
    """Whoever breaks into one cluster says nothing of the others; what else it says waits."""
    guarded.reporters = {guarded.ada.fingerprint: frozenset({"member1"})}
    said = CommitPurpose(Purpose.REPORTS, "main")

    commit = written(guarded, change, said=said, by=guarded.ada)

    assert ([(commit, problem)] if problem else []) == told(guarded)


FEEDBACK = """apiVersion: apps/v1
kind: Deployment
metadata:
  name: shop
  namespace: default
status:
  replicas: 1
"""
