"""Start-up, cold load and warm pass: the figures of one run, as medians and ratios."""

import gc
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from reconciler.cli.main import COLLECTIONS
from reconciler.core.reconcile import reconcile
from reconciler.shell.git.identity import CommitIdentity
from reconciler.shell.git.repository import Repository
from reconciler.shell.load import Loader
from reconciler.shell.passes import LocalBranch, Passes
from reconciler.shell.resources import load_schemas
from reconciler.shell.trees import GitTrees

ROOT = Path(__file__).resolve().parent.parent
SIZES = (100, 1000, 10_000)
CLUSTERS = 500  # at most; a quarter of them has each workload
HELP_LIMIT_MS = 150
VALIDATE_LIMIT_MS = 300

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


def median_ms(repeat: int, run: Callable[[], object]) -> float:
    """Return the median time of a call in milliseconds."""
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        run()
        times.append((time.perf_counter() - start) * 1000)
    return statistics.median(times)


def git(folder: Path, *arguments: str) -> None:
    """Run git as a person."""
    identity = ("-c", "user.name=bench", "-c", "user.email=bench@example.org")
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


def make_repository(folder: Path, manifests: int, *, clusters: int = 0) -> None:
    """Write clusters (a tenth by default), the rest policies and workloads in equal parts."""
    clusters = clusters or manifests // 10
    pairs = (manifests - clusters) // 2
    for name in ("clusters", "policies", "workloads"):
        (folder / name).mkdir(parents=True)
    for i in range(clusters):
        text = CLUSTER.format(i=i, tier=i % 4, region=i % 10)
        (folder / "clusters" / f"{i:05d}.yaml").write_text(text)
    for i in range(pairs):
        (folder / "policies" / f"{i:05d}.yaml").write_text(POLICY.format(i=i, tier=i % 4))
        text = WORKLOAD.format(i=i, replicas=10 + 7 * i % 90)
        (folder / "workloads" / f"{i:05d}.yaml").write_text(text)
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "start")


class Given:
    """A clock that is set by hand."""

    def __init__(self, moment: datetime) -> None:
        self.moment = moment

    def now(self) -> datetime:
        """Return what was set."""
        return self.moment


def startup() -> list[tuple[str, float, str]]:
    """Time the command itself, byte code cached as for any installed package."""
    command = [sys.executable, "-m", "reconciler"]
    variables = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    policy = ROOT / "example-repo" / "policies" / "shop.yaml"

    def run(*arguments: str) -> None:
        subprocess.run([*command, *arguments], check=True, capture_output=True, env=variables)

    run("validate", str(policy))
    floor = median_ms(9, lambda: subprocess.run([sys.executable, "-c", "pass"], check=True))
    return [
        ("python -c pass", floor, ""),
        ("reconciler --help", median_ms(9, lambda: run("--help")), f"< {HELP_LIMIT_MS}"),
        (
            "reconciler validate, one file",
            median_ms(9, lambda: run("validate", str(policy))),
            f"< {VALIDATE_LIMIT_MS}",
        ),
    ]


def passes_of(repository: Repository, loader: Loader, clock: Given) -> Passes:
    """Return passes over the branch `main` of a repository on this machine."""
    return Passes(
        branch=LocalBranch(repository, "main"),
        loader=loader,
        clock=clock,
        author=CommitIdentity("bench", "bench@example.org"),
    )


def passes(manifests: int) -> list[tuple[str, float, str]]:
    """Time cold load, first pass, idle pass, and passes after one and after ten changes.

    First where people work, in a checkout, then in a bare repository that they push to.
    """
    rows = []
    for bare in (False, True):
        folder = Path(tempfile.mkdtemp(prefix="reconciler-bench-"))
        try:
            rows += timed(folder, manifests, bare=bare)
        finally:
            shutil.rmtree(folder)
    return rows


def timed(folder: Path, manifests: int, *, bare: bool) -> list[tuple[str, float, str]]:
    """Time the passes of one repository; `in memory` leaves out reading and committing."""
    person, served = folder / "person", folder / "bare.git"
    make_repository(person, manifests, clusters=min(manifests // 10, CLUSTERS))
    if bare:
        git(folder, "clone", "-q", "--bare", "person", "bare.git")
        git(person, "remote", "add", "served", str(served))
    repository = Repository.open(served if bare else person)
    loader = Loader(GitTrees(repository), load_schemas(), output_root="status")
    clock = Given(datetime.now(UTC).replace(microsecond=0))
    runner = passes_of(repository, loader, clock)
    head = repository.resolve("main")
    rows = [("cold load", median_ms(1, lambda: loader.load(head)))]
    world = loader.load(head)
    rows.append(("first pass, in memory", median_ms(1, lambda: reconcile(world, clock.moment))))
    rows.append(("first pass, until the commit exists", median_ms(1, runner.run)))
    clock.moment += timedelta(seconds=1)
    rows.append(("pass after that commit, load included", median_ms(1, runner.decide)))
    clock.moment += timedelta(seconds=70)  # assumed availability is written once
    runner.run()
    clock.moment += timedelta(seconds=1)
    runner.decide()
    rows.append(("idle pass", median_ms(9, runner.decide)))
    rows += after_changes(person, runner, clock, 1, bare=bare)
    rows += after_changes(person, runner, clock, 10, bare=bare)
    if not bare:
        refresh = median_ms(3, lambda: git(person, "update-index", "-q", "--refresh"))
        rows.append(("git's own refresh of the index", refresh))
    where = "bare" if bare else "checkout"
    return [(f"{manifests}, {where}: {name}", value, "") for name, value in rows]


def after_changes(
    person: Path, runner: Passes, clock: Given, count: int, *, bare: bool
) -> list[tuple[str, float]]:
    """Time loading, deciding and committing after some workloads were scaled."""
    loads, memory, whole = [], [], []
    for number in range(3):
        if bare:
            git(person, "pull", "-q", "--rebase", "served", "main")
        for i in range(count):
            text = WORKLOAD.format(i=i, replicas=3 + count + number)
            (person / "workloads" / f"{i:05d}.yaml").write_text(text)
        git(person, "commit", "-q", "-am", "scale")
        if bare:
            git(person, "push", "-q", "served", "main")
        clock.moment += timedelta(seconds=300)
        head = runner.branch.head()
        loads.append(median_ms(1, lambda head=head: runner.loader.load(head)))  # type: ignore[misc]
        memory.append(median_ms(1, runner.decide))
        clock.moment += timedelta(seconds=1)
        whole.append(median_ms(1, runner.run))
        clock.moment += timedelta(seconds=1)
        runner.decide()
    title = f"{count} changed"
    return [
        (f"{title}: load", statistics.median(loads)),
        (f"{title}: pass, in memory", statistics.median(memory)),
        (f"{title}: again, until the commit exists", statistics.median(whole)),
    ]


def main() -> None:
    """Print the table."""
    gc.set_threshold(*COLLECTIONS)  # as the command does
    rows = startup()
    for size in map(int, sys.argv[1:]) if len(sys.argv) > 1 else SIZES:
        rows += passes(size)
    width = max(len(name) for name, _, _ in rows)
    print(f"{'what'.ljust(width)}   {'ms':>9}   goal")
    for name, value, goal in rows:
        print(f"{name.ljust(width)}   {value:9.1f}   {goal}".rstrip())


if __name__ == "__main__":
    main()
