"""What reports of clusters cost Git over a month, and whether every decision of it is proven.

500 clusters report into a branch of their own: each minute some whose amounts changed, and those
that failed or came back. A cluster fails once a month; a dozen bad ones flap for hours, every few
days; twice a network takes forty along. Reports are written by `git fast-import`, as the observer
would commit them, and the branch is cut as it cuts it. Passes are real: one runs wherever health
changed, one whenever an earlier one said that time would change something, and now and then one
where amounts alone changed, which must commit nothing.

What decisions read is kept. In the end everything that no branch names is thrown away, and a fresh
clone has to prove every decision. `python -m benchmarks.reported` lives the whole month, which
takes 18 minutes of processor time; the table of benchmarks has half a day of it.
"""

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path

from benchmarks.figure import Figure, Unit
from benchmarks.own_process import figures_of, hand_over
from reconciler.model.body import Body
from reconciler.model.moments import format_moment
from reconciler.model.records import dataclass
from reconciler.shell.git.repository import CommitIdentity
from reconciler.shell.passes.one_pass import Passes
from reconciler.shell.passes.used_reports import cut
from tests.builders import cluster, configuration, deployment, metadata, path_of, policy, text
from tests.shell.fleet import Clock, new_passes, process_environment
from tests.shell.repositories import NOW, git, new_bare

CLUSTERS, WORKLOADS = 500, 40
BAD_CLUSTERS, BEHIND_A_NETWORK = 12, 40
MINUTES_A_DAY = 24 * 60
A_MONTH = 30 * MINUTES_A_DAY
DAYS, DAYS_OF_THE_TABLE = 30.0, 0.6
MOST_DECISIONS = 5_000  # of a month
MOST_MEGABYTES = 40.0  # that a clone takes after a month, with everything in it
FIRST_MEGABYTES = 1.0  # of the fleet and its first reports
MOST_COMMITS = 10_000  # of the branch of reports, before it is cut
QUIET_LOOK = 500  # of so many reports of amounts alone one is followed by a pass
APIS = [
    {
        "groupVersion": f"group{group}.example.com/v1",
        "resources": [{"kind": f"Kind{group}x{kind}"} for kind in range(3)],
    }
    for group in range(25)
]  # as many as a new cluster serves
OBSERVER = CommitIdentity("Observer", "observer@example.com")
WHOLE = "a branch of reports that was cut, and what decisions keep"


def figures() -> Iterator[Figure]:
    """Yield the figures, measured in a process of its own."""
    yield from figures_of("reported", "--days", str(DAYS_OF_THE_TABLE))


class Member:
    """A cluster as it reports itself."""

    def __init__(self, name: str, draws: random.Random) -> None:
        self.name, self._draws = name, draws
        self.ready, self.since = True, NOW
        self.taken = {"cpu": 100, "memory": 400, "pods": 100}

    def change(self) -> None:
        """Let amounts change by more than a report tolerates."""
        for name in self.taken:
            self.taken[name] = max(10, self.taken[name] + self._draws.choice((-40, 40)))

    def turn(self, at: datetime) -> None:
        """Fail, or come back."""
        self.ready, self.since = not self.ready, at

    @property
    def report(self) -> str:
        """Its report."""
        condition = {
            "type": "Ready",
            "status": str(self.ready),
            "reason": "ClusterReady" if self.ready else "ClusterNotReachable",
            "message": "cluster is healthy and ready to accept workloads"
            if self.ready
            else "cluster is not reachable",
            "lastTransitionTime": format_moment(self.since),
        }
        amounts = {
            name: f"{value}{'Gi' * (name == 'memory')}" for name, value in self.taken.items()
        }
        body: Body = {
            "apiVersion": "cluster.karmada.io/v1alpha1",
            "kind": "Cluster",
            "metadata": metadata(self.name),
            "status": {
                "apiEnablements": APIS,
                "conditions": [condition],
                "resourceSummary": {
                    "allocatable": {"cpu": "640", "memory": "2560Gi", "pods": "1100"},
                    "allocated": amounts,
                },
            },
        }
        return text(body)


Span = tuple[int, int]
"""A failure: its minute, and how many minutes it lasts."""


def outages(minutes: int, draws: random.Random) -> Mapping[int, Sequence[int]]:
    """Return which clusters fail or come back, by the minute in which it is reported.

    Nobody fails who has failed already, whatever was drawn.
    """
    spans: dict[int, list[Span]] = {
        number: [*failures(minutes, draws)] for number in range(CLUSTERS)
    }
    for number in range(BAD_CLUSTERS):
        spans[number] += flaps(minutes, draws)
    for first, at in ((100, 0.3), (300, 0.7)):
        for number in range(first, first + BEHIND_A_NETWORK):
            spans[number].append((int(at * minutes) + draws.randint(0, 2), draws.randint(85, 95)))
    turned: dict[int, list[int]] = defaultdict(list)
    for number, found in spans.items():
        back = -1
        for begin, lasts in sorted(found):
            if begin > back:
                back = begin + lasts
                turned[begin].append(number)
                turned[back].append(number)
    return turned


