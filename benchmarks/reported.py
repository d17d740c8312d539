"""What reports of clusters cost Git: some hours of a fleet, with passes, a cut and proofs.

A report a minute is of one to five clusters whose amounts changed; now and then a cluster fails or
comes back, and a pass decides. What decisions read is kept, the branch of reports is cut in the
end, and a fresh clone of what is left proves every decision.
"""

import random
import tempfile
from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path

from benchmarks.figure import Figure, Unit
from benchmarks.own_process import figures_of, hand_over
from reconciler.audit.proof import ProofState, prove
from reconciler.core.changes import WriteFile
from reconciler.core.reconcile import Memo
from reconciler.model.body import Body
from reconciler.shell.git.commits import write_commit
from reconciler.shell.git.publish import publish
from reconciler.shell.git.repository import CommitIdentity, Repository
from reconciler.shell.passes.used_reports import cut
from tests.builders import cluster, configuration, deployment, metadata, path_of, policy, text
from tests.shell.fleet import Clock, new_passes, open_revisions
from tests.shell.repositories import NOW, git, new_bare

CLUSTERS, REPORTS, DECISIONS = 500, 860, 100
APIS = [
    {
        "groupVersion": f"group{group}.example.com/v1",
        "resources": [{"kind": f"Kind{group}x{kind}"} for kind in range(6)],
    }
    for group in range(40)
]
OBSERVER = CommitIdentity("Observer", "observer@example.com")
WHOLE = "a branch of reports that was cut, and what decisions keep"


def figures() -> Iterator[Figure]:
    """Yield the figures, measured in a process of its own."""
    yield from figures_of("reported", "measure")


class Member:
    """A cluster as it reports itself."""

    def __init__(self, name: str, draws: random.Random) -> None:
        self.name, self._draws = name, draws
        self.ready, self.taken = "True", {"cpu": 100, "memory": 400, "pods": 100}

    def change(self) -> None:
        """Let amounts change by more than a report tolerates."""
        for name in self.taken:
            self.taken[name] = max(10, self.taken[name] + self._draws.choice((-40, 40)))

    @property
    def report(self) -> WriteFile:
        """Its report."""
        condition = {
            "type": "Ready",
            "status": self.ready,
            "reason": "ClusterReady",
            "message": "cluster is healthy and ready to accept workloads",
            "lastTransitionTime": "2026-11-20T12:00:00Z",
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
        return WriteFile(f"feedback/{self.name}/cluster.yaml", text(body))


def _measure(folder: Path) -> Iterator[Figure]:
    draws = random.Random(1)  # noqa: S311  # the same fleet each time
    members = [Member(f"member{number:03d}", draws) for number in range(CLUSTERS)]
    declared = [*(cluster(one.name) for one in members), policy(), deployment()]
    declared.append(configuration(feedback={"branch": "reports", "keepUsed": True}))
    remote = new_bare(folder / "remote", {path_of(one): text(one) for one in declared})
    repository, clock = Repository.open(remote), Clock(NOW)
    passes = new_passes(remote, clock)
    head = _report(repository, members, None)
    passes.run()
    for number in range(REPORTS):
        changed = draws.sample(members, draws.randint(1, 5))
        for one in changed:
            one.change()
        decides = number % (REPORTS // DECISIONS) == 0
        if decides:
            changed[0].ready = "False" if changed[0].ready == "True" else "True"
        head = _report(repository, changed, head)
        clock.moment += timedelta(minutes=1)
        if decides:
            passes.run()
    git(remote, "gc", "-q", "--prune=now")
    uncut = _megabytes(remote)
    newest = cut(repository, head, head, message="Report\n", at=NOW, author=OBSERVER, signing=None)
    git(remote, "update-ref", "refs/heads/reports", newest)
    git(remote, "gc", "-q", "--prune=now")
    kept = _megabytes(remote)
    git(folder, "clone", "-q", "--bare", f"file://{remote}", "fresh")
    proven = _proven(folder / "fresh")
    git(folder / "fresh", "update-ref", "-d", "refs/heads/reports-used")
    git(folder / "fresh", "gc", "-q", "--prune=now")
    used = kept - _megabytes(folder / "fresh")
    note = f"{CLUSTERS} clusters, {REPORTS:,} reports, {proven} decisions proven from a fresh clone"
    whole = f"{note}; {uncut:.1f} MB uncut"
    yield Figure(WHOLE, kept, Unit.MEGABYTES, whole)
    yield Figure("reports that a decision keeps, bytes", 1e6 * used / proven, Unit.COUNT, note)


def _report(repository: Repository, members: Sequence[Member], head: str | None) -> str:
    """Commit what some clusters report."""
    commit = write_commit(
        repository,
        [one.report for one in members],
        parent=head,
        message=f"Report {members[0].name}\n",
        at=NOW,
        author=OBSERVER,
    )
    publish(repository, "reports", old=head, new=commit)
    return commit


def _proven(folder: Path) -> int:
    """Return how many decisions a clone proves; all of them, or the figures mean nothing."""
    revisions, memo = open_revisions(folder), Memo()
    head = Repository.open(folder).resolve("main")
    commits = list(revisions.commits(head, whole=False))[::-1]
    states = [prove(one, revisions, memo=memo).state for one in commits]
    if any(state.is_finding for state in states):
        raise ValueError(f"not proven: {sorted(set(states))}")
    return states.count(ProofState.PROVEN)


def _megabytes(repository: Path) -> float:
    return sum(file.stat().st_size for file in (repository / "objects").rglob("*.pack")) / 1e6


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="reconciler-bench-") as name:
        hand_over(_measure(Path(name)))
