"""Time of questions about one object in a repository with thousands of commits.

Half of them scale some workload, each of the others is the pass after it. The object asked about
was moved a few times, by real passes.
"""

import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from benchmarks.figure import Figure, Unit
from benchmarks.plan_cold import reconciler
from benchmarks.repositories import WORKLOAD, git, make_repository

COMMITS = 10_000
MANIFESTS = 1000
CLUSTERS = 20
OTHERS = 400  # objects that are scaled, and scaled back
MOVES = 4  # of the object asked about
RUNS = 3
START = datetime(2027, 1, 1, tzinfo=UTC)
STEP = timedelta(minutes=10)
OBJECT = "deployment/web-00000"
QUESTIONS = (("why", OBJECT), ("history", OBJECT), ("blame", OBJECT), ("events", OBJECT))
BINDING = "status/resourcebindings.work.karmada.io/default/web-{i:05d}-deployment.yaml"
RECORD = "status/reconciler.yaml"


def prepare(folder: Path, commits: int) -> Path:
    """Return a repository with so many commits, in which the object has moved."""
    make_repository(folder, MANIFESTS, clusters=CLUSTERS)
    now = START
    for _ in range(2):  # the second one finds that all are available
        reconciler(folder, "reconcile", "--now", _text(now))
        now += STEP
    for move in range(MOVES):
        now += STEP
        now = add_commits(folder, (commits // MOVES - 2) // 4 * 4, now)
        (folder / "workloads" / "00000.yaml").write_text(WORKLOAD.format(i=0, replicas=20 + move))
        git(folder, "commit", "-q", "-am", "Scale web-00000")
        now += STEP
        reconciler(folder, "reconcile", "--now", _text(now))
    return folder


def add_commits(folder: Path, count: int, now: datetime) -> datetime:
    """Add commits about other objects than the one asked about; return when the last one was."""
    head = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=folder, check=True, capture_output=True, text=True
    ).stdout.strip()
    told = b"".join(_told(folder, head, count, now))
    command = ["git", "fast-import", "--quiet"]
    subprocess.run(command, cwd=folder, input=told, check=True, capture_output=True)
    git(folder, "reset", "-q", "--hard", "main")
    return now + STEP * (count // 2)


def _told(folder: Path, head: str, count: int, now: datetime) -> Iterator[bytes]:
    """Yield commits by a person and by passes in turn, as `git fast-import` reads them."""
    record = (folder / RECORD).read_text()
    last = record.partition('lastPassAt: "')[2].partition('"')[0]
    for number in range(count // 2):
        i, back = 1 + number // 2 % OTHERS, number % 2 == 1
        at = now + STEP * number
        path, workload, binding = _texts(folder, i)
        if not back:
            workload = workload.replace("replicas: ", "replicas: 1")
            binding = binding.replace('lastScheduledTime: "20', 'lastScheduledTime: "21')
        yield _commit({path: workload}, f"Scale web-{i:05d}", at, "" if number else head)
        at += STEP / 2
        files = {BINDING.format(i=i): binding, RECORD: record.replace(last, _text(at))}
        trailers = f"Reconciled-From: {head}\nReconciled-At: {_text(at)}\n"
        message = f"Place default/web-{i:05d}\n\n{trailers}Reconciler-Version: 0.1.0\n"
        yield _commit(files, message, at, "")


def _texts(folder: Path, i: int) -> tuple[str, str, str]:
    """Return the path of a workload, what it holds, and what its binding holds."""
    path = f"workloads/{i:05d}.yaml"
    return path, (folder / path).read_text(), (folder / BINDING.format(i=i)).read_text()


def _commit(files: dict[str, str], message: str, at: datetime, parent: str) -> bytes:
    """Return one commit on the branch."""
    told = message.encode()
    lines = [
        b"commit refs/heads/main\n",
        b"committer bench <bench@example.org> %d +0000\n" % at.timestamp(),
        b"data %d\n%s\n" % (len(told), told),
        f"from {parent}\n".encode() if parent else b"",
    ]
    for path, text in files.items():
        data = text.encode()
        lines.append(b"M 644 inline %s\ndata %d\n%s\n" % (path.encode(), len(data), data))
    return b"".join(lines)


def _text(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def seconds(folder: Path, *question: str) -> float:
    """Return how long an answer takes, the median of some."""
    times = []
    for _ in range(RUNS):
        started = time.perf_counter()
        reconciler(folder, *question)
        times.append(time.perf_counter() - started)
    return statistics.median(times)


def figures() -> Iterator[Figure]:
    """Yield the times, with the graph of commits that upkeep leaves in a mirror."""
    folder = Path(tempfile.mkdtemp(prefix="reconciler-bench-"))
    try:
        repository = prepare(folder / "repository", COMMITS)
        git(repository, "commit-graph", "write", "--reachable", "--changed-paths")
        for question in QUESTIONS:
            name = f"{question[0]} of one object, {COMMITS:,} commits"
            yield Figure(name, seconds(repository, *question), Unit.SECONDS)
    finally:
        shutil.rmtree(folder)
