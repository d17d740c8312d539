"""Repositories to measure: clusters, policies and workloads in any number, and changes to them."""

import subprocess
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from reconciler.core.changes import WriteFile
from reconciler.model.identity import RepositoryLayout
from reconciler.shell.git.commits import write_commit
from reconciler.shell.git.publish import publish
from reconciler.shell.git.repository import CommitIdentity, Repository
from reconciler.shell.passes.branches import LocalBranch
from reconciler.shell.passes.one_pass import Passes
from reconciler.shell.reading.load import Loader
from reconciler.shell.reading.sources import ServedBranches
from reconciler.shell.reading.trees import GitTrees
from reconciler.shell.resources import Clock, load_schemas

CLUSTERS = 500  # at most; a quarter of them has each workload
AUTHOR = CommitIdentity("bench", "bench@example.org")

CLUSTER = """\
apiVersion: cluster.karmada.io/v1alpha1
kind: Cluster
metadata:
  name: member-{i:05d}
  labels: {{env: prod, tier: t{tier}}}
spec:
  syncMode: Push
  region: r{region}
"""
POLICY = """\
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata:
  name: policy-{i:05d}
spec:
  resourceSelectors:
  - {{apiVersion: apps/v1, kind: Deployment, name: web-{i:05d}}}
  placement:
    clusterAffinity:
      labelSelector: {{matchLabels: {{tier: t{tier}}}}}
    replicaScheduling:
      replicaSchedulingType: Divided
      replicaDivisionPreference: Weighted
"""
WORKLOAD = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web-{i:05d}
  labels: {{app: web}}
spec:
  replicas: {replicas}
  template:
    spec:
      containers:
      - name: web
        image: registry.example.org/web:1.0
        resources: {{requests: {{cpu: 250m, memory: 256Mi}}}}
"""

CELL_CLUSTER = """\
apiVersion: cluster.karmada.io/v1alpha1
kind: Cluster
metadata:
  name: member-{i:05d}
  labels: {{cell: c{cell}}}
spec:
  syncMode: Push
  region: r{region}
"""
TEAM_POLICY = """\
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata:
  name: team-{i:05d}
spec:
  resourceSelectors:
  - apiVersion: apps/v1
    kind: Deployment
    labelSelector: {{matchLabels: {{app: web, team: t{i}}}}}
  placement:
    clusterAffinity:
      labelSelector:
        matchExpressions:
        - {{key: cell, operator: In, values: [{cells}]}}
    replicaScheduling:
      replicaSchedulingType: Divided
      replicaDivisionPreference: Weighted
"""
TO_ALL = """\
apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: {name: all}
spec:
  resourceSelectors: [{apiVersion: apps/v1, kind: Deployment}]
  placement: {clusterAffinity: {clusterNames: []}}
"""
TAINT = "  taints: [{key: maintenance, effect: NoSchedule}]\n"
TEAM = 10  # workloads of a policy by label
CELL = 5  # clusters of a cell; a team has one to five cells


def git(folder: Path, *arguments: str) -> None:
    """Run git as a person."""
    identity = ("-c", "user.name=bench", "-c", "user.email=bench@example.org")
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


def change(folder: Path, files: Mapping[str, str]) -> None:
    """Change files of a checkout as a person, and commit them."""
    for path, text in files.items():
        (folder / path).write_text(text)
    git(folder, "commit", "-q", "-am", "change")


def workload(number: int, replicas: int) -> dict[str, str]:
    """Return the file of one workload, scaled."""
    return {f"workloads/{number:05d}.yaml": WORKLOAD.format(i=number, replicas=replicas)}


def push(repository: Repository, files: Mapping[str, str], *, at: datetime) -> str:
    """Commit files on the branch `main` as a person's push does, and return the commit."""
    head = repository.find("main")
    changes = [WriteFile(path, content) for path, content in files.items()]
    commit = write_commit(repository, changes, parent=head, message="Change", at=at, author=AUTHOR)
    publish(repository, "main", old=head, new=commit)
    return commit


def manifests_of(count: int, clusters: int = 0) -> dict[str, str]:
    """Return clusters (a tenth by default), the rest policies and workloads in equal parts."""
    clusters = clusters or count // 10
    files = {f"clusters/{i:05d}.yaml": cluster(i) for i in range(clusters)}
    for i in range((count - clusters) // 2):
        files[f"policies/{i:05d}.yaml"] = POLICY.format(i=i, tier=i % 4)
        files |= workload(i, 10 + 7 * i % 90)
    return files


def teams_of(clusters: int, workloads: int) -> dict[str, str]:
    """Return clusters, workloads, and for every ten of these a policy that selects by label.

    Each has 5 to 25 clusters.
    """
    cells = max(clusters // CELL, 1)
    files = {
        f"clusters/{i:05d}.yaml": CELL_CLUSTER.format(i=i, cell=i % cells, region=i % 10)
        for i in range(clusters)
    }
    for team in range(-(-workloads // TEAM)):
        named = ", ".join(f"c{(team + step) % cells}" for step in range(1 + team % CELL))
        files[f"policies/{team:05d}.yaml"] = TEAM_POLICY.format(i=team, cells=named)
    for i in range(workloads):
        files |= team_workload(i, 10 + 7 * i % 90)
    return files


def everywhere(clusters: int, workloads: int) -> dict[str, str]:
    """Return clusters, workloads, and one policy that has each of these in all clusters."""
    files = {f"clusters/{i:05d}.yaml": cluster(i) for i in range(clusters)}
    for i in range(workloads):
        files |= workload(i, 3)
    return {**files, "policies/all.yaml": TO_ALL}


def cluster(number: int) -> str:
    """Return the text of a cluster."""
    return CLUSTER.format(i=number, tier=number % 4, region=number % 10)


def team_workload(number: int, replicas: int) -> dict[str, str]:
    """Return the file of one workload of a team, scaled."""
    text = WORKLOAD.replace("{{app: web}}", f"{{{{app: web, team: t{number // TEAM}}}}}")
    return {f"workloads/{number:05d}.yaml": text.format(i=number, replicas=replicas)}


def make_repository(folder: Path, manifests: int, *, clusters: int = 0) -> None:
    """Make a checkout with its first commit."""
    write_checkout(folder, manifests_of(manifests, clusters))


def write_checkout(folder: Path, files: Mapping[str, str]) -> None:
    """Make a checkout of some files with its first commit."""
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "start")


def make_bare(folder: Path, files: Mapping[str, str]) -> Repository:
    """Make a bare repository with its first commit."""
    folder.mkdir(parents=True)
    git(folder, "init", "-q", "--bare", "-b", "main")
    repository = Repository.open(folder)
    push(repository, files, at=datetime(2026, 1, 1, tzinfo=UTC))
    return repository


class Given:
    """A clock that is set by hand."""

    def __init__(self, moment: datetime) -> None:
        self.moment = moment

    def now(self) -> datetime:
        """Return what was set."""
        return self.moment


def start_clock() -> Given:
    """Return a clock at the present second."""
    return Given(datetime.now(UTC).replace(microsecond=0))


def passes_of(repository: Repository, clock: Clock) -> Passes:
    """Return passes over the branch `main` of a repository on this machine."""
    return Passes(
        branches=ServedBranches(LocalBranch(repository, "main"), RepositoryLayout()),
        loader=Loader(GitTrees(repository), load_schemas(), layout=RepositoryLayout()),
        clock=clock,
        author=AUTHOR,
    )
