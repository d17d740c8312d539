"""Start-up, cold load and warm pass: the figures of one run, as medians and ratios."""

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

from reconciler.core.reconcile import reconcile
from reconciler.shell.clock import SystemClock
from reconciler.shell.git.identity import Identity
from reconciler.shell.git.repository import Repository
from reconciler.shell.load import Loader
from reconciler.shell.passes import LocalBranch, Passes
from reconciler.shell.resources import load_schemas

ROOT = Path(__file__).resolve().parent.parent
SIZES = (100, 1000)
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


def passes(manifests: int) -> list[tuple[str, float, str]]:
    """Time cold load, first pass, idle pass, and a pass after one change."""
    folder = Path(tempfile.mkdtemp(prefix="reconciler-bench-"))
    try:
        make_repository(folder, manifests)
        repository = Repository.open(folder)
        schemas = load_schemas()
        loader = Loader(repository, schemas, output_root="status")
        head = repository.resolve("main")
        cold = median_ms(1, lambda: loader.load(head))
        world = loader.load(head)
        now = datetime.now(UTC).replace(microsecond=0)
        first = median_ms(1, lambda: reconcile(world, now))
        runner = Passes(
            branch=LocalBranch(repository, "main"),
            loader=loader,
            clock=SystemClock(),
            author=Identity("bench", "bench@example.org"),
        )
        commit = median_ms(1, runner.run)
        later = now + timedelta(seconds=30)
        idle = median_ms(3, lambda: runner.decide(at=later))
        workload = folder / "workloads" / "00000.yaml"
        workload.write_text(WORKLOAD.format(i=0, replicas=3))
        git(folder, "commit", "-q", "-am", "scale")
        warm = median_ms(1, lambda: runner.run(at=later))
    finally:
        shutil.rmtree(folder)
    return [
        (f"{manifests}: cold load", cold, ""),
        (f"{manifests}: first pass, in memory", first, ""),
        (f"{manifests}: first pass, until the commit exists", commit, ""),
        (f"{manifests}: idle pass", idle, ""),
        (f"{manifests}: pass after one change, until the commit exists", warm, ""),
    ]


def main() -> None:
    """Print the table."""
    rows = startup()
    for size in SIZES:
        rows += passes(size)
    width = max(len(name) for name, _, _ in rows)
    print(f"{'what'.ljust(width)}   {'ms':>9}   goal")
    for name, value, goal in rows:
        print(f"{name.ljust(width)}   {value:9.1f}   {goal}".rstrip())


if __name__ == "__main__":
    main()
