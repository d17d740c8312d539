"""How many git processes a pass starts, as docs/limits.md says, however many files it writes."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest

from reconciler.model.identity import RepositoryLayout
from reconciler.shell.git.checkout.checkouts import files_being_edited
from reconciler.shell.git.remotes.mirror import Mirror
from reconciler.shell.git.repository import Repository
from reconciler.shell.passes.branches import Branch, LocalBranch, RemoteBranch
from reconciler.shell.passes.one_pass import Passes
from reconciler.shell.reading.load import Loader
from reconciler.shell.reading.sources import ServedBranches
from reconciler.shell.reading.trees import GitTrees
from reconciler.shell.resources import load_schemas
from tests.shell.counted import CommandLog
from tests.shell.fleet import DAEMON, ROOT, Clock
from tests.shell.repositories import Checkout, git, new_checkout

ROW = re.compile(r"^\| ([^|]+) \| (\d+) \| ([^|]*) \|$", re.MULTILINE)
SECTION = (ROOT / "docs/limits.md").read_text(encoding="utf-8").partition("\n## Git processes\n")[2]
TOLD = {
    where: (int(count), re.findall("`([a-z-]+)`", commands))
    for where, count, commands in ROW.findall(SECTION)
}
WORKLOADS = 120
CLUSTER = """\
apiVersion: cluster.karmada.io/v1alpha1
kind: Cluster
metadata: {name: member}
spec: {syncMode: Push}
"""
POLICY = """\
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: all, namespace: default}
spec:
  resourceSelectors: [{apiVersion: apps/v1, kind: Deployment}]
  placement:
    replicaScheduling: {replicaSchedulingType: Divided, replicaDivisionPreference: Weighted}
"""
WORKLOAD = """\
apiVersion: apps/v1
kind: Deployment
metadata: {{name: web-{number}}}
spec:
  replicas: {replicas}
  template: {{spec: {{containers: [{{name: web, image: web}}]}}}}
"""


REBALANCER = """\
apiVersion: apps.karmada.io/v1alpha1
kind: WorkloadRebalancer
metadata: {name: again}
spec: {workloads: [{apiVersion: apps/v1, kind: Deployment, name: web-3, namespace: default}]}
"""


def workloads(count: int, replicas: int) -> dict[str, str]:
    """Files of so many workloads."""
    return {
        f"workloads/{number}.yaml": WORKLOAD.format(number=number, replicas=replicas)
        for number in range(count)
    }


@dataclass
class Served:
    """A repository that is served, and where a person works on it."""

    branch: Branch
    person: Checkout
    pull: Callable[[], object]
    push: Callable[[], object]


def nothing() -> None:
    """Leave everything where it is: the person works where passes run."""


def serve(folder: Path, where: str) -> Served:
    """Serve a repository in one of the ways that the page tells of."""
    files = {"cluster.yaml": CLUSTER, "policy.yaml": POLICY, **workloads(WORKLOADS, 1)}
    if "line ends" in where:
        files[".gitattributes"] = "status/** text eol=crlf\n"
    person = new_checkout(folder / "person", files)
    if "checkout" in where or "linked" in where:
        return Served(LocalBranch(Repository.open(person.folder), "main"), person, nothing, nothing)
    bare = folder / "bare"
    git(folder, "clone", "--quiet", "--bare", str(person.folder), str(bare))
    pull = lambda: person.git("pull", "--quiet", "--rebase", str(bare), "main")  # noqa: E731
    push = lambda: person.git("push", "--quiet", str(bare), "main")  # noqa: E731
    if "mirror" in where:
        mirror = Mirror.open(str(bare), folder / "mirror")
        return Served(RemoteBranch(mirror, mirror.repository, "main"), person, pull, push)
    return Served(LocalBranch(Repository.open(bare), "main"), person, pull, push)


def settled_passes(branch: Branch, clock: Clock) -> Passes:
    """Return passes that have placed everything, and let the assumed reports come in."""
    passes = Passes(
        branches=ServedBranches(branch, RepositoryLayout()),
        loader=Loader(GitTrees(branch.repository), load_schemas(), layout=RepositoryLayout()),
        clock=clock,
        author=DAEMON,
    )
    while passes.run().commit is not None:
        clock.moment += timedelta(seconds=70)
    return passes


@pytest.mark.parametrize("where", [where for where in TOLD if "commits" in where])
def test_a_pass_that_commits_starts_as_many_as_the_page_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    """The same for one changed file and for a hundred; before and after are none at all."""
    served = serve(tmp_path, where)
    log = CommandLog(tmp_path / "bin", monkeypatch)
    clock = Clock()
    passes = settled_passes(served.branch, clock)
    if "linked" in where:
        served.person.git("switch", "--quiet", "-c", "mine")
        served.person.git("worktree", "add", "--quiet", str(tmp_path / "linked"), "main")

    for changed in (1, 100):
        worker = Checkout(tmp_path / "linked") if "linked" in where else served.person
        served.pull()
        worker.commit(workloads(changed, changed + 1))
        served.push()
        clock.moment += timedelta(seconds=300)
        log.taken()
        report = passes.run()

        assert changed < len(report.outcome.changes)
        assert report.commit is not None
        assert TOLD[where] == (len(taken := log.taken()), taken)


@pytest.mark.parametrize("where", [where for where in TOLD if "nothing to do" in where])
def test_a_look_at_what_did_not_move_starts_as_many_as_the_page_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    """A remote must be asked; here a process that is kept knows."""
    served = serve(tmp_path, where)
    log = CommandLog(tmp_path / "bin", monkeypatch)
    clock = Clock()
    passes = settled_passes(served.branch, clock)
    log.taken()

    assert None is passes.run().commit
    assert TOLD[where] == (len(taken := log.taken()), taken)


def test_history_is_asked_once_for_each_edited_decision_and_new_rebalancer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who edited it, and whether it ran before."""
    served = serve(tmp_path, "checkout")
    clock = Clock()
    passes = settled_passes(served.branch, clock)
    bindings = "status/resourcebindings.work.karmada.io/default"
    edited = [f"{bindings}/web-{number}-deployment.yaml" for number in (1, 2)]
    texts = {path: (served.person.folder / path).read_text() for path in edited}
    more = {
        path: text.replace("    replicas: 1", "    replicas: 2") for path, text in texts.items()
    }
    assert more != texts
    served.person.commit({**more, "rebalancer.yaml": REBALANCER})
    clock.moment += timedelta(seconds=300)
    log = CommandLog(tmp_path / "bin", monkeypatch)

    assert None is not passes.run().commit
    usual = [verb for verb in TOLD["commits in a checkout"][1] if verb != "diff-tree"]
    taken = [verb for verb in log.taken() if verb not in ("diff-tree", *usual)]
    assert ["rev-list", "rev-list", "log"] == taken


@pytest.mark.parametrize("count", [1, 50])
def test_three_commands_tell_which_removed_files_a_person_edits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    """However many they are."""
    person = new_checkout(tmp_path / "r", workloads(50, 1))
    repository = Repository.open(person.folder)
    log = CommandLog(tmp_path / "bin", monkeypatch)

    found = files_being_edited(repository, "main", person.head(), workloads(count, 1))

    assert (frozenset(), ["diff", "diff", "ls-files"]) == (found, log.taken())