def failures(minutes: int, draws: random.Random) -> Iterator[Span]:
    """Yield those of a cluster like others: one a month, twenty minutes or some hours."""
    begin = draws.expovariate(1 / A_MONTH)
    while begin < minutes:
        yield int(begin), max(2, int(draws.lognormvariate(3, 1.2)))
        begin += draws.expovariate(1 / A_MONTH)


def flaps(minutes: int, draws: random.Random) -> Iterator[Span]:
    """Yield those of a bad cluster: for some hours in every two or three days it comes and goes."""
    begin = draws.uniform(0, 3 * MINUTES_A_DAY)
    while begin < minutes:
        end = begin + draws.uniform(60, 300)
        while begin < end:
            yield int(begin), draws.randint(2, 15)
            begin += draws.uniform(17, 40)
        begin += draws.expovariate(1 / (2 * MINUTES_A_DAY))


@dataclass(slots=True, eq=False)
class Month:
    """A fleet that reports and is decided about, minute after minute.

    Attributes:
        remote: The bare repository.
        minutes: How long it lasts.
        passes: What decides.
        clock: Of the passes.
        members: The clusters.
        draws: Where chance comes from.
        turned: Who fails or comes back in which minute.
        reports: How many were committed.
        cuts: How often the branch of reports began anew.
        looks: How many passes found that amounts alone had changed.
    """

    remote: Path
    minutes: int
    passes: Passes
    clock: Clock
    members: Sequence[Member]
    draws: random.Random
    turned: Mapping[int, Sequence[int]]
    reports: int = 0
    cuts: int = 0
    looks: int = 0
    _head: str = ""
    _due_at: datetime | None = None

    def live(self) -> None:
        """Let the whole time go by."""
        stretch = min(MOST_COMMITS, self.minutes // 3)  # so it is cut twice at least
        for begin in range(0, self.minutes, stretch):
            minutes = range(begin, min(begin + stretch, self.minutes))
            commits = self._report(minutes)
            for minute in minutes:
                self._pass_through(minute, commits)
            self._cut()
            git(self.remote, "gc", "-q")
            print(f"  {format_moment(self.clock.moment)}", file=sys.stderr, flush=True)

    def _report(self, minutes: range) -> Mapping[int, str]:
        """Write what is reported in some minutes; return the commits, no branch moves."""
        marks = self.remote / "marks"
        told = b"".join(
            self._told(minute, self._head * (minute == minutes[0])) for minute in minutes
        )
        git(self.remote, "fast-import", "--quiet", f"--export-marks={marks}", stdin=told)
        git(self.remote, "update-ref", "-d", "refs/heads/written")
        lines = (line.split() for line in marks.read_text().splitlines())
        return {int(mark[1:]) - 1: commit for mark, commit in lines}

    def _told(self, minute: int, parent: str) -> bytes:
        """Return the commit of a minute, as `git fast-import` reads it; `""` for the one before."""
        at = moment_of(minute)
        names = {} if minute else {one.name: one for one in self.members}
        for one in self.draws.sample(self.members, self.draws.randint(1, 3)):
            one.change()
            names[one.name] = one
        for number in self.turned.get(minute, ()):
            self.members[number].turn(at)
            names[self.members[number].name] = self.members[number]
        self.reports += 1
        message = f"Report {next(iter(names))}\n".encode()
        lines = [
            b"commit refs/heads/written\nmark :%d\n" % (minute + 1),
            b"committer Observer <observer@example.com> %d +0000\n" % at.timestamp(),
            b"data %d\n%s\n" % (len(message), message),
            f"from {parent}\n".encode() if parent else b"",
        ]
        for one in names.values():
            path, content = f"feedback/{one.name}/cluster.yaml", one.report.encode()
            lines.append(b"M 644 inline %s\ndata %d\n%s\n" % (path.encode(), len(content), content))
        return b"".join(lines)

    def _pass_through(self, minute: int, commits: Mapping[int, str]) -> None:
        """Let a minute go by: what is due before it, then what it reports."""
        now = moment_of(minute)
        while self._due_at is not None and self._due_at < now:
            self._pass(max(self._due_at, self.clock.moment + timedelta(seconds=1)))
        self._head = commits[minute]
        looks = minute % QUIET_LOOK == QUIET_LOOK - 1
        if minute in self.turned or minute == 0 or looks:
            decided = self._pass(now)
            if looks and minute not in self.turned:
                self.looks += 1
                if decided:
                    raise ValueError(f"amounts alone were decided about in minute {minute}")

    def _pass(self, at: datetime) -> bool:
        """Decide at a moment from what is reported by then, and return whether that moved."""
        git(self.remote, "update-ref", "refs/heads/reports", self._head)
        self.clock.moment = at
        report = self.passes.run()
        self._due_at = report.outcome.recheck_at
        return report.commit is not None

    def _cut(self) -> None:
        """Let the branch of reports begin anew, as its observer does."""
        self._head = cut(
            self.passes.branch.repository,
            self._head,
            self._head,
            message="Report\n",
            at=self.clock.moment,
            author=OBSERVER,
            signing=None,
        )
        git(self.remote, "update-ref", "refs/heads/reports", self._head)
        self.cuts += 1


def moment_of(minute: int) -> datetime:
    """Return when a minute begins."""
    return NOW + timedelta(minutes=minute)


def spread_policy() -> Body:
    """A policy by which replicas go to a few clusters with room."""
    preference = {
        "replicaSchedulingType": "Divided",
        "replicaDivisionPreference": "Weighted",
        "weightPreference": {"dynamicWeight": "AvailableReplicas"},
    }
    spread = [{"spreadByField": "cluster", "minGroups": 2, "maxGroups": 3}]
    return policy(placement={"spreadConstraints": spread, "replicaScheduling": preference})


def measure(folder: Path, days: float, seed: int) -> Iterator[Figure]:
    """Yield what some days of a fleet cost Git, once every decision of them is proven.

    Raises:
        ValueError: A decision is not proven, or more is kept than may be.
    """
    draws, minutes = random.Random(seed), int(days * MINUTES_A_DAY)  # noqa: S311  # the same fleet
    members = [Member(f"member{number:03d}", draws) for number in range(CLUSTERS)]
    declared = [*(cluster(one.name) for one in members), spread_policy()]
    declared += [deployment(f"web{n:02d}", replicas=6, cpu="2") for n in range(WORKLOADS)]
    declared.append(configuration(feedback={"branch": "reports", "keepUsed": True}))
    remote = new_bare(folder / "remote", {path_of(one): text(one) for one in declared})
    clock = Clock(NOW)
    turned = outages(minutes, draws)
    month = Month(remote, minutes, new_passes(remote, clock), clock, members, draws, turned)
    month.live()
    kept = kept_bytes(remote, folder / "kept")
    proven, seconds = verified(remote, folder / "fresh")
    used = kept - kept_bytes(remote, folder / "unused", "refs/heads/main", "refs/heads/reports")
    note = (
        f"{CLUSTERS} clusters, {month.reports:,} reports, {proven:,} decisions proven from a fresh "
        f"clone in {seconds:.0f} s of processor time; {month.cuts} cuts"
    )
    most = FIRST_MEGABYTES + MOST_MEGABYTES * minutes / A_MONTH
    if proven > MOST_DECISIONS or kept > most * 1e6:
        raise ValueError(f"{kept:,} bytes are too many: {note}")
    yield Figure(WHOLE, kept / 1e6, Unit.MEGABYTES, note)
    yield Figure("reports that a decision keeps, bytes", used / proven, Unit.COUNT, note)


def kept_bytes(remote: Path, folder: Path, *branches: str) -> int:
    """Return what a bare clone takes that collected all that no branch names; all count if none."""
    git(remote.parent, "clone", "-q", "--bare", f"file://{remote}", str(folder))
    refs = git(folder, "for-each-ref", "--format=%(refname)").split()
    for ref in refs if branches else ():
        if ref not in branches:
            git(folder, "update-ref", "-d", ref)
    git(folder, "gc", "-q", "--prune=now")
    return sum(file.stat().st_size for file in (folder / "objects").rglob("*") if file.is_file())


def verified(remote: Path, folder: Path) -> tuple[int, float]:
    """Return how many decisions `verify` proves in a fresh clone, and its processor time.

    Raises:
        ValueError: One is not proven.
    """
    git(remote.parent, "clone", "-q", f"file://{remote}", str(folder))
    command = [sys.executable, "-m", "reconciler", "-C", str(folder), "verify", "-o", "json"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        command, env=process_environment(), stdout=subprocess.PIPE, text=True, check=False
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    counts = json.loads(done.stdout)["counts"]
    if done.returncode or counts.keys() - {"input", "proven"}:
        raise ValueError(f"not proven: {counts}")
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return counts["proven"], seconds


def main() -> int:
    """Measure, and print the figures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.reported", description=__doc__)
    parser.add_argument("--days", type=float, default=DAYS)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="reconciler-bench-") as name:
        hand_over(measure(Path(name), asked.days, asked.seed))
    return 0


if __name__ == "__main__":
    sys.exit(main())
